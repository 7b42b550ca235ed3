"""All mutants of one source: every operator's edits, named, none twice."""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from grader.authoring.mutation import operators as folder
from grader.compile.syntax import Node, Tree, parse

# What a mutant is: one edit of a source text, the rest of it byte for byte the same.


@dataclass(frozen=True)
class Edit:
    """Bytes `start` to `end` of a source become `new`. `line`, from 1, is that of what is meant,
    `change` says it in one line.
    """

    start: int
    end: int
    new: str
    line: int
    change: str


Operator = Callable[[Tree], Iterator[Edit]]
"""A way to break a program: the tree of a source -> the edits that it offers, in the text's
order."""


@dataclass(frozen=True)
class Mutant:
    """A source after one edit: `name` is `<operator>-<line>-<n>`, the same for the same source;
    `was` is the text of the edited line without its indentation, `now` what became of it, ""
    when the edit is about more than one line.
    """

    name: str
    operator: str
    line: int
    was: str
    now: str
    change: str
    source: str


def replaced(node: Node, new: str, change: str = "") -> Edit:
    """The edit that puts `new` in the place of a node."""
    said = change or f"{node.text} -> {new}"
    return Edit(node.start, node.end, new, node.line, said)


def applied(source: bytes, edit: Edit) -> bytes:
    """The source after the edit."""
    return source[: edit.start] + edit.new.encode() + source[edit.end :]


_SUFFIX = "_edits"


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
    """The mutants of a source, in the order of its lines; the same text twice is made once."""
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
    seen = {data}
    for name, edit in offered:
        mutated = applied(data, edit)
        if mutated in seen:
            continue
        seen.add(mutated)
        counts[name, edit.line] += 1
        label = f"{name}-{edit.line}-{counts[name, edit.line]}"
        was, text = lines[edit.line - 1].strip(), mutated.decode()
        yield Mutant(label, name, edit.line, was, _now(lines, text, edit), edit.change, text)


def _now(lines: list[str], mutated: str, edit: Edit) -> str:
    """The edited line as it is now, when it is the only one that differs."""
    new = mutated.splitlines()
    at = edit.line - 1
    only = new[:at] == lines[:at] and new[at + 1 :] == lines[at + 1 :]
    return new[at].strip() if only and len(new) == len(lines) else ""
