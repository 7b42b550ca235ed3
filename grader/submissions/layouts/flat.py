"""A file a student: `alice.cu`, and `alice.answers.yaml` for the answers to the quiz. Others of
the class may have a folder each.
"""

from __future__ import annotations

from grader.faults import LabFault
from grader.labs import quiz as sheet
from grader.submissions.gather import (
    SOURCE_SUFFIX,
    LayoutResult,
    StudentSubmission,
    choose_submission,
    files_by_folder,
)
from grader.submissions.listing import UNREADABLE, Listing

RANK = 4
OF_A_SITE = False


def fits(listing: Listing) -> bool:
    """Whether a .cu file lies at the top."""
    return any(
        len(m.parts) == 1 and m.name.lower().endswith(SOURCE_SUFFIX) for m in listing.members
    )


def arrange(listing: Listing, lab: str) -> LayoutResult:
    """One student a file, called as the file is; a folder with a .cu file in it beside the files
    is a student's as well, and one without is left out.
    """
    top = {m.name: m for m in listing.members if len(m.parts) == 1}
    found, used = {}, set()
    for name, member in top.items():
        if not name.lower().endswith(SOURCE_SUFFIX):
            continue
        student = name[: -len(SOURCE_SUFFIX)] or name
        answers = f"{student}.{sheet.ANSWERS_FILE}"
        used |= {name, answers}
        found[name] = StudentSubmission(
            student, name, member, top.get(answers), problem=member.problem
        )
    notes = [f"{name}: left out, it is no .cu file" for name in top if name not in used]
    students = {one.student: name for name, one in found.items()}
    for folder, files in files_by_folder(listing).items():
        if not any(m.name.lower().endswith(SOURCE_SUFFIX) or m.name == UNREADABLE for m in files):
            notes.append(f"{folder}/: left out, there is no .cu file in it")
        elif folder in students:
            found[students[folder]] = _twice(folder, students[folder])
        else:
            found[folder] = choose_submission(folder, files, lab)
            notes.append(f"{folder}/: taken as a student's, as the files beside it are")
    return LayoutResult(tuple(found.values()), tuple(notes))


def _twice(student: str, file: str) -> StudentSubmission:
    """Nobody but the instructor knows which of both was handed in."""
    what = f"here are a file `{file}` and a folder `{student}/`: which is meant?"
    problem = LabFault(what, fix="take one of them away and run the same command again")
    return StudentSubmission(student, file, problem=problem)
