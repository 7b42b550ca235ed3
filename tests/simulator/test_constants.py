"""Constant expressions of PTX against ptxas and Python; the plain operands that they become."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.simulator.core.bindings import core
from grader.simulator.decode.module import decode
from grader.simulator.ptx.constants import NotConstant, evaluate, float_bits
from grader.simulator.ptx.model import Function, PtxError
from grader.simulator.ptx.operands import folded, operands_of, variable
from grader.simulator.ptx.parser import parse

MEASURED = json.loads((Path(__file__).parents[1] / "ptx" / "truth" / "constants.json").read_text())
BITS = 1 << 64
ARITHMETIC = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b % 64,
    "<": lambda a, b: int(a < b),
    "==": lambda a, b: int(a == b),
}
NUMBERS = st.integers(0, 2**63 - 1)
TREES = st.recursive(
    NUMBERS.map(lambda n: (str(n), n)),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(sorted(ARITHMETIC)), inner).map(
            lambda t: (f"({t[0][0]} {t[1]} {t[2][0]})", signed(ARITHMETIC[t[1]](t[0][1], t[2][1])))
        ),
        inner.map(lambda t: (f"-{t[0]}", signed(-t[1]))),
        st.tuples(inner, inner, inner).map(
            lambda t: (f"({t[0][0]}?{t[1][0]}:{t[2][0]})", t[1][1] if t[0][1] else t[2][1])
        ),
    ),
    max_leaves=12,
)
HEAD = ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"


def signed(value: int) -> int:
    return (value + BITS // 2) % BITS - BITS // 2


@pytest.mark.parametrize("text", MEASURED["values"])
def test_expression_has_the_value_that_ptxas_gives_it(text: str) -> None:
    assert int(evaluate(text).value) % BITS == MEASURED["values"][text]


@given(TREES)
def test_signed_expressions_equal_python_modulo_two_to_the_64(tree: tuple[str, int]) -> None:
    text, value = tree
    assert evaluate(text).value == value


@given(st.integers(0, 2**64 - 1), st.integers(0, 200), st.integers(1, 2**64 - 1))
def test_unsigned_operators_equal_python(a: int, count: int, b: int) -> None:
    assert evaluate(f"{a}U >> {count}").value == a >> count % 64
    assert evaluate(f"{a}U / {b}U").value == a // b
    assert evaluate(f"{a} % {b}").value == a % b
    assert evaluate(f"(.s64){a}U >> {count}").value == signed(a) >> count % 64
    assert evaluate(f"{a}U > {b}U ? ~{a}U : !{b}U").value == (BITS - 1 - a if a > b else 0)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_decimal_floats_become_the_bits_of_a_double(value: float) -> None:
    text = f"{abs(value):.17e}"
    assert float_bits(folded(text)) == int.from_bytes(struct.pack("<d", abs(value)), "little")
    assert evaluate(f"-{text}").value == -abs(value)


@pytest.mark.parametrize(
    "text",
    ["", "x", "1 +", "(1", "1)", "1 ? 2", "5/0", "5%0", "1.5+1", "~1.5", "08", "2.5f", "1 2", "0x",
     "(.u32)1", "1.5 % 2.0", "&1", "(" * 100 + "1" + ")" * 100],
)  # fmt: skip
def test_other_text_is_no_constant(text: str) -> None:
    with pytest.raises(NotConstant):
        evaluate(text)


@pytest.mark.parametrize(
    ("operand", "plain"),
    [
        ("%r1", "%r1"), ("!p", "!p"), ("p|q", "p|q"), ("-3", "-3"), ("- 3", "-3"), ("+3", "3"),
        ("(1<<4)", "16"), ("WARP_SZ", "32"), ("[%rd1+4*2]", "[%rd1+8]"), ("[a+-4]", "[a+-4]"),
        ("[%rd1-4+8]", "[%rd1+4]"), ("[%rd1+~3]", "[%rd1-4]"), ("[4*2]", "[8]"),
        ("s+4*2", "s+8"), ("{1+1, %r1}", "{2, %r1}"), ("%tid.r", "%tid.x"), ("%ntid.w", "0"),
        ("0f3F800000", "0f3F800000"), (".5", "0d3FE0000000000000"), ("[%r1+%r2]", "[%r1+%r2]"),
        ("[%rd1, {1.0, %f2}]", "[%rd1, {0d3FF0000000000000, %f2}]"),
    ],
)  # fmt: skip
def test_operands_become_plain(operand: str, plain: str) -> None:
    assert folded(operand) == plain


def test_operands_are_split_at_the_commas_outside_brackets() -> None:
    text = "%r1, ((2+3)*4), [s+(4*2)], {(1), 2}, a[(1)], 1 ? 2 : 3"
    assert list(operands_of(text)) == [x.strip() for x in text.split(", ")[:3]] + [
        "{(1), 2}", "a[(1)]", "1 ? 2 : 3"
    ]  # fmt: skip
    for wrong in ("(1", "1)", "((1]", "(1,,2),,", "((1)),,2"):
        with pytest.raises(PtxError):
            list(operands_of(wrong))


def function(body: str) -> Function:
    return parse(HEAD + body + "\nret;\n}\n").functions["k"]


def code(body: str) -> list[tuple[str, ...]]:
    return [(i.op, *i.operands) for i in function(body).body]


def test_numbers_are_not_taken_for_names() -> None:
    made = code("{ .reg .b32 x10, x; mov.u32 x10, 0x10; mov.u32 x, %tid.x; }")
    assert made[:2] == [("mov.u32", "x10@1", "0x10"), ("mov.u32", "x@1", "%tid.x")]


def test_elements_of_vectors_are_registers() -> None:
    f = function(
        ".reg .v2 .f64 v; { .reg .v4 .u32 q<2>; ld.global.v4.u32 q1, [8]; mov.v2.f64 v, v; }"
    )
    assert {"v@x", "v@y", "q0@1@x", "q1@1@w"} <= f.registers.keys()
    assert f.body[0].operands == ["{q1@1@x, q1@1@y, q1@1@z, q1@1@w}", "[8]"]
    assert [i.operands for i in f.body[1:3]] == [["v@x", "v@x"], ["v@y", "v@y"]]
    with pytest.raises(PtxError, match="change places"):
        function(".reg .v2 .u32 q; mov.v2.u32 q, {q.y, q.x};")
    with pytest.raises(PtxError, match="into q.z"):
        decode(parse(HEAD + ".reg .v2 .u32 q; mov.u32 q.z, 1;\nret;\n}\n"), "k", core().known)


def test_elements_of_special_registers_move_together() -> None:
    made = code(".reg .b32 a, b, c, d; mov.v4.u32 {a, b, c, d}, %ntid;")
    assert made[:4] == [
        ("mov.u32", "a", "%ntid.x"), ("mov.u32", "b", "%ntid.y"), ("mov.u32", "c", "%ntid.z"),
        ("mov.u32", "d", "0"),
    ]  # fmt: skip


def test_directives_of_inline_assembly_are_read() -> None:
    made = code(
        '{\n.loc 1 3 4\n}\n{ .param .b32 q; st.param.b32 [q+0], 2; }\n.file 1 "a, b.cu"\n'
        '.pragma "nounroll";{ } { .loc 1 5 1\n}'
    )
    assert made == [("st.param.b32", "[q@2+0]", "2"), ("ret",)]


@pytest.mark.parametrize(
    ("text", "size", "values"),
    [
        (".const .u32 c[4] = {1+1, (1<<2), -3, WARP_SZ}", 16, [2, 4, 2**32 - 3, 32]),
        (".const .u32 c[2][2] = {{1}, {3, 4}}", 16, [1, 0, 3, 4]),
        (".const .u32 c[] = {1, 2, 0x3}", 12, [1, 2, 3]),
        (".const .f32 c[2] = {1.5, 0f40200000}", 8, [0x3FC00000, 0x40200000]),
        (".const .f32 c = -2.5", 4, [0xC0200000]),
        (".shared .align 8 .b32 c[WARP_SZ]", 128, []),
    ],
)
def test_variables_have_sizes_and_initial_values(text: str, size: int, values: list[int]) -> None:
    made = variable(text)
    assert made.bytes == size
    assert list(struct.unpack(f"<{len(made.init) // 4}I", made.init)) == values


def test_address_among_nested_initial_values() -> None:
    made = variable(".global .u64 c[2][2] = {{a}, {3, generic(b)+8}}")
    assert made.relocations == ((0, "a", 0), (24, "b", 8))
