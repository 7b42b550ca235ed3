"""All mutants of one source: every operator's edits, named, none twice."""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Iterator
from importlib import import_module

from grader.mutation import operators
from grader.mutation.edit import Edit, Mutant, Operator, applied
from grader.mutation.syntax import parse


def operator_names() -> tuple[str, ...]:
    """Every operator there is, by looking into the folder: `barrier_moved` is `barrier-moved`."""
    names = (module.name for module in pkgutil.iter_modules(operators.__path__))
    return tuple(sorted(name.replace("_", "-") for name in names))


def operator(name: str) -> Operator:
    """The operator of that name."""
    module = import_module(f"{operators.__name__}.{name.replace('-', '_')}")
    found: Operator = module.edits
    return found


def make_mutants(source: str) -> tuple[Mutant, ...]:
    """The mutants of a source, in the order of its lines; the same text twice is made once."""
    data, lines = source.encode(), source.splitlines()
    tree = parse(data)
    offered = sorted(
        ((edit.line, edit.start, name, edit) for name in operator_names()
         for edit in operator(name)(tree)),
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
