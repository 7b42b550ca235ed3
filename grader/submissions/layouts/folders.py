"""A folder a student: `alice/`, with one .cu file in it, however deep."""

from __future__ import annotations

from grader.submissions.gather import Arranged, chosen, own_folders
from grader.submissions.members import Listing

RANK = 5
OF_A_SITE = False


def fits(listing: Listing) -> bool:
    """Whether there are folders at all: this layout is asked last."""
    return bool(listing.folders)


def arrange(listing: Listing, lab: str) -> Arranged:
    """One student a folder, called as the folder is."""
    found = tuple(chosen(name, files, lab) for name, files in own_folders(listing).items())
    stray = [m for m in listing.members if len(m.parts) == 1]
    return Arranged(found, tuple(f"{m.name}: left out, it lies in no folder" for m in stray))
