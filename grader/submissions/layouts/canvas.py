"""Canvas's "Download submissions": `lastfirst_LATE_<user>_<submission>_<file>`, all in one folder.

The name is in lower case without spaces; a file handed in again gets `-1`, `-2`, ... before its
ending; a group's has the group's name. Canvas writes no time down, only LATE.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from grader.submissions.gather import LayoutResult, choose_submission
from grader.submissions.listing import ListedFile, Listing

RANK = 3
OF_A_SITE = True

_NAME = re.compile(
    r"(?P<who>[^_]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<submission>\d+)_(?P<file>.+)", re.DOTALL
)
_AGAIN = re.compile(r"-\d+(?=\.[^.]*$)")


def fits(listing: Listing) -> bool:
    """Whether most of the files at the top have such names."""
    top = [m for m in listing.members if len(m.parts) == 1]
    return 2 * sum(_NAME.fullmatch(m.name) is not None for m in top) > len(top)


def arrange(listing: Listing, lab: str) -> LayoutResult:
    """One student a user number, with all the files of theirs."""
    files: dict[str, list[ListedFile]] = {}
    told: dict[str, Mapping[str, str]] = {}
    notes = []
    for member in listing.members:
        matched = _NAME.fullmatch(member.name)
        if len(member.parts) > 1 or matched is None:
            notes.append(f"{member.place}: left out, it is not named as Canvas does")
            continue
        user = matched["user"]
        told[user] = matched.groupdict()
        own = _AGAIN.sub("", matched["file"])
        files.setdefault(user, []).append(replace(member, parts=(own,)))
    found = tuple(
        choose_submission(user, own, lab, who=told[user]["who"], late=bool(told[user]["late"]))
        for user, own in files.items()
    )
    return LayoutResult(found, tuple(notes))
