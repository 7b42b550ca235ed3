"""A file a student: `alice.cu`, and `alice.answers.yaml` for the answers to the quiz."""

from __future__ import annotations

from grader.batch.found import SUFFIX, Arranged, Found
from grader.batch.member import Listing
from grader.quiz import sheet

RANK = 4
OF_A_SITE = False


def fits(listing: Listing) -> bool:
    """Whether a .cu file lies at the top."""
    return any(len(m.parts) == 1 and m.name.lower().endswith(SUFFIX) for m in listing.members)


def arrange(listing: Listing, lab: str) -> Arranged:
    """One student a file, called as the file is; folders beside the files are left out."""
    top = {m.name: m for m in listing.members if len(m.parts) == 1}
    found, used = [], set()
    for name, member in top.items():
        if not name.lower().endswith(SUFFIX):
            continue
        student = name[: -len(SUFFIX)] or name
        answers = f"{student}.{sheet.FILE}"
        used |= {name, answers}
        found.append(Found(student, name, member, top.get(answers), problem=member.problem))
    notes = [f"{name}: left out, it is no .cu file" for name in top if name not in used]
    folders = sorted({m.parts[0] for m in listing.members if len(m.parts) > 1})
    notes += [f"{f}/: left out, a folder beside the students' files" for f in folders]
    return Arranged(tuple(found), tuple(notes))
