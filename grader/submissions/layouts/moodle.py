"""Moodle's "Download all submissions": a folder `First Last_<participant>_assignsubmission_file_`
a student or, without folders, such a prefix before every file's name. The number is what Moodle's
grading worksheet calls the participant's; no time is written down.
"""

from __future__ import annotations

import re
from dataclasses import replace

from grader.submissions.gather import LayoutResult, choose_submission
from grader.submissions.listing import ListedFile, Listing

RANK = 2
OF_A_SITE = True

_NAME = re.compile(
    r"(?P<who>.+)_(?P<participant>\d+)_assignsubmission_(?P<plugin>file|onlinetext)_?(?P<file>.*)",
    re.DOTALL,
)


def fits(listing: Listing) -> bool:
    """Whether anything at the top has such a name."""
    return any(_NAME.fullmatch(name) for name in _top(listing))


def arrange(listing: Listing, lab: str) -> LayoutResult:
    """One student a participant; what was typed into Moodle's text field is left out."""
    files: dict[str, list[ListedFile]] = {}
    who: dict[str, str] = {}
    notes = []
    for name in _top(listing):
        matched = _NAME.fullmatch(name)
        if matched is None:
            notes.append(f"{name}: left out, it is no file that Moodle took in")
            continue
        if matched["plugin"] != "file":
            typed = "the student typed text into Moodle instead of uploading a file"
            notes.append(f"{name}: left out, {typed}")
            continue
        who[matched["participant"]] = matched["who"]
        files.setdefault(matched["participant"], [])
    for member in listing.members:
        matched = _NAME.fullmatch(member.parts[0])
        if matched is None or matched["plugin"] != "file":
            continue
        own = member.parts[1:] or (matched["file"] or member.name,)
        files[matched["participant"]].append(replace(member, parts=own))
    found = (choose_submission(number, own, lab, who=who[number]) for number, own in files.items())
    return LayoutResult(tuple(found), tuple(notes))


def _top(listing: Listing) -> list[str]:
    names = [m.parts[0] for m in listing.members] + [f[0] for f in listing.folders]
    return sorted(set(names))
