"""Decode a source, and refuse what no kernel file may have: other files and nested launches.

Files that are not source text are refused by `decode_source`.

Includes of other files are refused for a clear message and as a second line of defense. The first
one is the sandbox, which does not contain those files. Headers of a course or of the host that are
not here are no error by themselves: `host_code` sets them aside.

Nothing here searches for code that differs between builds, because no reader of text finds all of
it. The build that counts is the build that is watched (grader.compile.source), so that such code
earns what its counted build earns.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from pathlib import Path

from grader import regex
from grader.compile.diagnostics import error_at, student_fault
from grader.compile.functions import Function, functions
from grader.compile.preprocessor import Directive, code, directives, without_comments
from grader.compile.syntax import Tree, parse
from grader.faults import StudentFault
from grader.launch import Finding

MAX_BYTES = 256 << 10

_REPLACED = regex('^-|[\x00-\x1f\x7f"\\\\\ud800-\udfff]')  # in a file's name
_BOM = b"\xef\xbb\xbf"
_HEADER = regex(r"""(?:<([^>\n]*)>|"([^"\n]*)")""")
_HEADER_SUFFIXES = (".h", ".hpp", ".cuh", ".hxx")
_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ")
_CONTROL = regex(r"[\x01-\x08\x0e-\x1f\x7f]")
_DEVICE = frozenset({"__global__", "__device__"})
_RUNTIME = regex(r"cuda[A-Z]\w*")
_INCLUDE = regex(r"^[ \t]*#[ \t]*include[ \t]*<([\w.]+)>[ \t]*$", re.MULTILINE)
_NOT_MINIMAL = regex(
    r"(?i:cuda|tex|surf|minimal|library|include)|\bCU[a-z]|_VERSION\b|\bPATCH_LEVEL\b|##|<<<"
)
"""What may name a declaration that NVRTC leaves out with `-minimal`."""
_STREAM = frozenset({"cout", "cerr", "vector", "string", "chrono", "unique_ptr"})


def compiled_name(file: str) -> str:
    """Return a file's name as the compiler takes it, and as findings have it."""
    return _REPLACED.sub("_", Path(file).name) or "kernel.cu"


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
    """Refuse `#line`, includes of files that are not CUDA's headers, and conflicts of git.

    Raises:
        StudentFault: The first of these, at its line.
    """
    rows = text.split("\n")
    marks = [next((k for k, row in enumerate(rows, 1) if row.startswith(m)), 0) for m in _CONFLICT]
    if all(marks):
        what, hint = "the file has an unresolved conflict of git", "keep one of the two versions"
        finding = error_at(what, file, marks[0], text, hint=f"{hint}, and delete git's lines")
        raise student_fault((finding,), what)
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
    is_header = name.lower().endswith(_HEADER_SUFFIXES)
    if absolute and not is_header:
        kind = "cheat"
    elif not absolute and (".." not in name.split("/") or is_header):
        return None  # a header that is not here is set aside with the host code
    else:
        kind = "compile-error"
    return (
        kind,
        f"#include of another file, {name}",
        "put all code in this file, and include CUDA's headers by name, without a path",
    )


def _refusal(file: str, what: str, fix: str) -> StudentFault:
    return student_fault((error_at(what, file, 0, "", hint=fix),), what)


def is_minimal(text: str, headers: Container[str]) -> bool:
    """Whether a source has nothing that NVRTC leaves out with `-minimal`.

    These are the types of the CUDA runtime, textures, surfaces and launches in device code, whose
    headers take a third of the compiler's time to read. What compiles without them has the same
    PTX as with them: no name in it can mean one of them.

    Args:
        text: the source.
        headers: the names of headers of the grader's own, which need none of them.
    """

    def others(line: re.Match[str]) -> str:
        return "" if line[1] in headers else line[0]

    return not _NOT_MINIMAL.search(_INCLUDE.sub(others, without_comments(text)))


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


def _launch_line(function: Function, tree: Tree) -> int:
    """The line of the first `<<<` in a function's body; 0 when there is none.

    The grammar reads `<<<` as `<<` and `<` where it does not recognize a launch.
    """
    for node in tree.between(function.body, function.end):
        if node.kind in ("<<<", "<<") and tree.data.startswith(b"<<<", node.start):
            return node.line
    return 0
