"""Parsing of constants, addresses, vectors and malformed PTX; the order of basic blocks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.simulator.core.bindings import core
from grader.simulator.decode.blocks import preferred_order, reachable
from grader.simulator.decode.module import decode
from grader.simulator.decode.operands import OperandError, address, vector
from grader.simulator.ptx.constants import integer
from grader.simulator.ptx.model import PtxError
from grader.simulator.ptx.operands import variable
from grader.simulator.ptx.parser import operands_of, parse

HEAD = ".version 8.3\n.target sm_90\n.address_size 64\n"
GRAPHS = st.integers(1, 14).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n)
)


@given(st.integers(-(2**63), 2**64 - 1))
def test_integers(value: int) -> None:
    assert integer(str(value)) == value
    sign, size = ("-" if value < 0 else ""), abs(value)
    assert integer(f"{sign}{size:#x}") == value
    assert integer(f"{sign}{size:#b}") == value
    assert integer(f"{sign}0{size:o}") == value
    assert integer(f"{sign}{size}U") == value


@given(st.from_regex(r"%[a-z]{1,3}[0-9]{1,3}", fullmatch=True), st.integers(-(2**31), 2**31))
def test_addresses(base: str, offset: int) -> None:
    assert address(f"[{base}+{offset}]") == (base, offset)
    assert address(f"[ {base} + {offset} ]") == (base, offset)
    assert address(f"[{base}]") == (base, 0)
    assert address(f"[{abs(offset)}]") == ("", abs(offset))
    if offset >= 0:
        assert address(f"[{base}-{offset}]") == (base, -offset)


@pytest.mark.parametrize(
    "text", ["", "[", "]", "[]", "%r1", "[%r1+]", "[a b]", "[%r1+%r2]", "[+4]"]
)
def test_malformed_address_is_refused(text: str) -> None:
    with pytest.raises((OperandError, ValueError)):
        address(text)


def test_addresses_wrap_modulo_two_to_the_64() -> None:
    assert address("[%rd1+18446744073709551612]") == ("%rd1", -4)


@given(st.lists(st.from_regex(r"[%_a-z][a-z0-9]{0,4}", fullmatch=True), min_size=1, max_size=4))
def test_vectors_and_operands(names: list[str]) -> None:
    inside = "{" + ", ".join(names) + "}"
    assert vector(inside) == names
    assert vector(names[0]) == [names[0]]
    assert list(operands_of(f"{inside}, [x+4], (a, b), -1")) == [inside, "[x+4]", "(a, b)", "-1"]


@settings(max_examples=400)
@given(GRAPHS)
def test_order_holds_every_reachable_block_once(graph: list[list[int]]) -> None:
    order = preferred_order(graph)
    assert sorted(order) == sorted(reachable(graph, 0))
    assert order[0] == 0


@settings(max_examples=400)
@given(GRAPHS)
def test_loops_are_contiguous(graph: list[list[int]]) -> None:
    """The blocks of each strongly connected component lie side by side, exits after them."""
    order = preferred_order(graph)
    place = {node: k for k, node in enumerate(order)}
    leads = {n: set(reachable(graph, n)) for n in order}
    for n in order:
        loop = [m for m in order if m in leads[n] and n in leads[m]]
        span = [place[m] for m in loop]
        assert max(span) - min(span) == len(loop) - 1
        assert all(place[m] > max(span) for m in leads[n] if m not in loop)


MALFORMED = {
    "no body": ".visible .entry k(",
    "no end": ".visible .entry k()",
    "not closed": ".visible .entry k() { ret;",
    "no semicolon": ".visible .entry k() { ret }",
    "unknown register": ".visible .entry k() { mov.u32 %r1, 0; }",
    "narrow target": ".visible .entry k() { .reg .pred %p; .reg .b64 %d; shl.b64 %p, %d, 1; }",
    "narrow source": ".visible .entry k() { .reg .b32 %r<9>; add.u64 %r1, %r2, %r3; }",
    "too few operands": ".visible .entry k() { .reg .f32 %f<9>; fma.rn.f32 %f1, %f2, %f3; }",
    "too many operands": ".visible .entry k() { .reg .b32 %r<9>; add.u32 %r1, %r2, %r3, %r4; }",
    "no label": ".visible .entry k() { bra NOWHERE; }",
    "bad alignment": ".visible .entry k() { .local .align 3 .b8 x[8]; ret; }",
    "huge local": ".visible .entry k() { .local .b8 x[999999999]; ret; }",
    "huge variable": ".global .b8 x[99999999999999]; .visible .entry k() { ret; }",
    "too many registers": ".visible .entry k() { .reg .b32 %r<99999999>; ret; }",
    "long initialiser": ".global .b8 x[2] = {1, 2, 3}; .visible .entry k() { ret; }",
    "not a number": ".global .b32 x = 0x; .visible .entry k() { ret; }",
    "no such kernel": ".visible .entry other() { ret; }",
    "guard is no predicate": ".visible .entry k() { .reg .b32 %r<9>; @%r1 ret; }",
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_ptx_raises_ptx_error(text: str) -> None:
    with pytest.raises(PtxError) as caught:
        decode(parse(HEAD + text), "k", core().known)
    assert str(caught.value).strip()


SPACED = """.visible .entry k(.param .u64 p) {
    .reg .b16 h; .reg .pred %q; .reg .b32 %r<4>; .shared .align 4 .b32 s[4]; .local .b32 t[4];
    mov.u32 %r1, 5; setp.eq.u32 %q, %r1, 5; @%q bra L; @!%q bra L; mov.b32 %r2, %r1; L: ret; }"""
DENSE = """.visible.entry k(.param.u64 p) {
    .reg.b16 h;.reg.pred%q;.reg.b32%r<4>;.shared.align 4 .b32 s[4];.local.b32 t[4];
    mov .u32 %r1,5;setp.eq.u32%q,%r1,5;@ %q bra L;@ ! %q bra L;mov.b32%r2,%r1;L
    : ret; }"""


def test_blanks_that_ptx_does_not_demand() -> None:
    assert parse(HEAD + DENSE) == parse(HEAD + SPACED)


SCOPES = {
    "forward": "{ bra D; D: nop; }",
    "backward": "{ D: nop; bra D; }",
    "twice": "{ @%p bra D; nop; D: nop; } { D: @%p bra E; bra D; E: nop; }",
    "the innermost": "{ bra D; { bra D; nop; D: nop; } D: nop; }",
    "from inside": "{ { bra D; { @%p bra D; } nop; } D: nop; } bra D; nop; D: nop;",
    "a table": "{ t: .branchtargets D, E; brx.idx 0, t; E: nop; D: nop; } { t: .branchtargets D; "
    "brx.idx 0, t; nop; D: nop; }",
}
LEADS = {
    "forward": [1],
    "backward": [0],
    "twice": [2, 5, 3],
    "the innermost": [4, 3],
    "from inside": [3, 3, 6],
    "a table": [[2, 1], [5]],
}


@pytest.mark.parametrize("name", SCOPES)
def test_a_branch_leads_to_the_label_of_its_block(name: str) -> None:
    f = parse(f"{HEAD}.visible .entry k() {{ .reg .pred %p; {SCOPES[name]} ret; }}").functions["k"]
    branches = [i for i in f.body if i.op.startswith("br")]
    if name == "a table":
        assert [[f.labels[t] for t in f.tables[i.operands[1]]] for i in branches] == LEADS[name]
    else:
        assert [f.labels[i.operands[0]] for i in branches] == LEADS[name]


def test_empty_statements_and_comments_are_ignored() -> None:
    text = "/* a */ .visible .entry k() { ; // b\n ;; ret; }"
    assert [i.op for i in parse(HEAD + text).functions["k"].body] == ["ret"]


def test_an_infinite_extent_is_refused() -> None:
    with pytest.raises(PtxError, match="an array of"):
        variable(".shared .b8 tile[0f7F800000]")
