"""The compiler's log as Findings: the student's own line, column and text, and no path of ours.

The compiler's front end (EDG) writes

    tiled.cu(9): error: identifier "x" is undefined
      float y = x;
                ^
              detected during instantiation of ... at line 20

and its assembler (ptxas) one line, about the PTX and not the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from grader.compile.preprocessor import code, directives, line_of
from grader.faults import StudentFault, did_you_mean
from grader.launch import Finding, Severity

MAX_ERRORS = 20
MAX_WARNINGS = 50
MAX_CONTEXT = 4
MAX_LETTERS = 500  # of a message, a context's line

_HEAD = re.compile(
    r"^(?:(?P<file>.+?)\((?P<line>\d+)\)|(?P<end>At end of source)): "
    r"(?P<severity>catastrophic error|error|warning|remark|note)(?: #[\w-]+)?: (?P<message>.*)$"
)
_ASSEMBLER = re.compile(
    r"^ptxas (?:application ptx input, line (?P<line>\d+); )?(?:error|fatal)\s*: (?P<message>.*)$"
)
_ABORTED = "Ptx assembly aborted due to errors"
_LOCATION = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)", re.MULTILINE)
_OPTION = re.compile(r"^nvrtc: error: (?P<message>.*)$")
_CARET = re.compile(r"^(\s*)\^\s*$")
_AT_LINE = re.compile(r'at line (\d+)(?: of "?([^"\s]+)"?)?')
_PATH = re.compile(r"(?<![\w)\]])(?:/[\w.+-]+){2,}/([\w.+-]+)")
_MISSING_HEADER = re.compile(r'(?:could not|cannot) open source file "([^"]+)"')

_UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')

BUILTINS = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "__syncthreads", "__syncwarp",
    "__shared__", "__global__", "__device__", "__constant__", "__restrict__", "__launch_bounds__",
    "__shfl_sync", "__shfl_down_sync", "__shfl_up_sync", "__shfl_xor_sync", "__ballot_sync",
    "atomicAdd", "atomicSub", "atomicMin", "atomicMax", "atomicExch", "atomicCAS", "printf",
)  # fmt: skip
"""What CUDA C++ has of its own and beginners misspell; no program defines names near these."""

_ODD = "U+"
"""How the message about a letter of no program starts; what else is wrong in its line follows."""

_END = "end of source"
_AMBIGUOUS = re.compile(r'more than one instance of overloaded function "(\w+)" matches')
_HOST = "host functions are not allowed in JIT mode"
_HOST_DATA = "host variables are not allowed in JIT mode"


@dataclass(frozen=True)
class _Entry:
    """One diagnostic as the log has it; `below` are the lines up to the next one."""

    file: str
    line: int
    severity: str
    message: str
    below: list[str] = field(default_factory=list)


def findings(log: str, file: str, text: str, ptx: str = "") -> tuple[Finding, ...]:
    """The log's errors (at most MAX_ERRORS) and the warnings about the student's own lines (at
    most MAX_WARNINGS): a log may have 20,000, and each asks for its line of the source.

    `file` is the name that the source was compiled under, `text` the source, `ptx` what the
    assembler was given: its errors point there.
    """
    errors: dict[Finding, None] = {}
    warnings: dict[Finding, None] = {}
    for entry in _entries(log):
        kind, most = (
            (warnings, MAX_WARNINGS) if entry.severity == "warning" else (errors, MAX_ERRORS)
        )
        if len(kind) == most or (kind is warnings and entry.file != file):
            continue
        if entry.severity == "assembler":
            kind[_assembler_finding(entry, file, text, ptx)] = None
        else:
            kind[_finding(entry, file, text)] = None
    odd = {error.line for error in errors if error.message.startswith(_ODD)}
    told = [e for e in errors if e.line not in odd or e.message.startswith(_ODD)]
    rows = code(text).split("\n") if told else []
    return (*(error if error.hint else _left_open(error, rows) for error in told), *warnings)


def missing_header(log: str) -> str:
    """The header that was included and is not there; empty when that is not the problem."""
    found = _MISSING_HEADER.search(log)
    return found[1] if found else ""


def located(
    message: str,
    file: str,
    line: int,
    text: str,
    *,
    column: int = 0,
    hint: str = "",
    kind: str = "compile-error",
) -> Finding:
    """An error at a line of `text`, the whole source."""
    return Finding(
        kind,
        "error",
        message,
        file=file,
        line=line,
        column=column,
        text=line_of(text, line),
        hint=hint,
    )


def fault(found: tuple[Finding, ...], what: str) -> StudentFault:
    """The StudentFault that shows these findings, at the first one's place."""
    first = next(f for f in found if f.severity == "error")
    where = f"{first.file}:{first.line}" if first.line else first.file
    return StudentFault(what, where=where, fix=first.hint, findings=found)


def _entries(log: str) -> Iterator[_Entry]:
    """The diagnostics in the log's order; what is below a note belongs to the one before it."""
    pending: _Entry | None = None
    for line in log.split("\n"):
        started = _started(line)
        if started is None:
            if pending and line.strip():
                pending.below.append(line)
            continue
        if started.severity in ("note", "remark"):
            continue
        if pending:
            yield pending
        pending = started
    if pending:
        yield pending


def _started(line: str) -> _Entry | None:
    if head := _HEAD.match(line):
        at = int(head["line"] or 0)
        return _Entry(head["file"] or _END, at, head["severity"], head["message"])
    if (head := _ASSEMBLER.match(line)) and head["message"] != _ABORTED:
        return _Entry("", int(head["line"] or 0), "assembler", head["message"])
    if head := _OPTION.match(line):
        return _Entry("", 0, "error", head["message"])
    return None


def _assembler_finding(entry: _Entry, file: str, text: str, ptx: str) -> Finding:
    """An error of the assembler, at the student's line that the PTX says it comes from."""
    above = "\n".join(ptx.split("\n")[: entry.line])
    own = re.search(rf'^\s*\.file\s+(\d+)\s+"{re.escape(file)}"', ptx, re.MULTILINE)
    lines = [int(at[2]) for at in _LOCATION.finditer(above) if own and at[1] == own[1]]
    hint = "look at the asm statement here: the assembler refuses what it says"
    line = lines[-1] if lines else 0
    return located(_pathless(entry.message), file, line, text, hint=hint if line else "")


def _finding(entry: _Entry, file: str, text: str) -> Finding:
    column = 0
    context: list[str] = []
    for below in entry.below:
        if caret := _CARET.match(below):
            column = column or len(caret[1]) - 1  # the log indents the line by two
            context = context[:-1]  # the line above the caret is the source's
        elif below[:2] == "  ":
            context.append(below.strip())
    line = entry.line
    if entry.file == _END:
        line = text.rstrip().count("\n") + 1
    elif entry.file != file:
        line, column = _used_at(context, file) or _only_include(entry.message, text), 0
        context = [f"in {_base(entry.file)}, line {entry.line}", *context] if entry.file else []
    severity: Severity = "warning" if entry.severity == "warning" else "error"
    kind = "compile-warning" if severity == "warning" else "compile-error"
    message, hint = _told(entry.message, line_of(text, line)[max(column - 1, 0) :][:1])
    return Finding(
        kind,
        severity,
        _pathless(message),
        file=file,
        line=line,
        column=column,
        text=line_of(text, line),
        hint=hint,
        detail="\n".join(_pathless(c) for c in context[:MAX_CONTEXT]),
    )


def _used_at(context: list[str], file: str) -> int:
    """The student's line from which an error inside a header was reached; 0 when not told."""
    for row in reversed(context):
        found = _AT_LINE.search(row)
        if found and (found[2] or file) == file:
            return int(found[1])
    return 0


def _only_include(message: str, text: str) -> int:
    """The student's line that a header which is not there was reached from: that of the only
    #include; 0 when there are more, or another thing is wrong.
    """
    if not _MISSING_HEADER.search(message):
        return 0
    lines = [directive.line for directive in directives(text) if directive.name == "include"]
    return lines[0] if len(lines) == 1 else 0


def _told(message: str, letter: str) -> tuple[str, str]:
    """The compiler's sentence, and what to do about it where we know better.

    `letter` is the one that the compiler's caret points to.
    """
    if _HOST in message:
        return (
            "a function without __device__ or __global__ is host code",
            "put __device__ before it when the kernel calls it, else delete it",
        )
    if _HOST_DATA in message:
        return (
            "a global variable without __device__, __constant__ or __shared__ is host data",
            "say in which memory it lies, or make it a constant with #define or constexpr",
        )
    if missing := _MISSING_HEADER.search(message):
        return (
            f"there is no header {missing[1]} in device code",
            "delete the #include: kernels use CUDA's headers only, not the host's libraries",
        )
    if undefined := _UNDEFINED.match(message):
        return message, did_you_mean(undefined[1], BUILTINS, 0.8)
    if message.startswith("unrecognized token") and letter > "\x7f":
        return (
            f"{_ODD}{ord(letter):04X} is no letter of CUDA C++",
            "type it again as a plain character: quotes and dashes copied from a document differ",
        )
    if call := _AMBIGUOUS.match(message):
        return message, (
            f"give it a float, such as {call[1]}((float)x); with whole numbers a / b rounds down "
            "already, and (a + b - 1) / b up"
        )
    return message, ""


def _left_open(error: Finding, rows: list[str]) -> Finding:
    """The error with where to look when the compiler noticed only later, in lines without
    comments, that something is missing.
    """
    if error.message == 'expected a "}"':
        return replace(error, hint="a { further up is never closed")
    before = rows[: error.line]
    if error.message != 'expected a ";"' or "".join(before[-1:])[: error.column - 1].strip():
        return error
    above = [number for number, row in enumerate(before[:-1], 1) if row.strip()]
    return replace(error, hint=f"it is missing at the end of line {above[-1]}") if above else error


def _base(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _pathless(text: str) -> str:
    """The text with every path of this machine shortened to the file's name."""
    return _PATH.sub(r"\1", text[:MAX_LETTERS])
