"""Real grades made again from their records."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.batch.replay import Replay, ReplayInputs, is_redacted, replay
from grader.checks.result import Result
from grader.faults import LabFault, StudentFault
from grader.feedback.grade import grade
from grader.grading.cases import RunOptions
from grader.grading.pipeline import grade_unreadable
from grader.grading.record import Grade, dumps, grade_from_json, total_score
from grader.labs.reading import load_lab
from grader.reports.redact import redact
from grader.submissions.files import parse_submission, read_submission
from tests.checks.test_speed import H100, a_timing
from tests.made import RACE

LAB = load_lab("vector-add")
TIMED = load_lab("tiled-matmul")
SEED = b"of the course"
HOW = RunOptions("sim", threads=1)
RIGHT = TIMED.solution
WRONG = LAB.solution.parent / "wrong" / "invalid-access-no-guard.cu"


def recorded(grade: Grade) -> Grade:
    """As it comes back from its file."""
    return grade_from_json(json.loads(dumps(grade.to_json())))


@pytest.fixture(scope="module")
def wrong() -> Grade:
    """A submission that falls short, on all cases of the course."""
    made = grade(LAB, read_submission(WRONG), visibility="all", seed=SEED, threads=1)
    return recorded(made)


@pytest.fixture(scope="module")
def timed() -> Grade:
    """A right and fast one; the measurement is made up, and so is the device that it is of."""
    first, last = a_timing(2.0, seed=7), a_timing(1.3, sigma=0.03, device=H100)
    made = grade(TIMED, read_submission(RIGHT), threads=1, recorded=[first, last])
    return recorded(replace(made, provenance=replace(made.provenance, device=H100)))


def again(record: Grade, file: Path, seed: bytes = b"") -> Replay:
    lab = TIMED if record.lab == TIMED.name else LAB
    return replay(lab, record, ReplayInputs(file.read_bytes(), seed=seed), HOW)


def whats(observed: Replay) -> list[str]:
    return [difference.what for difference in observed.verdict]


def test_an_unchanged_grade_is_reproduced(wrong: Grade) -> None:
    observed = again(wrong, WRONG, SEED)
    assert (observed.changed_conditions, observed.verdict, observed.notes) == ((), (), ())
    assert observed.is_same and observed.made is not None
    assert observed.made.checks == wrong.checks
    assert observed.made.lines == wrong.lines != ()


def test_more_threads_change_nothing(wrong: Grade) -> None:
    data = ReplayInputs(WRONG.read_bytes(), seed=SEED)
    assert replay(LAB, wrong, data, RunOptions("sim", threads=4)).is_same


def test_another_source_is_not_graded_at_all(wrong: Grade, tmp_path: Path) -> None:
    other = tmp_path / WRONG.name
    other.write_bytes(WRONG.read_bytes() + b"\n")
    observed = again(wrong, other, SEED)
    assert observed.made is None and not observed.is_same
    assert [difference.what for difference in observed.changed_conditions] == ["source (SHA-256)"]


@pytest.mark.parametrize("seed", [b"", b"another"])
def test_another_seed_is_not_graded_at_all(seed: bytes, wrong: Grade) -> None:
    observed = again(wrong, WRONG, seed)
    assert observed.made is None and not observed.is_same
    assert [difference.what for difference in observed.changed_conditions] == [
        "seed (an identifier)"
    ]
    assert SEED.hex() not in str(observed.changed_conditions[0])


def test_edited_points_and_another_version_are_reported(wrong: Grade) -> None:
    checks = tuple(
        replace(c, points=c.max_points) if c.name == "memory" else c for c in wrong.checks
    )
    made = replace(wrong.provenance, grader_version="0.0.1")
    observed = again(replace(wrong, checks=checks, provenance=made), WRONG, SEED)
    assert whats(observed) == ["checks.memory.points"]
    assert [str(u) for u in observed.changed_conditions] == [
        "grader version: 0.0.1 in the record, 0.1.0 now"
    ]
    assert not observed.is_same


def test_a_students_copy_can_be_replayed(wrong: Grade) -> None:
    copy = recorded(redact(wrong))
    assert is_redacted(copy) and not is_redacted(wrong)
    assert again(copy, WRONG, SEED).is_same
    forged = replace(copy, score=replace(copy.score, points=85.0))
    assert whats(again(forged, WRONG, SEED)) == ["score.points"]


def test_speed_is_evaluated_from_the_recorded_times(timed: Grade) -> None:
    """Here without a GPU: the device is another, the interval and the points are the same."""
    observed = again(timed, RIGHT)
    assert observed.verdict == ()
    assert [difference.what for difference in observed.changed_conditions] == ["device"]
    assert observed.made is not None
    made, expected = speed_of(observed.made), speed_of(timed)
    assert (made.status, made.points, made.summary) == (
        expected.status,
        expected.points,
        expected.summary,
    )
    unknown = set(expected.measurements) - set(made.measurements)
    assert all(name.startswith("percent_of") for name in unknown), "the device's own peaks"
    assert {n: expected.measurements[n] for n in made.measurements} == made.measurements
    assert speed_of(timed).measurements["speedup"] == pytest.approx(1.3, rel=0.01)
    assert observed.made.provenance.samples == timed.provenance.samples


def speed_of(grade: Grade) -> Result:
    return next(check for check in grade.checks if check.name == "speed")


BASE = "speed.2.baseline"
Spoil = Callable[[dict[str, tuple[float, ...]]], Any]
SPOILT: list[tuple[str, Spoil]] = [
    ("twice as fast", lambda s: s.update({BASE: tuple(v / 2 for v in s[BASE])})),
    ("one measurement less", lambda s: [s.pop(name) for name in list(s) if ".2." in name]),
]


@pytest.mark.parametrize("spoil", [spoil for _, spoil in SPOILT], ids=[name for name, _ in SPOILT])
def test_an_edited_sample_is_reported(spoil: Spoil, timed: Grade) -> None:
    samples = dict(timed.provenance.samples)
    spoil(samples)
    observed = again(replace(timed, provenance=replace(timed.provenance, samples=samples)), RIGHT)
    found = whats(observed)
    assert "checks.speed.measurements.speedup_low" in found
    assert all(what.startswith(("checks.speed", "score.")) for what in found)


def test_an_edited_interval_is_reported(timed: Grade) -> None:
    speed = speed_of(timed)
    forged = replace(speed, points=15.0, measurements={**speed.measurements, "speedup": 1.9})
    checks = tuple(forged if check.name == "speed" else check for check in timed.checks)
    observed = again(replace(timed, checks=checks), RIGHT)
    assert whats(observed) == ["checks.speed.points", "checks.speed.measurements.speedup"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s.update({"speed.1.baseline": ()}),
        lambda s: s.update({"speed.1.submission": (0.0, *s["speed.1.submission"][1:])}),
        lambda s: s.pop("speed.2.throttled"),
    ],
)
def test_invalid_samples_are_rejected(spoil: Spoil, timed: Grade) -> None:
    samples = dict(timed.provenance.samples)
    spoil(samples)
    with pytest.raises(LabFault, match="not pairs of times"):
        again(replace(timed, provenance=replace(timed.provenance, samples=samples)), RIGHT)


def test_errors_of_a_timed_launch_are_copied_without_points(timed: Grade) -> None:
    speed = speed_of(timed)
    cheat = replace(RACE, kind="cheat", message="a result kept from an earlier launch")
    failed = replace(speed, status="fail", points=0.0, findings=(cheat,), summary="cheat")
    honest = with_speed(timed, failed)
    observed = again(honest, RIGHT)
    assert observed.verdict == ()
    assert observed.notes == ("speed is as recorded: cheat in a timed launch",)
    forged = with_speed(timed, replace(failed, points=15.0))
    assert whats(again(forged, RIGHT)) == ["score.points", "checks.speed.points"]


def with_speed(record: Grade, speed: Result) -> Grade:
    checks = tuple(speed if check.name == "speed" else check for check in record.checks)
    return replace(record, checks=checks, score=total_score(checks))


def test_an_incomplete_grade_has_no_verdict_to_replay(wrong: Grade) -> None:
    failed = replace(wrong, score=replace(wrong.score, status="incomplete"))
    with pytest.raises(LabFault, match="incomplete"):
        again(failed, WRONG, SEED)


def test_unreadable_and_uncompilable_sources_are_reproduced(tmp_path: Path) -> None:
    broken = tmp_path / "broken.cu"
    broken.write_bytes(WRONG.read_bytes().replace(b";", b" oops;", 1))
    record = recorded(grade(LAB, read_submission(broken), threads=1))
    assert record.checks[0].status == "fail" and again(record, broken).is_same
    binary = tmp_path / "binary.cu"
    binary.write_bytes(b"\0\xff")
    with pytest.raises(StudentFault) as fault:
        parse_submission(binary.read_bytes(), binary.name)
    assert again(recorded(grade_unreadable(LAB, binary.name, fault.value)), binary).is_same
