"""The two plots: what they draw, and where."""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element, fromstring

import pytest

from grader.reports.page.classes import histogram, histogram_svg
from grader.reports.page.student import LEFT, RIGHT, WIDTH, interval_svg
from tests.checks.test_speed import a_timing, judged

BINS = [
    ([], (0,) * 11),
    ([0.0, 8.4], (2, *[0] * 10)),
    ([8.5, 84.99], (0, 1, *[0] * 7, 1, 0)),
    ([85.0, 85.0, 90.0], (*[0] * 10, 3)),
    ([-5.0], (1, *[0] * 10)),
    ([25.5], (0, 0, 0, 1, *[0] * 7)),
]


@pytest.mark.parametrize(("points", "expected"), BINS)
def test_scores_are_counted_by_tenths(points: list[float], expected: tuple[int, ...]) -> None:
    assert histogram(points, 85) == expected


def test_a_lab_without_points_has_full_marks() -> None:
    assert histogram([0.0, 0.0], 0.0)[-1] == 2


def test_a_bar_is_as_high_as_its_count() -> None:
    svg = parsed(histogram_svg([0, 0, 0, 50, 100], 100))
    heights = [float(rect.attrib["height"]) for rect in svg.iter("rect")]
    assert heights[0] == pytest.approx(3 * heights[5], abs=0.2)
    assert heights[5] == heights[10]
    assert sum(heights) == pytest.approx(heights[0] * 5 / 3, abs=0.2)
    title = svg.find("title")
    assert title is not None and "full marks: 1" in (title.text or "")


def parsed(text: str) -> Element:
    return fromstring(text)


def places(svg: Element, kind: str) -> list[float]:
    return [float(line.attrib["x1"]) for line in svg.iter("line") if line.attrib["class"] == kind]


@pytest.mark.parametrize("speedup", [1.0, 1.3, 1.45, 2.2, 40.0])
def test_marks_median_and_interval_lie_in_order(speedup: float) -> None:
    timing = a_timing(speedup)
    measured = judged(timing).measurements
    svg = parsed(interval_svg(measured, timing.ratios))
    minimum, full = places(svg, "mark")
    low, high = places(svg, "whisker")[1:]
    circle = svg.find("circle")
    assert circle is not None
    median = float(circle.attrib["cx"])
    assert LEFT < minimum < full < WIDTH - RIGHT
    assert low <= median <= high
    for name, x in (("speedup", median), ("speedup_low", low), ("speedup_high", high)):
        assert (measured[name] < measured["minimum"]) == (x < minimum), name
        assert (measured[name] > measured["full"]) == (x > full), name
    assert len(places(svg, "pair")) > 300
    title = svg.find("title")
    assert title is not None and f"speedup {measured['speedup']:.3f}" in (title.text or "")


def test_an_interval_without_end_is_drawn_to_the_edge() -> None:
    measured = dict(judged(a_timing(1.3, pairs=3)).measurements)
    assert math.isinf(measured["speedup_high"])
    svg = parsed(interval_svg(measured))
    assert places(svg, "whisker")[1:] == [LEFT, WIDTH - RIGHT]


@pytest.mark.parametrize("lost", ["minimum", "full", "speedup"])
def test_without_a_number_there_is_no_plot(lost: str) -> None:
    measured = dict(judged(a_timing(1.3)).measurements)
    assert interval_svg(measured | {lost: math.nan}) == ""
