"""Memory requests of one warp, and their SVG.

A request is what the lanes of a warp access in global memory at once. Memory moves 32-byte sectors:
the picture has a strip for each sector, and its cells name the lanes that use them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement

from grader import dataclass
from grader.launch import Launch
from grader.reports.explain.accesses import (
    SHARED_COLOR,
    WARP,
    WARP_COLORS,
    ThreadAccess,
    array_layout,
    drawing,
    put_text,
    thread_number,
)

SECTOR_BYTES = 32
MIN_CELL_BYTES = 4
"""Minimum bytes of a cell: narrower elements share one."""

WIDTH, HEIGHT = 160, 20
GAP, HEAD = 10, 13
SECTORS_PER_ROW = 4
"""A request of 32 adjacent floats has four sectors."""

UNUSED_COLOR = "#FFFFFF"


@dataclass(frozen=True)
class Sector:
    """One 32-byte sector: its first element's number, and the lanes that use each cell."""

    first: int
    cells: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Request:
    """The first access of each lane of one warp, at one line and to one array.

    `bytes` counts the bytes of the sectors that the lanes use.
    """

    line: int
    access: str
    variable: str
    warp: int
    lanes: int
    bytes: int
    sectors: tuple[Sector, ...]
    file: str = ""  # of the line, where it is not the submitted one

    @property
    def moved(self) -> int:
        """Bytes that memory moves."""
        return SECTOR_BYTES * len(self.sectors)


def requests(accesses: Sequence[ThreadAccess], launch: Launch) -> tuple[Request, ...]:
    """Return the first request of each line, array and kind of access to global memory.

    It is the request of the lowest warp that executes the line. `accesses` are the accesses of one
    block in the order of execution.
    """
    held: dict[tuple[int, str, str], dict[int, dict[int, ThreadAccess]]] = {}
    for access in (t for t in accesses if t.space == "global" and t.variable and t.line):
        warp, lane = divmod(thread_number(access.thread, launch.block), WARP)
        warps = held.setdefault((access.line, access.access, access.variable), {})
        warps.setdefault(warp, {}).setdefault(lane, access)
    return tuple(
        _request(key, min(warps), warps[min(warps)], array_layout(key[2], accesses, launch).item)
        for key, warps in sorted(held.items())
    )


def _request(
    key: tuple[int, str, str], warp: int, lanes: Mapping[int, ThreadAccess], item: int
) -> Request:
    """Build the request of a warp's lanes to an array with elements of `item` bytes."""
    touched = {t.offset + k for t in lanes.values() for k in range(t.bytes)}
    width = min(max(MIN_CELL_BYTES, *(t.bytes for t in lanes.values())), SECTOR_BYTES)
    cells: dict[int, list[int]] = {}
    for lane, access in sorted(lanes.items()):
        for cell in range(access.offset // width, (access.offset + access.bytes - 1) // width + 1):
            cells.setdefault(cell, []).append(lane)
    each = SECTOR_BYTES // width
    sectors = tuple(
        Sector(
            number * SECTOR_BYTES // item,
            tuple(tuple(cells.get(number * each + k, ())) for k in range(each)),
        )
        for number in sorted({cell // each for cell in cells})
    )
    return Request(*key, warp, len(lanes), len(touched), sectors)


def request_svg(request: Request) -> Element:
    """Draw all sectors of the request, in the order of their addresses."""
    rows = -(-len(request.sectors) // SECTORS_PER_ROW)
    columns = min(len(request.sectors), SECTORS_PER_ROW)
    width, height = columns * (WIDTH + GAP), rows * (HEAD + HEIGHT + GAP)
    svg = drawing(width, height, request_summary(request))
    for k, sector in enumerate(request.sectors):
        row, column = divmod(k, SECTORS_PER_ROW)
        x, y = column * (WIDTH + GAP) + 1, row * (HEAD + HEIGHT + GAP) + HEAD
        put_text(svg, x, y - 3, f"{request.variable}[{sector.first}]", {"text-anchor": "start"})
        _sector(svg, sector, x, y)
    return svg


def request_summary(request: Request) -> str:
    """Describe the request in words."""
    lanes, sectors = (
        f"{count} {word}{'s' * (count != 1)}"
        for count, word in ((request.lanes, "lane"), (len(request.sectors), "sector"))
    )
    line = f"line {request.line} of {request.file}" if request.file else f"line {request.line}"
    return (
        f"{line}, {request.access} of {request.variable} by warp {request.warp}: "
        f"{lanes}, {sectors}; {request.bytes} of {request.moved} bytes moved are used"
    )


def _sector(svg: Element, sector: Sector, x: int, y: int) -> None:
    wide = WIDTH // len(sector.cells)
    for k, lanes in enumerate(sector.cells):
        group = SubElement(svg, "g", {"class": "lane", "data-lanes": str(len(lanes))})
        fill = WARP_COLORS[0] if len(lanes) == 1 else SHARED_COLOR if lanes else UNUSED_COLOR
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
