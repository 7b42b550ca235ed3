"""Moodle's "Download all submissions": `First Last_<participant>_assignsubmission_file_`.

This is a folder per student or, without folders, a prefix of every file's name. The number is the
participant's in Moodle's grading worksheet. Moodle does not record the time.
"""

from __future__ import annotations

import re

from grader import regex, replace
from grader.submissions.gather import LayoutResult, choose_submission
from grader.submissions.listing import ListedFile, Listing

RANK = 2
OF_A_SITE = True

_NAME = regex(
    r"(?P<name>.+)_(?P<participant>\d+)_assignsubmission_(?P<plugin>file|onlinetext)_?(?P<file>.*)",
    re.DOTALL,
)


def fits(listing: Listing) -> bool:
    """Return whether anything at the top matches Moodle's pattern."""
    return any(_NAME.fullmatch(name) for name in _top(listing))


def arrange(listing: Listing, lab: str) -> LayoutResult:
    """Return one submission per participant; text typed into Moodle is left out."""
    files: dict[str, list[ListedFile]] = {}
    names: dict[str, str] = {}
    notes = []
    for name in _top(listing):
        matched = _NAME.fullmatch(name)
        if matched is None:
            notes.append(f"{name}: ignored: the name does not follow Moodle's pattern")
            continue
        if matched["plugin"] != "file":
            typed = "the student typed text into Moodle instead of uploading a file"
            notes.append(f"{name}: left out, {typed}")
            continue
        names[matched["participant"]] = matched["name"]
        files.setdefault(matched["participant"], [])
    for file in listing.files:
        matched = _NAME.fullmatch(file.parts[0])
        if matched is None or matched["plugin"] != "file":
            continue
        own = file.parts[1:] or (matched["file"] or file.name,)
        files[matched["participant"]].append(replace(file, parts=own))
    submissions = (
        choose_submission(number, own, lab, full_name=names[number])
        for number, own in files.items()
    )
    return LayoutResult(tuple(submissions), tuple(notes))


def _top(listing: Listing) -> list[str]:
    names = [m.parts[0] for m in listing.files] + [f[0] for f in listing.folders]
    return sorted(set(names))
