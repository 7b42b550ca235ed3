"""The passes that shorten code: what they change, and what they must not change."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from grader.simulator.decode.blocks import merge_chains
from grader.simulator.decode.control_flow import BRANCH, CALL, EXIT, FALL, Block, Call, End
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.operands import ConstantBank
from grader.simulator.decode.peephole import Registers, shorten

A, B, C, D, E = 256, 512, 768, 1024, 1280
P, Q = 4096, 4100
BRIEF = frozenset({B, C, Q})


def shortened(insns: list[Insn], end: End | None = None) -> Block:
    """The second of two blocks, after the passes; `codes` may use the constants 0 (place 1)."""
    bank = ConstantBank()
    bank.place(("bits", 4, 2, 0))
    bank.place(("symbol", 8, "tile", 0))
    block = Block(deepcopy(insns), deepcopy(end) or End())
    shorten([Block([], End()), block], Registers(BRIEF, BRIEF), bank)
    return block


ADD, MOVE = Insn("add_u32", B, A, D), Insn("mov_b32", E, B)
TWO = 1
TILE = 128 | 1


def test_value_is_computed_in_its_final_register() -> None:
    assert shortened([ADD, MOVE]).insns == [replace(ADD, d=E)]


@pytest.mark.parametrize(
    "insns",
    [
        pytest.param([ADD, replace(MOVE, a=D)], id="another value is moved"),
        pytest.param([ADD, replace(MOVE, guard=5)], id="moved under a guard"),
        pytest.param([replace(ADD, guard=5), MOVE], id="computed under a guard"),
        pytest.param([ADD, Insn("add_u32", D, E, A), MOVE], id="the target is read before"),
        pytest.param([ADD, Insn("vote", E), MOVE], id="the target is written before"),
        pytest.param([Insn("st_word", B, A, mode=8), MOVE], id="a store reads its first field"),
        pytest.param([Insn("shfl_b32", B, A), MOVE], id="an instruction not known all about"),
    ],
)
def test_other_moves_stay(insns: list[Insn]) -> None:
    assert shortened(insns).insns == insns


NOT, BRANCH_ON_Q = Insn("not_pred", Q, P), End(BRANCH, "x", guard=Q + 1)


def test_branch_on_a_negated_predicate_loses_the_negation() -> None:
    block = shortened([NOT], BRANCH_ON_Q)
    assert (block.insns, block.end.guard, block.end.negate) == ([], P + 1, 1)


@pytest.mark.parametrize(
    "insn, end",
    [
        pytest.param(NOT, replace(BRANCH_ON_Q, guard=P + 1), id="another predicate"),
        pytest.param(replace(NOT, guard=5), BRANCH_ON_Q, id="negated under a guard"),
        pytest.param(replace(NOT, d=P, a=Q), replace(BRANCH_ON_Q, guard=P + 1), id="read again"),
    ],
)
def test_other_negations_stay(insn: Insn, end: End) -> None:
    block = shortened([insn], end)
    assert (block.insns, block.end) == ([insn], end)


NEAR, FAR = Insn("fused_index", B, A, TWO, C), Insn("fused_index", C, D, TWO, TILE)
LOAD = Insn("ld_word", E, B, imm=-8, size=4, count=1, width=4, mode=8)


def test_access_computes_its_own_address() -> None:
    (one,) = shortened([FAR, NEAR, LOAD]).insns
    assert (one.exec, one.d, one.a, one.b, one.c) == ("ld_word_indexed", E, A, D, TILE)
    assert (one.e, one.imm) == (B, -8 * 65536 + 2 * 256 + 2)


@pytest.mark.parametrize(
    "insns",
    [
        pytest.param([FAR, NEAR, replace(LOAD, a=D)], id="another address"),
        pytest.param([FAR, NEAR, replace(LOAD, mode=4)], id="an address of 32 bits"),
        pytest.param([replace(FAR, c=E), NEAR, LOAD], id="the base is no constant"),
        pytest.param([FAR, NEAR, Insn("add_u32", A, A, TWO), LOAD], id="an index changes"),
        pytest.param([FAR, Insn("vote", D), NEAR, LOAD], id="an index may change"),
        pytest.param([replace(FAR, guard=5), NEAR, LOAD], id="computed under a guard"),
        pytest.param([FAR, NEAR, replace(LOAD, exec="ld")], id="not one word"),
    ],
)
def test_other_addresses_stay(insns: list[Insn]) -> None:
    assert shortened(insns).insns == insns


def test_chains_of_blocks_are_merged() -> None:
    parts = [
        Block([ADD], End(FALL), next=1, steps=2),
        Block([MOVE], End(BRANCH, guard=5), next=2, target=3, steps=2),
        Block([NOT], End(BRANCH), next=3, target=3, steps=2),
        Block([], End(EXIT), steps=1),
    ]
    first, second, last = merge_chains(parts)
    assert (first.insns, first.steps, first.next, first.target) == ([ADD, MOVE], 4, 1, 2)
    assert (second.insns, second.target, last.end.kind) == ([NOT], 2, EXIT)


INDIRECT = End(CALL, call=Call(None, [], [], 0))


@pytest.mark.parametrize(
    "then, end",
    [
        pytest.param([MOVE], End(BRANCH), id="a loop around the second"),
        pytest.param([], INDIRECT, id="a call that is executed again"),
        pytest.param([Insn("mov_clock32", A)], End(EXIT), id="a read of the clock"),
    ],
)
def test_other_blocks_are_not_merged(then: list[Insn], end: End) -> None:
    parts = [Block([ADD], End(FALL), next=1), Block(then, end, next=1, target=1)]
    assert [block.insns for block in merge_chains(parts)] == [[ADD], then]
