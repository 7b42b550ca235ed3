"""A C core that was built from other sources than those in its folder is refused."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.faults import MachineFault
from grader.simulator.core import bindings, digest
from grader.simulator.core.bindings import Core, core, core_in
from tests.command import ROOT

SOURCES = ROOT / "grader" / "simulator" / "core"


def built(monkeypatch: pytest.MonkeyPatch, sources: str | None) -> str:
    """The path of a core that reports another digest of its sources; None for no digest."""
    real = core().library

    class Answer:
        def __call__(self) -> bytes:
            return (sources or "").encode()

    library = SimpleNamespace(core_run=real.core_run, core_sizes=real.core_sizes)
    if sources is not None:
        library.core_sources = Answer()
    monkeypatch.setattr("grader.simulator.core.bindings.ctypes.CDLL", lambda _: library)
    return str(SOURCES.parent / "_core.so")


@pytest.mark.parametrize("sources", ["0123456789abcdef", None])
def test_core_of_other_sources_is_refused(monkeypatch: pytest.MonkeyPatch, sources: Any) -> None:
    path = built(monkeypatch, sources)
    with pytest.raises(MachineFault, match="built from other sources") as caught:
        Core(path)
    assert "make demo" in caught.value.fix


@pytest.mark.parametrize("sources", [digest(SOURCES), ""])
def test_core_of_the_same_or_unknown_sources_is_accepted(
    monkeypatch: pytest.MonkeyPatch, sources: str
) -> None:
    assert Path(Core(built(monkeypatch, sources)).path).name == "_core.so"


def test_installed_package_without_sources_is_accepted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert digest(tmp_path) == ""
    built(monkeypatch, "0123456789abcdef")
    assert Path(Core(str(tmp_path / "_core.so")).path).parent == tmp_path


@pytest.mark.parametrize(
    ("built_cores", "has_avx2", "chosen"),
    [
        ("_core _core_v3", 1, "_core_v3"),
        ("_core _core_v3", 0, "_core"),
        ("_core_v3", 1, "_core_v3"),
        ("_core", 1, "_core"),
        ("_core", 0, "_core"),
    ],
)
def test_core_is_the_one_for_the_processor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, built_cores: str, has_avx2: int, chosen: str
) -> None:
    built(monkeypatch, "")
    bindings.ctypes.CDLL("").core_has_avx2 = lambda: has_avx2
    for name in built_cores.split():
        (tmp_path / f"{name}.so").touch()
    assert core_in(str(tmp_path)).path == str(tmp_path / f"{chosen}.so")


@pytest.mark.parametrize(
    ("built_cores", "problem"),
    [("_core_v3", "core for this processor, which lacks AVX2, is not"), ("", "C core is not")],
)
def test_missing_core_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, built_cores: str, problem: str
) -> None:
    built(monkeypatch, "")
    bindings.ctypes.CDLL("").core_has_avx2 = lambda: 0
    for name in built_cores.split():
        (tmp_path / f"{name}.so").touch()
    with pytest.raises(MachineFault, match=problem) as caught:
        core_in(str(tmp_path))
    assert "on this machine" in caught.value.fix


def test_checkout_has_the_core_that_the_grader_uses() -> None:
    own = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")["own_library"]()
    assert Path(core().path).stem == own.rpartition(".")[2]


@pytest.mark.parametrize("changed", ["grader/simulator/core/machine/launch.h", "setup.py"])
def test_core_of_a_checkout_is_built_again_only_after_a_change(
    changed: str, tmp_path: Path
) -> None:
    """Neither by a second installation, nor by the command that follows the first."""
    shutil.copytree(SOURCES, tmp_path / "grader/simulator/core")
    assets = "grader/portal/assets/package-lock.json"
    (tmp_path / assets).parent.mkdir(parents=True)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", assets):
        shutil.copy(ROOT / name, tmp_path / name)
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\necho >>compiled\nfor last; do :; done\n: >"$last"\n')
    compiler.chmod(0o755)

    def build(*command: str) -> int:
        """The number of times that the compiler was called."""
        counted = tmp_path / "compiled"
        counted.write_text("")
        text = f"import sys; sys.argv[1:] = {command}; import runpy; runpy.run_path('setup.py', "
        own = {**os.environ, "CC": str(compiler), "PYTHONPATH": ""}
        done = subprocess.run([sys.executable, "-c", f"{text}run_name='__main__')"], cwd=tmp_path,
                              env=own, capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return counted.read_text().count("\n")

    editable = ("--quiet", "editable_wheel", "--dist-dir", "dist")
    in_place = ("--quiet", "build_ext", "--inplace")
    first = build(*editable)
    assert first == len(list(SOURCES.rglob("*.c"))) + 1
    assert build(*in_place) == build(*editable) == 0
    os.utime(tmp_path / changed)
    assert build(*in_place) == first
    assert build(*in_place, "--force") == first


def test_digest_depends_on_content_and_name(tmp_path: Path) -> None:
    copied = shutil.copytree(SOURCES, tmp_path / "core")
    assert digest(copied) == digest(SOURCES)
    seen = {digest(SOURCES)}
    for folder in ("machine", "machine/instructions", "watch"):
        first = min((copied / folder).glob("*.c"))
        first.write_bytes(first.read_bytes() + b"\n")
        seen.add(digest(copied))
        first.rename(first.with_name("other.c"))
        seen.add(digest(copied))
        first.with_name("other.c").rename(copied / "other.c")
        seen.add(digest(copied))
        (copied / "other.c").unlink()
    assert len(seen) == 10


def test_setup_passes_the_same_digest_to_the_compiler() -> None:
    passed = runpy.run_path(str(ROOT / "grader" / "simulator" / "core" / "__init__.py"))["digest"](
        SOURCES
    )
    assert passed == digest(SOURCES)
    assert "-DCORE_SOURCES=" in (ROOT / "setup.py").read_text()
