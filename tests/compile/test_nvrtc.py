"""The compiling child has no access to other files: NVRTC's log shows lines of what it includes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.compile.nvrtc import _headers as headers
from grader.compile.nvrtc import compile_variants, installation
from grader.compile.source import ARCHITECTURE, _variants
from grader.compile.source_text import is_minimal
from grader.sandbox.call import run_sandboxed
from tests.command import ROOT

CHILD_FUNCTION = "grader.compile.nvrtc:compile_variants"
SECRET = "the_secret_answer"


@pytest.fixture
def canary() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="warpgrade-test-"))
    folder.chmod(0o755)
    (folder / "solution.cu").write_text(SECRET + "\n")
    yield folder / "solution.cu"
    shutil.rmtree(folder)


def log_of(source: str, confine: bool) -> str:
    request: dict[str, Any] = {
        "source": source,
        "file": "lab.cu",
        "variants": {"only": ["-arch=compute_90"]},
        "libraries": str(installation().libraries),
        "folder": "/usr",
    }
    log: str = run_sandboxed(CHILD_FUNCTION, request, confine=confine).value["variants"]["only"][
        "log"
    ]
    return log


@pytest.mark.parametrize("spelling", ['#include "{}"', "#define X <{}>\n#include X"])
def test_an_included_secret_is_in_the_log_only_without_a_sandbox(
    spelling: str, canary: Path
) -> None:
    source = spelling.format(canary)
    assert SECRET in log_of(source, confine=False)
    sandboxed = log_of(source, confine=True)
    assert SECRET not in sandboxed
    assert re.search("(cannot|could not) open source file", sandboxed)


def test_it_does_not_load_numpy() -> None:
    command = "import sys, grader.compile.nvrtc; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_headers_in_another_place_of_the_path_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NVIDIA's packages share a namespace: each may be installed in a folder of its own."""
    crt = tmp_path / "nvidia" / "cu13" / "include"
    crt.mkdir(parents=True)
    found = installation()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    contents = (str(crt), *found.contents)  # no record of a wheel is beside it
    assert installation() == replace(found, headers=(*found.headers, crt), contents=contents)


@pytest.mark.parametrize(("version", "used"), [(13000, True), (13010, False), (12080, False)])
def test_toolkit_of_the_same_release_has_headers_that_the_wheels_lack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, used: bool
) -> None:
    wheel, toolkit = tmp_path / "wheel", tmp_path / "toolkit" / "include"
    for place in (wheel / "include", toolkit / "crt", toolkit.parent / "bin"):
        place.mkdir(parents=True)
    (wheel / "include" / "cooperative_groups.h").touch()
    (toolkit / "cuda.h").write_text(f"#define CUDA_VERSION {version}\n")
    nvcc = toolkit.parent / "bin" / "nvcc"
    nvcc.touch(mode=0o755)
    monkeypatch.setattr("shutil.which", lambda name: str(nvcc))
    assert (toolkit in headers([wheel])) == used
    for name in ("crt/mma.h", "cccl/cuda/barrier"):
        (wheel / "include" / name).parent.mkdir(parents=True)
        (wheel / "include" / name).touch()
    assert toolkit not in headers([wheel])


SOLUTIONS = sorted((ROOT / "solutions").glob("*/*.cu"))
OURS = frozenset({"math.h", "stdio.h", "cuda_runtime.h"})


def variants_of(source: str, *, minimal: bool) -> Any:
    installed, folder = installation(), os.getcwd()
    try:
        return compile_variants(
            {
                "source": source,
                "file": "lab.cu",
                "variants": _variants(ARCHITECTURE, installed),
                "libraries": str(installed.libraries),
                "folder": str(ROOT / "grader" / "compile" / "include"),
                "minimal": minimal,
            },
            {},
        )[0]
    finally:
        os.chdir(folder)


@pytest.mark.parametrize("path", SOLUTIONS, ids=[path.stem for path in SOLUTIONS])
def test_a_minimal_source_compiles_to_the_same_code(path: Path) -> None:
    source = path.read_text()
    assert is_minimal(source, OURS)
    assert variants_of(source, minimal=True) == variants_of(source, minimal=False)


@pytest.mark.parametrize(
    "source",
    [
        "__device__ cudaError_t e;",
        "__device__ int ok = cudaSuccess;",
        "template <class T> __global__ void k(T x) { sizeof(cudaExtent); }",
        "__global__ void k(float* a) { a[0] = b; }",
    ],
)
def test_what_fails_without_the_runtimes_types_is_compiled_with_them(source: str) -> None:
    assert variants_of(source, minimal=True) == variants_of(source, minimal=False)


@pytest.mark.parametrize(
    ("source", "minimal"),
    [
        ("#include <math.h>\n  #  include <cuda_runtime.h>\nfloat x;", True),
        ("int x; // cudaMalloc and a texture\n", True),
        ("#include <cooperative_groups.h>\n", False),
        ('#include "math.h"\n', False),
        ("#define HEADER <math.h>\n#include HEADER\n", False),
        ("cudaExtent e;", False),
        ("CUuuid id;", False),
        ("int x = tex2D<int>(t, 0, 0);", False),
        ("auto x = surf1Dread<int>(s, 0);", False),
        ("#if __CUDA_ARCH__ > 800\n#endif\n", False),
        ("#define JOIN(a, b) a##b\n", False),
        ("int x = MAJOR_VERSION;", False),
        ("libraryPropertyType x;", False),
        ("k<<<1, 1>>>();", False),
        ("cu\\\ndaExtent e;", False),
    ],
)
def test_whether_a_source_has_what_a_minimal_compilation_leaves_out(
    source: str, minimal: bool
) -> None:
    assert is_minimal(source, OURS) == minimal
