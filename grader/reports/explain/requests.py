"""A request as SVG: a strip for each sector that moves, in its cells the lanes that want them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from grader.launch import Launch
from grader.reports.explain.accesses import (
    MANY,
    TINTS,
    WARP,
    Touch,
    drawing,
    layout_of,
    put_text,
    thread_number,
)

# One request of each line: what the lanes of a warp touch of global memory at once, in the sectors
# that move for it.

SECTOR = 32
LEAST = 4
"""Bytes of a cell, at least: narrower elements share one."""


@dataclass(frozen=True)
class Sector:
    """32 bytes that move together: the first element's number, and for each cell of it the lanes
    that touch it, none where it moves for nothing.
    """

    first: int
    cells: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Request:
    """The first access of each lane of one warp, at one line and to one array. `bytes` is what the
    lanes touch of the sectors.
    """

    line: int
    access: str
    variable: str
    warp: int
    lanes: int
    bytes: int
    sectors: tuple[Sector, ...]

    @property
    def moved(self) -> int:
        """Bytes that move."""
        return SECTOR * len(self.sectors)


def requests(seen: Sequence[Touch], launch: Launch) -> tuple[Request, ...]:
    """The first request of each line, array and sort of access to global memory, of the first warp
    that comes there; `seen` are the touches of one block in the order of execution.
    """
    held: dict[tuple[int, str, str], dict[int, dict[int, Touch]]] = {}
    for touch in (t for t in seen if t.space == "global" and t.variable and t.line):
        warp, lane = divmod(thread_number(touch.thread, launch.block), WARP)
        warps = held.setdefault((touch.line, touch.access, touch.variable), {})
        warps.setdefault(warp, {}).setdefault(lane, touch)
    return tuple(
        _request(key, min(warps), warps[min(warps)], layout_of(key[2], seen, launch).item)
        for key, warps in sorted(held.items())
    )


def _request(
    key: tuple[int, str, str], warp: int, lanes: Mapping[int, Touch], item: int
) -> Request:
    """The request of a warp's lanes to an array of elements of `item` bytes."""
    touched = {t.offset + k for t in lanes.values() for k in range(t.bytes)}
    width = min(max(LEAST, *(t.bytes for t in lanes.values())), SECTOR)
    cells: dict[int, list[int]] = {}
    for lane, touch in sorted(lanes.items()):
        for cell in range(touch.offset // width, (touch.offset + touch.bytes - 1) // width + 1):
            cells.setdefault(cell, []).append(lane)
    each = SECTOR // width
    sectors = tuple(
        Sector(
            number * SECTOR // item,
            tuple(tuple(cells.get(number * each + k, ())) for k in range(each)),
        )
        for number in sorted({cell // each for cell in cells})
    )
    return Request(*key, warp, len(lanes), len(touched), sectors)


WIDTH, HEIGHT = 160, 20
GAP, HEAD = 10, 13
ACROSS = 4
"""Sectors beside each other: a request of 32 neighbouring floats has four."""

NOTHING = "#FFFFFF"


def request_svg(request: Request) -> Element:
    """All sectors of the request, in the order of their addresses."""
    rows = -(-len(request.sectors) // ACROSS)
    columns = min(len(request.sectors), ACROSS)
    width, height = columns * (WIDTH + GAP), rows * (HEAD + HEIGHT + GAP)
    svg = drawing(width, height, said(request))
    for k, sector in enumerate(request.sectors):
        row, column = divmod(k, ACROSS)
        x, y = column * (WIDTH + GAP) + 1, row * (HEAD + HEIGHT + GAP) + HEAD
        put_text(svg, x, y - 3, f"{request.variable}[{sector.first}]", {"text-anchor": "start"})
        _sector(svg, sector, x, y)
    return svg


def said(request: Request) -> str:
    """The request in words."""
    lanes, sectors = (
        f"{count} {word}{'s' * (count != 1)}"
        for count, word in ((request.lanes, "lane"), (len(request.sectors), "sector"))
    )
    return (
        f"line {request.line}, {request.access} of {request.variable} by warp {request.warp}: "
        f"{lanes}, {sectors}; {request.bytes} of {request.moved} bytes that move are used"
    )


def _sector(svg: Element, sector: Sector, x: int, y: int) -> None:
    wide = WIDTH // len(sector.cells)
    for k, lanes in enumerate(sector.cells):
        group = SubElement(svg, "g", {"class": "lane", "data-lanes": str(len(lanes))})
        fill = TINTS[0] if len(lanes) == 1 else MANY if lanes else NOTHING
        SubElement(
            group,
            "rect",
            x=str(x + k * wide),
            y=str(y),
            width=str(wide),
            height=str(HEIGHT),
            fill=fill,
            stroke="#222222",
            attrib={"stroke-width": "0.6"},
        )
        text = str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}" if lanes else ""
        put_text(group, x + k * wide + wide // 2, y + 14, text, {})
