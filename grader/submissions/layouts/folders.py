"""One folder per student: `alice/`, with one .cu file in it at any depth."""

from __future__ import annotations

from grader.submissions.gather import LayoutResult, choose_submission, files_by_folder
from grader.submissions.listing import Listing

RANK = 5
OF_A_SITE = False


def fits(listing: Listing) -> bool:
    """Return whether there are folders at all; this layout is tried last."""
    return bool(listing.folders)


def arrange(listing: Listing, lab: str) -> LayoutResult:
    """Return one submission per folder; the student has the folder's name."""
    submissions = tuple(
        choose_submission(name, files, lab, listing=listing)
        for name, files in files_by_folder(listing).items()
    )
    stray = [m for m in listing.files if len(m.parts) == 1]
    return LayoutResult(
        submissions, tuple(f"{m.name}: left out, it is not in a folder" for m in stray)
    )
