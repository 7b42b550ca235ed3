"""The PTX instructions of each line of a source, for reports that show them.

The optimized PTX has a `.loc` directive before the instructions of a line. Code of a function that
was inlined has the line of the call too, so that it is found at the student's own line. What leads
to no line of the file, such as a function of a header that was not inlined, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from grader import dataclass, regex
from grader.compile.program import Program

MAX_INSTRUCTIONS = 4000
"""Instructions of a program that are kept."""

MAX_ON_A_LINE = 64
"""Instructions of a line that are kept; an unrolled loop has many more of the same kind."""

MAX_TEXT = 160
"""Characters of an instruction that are kept."""

_FILE = regex(r'[ \t]*\.file[ \t]+(\d{1,9})[ \t]+"([^"\n]*)"')
_LOC = regex(
    r"[ \t]*\.loc[ \t]+(\d{1,9})[ \t]+(\d{1,9})[ \t]+\d{1,9}"
    r"(?:[^\n]*?inlined_at[ \t]+(\d{1,9})[ \t]+(\d{1,9})[ \t]+\d{1,9})?"
)
_LABEL = regex(r"[\w$%]+[ \t]*:(?!:)")
_OPCODE = regex(r"(?:@!?%?\w+[ \t]+)?[a-z][a-z0-9_.:]*(?:[ \t]|$)")
_PENDING = 4096
"""Characters of an instruction that may stand on several rows, such as a call."""


@dataclass(frozen=True)
class PtxLine:
    """The optimized PTX instructions that came from one source line, in order.

    `file` is a header's or another cell's name; empty for the submitted file.
    """

    line: int
    instructions: tuple[str, ...]
    file: str = ""


def ptx_lines(program: Program) -> tuple[PtxLine, ...]:
    """Return the optimized instructions of each line of the program's own file."""
    found = instructions_by_line(program.ptx, program.file)
    return tuple(PtxLine(line, found[line]) for line in sorted(found))


def instructions_by_line(ptx: str, file: str) -> Mapping[int, tuple[str, ...]]:
    """Return the instructions of each line of `file`, up to the limits of this module."""
    rows = ptx.split("\n")
    own = {m[1] for m in map(_FILE.match, rows) if m and m[2].rpartition("/")[2] == file}
    found: dict[int, list[str]] = {}
    calls: dict[tuple[str, str], int] = {}
    line = kept = 0
    pending = ""
    for row in rows:
        if (at := _LOC.match(row)) is not None:
            line, pending = _own_line(at, own, calls), ""
            continue
        if row.startswith(".") or row.lstrip().startswith(".section"):  # another function
            line = 0
        *ended, pending = f"{pending} {row.partition('//')[0]}".split(";")
        pending = pending[:_PENDING]
        for text in filter(None, map(_instruction, ended if line else ())):
            texts = found.setdefault(line, [])
            if len(texts) <= MAX_ON_A_LINE and kept < MAX_INSTRUCTIONS:
                texts.append(text)
                kept += 1
    return {line: tuple(_within(texts)) for line, texts in found.items()}


def _instruction(statement: str) -> str:
    """Return an instruction in one line; "" for a directive and for anything else."""
    text = statement.lstrip("{} \t")
    while (label := _LABEL.match(text)) is not None:
        text = text[label.end() :].lstrip("{} \t")
    return f"{' '.join(text.split())[:MAX_TEXT]};" if _OPCODE.match(text) else ""


def _own_line(at: re.Match[str], own: set[str], calls: dict[tuple[str, str], int]) -> int:
    """The own line that a `.loc` leads to, by the call of the function that was inlined there.

    `calls` has the lines that were met: that of a call within inlined code is among them.
    """
    if at[1] in own:
        return int(at[2])
    line = int(at[4] or 0) if at[3] in own else calls.get((at[3], at[4]), 0)
    calls[at[1], at[2]] = line
    return line


def _within(texts: list[str]) -> list[str]:
    """Replace what is beyond the limit of a line by a note."""
    if len(texts) <= MAX_ON_A_LINE:
        return texts
    return [*texts[:MAX_ON_A_LINE], "// and further instructions"]
