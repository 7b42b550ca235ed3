"""The compiler asked for files of this machine: the box has none of them, whatever is written.

A submission that says such a thing is refused before the compiler sees it (tests/compile); here
the compiler is asked itself, as if that refusal had a hole. With the box off it prints the
canary: that is the control.
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
    """A source with @ where the canary's path goes; `leaks`: with the box off it is printed."""

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
    """A file that anybody on this machine could read, as an answer is."""
    folder = Path(tempfile.mkdtemp(prefix="warpgrade-test-"))
    folder.chmod(0o755)
    (folder / "reference.h").write_text(f"{CANARY} sings;\n")
    yield folder / "reference.h"
    shutil.rmtree(folder)


def compiled(source: str, *, confine: bool) -> str:
    """All that the compiler says and makes of a source."""
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
def test_no_file_of_the_machine_is_reached(name: str, canary: Path) -> None:
    source = ROWS[name].source.replace("@", str(canary))
    assert CANARY not in compiled(source, confine=True)
    if ROWS[name].leaks:
        assert CANARY in compiled(source, confine=False)


OWN = f"/proc/{os.getpid()}/environ"


@pytest.mark.parametrize(
    "place", ["/proc/self/environ", "/proc/1/environ", pytest.param(OWN, id="ours")]
)
def test_no_environment_is_reached(place: str) -> None:
    """Those inside, where their user may read them, have nothing of ours."""
    ours = {row.partition("=")[0] for row in Path(OWN).read_text().split("\0")}
    ours -= {"", "LANG", "PWD", *sandbox_environment()}
    assert ours
    said = compiled(f'#include "{place}"\n', confine=True)
    assert "error" in said
    assert not [name for name in ours if f"{name}=" in said]


def test_the_environment_is_printed_with_the_box_off() -> None:
    """The control."""
    first = Path(OWN).read_text().partition("=")[0]
    assert f"{first}=" in compiled(f'#include "{OWN}"\n', confine=False)


@pytest.mark.parametrize("fd", [3, 5, 6])
def test_what_the_child_was_asked_is_not_reached(fd: int) -> None:
    """The request has the nonce that an answer must carry."""
    said = compiled(f'#include "/proc/self/fd/{fd}"\n', confine=True)
    assert "nonce" not in said and "cannot open source file" in said


def test_the_reply_is_not_reached() -> None:
    """Nothing is in it yet; a compiler that reads its zeros to their end has no verdict either."""
    assert "nonce" not in compiled('#include "/proc/self/fd/4"\n', confine=True)
