"""The findings of what C's library asks of its callers: of `printf`, and of `memcpy`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from grader.launch import Finding
from grader.simulator.core import bindings as c
from grader.simulator.diagnose.races import Report
from grader.simulator.ptx.model import Instruction

_TYPES = {1: "an integer of 4 bytes", 2: "a value of 8 bytes", 3: "a floating-point number"}
_LETTERS = {1: "`%d`, `%u` or `%c`", 2: "`%lld`, `%llu`, `%p` or `%s`", 3: "`%f`, `%e` or `%g`"}
"""By what an argument is: its name, and the conversions that read it."""


def with_text_hint(finding: Finding, instructions: Sequence[Instruction], pc: int) -> Finding:
    """The finding of an invalid access, with another hint where `printf` reads a text."""
    i = instructions[pc] if pc < len(instructions) else None
    if (
        i is None
        or not i.op.startswith("call")
        or "vprintf" not in i.operands
        or not finding.variable
    ):
        return finding
    hint = "printf reads a text up to its first byte that is 0. Let the text end with one."
    return replace(finding, hint=hint)


def misprint_finding(r: Report) -> Finding:
    """The finding of a MISPRINTED report: see `compare` in core/machine/instructions/print.c."""
    number, letter = r.extra & 255, chr(r.extra >> 8 & 255)
    given, read, differs = r.extra >> 16 & 3, r.extra >> 18 & 3, r.extra >> 20 & 1
    what = "`*`" if letter == "*" else f"the conversion `{letter}`"
    reads = f"{what} of printf reads {_TYPES[read]}"
    if not given:
        return Finding(
            "invalid-access",
            "error",
            f"{reads} behind the last argument: it is argument {number} after the format, and "
            f"{number - 1 or 'none'} {'was' if number == 2 else 'were'} passed",
            access="read",
            hint="Pass one argument for each conversion of the format. Write `%%` for a `%`.",
        )
    return Finding(
        "invalid-access",
        "error" if differs else "warning",
        f"{reads}, but argument {number} after the format is {_TYPES[given]}",
        access="read",
        hint=f"Write {_LETTERS[given]} for it, or cast the argument to the type that is read.",
    )


def overlap_finding(r: Report) -> Finding:
    """The finding of a `memcpy` to a place that overlaps its source."""
    return Finding(
        "invalid-access",
        "error",
        f"memcpy of {r.bytes:,} bytes to a place that overlaps its source by {r.extra:,} bytes",
        access="write",
        hint="memcpy copies in any order. Copy to another array, or move the elements in a loop "
        "that reads each before it is overwritten.",
    )


LIBRARY_FINDINGS: Mapping[int, Callable[[Report], Finding]] = MappingProxyType(
    {c.MISPRINTED: misprint_finding, c.OVERLAPPED: overlap_finding}
)
"""By the kind of a report, what makes its finding."""
