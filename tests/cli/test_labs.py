"""The output of `grader labs check` and `grader labs list`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from grader.authoring.requirements import RequirementResult
from grader.cli.labs import rows, without_repetition
from grader.cli.terminal import step_display
from grader.labs.reading import list_labs, load_lab
from tests.command import grader

LONG = "wrong/barrier-divergence-threads-without-an-element-wait.cu"
MANY = "reports " + ", ".join(["wrong-output", "unwritten-output", "race"] * 8)


@pytest.mark.parametrize(
    ("what", "observed", "count"),
    [
        ("solution passes", "100 of 100, 9 cases", 1),
        ("skeleton is incomplete", "0 of 100, reports uninitialized-read", 1),
        (LONG, "74.44 of 100, line 7", 2),
        (LONG, MANY, 6),
        ("solution passes", "an escape \x1b[2J, a\nline end", 1),
        ("solution passes", "", 1),
    ],
)
@pytest.mark.parametrize("holds", [True, False])
def test_rows_fit_80_columns(what: str, observed: str, count: int, holds: bool) -> None:
    shown = rows(RequirementResult("vector-add", what, holds, observed))
    assert len(shown) == count and max(map(len, shown)) <= 80
    assert shown[0].startswith(("ok   " if holds else "FAIL ") + what)
    assert all(row.isprintable() for row in shown)
    expected = observed.replace("\x1b", "\\x1b").replace("\n", "\\x0a")
    assert " ".join(" ".join(shown).split()[1:]) == f"{what} {expected}".rstrip()


def test_fault_that_fails_every_requirement_is_shown_once() -> None:
    fault = "labs/a/reference.py:26: the reference raised KeyError: 'q'"
    first = RequirementResult("a", "solution passes", False, fault)
    assert without_repetition(first, []) == first
    for other in (replace(first, what="quiz", lab="b"), replace(first, holds=True)):
        assert without_repetition(other, [first]) == other
    again = without_repetition(replace(first, what="wrong/x.cu"), [first])
    assert rows(again) == [f"FAIL wrong/x.cu{'for the reason shown above':>65}"]
    short = replace(first, observed="reports nothing")
    assert without_repetition(short, [short]) == short


def test_list_as_json() -> None:
    result = grader("labs", "list", "--json", "-")
    listed = {lab["name"]: lab for lab in json.loads(result.out)["labs"]}
    assert result.code == 0 and tuple(listed) == list_labs()
    lab, shown = load_lab("tiled-matmul"), listed["tiled-matmul"]
    assert shown["max_score"] == sum(check["points"] for check in shown["checks"]) == lab.max_score
    assert shown["cases"]["public"] + shown["cases"]["hidden"] == len(lab.cases)
    assert shown["kernels"] == ["matmul"] and shown["questions"] == len(lab.quiz)
    assert not any(case.name in result.out for case in lab.cases if case.visibility == "hidden")


def test_a_long_command_shows_progress_in_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([0.0, 4.0, 11.0, 12.0, 22.0])
    monkeypatch.setattr("grader.cli.terminal.time.monotonic", lambda: next(now))
    watch = step_display(10.0)
    for step in ("one", "two", "three", "four"):
        watch(step)
    assert capsys.readouterr().err.count("...") == 2
