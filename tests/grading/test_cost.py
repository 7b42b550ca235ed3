"""The simulated cost: one whole number from three counters, the same wherever it is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.grading.cost import SECTOR, WAVEFRONT, Cost, cost_of
from grader.grading.record import grade_from_json
from grader.launch import Trace
from grader.reports.redact import redact
from tests.made import a_grade, a_result
from tests.reports.hidden import CASES

COUNTERS = {
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 15.0,
    "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum": 5.0,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum": 2.0,
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 99.0,
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": 3.0,
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": 99.0,
    "ptx__thread_inst_executed.sum": 321.0,
    "ptx__thread_inst_executed.max": 99.0,
}


def test_every_kind_of_access_counts_once() -> None:
    cost = cost_of(Trace("sim", counters=COUNTERS), "big")
    assert cost == Cost("big", 17, 3, 321)
    assert cost.total == 17 * 8 + 3 * 4 + 321 / 32


def test_what_was_not_measured_has_no_cost() -> None:
    assert cost_of(Trace("sim", counters=COUNTERS, ended=False), "big") is None
    without = {name: value for name, value in COUNTERS.items() if not name.startswith("ptx")}
    assert cost_of(Trace("sim", counters=without), "big") is None
    base = cost_of(Trace("sim", counters=COUNTERS), "big", Trace("sim", counters=without))
    assert base is not None and base.baseline is None


NUMBERS = st.integers(0, 1 << 40)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_more_of_anything_costs_more(sectors: int, waves: int, work: int, more: int) -> None:
    one = Cost("c", sectors, waves, work)
    for name in ("sectors", "wavefronts", "thread_instructions"):
        larger = replace(one, **{name: getattr(one, name) + more + 1})
        assert larger.exact > one.exact
    assert one.exact == 32 * (SECTOR * sectors + WAVEFRONT * waves) + work


def a_grade_with(case: str, **more: Any) -> Any:
    cost = Cost(case, 17, 3, 321, Cost(case, 20, 0, 0))
    checks = (a_result("output", "pass", 15), a_result("traffic", "pass", 15))
    return a_grade(*checks, cases=CASES, lines_on=case, cost=cost, **more)


def test_a_grade_is_read_with_its_cost() -> None:
    made = a_grade_with("square")
    assert grade_from_json(made.to_json()).cost == made.cost
    old = {key: value for key, value in made.to_json().items() if key != "cost"}
    assert grade_from_json(old).cost is None


def test_a_student_reads_the_cost_of_a_public_case_only() -> None:
    public, hidden = (
        next(case.name for case in CASES if case.visibility == of) for of in ("public", "hidden")
    )
    assert redact(a_grade_with(public)).cost == a_grade_with(public).cost
    assert redact(a_grade_with(hidden)).cost is None
