"""The scores of a class as SVG: a bar for each tenth of the points."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

BINS = 10
WIDTH, HEIGHT = 560, 180
BASE = 150
TOP = 22
LEFT = 8
STEP = (WIDTH - 2 * LEFT) // (BINS + 1)
GAP = 6


def histogram(points: Sequence[float], most: float) -> tuple[int, ...]:
    """How many scores lie in each tenth of `most`, from below; full marks, or more, have a bar of
    their own at the end."""
    counts = [0] * (BINS + 1)
    for value in points:
        share = value / most if most else 1.0
        counts[min(max(int(share * BINS + 1e-9), 0), BINS)] += 1
    return tuple(counts)


def histogram_svg(points: Sequence[float], most: float) -> Markup:
    """The distribution of scores of `most` points."""
    counts = histogram(points, most)
    svg = Element("svg", {"class": "histogram", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img"})
    told = (f"{_said(k, most)}: {count}" for k, count in enumerate(counts) if count)
    SubElement(svg, "title").text = "submissions by score: " + "; ".join(told)
    tallest = max(*counts, 1)
    for k, count in enumerate(counts):
        _bar(svg, k, count, tallest, most)
    for k in range(BINS):
        _text(svg, "tick", LEFT + k * STEP, BASE + 19, f"{k * most / BINS:g}")
    _text(svg, "tick full", LEFT + BINS * STEP + (STEP - GAP) / 2, BASE + 19, f"{most:g}")
    axis = {"x1": f"{LEFT}", "x2": f"{LEFT + (BINS + 1) * STEP - GAP}"}
    SubElement(svg, "line", {"class": "axis", **axis, "y1": f"{BASE}", "y2": f"{BASE}"})
    return Markup(tostring(svg, encoding="unicode"))


def _bar(svg: Element, k: int, count: int, tallest: int, most: float) -> None:
    height = (BASE - TOP) * count / tallest
    x, width = LEFT + k * STEP, STEP - GAP
    group = SubElement(svg, "g", {"class": "bar full" if k == BINS else "bar"})
    SubElement(group, "title").text = f"{_said(k, most)}: {count}"
    place = {"x": f"{x}", "y": f"{BASE - height:.1f}", "width": f"{width}"}
    SubElement(group, "rect", {**place, "height": f"{height:.1f}", "rx": "2"})
    if count:
        _text(group, "count", x + width / 2, BASE - height - 5, f"{count}")


def _said(k: int, most: float) -> str:
    if k == BINS:
        return "full marks"
    return f"{k * most / BINS:g} to below {(k + 1) * most / BINS:g} points"


def _text(parent: Element, kind: str, x: float, y: float, text: str) -> None:
    SubElement(parent, "text", {"class": kind, "x": f"{x:g}", "y": f"{y:g}"}).text = text
