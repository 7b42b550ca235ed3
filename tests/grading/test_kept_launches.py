"""Launches in a simulator's child that has run others before have the traces of a new child."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.grading.run import run_all
from grader.launch import Array, Launch, Scalar, Trace
from grader.sandbox.call import KeptChild

SOURCE = rb"""
#include <stdio.h>
__device__ int counter;
__device__ float table[64];
__global__ void k(float* a, float* b, int n, int mode)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float l[8];
    __shared__ float s[64];
    if (i >= n + 40 * (mode == 4)) return;
    if (mode == 0) b[i] = s[threadIdx.x] + l[i % 8];
    if (mode == 1) {
        float* p = (float*)malloc(1024);
        b[i] = p ? p[3] : -1;
        atomicAdd(&counter, 1);
    }
    if (mode == 2) {
        b[i] = counter + table[i % 64];
        printf("%d %p\n", counter, (void*)a);
        table[i % 64] = 7;
        counter = 5;
    }
    while (mode == 3 && a[0] == a[0]) b[0] += 1;
    if (mode == 4) b[i] = a[i];
    if (mode == 5) b[i] = clock64();
    if (mode == 6) b[i] = b[i];
}
"""
"""Uses of what is undefined, of memory that lives as long as a module, and ends of every kind."""

STEPS = 200_000


@pytest.fixture(scope="module")
def program() -> Program:
    return compile_source(SOURCE, "k.cu")


def launch(mode: int, n: int) -> Launch:
    a = np.random.default_rng(n).random(n, dtype=np.float32)
    arrays = Array("a", (n,), "float32", a, False), Array("b", (n,), "float32", None, True)
    scalars = Scalar("n", n, "int32"), Scalar("mode", mode, "int32")
    return Launch("k", (2, 1, 1), (64, 1, 1), (*arrays, *scalars))


def comparable(trace: Trace) -> Any:
    plain = replace(trace, seconds={}, outputs={}, unwritten={}, accesses=None)
    arrays = [
        {i: value.tobytes() for i, value in held.items()}
        for held in (trace.outputs, trace.unwritten)
    ]
    return json.dumps(asdict(plain), default=str, sort_keys=True), arrays


def test_what_ran_before_changes_no_trace(program: Program) -> None:
    launches = [launch(mode, 90) for mode in (0, 1, 2, 2, 4, 5, 6, 3)]
    alone = [comparable(t) for t in run_all(program, launches, threads=1, steps=STEPS)]
    assert len({text for text, _ in alone}) >= 6
    for before in ([1, 2], [3], [4, 6, 5]):
        with KeptChild() as kept:
            first = [launch(mode, 100) for mode in before]
            run_all(program, first, threads=1, steps=STEPS, kept=kept)
            child = kept._child
            after = run_all(program, launches, threads=1, steps=STEPS, kept=kept)
            assert child is not None and kept._child is child
        assert [comparable(trace) for trace in after] == alone, before


def test_another_program_is_decoded_anew(program: Program) -> None:
    """The same kernel by name, with another text."""
    other = compile_source(SOURCE.replace(b"b[i] = clock64", b"b[i] = 2 * clock64"), "k.cu")
    alone = [comparable(run_all(one, [launch(5, 90)], threads=1)[0]) for one in (program, other)]
    assert alone[0] != alone[1]
    with KeptChild() as kept:
        for number in (0, 1, 0):
            (here,) = run_all((program, other)[number], [launch(5, 90)], threads=1, kept=kept)
            assert comparable(here) == alone[number]


def test_more_memory_needs_another_child(program: Program) -> None:
    with KeptChild() as kept:
        run_all(program, [launch(6, 90)], threads=1, kept=kept)
        child = kept._child
        run_all(program, [launch(6, 80)], threads=1, kept=kept)
        assert kept._child is child
        run_all(program, [launch(6, 3_000_000)], threads=1, kept=kept)
        assert kept._child is not child
