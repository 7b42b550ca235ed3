"""The order of a leaderboard, and who sees what of it.

`result_of` and `verified` decide whether what counts for a student may stand on the board, `ranked`
orders the entries, `visible_to` returns what one person sees. All are functions of their arguments
alone.

A submission has one line, also when it counts for several members, as that of a group does: with
the pseudonym of the one who joined first. Two lines would rank its students twice, and tell
everybody that their pseudonyms belong together.

The order is total. Entries that were timed on a GPU come first, the larger speedup first. The
others follow, the lower simulated cost first. Between equals the earlier submission is first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from grader import dataclass, replace
from grader.gradebook.board import Member, folded
from grader.gradebook.values import Entry, GradeJson
from grader.grading.cost import Cost
from grader.labs.model import Lab

NOT_OF_CORRECTNESS = frozenset({"traffic", "resources", "speed", "quiz"})
"""The checks of how a kernel does its work, and of answers; all others must pass."""

NOT_CORRECT = "Every case and every check of correctness has to pass."
"""One sentence for all that is wrong: students may not read what happens in hidden cases."""

WITHOUT_GRADE: Mapping[str, str] = {
    "missing": "Nothing is submitted yet.",
    "waiting": "The submission that counts is not graded yet.",
    "incomplete": "A system error stopped the grading of the submission that counts.",
    "refused": "The submission came after the cut-off.",
    "overridden": "The points were set by the staff.",
    "held": "The grades of this lab are not released yet.",
}
"""Why a student without a computed grade has no entry, by the status of what counts."""


@dataclass(frozen=True)
class Standing:
    """What an entry is ranked by: a speedup on a device, or a simulated cost.

    `submission` is 0 for a kernel of the lab itself, which stands behind equal entries.
    """

    cost: Cost | None
    speedup: float | None = None
    device: str = ""
    received: datetime | None = None
    submission: int = 0

    @property
    def order(self) -> tuple[Any, ...]:
        """The key by which entries are sorted: the best one has the smallest."""
        cost = float("inf") if self.cost is None else self.cost.exact
        at = self.received or datetime.max.replace(tzinfo=UTC)
        behind = not self.submission
        if self.speedup is None:
            return (1, 0.0, cost, behind, at, self.submission)
        return (0, -self.speedup, cost, behind, at, self.submission)


@dataclass(frozen=True)
class Place:
    """A line of a board.

    Attributes:
        name: The pseudonym, or the name of a mark.
        standing: What it is ranked by; None for a member without a verified result.
        rank: From 1; 0 for one that has no rank: a mark, a hidden entry, one without a result.
        student: Who it is; "" where the viewer may not know, and for a mark.
        mates: The other members for whom the submission counts; those whom the viewer may know.
        own: Whether it is the viewer's.
        hidden: Whether staff have hidden it.
        why: Why it is hidden or has no result, for those who may know who it is.
    """

    name: str
    standing: Standing | None
    rank: int = 0
    student: str = ""
    mates: tuple[str, ...] = ()
    own: bool = False
    hidden: bool = False
    why: str = ""

    @property
    def is_mark(self) -> bool:
        """Whether it is a kernel of the lab itself."""
        return self.standing is not None and not self.standing.submission


def verified(entry: Entry, result: Standing | str | None) -> Standing | str:
    """Return what a student's entry is ranked by, or why there is none, as a sentence.

    Only the submission that counts has an entry; points that the staff set have none. `result` is
    what `result_of` says of its grade, None without one.
    """
    if entry.status != "graded" or result is None or entry.submission is None:
        return WITHOUT_GRADE.get(entry.status, WITHOUT_GRADE["waiting"])
    if isinstance(result, str):
        return result
    return replace(result, received=entry.received, submission=entry.submission)


def result_of(made: GradeJson, lab: Lab, lab_sha256: str) -> Standing | str:
    """Return what a grade is ranked by, whosever it is, or why it has no place on a board.

    Every case of today's lab has to pass, and every check of correctness. The result of an older
    version of the lab, and one that a person has to review, have no place.
    """
    if made["status"] != "graded":
        return WITHOUT_GRADE["incomplete"]
    if made["provenance"].get("lab_sha256") != lab_sha256:
        return "It was graded with an older version of the lab."
    wanted = {case.name for case in lab.cases}
    passed = {case["name"] for case in made["cases"] if case["status"] == "pass"}
    if wanted - passed or len(passed) < len(made["cases"]):
        return NOT_CORRECT
    checks = {check["name"]: check for check in made["checks"]}
    if any(c["status"] != "pass" for n, c in checks.items() if n not in NOT_OF_CORRECTNESS):
        return NOT_CORRECT
    if any(f["kind"] == "cheat" for c in checks.values() for f in c["findings"]):
        return NOT_CORRECT
    return _measured(made, lab)


def _measured(made: GradeJson, lab: Lab) -> Standing | str:
    """Return what a correct submission is ranked by, of what its student reads too."""
    cost, speed = public_cost(made, lab), public_speed(made)
    standing = Standing(cost)
    if speed is not None:
        measured = speed["measurements"]
        if measured.get("review"):
            return "The measured speedup needs review by the staff."
        device = str(made["provenance"].get("device") or "")
        return replace(standing, speedup=float(measured["speedup"]), device=device)
    if any(c["name"] == "speed" and c["status"] == "fail" for c in made["checks"]):
        return NOT_CORRECT  # the output of a timed launch is wrong
    if cost is None:
        return "It was graded before costs were measured: the staff can have it graded again."
    return standing


def public_speed(made: GradeJson) -> Mapping[str, Any] | None:
    """Return the speed check of a grade that was timed on a GPU, where students may read it."""
    for check in made["checks"] if made["backend"] == "gpu" else ():
        if check["name"] == "speed" and check.get("visibility", "public") == "public":
            return check if check["measurements"].get("speedup") else None
    return None


def public_cost(made: GradeJson, lab: Lab) -> Cost | None:
    """Return a grade's cost when it was measured on a public case."""
    cost = read_cost(made.get("cost"))
    case = lab.case(cost.case) if cost else None
    return cost if case is not None and case.visibility == "public" else None


def read_cost(value: Any) -> Cost | None:
    """Return the cost of a grade object; None without one."""
    if not value:
        return None
    names = ("sectors", "wavefronts", "thread_instructions")
    sectors, wavefronts, instructions = (int(value[name]) for name in names)
    baseline = read_cost(value.get("baseline"))
    return Cost(str(value["case"]), sectors, wavefronts, instructions, baseline)


def ranked(
    members: Iterable[tuple[Member, Standing | str]], marks: Mapping[str, Standing]
) -> tuple[Place, ...]:
    """Order a board for those who may know everything.

    Args:
        members: Those who take part or are hidden, each with what it is ranked by or why not.
        marks: The lab's own kernels by name.

    Returns:
        The ranked entries and the marks in their order, then hidden entries and those without a
        result by pseudonym. Who has left is not there.
    """
    places, rest = [Place(name, standing) for name, standing in marks.items()], []
    lines: dict[int, Place] = {}
    for member, found in sorted(members, key=lambda pair: _joined(pair[0])):
        if not member.pseudonym:
            continue
        one = Place(member.pseudonym, None, student=member.student, hidden=member.hidden)
        if isinstance(found, str):
            rest.append(replace(one, why=member.reason if member.hidden else found))
        elif member.hidden:
            rest.append(replace(one, standing=found, why=member.reason))
        else:
            line = lines.setdefault(found.submission, replace(one, standing=found))
            if line.student != member.student:
                mates = (*line.mates, member.student)
                lines[found.submission] = replace(line, mates=mates)
    places += lines.values()
    places.sort(key=_order)
    number, shown = 0, []
    for one in places:
        number += not one.is_mark
        shown.append(one if one.is_mark else replace(one, rank=number))
    return (*shown, *sorted(rest, key=lambda one: folded(one.name)))


def _joined(member: Member) -> tuple[datetime, str]:
    return member.since or datetime.max.replace(tzinfo=UTC), member.student


def _order(place: Place) -> tuple[Any, ...]:
    assert place.standing is not None
    return (*place.standing.order, folded(place.name))


def visible_to(
    places: Sequence[Place], viewer: str, *, held: bool, may_know: Callable[[str], bool]
) -> tuple[Place, ...]:
    """Return what one person sees of a board.

    Args:
        places: The board, as `ranked` returns it.
        viewer: The student who looks; "" for staff.
        held: Whether this person may not see the grades of the lab yet.
        may_know: Whether this person may know which student an entry is of.

    Returns:
        The ranked entries, without the students whom the person may not know. Entries that are
        hidden or have no result are there only for those who may know whose they are; why staff
        have hidden one is not for its student. While the grades are held, nothing.
    """
    if held:
        return ()
    found = []
    for one in places:
        known = bool(one.student) and may_know(one.student)
        if one.rank or one.is_mark or known:
            own = bool(viewer) and viewer in (one.student, *one.mates)
            mates = tuple(who for who in one.mates if may_know(who))
            who = one.student if known else ""
            why = one.why if known and not (own and one.hidden) else ""
            found.append(replace(one, student=who, mates=mates, own=own, why=why))
    return tuple(found)
