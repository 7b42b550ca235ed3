"""The speed check on prepared timings: what passes, what fails, what needs review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader.checks.result import Evidence, Verdict
from grader.checks.speed import Options, evaluate, format_duration
from grader.checks.suite import evaluate_all, plan
from grader.faults import LabFault
from grader.gpu.speedup import Pair, Timing
from grader.labs.model import Band
from grader.launch import Finding
from tests.made import RACE, a_case, a_lab, a_run, evidence

DIMS = {"m": 1024, "n": 1024, "k": 1024}
H100 = "NVIDIA H100 80GB HBM3"
BASELINE = 2e-3
PEAKS = {"copy_bytes_per_second": 2.4e12, "fma_flop_per_second": 60e12}
WRONG = Finding("wrong-output", "error", "timed launch 3 of 50 is wrong: C[0, 0] = 1, expected 2")
ASKED = {"minimum": 1.25, "full": 1.5, "dims": DIMS}


def a_timing(
    speedup: float, sigma: float = 0.01, pairs: int = 400, seed: int = 1, **more: Any
) -> Timing:
    """Pairs around one speedup; half of the noise is the baseline's, half the submission's."""
    noise = sigma / 2**0.5 * np.random.default_rng(seed).standard_normal((pairs, 2))
    made = tuple(
        Pair(float(BASELINE * np.exp(a)), float(BASELINE / speedup * np.exp(b))) for a, b in noise
    )
    given = {"device": H100, "peaks": PEAKS, "verified": pairs, **more}
    return Timing(made, 2e-6, **given)


def shown(*timings: Timing, findings: Sequence[Finding] = (), **more: Any) -> Evidence:
    run = a_run(a_case(), findings=tuple(findings))
    return evidence(run, backend="gpu", timings=timings, **more)


def judged(*timings: Timing, options: dict[str, Any] | None = None, **more: Any) -> Verdict:
    return evaluate(Options(**{**ASKED, **(options or {})}), shown(*timings, **more))


POINTS = [
    (1.0, "fail", 0.0),
    (1.22, "fail", 0.0),
    (1.275, "pass", 0.1),
    (1.375, "pass", 0.5),
    (1.47, "pass", 0.88),
    (1.53, "pass", 1.0),
    (9.0, "pass", 1.0),
]


@pytest.mark.parametrize(("speedup", "status", "share"), POINTS)
def test_points_grow_with_the_median_ratio(speedup: float, status: str, share: float) -> None:
    verdict = judged(a_timing(speedup))
    assert verdict.status == status
    assert verdict.share == pytest.approx(share, abs=0.01)
    assert verdict.measurements["speedup"] == pytest.approx(speedup, rel=0.002)
    assert "review" not in verdict.measurements


def test_too_slow_says_where_how_slow_and_what_would_be_enough() -> None:
    verdict = judged(a_timing(1.1, sigma=0.001))
    slow = verdict.findings[0]
    assert (slow.kind, slow.severity, slow.line, slow.file) == ("too-slow", "error", 2, "tiled.cu")
    assert slow.message == (
        "1.818 ms per launch, 1.100 (1.100 to 1.100) times the speed of the baseline (2 ms); "
        "1.25 times is required, 1.6 ms"
    )
    assert "1.5 times, 1.333 ms" in slow.hint
    assert (
        verdict.summary
        == "1.100 (1.100 to 1.100) times the baseline's speed; at least 1.25 is required"
    )


@pytest.mark.parametrize(
    ("speedup", "said"),
    [(1.6, "; 1.5 earns all points"), (1.3, "; points grow from 1.25 to 1.5")],
)
def test_the_summary_says_what_the_points_depend_on(speedup: float, said: str) -> None:
    assert judged(a_timing(speedup)).summary.endswith(said)


DOUBTFUL = [
    (1.25, 0.01, True, "either side of 1.25"),
    (1.24, 0.05, True, "either side of 1.25"),
    (1.4, 0.2, True, "one pair's speedup varies by"),
    (1.4, 0.01, False, ""),
    (1.5, 0.01, False, ""),
    (1.0, 0.08, False, ""),
    (4.0, 0.2, False, ""),
]


@pytest.mark.parametrize(("speedup", "sigma", "review", "said"), DOUBTFUL)
def test_doubtful_speedup_needs_review_and_is_not_rounded_up(
    speedup: float, sigma: float, review: bool, said: str
) -> None:
    first, last = a_timing(9.0), a_timing(speedup, sigma, seed=3)
    verdict = judged(first, last)
    assert verdict.measurements.get("review", 0.0) == review
    assert verdict.summary.endswith("needs review") == review
    notes = [f for f in verdict.findings if "measured 2 times" in f.message]
    assert [(f.kind, f.severity) for f in notes] == [("machine", "info")] * review
    assert all(said in f.message for f in notes)
    median = float(np.median(last.ratios))
    assert verdict.share == pytest.approx(min(max((median - 1.25) / 0.25, 0), 1))


def test_the_last_measurement_counts_alone() -> None:
    assert judged(a_timing(9.0), a_timing(1.0)).status == "fail"
    assert judged(a_timing(1.0), a_timing(9.0)).share == 1


WRONGS = [
    ("wrong-output", 0, (), "wrong-output", "right in the cases, wrong when timed: "),
    (
        "wrong-output",
        30,
        (),
        "cheat",
        "right in the cases and in 30 timed launches, but not in all: ",
    ),
    ("wrong-output", 30, (RACE,), "wrong-output", "right in the cases, wrong when timed: "),
    ("invalid-access", 30, (), "invalid-access", ""),
    ("timeout", 0, (), "timeout", ""),
]


@pytest.mark.parametrize(("kind", "verified", "seen", "due", "said"), WRONGS)
def test_a_wrong_timed_launch_fails_whatever_its_speed(
    kind: str, verified: int, seen: Sequence[Finding], due: str, said: str
) -> None:
    finding = replace(WRONG, kind=kind)
    timing = a_timing(9.0, findings=(finding,), verified=verified)
    verdict = judged(timing, findings=seen)
    assert (verdict.status, verdict.share) == ("fail", 0)
    assert [f.kind for f in verdict.findings] == [due]
    assert verdict.findings[0].message == said + finding.message
    assert verdict.summary == verdict.findings[0].message


def test_note_of_a_measurement_does_not_fail_the_check() -> None:
    note = replace(WRONG, kind="race", severity="info")
    assert judged(a_timing(9.0, findings=(note,))).status == "pass"


MACHINE = [
    ((), {"timing_error": "nvidia-smi has fallen; reboot"}, "nvidia-smi has fallen; reboot"),
    ((), {}, "the kernel was not timed"),
    ((Timing(()),), {}, "no pair of launches was timed; grade the submission again"),
]


@pytest.mark.parametrize(("timings", "more", "summary"), MACHINE)
def test_system_error_of_timing_costs_no_points(
    timings: tuple[Timing, ...], more: dict[str, Any], summary: str
) -> None:
    verdict = judged(*timings, **more)
    assert (verdict.status, verdict.summary) == ("error", summary)


BANDS = {H100: Band(2.0, 3.0)}


@pytest.mark.parametrize(("device", "status"), [(H100, "fail"), ("NVIDIA T4", "pass")])
def test_a_device_s_own_thresholds_come_first(device: str, status: str) -> None:
    lab = replace(a_lab({"speed": (15, ASKED)}), bands=BANDS)
    verdict = judged(a_timing(1.8, device=device), lab=lab)
    assert verdict.status == status
    strange = [f for f in verdict.findings if "were not measured on this device" in f.message]
    assert [f.severity for f in strange] == ["info"] * (device != H100)
    assert verdict.measurements["minimum"] == (2.0 if device == H100 else 1.25)


def test_throttled_pairs_do_not_count_and_are_reported() -> None:
    good = a_timing(1.6)
    slow = tuple(Pair(p.baseline, 3 * p.submission, throttled=True) for p in good.pairs[:300])
    verdict = judged(replace(good, pairs=slow + good.pairs[300:]))
    assert verdict.status == "pass" and verdict.share == 1
    assert verdict.measurements["pairs"] == 100
    assert any(
        "clock dropped in 300 of 400 pairs; these pairs do not" in f.message
        for f in verdict.findings
    )


def test_a_gpu_that_always_throttles_gives_a_verdict() -> None:
    good = a_timing(1.6)
    hot = replace(good, pairs=tuple(replace(p, throttled=True) for p in good.pairs))
    verdict = judged(hot)
    assert (verdict.status, verdict.share) == ("pass", 1)
    assert any("all pairs are counted" in f.message for f in verdict.findings)


def test_rates_are_held_against_the_measured_peaks() -> None:
    timing = a_timing(2.0, sigma=0, peaks={**PEAKS, "cublas_flop_per_second": 5e12})
    options = {"flop": "2 * m * n * k", "bytes": "4 * (m * k + k * n + m * n)", "cublas": True}
    measured = judged(timing, options=options).measurements
    assert measured["seconds"] == pytest.approx(1e-3)
    assert measured["baseline_seconds"] == pytest.approx(2e-3)
    assert measured["gflop_per_second"] == pytest.approx(2 * 1024**3 / 1e-3 / 1e9)
    assert measured["gbyte_per_second"] == pytest.approx(12 * 1024**2 / 1e-3 / 1e9)
    assert measured["percent_of_fma_peak"] == pytest.approx(100 * 2147.48 / 60e3, rel=1e-4)
    assert measured["percent_of_copy_bandwidth"] == pytest.approx(100 * 12.583 / 2400, rel=1e-3)
    assert measured["percent_of_cublas"] == pytest.approx(100 * 2147.48 / 5e3, rel=1e-4)


def test_rate_is_reported_only_where_the_lab_has_its_numbers() -> None:
    measured = judged(a_timing(2.0)).measurements
    assert not {name for name in measured if "percent" in name or "per_second" in name}


MISTAKES = [
    ({"full": 1.25}, "full (1.25) must be above minimum (1.25)"),
    ({"flop": "2 * x"}, "unknown name `x`"),
    ({"bytes": "4 *"}, "is not an arithmetic expression"),
    ({"cublas": True, "dims": {"width": 8}}, "cublas needs dims with n"),
    ({"budget": 0}, "greater than 0"),
    ({"minumum": 1}, "unknown option `minumum`"),
]


@pytest.mark.parametrize(("options", "said"), MISTAKES)
def test_invalid_options_are_reported_before_timing(options: dict[str, Any], said: str) -> None:
    with pytest.raises(LabFault) as caught:
        plan(a_lab({"speed": (15, {**ASKED, **options})}))
    assert said in caught.value.what
    assert caught.value.where.startswith("labs/tiled/lab.yaml:3")


@pytest.mark.parametrize(
    ("dims", "product"),
    [({"n": 8}, (8, 8, 8)), ({"m": 2, "n": 3, "k": 4}, (2, 3, 4)), ({"m": 2, "n": 3}, (2, 3, 3))],
)
def test_cublas_is_asked_for_the_lab_s_own_product(
    dims: dict[str, int], product: tuple[int, int, int]
) -> None:
    assert Options(minimum=1, full=2, dims=dims, cublas=True).product == product
    assert Options(minimum=1, full=2, dims=dims).product is None


def test_points_stand_in_the_grade() -> None:
    lab = a_lab({"output": (40, {}), "speed": (15, ASKED)})
    results = evaluate_all(plan(lab), shown(a_timing(1.375, sigma=0), lab=lab))
    assert [(r.name, r.status, r.points) for r in results][1] == ("speed", "pass", 7.5)


@pytest.mark.parametrize(
    ("seconds", "text"), [(8.312e-6, "8.312 us"), (9.99999e-4, "1000 us"), (1.2604e-3, "1.26 ms")]
)
def test_times_read_well(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
