"""A finding in a function names the calls that lead there, in the text, the JSON and the pages."""

from __future__ import annotations

import pytest

from grader.grading.record import full_finding_json
from grader.launch import Call, Finding
from grader.reports.finding import finding_text
from grader.reports.page.source import margin_notes
from grader.simulator.exchange import unpack_finding
from tests.simulator.test_watch import WATCH, trace

CALLS = {
    "invalid/helper_reads_one_behind": ([], [9]),
    "invalid/inlined_helper_reads_one_behind": ([], [8, 12]),
    "race/helpers_without_barrier": ([12], [13]),
    "race/loop_tile_in_function": ([], [10]),
    "barrier/helper_waits_in_a_branch": ([], [15]),
}
"""By kernel: the lines of the calls to the other access of its first finding, and to its own."""


def first(name: str) -> Finding:
    return trace(WATCH / f"{name}.cu").findings[0]


@pytest.mark.parametrize("name", CALLS)
def test_finding_names_the_calls_that_lead_to_its_places(name: str) -> None:
    other, own = CALLS[name]
    found = first(name)
    assert [call.line for call in found.calls] == own
    assert [call.line for call in (found.other.calls if found.other else ())] == other
    text = (WATCH / f"{name}.cu").read_text().splitlines()
    assert all(call.text == text[call.line - 1].strip() for call in found.calls)


def test_report_shows_calls_below_the_access() -> None:
    lines = finding_text(first("race/helpers_without_barrier"), 120).plain.splitlines()
    words = [line.split()[0] for line in lines[1:5]]
    assert words == ["write", "called", "read", "called"]
    assert "put(s, i, x[i]);" in lines[2] and "get(s, 63 - i);" in lines[4]


def test_calls_are_in_the_record_and_the_margin() -> None:
    found = first("race/helpers_without_barrier")
    row = full_finding_json(found)
    assert row["calls"] == [{"line": 13, "text": "float v = get(s, 63 - i);", "file": ""}]
    assert row["other"]["calls"][0]["line"] == 12
    assert [note.message for note in margin_notes([found])["13"]] == ["leads to line 4"]


def test_a_finding_without_calls_is_read_from_older_processes() -> None:
    assert unpack_finding({"kind": "race", "severity": "error", "message": ""}).calls == ()
    row = {"kind": "race", "severity": "error", "message": "", "calls": [{"line": 3}]}
    assert unpack_finding(row).calls == (Call(3),)
