"""A speedup's interval as SVG: every pair of launches, the 95 % interval, what earns points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

WIDTH, HEIGHT = 600, 138
LEFT, RIGHT = 16, 16
AXIS = 92
MIDDLE = 62
PAIRS = 400
"""Pairs that are drawn, at most."""


def interval_svg(measured: Mapping[str, float], ratios: Sequence[float] = ()) -> Markup:
    """The plot of a speed check's measurements; `ratios` are the pairs' own. Empty when there is
    no interval to draw."""
    ends = [measured.get(name, math.nan) for name in ("speedup_low", "speedup_high")]
    marks = [measured.get(name, math.nan) for name in ("minimum", "full", "speedup")]
    if not all(map(math.isfinite, marks)):
        return Markup("")
    scale = _scale([*marks, *filter(math.isfinite, ends), *_within(ratios)])
    low, high = (scale.at(end) for end in ends)
    said = (
        f"speedup {marks[2]:.3f}, 95 % interval {ends[0]:.3f} to {ends[1]:.3f}; points grow from "
        f"{marks[0]:g} to {marks[1]:g}"
    )
    svg = Element(
        "svg",
        {"class": "interval", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img"},
    )
    SubElement(svg, "title").text = said
    _band(svg, scale.at(marks[0]), scale.at(marks[1]))
    for ratio in ratios[:PAIRS]:
        if scale.holds(ratio):
            _line(svg, "pair", scale.at(ratio), MIDDLE - 13, scale.at(ratio), MIDDLE + 13)
    _line(svg, "axis", LEFT, AXIS, WIDTH - RIGHT, AXIS)
    for value in scale.ticks():
        _line(svg, "axis", scale.at(value), AXIS, scale.at(value), AXIS + 4)
        _text(svg, "tick", scale.at(value), AXIS + 19, f"{value:g}")
    _line(svg, "whisker", low, MIDDLE, high, MIDDLE)
    for end in (low, high):
        _line(svg, "whisker", end, MIDDLE - 7, end, MIDDLE + 7)
    _dot(svg, scale.at(marks[2]))
    _text(svg, "tick", WIDTH / 2, HEIGHT - 4, "times the baseline's speed")
    return Markup(tostring(svg, encoding="unicode"))


@dataclass(frozen=True)
class _Scale:
    """Ratios to x."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """The x of a ratio; one beyond an end, or infinite, or unknown, is drawn at that end."""
        held = self.low if math.isnan(value) else min(max(value, self.low), self.high)
        share = (held - self.low) / (self.high - self.low)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def ticks(self) -> list[float]:
        """Five to ten round numbers."""
        raw = (self.high - self.low) / 5
        power: float = 10.0 ** math.floor(math.log10(raw))
        step = max(s * power for s in (1, 2, 5) if s * power <= raw)
        first = math.ceil(self.low / step)
        return [round(k * step, 10) for k in range(first, math.floor(self.high / step) + 1)]


def _scale(values: Sequence[float]) -> _Scale:
    """The values' range, with room at both ends."""
    room = 0.1 * (max(values) - min(values)) or 0.1
    return _Scale(max(min(values) - room, 0.0), max(values) + room)


def _within(ratios: Sequence[float]) -> list[float]:
    """The middle 96 % of the pairs: a single outlier does not squeeze the rest together."""
    ordered = sorted(ratios)
    cut = len(ordered) // 50
    return ordered[cut : len(ordered) - cut]


def _band(svg: Element, minimum: float, full: float) -> None:
    width = max(full - minimum, 1)
    place = {"x": f"{minimum:g}", "y": "26", "width": f"{width:g}", "height": f"{AXIS - 26}"}
    SubElement(svg, "rect", {"class": "band", **place})
    for name, x, anchor in (("minimum", minimum, "end"), ("full", full, "start")):
        _line(svg, "mark", x, 20, x, AXIS)
        _text(svg, f"name {anchor}", x, 15, name)


def _line(svg: Element, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
    ends = {"x1": f"{x1:g}", "y1": f"{y1:g}", "x2": f"{x2:g}", "y2": f"{y2:g}"}
    SubElement(svg, "line", {"class": kind, **ends})


def _dot(svg: Element, x: float) -> None:
    SubElement(svg, "circle", {"class": "median", "cx": f"{x:g}", "cy": f"{MIDDLE}", "r": "5"})


def _text(svg: Element, kind: str, x: float, y: float, text: str) -> None:
    SubElement(svg, "text", {"class": kind, "x": f"{x:g}", "y": f"{y:g}"}).text = text
