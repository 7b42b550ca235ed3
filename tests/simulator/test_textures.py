"""Fetches from textures against a model of CUDA's guide, and forms that only PTX has."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from grader.compile.program import Program
from grader.launch import Array, Launch, Texture, Trace
from grader.simulator.diagnose.textures import texel_index
from grader.simulator.simulate import simulate
from tests.cukernel import compiled
from tests.ptx.textures import CASES, SOURCE, Fetches


@cache
def program() -> Program:
    """The kernels, without their debug variant: `tests/correct` has both."""
    return replace(compiled(SOURCE), debug_ptx="")


@cache
def traces() -> dict[int, Trace]:
    """What the simulator fetches in every case, all with one decoded program."""
    found = simulate(program(), [c.launch for c in CASES])
    return {c.number: trace for c, trace in zip(CASES, found, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_fetches_are_those_of_the_guide(case: Fetches) -> None:
    trace = traces()[case.number]
    assert trace.ended and not trace.findings, trace.findings
    got = trace.outputs[2][:, : case.texture.channels]
    assert not trace.outputs[2][:, case.texture.channels :].any(), "channels that texels lack"
    np.testing.assert_array_equal(got, case.expected())


def test_cases_reach_every_part_of_the_model() -> None:
    """The places are outside, inside and between texels; a wrong model would differ."""
    case = next(c for c in CASES if c.texture.interpolated and c.texture.address[0] == "mirror")
    other = replace(case, texture=replace(case.texture, address=("wrap",) * 3))
    assert not np.array_equal(case.expected(), other.expected())
    blunt = replace(case, texture=replace(case.texture, interpolated=False))
    assert not np.array_equal(case.expected(), blunt.expected())


@pytest.mark.parametrize(
    ("item", "text"), [(-8070889472, ""), (-1, ""), (0, "[0][0]"), (23, "[3][5]"), (24, "")]
)
def test_item_beyond_an_array_of_texels_has_no_indices(item: int, text: str) -> None:
    texels = Array("texels", (4, 6), "float32", None)
    launch = Launch("k", (1, 1, 1), (1, 1, 1), (Texture("t", 1), texels), hidden=1)
    assert texel_index(launch, 1, item) == text
