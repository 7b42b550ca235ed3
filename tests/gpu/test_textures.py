"""Texture and surface objects on a GPU: the simulator's texels, and the tools' reports."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.compile.program import Program
from grader.gpu.tools import run_sanitizer
from grader.grading.run import build_for, run_all
from grader.launch import Array, Launch, Texture, Trace
from tests.cukernel import Case, all_cases, compiled
from tests.ptx.textures import CASES, SOURCE, Fetches

pytestmark = pytest.mark.gpu

KERNELS = [c for c in all_cases(Path(__file__).parents[1] / "correct") if c.path.stem == "textures"]
RIGHT = [c for c in KERNELS if not c.finds]
WRONG = [c for c in KERNELS if c.finds]


@cache
def fetches() -> Program:
    return build_for("gpu", compiled(SOURCE))


@cache
def traces() -> dict[int, Trace]:
    """What the GPU fetches in every case: one process runs them all."""
    found = run_all(fetches(), [c.launch for c in CASES], on="gpu")
    return {c.number: trace for c, trace in zip(CASES, found, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_gpu_fetches_the_same_texels(case: Fetches, row: Any) -> None:
    trace = traces()[case.number]
    assert trace.ended, trace.findings
    got = trace.outputs[2]
    channels = case.texture.channels
    right = case.expected()
    if not case.bound():
        np.testing.assert_array_equal(got[:, :channels], right)
    else:
        error = float(np.abs(got[:, :channels].astype(float) - right).max())
        row(f"largest difference {error:.3g}, bound {case.bound():.3g}")
        assert error <= case.bound()
    if channels < 4:
        assert not got[:, channels:].any(), "the channels that the texels lack"


@cache
def right() -> dict[str, Trace]:
    """What the right kernels do on the GPU: one process runs them all."""
    program = build_for("gpu", compiled(RIGHT[0].path))
    found = run_all(program, [c.launch for c in RIGHT], on="gpu")
    return {str(c): trace for c, trace in zip(RIGHT, found, strict=True)}


@pytest.mark.parametrize("case", RIGHT, ids=map(str, RIGHT))
def test_right_kernel_gives_the_same_on_the_gpu(case: Case) -> None:
    trace = right()[str(case)]
    assert trace.ended, trace.findings
    case.check(trace)


EDGES = (2.0**-4, 2.0**-8, 2.0**-9, 2.0**-10, 2.0**-12, 2.0**-16)


@pytest.mark.parametrize("normalized", [False, True])
def test_fetch_next_to_the_border_of_two_texels(normalized: bool, row: Any) -> None:
    """How near to the next texel a point fetch still gives its own; and what x / width gives."""
    extent = 24
    texture = Texture("t", 3, normalized=normalized)
    at = np.zeros((128, 4), np.float32)
    for k, edge in enumerate(EDGES):
        at[16 * k : 16 * k + 16, 0] = np.arange(1, 17) - edge
    exact = np.arange(32) % extent
    at[96:, 0] = exact
    at /= np.float32(extent) if normalized else np.float32(1)
    args = (
        texture,
        Array("at", (128, 4), "float32", at),
        Array("y", (128, 4), "float32", None, True),
        Array("t", (extent,), "float32", np.arange(extent, dtype=np.float32)),
    )
    launch = Launch("d1_float", (4, 1, 1), (32, 1, 1), args, hidden=1)
    (gpu,) = run_all(fetches(), [launch], on="gpu")
    (sim,) = run_all(fetches(), [launch], on="sim")
    got, ours = gpu.outputs[2][:, 0], sim.outputs[2][:, 0]
    for k, edge in enumerate(EDGES):
        own = int((got[16 * k : 16 * k + 16] == np.arange(16)).sum())
        row(f"{edge:.2g} before the border: {own} of 16 fetches give the texel before it")
    np.testing.assert_array_equal(got, ours)


def test_tools_report_beside_the_simulator(row: Any) -> None:
    """The simulator finds what each case states; the rows have what compute-sanitizer finds."""
    # what a GPU does with a handle that is none is not defined: it may hang
    cases = [c for c in WRONG if c.kernel not in ("next_handle", "number")]
    program = build_for("gpu", compiled(cases[0].path))
    for case, trace in zip(
        cases, run_all(program, [c.launch for c in cases], on="sim"), strict=True
    ):
        case.check(trace)
    found = run_sanitizer(program, [c.launch for c in cases])
    lines = Counter((f.line, f.kind, f.text) for f in found)
    for (line, kind, text), count in sorted(lines.items()):
        row(f"compute-sanitizer: line {line}: {kind} x {count}: {text[:60]}")
    row(f"compute-sanitizer: {len(found)} findings in {len(cases)} wrong kernels, ours: all")
