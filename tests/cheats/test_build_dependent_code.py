"""Kernels that differ between the simulator and the GPU are refused or fail."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from grader.compile.source import compile_source
from grader.faults import StudentFault
from grader.launch import Array, Launch
from grader.simulator.simulate import simulate

FILES = sorted(Path(__file__).parent.glob("*.cu"))
REFUSED = re.compile(r"// refused at line (\d+): (\S+)")
DETECTED = re.compile(r"// detected (\S+):")


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_build_dependent_code_is_refused_or_detected(path: Path) -> None:
    text = path.read_text()
    if refused := REFUSED.match(text):
        with pytest.raises(StudentFault) as caught:
            compile_source(path.read_bytes(), path.name)
        (finding,) = caught.value.findings
        assert (finding.kind, finding.severity) == ("cheat", "error")
        assert finding.line == int(refused[1])
        assert refused[2] in finding.message
        return
    program = compile_source(path.read_bytes(), path.name)
    x = Array("x", (64,), "float32", np.zeros(64, "f4"))
    (trace,) = simulate(program, [Launch("k", (2, 1, 1), (64, 1, 1), (x,))])
    kinds = {f.kind for f in trace.errors if f.space == "shared"}
    detected = DETECTED.match(text)
    assert kinds == ({detected[1]} if detected else set())
