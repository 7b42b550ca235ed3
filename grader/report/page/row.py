"""One student's line of a class report, as plain values."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.record import Grade
from grader.report.redact import redact

LONGEST = 40
_UNSAFE = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class ReportRow:
    """`student` is the name that is shown, `source` the text of what was graded ("" when it is no
    text). `late` says in words what lateness did, `override` who set the points by hand and why;
    `points` are those that count after both, None where they are the grade's own; `received` is
    when the submission came in, as it is to be shown."""

    student: str
    grade: Grade
    source: str
    late: str = ""
    override: str = ""
    points: float | None = None
    received: str = ""

    @property
    def counting(self) -> float | None:
        """The points that count; None while the grade is incomplete and nobody set any."""
        if self.points is None and self.grade.score.status == "incomplete":
            return None
        return self.grade.score.points if self.points is None else self.points


def for_student(row: ReportRow) -> ReportRow:
    """The row as its student may see it: the grade redacted, an override without the instructor's
    words."""
    override = "the points were set by hand" if row.override else ""
    return replace(row, grade=redact(row.grade), override=override)


def page_names(rows: Sequence[ReportRow]) -> tuple[str, ...]:
    """A file name for each row's page, without folder or suffix: letters, digits and hyphens,
    each once even where file names know no case, and the same again for the same students."""
    names: list[str] = []
    times: Counter[str] = Counter()
    for row in rows:
        slug = _UNSAFE.sub("-", row.student.lower())[:LONGEST].strip("-")
        digest = hashlib.sha256(row.student.encode("utf-8", "surrogatepass")).hexdigest()[:6]
        name = f"{slug}-{digest}" if slug else digest
        times[name] += 1
        names.append(name if times[name] == 1 else f"{name}-again{times[name] - 1}")
    return tuple(names)
