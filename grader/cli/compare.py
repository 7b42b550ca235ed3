"""`grader portal compare`: what changed between two submissions, for students and staff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from grader.cli.board import Url
from grader.cli.terminal import STDOUT, Argument, Json, Option, write, write_json
from grader.faults import LabFault
from grader.reports.printable import printable

MARKS = {"same": " ", "removed": "-", "added": "+"}


def compare(
    old: Annotated[int, Argument(metavar="SUBMISSION", help="The number of a submission.")],
    new: Annotated[int, Argument(metavar="OTHER", help="Another one of the student and lab.")],
    course: Annotated[
        Path | None, Option("--course", metavar="DIR", help="Staff: the folder with course.yaml.")
    ] = None,
    url: Url = "",
    json: Json = None,
) -> int:
    """Compare two submissions: checks, findings, counters and source.

    Without --course, the course on the web is asked with the token of $WARPGRADE_TOKEN. The older
    submission comes first, in whatever order they are named.
    """
    if course is not None:
        found = _of_the_gradebook(course, old, new)
    else:
        from grader.cli.remote import RemoteCourse

        found = RemoteCourse(url).get(f"/compare?a={old}&b={new}")
    if json:
        write_json(found, json)
    if json != STDOUT:
        for line in _lines(found):
            write(printable(line) + "\n")
    return 0


def _of_the_gradebook(folder: Path, *numbers: int) -> dict[str, Any]:
    from grader.cli.portal import opened
    from grader.gradebook.course import read_course
    from grader.grading.record import grade_from_json
    from grader.reports.revisions import Revision, compare_revisions

    versions, found = [], []
    with opened(read_course(folder)) as book:
        for number in sorted(numbers):
            stored, made = book.submission(number), book.grade(number)
            if stored is None:
                raise LabFault(f"there is no submission {number}", fix="check its number")
            found.append(stored)
            grade = None if made is None else grade_from_json(made)
            versions.append(Revision(stored.data.decode("utf-8", "replace"), grade))
        if not book.groups.owners_of_all(found):
            raise LabFault("these are not of one student and lab", fix="check the numbers")
    return {"old": min(numbers), "new": max(numbers), **compare_revisions(*versions).to_json()}


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"submission {found['old']} to {found['new']}"
    for pair in found["checks"]:
        if pair["changed"]:
            yield f"check {pair['name']}: {_verdict(pair['old'])} -> {_verdict(pair['new'])}"
    for change in found["findings"]:
        yield _finding(change)
    for one in found["counters"]:
        if one["difference"]:
            values = f"{one['old']:,.6g} -> {one['new']:,.6g}"
            yield f"{one['name']}: {values} ({one['difference']:+,.6g})"
    for line in found["diff"]:
        if line["kind"] == "place":
            yield f"@@ {line['text']}"
        else:
            yield f"{line['new'] or '':>5} {MARKS[line['kind']]}{line['text']}"


def _verdict(check: Mapping[str, Any] | None) -> str:
    return f"{check['status']}, {check['points']:g} of {check['max_points']:g}" if check else "-"


def _finding(change: Mapping[str, Any]) -> str:
    old, new, finding = change["old_line"], change["new_line"], change["finding"]
    at = f"line {old}, now {new}" if old and new and old != new else f"line {new or old}"
    place = f", {at}" if old or new else ""
    return f"{change['state']}: {finding['kind']}{place}: {finding['message']}"
