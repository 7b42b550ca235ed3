"""`grader check` shows an estimate where a machine file allows it, and nothing elsewhere."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from threading import Event, current_thread, main_thread

import pytest

from grader.authoring.content import write_bundle
from grader.cli.check import AHEAD_SECONDS, Ahead, grade_file
from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.faults import MachineFault
from grader.grading.cases import RunOptions
from grader.grading.cost import TimeEstimate
from grader.grading.estimate import kernel
from grader.grading.estimate.fit import Sample
from grader.grading.estimate.kernel import (
    NoWork,
    baseline_key,
    count_work,
    estimate_submission,
    estimates_of,
    timed_launch,
)
from grader.grading.estimate.machine import file_name, file_text, known_machines, read_machine
from grader.grading.estimate.model import Fit
from grader.grading.record import Grade
from grader.labs.cases import prepare_launches
from grader.labs.model import Case, Lab
from grader.labs.reading import load_lab
from grader.launch import Launch
from grader.reports.text import estimate_line
from grader.sandbox import call
from grader.sandbox.process import Child
from grader.simulator.workload import Work
from grader.submissions.files import parse_submission
from tests.command import ROOT, grader
from tests.grading.estimate.made import NAME, a_file, a_machine, samples, works
from tests.patience import PATIENCE

SOLUTION = ROOT / "solutions" / "tiled-matmul" / "tiled-matmul.cu"
BASELINE = 5e-4
"""Seconds of the baseline in the machine file."""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with tiled-matmul, timed at a small size."""
    folder = tmp_path / "labs" / "tiled-matmul"
    shutil.copytree(ROOT / "labs" / "tiled-matmul", folder)
    text = (folder / "lab.yaml").read_text()
    assert "dims: {n: 1024}" in text
    (folder / "lab.yaml").write_text(text.replace("dims: {n: 1024}", "dims: {n: 128}"))
    return tmp_path


def lab_of(course: Path) -> tuple[Lab, Case]:
    lab = load_lab("tiled-matmul", (course / "labs",))
    case = timed_launch(lab)
    assert case is not None
    return lab, case


def write_machine(course: Path, *, noise: float = 1.0) -> None:
    """Write a machine file; with `noise`, every second kernel takes so much longer."""
    lab, case = lab_of(course)
    kernels = [
        replace(one, seconds=one.seconds * (noise if k % 2 else 1.0))
        for k, one in enumerate(samples(a_machine(), Fit(2.0, 1.0)))
    ]
    kernels.append(Sample(lab.name, "baseline.cu", BASELINE, works(1, 3)[0]))
    content = a_file(tuple(kernels), {lab.name: baseline_key(lab, case)})
    (course / "machines").mkdir(exist_ok=True)
    (course / "machines" / file_name(NAME)).write_text(file_text(content))


def check(course: Path, file: Path = SOLUTION) -> tuple[str, dict[str, object]]:
    made = course / "grade.json"
    words = ("check", "tiled-matmul", str(file), "--on", "sim")
    said = grader(*words, "--course", str(course), "--json", str(made))
    assert said.code in (0, 1), said.err
    return said.out, json.loads(made.read_text())


def test_a_check_shows_the_range_and_the_limit_and_no_points(course: Path) -> None:
    before, plain = check(course)
    assert f"estimate for {NAME}" not in before  # the machines of the package are shown
    plain.pop("estimates", None)
    write_machine(course)
    out, grade = check(course)
    (one,) = grade.pop("estimates")  # type: ignore[misc]
    assert one["device"] == NAME and 0 < one["low"] <= one["high"]
    assert one["speedup_low"] == pytest.approx(BASELINE / one["high"])
    assert one["speedup_high"] == pytest.approx(BASELINE / one["low"])
    text = " ".join(out.split())
    assert f"estimate for {NAME}: " in text
    assert f"limited by {one['limit']}. Not measured, no points" in text
    for grades in (plain, grade):
        grades.pop("provenance")
    assert grade == plain


def test_wrong_output_is_not_estimated(course: Path, tmp_path: Path) -> None:
    write_machine(course)
    wrong = tmp_path / "wrong.cu"
    wrong.write_text(SOLUTION.read_text().replace("sum +=", "sum -="))
    out, grade = check(course, wrong)
    assert grade["score"] != grade["judged_max"]
    assert "estimates" not in grade and "estimate for" not in out


def test_nothing_is_shown_where_the_model_is_not_good_enough(course: Path) -> None:
    write_machine(course, noise=3.0)
    lab, _ = lab_of(course)
    assert lab.machine_files and not list(known_machines(lab))
    assert "estimates" not in check(course)[1]


def test_no_speedup_over_a_baseline_that_was_not_measured(course: Path) -> None:
    write_machine(course)
    lab, case = lab_of(course)
    lab.baseline.write_text(lab.baseline.read_text() + "\n")
    (known,) = known_machines(lab)
    (one,) = estimates_of(works(1, 5)[0], [known], lab, case)
    assert (one.speedup_low, one.speedup_high) == (None, None)
    assert "baseline" not in estimate_line(one)


def test_a_package_has_the_machine_without_the_work_of_solutions(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(SOLUTION.parent, course / "solutions" / "tiled-matmul")
    write_machine(course)
    monkeypatch.setenv("WARPGRADE_LABS", str(course / "labs"))
    write_bundle(tmp_path / "content", [], lambda name: None)
    lab = load_lab("tiled-matmul", (tmp_path / "content" / "labs",))
    (path,) = lab.machine_files
    assert path.parent == tmp_path / "content" / "machines"
    assert [kernel.file for kernel in read_machine(path).kernels] == ["baseline.cu"]
    (bundled,), (known,) = known_machines(lab), known_machines(lab_of(course)[0])
    assert bundled == known


def test_a_grade_stands_where_this_machine_cannot_estimate(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_machine(course)
    lab, _ = lab_of(course)
    text = SOLUTION.read_text() + "// a text that no cache knows\n__device__ int unknown;\n"
    submission = parse_submission(text.encode(), "mine.cu")
    assert len(estimate_submission(lab, submission, RunOptions("sim", threads=1))) == 1

    def fails(*given: object, **more: object) -> None:
        raise MachineFault("no process can be started")

    monkeypatch.setattr(kernel, "run_sandboxed", fails)
    options = RunOptions("sim", threads=1)
    assert len(estimate_submission(lab, submission, options)) == 1, "the work is kept"
    assert estimate_submission(lab, submission, replace(options, seed=b"other")) == ()


def graded_ahead(course: Path, text: str) -> Grade:
    """Grade a text as `grader check` does, with what it does while the text runs."""
    file, (lab, _) = course / "mine.cu", lab_of(course)
    file.write_text(text)
    options = RunOptions("sim", threads=1)
    ahead = Ahead(lab, options)
    grade = grade_file(lab, file, options, quiet=True, while_running=ahead.begin)
    return ahead.with_estimates(grade)


def test_nothing_begins_before_the_submission_runs(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads take turns: what begins earlier delays the start of the submission's launches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(course / "cache"))  # so that it has to be compiled
    file, (lab, _) = course / "mine.cu", lab_of(course)
    file.write_text(SOLUTION.read_text())
    events: list[str] = []
    start = call.start_forked

    def starts(child: Child) -> None:
        start(child)
        if current_thread() is main_thread():
            events.append("child")

    monkeypatch.setattr(call, "start_forked", starts)
    grade_file(
        lab, file, RunOptions("sim", threads=1), quiet=True,
        while_running=lambda submission: events.append("begun"),
    )  # fmt: skip
    assert events[:3] == ["child", "child", "begun"], "it is compiled, and runs"
    assert events.count("begun") == 1


@pytest.mark.parametrize("fits", [True, False], ids=["fits", "does not fit"])
def test_work_is_counted_while_the_submission_runs(
    course: Path, monkeypatch: pytest.MonkeyPatch, fits: bool
) -> None:
    write_machine(course)
    begun: list[tuple[bool, float]] = []

    def counts(program: Program, launch: Launch, options: RunOptions) -> Work:
        begun.append((current_thread() is main_thread(), options.limit))
        if not fits and options.limit == AHEAD_SECONDS:
            raise NoWork("it takes too long")
        return count_work(program, launch, options)

    monkeypatch.setattr(kernel, "count_work", counts)
    text = SOLUTION.read_text() + f"__device__ int counted_ahead_{fits};\n"
    assert len(graded_ahead(course, text).estimates) == 1
    assert begun == [(False, AHEAD_SECONDS), (True, RunOptions("sim").limit)][: 2 - fits]


def test_a_wrong_submission_does_not_wait_for_its_estimate(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_machine(course)
    ended, begun = Event(), Event()

    def waits(*given: object) -> Work:
        begun.set()
        ended.wait(PATIENCE)
        raise NoWork("the test has ended")

    monkeypatch.setattr(kernel, "count_work", waits)
    wrong = SOLUTION.read_text().replace("sum = 0.0f", "sum = 1.0f")
    try:
        grade = graded_ahead(course, wrong)
        assert begun.wait(PATIENCE) and not ended.is_set() and grade.estimates == ()
    finally:
        ended.set()


TIMES = [
    (2.44e-4, 3.06e-4, "240 to 310 us"),
    (9.84e-4, 1.26e-3, "0.98 to 1.3 ms"),
    (1e-4, 1.001e-4, "about 100 us"),
    (0.2804, 0.3, "280 to 300 ms"),
]


@pytest.mark.parametrize(("low", "high", "text"), TIMES)
def test_a_range_is_written_with_two_digits(low: float, high: float, text: str) -> None:
    line = estimate_line(TimeEstimate(NAME, low, high, "latency", 0.084, 12.3, 123.0))
    assert line.startswith(f"estimate for {NAME}: {text}, 12 to 120 times the baseline's speed; ")
    assert line.endswith("the model's median error on other kernels is 8 %")


def test_a_broken_machine_file_is_reported(course: Path) -> None:
    (course / "machines").mkdir()
    (course / "machines" / "x.yaml").write_text("device: x\n")
    said = grader("check", "tiled-matmul", str(SOLUTION), "--on", "sim", "--course", str(course))
    assert said.code == 2 and "x.yaml" in said.err and "not a machine file" in said.err


def test_work_is_counted_in_a_sandbox_at_the_timed_size(course: Path) -> None:
    lab, case = lab_of(course)
    launch, _ = prepare_launches(lab, case, b"")
    program = compile_source(SOLUTION.read_bytes(), SOLUTION.name)
    work = count_work(program, launch, RunOptions("sim", threads=1))
    assert work.blocks == 64 and work.executed["fma32"] == 128**3 / 32
    with pytest.raises(NoWork, match="too large"):
        count_work(program, replace(launch, kernel="none"), RunOptions("sim", threads=1))


def test_a_lab_without_a_timed_size_is_not_estimated() -> None:
    assert timed_launch(load_lab("vector-add")) is None


def test_the_repository_shows_no_estimate_that_was_not_measured() -> None:
    lab = load_lab("tiled-matmul")
    assert all(path.parent == ROOT / "machines" for path in lab.machine_files)
