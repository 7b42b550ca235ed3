"""An unsupported feature is refused by name, at the student's line, before anything runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.compile.program import Parameter
from grader.faults import StudentFault
from grader.launch import Array, Launch, Scalar
from grader.simulator.simulate import simulate
from tests.cukernel import compiled
from tests.trusted import compile_here

FILES = sorted((Path(__file__).parent / "refused").glob("*.cu"))
EXPECTED = re.compile(r"// refuses (.+) at line (\d+): (.*)")


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_unsupported_feature_is_refused_at_its_line(path: Path) -> None:
    expected = EXPECTED.match(path.read_text())
    assert expected is not None
    program = compiled(path)
    args = tuple(
        Array(p.name, (256,), "float32", np.zeros(256, "f4"))
        if p.is_pointer
        else Scalar(p.name, 0, "uint64")
        for p in _parameters(path)
    )
    (trace,) = simulate(program, [Launch("k", (1, 1, 1), (32, 1, 1), args)])
    (finding,) = trace.findings
    assert not trace.ended
    assert (finding.kind, finding.severity) == ("missing-feature", "error")
    assert finding.message.startswith("not simulated: ")
    assert expected[1] in finding.message
    assert expected[3] in finding.message
    assert finding.line == int(expected[2])
    assert finding.text


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
def test_unsupported_feature_is_refused_by_the_compiler(line: str) -> None:
    """The compiler refuses what its target architecture lacks."""
    text = f"""__global__ void child(float *x) {{ x[0] = 1; }}
extern "C" __global__ void k(float *x) {{
  x[0] = 2;
  {line}
}}
"""
    with pytest.raises(StudentFault) as caught:
        compile_here(text.encode(), "k.cu")
    (finding,) = [f for f in caught.value.findings if COMPILER[line] in f.message]
    assert (finding.severity, finding.line) == ("error", 4) and finding.hint


@pytest.mark.parametrize(("line", "text"), [(2, 'asm volatile("pmevent 3;");'), (0, "")])
def test_ptx_that_cannot_be_read_is_no_mistake_of_the_student(line: int, text: str) -> None:
    """The compiler assembles all PTX, so what the simulator does not read is its own limit."""
    source = f'extern "C" __global__ void k(float *x) {{\n  {text}\n  x[0] = 1;\n}}\n'
    program = compile_here(source.encode(), "k.cu")
    old, new = (
        ("pmevent 3;", ".reg .b33 %z; pmevent 3;") if line else (".visible", ".b33 x; .visible")
    )
    assert old in program.debug_ptx
    broken = program.debug_ptx.replace(old, new, 1)
    launch = Launch("k", (1, 1, 1), (32, 1, 1), (Array("x", (32,), "float32", None, True),))
    (trace,) = simulate(replace(program, debug_ptx=broken, ptx=broken), [launch])
    (finding,) = trace.findings
    assert (finding.kind, finding.line) == ("missing-feature", line)
    assert finding.message.startswith("not simulated: PTX (") and "asm" not in finding.hint
