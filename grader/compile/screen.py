"""What is refused before a compiler sees it: files that are no source, and reaching for others.

The includes are refused here for a clear message and as a second wall; the first one is the box,
which does not hold what they reach for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.compile.diagnostics import fault, located
from grader.compile.lexical import Directive, closing, code, directives, line_at
from grader.faults import StudentFault
from grader.launch import Finding

# Code with two faces: one for the compiler that judges, another for the one that is timed.
#
# The predefined macros that tell compilers, debug builds and devices apart have no use in a
# kernel that is to do the same everywhere. `__CUDACC__` and a test for a device that every
# supported one passes (`__CUDA_ARCH__ >= 600`) are the same on all, and stay.

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


# Finds the host half of a program: main, kernel launches, calls of the CUDA runtime.
#
# Students often hand in the whole program that they tried their kernel with. The compiler answers
# that with a page of errors; this answers with the lines to delete.

_NAME = re.compile(r"([A-Za-z_]\w*)\s*\(")
_HOSTCODE_DEVICE = re.compile(r"__global__|__device__")
_SCOPE = re.compile(r'^\s*(?:inline\s+)?(?:namespace\b|extern\s*"[^"]*"\s*$)')
_DATA = re.compile(r"^\s*(?:typedef\s+)?(?:struct|class|enum|union)\b")
_MARK = re.compile(r"[({};]")
_LAUNCH = "<<<"
_RUNTIME = re.compile(r"\b(cuda[A-Z]\w*)\s*\(")
_STREAM = re.compile(r"\bstd\s*::\s*(?:cout|cerr|vector|string|chrono|unique_ptr)\b")


@dataclass(frozen=True)
class HostCode:
    """Lines `first` to `last` that run on the host: `what` they are. `guarded` when they stand
    in a conditional, so that the compiler may never see them.
    """

    what: str
    first: int
    last: int
    guarded: bool

    def __str__(self) -> str:
        lines = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{lines} ({self.what})"


def host_code(text: str) -> tuple[HostCode, ...]:
    """The host's functions of a source, in order."""
    bare = code(text)
    conditional = _conditional_lines(text)
    found = []
    for head, start, end in _functions(bare):
        what = _role(head, bare[start:end])
        if what:
            lead = start - len(head.lstrip())
            first, last = line_at(bare, lead), line_at(bare, end)
            found.append(HostCode(what, first, last, first in conditional))
    return tuple(found)


def host_finding(
    found: tuple[HostCode, ...], text: str, file: str, unknown: tuple[str, ...]
) -> Finding:
    """The one message about a whole program. `unknown` are the headers that kernels lack: the
    lines that include them go as well.
    """
    lines = [
        HostCode(f"#include {d.text}", d.line, d.line, False)
        for d in directives(text)
        if d.name == "include" and d.text.strip('<>"') in unknown
    ]
    ordered = sorted([*found, *lines], key=lambda h: h.first)
    return located(
        "this is a whole program: submit the kernel alone, the grader launches it itself",
        file,
        found[0].first,
        text,
        hint="delete "
        + ", ".join(f"line {h}" if h.first == h.last else f"lines {h}" for h in ordered),
    )


def nested_launch(text: str, file: str) -> Finding | None:
    """A kernel launch in device code, which no backend here offers."""
    bare = code(text)
    for head, start, end in _functions(bare):
        at = bare.find(_LAUNCH, start, end)
        if _HOSTCODE_DEVICE.search(head) and at >= 0:
            message = "a kernel launches another kernel (dynamic parallelism), which is not offered"
            hint = "do the work in this kernel, or split it into launches that the lab asks for"
            line = line_at(bare, at)
            return located(message, file, line, text, hint=hint, kind="missing-feature")
    return None


def _functions(bare: str) -> Iterator[tuple[str, int, int]]:
    """(head, start of the body, its end) of each function that stands outside of any other."""
    start = position = 0
    while found := _MARK.search(bare, position):
        position = found.end()
        match found[0]:
            case "(":
                position = closing(bare, found.start()) + 1
            case "{":
                head = bare[start : found.start()]
                if not _SCOPE.search(head):
                    position = closing(bare, found.start()) + 1
                    if "(" in head and not _DATA.search(head):
                        yield head, found.start(), position - 1
                start = position
            case _:
                start = position


def _role(head: str, body: str) -> str:
    """What a function is on the host; empty for device code and for what may become it."""
    if _HOSTCODE_DEVICE.search(head):
        return ""
    names = _NAME.findall(head)
    name = names[0] if names else "a function"
    if name == "main":
        return "main"
    if _LAUNCH in body:
        return f"{name}: a kernel launch"
    if called := _RUNTIME.search(body):
        return f"{name}: {called[1]}"
    if _STREAM.search(body) or re.search(r"\b__host__\b", head):
        return f"{name}: host code"
    return ""


def _conditional_lines(text: str) -> frozenset[int]:
    """The lines between an outermost #if and its #endif."""
    lines: set[int] = set()
    opened = 0
    for directive in directives(text):
        if directive.depth == 0 and directive.name.startswith("if"):
            opened = directive.line
        elif directive.depth == 0 and directive.name == "endif":
            lines.update(range(opened, directive.line + 1))
    return frozenset(lines)


MAX_BYTES = 256 << 10

_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(r"""(?:<([^>\n]*)>|"([^"\n]*)")""")
_HEADER_SUFFIXES = (".h", ".hpp", ".cuh", ".hxx")
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1f\x7f]")


def text_of(source: bytes, file: str) -> str:
    """The source as text with plain line ends. StudentFault when it is none."""
    if len(source) > MAX_BYTES:
        size = f"{len(source):,} bytes, more than the {MAX_BYTES >> 10} KiB that a kernel may have"
        raise _refusal(file, f"the file has {size}", "submit the kernel's source alone")
    if b"\0" in source:
        raise _refusal(file, "the file is binary, not source text", "submit the .cu file itself")
    try:
        text = source.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{source[error.start]:02x} at line {line} is not UTF-8"
        raise _refusal(file, byte, "save the file with the encoding UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise _refusal(file, "the file is empty", "write the kernel, or pick the right file")
    if strange := _CONTROL.search(text):
        line = text.count("\n", 0, strange.start()) + 1
        byte = f"control character 0x{ord(strange[0]):02x} at line {line}"
        raise _refusal(file, byte, "delete it; a source has only text")
    return text


def refuse_reaching(text: str, file: str) -> None:
    """StudentFault for directives that reach for files outside of CUDA's headers, or that would
    make messages point elsewhere, and for code that the judge would see another of.
    """
    for directive in directives(text):
        found = _problem(directive)
        if found:
            kind, message, hint = found
            finding = located(message, file, directive.line, text, hint=hint, kind=kind)
            raise fault((finding,), message)
    if face := two_faced(text):
        line, message, hint = face
        raise fault((located(message, file, line, text, hint=hint, kind="cheat"),), message)


def _problem(directive: Directive) -> tuple[str, str, str] | None:
    """(kind, message, hint) of a directive that is refused."""
    match directive.name:
        case "include" | "include_next" | "import":
            return _include_problem(directive.text)
        case "embed":
            return "cheat", "#embed puts another file into the kernel", "delete the line"
        case name if name == "line" or name.isdigit():  # `# 1 "file"` is #line too
            return "compile-error", "#line would make messages point elsewhere", "delete the line"
    return None


def _include_problem(text: str) -> tuple[str, str, str] | None:
    found = _HEADER.match(text)
    if not found:
        return (
            "compile-error",
            "#include needs a header's name in <> or quotes",
            "write the name itself, not a macro",
        )
    name = (found[1] or found[2] or "").strip().replace("\\", "/")
    absolute = name.startswith(("/", "~")) or name[1:2] == ":"
    if absolute and not name.lower().endswith(_HEADER_SUFFIXES):
        kind = "cheat"
    elif absolute or ".." in name.split("/"):
        kind = "compile-error"
    else:
        return None
    return (
        kind,
        f"#include reaches for another file, {name}",
        "a submission is one file: include CUDA's own headers by their plain names",
    )


def _refusal(file: str, what: str, fix: str) -> StudentFault:
    return fault((located(what, file, 0, "", hint=fix),), what)
