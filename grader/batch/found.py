"""One student's submission as it was found, and which of several files it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.batch.member import UNREAD, Listing, Member, no_file
from grader.fault import Fault, LabFault
from grader.quiz import sheet
from grader.report.count import counted
from grader.submission import MAX_BYTES

SUFFIX = ".cu"


@dataclass(frozen=True)
class Found:
    """`student` is what the download calls them, unique in it; `name` the file's own name; `who`
    and `email` more of the student where it is told, to be looked up in a roster. `received` is
    None when nobody wrote the time down; `late` says that the course's site marked it so.

    `problem` says why there is nothing to read; a StudentFault then is the verdict."""

    student: str
    name: str
    file: Member | None = None
    sheet: Member | None = None
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
        return None if self.sheet is None else self.sheet.bytes(sheet.MAX_BYTES + 1)


def chosen(
    student: str, members: Sequence[Member], lab: str, *, received: datetime | None = None,
    who: str = "", email: str = "", late: bool = False,
) -> Found:  # fmt: skip
    """Which of a student's own files is the submission: the only .cu, else the one that is named
    after the lab, else the problem that there is none or more than one; its answers lie beside
    it, or are the only ones."""
    file, problem = _source(student, members, lab)
    sheets = [m for m in members if m.name == sheet.FILE]
    beside = [m for m in sheets if file is not None and m.parts[:-1] == file.parts[:-1]]
    picked = (beside or sheets)[0] if beside or len(sheets) == 1 else None
    name = file.name if file is not None else f"{lab}{SUFFIX}"
    return Found(student, name, file, picked, received, late, who, email, problem)


def _source(
    student: str, members: Sequence[Member], lab: str
) -> tuple[Member | None, Fault | None]:
    sources = [m for m in members if m.name.lower().endswith(SUFFIX)]
    named = sorted((m for m in sources if m.name == f"{lab}{SUFFIX}"), key=lambda m: len(m.parts))
    if len(sources) > 1 and len(named[:2]) == 2 and len(named[0].parts) == len(named[1].parts):
        named = []
    picked = sources if len(sources) == 1 else named[:1]
    if picked:
        return picked[0], picked[0].problem
    place = f"{student}/{lab}{SUFFIX}"
    if sources:
        what = f"{len(sources)} .cu files were handed in: which is meant?"
        return None, no_file(place, what, mend=f"hand in one .cu file, or name one {lab}{SUFFIX}")
    unread = [m.problem for m in members if m.problem and m.name == UNREAD]
    others = f" among {counted(len(members), 'file')}" if members else ""
    return None, unread[0] if unread else no_file(place, f"no .cu file was handed in{others}")


@dataclass(frozen=True)
class Arranged:
    """A listing's files by student, and what was left out and why."""

    found: tuple[Found, ...]
    notes: tuple[str, ...] = ()


def own_folders(listing: Listing) -> dict[str, list[Member]]:
    """The files below each of the topmost folders, empty ones too, as seen from inside it."""
    inside: dict[str, list[Member]] = {f[0]: [] for f in listing.folders}
    for member in listing.members:
        if len(member.parts) > 1:
            inside.setdefault(member.parts[0], []).append(member.below(1))
    return inside
