"""`grader portal board`: the leaderboard of a lab, for students on the web and for staff."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from grader.cli.terminal import STDOUT, Json, LabName, Option, say, write, write_json
from grader.faults import LabFault
from grader.reports.printable import printable

Url = Annotated[
    str, Option("--url", metavar="URL", help="The course's address.  [default: $WARPGRADE_URL]")
]
Row = tuple[str, str, str, str, str]
HEAD: Row = ("rank", "pseudonym", "speedup", "cost", "")


def board(
    lab: LabName,
    join: Annotated[
        str, Option("--join", metavar="NAME", help="Take part with this pseudonym, or change it.")
    ] = "",
    leave: Annotated[bool, Option("--leave", help="Take no part any more.")] = False,
    hide: Annotated[
        str, Option("--hide", metavar="STUDENT", help="Staff: hide a student's entry.")
    ] = "",
    show: Annotated[
        str, Option("--show", metavar="STUDENT", help="Staff: show a hidden entry again.")
    ] = "",
    reason: Annotated[str, Option("--reason", metavar="TEXT", help="Why; for the audit.")] = "",
    course: Annotated[
        Path | None,
        Option("--course", metavar="DIR", help="Staff: the folder with course.yaml, with names."),
    ] = None,
    url: Url = "",
    json: Json = None,
) -> int:
    """Show the leaderboard of a lab; take part in it, or as staff hide an entry.

    With --course this is the whole board with the students' names, from the gradebook. Without it,
    the board is that of the course on the web, as the owner of $WARPGRADE_TOKEN sees it.
    """
    if course is None:
        if hide or show or reason:
            raise LabFault("only staff hide and show entries", fix="name the folder with --course")
        return _of_the_web(lab, join, leave=leave, url=url, json=json)
    if join or leave or hide and show:
        raise LabFault("with --course: one of --hide and --show", fix="leave the others out")
    return _of_the_gradebook(lab, course, hide, show, reason, json)


def _of_the_web(lab: str, join: str, *, leave: bool, url: str, json: str | None) -> int:
    from grader.cli.remote import RemoteCourse

    remote = RemoteCourse(url)
    path = f"/labs/{quote(lab, safe='')}/board"
    if leave:
        found = remote.delete(path)
    else:
        found = remote.send_json(path, {"pseudonym": join}) if join else remote.get(path)
    if json:
        write_json(found, json)
    if json != STDOUT:
        _print(_line(one, "you" if one["own"] else "") for one in found["entries"])
    if found["held"]:
        say("the grades of this lab are not released yet")
    if found["pseudonym"]:
        state = "hidden by the staff" if found["hidden"] else found["why"]
        say(f"you take part as {found['pseudonym']}" + (f": {state}" if state else ""))
    return 0


def _of_the_gradebook(
    lab: str, folder: Path, hide: str, show: str, reason: str, json: str | None
) -> int:
    from grader.cli.batch import author
    from grader.cli.portal import opened, site_for
    from grader.gradebook.course import read_course
    from grader.portal.boards import place_json, whole_board
    from grader.portal.work import lab_of

    course_file = read_course(folder)
    course_file.policy(lab)
    with opened(course_file) as book:
        if hide:
            book.board.hide(lab, course_file.student_id(hide), author(), reason)
        elif show:
            book.board.show(lab, course_file.student_id(show), author(), reason)
        site = site_for(course_file, book)
        places = whole_board(site, lab_of(site, lab))
    rows = [place_json(one) for one in places]
    if json:
        write_json({"lab": lab, "entries": rows}, json)
    if json != STDOUT:
        _print(_line(row, _staff_note(row)) for row in rows)
    return 0


def _staff_note(row: dict[str, Any]) -> str:
    """Return who an entry is of, and why it is not shown."""
    why = f"{'hidden: ' * row['hidden']}{row['why']}"
    return f"{' '.join([row['student'], *row['mates']])}  {why}".strip()


def _line(row: dict[str, Any], note: str) -> Row:
    speedup = "-" if row["speedup"] is None else f"{row['speedup']:.3f}"
    cost = "-" if row["cost"] is None else f"{row['cost']['total']:,.0f}"
    return (str(row["rank"] or ""), row["name"], speedup, cost, note)


def _print(lines: Iterable[Row]) -> None:
    for rank, name, speedup, cost, note in (HEAD, *lines):
        text = f"{rank:>4}  {name:<24}  {speedup:>8}  {cost:>16}  {note}".rstrip()
        write(printable(text) + "\n")
