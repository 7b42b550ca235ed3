"""An atomic on global memory whose old value is not used becomes a RED, as in ptxas."""

from __future__ import annotations

import pytest

from grader.simulator.ptx.parser import parse
from grader.simulator.ptx.ptxas import reduce_unused_atomics
from tests.trusted import compile_here

KERNEL = """
extern "C" __global__ void k(unsigned *a, unsigned *out, float *f) {{
  __shared__ unsigned s[2];
  s[threadIdx.x & 1] = 0;
  __syncthreads();
  {}
  __syncthreads();
  out[threadIdx.x] += s[0];
}}
"""
CASES = {
    "atomicAdd(a, 1u);": ["red.global.add.u32"],
    "if (threadIdx.x > 3) atomicMax(a, 7u);": ["red.global.max.u32"],
    "atomicAdd(f, 2.0f);": ["red.global.add.f32"],
    "out[0] = atomicAdd(a, 1u);": ["atom.global.add.u32"],
    "atomicExch(a, 1u);": ["atom.global.exch.b32"],
    "atomicCAS(a, 1u, 2u);": ["atom.global.cas.b32"],
    "atomicAdd(&s[1], 1u);": ["atom.shared.add.u32"],
}


@pytest.mark.parametrize("line", CASES)
def test_only_unused_global_atomics_become_reductions(line: str) -> None:
    program = compile_here(KERNEL.format(line).encode(), "k.cu")
    module = parse(program.ptx)
    reduce_unused_atomics(module)
    ops = [i.op for f in module.functions.values() for i in f.body]
    assert [op for op in ops if op.startswith(("atom", "red"))] == CASES[line]
