"""Reproduce a recorded grade from its source and seed, and compare the two.

Speed is measured again only on request. Otherwise its verdict is computed from the recorded times,
which gives the same interval and the same points on any machine.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, TypeVar

from grader import dataclass, regex, replace
from grader.checks.result import Result, Verdict
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

_Verdict = TypeVar("_Verdict", Result, Verdict)

SPEED = "speed"
MAX_VALUE_CELLS = 60
"""Maximum length of a value in a difference, in cells."""

TOLERANCE = 1e-9
"""Relative difference below which two numbers count as equal."""

PEAK_SHARE = "percent_of"
"""The prefix of measurements relative to a device's peaks, which a record does not have."""

TOOL_CHECKS = ("sanitizer", "profile")
"""Checks made by the CUDA toolkit's tools on a GPU, worth no points and not part of a lab."""

_ALIAS = regex(r"hidden-\d+")
_NOTHING = object()


@dataclass(frozen=True)
class Difference:
    """One difference from the record: its path of keys, and both values as text."""

    what: str
    recorded: str
    now: str

    def __str__(self) -> str:
        return f"{self.what}: {self.recorded} in the record, {self.now} now"


def conditions(record: Provenance, made: Provenance) -> Iterator[Difference]:
    """Yield the changed conditions of a verdict, other than the submission and the seed."""
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
    """Yield the differences in score, checks and cases.

    With `timed_again`, only the verdict of the speed check must be equal. Where a machine's fault
    cut the explanation of the record short, hints and origins of findings are not compared.
    """
    if record.explanation.failure:
        record, made = map(_unexplained, (record, made))
    values = [_compared_values(grade, timed_again) for grade in (record, made)]
    yield from _walk("", *values)


def _unexplained(grade: Grade) -> Grade:
    """Return a grade whose findings have no hints and no origins, which searches add."""

    def bare(verdict: _Verdict) -> _Verdict:
        findings = tuple(replace(finding, hint="", origins=()) for finding in verdict.findings)
        return replace(verdict, findings=findings)

    checks = (replace(bare(c), public=c.public and bare(c.public)) for c in grade.checks)
    return replace(grade, checks=tuple(checks))


def _compared_values(grade: Grade, timed_again: bool) -> Mapping[str, Any]:
    points, judged_max, most, _ = vars(grade.score).values()
    score = {"points": points, "judged_max": judged_max, "max_score": most}
    checks = [_check(check_json(check), timed_again) for check in grade.checks]
    values = {"backend": grade.backend, "checks": _by_name(checks)}
    values |= {"cases": _by_name(map(asdict, grade.cases))}
    return values if timed_again else {"score": score} | values


def _check(values: Mapping[str, Any], timed_again: bool) -> Mapping[str, Any]:
    if timed_again and values["name"] == SPEED:
        return {"name": SPEED, "status": values["status"]}
    kept = {n: v for n, v in values["measurements"].items() if not n.startswith(PEAK_SHARE)}
    return {**values, "measurements": kept}


def _by_name(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Index rows by name; rows with the same name are all kept."""
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
    """Return a value as text; for a collection, its size."""
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


@dataclass(frozen=True)
class ReplayInputs:
    """The inputs of a replay: the submission's bytes, its quiz answers, and the seed."""

    data: bytes
    answers: AnswerSheet | None = None
    seed: bytes = b""


@dataclass(frozen=True)
class Replay:
    """The result of a replay.

    Attributes:
        changed_conditions: Conditions that differ from the record's.
        verdict: The differences between the two grades.
        notes: What was copied from the record.
        made: The new grade; None when the source or the seed differs, so that nothing was graded.
    """

    changed_conditions: tuple[Difference, ...] = ()
    verdict: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    made: Grade | None = None

    @property
    def is_same(self) -> bool:
        """Whether the grade is equal under equal conditions."""
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
    """Grade the submission again and compare the grade with the record.

    Args:
        lab: The lab.
        record: The recorded grade.
        given: The inputs.
        how: The options of the run; its seed is not used.
        again: Measure times again, on a GPU; otherwise evaluate the recorded ones.
        progress: Called at each step.

    Raises:
        LabFault: The record is incomplete because of a system error, or its times are invalid.
        MachineFault: The machine fails now.
    """
    if record.score.status == "incomplete":
        what = "the grade is incomplete because of a system error: it has no verdict to replay"
        raise LabFault(what, fix="Grade the submission again.")
    if unlike := tuple(_other_inputs(record, given)):
        return Replay(unlike)
    made = _graded(lab, record, given, how, again=again, progress=progress)
    trusted = tuple(_kept_checks(record, again=again))
    made = _with_checks(made, trusted)
    if made.score.status == "incomplete":
        why = next((check.summary for check in made.checks if check.status == "error"), "")
        raise MachineFault(f"the grade could not be reproduced: {why}", fix="Try again.")
    notes = tuple(f"{check.name} is as recorded: {_reason(check)}" for check in trusted)
    if (failure := made.explanation.failure) and not record.explanation.failure:
        raise MachineFault(f"the explanation could not be reproduced: {failure}", fix="Try again.")
    if record.explanation.failure:
        notes += (f"the explanation is not compared: {record.explanation.failure}",)
    if is_redacted(record):
        record, made = _as_copy(record, made)
    return Replay(
        tuple(conditions(record.provenance, made.provenance)),
        tuple(differences(record, made, timed_again=again)),
        notes,
        made,
    )


def is_redacted(record: Grade) -> bool:
    """Whether this is a student's copy, without the names and sizes of hidden cases."""
    hidden = [case for case in record.cases if case.visibility == "hidden"]
    aliases = bool(hidden) and all(_ALIAS.fullmatch(c.name) and not c.size for c in hidden)
    return bool(record.hidden_feedback) or aliases


def _as_copy(record: Grade, made: Grade) -> tuple[Grade, Grade]:
    """Return a student's copy and the new grade as such a copy, so that they can be compared.

    The copy does not say for which lab's text and seed it was made. Of a copy in an older format
    only the points are compared.
    """
    if record.hidden_feedback:
        made = redact(made, record.hidden_feedback)
    else:
        alone = tuple(replace(check, public=None) for check in made.checks)
        record, made = (redact(g) for g in (record, replace(made, checks=alone)))
    if not record.provenance.lab_sha256:
        made = replace(made, provenance=replace(made.provenance, lab_sha256=""))
    return record, made


def _other_inputs(record: Grade, given: ReplayInputs) -> Iterator[Difference]:
    digest = hashlib.sha256(given.data).hexdigest()
    if record.submission_sha256 and digest != record.submission_sha256:
        yield Difference("source (SHA-256)", record.submission_sha256, digest)
    seed = seed_id(given.seed)
    if record.provenance.seed and seed != record.provenance.seed:
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
    use_record = on == "gpu" and not again
    return grade(
        lab,
        submission,
        on=how.on,
        visibility="all"
        if record.hidden_feedback or any(c.visibility == "hidden" for c in record.cases)
        else "public",
        seed=given.seed,
        threads=how.threads,
        limit=how.limit,
        answers=given.answers,
        fixes=record.explanation.trials > 0,
        recorded=timings_from_samples(record.provenance.samples, device) if use_record else None,
        progress=progress,
    )


def _kept_checks(record: Grade, *, again: bool) -> Iterator[Result]:
    """Yield the recorded checks that a replay cannot reproduce, with 0 points.

    These are errors in a timed launch, and the results of the CUDA toolkit's tools.
    """
    for check in record.checks:
        if check.name in TOOL_CHECKS:
            yield replace(check, points=0.0, max_points=0.0)
        if check.name == SPEED and check.status == "fail" and _reason(check) and not again:
            yield replace(check, points=0.0)


def _reason(check: Result) -> str:
    """Say what a check reported that a replay cannot reproduce."""
    if check.name != SPEED:
        return "result of the CUDA toolkit's tools, worth no points"
    errors = [f.kind for f in check.findings if f.severity == "error" and f.kind != "too-slow"]
    return f"{errors[0]} in a timed launch" if errors else ""


def _with_checks(made: Grade, trusted: tuple[Result, ...]) -> Grade:
    """Replace the grade's checks of the same names, and compute its score again."""
    held = {check.name: check for check in trusted}
    checks = [
        replace(held.pop(check.name), max_points=check.max_points) if check.name in held else check
        for check in made.checks
    ]
    checks += held.values()
    return replace(made, checks=tuple(checks), score=total_score(checks))
