"""One panel as SVG: a cell an element, in it the thread that touches it, or how many do."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from grader.explain.picture import WRAPPED, Cell, Panel
from grader.launch import Dim3

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
