"""Find each student's submission in a folder or zip archive, whatever its layout."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import ModuleType

from grader.faults import Fault, LabFault, pluralize
from grader.labs import quiz as sheet
from grader.submissions import layouts
from grader.submissions.files import MAX_BYTES
from grader.submissions.listing import (
    UNREADABLE,
    ListedFile,
    Listing,
    is_archive,
    list_archive,
    list_folder,
    not_a_file,
)

# One student's submission as it was found, and which of several files it is.

SOURCE_SUFFIX = ".cu"


@dataclass(frozen=True)
class StudentSubmission:
    """`student` is what the download calls them, unique in it; `name` the file's own name; `who`
    and `email` more of the student where it is told, to be looked up in a roster. `received` is
    None when nobody wrote the time down; `late` says that the course's site marked it so.

    `problem` says why there is nothing to read; a StudentFault then is the verdict.
    """

    student: str
    name: str
    file: ListedFile | None = None
    sheet: ListedFile | None = None
    received: datetime | None = None
    late: bool = False
    who: str = ""
    email: str = ""
    problem: Fault | None = None

    def read(self) -> bytes:
        """The submission's bytes, one more than it may have at most. Raises Fault."""
        if self.problem is not None or self.file is None:
            raise self.problem or LabFault("there is no file", where=self.student)
        return self.file.bytes(MAX_BYTES + 1)

    def answers(self) -> bytes | None:
        """The bytes of the answers to the quiz; None when there are none. Raises Fault."""
        return None if self.sheet is None else self.sheet.bytes(sheet.MAX_SHEET_BYTES + 1)


def choose_submission(
    student: str, members: Sequence[ListedFile], lab: str, *, received: datetime | None = None,
    who: str = "", email: str = "", late: bool = False,
) -> StudentSubmission:  # fmt: skip
    """Which of a student's own files is the submission: the only .cu, else the one that is named
    after the lab, else the problem that there is none or more than one; its answers lie beside
    it, or are the only ones.
    """
    file, problem = _source(student, members, lab)
    sheets = [m for m in members if m.name == sheet.ANSWERS_FILE]
    beside = [m for m in sheets if file is not None and m.parts[:-1] == file.parts[:-1]]
    picked = (beside or sheets)[0] if beside or len(sheets) == 1 else None
    name = file.name if file is not None else f"{lab}{SOURCE_SUFFIX}"
    return StudentSubmission(student, name, file, picked, received, late, who, email, problem)


def _source(
    student: str, members: Sequence[ListedFile], lab: str
) -> tuple[ListedFile | None, Fault | None]:
    sources = [m for m in members if m.name.lower().endswith(SOURCE_SUFFIX)]
    named = sorted(
        (m for m in sources if m.name == f"{lab}{SOURCE_SUFFIX}"), key=lambda m: len(m.parts)
    )
    if len(sources) > 1 and len(named[:2]) == 2 and len(named[0].parts) == len(named[1].parts):
        named = []
    picked = sources if len(sources) == 1 else named[:1]
    if picked:
        return picked[0], picked[0].problem
    place = f"{student}/{lab}{SOURCE_SUFFIX}"
    if sources:
        what = f"{len(sources)} .cu files were handed in: which is meant?"
        return None, not_a_file(
            place, what, fix=f"hand in one .cu file, or name one {lab}{SOURCE_SUFFIX}"
        )
    unread = [m.problem for m in members if m.problem and m.name == UNREADABLE]
    others = f" among {pluralize(len(members), 'file')}" if members else ""
    return None, unread[0] if unread else not_a_file(place, f"no .cu file was handed in{others}")


@dataclass(frozen=True)
class LayoutResult:
    """A listing's files by student, and what was left out and why."""

    found: tuple[StudentSubmission, ...]
    notes: tuple[str, ...] = ()


def files_by_folder(listing: Listing) -> dict[str, list[ListedFile]]:
    """The files below each of the topmost folders, empty ones too, as seen from inside it."""
    inside: dict[str, list[ListedFile]] = {f[0]: [] for f in listing.folders}
    for member in listing.members:
        if len(member.parts) > 1:
            inside.setdefault(member.parts[0], []).append(member.below(1))
    return inside


# A folder or zip of submissions -> whose each is, whatever system it was downloaded from.


@dataclass(frozen=True)
class SubmissionSet:
    """`layout` is the name of the one that the files have; `notes` what was left out and why."""

    layout: str
    found: tuple[StudentSubmission, ...]
    notes: tuple[str, ...] = ()


def find_submissions(place: Path, lab: str) -> SubmissionSet:
    """Every student's submission of the lab in a folder or zip, in the order of their names.

    LabFault when there is no such place, or nothing in it looks like a submission.
    """
    listing = _listed(place)
    inner = _unwrapped(listing, lab)
    layout = next((module for module in _layouts() if module.fits(inner)), None)
    arranged = layout.arrange(inner, lab) if layout is not None else LayoutResult(())
    if layout is not None and arranged.found:
        found = sorted(arranged.found, key=lambda one: (one.student, one.name))
        name = layout.__name__.rpartition(".")[2]
        return SubmissionSet(name, tuple(found), (*listing.notes, *arranged.notes))
    fix = "name a folder or zip with a .cu file or a folder a student"
    raise LabFault("there are no submissions in it", where=str(place), fix=fix)


def _listed(place: Path) -> Listing:
    if place.is_dir():
        return list_folder(place)
    if not place.exists():
        fix = "name the folder, or the zip, with the submissions"
        raise LabFault("there is no such folder or zip", where=str(place), fix=fix)
    if place.is_file() and is_archive(place):
        return list_archive(place)
    fix = "grader check LAB FILE.cu grades one file"
    raise LabFault("this is neither a folder nor a zip", where=str(place), fix=fix)


def _layouts() -> list[ModuleType]:
    names = (module.name for module in pkgutil.iter_modules(layouts.__path__))
    found = [importlib.import_module(f"{layouts.__name__}.{name}") for name in names]
    return sorted(found, key=lambda module: int(module.RANK))


def _unwrapped(listing: Listing, lab: str) -> Listing:
    """What lies in the one folder around everything, as a zip program or a site's export makes
    it; the listing itself when there is none, or that may as well be the only student's.
    """
    tops = {m.parts[0] for m in listing.members} | {f[0] for f in listing.folders}
    loose = any(len(m.parts) == 1 for m in listing.members)
    if len(tops) != 1 or loose or _is_of_a_site(listing):
        return listing
    inner = listing.below(tuple(tops))
    sources = [m for m in inner.members if m.name.lower().endswith(SOURCE_SUFFIX)]
    of_a_student = any(m.parts == (f"{lab}{SOURCE_SUFFIX}",) for m in sources)
    around = _is_of_a_site(inner) or (len(sources) > 1 and not of_a_student)
    return inner if around else listing


def _is_of_a_site(listing: Listing) -> bool:
    """Whether the names are those of a course's site, which nobody chooses by chance."""
    return any(module.OF_A_SITE and module.fits(listing) for module in _layouts())
