"""Builders of small values for tests of pure functions: a lab, cases, traces, grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grader.checks.result import CaseRun, Evidence, Result
from grader.compile.program import Kernel, Program
from grader.grading.record import CaseResult, Grade, Provenance, total_score
from grader.labs.model import Case, CheckSpec, Expected, KernelSpec, Lab, PreparedCase
from grader.launch import Array, Finding, Launch, LineCounters, OtherAccess, Resources, Trace

SOURCE = """\
// C = A B, one thread an element
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    As[threadIdx.y][threadIdx.x] = A[row * k + threadIdx.x];
    float sum = As[threadIdx.y][0] * B[col];
    C[row * n + col] = sum;
}
"""

PARAMETERS = (("const float*", "A"), ("float*", "C"))

RACE = Finding(
    "race",
    "error",
    "read-after-write hazard on shared `As` (4 bytes at offset 0x44)",
    file="tiled.cu",
    line=7,
    text="    float sum = As[threadIdx.y][0] * B[col];",
    count=3200,
    space="shared",
    hazard="RAW",
    access="read",
    variable="As",
    block=(0, 0, 0),
    thread=(0, 1, 0),
    other=OtherAccess(
        6, (1, 1, 0), (0, 0, 0), "write", "    As[threadIdx.y][threadIdx.x] = A[row * k];"
    ),
    hint="Threads read `As` before other threads have written it. "
    "Put __syncthreads() between line 6 and line 7.",
)


def a_case(name: str = "square", rows: int = 4, columns: int = 4, **more: Any) -> Case:
    return Case(name, {"m": rows, "n": columns, "k": 8}, **more)


def a_program(**more: Any) -> Program:
    kernels = (Kernel("matmul", "matmul", 2, ()),)
    return Program("tiled.cu", SOURCE, kernels, "", "", "sm_90", **more)


def right_answer(case: Case) -> np.ndarray:
    """Return distinct nonzero numbers, so that every wrong pattern is distinguishable."""
    m, n = case.dims["m"], case.dims["n"]
    return (np.arange(m * n, dtype=np.float64).reshape(m, n) * 3 + 5) % 251 + 1


def a_run(
    case: Case,
    actual: np.ndarray | None = None,
    *,
    bound: float = 1e-3,
    block: tuple[int, int, int] = (16, 16, 1),
    **trace: Any,
) -> CaseRun:
    """Return a case that ran; its output is correct unless `actual` is given."""
    right = right_answer(case)
    expected = Expected(right, np.full(right.shape, bound))
    a = Array("A", (case.dims["m"], case.dims["k"]), "float32")
    c = Array("C", right.shape, "float32", read_back=True)
    launch = Launch("matmul", (1, 1, 1), block, (a, c), name=case.name)
    got = (right if actual is None else actual).astype(np.float32)
    if trace.get("ended", True):
        trace.setdefault("outputs", {1: got})
    return CaseRun(case, PreparedCase(case, launch, {1: expected}), Trace("sim", **trace))


def a_lab(checks: Mapping[str, tuple[float, Mapping[str, Any]]], cases: Sequence[Case] = ()) -> Lab:
    """A lab with those checks: name -> (points, options)."""
    specs = tuple(
        CheckSpec(name, points, options, "labs/tiled/lab.yaml:30", dict.fromkeys(options, 31))
        for name, (points, options) in checks.items()
    )
    kernels = (KernelSpec("matmul", PARAMETERS),)
    return Lab("tiled", "Tiled matrix product", Path("labs/tiled"), kernels, tuple(cases), specs)


def evidence(*runs: CaseRun, lab: Lab | None = None, **more: Any) -> Evidence:
    return Evidence(lab or a_lab({"output": (40, {})}), a_program(), runs, **more)


def counters(line: int = 0, **values: float) -> Any:
    """Counters by short names: `ld_bytes=128` for what Nsight Compute calls at length."""
    long = {
        "ld_bytes": "ptx__requested_bytes_mem_global_op_ld.sum",
        "ld_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        "st_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        "ld_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        "st_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        "atomics": "ptx__thread_atomics_mem_global.sum",
        "const_loads": "ptx__thread_loads_mem_const.sum",
        "shared_ld": "smsp__sass_inst_executed_op_shared_ld.sum",
        "shared_st": "smsp__sass_inst_executed_op_shared_st.sum",
        "waves": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    }
    named = {long[name]: value for name, value in values.items()}
    return LineCounters(line, named) if line else named


def resources(registers: int = 32, static: int = 2048, local: int = 0) -> Resources:
    return Resources(registers, static, local, 1.0)


def a_grade(*checks: Result, cases: Sequence[CaseResult] = (), **more: Any) -> Grade:
    given = {
        "lab": "tiled",
        "title": "Tiled matrix product",
        "file": "tiled.cu",
        "student": "",
        "submission_sha256": "5e" * 32,
        "backend": "sim",
        **more,
    }
    made = Provenance("0123456789ab", {"nvrtc": "13.0"}, "0.1.0", "2026-01-01T00:00:00Z", 0.5)
    return Grade(
        score=total_score(checks), checks=checks, cases=tuple(cases), provenance=made, **given
    )


def a_result(name: str, status: str, points: float = 0, most: float = 15, **more: Any) -> Result:
    return Result(name, status, points, most, more.pop("summary", f"{name} evaluated"), **more)  # type: ignore[arg-type]
