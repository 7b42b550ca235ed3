"""What is refused before a compiler sees it: files that are not source text, includes of other
files, and build-dependent code.

The includes are refused here for a clear message and as a second barrier; the first one is the
sandbox, which does not hold those files.

Code is build-dependent when it differs between the compiler whose result is graded and the one
whose result is timed. The predefined macros that distinguish compilers, debug builds and devices
have no use in a kernel that does the same everywhere. `__CUDACC__`, and a test for a device that
every supported one passes (`__CUDA_ARCH__ >= 600`), are the same on all and stay. The words are
looked for in the preprocessor's text, not in a syntax tree: hostile text must not hide them by what
the grammar skips, and most of them stand in directives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.compile.diagnostics import fault, located
from grader.compile.functions import Function, functions
from grader.compile.preprocessor import Directive, code, directives
from grader.compile.syntax import Tree, parse
from grader.faults import StudentFault
from grader.launch import Finding

# Finds the host half of a program: main, kernel launches, calls of the CUDA runtime.
#
# Students often submit the whole program that they tried their kernel with. The compiler answers
# that with a page of errors; this answers with the lines to delete.

_DEVICE = frozenset({"__global__", "__device__"})
_RUNTIME = re.compile(r"cuda[A-Z]\w*")
_STREAM = frozenset({"cout", "cerr", "vector", "string", "chrono", "unique_ptr"})


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


def host_code(text: str, tree: Tree | None = None) -> tuple[HostCode, ...]:
    """Find the host's functions of a source, in order.

    Args:
        text: The source.
        tree: The tree of its `preprocessor.code`, where that is made already.
    """
    tree = tree or parse(code(text))
    conditional = _conditional_lines(text)
    return tuple(
        HostCode(what, f.first_line, f.last_line, f.first_line in conditional)
        for f in _outer(tree)
        if (what := _role(f, tree))
    )


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


def nested_launch(text: str, file: str, tree: Tree | None = None) -> Finding | None:
    """Find a kernel launch in device code, which no backend here offers.

    Args:
        text: The source.
        file: Its name in the message.
        tree: The tree of its `preprocessor.code`, where that is made already.
    """
    tree = tree or parse(code(text))
    for function in _outer(tree):
        line = _launch_line(function, tree)
        if line and not _DEVICE.isdisjoint(function.head):
            message = "a kernel launches another kernel (dynamic parallelism), which is not offered"
            hint = "do the work in this kernel, or split it into launches that the lab asks for"
            return located(message, file, line, text, hint=hint, kind="missing-feature")
    return None


def _outer(tree: Tree) -> Iterator[Function]:
    return (f for f in functions(tree) if f.outer and f.defined)


def _role(function: Function, tree: Tree) -> str:
    """What a function is on the host; empty for device code and for what may become it."""
    if not _DEVICE.isdisjoint(function.head):
        return ""
    name = function.name or "a function"
    if name == "main":
        return "main"
    if _launch_line(function, tree):
        return f"{name}: a kernel launch"
    words = [node.text for node in tree.between(function.body, function.end)]
    called = (one for one, two in zip(words, words[1:], strict=False) if two == "(")
    if runtime := next(filter(_RUNTIME.fullmatch, called), ""):
        return f"{name}: {runtime}"
    named = zip(words, words[1:], words[2:], strict=False)
    streams = any(a == "std" and b == "::" and c in _STREAM for a, b, c in named)
    return f"{name}: host code" if streams or "__host__" in function.head else ""


def _launch_line(function: Function, tree: Tree) -> int:
    """The line of the first `<<<` in a function's body; 0 when there is none. What is no launch to
    the grammar is `<<` and `<`."""
    for node in tree.between(function.body, function.end):
        if node.kind in ("<<<", "<<") and tree.data.startswith(b"<<<", node.start):
            return node.line
    return 0


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

OLDEST = 750
"""`__CUDA_ARCH__` of the oldest device that is supported; newer ones have larger numbers."""

_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(r"""(?:<([^>\n]*)>|"([^"\n]*)")""")
_HEADER_SUFFIXES = (".h", ".hpp", ".cuh", ".hxx")
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1f\x7f]")
_BUILD_MACRO = re.compile(
    r"\b(__CUDACC_(?:RTC|DEBUG|VER_\w+|EWP|RDC|RELAXED\w*|EXTENDED\w*)__|__NVCC__"
    r"|__NVRTC\w*|__NVCOMPILER\w*|__CUDA_ARCH_(?:LIST|FEAT_\w+|SPECIFIC|FAMILY_SPECIFIC)\w*"
    r"|__OPTIMIZE__|__clang__|__GNUC__|_MSC_VER|__DATE__|__TIME__|__TIMESTAMP__)\b"
)
_PASTED = re.compile(
    r"(?:__CUDA|__NV)\w{0,64}\s{0,64}\#\#|\#\#\s{0,64}(?:CUDACC|NVCC|RTC__|DEBUG__|ARCH__)"
)
_SCREEN_DEVICE = re.compile(r"\b__CUDA_ARCH__\b(?:\s*(>=|<=|==|!=|>|<)\s*(\d+))?")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*)?__CUDA_ARCH__\b")
_BUILD_HINT = "write one kernel for every compiler, build and device: delete the condition"


def text_of(source: bytes, file: str) -> str:
    """Decode a source as text with plain line ends.

    Raises:
        StudentFault: It is not text, empty or too long.
    """
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
    """Refuse includes of files that are not CUDA's headers, `#line`, and build-dependent code.

    Raises:
        StudentFault: The first of these, at its line.
    """
    for directive in directives(text):
        problem = _problem(directive)
        if problem:
            kind, message, hint = problem
            finding = located(message, file, directive.line, text, hint=hint, kind=kind)
            raise fault((finding,), message)
    if found := build_dependent(text):
        line, message, hint = found
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


def build_dependent(text: str) -> tuple[int, str, str] | None:
    """Return (line, message, hint) of the first build-dependent code; None when there is none."""
    for line, words in sorted(_pieces(text)):
        if found := _BUILD_MACRO.search(words):
            return (
                line,
                f"`{found[1]}` shows one kernel to the judge and another to the GPU",
                _BUILD_HINT,
            )
        if _PASTED.search(words):
            return line, "## puts together the name of a compiler's own macro", _BUILD_HINT
        if any(not _same_on_all(m) for m in _SCREEN_DEVICE.finditer(_DEFINED.sub("", words))):
            return (
                line,
                "`__CUDA_ARCH__` makes the kernel another one on another device",
                _BUILD_HINT,
            )
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
