"""How `grader labs check` shows what a lab has to hold, and what `grader labs list` tells."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from grader.authoring.gate_lines import Line
from grader.cli.labs import rows, unrepeated
from grader.labs.reading import list_labs, load_lab
from tests.command import grader

LONG = "wrong/barrier-divergence-threads-without-an-element-wait.cu"
MANY = "draws " + ", ".join(["wrong-output", "unwritten-output", "race"] * 8)


@pytest.mark.parametrize(
    ("what", "seen", "count"),
    [
        ("solution passes", "100 of 100, 9 cases", 1),
        ("skeleton falls short", "0 of 100, told uninitialized-read", 1),
        (LONG, "74.44 of 100, line 7", 2),
        (LONG, MANY, 6),
        ("solution passes", "an escape \x1b[2J, a\nline end", 1),
        ("solution passes", "", 1),
    ],
)
@pytest.mark.parametrize("holds", [True, False])
def test_rows(what: str, seen: str, count: int, holds: bool) -> None:
    shown = rows(Line("vector-add", what, holds, seen))
    assert len(shown) == count and max(map(len, shown)) <= 80
    assert shown[0].startswith(("ok   " if holds else "FAIL ") + what)
    assert all(row.isprintable() for row in shown)
    due = seen.replace("\x1b", "\\x1b").replace("\n", "\\x0a")
    assert " ".join(" ".join(shown).split()[1:]) == f"{what} {due}".rstrip()


def test_a_fault_that_fails_every_line_is_told_once() -> None:
    fault = "labs/a/reference.py:26: the reference raised KeyError: 'q'"
    first = Line("a", "solution passes", False, fault)
    assert unrepeated(first, []) == first
    for other in (replace(first, what="quiz", lab="b"), replace(first, holds=True)):
        assert unrepeated(other, [first]) == other
    again = unrepeated(replace(first, what="wrong/x.cu"), [first])
    assert rows(again) == [f"FAIL wrong/x.cu{'for the reason told above':>65}"]
    short = replace(first, seen="draws nothing")
    assert unrepeated(short, [short]) == short


def test_the_list_as_json() -> None:
    said = grader("labs", "list", "--json", "-")
    told = {lab["name"]: lab for lab in json.loads(said.out)["labs"]}
    assert said.code == 0 and tuple(told) == list_labs()
    lab, shown = load_lab("tiled-matmul"), told["tiled-matmul"]
    assert shown["max_score"] == sum(check["points"] for check in shown["checks"]) == lab.max_score
    assert shown["cases"]["public"] + shown["cases"]["hidden"] == len(lab.cases)
    assert shown["kernels"] == ["matmul"] and shown["questions"] == len(lab.quiz)
    assert not any(case.name in said.out for case in lab.cases if case.visibility == "hidden")
