"""A variable without a value is found where it is used, whatever the compiler makes of it.

A kernel has random statements that set variables, use them, or choose between both; a model in
Python executes them for each thread, and says in which lines a thread uses what it has not set.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.compile.preprocessor import code
from grader.compile.source import compile_source
from grader.compile.syntax import parse
from grader.compile.unset import with_unset_variables
from grader.launch import Array, Launch, Scalar
from grader.simulator.simulate import simulate

TYPES = {
    "a": "int", "b": "float", "c": "unsigned char", "d": "double", "e": "long long", "f": "bool",
}  # fmt: skip
HEAD = 'extern "C" __global__ void k(int *out, int n) {\n    int t = threadIdx.x, sum = 0;\n'
CONDITIONS = {
    "n == 5": lambda t: True,
    "n > 5": lambda t: False,
    "t < 7": lambda t: t < 7,
    "t % 2 == 1": lambda t: t % 2 == 1,
}
USES = ("sum += {} * 2;", "sum -= {};", "if ({}) sum += 3;", "sum = sum * 2 + (3 / ({} + 1) > 1);")

Statement = tuple[str, str, str, str]
names = st.sampled_from(sorted(TYPES))
statements = st.tuples(
    st.sampled_from(("set", "use", "either")),
    names,
    st.sampled_from((*sorted(CONDITIONS), "")),
    st.sampled_from(USES),
)


def source_of(rows: list[Statement], *, together: bool) -> str:
    declared = [f"{kind} {name};" for name, kind in TYPES.items()]
    lines = [" ".join(declared)] if together else declared
    for what, name, condition, use in rows:
        one = f"{name} = 1;" if what == "set" else use.format(name)
        other = f" else {{ {name} = 2; }}" if what == "either" and condition else ""
        lines.append(f"if ({condition}) {{ {one} }}{other}" if condition else one)
    body = "".join(f"    {line}\n" for line in lines)
    return f"{HEAD}{body}    out[t] = sum;\n}}\n"


def expected(rows: list[Statement], *, together: bool, once: bool) -> set[int]:
    """The lines with uses; `once`: a thread's later uses of what it used before are none."""
    first = HEAD.count("\n") + (1 if together else len(TYPES)) + 1
    has, wrong = {name: set[int]() for name in TYPES}, set[int]()
    for line, (what, name, condition, _) in enumerate(rows, first):
        inside = {t for t in range(32) if not condition or CONDITIONS[condition](t)}
        if what == "set":
            has[name] |= inside
            continue
        if not inside <= has[name]:
            wrong.add(line)
        has[name] |= inside if once else set()
        if what == "either" and condition:
            has[name] |= set(range(32)) - inside
    return wrong


def uninitialized(source: str) -> set[int]:
    args = Array("out", (32,), "int32", None, True), Scalar("n", 5, "int32")
    launch = Launch("k", (1, 1, 1), (32, 1, 1), args)
    findings = simulate(compile_source(source.encode(), "k.cu"), [launch])[0].findings
    return {f.line for f in findings if f.kind == "uninitialized-read"}


@given(st.lists(statements, min_size=1, max_size=10), st.booleans())
@settings(max_examples=40)
def test_what_a_thread_has_not_set_is_found_where_it_is_used(
    rows: list[Statement], together: bool
) -> None:
    source = source_of(rows, together=together)
    found = uninitialized(source)
    assert expected(rows, together=together, once=True) <= found, source
    assert found <= expected(rows, together=together, once=False), source


@pytest.mark.parametrize(
    "row",
    [
        "__shared__ int x;", "static int x;", "extern int x;", "int x = 1;", "int x[4];", "T x;",
        "float4 x;", "const int &x = y;", "int f(int);", "volatile int x;", "int x{};",
        "auto x = 1;", "struct __align__(8) S { int x; };", "for (int x, z = (x = 1); y;) ;",
    ],
)  # fmt: skip
def test_what_is_no_scalar_without_a_value_stays(row: str) -> None:
    source = f"__global__ void k(int y) {{\n    {row}\n}}\n"
    assert with_unset_variables(source, parse(code(source))) == source


def test_lines_and_all_else_stay() -> None:
    source = (
        "__global__ void k() {\n  int a, *b, c = 1; /* é */ float d; // int e;\n  char\n g;\n}\n"
    )
    text = with_unset_variables(source, parse(code(source)))
    assert text.count("\n") == source.count("\n")
    found = re.findall(r'"=(\w)"\((\w+)\)', text)
    assert found == [("r", "a"), ("l", "b"), ("f", "d"), ("h", "unset_")]
    shorter = re.sub(r' (asm\("" : "=\w"\(\w+\)\);|\{ short .*? \})', "", text)
    assert shorter == source


def test_a_text_that_statements_break_is_compiled_without_them() -> None:
    source = "#define int long\n__global__ void k(long *out) { int x; x = out[0]; *out = x + 1; }\n"
    program = compile_source(source.encode(), "k.cu", cache=None)
    assert program.kernel("k") is not None
    assert "begin inline asm" not in program.debug_ptx
