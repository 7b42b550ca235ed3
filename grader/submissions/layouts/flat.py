"""One file per student: `alice.cu`, and `alice.answers.yaml` for the answers to the quiz.

Other students of the class may have a folder each.
"""

from __future__ import annotations

from grader.faults import LabFault
from grader.labs.quiz import ANSWERS_FILE
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
    """Return whether a .cu file is at the top."""
    return any(len(f.parts) == 1 and f.name.lower().endswith(SOURCE_SUFFIX) for f in listing.files)


def arrange(listing: Listing, lab: str) -> LayoutResult:
    """Return one submission per file; the student has the file's name without its suffix.

    A folder next to the files that has a .cu file is a student's as well; others are left out.
    """
    top = {f.name: f for f in listing.files if len(f.parts) == 1}
    submissions, used = {}, set()
    for name, file in top.items():
        if not name.lower().endswith(SOURCE_SUFFIX):
            continue
        student = name[: -len(SOURCE_SUFFIX)] or name
        sheet = f"{student}.{ANSWERS_FILE}"
        used |= {name, sheet}
        problem = listing.same_name_problem(name) or listing.same_name_problem(sheet)
        submissions[name] = StudentSubmission(
            student, name, file, top.get(sheet), problem=problem or file.problem
        )
    notes = [f"{name}: left out, it is not a .cu file" for name in top if name not in used]
    students = {one.student: name for name, one in submissions.items()}
    for folder, files in files_by_folder(listing).items():
        if not any(f.name.lower().endswith(SOURCE_SUFFIX) or f.name == UNREADABLE for f in files):
            notes.append(f"{folder}/: left out, there is no .cu file in it")
        elif folder in students:
            submissions[students[folder]] = _ambiguous(folder, students[folder])
        else:
            submissions[folder] = choose_submission(folder, files, lab, listing=listing)
            notes.append(f"{folder}/: taken as a student's, like the files next to it")
    return LayoutResult(tuple(submissions.values()), tuple(notes))


def _ambiguous(student: str, file: str) -> StudentSubmission:
    """Return a submission with a problem: only the instructor knows which of both counts."""
    what = f"there are a file `{file}` and a folder `{student}/` of the same student"
    problem = LabFault(what, fix="remove one of them and run the same command again")
    return StudentSubmission(student, file, problem=problem)
