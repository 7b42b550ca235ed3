"""Functions that read a student's text take linear time for any text.

Work is counted and not timed: executed lines of Python and calls of C functions. A text eight times
as long may take ten times the work and a constant more; a quadratic reader takes sixty times. The
time of C functions is measured with the longest texts, against a generous limit.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from types import FrameType
from typing import Any

import pytest

from grader.compile import dataflow, source_text, syntax
from grader.compile import full_expressions as expressions
from grader.compile import host_code as host
from grader.compile.dataflow import (
    guard_origin,
    read_dataflow,
    size_origins,
    store_origin,
    value_origin,
)
from grader.compile.diagnostics import findings
from grader.compile.full_expressions import full_expressions
from grader.compile.functions import declarations, function_line, functions
from grader.compile.host_code import Selection
from grader.compile.items import split_items
from grader.compile.preprocessor import (
    block_macros,
    code,
    directives,
    macro_words,
    without_comments,
)
from grader.compile.source_text import (
    MAX_BYTES,
    is_minimal,
    nested_launch,
    refuse_forbidden_code,
)
from grader.compile.syntax import parse
from grader.faults import StudentFault
from grader.labs.model import KernelSpec
from grader.launch import Finding, Origin
from grader.reports.page.source import tokens_by_line
from grader.simulator.diagnose.variables import SourceVariables

SHORT = 300
LONGER = 8
MOST = 10
SPARE = 2000
"""Work in addition, for any text."""


def flow(text: str) -> None:
    found = read_dataflow(text)
    first = [Origin("s", line) for line in range(text.count("\n"))]
    found.origins({2, 3}, "s", first, guarded=True)
    found.declared("s", {2, 3})
    found.numeric_macros_on(range(text.count("\n")))
    found.off_by_one_sizes(range(100))


def variables(text: str) -> None:
    read = SourceVariables(text)
    for name in ("s", "a", "A1"):
        read.shape(name, 1024)
        read.element_bytes(name)
        read.is_scalar(name)
        read.uninitialized_type(name, 2)
    read.used_local(2, "f32")
    read.used_local(text.count("\n"), "b32")


def refused(text: str) -> None:
    try:
        refuse_forbidden_code(text, "a.cu")
    except StudentFault as fault:
        assert fault.findings


SPEC = KernelSpec("f", (("const float*", "A"), ("int", "n")))


def host_code(text: str) -> None:
    """Select, write and describe, with errors at every line that name everything."""
    selection = Selection(text, lambda header: header == "a", (SPEC,))
    selection.whole()
    words, last = set(re.findall(r"\w+", text[:2000])), text.count("\n") + 1
    errors = [
        Finding("compile-error", "error", f'identifier "{word}" is undefined', line=min(line, last))
        for line, word in zip(range(1, 40), sorted(words), strict=False)
    ]
    for _ in range(3):
        selection.text()
        selection.note()
        selection.learn(errors)
        selection.lost(errors)


def origins(text: str) -> object:
    tree = parse(text)
    return value_origin(tree, 3), guard_origin(tree, 3), store_origin(tree, {"s"})


READERS: dict[str, Callable[[str], object]] = {
    "without_comments": without_comments,
    "code": code,
    "directives": lambda text: list(directives(text)),
    "macro_words": lambda text: macro_words(directives(text)),
    "block_macros": lambda text: block_macros(directives(text)),
    "refuse_forbidden_code": refused,
    "parse": lambda text: parse(text),
    "functions": lambda text: functions(parse(code(text))),
    "full_expressions": full_expressions.__wrapped__,
    "declarations": lambda text: declarations(parse(code(text))),
    "function_line": lambda text: function_line(parse(code(text)), "f"),
    "split_items": split_items,
    "host_code": host_code,
    "is_minimal": lambda text: is_minimal(text, ()),
    "nested_launch": lambda text: nested_launch(text, "a.cu"),
    "flow": flow,
    "variables": variables,
    "tokens_by_line": lambda text: list(tokens_by_line(text)),
    "size_origins": lambda text: size_origins(text, 2),
    "origins": origins,
}

TEXTS: dict[str, tuple[str, str]] = {
    "kernels in a conditional": ("#if 0\n", "__global__ f(\n"),
    "one array set": ("void f(int* s) {\n", "s[0]=s[1];\n"),
    "one line of settings": ("void f(int* s) {\n\n", "s[0]=s[1];"),
    "one line of names": ("void f() {\n\n", "s=a{}=a{};"),
    "a long name": ("void f() {\nint ", "y"),
    "blanks after a name": ("void f() {\nint y", " "),
    "functions": ("", "void f(int a){}\n"),
    "kernels": ("", "__global__ void f(const float* a, int b) {\n  g<<<1, 1>>>(a);\n}\n"),
    "kernels without an end": ("", "__global__ "),
    "attributes": ("", "__global__ __launch_bounds__("),
    "parameters": ("__global__ void f(int a", ", float b[2] = {1}"),
    "dimensions": ("__global__ void f(int a", "[2]"),
    "nested blocks": ("void f() {\n", "if (a) { s = 1;\n"),
    "returns": ("void f() {\n", "if (a) return; else "),
    "returns in a label": ("void f() {\n", "a: return;"),
    "constant conditions": ("void f() {\n", "if (0) s = 0 ? 1 : 2;\n"),
    "macros": ("void f() { s = A0; }\n", "#define A{} A{} A1 + 1\n"),
    "shared arrays": ("#define N 4\n__global__ void f() {\n", "__shared__ float s[N][N]; s;\n"),
    "declarators": ("__global__ void f() {\nint s", ", s[s]"),
    "structs": ("", "struct { int s[2];"),
    "constants": ("", "const int A{} = A{} + A1;\n"),
    "parentheses": ("int x = ", "("),
    "braces": ("", "f(){"),
    "closing braces": ("", "}"),
    "brackets": ("", "[[ a"),
    "angle brackets": ("", "a<"),
    "templates and casts": ("", "a<(b)"),
    "scopes of templates": ("", "a<b>::"),
    "error recovery": ("", "= typename "),
    "lambdas": ("", "[]("),
    "splices": ("", "\\\n"),
    "comments": ("", "/*"),
    "quotes": ("", "'"),
    "double quotes": ("", '"\n'),
    "raw strings": ("", 'R"x('),
    "hashes": ("", "#\n"),
    "includes": ("", "#include <a>\n"),
    "digraphs": ("", "<::"),
    "main": ("", "int main() { k<<<1, 1>>>(a); }\n"),
    "kernel templates": (
        "",
        "template <int N> __global__ void f{}(float* a) {}\nf{}<4><<<1>>>();\n",
    ),
    "one kernel template": ("template <int N> __global__ void f(int a) {}\n", "f<a{}><<<1>>>();\n"),
    "macros of macros": ("__global__ void f() { A1; }\n", "#define A{} A1 A2 A{} B{}\n"),
    "conditionals": ("", "#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\n"),
    "open conditionals": ("", "#if A\n{"),
    "branches": ("#if A\n{\n", "#else\n{{\n"),
    "namespaces": ("", "namespace a{} {{ int b;\n"),
    "unnamed namespaces": ("", "namespace {"),
    "using": ("", "using namespace a{};\n"),
    "variables": ("__global__ void f() { a1; }\n", "float a{} = a{} + a1, b{};\n"),
    "calls": ("__global__ void f() { f1(); }\n", "float f{}() { return f1(f{}()); }\n"),
    "one name": ("__global__ void f() { g(); }\n", "float g() { return g(); }\n"),
}


NESTED = (
    "nested blocks", "structs", "parentheses", "braces", "brackets", "angle brackets",
    "templates and casts", "lambdas", "open conditionals", "branches", "unnamed namespaces",
)  # fmt: skip
"""Texts that nest as deep as they are long, which only the longest one does deep enough."""

LONGEST_SECONDS = 20.0
"""Processor time of one reader for the longest text."""


def quadratic(text: str) -> int:
    return sum(text.count(letter) for letter in text for _ in range(len(text) // 50))


def quadratic_inside(text: str) -> int:
    return len([one for one in text for _ in text[: len(text) // 50]])


class Trees:
    """Trees of texts, each made once and not traced: half of the work of most readers is theirs.

    `parse` is a reader of its own. Each call counts as much work as its text has characters, so
    that a reader which asks for a tree again and again is as quadratic as it would be.
    """

    def __init__(self) -> None:
        self._made: dict[str, syntax.Tree] = {}
        self.work = 0
        self._parse = parse  # what a test replaces

    def __call__(self, text: str) -> syntax.Tree:
        self.work += len(text)
        if text not in self._made:
            tracers = sys.gettrace(), sys.getprofile()
            sys.settrace(None)
            sys.setprofile(None)
            try:
                self._made[text] = self._parse(text)
            finally:
                sys.settrace(tracers[0])
                sys.setprofile(tracers[1])
        return self._made[text]


TREES = Trees()


def text_of(name: str, length: int) -> str:
    start, unit = TEXTS[name]
    if "{}" not in unit:
        return start + unit * -((len(start) - length) // len(unit))
    parts, size = [start], len(start)
    while size < length:
        parts.append(unit.replace("{}", str(len(parts))))
        size += len(parts[-1])
    return "".join(parts)


def work(reader: Callable[[str], object], text: str) -> int:
    """Count the lines of Python and calls of C functions of a reader that reads a text."""
    count = 0

    def traced(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return traced

    def profiled(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "c_call"

    before, trees = sys.gettrace(), TREES.work
    sys.settrace(traced)
    sys.setprofile(profiled)
    try:
        reader(text)
    finally:
        sys.setprofile(None)
        sys.settrace(before)
    return count + TREES.work - trees


def tree_by_tree(text: str) -> list[syntax.Tree]:
    return [TREES(text) for _ in text[: len(text) // 10]]


@pytest.mark.parametrize("reader", [quadratic, quadratic_inside, tree_by_tree])
def test_a_quadratic_reader_is_detected(reader: Callable[[str], object]) -> None:
    short, long = (work(reader, "x" * n) for n in (SHORT, LONGER * SHORT))
    assert long > MOST * short + SPARE


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("reader", READERS)
def test_work_is_linear(reader: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if reader != "parse":
        for place in (dataflow, host, expressions, source_text, syntax, sys.modules[__name__]):
            monkeypatch.setattr(place, "parse", TREES)
    short, long = (work(READERS[reader], text_of(name, n)) for n in (SHORT, LONGER * SHORT))
    assert long <= MOST * short + SPARE


READ_WHOLE = (
    "parse",
    "refuse_forbidden_code",
    "declarations",
    "nested_launch",
    "host_code",
    "flow",
    "variables",
)


@pytest.mark.parametrize("name", TEXTS)
def test_the_longest_text_is_read_in_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sixth of the longest text in a 36th of the time bounds a quadratic reader as tightly.

    A machine under load may take longer for a sixth: then a third of it in a ninth of the time will
    do, which bounds it as tightly too. All readers begin with the same tree, which takes half of
    their time: it is made once, timed.
    """
    for part in (1,) if name in NESTED else (6, 3):
        once = cache(parse)
        for place in (dataflow, host, expressions, source_text, syntax, sys.modules[__name__]):
            monkeypatch.setattr(place, "parse", once)
        text = text_of(name, MAX_BYTES // part)[: MAX_BYTES // part]
        slow = too_slow(READ_WHOLE, text, LONGEST_SECONDS / part**2)
        assert once.cache_info().misses <= 2, "text, and what is compiled of it"
        if not slow:
            break
    assert not slow


def too_slow(readers: Sequence[str], text: str, most: float) -> list[str]:
    """Return the readers that take more than so many seconds for a text."""
    slow = []
    for reader in readers:
        started = time.process_time()
        READERS[reader](code(text) if reader == "parse" else text)
        if time.process_time() - started > most:
            slow.append(reader)
    return slow


def test_a_reader_that_is_too_slow_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = {"parse": lambda text: time.sleep(0), "flow": lambda text: sum(range(3_000_000))}
    monkeypatch.setattr(sys.modules[__name__], "READERS", slept)
    assert too_slow(("parse", "flow"), "", 0.01) == ["flow"]


@pytest.mark.parametrize("opening", ["(", "{", "[", "if (a) ", "a = ", "!", "f(", "x: ", "<"])
def test_deeply_nested_text_is_read(opening: str) -> None:
    text = "void f() {\n" + opening * 4000
    for read in READERS.values():
        read(text)


def test_a_log_of_a_hostile_source_is_read_in_time() -> None:
    head = 'a.cu(1): error: expected a ";"\n  ' + "x" * 1000 + "\n     ^\n"
    log = head * 2000 + "(" * 100_000 + "\n" + "/a" * 100_000
    started = time.process_time()
    (finding,) = findings(log, "a.cu", "x" * 100_000)
    assert time.process_time() - started < 5
    assert (finding.line, finding.column, len(finding.text)) == (1, 4, 500)
