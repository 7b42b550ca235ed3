"""One panel as SVG: a cell an element, in it the thread that touches it, or how many do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from grader.faults import LabFault
from grader.launch import Array, Dim3, Launch, Trace

# The access table of a launch as values that are easy to ask questions of.


@dataclass(frozen=True)
class Touch:
    """One access of one thread. `offset` and `bytes` are in bytes of the variable, `number` is the
    element's, in steps of `bytes`; `phase` is how many barriers its block had passed.
    """

    block: Dim3
    thread: Dim3
    line: int
    access: str
    space: str
    variable: str
    element: str
    offset: int
    bytes: int
    phase: int

    @property
    def number(self) -> int:
        return self.offset // max(self.bytes, 1)


def touches(trace: Trace, block: Dim3 | None = None) -> tuple[Touch, ...]:
    """All accesses, or one block's, in the order of execution, but for those of a thread's own
    local memory. Raises LabFault when the launch was not traced.
    """
    if trace.accesses is None:
        raise LabFault("the launch has no access table", fix="it did not end, or is not small")
    rows = trace.accesses[trace.accesses["space"] != "local"]
    if block is not None:
        rows = rows[(rows["block"] == block).all(axis=1)]
    return tuple(_touches(rows))


def _touches(rows: NDArray[np.void]) -> Iterator[Touch]:
    for row in rows:
        yield Touch(
            _dim3(row["block"]),
            _dim3(row["thread"]),
            int(row["line"]),
            str(row["access"]),
            str(row["space"]),
            str(row["variable"]),
            str(row["element"]),
            int(row["offset"]),
            int(row["bytes"]),
            int(row["phase"]),
        )


def _dim3(values: NDArray[np.int32]) -> Dim3:
    x, y, z = (int(v) for v in values)
    return x, y, z


# What is drawn of one block's accesses: a panel for each phase, array and sort of access.

WRAPPED = 32
"""Elements in a row of an array that has one dimension only."""

ORDER = ("read", "write", "atomic")
_INDEX = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True)
class Cell:
    """One element: its place in the panel, its name, the threads that touch it and how often
    they do, the lines where.
    """

    row: int
    column: int
    element: str
    threads: tuple[Dim3, ...]
    times: int
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Panel:
    """The elements of one array that one block touches in one way between two barriers; `phase`
    is how many barriers it had passed.
    """

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


CELL = 27
MARGIN = 26
MOST = 64
"""Rows and columns of a panel that are drawn, at most."""

NAMED = 12
"""Threads of an element that its tooltip names."""

TINTS = ("#8CCBF0", "#F2C14E", "#6CC9AE", "#E3A9CB", "#F6E58D", "#C9B6E4", "#F2A27E", "#B9D98B")
"""One a warp, in turn; each cell says its thread too."""

MANY = "#D5D5D5"
WARP = 32
TEXT = {"font-family": "DejaVu Sans, sans-serif", "font-size": "9", "text-anchor": "middle"}


def panel_svg(panel: Panel, block: Dim3) -> Element:
    """The part of the array that is touched, MOST x MOST elements of it at most."""
    (top, bottom), (left, right) = panel.rows, panel.columns
    rows, columns = min(bottom - top + 1, MOST), min(right - left + 1, MOST)
    width, height = MARGIN + columns * CELL + 1, MARGIN + rows * CELL + 1
    svg = drawing(width, height, summary(panel))
    _numbers(svg, top, left, rows, columns, wrapped=panel.wrapped)
    for cell in panel.cells:
        row, column = cell.row - top, cell.column - left
        if row < rows and column < columns:
            _cell(svg, cell, MARGIN + column * CELL, MARGIN + row * CELL, block)
    return svg


def drawing(width: int, height: int, title: str) -> Element:
    """An empty picture of so many pixels; `title` is its alternative text."""
    svg = Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
        role="img",
        attrib=TEXT,
    )
    SubElement(svg, "title").text = title
    return svg


def summary(panel: Panel) -> str:
    """The panel in words: its alternative text."""
    return f"phase {panel.phase}: {panel.access} of {panel.space} {panel.variable}: {counts(panel)}"


def counts(panel: Panel) -> str:
    """How much the panel shows."""
    threads = {thread for cell in panel.cells for thread in cell.threads}
    times = sum(cell.times for cell in panel.cells)
    numbers = {"element": len(panel.cells), "thread": len(threads)}
    told = [f"{count:,} {word}{'s' * (count != 1)}" for word, count in numbers.items()]
    return f"{', '.join(told)}, {times:,} accesses of elements"


def _numbers(svg: Element, top: int, left: int, rows: int, columns: int, *, wrapped: bool) -> None:
    for row in range(rows):
        text = (top + row) * (WRAPPED if wrapped else 1)
        put_text(svg, MARGIN - 4, MARGIN + row * CELL + 17, str(text), {"text-anchor": "end"})
    for column in range(columns):
        put_text(svg, MARGIN + column * CELL + CELL // 2, MARGIN - 6, str(left + column), {})


def _cell(svg: Element, cell: Cell, x: int, y: int, block: Dim3) -> None:
    one = cell.threads[0] if len(cell.threads) == 1 else None
    group = SubElement(
        svg,
        "g",
        {
            "class": "cell",
            "data-element": cell.element,
            "data-threads": str(len(cell.threads)),
            "data-times": str(cell.times),
        },
    )
    SubElement(group, "title").text = told(cell, block)
    SubElement(
        group,
        "rect",
        x=str(x),
        y=str(y),
        width=str(CELL),
        height=str(CELL),
        fill=TINTS[thread_number(one, block) // WARP % len(TINTS)] if one else MANY,
        stroke="#222222",
        attrib={"stroke-width": "0.6"},
    )
    text = thread_name(one, block) if one else f"×{len(cell.threads)}"
    put_text(group, x + CELL // 2, y + 17, text, {"font-size": "7"} if len(text) > 5 else {})


def put_text(parent: Element, x: int, y: int, text: str, style: dict[str, str]) -> None:
    """Text with its baseline at y, centred at x unless the style says otherwise."""
    SubElement(parent, "text", {"x": str(x), "y": str(y), **style}).text = text


def told(cell: Cell, block: Dim3) -> str:
    """What the tooltip says: element, threads, lines."""
    named = " ".join(f"({thread_name(t, block)})" for t in cell.threads[:NAMED])
    more = f" and {len(cell.threads) - NAMED} more" if len(cell.threads) > NAMED else ""
    lines = ", ".join(map(str, cell.lines))
    word = "line" if len(cell.lines) == 1 else "lines"
    return f"{cell.element}: {cell.times} times, thread {named}{more}, {word} {lines}"


def thread_name(thread: Dim3, block: Dim3) -> str:
    """`3,1`: as many indices as the block has dimensions."""
    dimensions = max((axis + 1 for axis in range(3) if block[axis] > 1), default=1)
    return ",".join(str(v) for v in thread[:dimensions])


def thread_number(thread: Dim3, block: Dim3) -> int:
    """A thread's number in its block: x runs fastest."""
    return (thread[2] * block[1] + thread[1]) * block[0] + thread[0]
