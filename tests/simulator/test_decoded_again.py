"""What is decoded of a changed module beside an image, and without one, does the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.simulator.core.bindings import UNDEFINED, core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.module import Image, decode
from grader.simulator.edited_code import (
    MOST_KEPT,
    changed_machine,
    with_barrier,
    with_statement_moved,
)
from grader.simulator.ptx.model import Function, Instruction, Module
from grader.simulator.ptx.parser import parse
from tests.fuzz.corpus import read
from tests.trusted import compiled_here

WATCH = Path(__file__).parents[1] / "watch"
NAMES = (
    "mbarriers/count_half_of_the_arrivals_clean",
    "uninitialized/scanned_by_reference_clean",
    "race/checked_before_the_lock_clean",
)


def module_of(path: Path) -> tuple[Module, str]:
    program = compiled_here(path)
    module = parse(program.debug_ptx)
    module.subscripts, module.source = program.subscripts, program.source
    return module, program.kernels[0].symbol


def shape(image: Image) -> list[Any]:
    """All that does not number constants and registers with shadows in their order."""
    known = image.constants.known

    def place(x: int) -> object:
        return known.get(x, x)

    def second(x: Insn) -> list[int]:
        return [] if x.exec in ("shadow_check", "shadow_stored") else [x.b]  # the register's number

    return [
        [
            f.name, f.registers, f.local, f.params, f.local_offsets, f.loops,
            [
                (b.next, b.target, b.table, b.steps, b.loop, b.end.kind, b.end.target,
                 b.end.guard, b.end.negate, *map(place, (b.end.a, b.end.b, b.end.c, b.end.d)),
                 b.end.flag, b.end.table, b.end.call, b.end.pc)
                for b in f.blocks
            ],
            [
                (x.exec, *map(place, (x.d, x.a, *second(x), x.c, x.e)), x.imm, x.count, x.space,
                 x.width, x.flag, x.mode, x.inner, x.guard, x.negate, x.used, x.pc)
                for b in f.blocks for x in b.insns
            ],
        ]
        for f in image.functions
    ]  # fmt: skip


def changes(f: Function) -> list[Function]:
    """The function with a barrier in some places, and with an instruction in another place."""
    places = len(f.body) // 3, len(f.body) * 2 // 3
    fence = Instruction("membar.gl", [], None, f.body[1].location)
    moved = with_statement_moved(f, range(1, 2), len(f.body) - 1, [fence])
    return [*(with_barrier(f, place, warp=False) for place in places), moved]


@pytest.mark.parametrize("name", NAMES)
def test_code_beside_an_image_is_that_without_one(name: str) -> None:
    path = WATCH / f"{name}.cu"
    (module, kernel), launch = module_of(path), read(path.read_text()).launch()
    first = Machine(module, decode(module, kernel, core().known, definedness=True))
    compared = 0
    functions = [f for f in module.functions.values() if f.has_body and len(f.body) > 4]
    for f in (module.functions[kernel], functions[-1]):
        for changed in changes(f):
            ours = changed_machine(first, changed)
            other = replace(module, functions=module.functions | {f.name: changed})
            theirs = Machine(other, decode(other, kernel, core().known, definedness=True))
            assert shape(ours.image) == shape(theirs.image)
            assert ours.image.ops == theirs.image.ops and ours.image.owner == theirs.image.owner
            assert ours.image.refused == theirs.image.refused
            runs = [m.run(launch, Limits(steps=20_000), False) for m in (ours, theirs)]
            assert runs[0].ended == runs[1].ended and runs[0].steps == runs[1].steps
            for raw in runs:  # the register's number, which is another one
                raw.reports["buffer"][raw.reports["kind"] == UNDEFINED] = 0
            assert np.array_equal(runs[0].reports, runs[1].reports)
            compared += 1
    assert compared == 6


def test_unchanged_functions_are_not_decoded_again() -> None:
    module, kernel = module_of(WATCH / f"{NAMES[0]}.cu")
    first = Machine(module, decode(module, kernel, core().known, definedness=True))
    changed = with_barrier(module.functions[kernel], 3, warp=False)
    image = changed_machine(first, changed).image
    same = [
        a.source is b.source for a, b in zip(image.functions, first.image.functions, strict=True)
    ]
    assert len(same) > 100 and same.count(False) == 1
    assert image.functions[-1].operands is first.image.functions[-1].operands


def test_a_function_that_stops_threads_is_decoded_with_all_that_call_it() -> None:
    """What a callee does decides about the loops of its callers."""
    module, kernel = module_of(WATCH / f"{NAMES[0]}.cu")
    first = Machine(module, decode(module, kernel, core().known, definedness=True))
    name = first.image.functions[-1].name.partition("@")[0]
    f = module.functions[name]
    body = [*f.body[:-1], replace(f.body[-1], op="exit", operands=[]), f.body[-1]]
    image = changed_machine(first, replace(f, body=body)).image
    assert all(
        a.operands is not b.operands
        for a, b in zip(image.functions, first.image.functions, strict=True)
    )


def test_the_same_change_is_decoded_once() -> None:
    """One that has the same opcodes and another operand is another change."""
    module, kernel = module_of(WATCH / f"{NAMES[2]}.cu")
    machine = Machine(module, decode(module, kernel, core().known, definedness=True))

    def changed(operand: str) -> Function:
        f = with_barrier(module.functions[kernel], 3, warp=False)
        return replace(f, body=[*f.body[:3], replace(f.body[3], operands=[operand]), *f.body[4:]])

    first = changed_machine(machine, changed("0"))
    assert changed_machine(machine, changed("0")) is first
    second = changed_machine(machine, changed("1"))
    assert second is not first
    assert shape(second.image) != shape(first.image)
    assert changed_machine(machine, changed("1")) is second


def test_changes_that_are_kept_are_limited() -> None:
    module, kernel = module_of(WATCH / f"{NAMES[2]}.cu")
    machine = Machine(module, decode(module, kernel, core().known, definedness=True))
    f = module.functions[kernel]
    for k in range(2 * MOST_KEPT + 1):
        changed_machine(machine, with_barrier(f, k % len(f.body), warp=bool(k // len(f.body))))
        assert len(machine.changed) <= MOST_KEPT
