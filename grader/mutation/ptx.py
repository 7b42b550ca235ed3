"""When two programs are the same to the GPU: the same optimised PTX, apart from where it came from.

The compiler then makes the same machine code of both, so no run of any input tells them apart.
"""

from __future__ import annotations

import re

_DEBUG = re.compile(r"\s*(//|\.loc\b|\.file\b|\$L__tmp\d+:|$)")
_SECTION = re.compile(r"\s*\.section\b")


def essence(ptx: str) -> str:
    """PTX text without line numbers, file names, debug sections, comments and spacing."""
    lines: list[str] = []
    inside = False
    for line in ptx.splitlines():
        if _SECTION.match(line):
            inside = True
        elif inside:
            inside = line.strip() != "}"
        elif not _DEBUG.match(line):
            lines.append(" ".join(line.partition("//")[0].split()))
    return "\n".join(lines)
