"""Panels of one block's accesses, and their SVG.

A panel shows the elements of one array that one block accesses in one way between two barriers. A
cell is one element; it names the thread that accesses it, or how many threads do. `thread_accesses`
reads a launch's access table, `panels` groups the accesses, `panel_svg` draws one panel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, regex
from grader.faults import LabFault
from grader.launch import Array, Dim3, Launch, Trace

ROW_LENGTH = 32
"""Elements in a row of a panel when the array has one dimension."""

ORDER = ("read", "write", "atomic")
_INDEX = regex(r"\[(\d+)\]")

CELL = 27
MARGIN = 26
MAX_SIDE = 64
"""Maximum number of rows and columns of a panel that are drawn."""

MAX_NAMED = 12
"""Maximum number of an element's threads that its tooltip names."""

WARP_COLORS = (
    "#8CCBF0", "#F2C14E", "#6CC9AE", "#E3A9CB", "#F6E58D", "#C9B6E4", "#F2A27E", "#B9D98B",
)  # fmt: skip
"""One color per warp, in turn; each cell names its thread too."""

SHARED_COLOR = "#D5D5D5"
"""The color of an element that several threads access."""

WARP = 32
TEXT = {"font-family": "DejaVu Sans, sans-serif", "font-size": "9", "text-anchor": "middle"}


@dataclass(frozen=True)
class ThreadAccess:
    """One access of one thread.

    `offset` and `bytes` are in bytes of the variable. `phase` counts the barriers that the block
    has passed.
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
        """The element's number, in steps of `bytes`."""
        return self.offset // max(self.bytes, 1)


def thread_accesses(
    trace: Trace, block: Dim3 | None = None, phases: int | None = None
) -> tuple[ThreadAccess, ...]:
    """Return all accesses, or one block's, in the order of execution, except to local memory.

    With `phases`, those of later phases are left out, except to global memory.

    Raises:
        LabFault: The launch was not traced.
    """
    if trace.accesses is None:
        fix = "Trace a smaller launch, and one that ends."
        raise LabFault("the launch has no access table", fix=fix)
    rows = trace.accesses[trace.accesses["space"] != "local"]
    if block is not None:
        rows = rows[(rows["block"] == block).all(axis=1)]
    if phases is not None:
        rows = rows[(rows["phase"] < phases) | (rows["space"] == "global")]
    return tuple(_accesses(rows))


def _accesses(rows: NDArray[np.void]) -> Iterator[ThreadAccess]:
    """Yield the rows; whole columns become Python's values at once, ten times as fast."""
    places = (map(tuple, rows[name].tolist()) for name in ("block", "thread"))
    names = ("line", "access", "space", "variable", "element", "offset", "bytes", "phase")
    return map(ThreadAccess, *places, *(rows[name].tolist() for name in names))


@dataclass(frozen=True)
class Cell:
    """One element: its place in the panel, name, threads, number of accesses and their lines."""

    row: int
    column: int
    element: str
    threads: tuple[Dim3, ...]
    times: int
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Panel:
    """The elements of one array that one block accesses in one way between two barriers.

    `phase` counts the barriers that the block has passed. `wrapped`: the array has one dimension,
    shown in rows of ROW_LENGTH.
    """

    phase: int
    space: str
    variable: str
    access: str
    cells: tuple[Cell, ...]
    wrapped: bool = False

    @property
    def rows(self) -> tuple[int, int]:
        """The first and last row that is accessed."""
        return min(c.row for c in self.cells), max(c.row for c in self.cells)

    @property
    def columns(self) -> tuple[int, int]:
        """The first and last column that is accessed."""
        return min(c.column for c in self.cells), max(c.column for c in self.cells)


@dataclass(frozen=True)
class Layout:
    """The layout of an array: bytes per element and elements per row (0: one dimension)."""

    item: int
    row: int = 0

    def place(self, number: int) -> tuple[int, int]:
        """Return the row and column of an element in a panel."""
        return divmod(number, self.row or ROW_LENGTH)


@dataclass
class _ElementAccesses:
    threads: Counter[Dim3] = field(default_factory=Counter)
    lines: set[int] = field(default_factory=set)


def panels(accesses: Sequence[ThreadAccess], launch: Launch) -> tuple[Panel, ...]:
    """Group accesses into panels, in the order of phases, reads before writes."""
    shown = [t for t in accesses if t.space in ("global", "shared", "const") and t.variable]
    layouts = {name: array_layout(name, shown, launch) for name in {t.variable for t in shown}}
    grouped: dict[tuple[int, int, str, str], dict[int, _ElementAccesses]] = {}
    for access in shown:
        key = access.phase, ORDER.index(access.access), access.space, access.variable
        held = grouped.setdefault(key, {})
        for number in _elements(access, layouts[access.variable]):
            entry = held.setdefault(number, _ElementAccesses())
            entry.threads[access.thread] += 1
            entry.lines.add(access.line)
    return tuple(
        Panel(phase, space, variable, ORDER[access], _cells(variable, held, layouts[variable]),
              not layouts[variable].row)
        for (phase, access, space, variable), held in sorted(grouped.items(), key=lambda i: i[0])
    )  # fmt: skip


def _cells(variable: str, held: Mapping[int, _ElementAccesses], layout: Layout) -> tuple[Cell, ...]:
    cells = []
    for number, entry in sorted(held.items()):
        row, column = layout.place(number)
        name = f"{variable}[{row}][{column}]" if layout.row else f"{variable}[{number}]"
        threads = tuple(sorted(entry.threads, key=lambda t: t[::-1]))
        times = sum(entry.threads.values())
        cells.append(Cell(row, column, name, threads, times, tuple(sorted(entry.lines))))
    return tuple(cells)


def _elements(access: ThreadAccess, layout: Layout) -> range:
    first = access.offset // layout.item
    return range(first, first + max(access.bytes // layout.item, 1))


def array_layout(variable: str, accesses: Iterable[ThreadAccess], launch: Launch) -> Layout:
    """Return the layout of an argument or `__device__` array, otherwise infer it from indices."""
    for argument in (*launch.args, *_variables(launch)):
        if argument.name == variable and isinstance(argument, Array):
            shape = argument.shape
            return Layout(np.dtype(argument.dtype).itemsize, shape[-1] if len(shape) > 1 else 0)
    own = [t for t in accesses if t.variable == variable]
    item = min(max(t.bytes, 1) for t in own)
    return Layout(item, _row_length(own, item))


def _variables(launch: Launch) -> tuple[Array, ...]:
    return tuple(Array(n, a.shape, a.dtype.name) for n, a in launch.globals.items())


def _row_length(accesses: Iterable[ThreadAccess], item: int) -> int:
    """Infer the elements per row of a multi-dimensional array from `As[2][1]` and its offset."""
    for access in accesses:
        indices = [int(index) for index in _INDEX.findall(access.element)]
        if len(indices) == 2 and indices[0]:
            return (access.offset // item - indices[1]) // indices[0]
    flat = all(len(_INDEX.findall(access.element)) < 2 for access in accesses)
    return 0 if flat else max(access.offset // item for access in accesses) + 1


def panel_svg(panel: Panel, block: Dim3, place: Callable[[int], str] = str) -> Element:
    """Draw the accessed part of the array, at most MAX_SIDE x MAX_SIDE elements.

    `place` returns how a line is named.
    """
    (top, bottom), (left, right) = panel.rows, panel.columns
    rows, columns = min(bottom - top + 1, MAX_SIDE), min(right - left + 1, MAX_SIDE)
    width, height = MARGIN + columns * CELL + 1, MARGIN + rows * CELL + 1
    svg = drawing(width, height, panel_summary(panel))
    _axis_numbers(svg, top, left, rows, columns, wrapped=panel.wrapped)
    for cell in panel.cells:
        row, column = cell.row - top, cell.column - left
        if row < rows and column < columns:
            tooltip = cell_tooltip(cell, block, place)
            _cell(svg, cell, MARGIN + column * CELL, MARGIN + row * CELL, tooltip, block)
    return svg


def drawing(width: int, height: int, title: str) -> Element:
    """Return an empty SVG picture, in pixels; `title` is its alternative text."""
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


def panel_summary(panel: Panel) -> str:
    """Describe the panel in words: its alternative text."""
    what = f"{panel.access} of {panel.space} {panel.variable}"
    return f"phase {panel.phase}: {what}: {panel_counts(panel)}"


def panel_counts(panel: Panel) -> str:
    """Count the panel's elements, threads and accesses."""
    threads = {thread for cell in panel.cells for thread in cell.threads}
    times = sum(cell.times for cell in panel.cells)
    numbers = {"element": len(panel.cells), "thread": len(threads)}
    parts = [f"{count:,} {word}{'s' * (count != 1)}" for word, count in numbers.items()]
    return f"{', '.join(parts)}, {times:,} accesses"


def _axis_numbers(
    svg: Element, top: int, left: int, rows: int, columns: int, *, wrapped: bool
) -> None:
    for row in range(rows):
        text = (top + row) * (ROW_LENGTH if wrapped else 1)
        put_text(svg, MARGIN - 4, MARGIN + row * CELL + 17, str(text), {"text-anchor": "end"})
    for column in range(columns):
        put_text(svg, MARGIN + column * CELL + CELL // 2, MARGIN - 6, str(left + column), {})


def _cell(svg: Element, cell: Cell, x: int, y: int, tooltip: str, block: Dim3) -> None:
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
    SubElement(group, "title").text = tooltip
    SubElement(
        group,
        "rect",
        x=str(x),
        y=str(y),
        width=str(CELL),
        height=str(CELL),
        fill=WARP_COLORS[thread_number(one, block) // WARP % len(WARP_COLORS)]
        if one
        else SHARED_COLOR,
        stroke="#222222",
        attrib={"stroke-width": "0.6"},
    )
    text = thread_name(one, block) if one else f"×{len(cell.threads)}"
    put_text(group, x + CELL // 2, y + 17, text, {"font-size": "7"} if len(text) > 5 else {})


def put_text(parent: Element, x: int, y: int, text: str, style: dict[str, str]) -> None:
    """Add text with its baseline at y, centered at x unless the style says otherwise."""
    SubElement(parent, "text", {"x": str(x), "y": str(y), **style}).text = text


def cell_tooltip(cell: Cell, block: Dim3, place: Callable[[int], str] = str) -> str:
    """Return the tooltip: element, threads, lines."""
    named = " ".join(f"({thread_name(t, block)})" for t in cell.threads[:MAX_NAMED])
    more = f" and {len(cell.threads) - MAX_NAMED} more" if len(cell.threads) > MAX_NAMED else ""
    lines = ", ".join(map(place, cell.lines))
    word = "line" if len(cell.lines) == 1 else "lines"
    return f"{cell.element}: {cell.times} times, thread {named}{more}, {word} {lines}"


def thread_name(thread: Dim3, block: Dim3) -> str:
    """Return `3,1`: as many indices as the block has dimensions."""
    dimensions = max((axis + 1 for axis in range(3) if block[axis] > 1), default=1)
    return ",".join(str(v) for v in thread[:dimensions])


def thread_number(thread: Dim3, block: Dim3) -> int:
    """Return a thread's linear index in its block; x varies fastest."""
    return (thread[2] * block[1] + thread[1]) * block[0] + thread[0]
