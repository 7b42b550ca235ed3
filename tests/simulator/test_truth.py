"""Every instruction of tests/ptx against what a real GPU gave for the same PTX and inputs.

Equal bit for bit; approximations within their error, compared where the manual bounds it. What
PTX leaves open is equal too, but for sines of numbers beyond pi.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.gpu.instructions import cases, key
from tests.ptx import FAMILIES
from tests.ptx.case import Case, inputs, value
from tests.simulator.test_instructions import results, same

TRUTH = Path(__file__).parents[1] / "ptx" / "truth"
OPEN = ("sin.approx.f32", "cos.approx.f32")
ALL = [(family, number) for family in FAMILIES for number in range(len(cases(family)))]


@cache
def read_on_gpu(family: str) -> dict[str, Any]:
    with np.load(TRUTH / f"{family}.npz") as held:
        return {name: held[name] for name in held.files}


def measured(family: str, what: str) -> Any:
    return json.loads(read_on_gpu(family)[what].tobytes())


def bounded(c: Case, number: int, at: int) -> bool:
    """Whether the PTX manual defines this result."""
    operands = [int(column[at]) for column in inputs(c, number)]
    held = [value(bits, kind) for bits, kind in zip(operands, c.operands, strict=False)]
    return c.oracle(*held) is not None


@pytest.mark.parametrize(("family", "number"), ALL, ids=[f"{f}-{n}" for f, n in ALL])
def test_instruction_matches_the_gpu(family: str, number: int) -> None:
    c = cases(family)[number]
    name = key(c, number)
    if name in measured(family, "refused"):
        assert ".sat" in c.text  # the driver's assembler takes no .sat where the value always fits
        return
    theirs = [int(x) for x in read_on_gpu(family)[name]]
    ours = results(family, number, c)
    differ = [at for at, pair in enumerate(zip(ours, theirs, strict=True)) if not same(c, *pair)]
    if c.name in OPEN:
        differ = [at for at in differ if bounded(c, number, at)]
    shown = [(at, hex(ours[at]), hex(theirs[at])) for at in differ[:5]]
    assert not differ, f"{c.text}: (input, ours, the GPU's) {shown}"


def test_measurement_names_its_gpu() -> None:
    assert {path.stem for path in TRUTH.glob("*.npz")} == {*FAMILIES}
    for family in FAMILIES:
        assert set(measured(family, "machine")) >= {"device", "driver", "date"}
