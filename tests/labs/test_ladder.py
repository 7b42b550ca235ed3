"""The rungs of the ladder are correct and clean on the simulator."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bench.ladder import THREADS, TILE, Rung, announced, main, rungs
from grader.authoring.handouts.runs import CUBLAS, data_file, read_measured
from grader.compile.source import compile_source
from grader.feedback.grade import grade
from grader.gpu.devices import devices
from grader.grading.run import run_all
from grader.labs.reading import load_lab
from grader.labs.tolerance import whole_factors
from grader.launch import Array, Launch, Scalar, Trace
from grader.submissions.files import read_submission

FIRST_FULL = 4
"""The first rung that earns all points that the simulator evaluates."""

RUNGS = rungs()
WASTE = {"uncoalesced", "bank-conflict", "spill"}

TARGET = 0.75
"""The least share of cuBLAS's rate that the top rung reaches at the largest size."""

BROKEN = {
    "6-double-buffer": ("now = 1 - now;", "", "race"),
    "7-fragments": ("row + 32]", "row + 28]", "wrong"),
    "8-async-copies": ("__pipeline_wait_prior(0)", "__pipeline_wait_prior(1)", "race"),
    "9-operand-reuse": ("rb[step % 2][j]", "rb[step % 2][s]", "wrong"),
}
"""By rung: a change to its text, and the finding that it must cause."""


def product(rung: Rung, source: str, sizes: tuple[int, int, int]) -> tuple[Trace, bool]:
    """Run one product of m, n and k with a rung's text: the trace, and whether C is correct."""
    m, n, k = sizes
    a, b = whole_factors(m, n, k, np.random.default_rng(7))
    launch = Launch(
        "sgemm",
        (n // TILE, m // TILE, 1),
        (THREADS, 1, 1),
        (
            Array("A", a.shape, "float32", a),
            Array("B", b.shape, "float32", b),
            Array("C", (m, n), "float32", read_back=True),
            *(Scalar(name, size, "int32") for name, size in zip("mnk", sizes, strict=True)),
        ),
    )
    (trace,) = run_all(compile_source(source.encode(), rung.path.name), [launch])
    return trace, bool(np.array_equal(trace.outputs.get(2, np.empty(0)), a @ b))


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_rung_is_correct_and_clean_in_every_case(rung: Rung) -> None:
    made = grade(load_lab("sgemm-ladder"), read_submission(rung.path), visibility="all")
    results = {result.name: result for result in made.checks}
    expected = {"compile", "output", "sync", "memory"}
    if int(rung.name[0]) >= FIRST_FULL:
        expected |= {"traffic", "resources"}
    assert {name: results[name].status for name in expected} == dict.fromkeys(expected, "pass")
    kinds = {finding.kind for result in made.checks for finding in result.findings}
    own = rung.path.parent.name == "rungs"
    assert not (own and int(rung.name[0]) >= FIRST_FULL and kinds & WASTE)


@pytest.mark.parametrize("name", BROKEN)
def test_mistake_in_a_rung_is_reported(name: str) -> None:
    rung = next(rung for rung in RUNGS if rung.name == name)
    right, changed, expected = BROKEN[name]
    source = rung.path.read_text()
    assert right in source
    trace, same = product(rung, source.replace(right, changed), (TILE, TILE, 24))
    kinds = {finding.kind for finding in trace.errors}
    assert expected in kinds or (expected == "wrong" and not kinds and not same), kinds


def test_rungs_are_in_order_and_the_solution_is_the_fifth() -> None:
    assert [int(rung.name[0]) for rung in RUNGS] == list(range(1, len(RUNGS) + 1))
    assert RUNGS[4].path == load_lab("sgemm-ladder").solution


def test_table_has_each_kernel_and_its_share(capsys: pytest.CaptureFixture[str]) -> None:
    announced(512, {"6-double-buffer": 30e12, CUBLAS: 40e12})
    rows = capsys.readouterr().out.splitlines()
    assert [row.split() for row in rows[1:]] == [
        ["6-double-buffer", "30,000", "75.0", "%"],
        [CUBLAS, "40,000", "100.0", "%"],
    ]


def test_handout_has_the_measured_rates() -> None:
    held = read_measured()
    assert held is not None and set(held.rungs) == {CUBLAS, *(rung.name for rung in RUNGS)}
    page = (data_file().parent.parent / "sgemm-ladder.md").read_text(encoding="utf-8")
    rows = [re.split(r" *\| *", row)[1:5:3] for row in page.splitlines() if row.count("|") == 5]
    shown = {name.replace(" ", "-"): rate for name, rate in rows}
    expected = {name: f"{rates[-1] / 1e12:.1f}" for name, rates in held.rungs.items()}
    assert {name: shown.get(name) for name in expected} == expected
    assert held.rungs[RUNGS[-1].name][-1] >= TARGET * held.rungs[CUBLAS][-1]


@pytest.mark.skipif(bool(devices()), reason="this machine has a GPU")
def test_missing_gpu_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--to", str(tmp_path / "ladder.json")]) == 3
    assert "no NVIDIA GPU" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
