"""Decode a source, and refuse what no kernel file may have: other files and host code.

Files that are not source text are refused by `decode_source`.

Includes of other files are refused for a clear message and as a second line of defense. The first
one is the sandbox, which does not contain those files.

Host code is main, kernel launches and calls of the CUDA runtime. Students often submit the whole
program in which they tried their kernel. The compiler reports that with a page of errors; the one
message here lists the lines to delete.

Nothing here searches for code that differs between builds, because no reader of text finds all of
it. The build that counts is the build that is watched (grader.compile.source), so that such code
earns what its counted build earns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.compile.diagnostics import error_at, student_fault
from grader.compile.functions import Function, functions
from grader.compile.preprocessor import Directive, code, directives
from grader.compile.syntax import Tree, parse
from grader.faults import StudentFault
from grader.launch import Finding

MAX_BYTES = 256 << 10

_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(r"""(?:<([^>\n]*)>|"([^"\n]*)")""")
_HEADER_SUFFIXES = (".h", ".hpp", ".cuh", ".hxx")
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1f\x7f]")
_DEVICE = frozenset({"__global__", "__device__"})
_RUNTIME = re.compile(r"cuda[A-Z]\w*")
_STREAM = frozenset({"cout", "cerr", "vector", "string", "chrono", "unique_ptr"})


def decode_source(source: bytes, file: str) -> str:
    """Decode a source as text with plain line ends.

    Raises:
        StudentFault: It is not text, empty or too long.
    """
    if len(source) > MAX_BYTES:
        size = f"{len(source):,} bytes, but a kernel may have at most {MAX_BYTES >> 10} KiB"
        raise _refusal(file, f"the file has {size}", "submit only the kernel's source")
    if b"\0" in source:
        raise _refusal(file, "the file is binary, not source text", "submit the .cu file itself")
    try:
        text = source.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{source[error.start]:02x} at line {line} is not UTF-8"
        raise _refusal(file, byte, "save the file as UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise _refusal(file, "the file is empty", "write the kernel, or submit the right file")
    if control := _CONTROL.search(text):
        line = text.count("\n", 0, control.start()) + 1
        byte = f"control character 0x{ord(control[0]):02x} at line {line}"
        raise _refusal(file, byte, "delete the character")
    return text


def refuse_forbidden_code(text: str, file: str) -> None:
    """Refuse `#line`, and includes of files that are not CUDA's headers.

    Raises:
        StudentFault: The first of these, at its line.
    """
    for directive in directives(text):
        problem = _problem(directive)
        if problem:
            kind, message, hint = problem
            finding = error_at(message, file, directive.line, text, hint=hint, kind=kind)
            raise student_fault((finding,), message)


def _problem(directive: Directive) -> tuple[str, str, str] | None:
    """(kind, message, hint) of a directive that is refused."""
    match directive.name:
        case "include" | "include_next" | "import":
            return _include_problem(directive.text)
        case "embed":
            return "cheat", "#embed reads another file", "delete the line"
        case name if name == "line" or name.isdigit():  # `# 1 "file"` is #line too
            return (
                "compile-error",
                "#line changes the lines in messages",
                "delete the line",
            )
    return None


def _include_problem(text: str) -> tuple[str, str, str] | None:
    match = _HEADER.match(text)
    if not match:
        return (
            "compile-error",
            "#include needs a header's name in <> or quotes",
            "write the header's name instead of a macro",
        )
    name = (match[1] or match[2] or "").strip().replace("\\", "/")
    absolute = name.startswith(("/", "~")) or name[1:2] == ":"
    if absolute and not name.lower().endswith(_HEADER_SUFFIXES):
        kind = "cheat"
    elif absolute or ".." in name.split("/"):
        kind = "compile-error"
    else:
        return None
    return (
        kind,
        f"#include of another file, {name}",
        "put all code in this file, and include CUDA's headers by name, without a path",
    )


def _refusal(file: str, what: str, fix: str) -> StudentFault:
    return student_fault((error_at(what, file, 0, "", hint=fix),), what)


@dataclass(frozen=True)
class HostCode:
    """Lines that run on the host.

    Attributes:
        what: What they are, such as "main".
        first: The first line.
        last: The last line.
        guarded: Whether they are in a preprocessor conditional, so that the compiler may skip them.
    """

    what: str
    first: int
    last: int
    guarded: bool

    def __str__(self) -> str:
        lines = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{lines} ({self.what})"


def host_code(text: str, tree: Tree | None = None) -> tuple[HostCode, ...]:
    """Find the host functions of a source, in order.

    Args:
        text: The source.
        tree: The tree of its `preprocessor.code`, where the caller has it already.
    """
    tree = tree or parse(code(text))
    conditional = _conditional_lines(text)
    return tuple(
        HostCode(what, f.first_line, f.last_line, f.first_line in conditional)
        for f in _outer(tree)
        if (what := _role(f, tree))
    )


def host_finding(
    hosts: tuple[HostCode, ...], text: str, file: str, unknown: tuple[str, ...]
) -> Finding:
    """Return the one finding about a whole program: which lines to delete.

    Args:
        hosts: The host code, not empty.
        text: The source.
        file: Its name in the message.
        unknown: The included headers that device code does not have; these lines are listed too.
    """
    lines = [
        HostCode(f"#include {d.text}", d.line, d.line, False)
        for d in directives(text)
        if d.name == "include" and d.text.strip('<>"') in unknown
    ]
    ordered = sorted([*hosts, *lines], key=lambda h: h.first)
    return error_at(
        "this is a whole program: submit only the kernel, which the grader launches itself",
        file,
        hosts[0].first,
        text,
        hint="delete "
        + ", ".join(f"line {h}" if h.first == h.last else f"lines {h}" for h in ordered),
    )


def nested_launch(text: str, file: str, tree: Tree | None = None) -> Finding | None:
    """Find a kernel launch in device code, which no backend here supports.

    Args:
        text: The source.
        file: Its name in the message.
        tree: The tree of its `preprocessor.code`, where the caller has it already.
    """
    tree = tree or parse(code(text))
    for function in _outer(tree):
        line = _launch_line(function, tree)
        if line and not _DEVICE.isdisjoint(function.head):
            message = "a kernel launches another kernel: dynamic parallelism is not supported"
            hint = "do the work in this kernel"
            return error_at(message, file, line, text, hint=hint, kind="missing-feature")
    return None


def _outer(tree: Tree) -> Iterator[Function]:
    return (f for f in functions(tree) if f.outer and f.defined)


def _role(function: Function, tree: Tree) -> str:
    """What a function is on the host; empty for device code and for what may be device code."""
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
    """The line of the first `<<<` in a function's body; 0 when there is none.

    The grammar reads `<<<` as `<<` and `<` where it does not recognize a launch.
    """
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
