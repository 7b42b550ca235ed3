"""A request as SVG: a strip for each sector that moves, in its cells the lanes that want them."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from grader.explain.request import Request, Sector
from grader.explain.svg import MANY, TINTS, drawing, put_text

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
