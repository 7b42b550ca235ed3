"""Two submissions compared: findings follow their lines, and nothing depends on bare numbers."""

from __future__ import annotations

import difflib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.grading.cost import Cost
from grader.launch import Finding
from grader.reports.revisions import CounterPair, Revision, aligned, compare_revisions
from tests.made import a_grade, a_result

OLD = ["a", "b", "c", "for", "  x", "}", "d", "e"]


def revision(lines: list[str], *findings: tuple[str, int], **more: Any) -> Revision:
    found = tuple(Finding(k, "error", f"{k} here", line=n, file="a.cu") for k, n in findings)
    check = a_result("memory", "fail" if found else "pass", 0 if found else 15, findings=found)
    return Revision("\n".join(lines) + "\n", a_grade(check, file="a.cu", **more))


def states(old: Revision, new: Revision) -> set[tuple[str, str, int, int]]:
    found = compare_revisions(old, new).findings
    return {(one.state, one.finding.kind, one.old, one.new) for one in found}


def test_findings_follow_their_lines() -> None:
    old = revision(OLD, ("race", 5), ("spill", 2), ("timeout", 7))
    new = revision(["top", "", *OLD[:1], "B", *OLD[2:6], "e"], ("race", 7), ("spill", 4))
    assert states(old, new) == {
        ("remaining", "race", 5, 7),  # moved down by inserted lines
        ("remaining", "spill", 2, 4),  # its line was edited
        ("gone", "timeout", 7, 0),  # its line was removed
    }


def test_a_line_that_was_moved_elsewhere_keeps_its_finding() -> None:
    new = ["d", "e", *OLD[:6]]
    assert states(revision(OLD, ("race", 7)), revision(new, ("race", 1))) == {
        ("remaining", "race", 7, 1)
    }


def test_the_same_number_at_another_line_is_another_finding() -> None:
    new = ["w", *OLD]
    assert states(revision(OLD, ("race", 2)), revision(new, ("race", 2))) == {
        ("gone", "race", 2, 0),
        ("new", "race", 0, 2),
    }


def test_another_kind_at_the_line_is_new_and_counts_are_kept() -> None:
    assert states(revision(OLD, ("race", 2)), revision(OLD, ("spill", 2))) == {
        ("gone", "race", 2, 0),
        ("new", "spill", 0, 2),
    }
    assert states(revision(OLD, ("cheat", 0)), revision(OLD, ("cheat", 0))) == {
        ("remaining", "cheat", 0, 0)
    }
    twice = revision(OLD, ("race", 2), ("race", 3))
    assert states(twice, revision(OLD, ("race", 2))) == {
        ("remaining", "race", 2, 2),
        ("gone", "race", 3, 0),
    }


def test_counters_and_checks_are_side_by_side() -> None:
    old = revision(OLD, ("race", 2), cost=Cost("big", 10, 2, 64))
    new = revision(OLD, cost=Cost("big", 4, 2, 64))
    found = compare_revisions(old, new)
    assert found.counters[:3] == (
        CounterPair("cost (big)", 90.0, 42.0),
        CounterPair("sectors (big)", 10, 4),
        CounterPair("wavefronts (big)", 2, 2),
    )
    assert [one.difference for one in found.counters[:3]] == [-48, -6, 0]
    (memory,) = found.checks
    assert memory.changed and memory.new is not None and memory.new.status == "pass"
    other = revision(OLD, cost=Cost("small", 4, 2, 64))
    assert all(one.difference is None for one in compare_revisions(old, other).counters)


def test_without_a_grade_there_is_the_difference_only() -> None:
    found = compare_revisions(Revision("a\r\nb\r\n", None), Revision("a\nc\n", None))
    assert [(one.kind, one.text) for one in found.diff] == [
        ("same", "a"), ("removed", "b"), ("added", "c"),
    ]  # fmt: skip
    assert found.checks == found.findings == found.counters == ()


LINES = st.lists(st.sampled_from([*"abcdefgh", "", "  a", "}"]), max_size=30)


@given(LINES, LINES)
def test_the_difference_makes_one_text_of_the_other(old: list[str], new: list[str]) -> None:
    pairs = aligned(old, new)
    assert all(old[i].split() == new[j].split() for i, j in pairs)
    assert [i for i, _ in pairs] == sorted({i for i, _ in pairs})
    assert [j for _, j in pairs] == sorted({j for _, j in pairs})
    diff = compare_revisions(Revision("\n".join(old), None), Revision("\n".join(new), None)).diff
    kept = {one.old: one.text for one in diff if one.kind in ("same", "removed")}
    made = {one.new: one.text for one in diff if one.kind in ("same", "added")}
    for lines, numbered in ((old or [""], kept), (new or [""], made)):
        shown = "\n".join(lines).removesuffix("\n").split("\n")
        assert all(shown[number - 1] == text for number, text in numbered.items())
    changed = any(one.kind in ("removed", "added") for one in diff)
    texts = ["\n".join(lines).removesuffix("\n") for lines in (old, new)]
    assert changed == (texts[0] != texts[1])


@given(
    LINES, st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["new 1", "new 2"])), max_size=4)
)
def test_lines_of_which_nothing_was_taken_away_are_all_found(
    old: list[str], added: list[tuple[int, str]]
) -> None:
    """With lines that are unique, as many stay as an independent method finds."""
    unique = [f"{line} {k}" for k, line in enumerate(old)]
    new = list(unique)
    for at, line in added:
        new.insert(min(at, len(new)), line)
    assert len(aligned(unique, new)) == len(unique)
    blocks = difflib.SequenceMatcher(None, unique, new, autojunk=False).get_matching_blocks()
    assert sum(block.size for block in blocks) <= len(unique)


def test_what_is_no_number_is_left_out() -> None:
    checks = [
        a_result("speed", "pass", measurements={"speedup": value, "pairs": 3.0})
        for value in (float("nan"), 2.0)
    ]
    old, new = (Revision("a\n", a_grade(check)) for check in checks)
    found = compare_revisions(old, new).to_json()["counters"]
    assert found == [
        {"name": "speed: pairs", "old": 3.0, "new": 3.0, "difference": 0.0},
        {"name": "speed: speedup", "old": None, "new": 2.0, "difference": None},
    ]
