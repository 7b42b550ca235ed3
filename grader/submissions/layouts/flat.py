"""One file per student: `alice.cu`, and `alice.answers.yaml` for the answers to the quiz.

A notebook, an archive, or text of another name with a kernel in it is a student's as well. Other
students of the class may have a folder each.
"""

from __future__ import annotations

from grader.faults import Fault, LabFault
from grader.labs.quiz import ANSWERS_FILE
from grader.submissions.containers import CONTAINER_SUFFIXES, SOURCE_SUFFIX, TEXT_SUFFIXES
from grader.submissions.files import MAX_BYTES, binary_kind
from grader.submissions.gather import (
    LayoutResult,
    StudentSubmission,
    choose_submission,
    files_by_folder,
)
from grader.submissions.listing import UNREADABLE, ListedFile, Listing

RANK = 4
OF_A_SITE = False


def fits(listing: Listing) -> bool:
    """Return whether a .cu file is at the top, or a notebook or archive beside no folder."""
    top = [f.name.lower() for f in listing.files if len(f.parts) == 1]
    suffixes = (SOURCE_SUFFIX,) if listing.folders else (SOURCE_SUFFIX, *CONTAINER_SUFFIXES)
    return any(name.endswith(suffixes) for name in top)


def arrange(listing: Listing, lab: str) -> LayoutResult:
    """Return one submission per file; the student has the file's name without its suffix.

    A folder next to the files that has a .cu file is a student's as well; others are left out.
    """
    top = {f.name: f for f in listing.files if len(f.parts) == 1}
    submissions, used = {}, set()
    for name, file in top.items():
        suffix = _suffix(file)
        if not suffix:
            continue
        student = name[: -len(suffix)] or name
        sheet = f"{student}.{ANSWERS_FILE}"
        used |= {name, sheet}
        problem = listing.same_name_problem(name) or listing.same_name_problem(sheet)
        submissions[name] = StudentSubmission(
            student, name, file, top.get(sheet), problem=problem or file.problem
        )
    notes = [f"{name}: left out, {_kind(top[name])}" for name in top if name not in used]
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


def _suffix(file: ListedFile) -> str:
    """The suffix of a file that may have a kernel in it; "" of any other file."""
    name = file.name.lower()
    known = next((s for s in (SOURCE_SUFFIX, *CONTAINER_SUFFIXES) if name.endswith(s)), "")
    other = next((s for s in TEXT_SUFFIXES if name.endswith(s)), "")
    return known or (other if other and b"__global__" in _content(file) else "")


def _kind(file: ListedFile) -> str:
    """What a file is that was left out."""
    kind = binary_kind(_content(file), file.name)
    return f"it is {kind}" if kind else "it is not a .cu file"


def _content(file: ListedFile) -> bytes:
    """The first bytes of a file without the zeros of UTF-16; none where it cannot be read."""
    try:
        return file.bytes(MAX_BYTES).replace(b"\0", b"")
    except Fault:
        return b""


def _ambiguous(student: str, file: str) -> StudentSubmission:
    """Return a submission with a problem: only the instructor knows which of both counts."""
    what = f"there are a file `{file}` and a folder `{student}/` of the same student"
    problem = LabFault(what, fix="remove one of them and run the same command again")
    return StudentSubmission(student, file, problem=problem)
