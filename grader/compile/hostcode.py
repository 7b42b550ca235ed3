"""Finds the host half of a program: main, kernel launches, calls of the CUDA runtime.

Students often hand in the whole program that they tried their kernel with. The compiler answers
that with a page of errors; this answers with the lines to delete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.compile.diagnostics import located
from grader.compile.lexical import closing, code, directives, line_at
from grader.launch import Finding

_NAME = re.compile(r"([A-Za-z_]\w*)\s*\(")
_DEVICE = re.compile(r"__global__|__device__")
_SCOPE = re.compile(r'^\s*(?:inline\s+)?(?:namespace\b|extern\s*"[^"]*"\s*$)')
_DATA = re.compile(r"^\s*(?:typedef\s+)?(?:struct|class|enum|union)\b")
_MARK = re.compile(r"[({};]")
_LAUNCH = "<<<"
_RUNTIME = re.compile(r"\b(cuda[A-Z]\w*)\s*\(")
_STREAM = re.compile(r"\bstd\s*::\s*(?:cout|cerr|vector|string|chrono|unique_ptr)\b")


@dataclass(frozen=True)
class HostCode:
    """Lines `first` to `last` that run on the host: `what` they are. `guarded` when they stand
    in a conditional, so that the compiler may never see them."""

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
    lines that include them go as well."""
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
        if _DEVICE.search(head) and at >= 0:
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
    if _DEVICE.search(head):
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
