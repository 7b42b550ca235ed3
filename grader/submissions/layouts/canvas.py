"""Canvas's "Download submissions": `lastfirst_LATE_<user>_<submission>_<file>`, all in one folder.

The name is in lower case without spaces. A file that is submitted again gets `-1`, `-2`, ... before
its suffix; a group's file has the group's name. Canvas does not record the time, only LATE.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from grader import regex, replace
from grader.submissions.gather import LayoutResult, choose_submission
from grader.submissions.listing import ListedFile, Listing

RANK = 3
OF_A_SITE = True

_NAME = regex(
    r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<submission>\d+)_(?P<file>.+)", re.DOTALL
)
_RESUBMITTED = regex(r"-\d+(?=\.[^.]*$)")


def fits(listing: Listing) -> bool:
    """Return whether most of the files at the top have such names."""
    top = [m for m in listing.files if len(m.parts) == 1]
    return 2 * sum(_NAME.fullmatch(m.name) is not None for m in top) > len(top)


def arrange(listing: Listing, lab: str) -> LayoutResult:
    """Return one submission per user number, from all files of that user."""
    files: dict[str, list[ListedFile]] = {}
    names: dict[str, Mapping[str, str]] = {}
    notes = []
    for file in listing.files:
        matched = _NAME.fullmatch(file.name)
        if len(file.parts) > 1 or matched is None:
            notes.append(f"{file.path}: ignored: the name does not follow Canvas's pattern")
            continue
        user = matched["user"]
        names[user] = matched.groupdict()
        own = _RESUBMITTED.sub("", matched["file"])
        files.setdefault(user, []).append(replace(file, parts=(own,)))
    submissions = tuple(
        choose_submission(
            user, own, lab, full_name=names[user]["name"], late=bool(names[user]["late"])
        )
        for user, own in files.items()
    )
    return LayoutResult(submissions, tuple(notes))
