"""Compile the tests' own kernels in this process, which costs a third less than in a sandboxed one.

A child that is forked for one compilation touches all of the compiler's memory anew. Students' code
is compiled in such a child; these kernels are ours, and a thousand of them are compiled in a run.
`compile_source` does all else as always, and keeps what was compiled.

Reading the toolkit's headers takes the compiler two thirds of its time, and many kernels begin with
the same ones: they are compiled once (NVRTC documentation, Precompiled Headers). Only declarations
of variables may then come in another order in the PTX.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import tempfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch
from weakref import finalize

from grader.compile import source
from grader.compile.nvrtc import compile_variants
from grader.compile.program import Program
from grader.sandbox.message import Reply

_PREFIX = "warpgrade-headers-"
_MOST_BEGINNINGS = 8
"""A beginning's headers take 30 to 200 MB of the disk."""
_FEWEST_USES = 3
"""Compiling headers takes half as long again as a kernel with them, and one with them a third."""
_BEGINNING = re.compile(r"(?:\s|//.*|#[ \t]*include[ \t]*<[^>\n]+>)*")


class Headers:
    """The compiled headers of this process's programs: another has other addresses."""

    def __init__(self) -> None:
        for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            if not Path("/proc", left.name.split("-")[2]).exists():  # its process was killed
                shutil.rmtree(left, ignore_errors=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._uses = _uses()
        self._kept = OrderedDict[str, Path]()
        finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def options(self, variant: str, text: str) -> list[str]:
        """What to compile a text with, if enough texts have the same headers."""
        headers = _beginning(text)
        if not headers or self._uses[headers] < _FEWEST_USES:
            return []
        key = f"{variant}\n{headers}"
        if key not in self._kept:
            self._kept[key] = Path(tempfile.mkdtemp(dir=self.folder))
        self._kept.move_to_end(key)
        while len(self._kept) > 2 * _MOST_BEGINNINGS:
            shutil.rmtree(self._kept.popitem(last=False)[1])
        return ["--pch", f"--pch-dir={self._kept[key]}", "--pch-messages=false"]


_headers = functools.cache(Headers)


def _beginning(text: str) -> str:
    """The headers that a text begins with; none if a macro follows, which would belong to them."""
    found = _BEGINNING.match(text)
    if not found or text.startswith("#", found.end()):
        return ""
    return "\n".join(re.findall("#.*", found[0]))


def _uses() -> Counter[str]:
    """How many of the tests' kernels begin with the same headers."""
    kernels = Path(__file__).parent.rglob("*.cu")
    return Counter(_beginning(path.read_text(errors="replace")) for path in kernels)


def compiled_here(path: Path, cache: Path | Literal["user"] | None = "user") -> Program:
    """Compile a kernel of the tests."""
    return compile_here(path.read_bytes(), path.name, cache=cache)


def compile_here(
    text: bytes, name: str, *, cache: Path | Literal["user"] | None = "user"
) -> Program:
    """Compile a text of the tests."""
    with patch.object(source, "run_sandboxed", _run_here):
        return source.compile_source(text, name, cache=cache)


def _run_here(step: str, request: Any, **_: Any) -> Reply:
    assert step == source.COMPILE, step
    variants = {
        name: [*options, *_headers().options(name, request["source"])]
        for name, options in request["variants"].items()
    }
    folder = os.getcwd()
    try:
        return Reply(*compile_variants({**request, "variants": variants}, {}))
    finally:
        os.chdir(folder)
