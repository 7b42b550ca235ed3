"""What is drawn of one block's accesses: a panel for each phase, array and sort of access."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from grader.explain.touches import Touch
from grader.launch import Array, Dim3, Launch

WRAPPED = 32
"""Elements in a row of an array that has one dimension only."""

ORDER = ("read", "write", "atomic")
_INDEX = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True)
class Cell:
    """One element: its place in the panel, its name, the threads that touch it and how often
    they do, the lines where."""

    row: int
    column: int
    element: str
    threads: tuple[Dim3, ...]
    times: int
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Panel:
    """The elements of one array that one block touches in one way between two barriers; `phase`
    is how many barriers it had passed."""

    phase: int
    space: str
    variable: str
    access: str
    cells: tuple[Cell, ...]
    wrapped: bool = False

    @property
    def rows(self) -> tuple[int, int]:
        """The first and last row that is touched."""
        return min(c.row for c in self.cells), max(c.row for c in self.cells)

    @property
    def columns(self) -> tuple[int, int]:
        """The first and last column that is touched."""
        return min(c.column for c in self.cells), max(c.column for c in self.cells)


@dataclass(frozen=True)
class Layout:
    """How an array's elements lie: bytes of one, and how many make a row (0: one dimension)."""

    item: int
    row: int = 0

    def place(self, number: int) -> tuple[int, int]:
        """Row and column of an element in a panel."""
        return divmod(number, self.row or WRAPPED)


@dataclass
class _Seen:
    threads: Counter[Dim3] = field(default_factory=Counter)
    lines: set[int] = field(default_factory=set)


def panels(seen: Sequence[Touch], launch: Launch) -> tuple[Panel, ...]:
    """The panels in the order of phases, reads before writes; local memory has none."""
    shown = [t for t in seen if t.space in ("global", "shared", "const") and t.variable]
    layouts = {name: layout_of(name, shown, launch) for name in {t.variable for t in shown}}
    grouped: dict[tuple[int, int, str, str], dict[int, _Seen]] = {}
    for touch in shown:
        key = touch.phase, ORDER.index(touch.access), touch.space, touch.variable
        held = grouped.setdefault(key, {})
        for number in _elements(touch, layouts[touch.variable]):
            entry = held.setdefault(number, _Seen())
            entry.threads[touch.thread] += 1
            entry.lines.add(touch.line)
    return tuple(
        Panel(phase, space, variable, ORDER[access], _cells(variable, held, layouts[variable]),
              not layouts[variable].row)
        for (phase, access, space, variable), held in sorted(grouped.items(), key=lambda i: i[0])
    )  # fmt: skip


def _cells(variable: str, held: Mapping[int, _Seen], layout: Layout) -> tuple[Cell, ...]:
    cells = []
    for number, entry in sorted(held.items()):
        row, column = layout.place(number)
        name = f"{variable}[{row}][{column}]" if layout.row else f"{variable}[{number}]"
        threads = tuple(sorted(entry.threads, key=lambda t: t[::-1]))
        times = sum(entry.threads.values())
        cells.append(Cell(row, column, name, threads, times, tuple(sorted(entry.lines))))
    return tuple(cells)


def _elements(touch: Touch, layout: Layout) -> range:
    first = touch.offset // layout.item
    return range(first, first + max(touch.bytes // layout.item, 1))


def layout_of(variable: str, seen: Iterable[Touch], launch: Launch) -> Layout:
    """An argument's layout is its array's; another variable's shows in its elements' indices."""
    for argument in (*launch.args, *_variables(launch)):
        if argument.name == variable and isinstance(argument, Array):
            shape = argument.shape
            return Layout(np.dtype(argument.dtype).itemsize, shape[-1] if len(shape) > 1 else 0)
    own = [t for t in seen if t.variable == variable]
    item = min(max(t.bytes, 1) for t in own)
    return Layout(item, _row_length(own, item))


def _variables(launch: Launch) -> tuple[Array, ...]:
    return tuple(Array(n, a.shape, a.dtype.name) for n, a in launch.globals.items())


def _row_length(seen: Iterable[Touch], item: int) -> int:
    """Elements a row of an array with several dimensions, out of `As[2][1]` and its offset."""
    for touch in seen:
        indices = [int(index) for index in _INDEX.findall(touch.element)]
        if len(indices) == 2 and indices[0]:
            return (touch.offset // item - indices[1]) // indices[0]
    flat = all(len(_INDEX.findall(touch.element)) < 2 for touch in seen)
    return 0 if flat else max(touch.offset // item for touch in seen) + 1
