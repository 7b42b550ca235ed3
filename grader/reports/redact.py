"""What a student may see of a grade: the one place that decides about hidden cases.

`redact` makes the copy that every output for students shows: text, JSON, HTML, exports and
exit code. The copy is a function of two things only: what the public cases alone decide
(`Result.public`), and each check's points. So two grades with equal points and equal public cases
have equal copies, whatever the kernel does in a hidden case: which lines fail, how many findings
there are, how long it runs. That holds by construction, not by a list of what must be removed: the
copy of a check starts empty, and an old record without `public` keeps its points alone.

A course chooses more: "kind" adds the status of each hidden case and the kinds of findings, both
without places, counts and values; "full" shows everything.
"""

from __future__ import annotations

from collections.abc import Collection

from grader import replace
from grader.checks.result import Result, Status, Verdict
from grader.checks.speed import TIMED
from grader.grading.record import CaseResult, Grade, HiddenFeedback
from grader.launch import Finding

HIDDEN_HINT = (
    "Test other sizes yourself: 1, a prime number, one more than a multiple of the tile, "
    "one side much longer than the other."
)
COUNTED = "these points count hidden cases too"
"""The summary of a check whose points differ from those of the public cases alone."""

WITHOUT_CASES = ("compile", "quiz")
"""Results that no case has a part in: of the source, and of the answers."""

NOT_SHOWN = {"error": "system error (not your submission)", "unjudged": "not evaluated here"}
"""The summary of a check without points, where the public cases alone do not explain it."""


def redact(grade: Grade, feedback: HiddenFeedback = "score") -> Grade:
    """Return the copy of a grade that its student may see.

    Args:
        grade: The whole record; a copy is returned as it is.
        feedback: How much the copy shows of hidden cases.

    Returns:
        The grade itself when no hidden case and no hidden check counted. Otherwise a copy, in which
        durations and the identifiers of the seed and the lab are blank too: a kernel can make a
        duration encode a size, and a size can be guessed and compared with a digest of the lab.
    """
    if grade.hidden_feedback or not _has_hidden_part(grade):
        return grade
    if feedback == "full":
        checks = tuple(_shown_check(check) for check in grade.checks)
        return replace(grade, checks=checks, hidden_feedback="full")
    public = {TIMED, *(case.name for case in grade.cases if case.visibility == "public")}
    if grade.lines_on not in public:
        grade = replace(grade, lines=(), lines_on="", cost=None)
    if grade.printed[0] not in public:
        grade = replace(grade, printed=("", ""))
    made = replace(grade.provenance, seed="", seconds=0.0, lab_sha256="")
    return replace(
        grade,
        checks=tuple(_check(check, public, feedback) for check in grade.checks),
        cases=tuple(_cases(grade.cases, feedback)),
        provenance=made,
        hidden_feedback=feedback,
    )


def _has_hidden_part(grade: Grade) -> bool:
    return any(c.visibility == "hidden" for c in grade.cases) or any(
        c.visibility == "hidden" or c.public is not None for c in grade.checks
    )


def _cases(cases: Collection[CaseResult], feedback: HiddenFeedback) -> list[CaseResult]:
    """The public cases; with "kind", the hidden ones too, under other names and without sizes."""
    hidden = [case for case in cases if case.visibility == "hidden"]
    public = [case for case in cases if case.visibility == "public"]
    if feedback == "score":
        return public
    return public + [
        replace(case, name=f"hidden-{number}", size="")
        for number, case in enumerate(hidden, start=1)
    ]


def _shown_check(check: Result) -> Result:
    if check.visibility == "hidden":
        return Result(
            check.name, check.status, check.points, check.max_points, "", visibility="hidden"
        )
    return replace(check, public=None)


def _check(check: Result, public: Collection[str], feedback: HiddenFeedback) -> Result:
    if check.visibility == "hidden":
        return _shown_check(check)
    own = check.public
    if own is None and check.name in WITHOUT_CASES and check.status != "error":
        return check
    status, summary = _outcome(check, own)
    shown = Result(check.name, status, check.points, check.max_points, summary)
    if own is not None and status != "error":
        shown = replace(
            shown,
            findings=own.findings,
            measurements=own.measurements,
            cases=own.cases,
            measured_on=own.measured_on,
        )
    if feedback == "kind":
        kinds = tuple(_kinds(check.findings, public))
        shown = replace(shown, findings=(*shown.findings, *kinds), status=check.status)
    return shown


def _outcome(check: Result, own: Verdict | None) -> tuple[Status, str]:
    """Return status and summary, from the points and the verdict on the public cases."""
    if check.status in ("unjudged", "error"):
        known = own is not None and own.status == check.status
        return check.status, own.summary if own and known else NOT_SHOWN[check.status]
    if own is not None and own.status not in ("unjudged", "error"):
        if round(own.share * check.max_points, 2) == check.points:
            return own.status, own.summary
        return _status_of_points(check), f"in the public cases: {own.summary}; {COUNTED}"
    return _status_of_points(check), COUNTED if check.max_points else NOT_SHOWN["unjudged"]


def _status_of_points(check: Result) -> Status:
    if not check.max_points:
        return "unjudged"
    return "pass" if check.points >= check.max_points else "fail"


def _kinds(findings: Collection[Finding], public: Collection[str]) -> list[Finding]:
    """One finding for each kind that occurred in a hidden case: no place, count or value."""
    kinds = {(f.severity, f.kind) for f in findings if any(name not in public for name in f.cases)}
    return [
        Finding(kind, severity, f"{kind.replace('-', ' ')} in a hidden case", hint=HIDDEN_HINT)
        for severity, kind in sorted(kinds)
    ]
