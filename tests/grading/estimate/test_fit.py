"""The fit finds what made the times, and the errors on held-back kernels decide what is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.grading.estimate.fit import (
    MAX_ERROR,
    Errors,
    HeldBack,
    error_lines,
    errors_of,
    fit_model,
    held_back,
)
from grader.grading.estimate.model import Fit
from tests.grading.estimate.made import a_machine, samples

FITS = [Fit(2.0, 1.0), Fit(4.0, 1.2), Fit(1.5, 0.8)]


@pytest.mark.parametrize("fit", FITS)
def test_the_fit_that_made_the_times_is_found(fit: Fit) -> None:
    assert fit_model(samples(a_machine(), fit), a_machine()) == fit


@pytest.mark.parametrize("fit", FITS)
def test_held_back_kernels_of_the_model_itself_are_predicted(fit: Fit) -> None:
    rows = tuple(held_back(samples(a_machine(), fit), a_machine()))
    errors = errors_of(rows)
    assert errors.model == pytest.approx(0, abs=1e-9)
    assert (errors.low, errors.high) == pytest.approx((1.0, 1.0))
    assert errors.wrong_order == () and errors.kernels == 16 and errors.labs == 4
    assert errors.roofline > 0.01 and errors.problem == ""


def test_a_held_back_lab_has_no_part_in_its_prediction() -> None:
    kernels = samples(a_machine(), Fit(2.0))
    slower = tuple(
        replace(one, seconds=5 * one.seconds) if one.lab == "lab-1" else one for one in kernels
    )
    before = [row.predicted for row in held_back(kernels, a_machine()) if row.lab == "lab-1"]
    after = [row.predicted for row in held_back(slower, a_machine()) if row.lab == "lab-1"]
    assert before == after


def a_row(lab: str, file: str, seconds: float, predicted: float, roofline: float) -> HeldBack:
    return HeldBack(lab, file, seconds, predicted, roofline, "dram")


def test_the_range_leaves_a_tenth_out_on_each_side_and_contains_1() -> None:
    rows = [a_row("lab", str(k), 1.0 + k / 10, 1.0, 0.5) for k in range(20)]
    errors = errors_of(rows)
    assert (errors.low, errors.high) == (1.0, pytest.approx(2.7))


GOOD = Errors(0.08, 0.25, 0.9, 1.2, (), 20, 5)
PROBLEMS = [
    (GOOD, ""),
    (replace(GOOD, model=MAX_ERROR + 0.01, roofline=0.9), "median error is 16%, more than 15%"),
    (replace(GOOD, roofline=0.15), "more than half of the roofline's, 15.0%"),
    (replace(GOOD, wrong_order=(("x a.cu", "x b.cu"),)), "predicts x a.cu to be slower than x b"),
    (replace(GOOD, kernels=9), "from 9 kernels of 5 labs only"),
    (replace(GOOD, labs=2), "from 20 kernels of 2 labs only"),
]


@pytest.mark.parametrize(("errors", "why"), PROBLEMS)
def test_estimates_are_shown_only_where_they_beat_the_roofline_by_half(
    errors: Errors, why: str
) -> None:
    assert (errors.problem == "") is (why == "")
    assert why in errors.problem


ORDERS = [
    ((1.0, 2.0), (1.1, 1.9), False),
    ((1.0, 2.0), (2.1, 1.9), True),
    ((2.0, 1.0), (1.9, 2.1), True),
    ((1.0, 1.1), (2.1, 1.9), False),
]


@pytest.mark.parametrize(("measured", "predicted", "wrong"), ORDERS)
def test_the_order_within_a_lab_has_to_be_right(
    measured: tuple[float, float], predicted: tuple[float, float], wrong: bool
) -> None:
    both = zip("ab", measured, predicted, strict=True)
    rows = [a_row("lab", file, seconds, said, 1.0) for file, seconds, said in both]
    assert bool(errors_of(rows).wrong_order) is wrong
    apart = [replace(row, lab=row.file) for row in rows]
    assert errors_of(apart).wrong_order == ()


def test_the_table_has_the_roofline_beside_the_model() -> None:
    rows = [a_row("lab", "solution-with-a-long-name-indeed.cu", 2e-4, 1.8e-4, 1e-4)] * 2
    lines = list(error_lines(rows))
    assert max(map(len, lines)) <= 80
    assert lines[1].split()[-6:] == ["us", "-10", "%", "-50", "%", "dram"]
    assert lines[3] == "  median error: model 10.0%, roofline 50.0% (2 kernels of 1 labs)"
    assert lines[-1].startswith("  not shown: its error is known from 2 kernels")
