"""The findings of what libraries ask of their callers: C's, wmma's and CUB's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from grader import regex, replace
from grader.launch import Finding
from grader.simulator.core import bindings as c
from grader.simulator.diagnose.races import Report
from grader.simulator.ptx.model import Instruction

_TYPES = {1: "an integer of 4 bytes", 2: "a value of 8 bytes", 3: "a floating-point number"}
_LETTERS = {1: "`%d`, `%u` or `%c`", 2: "`%lld`, `%llu`, `%p` or `%s`", 3: "`%f`, `%e` or `%g`"}
"""By what an argument is: its name, and the conversions that read it."""
_STORAGE = "TempStorage"
"""The memory that the threads of a call of CUB share."""
_NAME = regex(r"\w+")
_CALLED = regex(r"(?:\.|->|::)\s*(\w+)\s*(?:<[^;()<>]*>)?\s*\(|[()]")
MAX_CALL_TEXT = 400
"""The characters of a line that are searched for the function that it calls."""


def with_library_hint(
    finding: Finding, instructions: Sequence[Instruction], pc: int, lines: Sequence[str]
) -> Finding:
    """The finding of an access, with the hint for the library's function that makes it.

    Args:
        finding: the finding.
        instructions: those of the image.
        pc: the instruction that makes the access.
        lines: the lines of the source.
    """
    i = instructions[pc] if pc < len(instructions) else None
    if i is None or finding.kind not in ("invalid-access", "uninitialized-read"):
        return finding
    name, outside = finding.variable, finding.message.startswith("out-of-bounds")
    if i.op.startswith("call") and "vprintf" in i.operands and name:
        hint = "printf reads a text up to its first byte that is 0. Let the text end with one."
    elif i.via.endswith("_matrix_sync") and outside:
        hint = (
            "Check the pointer and the leading dimension (ldm): the rows of the matrix, or its "
            f"columns, begin ldm elements apart, and all of them must be in `{name}`."
        )
    elif i.via == "mma_sync" and finding.kind == "uninitialized-read":
        hint = f"Fill or load `{name}` before: wmma::fill_fragment or wmma::load_matrix_sync."
    elif i.via and finding.space == "shared" and _is_storage(name, lines):
        hint = (
            f"The type of `{name}` is for fewer threads than execute this call. Pass the number of "
            "threads of the block, or of the logical warp, as the argument of the template."
            if outside
            else f"The library keeps what threads pass to this call in `{name}`. Give what each "
            "thread passes a value, such as 0, and let all threads make the call. Use no element "
            "of the result that no thread has passed."
        )
    else:
        return finding
    return replace(finding, hint=hint)


def _is_storage(name: str, lines: Sequence[str]) -> bool:
    """Whether a line that names a library's type for shared memory names a variable, too."""
    return any(_STORAGE in x and name in _NAME.findall(x) for x in lines)


def in_library(message: str, via: str, line: str) -> str:
    """A message with the library's function that a line calls, or else the header of the code.

    Args:
        message: the message.
        via: the library's function or header that the code was reached through; empty for own code.
        line: the line of the source. A function that it does not name is one inside of its call.
    """
    if not via:
        return message
    via = via.strip("_").removesuffix("_base") if via.endswith("_base") else via
    if not re.search(rf"\b{re.escape(via)}\b", line):
        via = _called(line) or via
    return f"{message}, in {f'the header {via}' if '.' in via else f'the library function `{via}`'}"


def _called(line: str) -> str:
    """The last function of a class or namespace that a line calls outside of other calls."""
    depth, calls = 0, list[tuple[int, str]]()
    for match in _CALLED.finditer(line[:MAX_CALL_TEXT]):
        if match[1] is not None:
            calls.append((depth, match[1]))
        depth += -1 if match[0] == ")" else 1
    least = min((at for at, _ in calls), default=0)
    return [name for at, name in calls if at == least][-1] if calls else ""


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
