"""The compiler cannot read files of this machine, whatever the source includes.

Such a submission is refused before it is compiled (tests/compile); these tests run the compiler
itself, as if that check had a gap. Without the sandbox it prints the canary: that is the control.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from grader.compile.nvrtc import installation
from grader.compile.source import LIMITS
from grader.sandbox.bubblewrap import sandbox_environment
from grader.sandbox.call import SandboxFailure, run_sandboxed

CANARY = "canary_7f3a91"
KERNEL = 'extern "C" __global__ void k(int* out)'
INCLUDE = Path(__file__).parents[2] / "grader" / "compile" / "include"


@dataclass(frozen=True)
class Row:
    """A source with @ for the canary's path; `leaks`: the canary is printed without the sandbox."""

    source: str
    leaks: bool = True


ROWS = {
    "in quotes": Row('#include "@"'),
    "in brackets": Row("#include <@>"),
    "by a macro": Row('#define PLACE "@"\n#include PLACE'),
    "by climbing": Row('#include "../../../../../../../../../../../../../..@"'),
    "by #include_next": Row("#include_next <@>"),
    "over line ends": Row('#incl\\\nude "@"'),
    "by a digraph": Row('%:include "@"'),
    "by asking": Row(f'#if __has_include("@")\n#error {CANARY}\n#endif'),
    "by #import": Row('#import "@"', leaks=False),
    "by #embed": Row('__device__ unsigned char all[] = {\n#embed "@"\n};', leaks=False),
    "by a pragma": Row('#pragma include "@"', leaks=False),
    "by #line": Row(f'#line 1 "@"\n{KERNEL} {{ nothing }}', leaks=False),
    "by .incbin": Row(f'{KERNEL} {{ asm(".incbin \\"@\\";"); }}', leaks=False),
    "by .include": Row(f'{KERNEL} {{ asm(".include \\"@\\""); }}', leaks=False),
    "by .file": Row(f'{KERNEL} {{ asm(".file 9 \\"@\\""); }}', leaks=False),
}


@pytest.fixture(scope="module")
def canary() -> Iterator[Path]:
    """A file that every user of this machine can read."""
    folder = Path(tempfile.mkdtemp(prefix="warpgrade-test-"))
    folder.chmod(0o755)
    (folder / "reference.h").write_text(f"{CANARY} sings;\n")
    yield folder / "reference.h"
    shutil.rmtree(folder)


def compiled(source: str, *, confine: bool) -> str:
    """Return everything that the compiler prints and generates for a source."""
    place = installation()
    options = ["-lineinfo", "-arch=sm_90", f"-I{INCLUDE}"]
    request = {
        "source": source,
        "file": "a.cu",
        "variants": {"optimised": options},
        "libraries": str(place.libraries),
        "folder": str(INCLUDE),
    }
    step, limits = "grader.compile.nvrtc:compile_variants", replace(LIMITS, wall=5.0)
    try:
        return json.dumps(run_sandboxed(step, request, limits=limits, confine=confine).value)
    except SandboxFailure as death:
        return str(death)


@pytest.mark.parametrize("name", ROWS)
def test_compiler_cannot_read_files_of_the_machine(name: str, canary: Path) -> None:
    source = ROWS[name].source.replace("@", str(canary))
    assert CANARY not in compiled(source, confine=True)
    if ROWS[name].leaks:
        assert CANARY in compiled(source, confine=False)


OWN = f"/proc/{os.getpid()}/environ"


@pytest.mark.parametrize(
    "place", ["/proc/self/environ", "/proc/1/environ", pytest.param(OWN, id="ours")]
)
def test_compiler_cannot_read_an_environment(place: str) -> None:
    """Those inside the sandbox have none of the grader's variables."""
    ours = {row.partition("=")[0] for row in Path(OWN).read_text().split("\0")}
    ours -= {"", "LANG", "PWD", *sandbox_environment()}
    assert ours
    output = compiled(f'#include "{place}"\n', confine=True)
    assert "error" in output
    assert not [name for name in ours if f"{name}=" in output]


def test_compiler_prints_the_environment_without_the_sandbox(private_tree: None) -> None:
    """The control of the test above."""
    first = Path(OWN).read_text().partition("=")[0]
    assert f"{first}=" in compiled(f'#include "{OWN}"\n', confine=False)


@pytest.mark.parametrize("fd", [3, 5, 6])
def test_compiler_cannot_read_the_request(fd: int) -> None:
    """The request has the nonce that a reply must carry."""
    output = compiled(f'#include "/proc/self/fd/{fd}"\n', confine=True)
    assert "nonce" not in output and "cannot open source file" in output


def test_compiler_cannot_read_the_reply() -> None:
    """It is still empty; a compiler that reads its zeros to the end has no result either."""
    assert "nonce" not in compiled('#include "/proc/self/fd/4"\n', confine=True)
