"""Where cuBLAS is found in a toolkit. Needs no GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.gpu.devices import Toolkit
from grader.gpu.peaks import cublas_libraries

BOTH = ("libcublas.so", "libcublas.so.13", "libcublasLt.so", "libcublasLt.so.13")


def toolkit_with(folder: Path, place: str, names: tuple[str, ...]) -> Toolkit:
    (folder / place).mkdir(parents=True)
    for name in names:
        (folder / place / name).touch()
    return Toolkit(folder / "bin" / "nvcc")


@pytest.mark.parametrize("place", ["lib64", "targets/x86_64-linux/lib"])
def test_required_library_comes_first(tmp_path: Path, place: str) -> None:
    found = cublas_libraries(toolkit_with(tmp_path, place, BOTH))
    assert [path.name for path in found] == ["libcublasLt.so", "libcublas.so"]


def test_a_versioned_name_will_do(tmp_path: Path) -> None:
    names = ("libcublas.so.13.0.1", "libcublas.so.13", "libcublasLt.so.13")
    found = cublas_libraries(toolkit_with(tmp_path, "lib64", names))
    assert [path.name for path in found] == ["libcublasLt.so.13", "libcublas.so.13"]


@pytest.mark.parametrize("names", [(), BOTH[:2], BOTH[2:], ("libcublas_static.a",)], ids=str)
def test_missing_library_gives_no_libraries(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert cublas_libraries(toolkit_with(tmp_path, "lib64", names)) == ()
