"""What a report says of a kernel's speed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from grader.checks.speed import Options, evaluate
from grader.grading.record import dumps, provenance_json
from grader.reports.text import grade_report, measurement_text, render, speed_lines
from tests.checks.test_speed import DIMS, a_timing, shown
from tests.made import a_grade, a_result

FLOP, BYTES = "2 * m * n * k", "4 * (m * k + k * n + m * n)"
OPTIONS = Options(minimum=1.25, full=1.5, dims=DIMS, flop=FLOP, bytes=BYTES)


def test_ratio_interval_times_and_peaks_are_shown() -> None:
    peaks = {"copy_bytes_per_second": 2.4e12, "fma_flop_per_second": 60e12}
    with_cublas = {**peaks, "cublas_flop_per_second": 42.9e12}
    verdict = evaluate(OPTIONS, shown(a_timing(1.6, sigma=0.0, peaks=with_cublas)))
    assert speed_lines(verdict.measurements) == [
        "1.600 times the baseline's speed (95 % interval 1.600 to 1.600, 400 pairs)",
        "1.25 ms per launch, baseline 2 ms",
        "1,718 GFLOP/s, 2.86 % of this GPU's measured FMA peak",
        "10.1 GB/s, 0.419 % of this GPU's measured copy bandwidth",
        "4 % of cuBLAS' speed at this size",
    ]


@pytest.mark.parametrize(("speedup", "result"), [(1.25, True), (1.4, False)])
def test_a_speed_that_needs_review_says_so(speedup: float, result: bool) -> None:
    verdict = evaluate(OPTIONS, shown(a_timing(speedup)))
    assert ("needs review" in " ".join(speed_lines(verdict.measurements))) == result


def test_rates_that_are_not_known_are_left_out() -> None:
    verdict = evaluate(Options(minimum=1, full=2), shown(a_timing(1.6, peaks={})))
    assert len(speed_lines(verdict.measurements)) == 2
    verdict = evaluate(OPTIONS, shown(a_timing(1.6, sigma=0.0, peaks={})))
    assert speed_lines(verdict.measurements)[2:] == ["1,718 GFLOP/s", "10.1 GB/s"]


def test_the_text_report_has_it_in_80_columns() -> None:
    verdict = evaluate(OPTIONS, shown(a_timing(1.1, sigma=0.0)))
    check = a_result(
        "speed",
        verdict.status,
        0,
        summary=verdict.summary,
        findings=verdict.findings,
        measurements=verdict.measurements,
    )
    text = render(grade_report(a_grade(check)))
    assert max(map(len, text.splitlines())) <= 80
    assert "too-slow: 1.81" in text
    result = " ".join(render(measurement_text((check,))[0]).split())
    assert result.startswith("speed: 1.100 times")
    assert "times the baseline's speed (95 % interval 1.1" in result
    assert "speedup_low" not in result


def test_json_is_strict_when_the_interval_has_no_end_yet() -> None:
    verdict = evaluate(OPTIONS, shown(a_timing(1.6, pairs=5)))
    check = a_result("speed", verdict.status, measurements=verdict.measurements)
    held = json.loads(dumps(a_grade(check).to_json()))
    assert held["checks"][0]["measurements"]["speedup_high"] is None
    assert held["checks"][0]["measurements"]["review"] == 1


def test_raw_samples_are_in_the_provenance() -> None:
    grade = a_grade(a_result("speed", "pass", 15))
    kept = replace(grade.provenance, samples={"speed.1.baseline": (1e-3, 2e-3)})
    assert provenance_json(kept)["samples"] == {"speed.1.baseline": [1e-3, 2e-3]}
