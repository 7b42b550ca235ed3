"""From a lab's speed check to measurements: the plan, the repetition, and faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import grader.grading.pipeline as flow
import grader.grading.timing as timed_module
from grader.checks.result import Evidence
from grader.checks.speed import Options
from grader.checks.suite import evaluate_all, make_check, plan
from grader.faults import LabFault, MachineFault
from grader.feedback.grade import grade
from grader.gpu.speedup import Pair, Timing, TimingPlan, estimate
from grader.grading.cases import RunOptions
from grader.grading.timing import (
    clock_range,
    timing_plan,
    timing_samples,
    timings_from_samples,
    with_launches,
    with_timings,
)
from grader.labs.model import Band, Case, Lab
from grader.labs.reading import list_labs, load_lab
from grader.launch import Array, Finding
from grader.submissions.files import Submission, read_submission
from tests.checks.test_speed import H100, a_timing
from tests.made import a_case, a_lab, a_run, evidence, right_answer

ASKED = {"minimum": 1.25, "full": 1.5, "dims": {"n": 32}}
LAB = load_lab("tiled-matmul")


def small(**options: Any) -> Lab:
    """A real lab whose timed size is small, and no GPU of which was measured."""
    checks = tuple(
        replace(spec, options={**spec.options, "dims": {"n": 32}, **options})
        if spec.name == "speed"
        else spec
        for spec in LAB.checks
    )
    return replace(LAB, checks=checks, bands={})


@pytest.mark.parametrize(("limit", "due"), [(0.5, 5.0), (7.0, 7.0), (20.0, 10.0)])
def test_a_timed_launch_has_the_limit_that_is_asked_for(
    answers: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, limit: float, due: float
) -> None:
    lab = small(**ASKED)
    gpu = answers(a_timing(1.6, sigma=0.002))
    monkeypatch.setattr(timed_module, "simulate_sample", lambda *given: ())
    with_timings(shown(lab), plan(lab), RunOptions("gpu", limit=limit), H100)
    assert [one.limit for one in gpu.asked] == [due]


class Answers:
    """Stands for the GPU: gives made-up timings in turn, and keeps what it was asked."""

    def __init__(self, *given: Timing | Exception) -> None:
        self.given = list(given)
        self.asked: list[TimingPlan] = []

    def __call__(
        self, program: object, plan: TimingPlan, verify: Callable[..., str], ready: object
    ) -> Timing:
        self.asked.append(plan)
        given = self.given.pop(0)
        if isinstance(given, Exception):
            raise given
        return given


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Answers]]:
    def answer(*given: Timing | Exception) -> Answers:
        made = Answers(*given)
        monkeypatch.setattr(timed_module, "time_kernel", made)
        return made

    yield answer


def shown(lab: Lab, right: bool = True) -> Evidence:
    case = a_case()
    return evidence(a_run(case, right_answer(case) * (1 if right else -2)), lab=lab, backend="gpu")


def judged(lab: Lab, seen: Evidence, device: str = H100) -> tuple[Evidence, Any]:
    checks = plan(lab)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timed_module, "simulate_sample", lambda *given: ())  # the program is made up
        seen = with_timings(seen, checks, RunOptions("gpu"), device)
    return seen, {r.name: r for r in evaluate_all(checks, seen)}["speed"]


ATTEMPTS = [
    ((a_timing(1.4),), "pass", 1),
    ((a_timing(1.0),), "fail", 1),
    ((a_timing(1.25), a_timing(1.4)), "pass", 2),
    ((a_timing(1.25), a_timing(1.25, seed=5)), "pass", 2),
    ((a_timing(1.35, sigma=0.2), a_timing(1.0)), "fail", 2),
    ((a_timing(1.25, findings=(Finding("timeout", "error", "it never ends"),)),), "fail", 1),
    ((Timing(()),), "error", 1),
]


@pytest.mark.parametrize(("given", "status", "attempts"), ATTEMPTS)
def test_doubtful_measurement_is_repeated_once(
    answers: Callable[..., Answers], given: tuple[Timing, ...], status: str, attempts: int
) -> None:
    gpu = answers(*given)
    seen, speed = judged(small(minimum=1.25, full=1.5), shown(small(minimum=1.25, full=1.5)))
    assert (speed.status, len(seen.timings), len(gpu.asked)) == (status, attempts, attempts)


def test_a_wrong_kernel_is_not_timed(answers: Callable[..., Answers]) -> None:
    gpu = answers()
    _, speed = judged(small(), shown(small(), right=False))
    assert speed.status == "blocked"
    assert not gpu.asked


def test_a_lab_without_speed_is_not_timed(answers: Callable[..., Answers]) -> None:
    gpu = answers()
    lab = a_lab({"output": (40, {})})
    assert with_timings(shown(lab), plan(lab), RunOptions("gpu"), H100).timings == ()
    assert not gpu.asked


def test_system_error_while_timing_is_reported_and_costs_nothing(
    answers: Callable[..., Answers],
) -> None:
    answers(MachineFault("the GPU fell off the bus", fix="restart the machine"))
    _, speed = judged(small(), shown(small()))
    assert speed.status == "error"
    assert speed.summary == "the GPU fell off the bus; restart the machine"


def test_the_device_s_own_thresholds_are_in_the_plan(answers: Callable[..., Answers]) -> None:
    lab = replace(small(), bands={H100: Band(2.0, 3.0)})
    gpu = answers(a_timing(4.0), a_timing(4.0))
    judged(lab, shown(lab))
    judged(lab, shown(lab), device="Tesla T4")
    assert [(p.minimum, p.full) for p in gpu.asked] == [(2.0, 3.0), (1.25, 1.4)]


def test_no_two_measurements_have_the_same_inputs(answers: Callable[..., Answers]) -> None:
    gpu = answers(a_timing(4.0), a_timing(4.0))
    judged(small(), shown(small()))
    judged(small(), shown(small()))
    first, second = gpu.asked
    assert len(first.seed) == 16 and first.seed != second.seed


@pytest.mark.parametrize("name", list_labs())
def test_every_lab_s_timed_launch_can_be_prepared(name: str) -> None:
    """At a small size: shapes and geometry hold, and both kernels get the same arrays."""
    lab = load_lab(name)
    spec = next((spec for spec in lab.checks if spec.name == "speed"), None)
    if spec is None:
        assert not lab.bands, "thresholds of a speed that is not judged"
        return
    options = make_check(spec).options
    assert isinstance(options, Options) and options.dims
    most = {"n": 4096} if {"blocks", "block"} & set(options.dims) else {}
    dims = {k: most.get(k, v if k in ("tile", "block") else 256) for k, v in options.dims.items()}
    case = Case("timed", dims, options.kind)
    made = timing_plan(lab, case, options, Band(options.minimum, options.full), b"")
    own, base = made.launch, made.baseline_launch
    assert own.kernel == base.kernel == lab.kernels[0].name
    for mine, theirs in zip(own.args, base.args, strict=True):
        if isinstance(mine, Array) and isinstance(theirs, Array) and mine.data is not None:
            assert mine.data is theirs.data


def test_the_samples_give_the_same_ratio_again() -> None:
    timing = a_timing(1.4)
    kept = timing_samples((a_timing(1.25), timing))
    pairs = zip(kept["speed.2.baseline"], kept["speed.2.submission"], strict=True)
    assert estimate([b / s for b, s in pairs]) == estimate(timing.ratios)
    assert set(kept) == {
        f"speed.{n}.{what}" for n in (1, 2) for what in ("baseline", "submission", "throttled")
    }


def test_measurements_come_back_from_their_samples() -> None:
    throttled = replace(a_timing(1.25), pairs=(Pair(2e-3, 1e-3, True), Pair(2e-3, 1e-3)))
    given = (a_timing(1.5, device=H100), replace(throttled, device=H100))
    back = timings_from_samples(timing_samples(given), H100)
    assert [timing.pairs for timing in back] == [timing.pairs for timing in given]
    assert [timing.ratios for timing in back] == [timing.ratios for timing in given]
    assert timings_from_samples({}) == ()


@pytest.mark.parametrize(
    ("name", "values"), [("baseline", (1e-3,)), ("submission", (0.0, 1e-3)), ("throttled", ())]
)
def test_samples_that_are_no_pairs_are_refused(name: str, values: tuple[float, ...]) -> None:
    told = {**timing_samples((a_timing(1.25, pairs=2),)), f"speed.1.{name}": values}
    with pytest.raises(LabFault, match="not pairs of times"):
        timings_from_samples(told)


def test_recorded_times_are_judged_and_nothing_is_measured(
    answers: Callable[..., Answers],
) -> None:
    gpu = answers()
    given = (a_timing(1.1), a_timing(2.0))
    seen = with_timings(shown(small()), plan(small()), RunOptions("gpu"), H100, given)
    assert seen.timings == given and len(seen.sampled) == 1
    assert not gpu.asked


def test_clocks_are_the_extremes_of_all_that_was_seen() -> None:
    assert clock_range(()) is None
    assert clock_range((a_timing(1.4),)) is None
    seen = (replace(a_timing(1.4), clocks=(1980, 1750)), replace(a_timing(1.4), clocks=(1990,)))
    assert clock_range(seen) == {"sm_mhz_low": 1750, "sm_mhz_high": 1990}


def test_an_array_that_must_stay_as_it_is_has_to_be_one_of_the_kernel_s() -> None:
    case, due = Case("timed", {"n": 32}), Band(1, 2)
    asked = Options(minimum=1, full=2, dims={"n": 32}, fixed=("A",))
    assert timing_plan(LAB, case, asked, due, b"").fixed == ("A",)
    with pytest.raises(LabFault) as caught:
        timing_plan(LAB, case, replace(asked, fixed=("a",)), due, b"")
    assert caught.value.fix == "its arrays are A, B, C"


def test_launches_that_were_prepared_are_timed(
    answers: Callable[..., Answers], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = answers(a_timing(1.6, sigma=0.002))
    monkeypatch.setattr(timed_module, "simulate_sample", lambda *given: ())
    lab = small()
    with ThreadPoolExecutor(1) as background:
        options = with_launches(RunOptions("gpu"), lab, plan(lab), background)
        assert with_launches(RunOptions("sim"), lab, plan(lab), background).timed is None
        largest = small(dims={})
        assert with_launches(RunOptions("gpu"), largest, plan(largest), background).timed is None
    assert options.timed is not None
    with_timings(shown(lab), plan(lab), options, H100)
    (asked,) = gpu.asked
    assert (asked.launch, asked.baseline_launch) == options.timed.result()
    assert asked.launch is options.timed.result()[0]
    with_launches(RunOptions("gpu"), lab, (), background)  # no speed check: nothing is submitted


@pytest.fixture
def on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole flow, with the simulator's outputs in the place of the GPU's."""
    real = flow.run_cases

    def simulated(lab: Lab, program: Any, cases: Any, how: RunOptions) -> Any:
        return real(lab, program, cases, replace(how, on="sim"))

    monkeypatch.setattr(flow, "build_for", lambda on, program: program)
    monkeypatch.setattr(flow, "run_cases", simulated)


@pytest.mark.usefixtures("on_a_gpu")
def test_a_grade_on_a_gpu_has_the_points_of_speed_and_the_samples(
    answers: Callable[..., Answers],
) -> None:
    answers(a_timing(9.0))
    told: list[str] = []
    made = grade(
        small(),
        read_submission(LAB.solution),
        on="gpu",
        progress=lambda step, number, steps: told.append(f"{number}/{steps} {step}"),
    )
    speed = next(check for check in made.checks if check.name == "speed")
    assert (speed.status, speed.points) == ("pass", 15)
    assert made.score.points == made.score.max_score == made.score.judged_max
    assert len(made.provenance.samples["speed.1.submission"]) == 400
    assert told == ["1/4 compile", "2/4 run", "3/4 time", "4/4 check"]
    assert np.median(made.provenance.samples["speed.1.baseline"]) == pytest.approx(2e-3, rel=0.01)


@pytest.mark.usefixtures("on_a_gpu")
def test_a_race_at_the_timed_size_alone_is_seen(answers: Callable[..., Answers]) -> None:
    answers(a_timing(9.0))
    text = LAB.solution.read_text()
    barrier = text.rindex("__syncthreads();")
    spoilt = f"{text[:barrier]}if (n < 256) {text[barrier:]}"
    lab = small(dims={"n": 256})
    made = grade(lab, Submission("mine.cu", spoilt.encode(), "5e" * 32), on="gpu")
    found = {check.name: check for check in made.checks}
    assert found["output"].status == "pass"
    assert found["sync"].status == "fail"
    races = [f for f in found["sync"].findings if f.kind == "race"]
    assert races and all(f.cases == ("timed size",) for f in races)
    assert [case.name for case in made.cases] == [c.name for c in lab.cases[:5]]
