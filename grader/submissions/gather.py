"""Find each student's submission in a folder or zip archive, whatever its layout.

In: the path of a folder or zip that was downloaded from a course site or made by hand. Out: a
SubmissionSet. The modules of `layouts` know how each site names the files.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType

from grader import dataclass
from grader.faults import Fault, LabFault, pluralize
from grader.labs.quiz import ANSWERS_FILE, MAX_SHEET_BYTES
from grader.submissions import layouts
from grader.submissions.containers import (
    HEADERS,
    MAX_CONTAINER,
    MAX_PARTS,
    SOURCE_SUFFIX,
    SUFFIXES,
    header_finder,
    listed_parts,
    part_text,
)
from grader.submissions.files import MAX_BYTES, Submission, binary_kind, not_a_file
from grader.submissions.listing import (
    UNREADABLE,
    ListedFile,
    Listing,
    is_archive,
    list_archive,
    list_folder,
)
from grader.submissions.sources import Wanted, choose_part, open_submission

MAX_NAMED = 3
"""Files of which a message says what they are."""


@dataclass(frozen=True)
class StudentSubmission:
    """One student's submission in a download.

    Attributes:
        student: What the download calls the student; unique in it.
        name: The file's own name.
        file: The source file, or the first of several among which the contents decide.
        sheet: The file with the answers to the quiz, if there is one.
        received: When it was submitted; None when the download does not say.
        late: Whether the course site marked it as late.
        full_name: The student's name where the download has it, to be looked up in a roster.
        email: The student's e-mail address where the download has it.
        problem: Why there is nothing to read; a StudentFault is then the verdict.
        others: The rest of several files with a source.
        headers: Further files that the source may include or need.
    """

    student: str
    name: str
    file: ListedFile | None = None
    sheet: ListedFile | None = None
    received: datetime | None = None
    late: bool = False
    full_name: str = ""
    email: str = ""
    problem: Fault | None = None
    others: tuple[ListedFile, ...] = ()
    headers: tuple[ListedFile, ...] = ()

    def read(self) -> bytes:
        """Return the first bytes of the file, at most one more than a source may have.

        Raises:
            Fault: There is nothing to read, or it cannot be read.
        """
        if self.problem is not None or self.file is None:
            raise self.problem or LabFault("there is no file", where=self.student)
        return self.file.bytes(MAX_BYTES + 1)

    def submission(self, wanted: Wanted) -> Submission:
        """Return the source: the file's text, or what is chosen in it by what a lab asks for.

        Raises:
            Fault: There is nothing to read, it cannot be read, or there is no source in it.
        """
        if self.problem is not None or self.file is None:
            raise self.problem or LabFault("there is no file", where=self.student)
        return choose_files(self.student, (self.file, *self.others), wanted, self.headers)

    def answers(self) -> bytes | None:
        """Return the bytes of the answers to the quiz; None when there are none.

        Raises:
            Fault: The file cannot be read.
        """
        return None if self.sheet is None else self.sheet.bytes(MAX_SHEET_BYTES + 1)


@dataclass(frozen=True)
class LayoutResult:
    """The submissions that a layout assigned to students, and notes on what it left out."""

    submissions: tuple[StudentSubmission, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SubmissionSet:
    """All submissions of a download: its layout's name, and notes on what was left out and why."""

    layout: str
    submissions: tuple[StudentSubmission, ...]
    notes: tuple[str, ...] = ()


def find_submissions(path: Path, lab: str) -> SubmissionSet:
    """Return every student's submission of a lab in a folder or zip, ordered by student.

    Raises:
        LabFault: There is no such folder or zip, or it has no submissions.
    """
    outer = _list_files(path)
    listing = _unwrap(outer, lab)
    layout = next((module for module in _load_layouts() if module.fits(listing)), None)
    result = layout.arrange(listing, lab) if layout is not None else LayoutResult(())
    if layout is not None and result.submissions:
        ordered = sorted(result.submissions, key=lambda one: (one.student, one.name))
        name = layout.__name__.rpartition(".")[2]
        return SubmissionSet(name, tuple(ordered), (*outer.notes, *result.notes))
    fix = "name a folder or zip with one .cu file, or one folder, for each student"
    raise LabFault("there are no submissions in it", where=str(path), fix=fix)


def choose_submission(
    student: str, files: Sequence[ListedFile], lab: str, *, received: datetime | None = None,
    full_name: str = "", email: str = "", late: bool = False, listing: Listing | None = None,
) -> StudentSubmission:  # fmt: skip
    """Choose the submission among one student's own files.

    The source is the only .cu file, or the one named after the lab. Without a .cu file it is the
    notebook, archive or other text with a kernel; among several files their contents decide. The
    answers are those in the folder of the source, or the only ones. In a `listing` whose folders
    have the students' names, two folders may look the same: neither is chosen.
    """
    chosen, problem = _choose_source(student, files, lab)
    file = chosen[0] if chosen else None
    problem = (listing.same_name_problem(student) if listing else None) or problem
    sheets = [f for f in files if f.name == ANSWERS_FILE]
    near = [f for f in sheets if file is not None and f.parts[:-1] == file.parts[:-1]]
    sheet = (near or sheets)[0] if near or len(sheets) == 1 else None
    name = file.name if file is not None else f"{lab}{SOURCE_SUFFIX}"
    headers = tuple(
        f
        for f in files
        if f.name.lower().endswith((*HEADERS, SOURCE_SUFFIX)) and not f.problem and f != file
    )
    return StudentSubmission(
        student, name, file, sheet, received, late, full_name, email, problem, tuple(chosen[1:]),
        headers if len(chosen) == 1 else (),
    )  # fmt: skip


def choose_files(
    student: str,
    files: Sequence[ListedFile],
    wanted: Wanted,
    headers: Sequence[ListedFile] = (),
) -> Submission:
    """Choose the source among one student's files by their contents.

    Args:
        student: The student's name.
        files: The files that may have the source.
        wanted: What the lab asks for.
        headers: Further files of the student, which the source may include or need.

    Raises:
        Fault: A file cannot be read; there is no source in them, or more than one.
    """
    if len(files) == 1:
        beside = listed_parts(headers)
        find = header_finder({part.path: part_text(part.data) for part in beside})
        data = files[0].bytes(MAX_CONTAINER + 1)
        return open_submission(data, files[0].name, wanted, find, beside)
    return choose_part(student, listed_parts(files), wanted)


def files_by_folder(listing: Listing) -> dict[str, list[ListedFile]]:
    """Return the files of each top folder, empty ones too, with their paths inside it."""
    folders: dict[str, list[ListedFile]] = {f[0]: [] for f in listing.folders}
    for file in listing.files:
        if len(file.parts) > 1:
            folders.setdefault(file.parts[0], []).append(file.below(1))
    return folders


def _choose_source(
    student: str, files: Sequence[ListedFile], lab: str
) -> tuple[Sequence[ListedFile], Fault | None]:
    sources = [f for f in files if f.name.lower().endswith(SOURCE_SUFFIX)]
    named = sorted(
        (f for f in sources if f.name == f"{lab}{SOURCE_SUFFIX}"), key=lambda f: len(f.parts)
    )
    if len(sources) > 1 and len(named[:2]) == 2 and len(named[0].parts) == len(named[1].parts):
        named = []
    chosen = sources if len(sources) == 1 else named[:1]
    if chosen:
        return chosen, chosen[0].problem
    unreadable = [f.problem for f in files if f.problem and f.name == UNREADABLE]
    possible = sources or [f for f in files if f.name.lower().endswith(SUFFIXES)]
    if len(possible) > MAX_PARTS:
        what = f"{len(possible)} files with source suffixes were submitted, at most {MAX_PARTS}"
        return (), not_a_file(student, f"{what} can be", fix="submit one .cu file")
    if possible and not unreadable:
        return possible, next((f.problem for f in possible if f.problem), None)
    if unreadable:
        return (), unreadable[0]
    where = f"{student}/{lab}{SOURCE_SUFFIX}"
    kinds = [f"{f.name} is {kind}" for f in files[:MAX_NAMED] if (kind := _kind(f))]
    others = f" among {pluralize(len(files), 'file')}" if files else ""
    others += f": {', '.join(kinds)}" if kinds else ""
    return (), not_a_file(where, f"no .cu file was submitted{others}")


def _kind(file: ListedFile) -> str:
    """What a file is that has no source in it; "" where its first bytes do not say."""
    try:
        return binary_kind(file.bytes(MAX_BYTES + 1), file.name)
    except Fault:
        return ""


def _list_files(path: Path) -> Listing:
    if path.is_dir():
        return list_folder(path)
    if not path.exists():
        fix = "name the folder, or the zip, with the submissions"
        raise LabFault("there is no such folder or zip", where=str(path), fix=fix)
    if path.is_file() and is_archive(path):
        return list_archive(path)
    fix = "to grade one file, run: grader check LAB FILE.cu"
    raise LabFault("this is neither a folder nor a zip", where=str(path), fix=fix)


def _load_layouts() -> list[ModuleType]:
    names = (module.name for module in pkgutil.iter_modules(layouts.__path__))
    modules = [importlib.import_module(f"{layouts.__name__}.{name}") for name in names]
    return sorted(modules, key=lambda module: int(module.RANK))


def _unwrap(listing: Listing, lab: str) -> Listing:
    """Return the content of the one folder around everything, as zip programs create it.

    Returns the listing itself when there is no such folder, or when it may be a student's own.
    """
    tops = {f.parts[0] for f in listing.files} | {f[0] for f in listing.folders}
    loose = any(len(f.parts) == 1 for f in listing.files)
    if len(tops) != 1 or loose or _is_from_a_site(listing):
        return listing
    inner = listing.below(tuple(tops))
    sources = [f for f in inner.files if f.name.lower().endswith(SOURCE_SUFFIX)]
    is_one_students = any(f.parts == (f"{lab}{SOURCE_SUFFIX}",) for f in sources)
    is_wrapper = _is_from_a_site(inner) or (len(sources) > 1 and not is_one_students)
    return inner if is_wrapper else listing


def _is_from_a_site(listing: Listing) -> bool:
    """Return whether a course site generated the names."""
    return any(module.OF_A_SITE and module.fits(listing) for module in _load_layouts())
