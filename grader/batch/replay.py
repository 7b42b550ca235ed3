"""A recorded grade made again: the same flow, from the recorded source and seed.

Speed is never measured again unless that is asked for: its verdict is worked out from the times
in the record, which gives the same interval and the same points on any machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from grader.checks.result import Result
from grader.faults import LabFault, MachineFault, StudentFault
from grader.feedback.grade import grade
from grader.grading.cases import RunOptions
from grader.grading.pipeline import Progress, grade_unreadable, seed_id
from grader.grading.record import Grade, Provenance, check_json, total_score
from grader.grading.timing import timings_from_samples
from grader.labs.model import Lab
from grader.labs.quiz import AnswerSheet
from grader.reports.printable import clip, printable
from grader.reports.redact import redact
from grader.submissions.files import parse_submission

# Two grades of one submission side by side: everything that they say differently.

SPEED = "speed"
MAX_VALUE_CELLS = 60
"""Cells of a value that a difference shows."""

TOLERANCE = 1e-9
"""Relative: numbers closer than this are the same, whatever they have been through."""

PEAK_SHARE = "percent_of"
"""Measurements that are shares of a device's own peaks, which a record does not have."""

_NOTHING = object()


@dataclass(frozen=True)
class Difference:
    """One thing that is not as recorded: `what` as a path of keys, and both values in words."""

    what: str
    recorded: str
    now: str

    def __str__(self) -> str:
        return f"{self.what}: {self.recorded} in the record, {self.now} now"


def conditions(record: Provenance, made: Provenance) -> Iterator[Difference]:
    """What a verdict depends on beside the submission and the seed."""
    tools = sorted({*record.toolchain, *made.toolchain})
    yield from (
        Difference(name, old or "none", new or "none")
        for name, old, new in (
            ("lab (SHA-256 of its files)", record.lab_sha256, made.lab_sha256),
            ("grader version", record.grader_version, made.grader_version),
            *((f"toolchain: {n}", record.toolchain.get(n), made.toolchain.get(n)) for n in tools),
            ("device", record.device, made.device),
            ("driver", record.driver, made.driver),
        )
        if old != new
    )


def differences(record: Grade, made: Grade, *, timed_again: bool = False) -> Iterator[Difference]:
    """What the grades themselves say differently, in score, checks and cases. Of a speed that was
    measured anew, only the verdict has to be the same.
    """
    yield from _walk("", _compared_values(record, timed_again), _compared_values(made, timed_again))


def _compared_values(grade: Grade, timed_again: bool) -> Mapping[str, Any]:
    points, judged, most, _ = vars(grade.score).values()
    score = {"points": points, "judged_max": judged, "max_score": most}
    checks = [_check(check_json(check), timed_again) for check in grade.checks]
    told = {"backend": grade.backend, "checks": _by_name(checks)}
    told |= {"cases": _by_name(map(asdict, grade.cases))}
    return told if timed_again else {"score": score} | told


def _check(told: Mapping[str, Any], timed_again: bool) -> Mapping[str, Any]:
    if timed_again and told["name"] == SPEED:
        return {"name": SPEED, "status": told["status"]}
    kept = {n: v for n, v in told["measurements"].items() if not n.startswith(PEAK_SHARE)}
    return {**told, "measurements": kept}


def _by_name(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Rows by their names; of those with one name all are kept."""
    named: dict[str, Any] = {}
    for row in rows:
        name = str(row["name"])
        while name in named:
            name += " (again)"
        named[name] = {key: value for key, value in row.items() if key != "name"}
    return named


def _walk(path: str, old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            below = f"{path}.{key}" if path else str(key)
            yield from _walk(below, old.get(key, _NOTHING), new.get(key, _NOTHING))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, now) in enumerate(zip(old, new, strict=True), start=1):
            yield from _walk(f"{path}.{number}", before, now)
    elif not _same(old, new):
        yield Difference(printable(path), _value_text(old), _value_text(new))


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, float | int) and isinstance(new, float | int):
        both = math.isnan(old) and math.isnan(new)
        return both or math.isclose(old, new, rel_tol=TOLERANCE)
    return bool(old == new)


def _value_text(value: Any) -> str:
    """A value as a difference shows it; of what has parts, how many."""
    if value is _NOTHING:
        return "nothing"
    if isinstance(value, Mapping) and "status" in value:
        return str(value["status"])
    if isinstance(value, Sequence | Mapping) and not isinstance(value, str):
        return f"{len(value)} of them"
    if isinstance(value, float):
        return f"{value:.12g}"
    return (
        clip(printable(value if isinstance(value, str) else json.dumps(value)), MAX_VALUE_CELLS)
        or "nothing"
    )


TOOL_CHECKS = ("sanitizer", "profile")
"""Checks beside a lab's own, worth no points, that the toolkit's tools on a GPU have made."""

_ALIAS = re.compile(r"hidden-\d+")


@dataclass(frozen=True)
class ReplayInputs:
    """What a grade is made again of: the submission's bytes, the answers handed in beside them,
    and the seed that the inputs are drawn from.
    """

    data: bytes
    answers: AnswerSheet | None = None
    seed: bytes = b""


@dataclass(frozen=True)
class Replay:
    """What came of it. `unlike` are conditions of the grade that are not met here: where the
    source or the seed is another, nothing was graded and `made` is None. `verdict` is what the
    grades say differently; `notes` tell what was taken from the record as it is.
    """

    changed_conditions: tuple[Difference, ...] = ()
    verdict: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    made: Grade | None = None

    @property
    def is_same(self) -> bool:
        """Whether the same was seen again under the same conditions."""
        return self.made is not None and not self.changed_conditions and not self.verdict


def replay(
    lab: Lab,
    record: Grade,
    given: ReplayInputs,
    how: RunOptions,
    *,
    again: bool = False,
    progress: Progress = lambda step, number, steps: None,
) -> Replay:
    """The record's grade made again and compared with it.

    `how` says what runs the cases; its seed is not looked at. Times are judged as recorded; with
    `again` they are measured anew, on a GPU. Raises LabFault where the record holds no verdict,
    since the machine had failed, or times that are none; MachineFault where it fails now.
    """
    if record.score.status == "incomplete":
        what = "the grade is incomplete: the machine had failed, there is no verdict to replay"
        raise LabFault(what, fix="grade the submission again")
    if unlike := tuple(_other_inputs(record, given)):
        return Replay(unlike)
    made = _graded(lab, record, given, how, again=again, progress=progress)
    trusted = tuple(_kept_checks(record, again=again))
    made = _with_checks(made, trusted)
    if made.score.status == "incomplete":
        why = next((check.summary for check in made.checks if check.status == "error"), "")
        raise MachineFault(f"the grade could not be made again: {why}", fix="try it again")
    notes = tuple(f"{check.name} is as recorded: {_reason(check)}" for check in trusted)
    seen = redact(made) if is_redacted(record) else made
    return Replay(
        tuple(conditions(record.provenance, made.provenance)),
        tuple(differences(record, seen, timed_again=again)),
        notes,
        made,
    )


def is_redacted(record: Grade) -> bool:
    """Whether it is a student's copy, in which hidden cases have lost their names and sizes."""
    hidden = [case for case in record.cases if case.visibility == "hidden"]
    return bool(hidden) and all(_ALIAS.fullmatch(c.name) and not c.size for c in hidden)


def _other_inputs(record: Grade, given: ReplayInputs) -> Iterator[Difference]:
    digest = hashlib.sha256(given.data).hexdigest()
    if record.submission_sha256 and digest != record.submission_sha256:
        yield Difference("source (SHA-256)", record.submission_sha256, digest)
    seed = seed_id(given.seed)
    if seed != record.provenance.seed:
        yield Difference("seed (an identifier)", record.provenance.seed, seed)


def _graded(
    lab: Lab,
    record: Grade,
    given: ReplayInputs,
    how: RunOptions,
    *,
    again: bool,
    progress: Progress,
) -> Grade:
    on: Literal["sim", "gpu"] = "gpu" if record.backend == "gpu" else "sim"
    try:
        submission = parse_submission(given.data, record.file)
    except StudentFault as fault:
        return grade_unreadable(lab, record.file, fault, on=on, answers=given.answers)
    device = record.provenance.device or ""
    judged = on == "gpu" and not again
    return grade(
        lab,
        submission,
        on=how.on,
        visibility="all" if any(c.visibility == "hidden" for c in record.cases) else "public",
        seed=given.seed,
        threads=how.threads,
        limit=how.limit,
        answers=given.answers,
        recorded=timings_from_samples(record.provenance.samples, device) if judged else None,
        progress=progress,
    )


def _kept_checks(record: Grade, *, again: bool) -> Iterator[Result]:
    """The recorded checks that no replay can make again: what went wrong in a timed launch, and
    what the toolkit's own tools said. They are worth nothing.
    """
    for check in record.checks:
        if check.name in TOOL_CHECKS:
            yield replace(check, points=0.0, max_points=0.0)
        if check.name == SPEED and check.status == "fail" and _reason(check) and not again:
            yield replace(check, points=0.0)


def _reason(check: Result) -> str:
    """The sort of thing that a check saw, which a replay does not."""
    if check.name != SPEED:
        return "the toolkit's tools said so, for no points"
    errors = [f.kind for f in check.findings if f.severity == "error" and f.kind != "too-slow"]
    return f"{errors[0]} in a timed launch" if errors else ""


def _with_checks(made: Grade, trusted: tuple[Result, ...]) -> Grade:
    """The grade with those checks in the place of its own of that name, and its score."""
    held = {check.name: check for check in trusted}
    checks = [
        replace(held.pop(check.name), max_points=check.max_points) if check.name in held else check
        for check in made.checks
    ]
    checks += held.values()
    return replace(made, checks=tuple(checks), score=total_score(checks))
