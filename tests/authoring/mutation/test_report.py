"""Requirements on mutants, and how results are shown."""

from __future__ import annotations

from dataclasses import replace

from grader.authoring.mutation.mutants import (
    Mutant,
    MutantResult,
    ReportedLines,
    Verdict,
    verdict_from_json,
)
from grader.authoring.mutation.report import ExplainedResults, mutant_requirements, summary
from grader.authoring.requirements import RequirementResult
from grader.cli.labs import gate_json, localization_counts, localization_rows, rows

GUARD = Mutant("guard-7-1", "guard", 7, "if (i < n) {", "if (true) {", "i < n -> true", "...")
MOVED = Mutant("barrier-moved-9-1", "barrier-moved", 9, "__syncthreads();", "",
               "__syncthreads(); moved after `a = 1;`", "....")  # fmt: skip
CAUGHT = MutantResult(
    GUARD, Verdict("caught", "public", "memory", "invalid-access", "past", (7, 8), True)
)
HIDDEN = replace(CAUGHT, verdict=replace(CAUGHT.verdict, seen="hidden"))
SAME = MutantResult(GUARD, Verdict("same-ptx"))
ALIVE = MutantResult(GUARD, Verdict("survived"))
REASONED = replace(ALIVE, reason="adding zero changes nothing")
SLOW = MutantResult(MOVED, Verdict("survived"), "a barrier more in every round", "speed")


def observed(*results: MutantResult, unused: tuple[str, ...] = ()) -> list[tuple[str, bool, str]]:
    explained = ExplainedResults(results, unused)
    rows = mutant_requirements("histogram", explained, ("output", "speed"))
    return [(row.what, row.holds, row.observed) for row in rows]


def test_summary_counts_caught_and_equivalent_mutants() -> None:
    assert observed(CAUGHT, CAUGHT, SAME) == [
        ("mutants", True, "3, 2 caught (memory 2), 1 equivalent")
    ]


def test_survivor_is_reported_with_its_edit_and_a_fix() -> None:
    first, second = observed(CAUGHT, ALIVE)
    assert first == ("mutants", False, "2, 1 caught (memory 1), 1 not caught")
    assert second[:2] == ("mutant guard-7-1", False)
    assert second[2].startswith("line 7: - if (i < n) { + if (true) {  No check fails: ")
    assert "solutions/histogram/equivalent.yaml" in second[2]


def test_mutant_caught_only_by_hidden_cases_is_reported() -> None:
    first, second = observed(CAUGHT, HIDDEN)
    assert not first[1] and not second[1]
    assert second[2].endswith("Only hidden cases catch it: add a public case that catches it")


def test_unused_reason_is_reported() -> None:
    assert observed(CAUGHT, unused=("equivalent.yaml:6: no surviving mutant is ...",))[1:] == [
        ("reason for a mutant", False, "equivalent.yaml:6: no surviving mutant is ...")
    ]


def test_too_many_reasons_are_reported() -> None:
    assert all(holds for _, holds, _ in observed(*[CAUGHT] * 9, REASONED))
    *_, last = observed(*[CAUGHT] * 8, REASONED)
    assert last == (
        "reasons for mutants",
        False,
        "1 of 9 mutants have a reason in solutions/histogram/equivalent.yaml, at most 0 may",
    )


def test_mutants_that_only_speed_catches_are_counted_apart() -> None:
    assert all(holds for _, holds, _ in observed(CAUGHT, SLOW))
    assert summary([CAUGHT, SLOW]) == "2, 1 caught (memory 1), 1 only speed"


def test_reason_must_name_a_check_of_the_lab() -> None:
    first, second = mutant_requirements("histogram", ExplainedResults((CAUGHT, SLOW)), ("output",))
    assert not first.holds and not second.holds
    assert second.what == "mutant barrier-moved-9-1" and "no such check" in second.observed


def test_table_shows_the_outcome_of_each_mutant() -> None:
    line = RequirementResult(
        "histogram", "mutants", True, "6", (CAUGHT, HIDDEN, SAME, ALIVE, REASONED, SLOW)
    )
    assert rows(line) == ["ok   mutants" + "6".rjust(68)]
    shown = rows(line, mutants=True)
    assert max(map(len, shown)) <= 80
    text = " ".join(" ".join(shown).split())
    assert (
        "guard-7-1 memory: invalid-access, line 7, 8 line 7: - if (i < n) { + if (true) {" in text
    )
    for outcome_text in (
        "line 7, 8, by hidden cases only",
        "guard-7-1 equivalent: the same optimized PTX",
        "guard-7-1 not caught",
        "guard-7-1 equivalent by reason: adding zero changes nothing",
        "barrier-moved-9-1 only speed: a barrier more in every round line 9: __syncthreads();: "
        "__syncthreads(); moved after `a = 1;`",
    ):
        assert outcome_text in text


def test_localization_rate_counts_variants_and_mutants() -> None:
    near = replace(CAUGHT.verdict, named=True, located=True)
    far = replace(near, named=False)
    results = tuple(replace(CAUGHT, verdict=v) for v in (near, far, replace(far, located=False)))
    lines = [
        RequirementResult(
            "a", "wrong/race-x.cu", True, "line 4", reported_lines=ReportedLines(True, True)
        ),
        RequirementResult(
            "a",
            "wrong/too-slow-x.cu",
            True,
            "not evaluated",
            reported_lines=ReportedLines(False, False),
        ),
        RequirementResult("a", "mutants", True, "3", results),
    ]
    assert localization_counts(lines) == (2, 3)
    rate, none, one, missed = localization_rows(lines)
    assert rate.endswith("in 66.7%, 2 of 3")
    assert (none.strip(), one.strip()) == (
        "with 0 lines reported: 1 of 1",
        "with 2 lines reported: 1 of 2",
    )
    assert missed.strip() == "not named: a guard-7-1"
    assert localization_rows(lines[1:2]) == ["no incorrect variant or mutant has an error"]
    assert [one.is_misplaced for one in results] == [False, True, False]
    assert sum("not the faulty line" in row for row in rows(lines[2], mutants=True)) == 1


def test_json_has_requirements_and_mutants() -> None:
    lines = [
        RequirementResult("a", "solution passes", True, "100"),
        RequirementResult("a", "mutants", False, "1", (ALIVE,)),
        RequirementResult("b", "solution passes", True, "100"),
    ]
    first, second = gate_json(lines)["labs"]
    assert (first["lab"], first["holds"], len(first["lines"])) == ("a", False, 2)
    (mutant,) = first["mutants"]
    assert (mutant["name"], mutant["outcome"], mutant["reason"]) == ("guard-7-1", "survived", None)
    assert (second["holds"], second["mutants"]) == (True, [])


def test_verdict_survives_a_json_round_trip() -> None:
    assert verdict_from_json(CAUGHT.verdict.to_json()) == CAUGHT.verdict
    assert verdict_from_json(None) is None
    assert verdict_from_json({**CAUGHT.verdict.to_json(), "more": 1}) is None
    assert verdict_from_json({"outcome": "caught"}) is None
