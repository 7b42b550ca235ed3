"""A course to try the portal with: its files, people and submissions, in a folder of its own."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from grader.faults import LabFault
from grader.gradebook.book import open_gradebook
from grader.gradebook.course import COURSE_FILE, make_secret, read_course
from grader.labs.model import Lab
from grader.portal.site import labs_of

LABS = ("vector-add", "tiled-matmul", "histogram")
STAFF = (
    ("instructor@example.org", "instructor", "The instructor", ()),
    ("ta@example.org", "ta", "The TA of section A", ("A",)),
    ("observer@example.org", "observer", "An observer", ()),
)
STUDENTS = 12
AUTHOR = "grader serve --demo"


def make_demo(folder: Path) -> None:
    """Write the course and fill its gradebook. Nothing happens when there is one already.

    Raises:
        LabFault: The folder has other files.
    """
    if (folder / COURSE_FILE).exists():
        return
    part = folder.with_name(f"{folder.name}.part")  # one that was cut short must not look whole
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    _fill(part)
    try:
        part.rename(folder)
    except OSError as error:
        what = f"cannot make the demo course: {error.strerror}"
        raise LabFault(what, where=str(folder), fix="move or delete this folder") from None


def _fill(folder: Path) -> None:
    due = datetime.now(UTC) + timedelta(days=7)
    labs = "".join(f'  {name}: {{due: "{due:%Y-%m-%d} 23:59"}}\n' for name in LABS)
    (folder / "roster.csv").write_text(_roster())
    make_secret(folder / "course.secret")
    (folder / COURSE_FILE).write_text(
        "name: Demo course\ntimezone: UTC\nroster: roster.csv\nattempts: 10\ncounts: best\n"
        "leaderboard: true\n"
        f"late:\n  - penalty: 10%\n    per: day\n    at_most: 50%\nlabs:\n{labs}"
    )
    course = read_course(folder)
    book = open_gradebook(course.gradebook)
    try:
        book.enroll(course.students, AUTHOR)
        for email, role, name, sections in STAFF:
            book.people.add_staff(email, role, AUTHOR, name=name, sections=sections)  # type: ignore[arg-type]
        for k, lab in enumerate(labs_of(course).values()):
            for number, file in enumerate(_files(lab)):
                who = f"s{(5 * k + number) % STUDENTS + 1:02d}"
                book.submit(
                    lab.name, who, f"{lab.name}.cu", file.read_bytes(),
                    received=datetime.now(UTC), source=AUTHOR,
                )  # fmt: skip
                if number % 2:
                    book.board.join(lab.name, who, f"Player {number + 1}", AUTHOR)
    finally:
        book.close()


def _roster() -> str:
    lines = ["id,name,email,section"]
    for k in range(1, STUDENTS + 1):
        section = "A" if k % 2 else "B"
        lines.append(f"s{k:02d},Student {k:02d},s{k:02d}@example.org,{section}")
    return "\n".join(lines) + "\n"


def _files(lab: Lab) -> list[Path]:
    """Return what the demo's students hand in: the skeleton, incorrect variants, the solution."""
    variants = sorted((lab.solution.parent / "wrong").glob("*.cu"))[:6]
    return [path for path in (lab.skeleton, *variants, lab.solution) if path.is_file()]
