"""A folder or zip of submissions -> whose each is, whatever system it was downloaded from."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from grader.batch import layouts
from grader.batch.archive import is_archive, list_archive
from grader.batch.folder import list_folder
from grader.batch.found import SUFFIX, Arranged, Found
from grader.batch.member import Listing
from grader.fault import LabFault


@dataclass(frozen=True)
class Gathered:
    """`layout` is the name of the one that the files have; `notes` what was left out and why."""

    layout: str
    found: tuple[Found, ...]
    notes: tuple[str, ...] = ()


def gather(place: Path, lab: str) -> Gathered:
    """Every student's submission of the lab in a folder or zip, in the order of their names.

    LabFault when there is no such place, or nothing in it looks like a submission.
    """
    listing = _listed(place)
    inner = _unwrapped(listing, lab)
    layout = next((module for module in _layouts() if module.fits(inner)), None)
    arranged = layout.arrange(inner, lab) if layout is not None else Arranged(())
    if layout is not None and arranged.found:
        found = sorted(arranged.found, key=lambda one: (one.student, one.name))
        name = layout.__name__.rpartition(".")[2]
        return Gathered(name, tuple(found), (*listing.notes, *arranged.notes))
    mend = "name a folder or zip with a .cu file or a folder a student"
    raise LabFault("there are no submissions in it", where=str(place), mend=mend)


def _listed(place: Path) -> Listing:
    if place.is_dir():
        return list_folder(place)
    if not place.exists():
        mend = "name the folder, or the zip, with the submissions"
        raise LabFault("there is no such folder or zip", where=str(place), mend=mend)
    if place.is_file() and is_archive(place):
        return list_archive(place)
    mend = "grader check LAB FILE.cu grades one file"
    raise LabFault("this is neither a folder nor a zip", where=str(place), mend=mend)


def _layouts() -> list[ModuleType]:
    names = (module.name for module in pkgutil.iter_modules(layouts.__path__))
    found = [importlib.import_module(f"{layouts.__name__}.{name}") for name in names]
    return sorted(found, key=lambda module: int(module.RANK))


def _unwrapped(listing: Listing, lab: str) -> Listing:
    """What lies in the one folder around everything, as a zip program or a site's export makes
    it; the listing itself when there is none, or that may as well be the only student's."""
    tops = {m.parts[0] for m in listing.members} | {f[0] for f in listing.folders}
    loose = any(len(m.parts) == 1 for m in listing.members)
    if len(tops) != 1 or loose or _is_of_a_site(listing):
        return listing
    inner = listing.below(tuple(tops))
    sources = [m for m in inner.members if m.name.lower().endswith(SUFFIX)]
    of_a_student = any(m.parts == (f"{lab}{SUFFIX}",) for m in sources)
    around = _is_of_a_site(inner) or (len(sources) > 1 and not of_a_student)
    return inner if around else listing


def _is_of_a_site(listing: Listing) -> bool:
    """Whether the names are those of a course's site, which nobody chooses by chance."""
    return any(module.OF_A_SITE and module.fits(listing) for module in _layouts())
