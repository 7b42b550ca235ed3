"""The report of a class, written: index.html and a page a student beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.fault import LabFault
from grader.lab import Lab
from grader.report.page.classes import class_view
from grader.report.page.render import Links, pages
from grader.report.page.row import ReportRow, for_student, page_names
from grader.report.page.student import student_view
from grader.wholefile import write_whole

INDEX = "index.html"
STUDENTS = "students"


def write_class_report(
    folder: Path, lab: Lab, rows: Sequence[ReportRow], *, for_students: bool = False
) -> Path:
    """Write the report below `folder`, which is made where it is missing; the file to open.

    `for_students` writes pages that their students may read, redacted, and no index, which would
    tell each of them the others' grades: the folder of the pages is returned. Raises LabFault
    where the folder cannot be written, MachineFault where the disk is full.
    """
    names = [f"{name}.html" for name in page_names(rows)]
    make_folder(folder / STUDENTS)
    written = pages()
    if for_students:
        for row, name in zip(rows, names, strict=True):
            write_whole(folder / STUDENTS / name, student_page(row, for_students=True))
        return folder / STUDENTS
    for k, (row, name) in enumerate(zip(rows, names, strict=True)):
        links = Links(f"../{INDEX}", *(_at(names, place) for place in (k - 1, k + 1)))
        write_whole(folder / STUDENTS / name, written.student(student_view(row), links))
    index = class_view(rows, [f"{STUDENTS}/{name}" for name in names])
    write_whole(folder / INDEX, written.index(lab.name, lab.title, index))
    return folder / INDEX


def student_page(row: ReportRow, *, for_students: bool = False) -> bytes:
    """One student's page on its own, as UTF-8; redacted `for_students`."""
    if for_students:
        return pages().student(student_view(for_student(row), with_seed=False))
    return pages().student(student_view(row))


def make_folder(folder: Path) -> None:
    """Make a folder and those above it. Raises LabFault where that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot make the folder: {error.strerror}"
        raise LabFault(what, where=str(folder), mend="name another folder for --html") from None


def _at(names: Sequence[str], place: int) -> str:
    return names[place] if 0 <= place < len(names) else ""
