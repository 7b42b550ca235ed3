"""The output check: right and wrong cases, and the findings' texts and places."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grader.checks.output import Options, evaluate
from grader.faults import MachineFault
from grader.launch import Finding
from grader.reports.finding import finding_text
from grader.simulator.exchange import LastStore, Localization
from tests.made import a_case, a_run, counters, evidence, right_answer

SQUARE = a_case("square")
WIDE = a_case("wide", rows=3, columns=20)
WHOLE = a_case("whole-numbers", kind="integer")


def wrong(case: object, at: object = (0, 1), value: float = -4.0) -> np.ndarray:
    answer = right_answer(case)  # type: ignore[arg-type]
    answer[at] = value
    return answer


def test_every_case_right() -> None:
    verdict = evaluate(Options(), evidence(a_run(SQUARE), a_run(WIDE)))
    assert (verdict.status, verdict.share) == ("pass", 1.0)
    assert verdict.summary == "2 of 2 cases right"
    assert verdict.findings == ()


def test_each_case_is_worth_the_same() -> None:
    runs = [a_run(SQUARE), a_run(WIDE, wrong(WIDE)), a_run(a_case("third"))]
    verdict = evaluate(Options(), evidence(*runs))
    assert verdict.status == "fail"
    assert verdict.share == pytest.approx(2 / 3)
    assert verdict.cases == {"square": "pass", "wide": "fail", "third": "pass"}
    (finding,) = verdict.findings
    assert finding.kind == "wrong-output"
    assert finding.message == (
        "1 of 60 elements of C is wrong; the first is C[0, 1] = -4, expected 9 "
        "(allowed error 0.001)"
    )
    assert finding.cases == ("wide",)
    assert (finding.line, finding.text[:6]) == (2, "extern")


def test_the_one_line_that_stores_is_named() -> None:
    lines = (counters(6, ld_requests=4), counters(8, st_requests=4))
    verdict = evaluate(Options(), evidence(a_run(SQUARE, wrong(SQUARE), lines=lines)))
    (finding,) = verdict.findings
    assert (finding.line, finding.text) == (8, "C[row * n + col] = sum;")


def test_output_that_another_order_makes_wrong_fails() -> None:
    run = a_run(SQUARE, others={1: wrong(SQUARE)})
    verdict = evaluate(Options(), evidence(run, a_run(WIDE)))
    assert verdict.cases == {"square": "fail", "wide": "pass"}
    (finding,) = verdict.findings
    assert (finding.kind, finding.severity, finding.line) == ("order-dependent", "error", 2)
    assert finding.message == (
        "1 of 16 elements of C is wrong where blocks, warps or lanes run in another order, which "
        "CUDA allows; the first is C[0, 1] = -4, expected 9 (allowed error 0.001)"
    )
    assert "a lock" not in finding.hint


def test_output_that_another_order_makes_wrong_may_follow_from_two_holds_of_a_lock() -> None:
    given = evidence(a_run(SQUARE, others={1: wrong(SQUARE)}))
    program = replace(given.program, source="while (atomicCAS(lock, 0, 1)) {}")
    (finding,) = evaluate(Options(), replace(given, program=program)).findings
    assert "while holding the lock once" in finding.hint


def test_output_of_another_order_within_the_bound_is_right() -> None:
    run = a_run(SQUARE, others={1: right_answer(SQUARE) + 5e-4})
    assert evaluate(Options(), evidence(run)).findings == ()


def test_wrong_output_is_reported_once() -> None:
    run = a_run(SQUARE, wrong(SQUARE), others={1: wrong(SQUARE, value=-5.0)})
    assert [f.kind for f in evaluate(Options(), evidence(run)).findings] == ["wrong-output"]


def test_two_lines_that_store_are_not_guessed_between() -> None:
    lines = (counters(6, st_requests=4), counters(8, st_requests=4))
    verdict = evaluate(Options(), evidence(a_run(SQUARE, wrong(SQUARE), lines=lines)))
    assert verdict.findings[0].line == 2


def test_unwritten_elements_are_a_kind_of_their_own() -> None:
    case = a_case("ragged", rows=17, columns=16)
    blank = np.zeros((17, 16), dtype=np.bool_)
    blank[16] = True
    run = a_run(case, wrong(case, 16, -4.0), unwritten={1: blank})
    (finding,) = evaluate(Options(), evidence(run)).findings
    assert finding.kind == "unwritten-output"
    assert finding.message == (
        "16 of 272 elements of C were never written: only in the last, partial tile "
        "(rows from 16 on)"
    )
    assert "(none)" in finding.detail


def test_one_mistake_in_many_cases_is_one_finding() -> None:
    cases = [a_case(f"case-{i}", rows=20 + i, columns=20) for i in range(5)]
    runs = [a_run(c, right_answer(c) * 2) for c in cases]
    (finding,) = evaluate(Options(), evidence(*runs)).findings
    assert finding.cases == tuple(c.name for c in cases)


def test_two_mistakes_are_two_findings() -> None:
    runs = [a_run(SQUARE, right_answer(SQUARE) * 2), a_run(WIDE, right_answer(WIDE) * 0)]
    findings = evaluate(Options(), evidence(*runs)).findings
    assert [f.cases for f in findings] == [("square",), ("wide",)]


def test_a_hidden_case_is_never_folded_into_a_public_one() -> None:
    hidden = a_case("secret", visibility="hidden")
    runs = [a_run(c, right_answer(c) * 2) for c in (hidden, SQUARE)]
    public, secret = evaluate(Options(), evidence(*runs)).findings
    assert public.cases == ("square",)
    assert secret.cases == ("secret",)


def test_a_launch_that_did_not_end_is_a_failed_case() -> None:
    stuck = Finding("timeout", "error", "the kernel did not end", line=7)
    verdict = evaluate(Options(), evidence(a_run(SQUARE, ended=False, findings=(stuck,))))
    assert (verdict.status, verdict.share) == ("fail", 0.0)
    assert [f.kind for f in verdict.findings] == ["timeout"]


def test_launch_that_ended_without_a_reason_is_reported() -> None:
    verdict = evaluate(Options(), evidence(a_run(SQUARE, ended=False)))
    (finding,) = verdict.findings
    assert finding.message == "`matmul` did not run to its end"


def test_digits_lost_in_whole_number_cases_only() -> None:
    lost = right_answer(WHOLE) + 0.5
    verdict = evaluate(Options(), evidence(a_run(SQUARE), a_run(WHOLE, lost, bound=0)))
    assert "digits are lost" in verdict.findings[0].hint


def test_precision_hint_needs_all_other_cases_to_pass() -> None:
    lost = a_run(WHOLE, right_answer(WHOLE) + 0.5, bound=0)
    verdict = evaluate(Options(), evidence(a_run(SQUARE, wrong(SQUARE)), lost, a_run(WIDE)))
    assert not any("digits are lost" in f.hint for f in verdict.findings)


def test_no_case_is_no_pass_for_free() -> None:
    assert evaluate(Options(), evidence()).share == 0.0


def test_backend_that_returns_nothing_is_a_system_error() -> None:
    with pytest.raises(MachineFault, match="no contents of C"):
        evaluate(Options(), evidence(a_run(SQUARE, outputs={})))


def stored(element: int) -> Localization:
    return Localization(stored={("wide", 1): LastStore(element, 8, (2, 0, 0), (1, 0, 0))})


def test_thread_that_stored_the_first_wrong_element_is_reported() -> None:
    seen = replace(evidence(a_run(SQUARE), a_run(WIDE, wrong(WIDE))), localization=stored(1))
    (finding,) = evaluate(Options(), seen).findings
    assert (finding.line, finding.block, finding.thread) == (8, (2, 0, 0), (1, 0, 0))
    text = finding_text(finding).plain
    assert "write by thread (1,0,0) of block (2,0,0) at tiled.cu:8" in text
    assert "times" not in text and "in block" not in text


def test_store_of_another_element_is_not_reported() -> None:
    seen = replace(evidence(a_run(SQUARE), a_run(WIDE, wrong(WIDE))), localization=stored(2))
    (finding,) = evaluate(Options(), seen).findings
    assert (finding.line, finding.thread) == (2, None)
