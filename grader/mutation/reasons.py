"""Why a mutant may survive: `solutions/<lab>/equivalent.yaml`, written by the lab's author.

An entry is about the mutants of one operator on the lines of one text, so that it outlives edits
elsewhere in the file. One that fits no survivor is a mistake: either the mutant is caught now, or
the line has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from grader.labfile.model import Strict
from grader.mutation.verdict import Tried
from grader.yamlfile import Document, read_document

FILE = "equivalent.yaml"


class Entry(Strict):
    """A reason: `line` is the solution's line without its indentation, `change` as the table of
    mutants shows it. `only: speed` says that a GPU's clock alone can tell the mutant."""

    operator: str
    line: str
    change: str
    reason: str = Field(min_length=10)
    only: Literal["speed"] | None = None


class Reasons(Strict):
    """The file: `mutants`, a list of entries."""

    mutants: tuple[Entry, ...]


@dataclass(frozen=True)
class Reasoned:
    """Mutants with the reasons that fit, and where each entry stands that fits none."""

    tried: tuple[Tried, ...]
    stale: tuple[str, ...] = ()


def apply_reasons(path: Path, tried: Sequence[Tried]) -> Reasoned:
    """The survivors with their reasons from the file at `path`, when there is one. Raises
    LabFault for a file that cannot be read."""
    if not path.exists():
        return Reasoned(tuple(tried))
    document = read_document(path, Reasons)
    entries: tuple[Entry, ...] = document.model.mutants
    used: set[int] = set()
    reasoned = tuple(_reasoned(one, entries, used) for one in tried)
    return Reasoned(reasoned, tuple(_stale(document, entries, used)))


def _reasoned(one: Tried, entries: Sequence[Entry], used: set[int]) -> Tried:
    if one.verdict.outcome != "survived":
        return one
    mutant = one.mutant
    for index, entry in enumerate(entries):
        if (entry.operator, entry.line, entry.change) == (
            mutant.operator,
            mutant.was,
            mutant.change,
        ):
            used.add(index)
            return replace(one, reason=entry.reason, only=entry.only or "")
    return one


def _stale(document: Document, entries: Sequence[Entry], used: set[int]) -> Iterable[str]:
    for index, entry in enumerate(entries):
        if index not in used:
            where = f"{document.file}:{document.line_of(('mutants', index))}"
            yield f"{where}: no survivor is {entry.operator} of `{entry.line}`: {entry.change}"
