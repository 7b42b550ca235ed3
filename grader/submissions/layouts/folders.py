"""A folder a student: `alice/`, with one .cu file in it, however deep."""

from __future__ import annotations

from grader.submissions.gather import LayoutResult, choose_submission, files_by_folder
from grader.submissions.listing import Listing

RANK = 5
OF_A_SITE = False


def fits(listing: Listing) -> bool:
    """Whether there are folders at all: this layout is asked last."""
    return bool(listing.folders)


def arrange(listing: Listing, lab: str) -> LayoutResult:
    """One student a folder, called as the folder is."""
    found = tuple(
        choose_submission(name, files, lab) for name, files in files_by_folder(listing).items()
    )
    stray = [m for m in listing.members if len(m.parts) == 1]
    return LayoutResult(found, tuple(f"{m.name}: left out, it lies in no folder" for m in stray))
