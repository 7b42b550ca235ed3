"""What a lab has to hold about its mutants, and how they are shown."""

from __future__ import annotations

from dataclasses import replace

from grader.authoring.gate_lines import Line
from grader.authoring.mutation.demands import Reasoned, demands, summary
from grader.authoring.mutation.mutants import Mutant
from grader.authoring.mutation.verdict import Told, Tried, Verdict, from_json
from grader.cli.labs import gate_json, placed, placing, rows

GUARD = Mutant("guard-7-1", "guard", 7, "if (i < n) {", "if (true) {", "i < n -> true", "...")
MOVED = Mutant("barrier-moved-9-1", "barrier-moved", 9, "__syncthreads();", "",
               "__syncthreads(); moved after `a = 1;`", "....")  # fmt: skip
CAUGHT = Tried(GUARD, Verdict("caught", "public", "memory", "invalid-access", "past", (7, 8), True))
HIDDEN = replace(CAUGHT, verdict=replace(CAUGHT.verdict, seen="hidden"))
SAME = Tried(GUARD, Verdict("same-ptx"))
ALIVE = Tried(GUARD, Verdict("survived"))
REASONED = replace(ALIVE, reason="adding zero changes nothing")
SLOW = Tried(MOVED, Verdict("survived"), "a barrier more in every round", "speed")


def seen(*tried: Tried, stale: tuple[str, ...] = ()) -> list[tuple[str, bool, str]]:
    told = demands("histogram", Reasoned(tried, stale), ("output", "speed"))
    return [(d.what, d.holds, d.seen) for d in told]


def test_all_caught() -> None:
    assert seen(CAUGHT, CAUGHT, SAME) == [("mutants", True, "3, 2 caught (memory 2), 1 equivalent")]


def test_a_survivor_fails_with_its_edit_and_what_to_do() -> None:
    first, second = seen(CAUGHT, ALIVE)
    assert first == ("mutants", False, "2, 1 caught (memory 1), 1 not caught")
    assert second[:2] == ("mutant guard-7-1", False)
    assert second[2].startswith("line 7: - if (i < n) { + if (true) {  No check fails: ")
    assert "solutions/histogram/equivalent.yaml" in second[2]


def test_one_that_only_hidden_cases_see_fails() -> None:
    first, second = seen(CAUGHT, HIDDEN)
    assert not first[1] and not second[1]
    assert second[2].endswith("Only hidden cases see it: add a public case that does")


def test_a_stale_reason_fails() -> None:
    assert seen(CAUGHT, stale=("equivalent.yaml:6: no survivor is ...",))[1:] == [
        ("a reason for a mutant", False, "equivalent.yaml:6: no survivor is ...")
    ]


def test_few_reasons_hold_and_many_do_not() -> None:
    assert all(holds for _, holds, _ in seen(*[CAUGHT] * 9, REASONED))
    *_, last = seen(*[CAUGHT] * 8, REASONED)
    assert last == (
        "reasons for mutants",
        False,
        "1 of 9 mutants are equivalent by a reason in solutions/histogram/equivalent.yaml, "
        "at most 0",
    )


def test_those_that_only_speed_sees_are_no_equivalents() -> None:
    assert all(holds for _, holds, _ in seen(CAUGHT, SLOW))
    assert summary([CAUGHT, SLOW]) == "2, 1 caught (memory 1), 1 only speed"


def test_only_a_check_of_the_lab_can_see_what_the_others_do_not() -> None:
    first, second = demands("histogram", Reasoned((CAUGHT, SLOW)), ("output",))
    assert not first.holds and not second.holds
    assert second.what == "mutant barrier-moved-9-1" and "no such check" in second.seen


def test_the_table_says_what_became_of_each() -> None:
    line = Line("histogram", "mutants", True, "6", (CAUGHT, HIDDEN, SAME, ALIVE, REASONED, SLOW))
    assert rows(line) == ["ok   mutants" + "6".rjust(68)]
    shown = rows(line, mutants=True)
    assert max(map(len, shown)) <= 80
    text = " ".join(" ".join(shown).split())
    assert (
        "guard-7-1 memory: invalid-access, line 7, 8 line 7: - if (i < n) { + if (true) {" in text
    )
    for fate in (
        "line 7, 8, by hidden cases only",
        "guard-7-1 equivalent: the same optimised PTX",
        "guard-7-1 not caught",
        "guard-7-1 equivalent by reason: adding zero changes nothing",
        "barrier-moved-9-1 only speed: a barrier more in every round line 9: __syncthreads();: "
        "__syncthreads(); moved after `a = 1;`",
    ):
        assert fate in text


def test_how_often_the_place_is_right() -> None:
    near = replace(CAUGHT.verdict, named=True, located=True)
    far = replace(near, named=False)
    tried = tuple(replace(CAUGHT, verdict=v) for v in (near, far, replace(far, located=False)))
    lines = [
        Line("a", "wrong/race-x.cu", True, "line 4", told=Told(True, True)),
        Line("a", "wrong/too-slow-x.cu", True, "not judged", told=Told(False, False)),
        Line("a", "mutants", True, "3", tried),
    ]
    assert placed(lines) == (2, 3)
    rate, none, one, missed = placing(lines)
    assert rate.endswith("in 66.7%, 2 of 3")
    assert (none.strip(), one.strip()) == ("with 0 lines told: 1 of 1", "with 2 lines told: 1 of 2")
    assert missed.strip() == "not named: a guard-7-1"
    assert placing(lines[1:2]) == ["no wrong twin or mutant draws an error"]
    assert [one.is_misplaced for one in tried] == [False, True, False]
    assert sum("not the wrong one" in row for row in rows(lines[2], mutants=True)) == 1


def test_json() -> None:
    lines = [Line("a", "solution passes", True, "100"), Line("a", "mutants", False, "1", (ALIVE,)),
             Line("b", "solution passes", True, "100")]  # fmt: skip
    first, second = gate_json(lines)["labs"]
    assert (first["lab"], first["holds"], len(first["lines"])) == ("a", False, 2)
    (mutant,) = first["mutants"]
    assert (mutant["name"], mutant["outcome"], mutant["reason"]) == ("guard-7-1", "survived", None)
    assert (second["holds"], second["mutants"]) == (True, [])


def test_a_verdict_comes_back_from_json() -> None:
    assert from_json(CAUGHT.verdict.to_json()) == CAUGHT.verdict
    assert from_json(None) is None
    assert from_json({**CAUGHT.verdict.to_json(), "more": 1}) is None
    assert from_json({"outcome": "caught"}) is None
