"""What is not simulated is refused by its name, at the student's line, before anything runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from grader.compile.program import Parameter
from grader.launch import Array, Launch
from grader.sim.simulate import simulate
from tests.cukernel import compiled

FILES = sorted((Path(__file__).parent / "refused").glob("*.cu"))
SAYS = re.compile(r"// refuses (\S+) at line (\d+): (.*)")


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_refused(path: Path) -> None:
    says = SAYS.match(path.read_text())
    assert says is not None
    program = compiled(path)
    args = tuple(Array(p.name, (256,), "float32", np.zeros(256, "f4")) for p in _parameters(path))
    (trace,) = simulate(program, [Launch("k", (1, 1, 1), (32, 1, 1), args)])
    (found,) = trace.findings
    assert not trace.ended
    assert (found.kind, found.severity) == ("missing-feature", "error")
    assert found.message.startswith("not simulated: ")
    assert says[1] in found.message
    assert says[3] in found.message
    assert found.line == int(says[2])
    assert found.text


def _parameters(path: Path) -> tuple[Parameter, ...]:
    (kernel,) = compiled(path).kernels
    return kernel.parameters
