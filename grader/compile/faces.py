"""Code with two faces: one for the compiler that judges, another for the one that is timed.

The predefined macros that tell compilers, debug builds and devices apart have no use in a
kernel that is to do the same everywhere. `__CUDACC__` and a test for a device that every
supported one passes (`__CUDA_ARCH__ >= 600`) are the same on all, and stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.compile.lexical import code, directives

OLDEST = 750
"""__CUDA_ARCH__ of the oldest device that is supported; newer ones have larger numbers."""

_TELLING = re.compile(
    r"\b(__CUDACC_(?:RTC|DEBUG|VER_\w+|EWP|RDC|RELAXED\w*|EXTENDED\w*)__|__NVCC__"
    r"|__NVRTC\w*|__NVCOMPILER\w*|__CUDA_ARCH_(?:LIST|FEAT_\w+|SPECIFIC|FAMILY_SPECIFIC)\w*"
    r"|__OPTIMIZE__|__clang__|__GNUC__|_MSC_VER|__DATE__|__TIME__|__TIMESTAMP__)\b"
)
_PASTED = re.compile(
    r"(?:__CUDA|__NV)\w{0,64}\s{0,64}\#\#|\#\#\s{0,64}(?:CUDACC|NVCC|RTC__|DEBUG__|ARCH__)"
)
_DEVICE = re.compile(r"\b__CUDA_ARCH__\b(?:\s*(>=|<=|==|!=|>|<)\s*(\d+))?")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*)?__CUDA_ARCH__\b")
_HINT = "write one kernel for every compiler, build and device: delete the condition"


def two_faced(text: str) -> tuple[int, str, str] | None:
    """(line, message, hint) of the first thing that tells compilers or devices apart."""
    for line, words in sorted(_pieces(text)):
        if found := _TELLING.search(words):
            return line, f"`{found[1]}` shows one kernel to the judge and another to the GPU", _HINT
        if _PASTED.search(words):
            return line, "## puts together the name of a compiler's own macro", _HINT
        if any(not _same_on_all(m) for m in _DEVICE.finditer(_DEFINED.sub("", words))):
            return line, "`__CUDA_ARCH__` makes the kernel another one on another device", _HINT
    return None


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The directives and the lines of code, literals and comments apart, with their lines."""
    for d in directives(text):
        bare = d.text if d.name not in ("ifdef", "ifndef") else f"defined({d.text})"
        yield d.line, bare
    for number, line in enumerate(code(text).split("\n"), 1):
        if "__" in line or "_MSC_VER" in line:
            yield number, line


def _same_on_all(found: re.Match[str]) -> bool:
    """Whether a comparison has one answer for every supported device."""
    if not found[1]:
        return False
    bound = int(found[2])
    return bound <= OLDEST if found[1] in (">=", "<") else bound < OLDEST
