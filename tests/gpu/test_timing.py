"""Paired timing of two kernels: the ratio, and that no cheat improves it.

Every cheat is right in its first launches: only the timed launches' outputs reveal it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.faults import Fault, LabFault, MachineFault
from grader.gpu.buffers import GUARD, draw_moves, new_input, with_guard_bands, without_guard_bands
from grader.gpu.process import OUTPUT_BYTES as LEAST_OUTPUT_BYTES
from grader.gpu.speedup import (
    BASELINE,
    EMPTY_KERNEL,
    MIN_PAIRS,
    SUBMISSION,
    Timing,
    TimingPlan,
    estimate,
)
from grader.gpu.timing import OUTPUT_BYTES, _reply_bytes, max_pairs, stop_findings, time_kernel
from grader.gpu.timing_verification import recreate_launch
from grader.grading.timing import verifier
from grader.labs.cases import prepare_baseline, prepare_case
from grader.labs.model import Case
from grader.labs.reading import load_lab
from grader.launch import Array, Launch, Scalar

ROOT = Path(__file__).parents[2]
LAB = load_lab("tiled-matmul")
CASE = Case("timed", {"n": 256}, "integer")
TILED = (ROOT / "solutions/tiled-matmul/tiled-matmul.cu").read_text()
NAIVE = LAB.baseline.read_text()
COUNTER = "__device__ unsigned int launches;\n"
COUNTED = "if (threadIdx.x + threadIdx.y + blockIdx.x + blockIdx.y == 0) launches++;\n"


def program(text: str) -> Program:
    return compile_source(text.encode(), "student.cu")


def plan(**more: Any) -> TimingPlan:
    given = {"minimum": 1.05, "full": 1.1, "seed": b"test", "limit": 2.0, **more}
    base, own = prepare_baseline(LAB, CASE, b"").launch, prepare_case(LAB, CASE, b"").launch
    return TimingPlan(program(NAIVE), base, own, **given)


def timed(text: str, **more: Any) -> Timing:
    return time_kernel(program(text), plan(**more), verifier(LAB, CASE))


def inserted(before: str, inside_: str) -> str:
    """The tiled kernel with a line before it and lines at its start."""
    head, brace, body = TILED.partition("int n)\n{\n")
    assert brace
    return f"{before}{head}{brace}{inside_}{body}"


CHEATS = {
    "skips all work after 30 launches": (
        inserted(COUNTER, COUNTED + "if (launches > 30) return;\n"), "wrong-output"),
    "copies what it computed first": (
        "__device__ float kept[256 * 256]; __device__ unsigned int launches;\n" + TILED.replace(
            "C[row * n + col] = sum;",
            "if (launches < 9) kept[row * n + col] = sum; C[row * n + col] = kept[row * n + col];"
            + COUNTED), "wrong-output"),
    "leaves the last row to the next launch": (
        TILED.replace("C[row * n + col] = sum;", "if (row < n - 1) C[row * n + col] = sum;"),
        "wrong-output"),
    "writes behind its output after 9 launches": (
        inserted(COUNTER, COUNTED + "if (launches > 9) C[n * n + 3] = 1;\n"), "invalid-access"),
    "writes before an input": (
        inserted("", "((float*)A)[-5] = 1;\n"), "invalid-access"),
    "crashes after 9 launches": (
        inserted(COUNTER, COUNTED + "if (launches > 9) *(volatile float*)(1ull << 52) = 1;\n"),
        "invalid-access"),
    "never ends after 9 launches": (
        inserted(COUNTER, COUNTED + "while (*(volatile unsigned int*)&launches > 9) C[0] = 1;\n"),
        "timeout"),
    "computes with half precision": (
        "#include <cuda_fp16.h>\n" + TILED.replace("sum +=", "sum += __half2float(__float2half(1))"
            " *").replace("= A[", "= __half2float((__half)A[").replace("tx];", "tx]);", 1),
        "wrong-output"),
}  # fmt: skip


@pytest.mark.gpu
@pytest.mark.alone
def test_a_right_kernel_is_timed(row: Any) -> None:
    timing = timed(TILED, cublas=(256, 256, 256))
    seen = estimate(timing.ratios)
    row(
        f"tiled over naive 256^3: {seen.ratio:.3f} ({seen.low:.3f} to {seen.high:.3f}), "
        f"{seen.pairs} pairs, events {1e6 * timing.overhead:.2f} us, empty {1e6 * timing.empty:.2f}"
    )
    assert timing.ended and not timing.findings
    assert 1.0 < seen.low <= seen.ratio <= seen.high < 3
    assert timing.verified == len(timing.pairs) + 1, "the first pair only warms up"
    assert set(timing.peaks) == {
        "copy_bytes_per_second",
        "fma_flop_per_second",
        "cublas_flop_per_second",
    }
    assert all(rate > 1e9 for rate in timing.peaks.values())
    assert timing.device and 0 < timing.empty < 1e-4


@pytest.mark.gpu
@pytest.mark.alone
def test_a_kernel_is_as_fast_as_itself(row: Any) -> None:
    timing = timed(NAIVE, most=80)
    low, high = estimate(timing.ratios).low, estimate(timing.ratios).high
    row(f"{low:.4f} to {high:.4f}")
    assert low <= 1.01 and high >= 0.99


@pytest.mark.gpu
@pytest.mark.alone
def test_persisting_cache_lines_gain_no_speed(row: Any) -> None:
    """Beside its honest twin, at the size that the file waits for."""
    case = Case("timed", {"n": 1024}, "integer")
    base, own = prepare_baseline(LAB, case, b"").launch, prepare_case(LAB, case, b"").launch
    asked = TimingPlan(program(NAIVE), base, own, 1.0, 2.0, least=100, most=100)
    cheats = ROOT / "tests" / "cheats" / "speed"
    ratios = [
        estimate(time_kernel(program(file.read_text()), asked, verifier(LAB, case)).ratios).ratio
        for file in (cheats / "honest.cu", cheats / "keeps_lines_in_the_cache.cu")
    ]
    row(f"honest {ratios[0]:.4f}, with lines kept {ratios[1]:.4f}")
    assert ratios[1] < 1.005 * ratios[0]


@pytest.mark.gpu
@pytest.mark.parametrize("name", CHEATS)
def test_cheat_is_detected_and_next_kernel_is_timed(name: str) -> None:
    text, kind = CHEATS[name]
    timing = timed(text, minimum=0.01, full=100.0, least=60)
    assert kind in {f.kind for f in timing.findings}
    assert all(f.file == "student.cu" and f.line for f in timing.findings)
    assert timing.ended == (kind in ("wrong-output",) or "writes" in name)
    after = timed(TILED)
    assert after.ended and not after.findings


@pytest.mark.gpu
def test_a_baseline_that_fails_is_the_lab_s_fault() -> None:
    broken = NAIVE.replace("int col", "*(volatile float*)(1ull << 52) = 1;\n    int col", 1)
    with pytest.raises(LabFault, match="the baseline fails when it is timed"):
        time_kernel(program(TILED), plan_with(program(broken)), verifier(LAB, CASE))


@pytest.mark.gpu
def test_a_baseline_that_is_wrong_is_the_lab_s_fault() -> None:
    wrong = NAIVE.replace("int col", "if (blockIdx.x == 1) return;\n    int col", 1)
    with pytest.raises(LabFault, match="the baseline is wrong at the timed size"):
        time_kernel(program(TILED), plan_with(program(wrong)), verifier(LAB, CASE))


def plan_with(baseline: Program) -> TimingPlan:
    made = plan()
    return TimingPlan(baseline, made.baseline_launch, made.launch, 1.05, 1.1, limit=2.0)


def test_the_inputs_of_a_timed_launch_are_made_again() -> None:
    data = np.arange(4000, dtype=np.float32)
    out = Array("y", (3,), "int16", None, True)
    args = (Array("x", (4000,), "float32", data), Array("s", (4000,), "float32", data), out,
            Scalar("n", 3, "int32"))  # fmt: skip
    one = Launch("k", (1, 1, 1), (1, 1, 1), args, globals={"mask": np.ones(3)})
    made = TimingPlan(program(NAIVE), one, one, 1, 2, seed=b"s", fixed=("s",))
    held = with_guard_bands(2, out, 0)
    without_guard_bands(held).view(np.int16)[:] = (1, 2, 3)
    inputs, outputs = recreate_launch(made, 7, {"7.2": held})
    assert (inputs["x"] == new_input(data, draw_moves((4000,), b"s", 15, "x"))).all()
    assert (inputs["s"] == data).all() and (inputs["mask"] == 1).all()
    assert outputs["y"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("elements", "pairs"),
    [(1, 400), (1 << 20, OUTPUT_BYTES // ((1 << 22) + 2 * GUARD)), (1 << 24, MIN_PAIRS)],
)
def test_outputs_that_would_fill_the_memory_allow_fewer_pairs(elements: int, pairs: int) -> None:
    out = Array("y", (elements,), "float32", None, True)
    one = Launch("k", (1, 1, 1), (1, 1, 1), (out,))
    assert max_pairs(TimingPlan(program(NAIVE), one, one, 1, 2)) == pairs


def told(culprit: int, stopped: str = "error") -> dict[str, Any]:
    name = "CUDA_ERROR_ILLEGAL_ADDRESS" if stopped == "error" else ""
    return {"stopped": stopped, "culprit": culprit, "error": name, "text": ""}


@pytest.mark.parametrize(
    ("answer", "ran", "kinds"),
    [
        (told(EMPTY_KERNEL, ""), True, []),
        (told(SUBMISSION), True, ["invalid-access"]),
        (told(SUBMISSION), False, ["invalid-access"]),
        (told(SUBMISSION, "timeout"), True, ["timeout"]),
        (told(BASELINE), True, ["invalid-access"]),
        (told(BASELINE, "timeout"), True, ["invalid-access"]),
    ],
)
def test_end_of_a_measurement_is_reported(
    answer: dict[str, Any], ran: bool, kinds: list[str]
) -> None:
    assert [finding.kind for finding in stop_findings(plan(), answer, ran)] == kinds


@pytest.mark.parametrize(("culprit", "fault"), [(BASELINE, LabFault), (EMPTY_KERNEL, MachineFault)])
def test_failure_before_the_submission_runs_is_not_its_fault(
    culprit: int, fault: type[Fault]
) -> None:
    with pytest.raises(fault):
        list(stop_findings(plan(), told(culprit), ran=False))


@pytest.mark.parametrize("size", [256, 1 << 20, 64 << 20])
def test_reply_of_a_lab_fits_a_child_that_is_ready(size: int) -> None:
    """Otherwise each measurement starts a child of its own, half a second later."""
    arrays = tuple(Array(name, (size,), "uint8", None, name == "c") for name in "abc")
    given = replace(plan(), launch=Launch("k", (1, 1, 1), (1, 1, 1), arrays))
    assert _reply_bytes(given, max_pairs(given)) <= LEAST_OUTPUT_BYTES
