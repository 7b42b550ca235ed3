"""Make the mutants of a source: the edits of every operator, named, without duplicates."""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from grader.authoring.mutation import operators as folder
from grader.compile.syntax import Node, Tree, parse


@dataclass(frozen=True)
class Edit:
    """One edit of a source text; the rest stays the same, byte for byte.

    Attributes:
        start: The first byte to replace.
        end: The byte after the last one to replace.
        new: The text to put there.
        line: The line of the edited construct, from 1.
        change: The edit in one line, for people.
    """

    start: int
    end: int
    new: str
    line: int
    change: str


_SUFFIX = "_edits"

Operator = Callable[[Tree], Iterator[Edit]]
"""A function that takes the syntax tree of a source and yields edits, in the order of the text."""


@dataclass(frozen=True)
class Mutant:
    """A source after one edit.

    Attributes:
        name: `<operator>-<line>-<n>`, the same for the same source.
        was: The edited line before the edit, without indentation.
        now: The line after the edit; empty when the edit changes several lines.
        change: The edit in one line.
        source: The whole text after the edit.
    """

    name: str
    operator: str
    line: int
    was: str
    now: str
    change: str
    source: str


def replaced(node: Node, new: str, change: str = "") -> Edit:
    """Return the edit that replaces a node by `new`."""
    change = change or f"{node.text} -> {new}"
    return Edit(node.start, node.end, new, node.line, change)


def applied(source: bytes, edit: Edit) -> bytes:
    """Return the source after the edit."""
    return source[: edit.start] + edit.new.encode() + source[edit.end :]


def operators() -> Mapping[str, Operator]:
    """Find every mutation operator by its name, `barrier-moved` for `barrier_moved_edits`.

    An operator is a function whose name ends in `_edits`, in any module of the folder `operators`.
    """
    return {
        name.removesuffix(_SUFFIX).replace("_", "-"): function
        for info in pkgutil.iter_modules(folder.__path__)
        for name, function in vars(import_module(f"{folder.__name__}.{info.name}")).items()
        if name.endswith(_SUFFIX)
    }


def make_mutants(source: str) -> tuple[Mutant, ...]:
    """Return the mutants of a source, in the order of its lines, without equal texts."""
    data, lines = source.encode(), source.splitlines()
    tree = parse(source)
    offered = sorted(
        ((edit.line, edit.start, name, edit) for name, edits in operators().items()
         for edit in edits(tree)),
        key=lambda row: row[:3],
    )  # fmt: skip
    return tuple(_named(data, lines, ((name, edit) for _, _, name, edit in offered)))


def _named(data: bytes, lines: list[str], offered: Iterator[tuple[str, Edit]]) -> Iterator[Mutant]:
    counts: Counter[tuple[str, int]] = Counter()
    made = {data}
    for name, edit in offered:
        mutated = applied(data, edit)
        if mutated in made:
            continue
        made.add(mutated)
        counts[name, edit.line] += 1
        label = f"{name}-{edit.line}-{counts[name, edit.line]}"
        was, text = lines[edit.line - 1].strip(), mutated.decode()
        yield Mutant(label, name, edit.line, was, _now(lines, text, edit), edit.change, text)


def _now(lines: list[str], mutated: str, edit: Edit) -> str:
    """Return the edited line after the edit; empty when other lines changed too."""
    new = mutated.splitlines()
    at = edit.line - 1
    only = new[:at] == lines[:at] and new[at + 1 :] == lines[at + 1 :]
    return new[at].strip() if only and len(new) == len(lines) else ""
