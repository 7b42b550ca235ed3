"""Every instruction of tests/ptx on the core, against its oracle."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from importlib import import_module

import numpy as np
import pytest

from grader.launch import Array, Launch
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.module import decode
from grader.simulator.ptx.model import Module
from grader.simulator.ptx.parser import parse
from tests.ptx import FAMILIES
from tests.ptx.case import COUNT, FORMATS, Case, dtype, inputs, module_text, size, value
from tests.ptx.soft import NAN, of_bits


def cases(family: str) -> list[Case]:
    cases: list[Case] = import_module(f"tests.ptx.{family}").CASES
    return cases


@cache
def module(family: str) -> Module:
    return parse(module_text(cases(family)))


def results(family: str, number: int, c: Case) -> list[int]:
    """What the core gives for every input."""
    machine = Machine(module(family), decode(module(family), f"k{number}", core().known))
    given = inputs(c, number)
    arrays = [
        Array(n, (COUNT,), dtype(k), v) for n, k, v in zip("abce", c.operands, given, strict=False)
    ]
    out = Array("d", (COUNT,), dtype(c.result), None, True)
    raw = machine.run(
        Launch(f"k{number}", (4, 1, 1), (COUNT // 4, 1, 1), (out, *arrays)), Limits(), False
    )
    assert raw.ended and not len(raw.reports)
    return [int(x) for x in raw.buffers[0].data.view(dtype(c.result))]


def same(c: Case, got: int, want: int) -> bool:
    """Equal bits; any NaN is as good as another; approximations within their error."""
    kind = c.result.removesuffix("x2")
    if c.result.endswith("x2"):
        halves = ((got >> s & 0xFFFF, want >> s & 0xFFFF) for s in (0, 16))
        return all(same(replace(c, result=kind), a, b) for a, b in halves)
    if kind not in FORMATS or got == want:
        return got == want
    x, y = of_bits(got, FORMATS[kind]), of_bits(want, FORMATS[kind])
    if x == y == NAN:
        return True
    if not c.within or x.kind != "finite" or y.kind != "finite":
        return False
    return math.isclose(x.value, y.value, rel_tol=c.within, abs_tol=c.within)


ALL = [(family, n, c) for family in FAMILIES for n, c in enumerate(cases(family))]


@pytest.mark.parametrize(("family", "number", "c"), ALL, ids=[f"{f}-{c.name}" for f, _, c in ALL])
def test_instruction_matches_its_oracle(family: str, number: int, c: Case) -> None:
    given, mask = inputs(c, number), (1 << 8 * size(c.result)) - 1
    compared = 0
    for lane, got in enumerate(results(family, number, c)):
        operands = [value(int(v[lane]), k) for v, k in zip(given, c.operands, strict=True)]
        want = c.oracle(*operands)
        if want is None:
            continue
        compared += 1
        assert same(c, got, want & mask), (
            f"{c.instruction()} of {[hex(int(v[lane])) for v in given]}: "
            f"{got:#x}, not {want & mask:#x}"
        )
    assert compared > COUNT // 8


def test_wrong_oracle_fails() -> None:
    """The comparison itself: one bit off is a failure, a NaN with another payload is not."""
    c = next(c for c in cases("floats") if c.text == "add.rn.f32")
    assert same(c, 0x7FC00000, 0x7FFFFFFF)
    assert not same(c, 0x3F800000, 0x3F800001)
    assert not same(c, 0x80000000, 0)
    assert np.array_equal(inputs(c, 0)[0], inputs(c, 0)[0])
