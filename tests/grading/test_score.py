"""Points: what counts, what is left out, and when a grade is incomplete."""

from __future__ import annotations

import pytest

from grader.grading.record import Score, total_score
from tests.made import a_result

TABLE = [
    ("nothing", [], Score(0, 0, 0, "graded")),
    ("all pass", [("pass", 40, 40), ("pass", 15, 15)], Score(55, 55, 55, "graded")),
    ("a part", [("fail", 26.67, 40), ("pass", 15, 15)], Score(41.67, 55, 55, "graded")),
    ("fail", [("pass", 40, 40), ("fail", 0, 15)], Score(40, 55, 55, "graded")),
    ("blocked", [("fail", 0, 40), ("blocked", 0, 15)], Score(0, 55, 55, "graded")),
    ("unjudged", [("pass", 40, 40), ("unjudged", 0, 15)], Score(40, 40, 55, "graded")),
    ("error", [("pass", 40, 40), ("error", 0, 15)], Score(40, 40, 55, "incomplete")),
    ("all error", [("error", 0, 40), ("error", 0, 15)], Score(0, 0, 55, "incomplete")),
    ("no points", [("pass", 0, 0), ("pass", 40, 40)], Score(40, 40, 40, "graded")),
]


@pytest.mark.parametrize(("rows", "score"), [t[1:] for t in TABLE], ids=[t[0] for t in TABLE])
def test_total(rows: list[tuple[str, float, float]], score: Score) -> None:
    assert total_score(a_result("c", s, points, most) for s, points, most in rows) == score


def test_an_error_never_costs_points() -> None:
    passed, failed = a_result("output", "pass", 40, 40), a_result("sync", "error", 0, 15)
    score = total_score([passed, failed])
    assert score.points == score.judged_max
