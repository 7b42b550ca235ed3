"""What is refused before a compiler sees it: files that are no source, and reaching for others.

The includes are refused here for a clear message and as a second wall; the first one is the box,
which does not hold what they reach for.
"""

from __future__ import annotations

import re

from grader.compile.diagnostics import fault, located
from grader.compile.faces import two_faced
from grader.compile.lexical import Directive, directives
from grader.fault import StudentFault

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
    make messages point elsewhere, and for code that the judge would see another of."""
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


def _refusal(file: str, what: str, mend: str) -> StudentFault:
    return fault((located(what, file, 0, "", hint=mend),), what)
