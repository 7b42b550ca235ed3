"""Turn the compiler's log into findings at the student's lines, without paths of this machine.

The compiler's front end (EDG) writes

    tiled.cu(9): error: identifier "x" is undefined
      float y = x;
                ^
              detected during instantiation of ... at line 20

and its assembler (ptxas) writes one line, with the line of the PTX and not of the source.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import field

from grader import dataclass, regex, replace
from grader.compile.nvrtc import HOST_DATA, HOST_FUNCTION
from grader.compile.preprocessor import code, directives, line_of
from grader.compile.program import Subscript
from grader.faults import StudentFault, did_you_mean
from grader.launch import Finding, Severity

MAX_ERRORS = 20
MAX_WARNINGS = 50
MAX_CONTEXT = 4
MAX_MESSAGE = 500
"""Characters of a message and of each line of its context."""

_HEAD = regex(
    r"^(?:(?P<file>.+?)\((?P<line>\d{1,9})\)|(?P<end>At end of source)): "
    r"(?P<severity>catastrophic error|error|warning|remark|note)(?: #[\w-]+)?: (?P<message>.*)$"
)
_ASSEMBLER = regex(
    r"^ptxas (?:application ptx input, line (?P<line>\d{1,9}); )?"
    r"(?:error|fatal)\s*: (?P<message>.*)$"
)
_FATAL = regex(
    r"^(?:[^\s(][^(\n]*\(\d+\): catastrophic error(?: #[\w-]+)?|(?:ptxas|nvcc) fatal[ \t]*)"
    r": (?P<message>(?!#error|(?:could not|cannot) open source file).*)$",
    re.MULTILINE,
)
_OF_THE_MACHINE = regex(
    r"out of memory|memory allocation|allocate memory|no space left|disk|quota|too many open files"
    r"|input/output error|temporarily unavailable|error (?:while )?(?:writing|reading)"
    r"|(?:could not|cannot|can't|unable to|failed to) (?:open|create|write|read|load)",
    re.IGNORECASE,
)
IS_HOST_DATA = "a global variable without __device__, __constant__ or __shared__ is host data"
_ABORTED = "Ptx assembly aborted due to errors"
_LOCATION = regex(r"^[ \t]*\.loc[ \t]+(\d+)[ \t]+(\d{1,9})\b", re.MULTILINE)
_OPTION = regex(r"^nvrtc: error: (?P<message>.*)$")
_CARET = regex(r"^(\s*)\^\s*$")
_AT_LINE = regex(r'at line (\d{1,9})\b(?: of "?([^"\s]+)"?)?')
_PATH = regex(r"(?<![\w)\]])(?:/[\w.+-]+){2,}/([\w.+-]+)")
_MISSING_HEADER = regex(r'(?:could not|cannot) open source file "([^"]+)"')

_INSTRUCTION = regex(r"^[ \t]+(?:@!?%\w+[ \t]+)?[a-z][\w.:]*[ \t]+([^;]*)(?:;|\Z)", re.MULTILINE)
_SYMBOL = regex(r"[A-Za-z_]\w*")
_UNDEFINED = regex(r'identifier "(\w+)" is undefined')

BUILTINS = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "__syncthreads", "__syncwarp",
    "__shared__", "__global__", "__device__", "__constant__", "__restrict__", "__launch_bounds__",
    "__shfl_sync", "__shfl_down_sync", "__shfl_up_sync", "__shfl_xor_sync", "__ballot_sync",
    "atomicAdd", "atomicSub", "atomicMin", "atomicMax", "atomicExch", "atomicCAS", "printf",
)  # fmt: skip
"""Names of CUDA C++ that beginners misspell; no program defines names close to these."""

_NOT_ASCII = "U+"
"""Start of the message about a character that no program has. It causes the other errors of its
line."""

_END = "end of source"
_UNRESOLVED = regex(r"Unresolved extern function '_Z(\d{1,3})(\w+)'")
_UNUSED = regex(r'function "(?:<unnamed>::)?(\w+)(?:\(.*\))?" was declared but never referenced')
_OUT_OF_RANGE = "subscript out of range"
_OUTSIDE = _OUT_OF_RANGE, "pointer points outside of underlying object"
_AMBIGUOUS = regex(r'more than one instance of overloaded function "(\w+)" matches')


@dataclass(frozen=True)
class _Entry:
    """One diagnostic of the log; `below` are the lines up to the next one."""

    file: str
    line: int
    severity: str
    message: str
    below: list[str] = field(default_factory=list)


def findings(
    log: str, file: str, text: str, ptx: str = "", launched: Container[str] = ()
) -> tuple[Finding, ...]:
    """Read the log's errors, and its warnings about the student's own lines.

    Host functions in headers are errors only where there are no others: device code ignores them.

    Args:
        log: The log. It may contain 20,000 diagnostics.
        file: The name under which the source was compiled.
        text: The source.
        ptx: The assembler's input, which its errors point into.
        launched: The names of kernels, which only a host program references.

    Returns:
        At most MAX_ERRORS errors, then at most MAX_WARNINGS warnings, without duplicates.
    """
    errors: dict[Finding, None] = {}
    warnings: dict[Finding, None] = {}
    entries = list(_entries(log))
    own = [e for e in entries if e.file == file or HOST_FUNCTION not in e.message]
    for entry in own if any(e.severity != "warning" for e in own) else entries:
        is_warning = entry.severity == "warning"
        group, limit = (warnings, MAX_WARNINGS) if is_warning else (errors, MAX_ERRORS)
        if len(group) == limit or (is_warning and entry.file != file):
            continue
        if is_warning and entry.message == _OUT_OF_RANGE:
            continue  # it may be in a branch that is never taken: see `subscripts`
        if is_warning and (unused := _UNUSED.match(entry.message)) and unused[1] in launched:
            continue
        if entry.severity == "assembler":
            group[_assembler_finding(entry, file, text, ptx)] = None
        else:
            group[_finding(entry, file, text)] = None
    garbled = {error.line for error in errors if error.message.startswith(_NOT_ASCII)}
    shown = [e for e in errors if e.line not in garbled or e.message.startswith(_NOT_ASCII)]
    rows = code(text).split("\n") if shown else []
    return (*(e if e.hint else _with_missing_token_hint(e, rows) for e in shown), *warnings)


def subscripts(log: str, file: str) -> tuple[Subscript, ...]:
    """Read where constant subscripts, as in `*(a + 4)` too, are outside: at most MAX_WARNINGS.

    Args:
        log: The log.
        file: The name under which the source was compiled.
    """
    contexts: dict[tuple[int, int], set[str]] = {}
    for entry in _entries(log):
        if entry.message in _OUTSIDE and entry.file == file and len(contexts) < MAX_WARNINGS:
            found = _finding(entry, file, "")
            contexts.setdefault((found.line, found.column), set()).add(found.detail)
    return tuple(Subscript(*at, len(found - {""})) for at, found in contexts.items())


def machine_failure(log: str) -> str:
    """Return the compiler's message that it lacks memory or cannot use a file; empty without one.

    Such a message ends a compilation like an error of the text, and shows nothing about it. The
    text's own #error does not count.
    """
    messages = (match["message"] for match in _FATAL.finditer(log))
    return next((text for text in messages if _OF_THE_MACHINE.search(text)), "")


def used_host_data(log: str, ptx: str, file: str, text: str) -> tuple[Finding, ...]:
    """The errors about host variables that device code uses.

    Args:
        log: The log of the compilation that refused them.
        ptx: The PTX of the compilation that took them for device variables.
        file: The name under which the source was compiled.
        text: The source.
    """
    errors = [finding for finding in findings(log, file, text) if finding.severity == "error"]
    rows = _INSTRUCTION.findall(ptx) if errors else []
    symbols = frozenset(word for row in rows for word in _SYMBOL.findall(row))
    used = []
    for error in errors:
        name = _SYMBOL.match(error.text, max(error.column - 1, 0))
        if name is None or any(_names(symbol, name[0]) for symbol in symbols):
            used.append(error)
    return tuple(used)


def _names(symbol: str, name: str) -> bool:
    """Whether a PTX symbol is a variable of this name: `x`, or `_ZN2ns1xE` of a namespace."""
    return symbol == name or (symbol.startswith("_Z") and f"{len(name)}{name}" in symbol)


def missing_header(log: str) -> str:
    """Return the included header that does not exist; empty when that is not the problem."""
    match = _MISSING_HEADER.search(log)
    return match[1] if match else ""


def error_at(
    message: str,
    file: str,
    line: int,
    text: str,
    *,
    column: int = 0,
    hint: str = "",
    kind: str = "compile-error",
) -> Finding:
    """Return an error at a line of `text`, which is the whole source."""
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


def student_fault(findings: tuple[Finding, ...], what: str) -> StudentFault:
    """Return the StudentFault that shows these findings, at the first error's place."""
    first = next(f for f in findings if f.severity == "error")
    where = f"{first.file}:{first.line}" if first.line else first.file
    return StudentFault(what, where=where, fix=first.hint, findings=findings)


def with_unknown_headers(fault: StudentFault, unknown: tuple[str, ...]) -> StudentFault:
    """Say of an undefined name that a header which is not here may declare it."""
    if not unknown:
        return fault
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(unknown))
    hint = f"if {names} declares it, write it in this file: device code cannot include that"
    if any(name.startswith("curand") for name in unknown):
        hint = "cuRAND's headers are the grader's extra `curand`, which is not installed here"
    found = tuple(
        replace(f, hint=hint) if "undefined" in f.message and not f.hint else f
        for f in fault.findings
    )
    return student_fault(found, fault.what)


def _entries(log: str) -> Iterator[_Entry]:
    """The diagnostics in the log's order; a note is part of the diagnostic before it."""
    pending: _Entry | None = None
    for line in log.split("\n"):
        entry = _entry_of(line)
        if entry is None:
            if pending and line.strip():
                pending.below.append(line)
            continue
        if entry.severity in ("note", "remark"):
            continue
        if pending:
            yield pending
        pending = entry
    if pending:
        yield pending


def _entry_of(line: str) -> _Entry | None:
    """The diagnostic that a line of the log starts; None when it starts none."""
    if head := _HEAD.match(line):
        at = int(head["line"] or 0)
        return _Entry(head["file"] or _END, at, head["severity"], head["message"])
    if (head := _ASSEMBLER.match(line)) and head["message"] != _ABORTED:
        return _Entry("", int(head["line"] or 0), "assembler", head["message"])
    if head := _OPTION.match(line):
        return _Entry("", 0, "error", head["message"])
    return None


def _assembler_finding(entry: _Entry, file: str, text: str, ptx: str) -> Finding:
    """An error of the assembler, at the student's line by the `.loc` directives of the PTX."""
    above = "\n".join(ptx.split("\n")[: entry.line])
    if missing := _UNRESOLVED.search(entry.message):
        name = missing[2][: int(missing[1])]
        calls = (k for k, row in enumerate(code(text).split("\n"), 1) if name in row)
        what = f"function `{name}` is declared, but this file has no definition of it"
        hint = "define it in this file, or in a header that the file includes"
        return error_at(what, file, next(calls, 0), text, hint=hint)
    own = re.search(rf'^[ \t]*\.file[ \t]+(\d+)[ \t]+"{re.escape(file)}"', ptx, re.MULTILINE)
    lines = [int(at[2]) for at in _LOCATION.finditer(above) if own and at[1] == own[1]]
    hint = "correct the asm statement in this line: the assembler rejects it"
    line = lines[-1] if lines else 0
    return error_at(_pathless(entry.message), file, line, text, hint=hint if line else "")


def _finding(entry: _Entry, file: str, text: str) -> Finding:
    column = 0
    context: list[str] = []
    for below in entry.below:
        if caret := _CARET.match(below):
            column = column or len(caret[1]) - 1  # the log indents the line by two
            context = context[:-1]  # the line above the caret repeats the source
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
    message, hint = _explained(entry.message, line_of(text, line)[max(column - 1, 0) :][:1])
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
    """The student's line from which an error inside a header was reached; 0 when unknown."""
    for row in reversed(context):
        match = _AT_LINE.search(row)
        if match and (match[2] or file) == file:
            return int(match[1])
    return 0


def _only_include(message: str, text: str) -> int:
    """The line of the only #include, which led to a header that does not exist.

    0 when there are more, or when the error is another one.
    """
    if not _MISSING_HEADER.search(message):
        return 0
    lines = [directive.line for directive in directives(text) if directive.name == "include"]
    return lines[0] if len(lines) == 1 else 0


def _explained(message: str, character: str) -> tuple[str, str]:
    """The compiler's message, in plainer words where there are any, and a hint.

    `character` is the one that the compiler's caret points to.
    """
    if HOST_FUNCTION in message:
        return (
            "a function without __device__ or __global__ is host code",
            "put __device__ before it if the kernel calls it; otherwise delete it",
        )
    if HOST_DATA in message:
        return (
            IS_HOST_DATA,
            "declare its memory space, or make it a constant with #define or constexpr",
        )
    if missing := _MISSING_HEADER.search(message):
        return (
            f"the header {missing[1]} is not available in device code",
            "delete the #include: a kernel can use CUDA's headers, not the host's libraries",
        )
    if undefined := _UNDEFINED.match(message):
        return message, did_you_mean(undefined[1], BUILTINS, 0.8)
    if message.startswith("unrecognized token") and character > "\x7f":
        return (
            f"{_NOT_ASCII}{ord(character):04X} is not a character of CUDA C++",
            "type it again as an ASCII character: quotes and dashes copied from a document differ",
        )
    if message == "texture is not a template":
        return (
            "texture references are not part of CUDA since version 12",
            "read the array in global memory, through a const pointer with __restrict__",
        )
    if "annotation on lambda" in message:
        return message, "delete the annotation: a lambda has the execution space of its function"
    if call := _AMBIGUOUS.match(message):
        return message, (
            f"pass a float, such as {call[1]}((float)x); for integers, a / b rounds down and "
            "(a + b - 1) / b rounds up"
        )
    return message, ""


def _with_missing_token_hint(error: Finding, rows: list[str]) -> Finding:
    """Add where a token is missing that the compiler expects only in a later line.

    `rows` are the lines of the source without comments.
    """
    if error.message == 'expected a "}"':
        return replace(error, hint="close the { further up that has no }")
    before = rows[: error.line]
    if error.message != 'expected a ";"' or "".join(before[-1:])[: error.column - 1].strip():
        return error
    above = [number for number, row in enumerate(before[:-1], 1) if row.strip()]
    return replace(error, hint=f"put it at the end of line {above[-1]}") if above else error


def _base(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _pathless(text: str) -> str:
    """The text with every path of this machine shortened to the file's name."""
    return _PATH.sub(r"\1", text[:MAX_MESSAGE])
