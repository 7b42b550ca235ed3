"""Thresholds of speed prove themselves: they were measured with the files that are there now."""

from __future__ import annotations

from collections.abc import Iterator

from grader.lab import Lab
from grader.labfile.thresholds import FILE, outdated, read_thresholds


def stale(lab: Lab) -> Iterator[str]:
    """Why thresholds do not hold any more, one line a device: the baseline is another one now.
    Raises LabFault for a file that cannot be read."""
    for device in outdated(read_thresholds(lab.folder), lab.baseline):
        yield (
            f"{FILE}: those of {device} were measured beside another {lab.baseline.name} and are "
            f"not used: run `grader labs calibrate {lab.name} --write` there, or remove them"
        )


def thresholds_seen(lab: Lab) -> str:
    """What sound thresholds are summed up as. Raises LabFault."""
    measured = read_thresholds(lab.folder)
    said = f"measured on {', '.join(sorted(measured))}"
    older = list(outdated(measured, lab.solution))
    if not older:
        return said
    return f"{said}; with another solution on {', '.join(older)}: calibrate again for its margin"
