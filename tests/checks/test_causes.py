"""Findings are grouped by the mistake that causes them; a confirmed fix and a clue name it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.checks.causes import (
    TRIED,
    Clue,
    Explanation,
    Fix,
    cause_kinds,
    find_causes,
    with_tried_hints,
)
from grader.launch import KINDS, Finding, OtherAccess
from tests.made import RACE

CASES = ("square", "ragged")
OTHER_RACE = replace(
    RACE, variable="Bs", line=8, other=OtherAccess(7, (0, 0, 0), (0, 0, 0)), cases=CASES
)
OUT = Finding("invalid-access", "error", "out-of-bounds write", "t.cu", 20, variable="C",
              space="global", cases=CASES, hint="Compare the index with the size.")  # fmt: skip
MET = replace(
    OUT, kind="race", hazard="WAW", access="write", other=OtherAccess(20, (0, 0, 0), (0, 0, 0))
)
WRONG = Finding("wrong-output", "error", "3 of 9 are wrong", "t.cu", 21, cases=("ragged",))
SLOW = Finding("uncoalesced", "error", "32 sectors", "t.cu", 6, cases=CASES)
NOTE = Finding("bank-conflict", "info", "2-way", "t.cu", 40)
WARNING = Finding("compile-warning", "warning", "expression has no effect", "t.cu", 9)
UNTRIED = Explanation()


def kinds(*findings: Finding, explanation: Explanation = UNTRIED) -> list[list[str]]:
    causes = find_causes(findings, explanation)
    return [[f.kind for f in cause.findings] for cause in causes]


def test_races_that_one_barrier_orders_have_one_cause() -> None:
    race = replace(RACE, cases=CASES)
    assert kinds(WRONG, OTHER_RACE, race) == [["race", "race", "wrong-output"]]
    far = replace(OTHER_RACE, line=31, other=OtherAccess(30, (0, 0, 0), (0, 0, 0)))
    assert len(kinds(race, far)) == 2


def test_a_store_out_of_bounds_explains_the_race_that_it_makes() -> None:
    (cause,) = find_causes((MET, OUT, WRONG), UNTRIED)
    assert (cause.finding.kind, len(cause.follows)) == ("invalid-access", 2)


def test_a_wrong_output_in_other_cases_has_a_cause_of_its_own() -> None:
    elsewhere = replace(WRONG, cases=("wide",))
    assert kinds(OUT, elsewhere) == [["invalid-access"], ["wrong-output"]]


def test_costs_are_not_explained_by_errors() -> None:
    assert kinds(SLOW, OUT) == [["invalid-access"], ["uncoalesced"]]
    assert kinds(SLOW, replace(SLOW, line=9)) == [["uncoalesced", "uncoalesced"]]


def test_notes_follow_an_error_and_warnings_stay() -> None:
    assert kinds(NOTE, OUT, WARNING) == [["invalid-access", "bank-conflict"], ["compile-warning"]]
    assert kinds(NOTE) == [["bank-conflict"]]
    assert kinds(WARNING, NOTE, replace(NOTE, line=50)) == [
        ["compile-warning"],
        ["bank-conflict", "bank-conflict"],
    ]


def test_every_finding_is_in_exactly_one_cause() -> None:
    every = (SLOW, NOTE, WARNING, WRONG, OUT, MET, OTHER_RACE)
    causes = find_causes(every, Explanation((Clue("early-exit", 3),)))
    assert sorted(f.kind for c in causes for f in c.findings) == sorted(f.kind for f in every)


def test_a_clue_comes_first_where_it_explains_something() -> None:
    known = Explanation((Clue("barrier-not-called", 9, "__syncthreads", "__syncthreads;"),))
    causes = find_causes((WRONG, OTHER_RACE, WARNING), known)
    assert [(c.kind, c.line) for c in causes] == [("barrier-not-called", 9)]
    assert {f.kind for f in causes[0].follows} == {"wrong-output", "compile-warning"}
    assert [c.kind for c in find_causes((WRONG,), known)] == ["wrong-output"]
    shared = Explanation((Clue("not-shared", 4, "As"),))
    unread = Finding("uninitialized-read", "error", "read", "t.cu", 8, variable="As")
    assert find_causes((unread,), shared)[0].kind == "not-shared"
    other = replace(unread, variable="sum")
    assert find_causes((other,), shared)[0].kind == "uninitialized-read"


def tried(hints: str = "place", **more: object) -> Explanation:
    fix = Fix("missing-guard", 20, "C[i] = sum;", explains=("invalid-access", "wrong-output"))
    return Explanation((), (fix,), 24, CASES, hints, **more)  # type: ignore[arg-type]


def test_a_confirmed_fix_names_the_cause_of_what_it_removes() -> None:
    causes = find_causes((WRONG, OUT, SLOW), tried())
    assert [(c.kind, c.line) for c in causes] == [("missing-guard", 20), ("uncoalesced", 6)]
    assert causes[0].finding == OUT and causes[0].fix
    hidden = replace(OUT, line=30, variable="D", cases=("secret",))
    assert [c.fix is not None for c in find_causes((OUT, hidden), tried())] == [True, False]


@pytest.mark.parametrize("hints", ["cause", "place", "fix"])
def test_only_a_confirmed_fix_is_told(hints: str) -> None:
    out, wrong = with_tried_hints((OUT, replace(RACE, cases=CASES)), tried(hints))
    assert (TRIED in out.hint) == (hints != "cause") and "Compare" not in out.hint
    assert wrong.hint == "Threads read `As` before other threads have written it."


def test_a_sentence_about_a_run_goes_with_the_edit_that_it_is_of() -> None:
    what = "Line 6 waits for other blocks while threads of its own go on to line 9."
    told = f"{what} Put __syncthreads() after line 6. A run with that does not have this race."
    assert with_tried_hints((replace(RACE, hint=told),), tried())[0].hint == what


def test_hints_stay_where_nothing_was_tried() -> None:
    assert with_tried_hints((OUT, RACE), UNTRIED) == (OUT, RACE)
    failed = Explanation(trials=384, cases=CASES)
    assert with_tried_hints((OUT,), failed) == (OUT,)  # it asks for no certain edit


def test_kinds_of_causes_have_texts() -> None:
    for kind, known in cause_kinds().items():
        assert kind not in KINDS
        assert known.change.format(line=7, more="9", name="`n`").endswith(".")
        assert not known.what.endswith(".") and set(known.evidence) <= set(KINDS)
