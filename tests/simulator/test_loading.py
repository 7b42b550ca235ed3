"""What a launch and its kernels need of a module: which variables get a buffer, debug sections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from grader.faults import LabFault
from grader.launch import Launch
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.module import decode
from grader.simulator.ptx.debug_info import LocalVariables
from grader.simulator.ptx.parser import parse
from tests.trusted import compile_here

VARIABLES = """\
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 pointed[2] = {5, 6};
.global .align 8 .u64 named[1] = {generic(pointed)};
.global .align 4 .u32 of_the_library[2] = {7, 8};
.const .align 4 .u32 filled[1];
.visible .entry k()
{
.reg .b64 %rd<3>;
.reg .b32 %r<2>;
mov.u64 %rd1, named;
ld.global.u64 %rd2, [%rd1];
ld.u32 %r1, [%rd2+4];
ret;
}
"""


def test_only_variables_that_a_kernel_reaches_or_a_launch_fills_have_a_buffer() -> None:
    module = parse(VARIABLES)
    machine = Machine(module, decode(module, "k", core().known, definedness=False))
    launch = Launch("k", (1, 1, 1), (1, 1, 1), ())
    assert [b.name for b in machine.loader.load(launch).buffers] == ["pointed", "named"]
    raw = machine.run(launch, Limits(), True)
    assert raw.ended and not len(raw.reports)
    full = replace(launch, globals={"filled": np.array([9], np.uint32)})
    assert [b.name for b in machine.loader.load(full).buffers] == ["pointed", "named", "filled"]
    with pytest.raises(LabFault, match="no __constant__ or __device__ variable `missing`"):
        machine.loader.load(replace(launch, globals={"missing": np.array([9], np.uint32)}))


def test_debug_sections_are_read_once_for_all_kernels_of_a_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = "__device__ int f(int *x) { return *x; }\n"
    for name in ("k", "l"):
        source += f'extern "C" __global__ void {name}(int *out) {{ int v = 1; out[0] = f(&v); }}\n'
    module = parse(compile_here(source.encode(), "k.cu").debug_ptx)
    read: list[LocalVariables] = []
    made = LocalVariables.__init__

    def counted(self: LocalVariables, sections: Mapping[str, str]) -> None:
        read.append(self)
        made(self, sections)

    monkeypatch.setattr(LocalVariables, "__init__", counted)
    for name in ("k", "l"):
        decode(module, name, core().known, definedness=True)
    (variables,) = read
    assert [v.name for v in variables.variables] == ["v", "v"]
