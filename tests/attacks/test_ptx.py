"""Hostile PTX and launches beyond every limit get a finding in time and never crash the simulator.

Students cannot submit PTX that the assembler refuses; the simulator must withstand it all the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.faults import MachineFault
from grader.grading.run import run_all
from grader.launch import Array, Launch, Scalar, Trace
from tests.patience import PATIENCE
from tests.processes import processor_seconds

ROWS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("ptx.yaml").read_text(encoding="utf-8")
)
SOURCE = b'extern "C" __global__ void k(float* x, int n) { x[threadIdx.x] = n; }'

LIMIT = 1.0
"""Seconds of processor time that a launch may take."""

LONGEST = 2 * (LIMIT + 5)
"""Processor time of a launch and of the next one, which runs meanwhile."""


@cache
def honest() -> Program:
    return compile_source(SOURCE, "k.cu")


def hostile(row: dict[str, Any]) -> Program:
    """Return the honest program with the row's body.

    `@` before a piece repeats that piece as often as the row says.
    """
    head, start, _ = honest().ptx.partition(".visible .entry k(")
    body = row["body"]
    if times := row.get("repeat"):
        for piece in ("%r1,", "{", "}", "9"):
            body = body.replace(f"@{piece}", piece * times)
    parameters = ".param .u64 .ptr .align 1 k_param_0,\n.param .u32 k_param_1"
    ptx = f"{head}{row.get('before', '')}\n{start}\n{parameters}\n)\n{{\n{body}\n}}\n"
    return replace(honest(), ptx=ptx, debug_ptx=ptx)


def run(program: Program, grid: tuple[int, int, int], block: tuple[int, int, int]) -> Trace:
    x = Array("x", (64,), "float32", np.zeros(64, "f4"), read_back=True)
    launch = Launch("k", grid, block, (x, Scalar("n", 1, "int32")))
    started = processor_seconds(os.getpid())
    (trace,) = run_all(program, [launch], limit=LIMIT, threads=1)
    assert processor_seconds(os.getpid()) - started < LONGEST
    return trace


@pytest.fixture(scope="module")
def traces() -> Iterator[Callable[[str], Trace]]:
    """Return the trace of a row; the next one is computed meanwhile."""
    with ThreadPoolExecutor(2) as pool:

        @cache
        def under_way(name: str) -> Future[Trace]:
            return pool.submit(run, hostile(ROWS[name]), (2, 1, 1), (64, 1, 1))

        following = dict(zip(ROWS, [*list(ROWS)[1:], ""], strict=True))

        def trace(name: str) -> Trace:
            wanted = under_way(name)
            if following[name]:
                under_way(following[name])
            return wanted.result(PATIENCE)

        yield trace


@pytest.mark.parametrize("name", ROWS)
def test_hostile_ptx_gets_its_finding(name: str, traces: Callable[[str], Trace]) -> None:
    row = ROWS[name]
    if more := row.get("exceeds"):
        with pytest.raises(MachineFault, match=more):
            traces(name)
        return
    trace = traces(name)
    kinds = {finding.kind for finding in trace.errors}
    assert kinds == (set() if row.get("clean") else {row["finds"]})
    assert all(len(finding.message) < 1000 for finding in trace.findings)


LAUNCHES = [
    ((2**31 - 1, 1, 1), (64, 1, 1)),
    ((1, 65535, 65535), (64, 1, 1)),
    ((2**31, 1, 1), (64, 1, 1)),
    ((2**40, 1, 1), (1, 1, 1)),
    ((1, 1, 1), (10**9, 1, 1)),
    ((1, 1, 1), (1024, 1024, 64)),
    ((1, 1, 1), (1025, 1, 1)),
    ((0, 1, 1), (1, 1, 1)),
    ((1, 1, 1), (-1, 1, 1)),
]


@pytest.mark.parametrize(("grid", "block"), LAUNCHES, ids=str)
def test_launch_beyond_the_limits_fails(
    grid: tuple[int, int, int], block: tuple[int, int, int]
) -> None:
    trace = run(honest(), grid, block)
    assert {finding.kind for finding in trace.errors} == {"launch-failure"} and not trace.ended
