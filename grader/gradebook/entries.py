"""What counts for each student of a lab: which submission, how late, overridden or not.

`entries` computes it from the tables, `recompute` stores the points and reports the changes. The
other functions show entries and the audit as text for people and as JSON for programs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, tzinfo
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.text import Text
from sqlalchemy import Connection, Row, select

from grader.gradebook.chain import Verification, lock_audit, record_event, storable
from grader.gradebook.course import Course
from grader.gradebook.extensions import extensions, one_of
from grader.gradebook.groups import counts_for, memberships
from grader.gradebook.ledger import overrides
from grader.gradebook.policy import LabPolicy, Lateness, lateness, within_attempts
from grader.gradebook.submissions import RECEIVED, WAS_STOPPED, fault_count
from grader.gradebook.tables import (
    attempt,
    coauthor,
    grade,
    membership,
    standing,
    student,
    submission,
)
from grader.gradebook.teaching import choices
from grader.gradebook.values import AuditEvent, Entry, GradeJson, PointsChange, Score, read_grade
from grader.reports.printable import clip, printable, wrap

ReadScores = Callable[[Connection, Collection[int]], Mapping[int, Score]]
"""Returns the scores of these attempts, which have a grade."""

MARKED_LATE = "marked late without a time: no penalty"
"""The note of a submission that the course's site marked late without giving a time."""

STYLES = {"graded": "", "overridden": "magenta", "incomplete": "red", "refused": "red"}

MIN_NOTE_CELLS = 16  # of the column
_MADE = attempt.alias("made")


class _Candidate(NamedTuple):
    """One submission with its lateness. `number` counts the student's submissions from 1."""

    row: Row[Any]
    number: int
    late: Lateness

    def points(self, policy: LabPolicy, scores: Mapping[int, Score]) -> float | None:
        """Return the points after lateness, rounded to a hundredth; None without a grade.

        The course's points scale to the evaluated checks.
        """
        if self.row.attempt is None:
            return None
        score, judged_max = scores[self.row.attempt]
        if policy.points is not None:
            score = score / judged_max * policy.points if judged_max else 0.0
        return round(score * self.late.share_kept, 2)


def entries(
    connection: Connection, lab: str, course: Course | None, only: Collection[str] | None = None,
    scores: ReadScores | None = None,
) -> Sequence[Entry]:  # fmt: skip
    """Return one entry per student: those of the roster in its order, then other submitters.

    Without a course, the roster is the gradebook's. With `only`, those of these students. With
    `scores`, which keeps what it reads, no entry has its `grade_json`.
    """
    policy = course.policy(lab) if course else LabPolicy()
    names = _names(connection, course)
    names = names if only is None else {who: names.get(who, "") for who in only}
    own = {who: policy.extended(one.due) for who, one in extensions(connection, lab, only).items()}
    submitted: dict[str, list[_Candidate]] = {}
    sent = _sent(connection, lab, only, grades=scores is None)
    for who, row in sent:
        mine = submitted.setdefault(who, [])
        mine.append(_Candidate(row, len(mine) + 1, _lateness(own.get(who, policy), row)))
    made: dict[int, GradeJson] = {}
    graded = {row.attempt: row for _, row in sent if row.attempt is not None}
    known: Mapping[int, Score] = {}
    if scores is None:
        for number, row in graded.items():
            made[number] = read_grade(number, row.grade_json, row.grade_sha256)
        known = {k: (float(g["score"]), float(g["judged_max"])) for k, g in made.items()}
    elif policy.counts == "best":
        known = scores(connection, graded)
    given, chosen = overrides(connection, lab), choices(connection, lab)
    picked = {who: _pick(s, policy, chosen.get(who), known) for who, s in submitted.items()}
    if scores is not None and policy.counts != "best":
        known = scores(connection, {one.row.attempt for one, _ in picked.values()} - {None})
    groups = memberships(connection, lab, one_of(membership.c.student, only))
    others = [] if only is not None else sorted({*submitted, *given} - names.keys())
    result = []
    for who in [*names, *others]:
        entry = Entry(lab, who, names.get(who, ""), "missing", None, policy.points)
        if who in picked:
            entry = _entry(entry, submitted[who], *picked[who], policy, known, made)
        if who in given:
            entry = replace(
                entry, status="overridden", points=given[who].points, override=given[who]
            )
        if who in groups and groups[who].team:
            entry = replace(entry, team=groups[who].team)
        result.append(entry)
    return tuple(result)


def _sent(
    connection: Connection, lab: str, only: Collection[str] | None, *, grades: bool
) -> Sequence[tuple[str, Row[Any]]]:
    """Return each student with each submission that counts for the student, oldest first.

    A group's submission counts for each of the group; one that began to do so later comes at that
    time. So it never takes an attempt from one that counted before, but it is then the last.
    """
    of = select(coauthor).join(submission, submission.c.id == coauthor.c.submission)
    of = of.where(submission.c.lab == lab, one_of(coauthor.c.student, only))
    shared: dict[int, list[Any]] = {}
    for row in connection.execute(of.order_by(coauthor.c.id)):
        shared.setdefault(row.submission, []).append(row)
    found = []
    for row in connection.execute(_query(lab, only, grades=grades)):
        found.append((row.at, row.id, row.student, row))
        found += [(one.since or row.at, row.id, one.student, row) for one in shared.get(row.id, ())]
    found.sort(key=lambda one: one[:2])
    return [(who, row) for _, _, who, row in found if only is None or who in only]


def _lateness(policy: LabPolicy, row: Row[Any]) -> Lateness:
    """Return a submission's lateness; one whose time is unknown counts as in time."""
    if row.received is not None:
        return lateness(policy, row.received)
    return Lateness(1.0, MARKED_LATE if row.late else "")


def _names(connection: Connection, course: Course | None) -> dict[str, str]:
    if course is not None and course.students:
        return {storable(s.id): s.name for s in course.students}
    enrolled = select(student.c.id, student.c.name).where(student.c.enrolled).order_by(student.c.id)
    return {row.id: row.name for row in connection.execute(enrolled)}


def _query(lab: str, only: Collection[str] | None, *, grades: bool) -> Any:
    """Select the lab's submissions without their bytes, oldest first, with their attempts.

    With `grades`, the attempts have their grades.
    """
    columns = (submission.c[name] for name in ("id", "student", "name", "sha256", "late"))
    query = (
        select(*columns, RECEIVED, submission.c.received.label("at"))
        .add_columns(fault_count("fault").label("faults"), WAS_STOPPED, grade.c.attempt)
        .outerjoin(grade, grade.c.submission == submission.c.id)
        .where(submission.c.lab == lab if only is None else counts_for(lab, only))
        .order_by(submission.c.received, submission.c.id)
    )
    if not grades:
        return query
    query = query.add_columns(_MADE.c.grade_json, _MADE.c.grade_sha256)
    return query.outerjoin(_MADE, _MADE.c.id == grade.c.attempt)


def _pick(
    submitted: Sequence[_Candidate], policy: LabPolicy, chosen: int | None,
    scores: Mapping[int, Score],
) -> tuple[_Candidate, bool]:  # fmt: skip
    """Return the submission that counts, and True; the last one and False where none may count.

    It is the last one, the best (the earliest of equals), or the student's choice. The last also
    counts without a graded one, and without a choice that may count.
    """
    first = within_attempts(submitted, policy.attempts, lambda one: bool(one.row.was_stopped))
    counted = [one for one in first if one.late.accepted]
    if not counted:
        return submitted[-1], False
    if policy.counts == "chosen":
        return next((one for one in counted if one.row.id == chosen), counted[-1]), True
    graded = [one for one in counted if one.row.attempt is not None]
    if policy.counts == "last" or not graded:
        return counted[-1], True
    return max(graded, key=lambda one: one.points(policy, scores) or 0.0), True


def _entry(
    empty: Entry, submitted: Sequence[_Candidate], one: _Candidate, may_count: bool,
    policy: LabPolicy, scores: Mapping[int, Score], grades: Mapping[int, GradeJson],
) -> Entry:  # fmt: skip
    """Return the entry of a student for whom `one` counts, from one without a submission."""
    row, made, points = one.row, one.row.attempt, one.points(policy, scores)
    most = scores[made][1] if made is not None and policy.points is None else policy.points
    entry = Entry(
        empty.lab, empty.student, empty.name, "graded", points, most, row.id, row.name, row.sha256,
        one.number, len(submitted), grades.get(made), row.received, one.late.share_kept,
        one.late.note, row.faults, by="" if row.student == empty.student else row.student,
        attempt=made,
    )  # fmt: skip
    if not may_count:
        return replace(entry, status="refused", points=0.0)
    if made is None:
        return replace(entry, status="incomplete" if row.faults else "waiting")
    return entry


def recompute(
    connection: Connection, lab: str, course: Course | None, author: str, now: datetime
) -> Sequence[PointsChange]:
    """Compute every student's points again and store them; return the changes."""
    lock_audit(connection)
    rows = connection.execute(select(standing).where(standing.c.lab == lab))
    before = {row.student: row for row in rows}
    moved = []
    for entry in entries(connection, lab, course):
        old = before.get(entry.student)
        if (old.points if old else None) == entry.points:
            continue
        mine = (standing.c.lab == lab) & (standing.c.student == entry.student)
        connection.execute(standing.delete().where(mine))
        connection.execute(
            standing.insert().values(
                lab=lab, student=entry.student, points=entry.points, note=entry.note, at=now
            )
        )
        was = old.points if old else None
        record_event(
            connection, now, author, "recompute", lab=lab, student=entry.student,
            before=was, after=entry.points, reason=entry.note,
            rows=[("standing", lab, entry.student)],
        )  # fmt: skip
        moved.append(PointsChange(lab, entry.student, was, entry.points, entry.note))
    return tuple(moved)


def entry_table(entries: Sequence[Entry], zone: tzinfo, width: int = 80) -> Text:
    """Show a line per student: points, which submission counts, its time, and a note.

    A long note takes more lines.
    """
    if not entries:
        return Text("no students and no submissions")
    rows = [_cells(entry, zone) for entry in entries]
    columns = list(zip(*rows, strict=True))
    who = min(max(map(cell_len, columns[0])), 24)
    points, sent = (max(max(map(cell_len, columns[i])), 6) for i in (1, 2))
    when = 16
    head = (
        f"{'student':<{who}}  {'points':>{points}}  {'counts':<{sent}}  {'received':<{when}}  note"
    )
    lines = [Text(head, "bold")]
    for entry, (name, worth, number, at, note) in zip(entries, rows, strict=True):
        left = f"{_padded(name, who)}  {worth:>{points}}  {number:<{sent}}  {at:<{when}}  "
        noted = wrap(note, max(width - cell_len(left), MIN_NOTE_CELLS))
        line = f"\n{' ' * cell_len(left)}".join([left + (noted[0] if noted else ""), *noted[1:]])
        lines.append(Text(line.rstrip(), STYLES.get(entry.status, "dim")))
    return Text("\n").join([*lines, Text(), *map(Text, _footer(entries, zone, width))])


def _cells(entry: Entry, zone: tzinfo) -> tuple[str, str, str, str, str]:
    name = printable(f"{entry.student} {entry.name}" if entry.name else entry.student)
    worth = "-" if entry.points is None else f"{entry.points:g}"
    worth += "" if entry.max_points is None else f"/{entry.max_points:g}"
    number = f"{entry.number} of {entry.attempts}" if entry.attempts else "-"
    return name, worth, number, _received(entry, zone), printable(_note(entry))


def _note(entry: Entry) -> str:
    given = entry.override
    notes = [f"by {given.author}: {given.reason}"] if given else []
    notes += [f"group {entry.team}"] if entry.team else []
    notes += [f"sent by {entry.by}"] if entry.by else []
    if entry.status == "incomplete":
        notes.append(f"system errors: {entry.faults}")
    if entry.status in ("waiting", "missing"):
        notes.append({"waiting": "not graded yet", "missing": "nothing submitted"}[entry.status])
    return "; ".join([*notes, entry.note] if entry.note else notes)


def _padded(text: str, cells: int) -> str:
    clipped = clip(text, cells)
    return clipped + " " * (cells - cell_len(clipped))


def _received(entry: Entry, zone: tzinfo) -> str:
    if entry.received is None:
        return "unknown" if entry.attempts else ""
    return f"{entry.received.astimezone(zone):%Y-%m-%d %H:%M}"


def _footer(entries: Sequence[Entry], zone: tzinfo, width: int) -> list[str]:
    points = [entry.points for entry in entries if entry.points is not None]
    line = f"{len(entries)} students, {len(points)} with points"
    if points:
        line += f", mean {sum(points) / len(points):.4g}"
    for status in ("overridden", "incomplete", "waiting", "refused", "missing"):
        number = sum(entry.status == status for entry in entries)
        line += f", {number} {status}" if number else ""
    return wrap(f"{line}; times are {zone}", width, "  ")


def entries_json(lab: str, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return `{"lab", "entries": [...]}`: what counts for each student.

    Times are ISO 8601 in UTC. A grade has its score, judged_max and status only; `grader export`
    and `grader batch` write the rest.
    """
    return {"lab": lab, "entries": [_entry_json(entry) for entry in entries]}


def _entry_json(entry: Entry) -> dict[str, Any]:
    left_out = ("grade_json", "lab", "override", "attempt")
    values = {k: v for k, v in vars(entry).items() if k not in left_out}
    made = entry.grade_json
    graded = None if made is None else {k: made[k] for k in ("score", "judged_max", "status")}
    given = entry.override
    override = None if given is None else asdict(given) | {"at": _iso(given.at)}
    return values | {"received": _iso(entry.received), "grade": graded, "override": override}


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def event_lines(events: Sequence[AuditEvent], zone: tzinfo) -> Text:
    """Show the audit, a line per change."""
    lines = []
    for event in events:
        whose = " ".join(filter(None, (event.lab, event.student)))
        line = f"{event.at.astimezone(zone):%Y-%m-%d %H:%M:%S}  {event.action}"
        line += f": {whose}" if whose else ""
        line += f"{_change(event.before, event.after)}, by {_actor(event.actor)}"
        line += f": {event.reason}" if event.reason else ""
        lines.append(Text(printable(line)))
    return Text("\n").join(lines) if lines else Text("no changes recorded")


def _actor(name: str) -> str:
    """Return a person's name; for a worker its part, machine and process."""
    fields = name.split("/", 5)
    return name if len(fields) < 6 else f"{fields[5] or 'grader'} on {fields[0]}, pid {fields[3]}"


def _change(before: Any, after: Any) -> str:
    """Show the values before and after; for two objects, what differs."""
    if before is None and after is None:
        return ""
    if not isinstance(before, dict) and not isinstance(after, dict):
        return f", {_value(before)} -> {_value(after)}"
    old, new = before or {}, after or {}
    return "".join(
        f", {key} {_value(new.get(key))}" if old.get(key) in (None, "") else
        f", {key} {_value(old[key])} -> {_value(new.get(key))}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key, "") != new.get(key, "")
    )  # fmt: skip


def _value(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def events_json(events: Sequence[AuditEvent]) -> dict[str, Any]:
    """Return `{"events": [...]}`, oldest first."""
    return {"events": [vars(event) | {"at": _iso(event.at)} for event in events]}


def verification_lines(found: Verification) -> Text:
    """Show what does not agree, or what was verified; then the head of the chain."""
    counts = [f"{kind}: {number}" for kind, number in found.records.items() if number]
    lines = list(found.problems) or [
        f"each of the {found.lines} lines of the audit follows from the line before",
        f"these rows agree with the audit: {', '.join(counts) or 'none'}",
    ]
    return Text("\n".join([*map(printable, lines), f"head: {found.head or '-'}"]))


def verification_json(found: Verification) -> dict[str, Any]:
    """Return `{"intact", "lines", "head", "records", "problems"}`."""
    values = {"intact": not found.problems, "lines": found.lines, "head": found.head}
    return values | {"records": dict(found.records), "problems": list(found.problems)}


def points_change_lines(moved: Sequence[PointsChange]) -> Text:
    """List the students whose points changed; those without earlier points are only counted."""
    lines = (
        f"{one.student}: {_value(one.old)} -> {_value(one.new)}"
        + (f"  ({one.note})" if one.note else "")
        for one in moved
        if one.old is not None
    )
    text = "\n".join(map(printable, lines)) or "no points have changed"
    first = sum(one.old is None for one in moved)
    return Text(text + (f"\nrecorded for the first time: {first}" if first else ""))
