"""What is not simulated is refused by its name, at the student's line, before anything runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from grader.compile.program import Parameter
from grader.compile.source import compile_source
from grader.faults import StudentFault
from grader.launch import Array, Launch, Scalar
from grader.simulator.simulate import simulate
from tests.cukernel import compiled

FILES = sorted((Path(__file__).parent / "refused").glob("*.cu"))
SAYS = re.compile(r"// refuses (\S+) at line (\d+): (.*)")


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_refused(path: Path) -> None:
    says = SAYS.match(path.read_text())
    assert says is not None
    program = compiled(path)
    args = tuple(
        Array(p.name, (256,), "float32", np.zeros(256, "f4"))
        if p.is_pointer
        else Scalar(p.name, 0, "uint64")
        for p in _parameters(path)
    )
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


COMPILER = {
    'asm volatile("wgmma.fence.sync.aligned;");': "wgmma.fence",
    'asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");': "setmaxnreg.dec",
    'asm volatile("tcgen05.fence::before_thread_sync;");': "tcgen05.fence",
    "child<<<1, 1>>>(x);": "dynamic parallelism",
}


@pytest.mark.parametrize("line", COMPILER)
def test_refused_by_the_compiler(line: str) -> None:
    """What the architecture that is compiled for does not have never comes to the simulator."""
    text = f"""__global__ void child(float *x) {{ x[0] = 1; }}
extern "C" __global__ void k(float *x) {{
  x[0] = 2;
  {line}
}}
"""
    with pytest.raises(StudentFault) as caught:
        compile_source(text.encode(), "k.cu")
    (found,) = [f for f in caught.value.findings if COMPILER[line] in f.message]
    assert (found.severity, found.line) == ("error", 4) and found.hint
