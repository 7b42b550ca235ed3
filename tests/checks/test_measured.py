"""Measured checks: every case counts, work is spread, data go through shared memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from grader.checks import resources, traffic
from grader.checks.findings import BUSIEST_THREAD, SLACK, THREAD_INSTRUCTIONS
from grader.checks.resources import DISTINCT_BYTES, EXCHANGES, FOREIGN_BYTES
from grader.checks.result import CaseRun, Evidence, Verdict
from grader.checks.traffic import ATOMICS, LOAD_BYTES, MOVED_BYTES, WASTED, WORKING_THREADS
from grader.labs.model import ArgumentSpec
from grader.launch import Finding, Trace
from grader.simulator import counters as simulated
from tests.made import a_case, a_lab, a_program, a_run, counters, evidence
from tests.made import resources as used_resources

LARGE = a_case("large", rows=64, columns=64)
SMALL = a_case("small")
HIDDEN = a_case("hidden-ragged", rows=17, columns=9, visibility="hidden")
CASES = (LARGE, SMALL, HIDDEN)
NAIVE = {LOAD_BYTES: 16000.0, BUSIEST_THREAD: 100.0, THREAD_INSTRUCTIONS: 25600.0}
NAIVE |= {WORKING_THREADS: 256.0, DISTINCT_BYTES: 1000.0, FOREIGN_BYTES: 0.0}
TILED = NAIVE | {LOAD_BYTES: 1000.0, FOREIGN_BYTES: 15000.0}
TILED |= counters(shared_ld=64, shared_st=64)


def graded(
    own: dict[str, dict[str, float]], *, wrong: tuple[str, ...] = (), **more: Any
) -> Evidence:
    """Evidence of the three cases; `own` has what differs from TILED, `wrong` names wrong cases."""
    runs = [a_run(c, counters=TILED | own.get(c.name, {}), resources=used_resources())
            for c in CASES]  # fmt: skip
    statuses = {c.name: "fail" if c.name in wrong else "pass" for c in CASES}
    verdict = Verdict("fail" if wrong else "pass", "", cases=statuses)  # type: ignore[arg-type]
    base = {c.name: Trace("sim", counters=NAIVE) for c in CASES}
    return evidence(*runs, baseline=base, verdicts={"output": verdict}, **more)


def both(held: Evidence) -> tuple[Verdict, Verdict]:
    ratio = traffic.Options(max_global_bytes_ratio=0.1)
    return traffic.evaluate(ratio, held), resources.evaluate(
        resources.Options(shared="static"), held
    )


def test_an_efficient_kernel_earns_all_points() -> None:
    for verdict in both(graded({})):
        assert (verdict.status, verdict.share, verdict.findings) == ("pass", 1.0, ())


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_a_kernel_that_is_naive_at_one_size_earns_nothing(name: str) -> None:
    held = graded({name: {LOAD_BYTES: 16000.0, FOREIGN_BYTES: 0.0}})
    for verdict in both(held):
        assert (verdict.status, verdict.share) == ("fail", 0.0)
        assert [finding.cases for finding in verdict.findings] == [(name,)]
        assert verdict.measured_on == "large"


def test_a_hidden_case_shows_in_its_own_findings_only() -> None:
    held = graded({"hidden-ragged": {LOAD_BYTES: 4711.0, FOREIGN_BYTES: 0.0}})
    for verdict in both(held):
        text = repr((verdict.summary, verdict.measurements))
        assert "4711" not in text and "4,711" not in text and "hidden" not in text
        assert "4,711" in verdict.findings[0].message


WRONG = [(("small",), 2 / 3), (("small", "hidden-ragged"), 1 / 3), (("large",), 0.0)]


@pytest.mark.parametrize(("wrong", "share"), WRONG)
def test_a_wrong_case_earns_nothing_of_the_full_points(
    wrong: tuple[str, ...], share: float
) -> None:
    for verdict in both(graded({}, wrong=wrong)):
        assert verdict.status in ("fail", "blocked")
        assert verdict.share == pytest.approx(share)


def test_a_case_that_ends_early_or_is_not_launched_is_not_left_out() -> None:
    held = graded({}, wrong=("small", "hidden-ragged"))
    trap = Trace("sim", (Finding("launch-failure", "error", "trap"),), ended=False)
    large, small, hidden = held.runs
    ended = replace(held, runs=(large, replace(small, trace=trap), hidden))
    absent = CaseRun(HIDDEN, None, trap, launched=False)
    for verdict in (*both(ended), *both(replace(held, runs=(large, small, absent)))):
        assert verdict.share == pytest.approx(1 / 3)
    measured = replace(held, runs=(replace(large, trace=trap), small, hidden))
    for verdict in both(replace(measured, verdicts=graded({}, wrong=("large",)).verdicts)):
        assert (verdict.status, verdict.share) == ("blocked", 0.0)


@pytest.mark.parametrize("name", MOVED_BYTES)
def test_atomics_and_reductions_count_as_loads(name: str) -> None:
    own = {LOAD_BYTES: 0.0} | {name: 16000.0}
    assert traffic.evaluate(
        traffic.Options(max_global_bytes_ratio=0.1), graded({"large": own})
    ).status == "fail"  # fmt: skip


def test_uncoalesced_atomics_are_uncoalesced() -> None:
    own = {"l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum": 10.0,
           "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum": 320.0}  # fmt: skip
    verdict = traffic.evaluate(traffic.Options(max_sectors_per_request=4), graded({"small": own}))
    assert verdict.status == "fail" and "atomic" in verdict.findings[0].message


def test_further_loads_do_not_hide_wasted_sectors() -> None:
    own = counters(ld_requests=10000, ld_sectors=11000) | {WASTED.format("ld"): 900.0}
    held = graded(dict.fromkeys(("large",), own))
    verdict = traffic.evaluate(traffic.Options(max_sectors_per_request=4), held)
    assert [finding.kind for finding in verdict.findings] == ["uncoalesced"]


# The baseline's busiest thread executes 100 instructions, as all of its 256 threads do.
WORK = [
    (100, 25600, 3.0, True),
    (3 * 100 + SLACK, 1e6, 3.0, True),
    (3 * 100 + SLACK + 1, 1e6, 3.0, False),  # spinning threads raise the mean, not the limit
    (390, 25600, 3.0, True),
    (390, 390 * 32, 3.0, False),  # one warp of eight works
    (25600, 25600, 3.0, False),
    (25600, 25600, None, True),
    (151 + SLACK, 1e6, 1.5, False),
]


@pytest.mark.parametrize(("busiest", "total", "most", "fine"), WORK)
def test_no_thread_does_more_than_its_share(
    busiest: float, total: float, most: float | None, fine: bool
) -> None:
    held = graded({"small": {BUSIEST_THREAD: busiest, THREAD_INSTRUCTIONS: total}})
    for verdict in (
        traffic.evaluate(traffic.Options(max_thread_work=most), held),
        resources.evaluate(resources.Options(max_thread_work=most), held),
    ):
        assert verdict.share == float(fine)
        assert all("busiest thread" in finding.message for finding in verdict.findings)


def test_work_without_a_baseline_is_compared_within_the_largest_case() -> None:
    alone = {BUSIEST_THREAD: 25600.0}
    bare = replace(graded({"large": alone}), baseline={})
    assert traffic.evaluate(traffic.Options(), bare).share == 0.0
    bare = replace(graded({"small": alone}), baseline={})
    assert traffic.evaluate(traffic.Options(), bare).share == 1.0


SHARING = [
    ({}, True),
    ({FOREIGN_BYTES: 499.0}, False),  # a tile that each thread reads back itself
    ({FOREIGN_BYTES: 500.0}, True),
    ({LOAD_BYTES: 16000.0, FOREIGN_BYTES: 99999.0}, False),  # a tile that nothing depends on
    ({LOAD_BYTES: 8000.0}, False),  # half of the loads
    ({LOAD_BYTES: 2001.0}, False),  # fewer by registers: blocks load what they have
    ({LOAD_BYTES: 2001.0, DISTINCT_BYTES: 1500.0}, True),
    ({MOVED_BYTES[1]: 9000.0}, False),  # loads made atomic
    ({EXCHANGES: 2000.0}, False),  # by shuffles
]


@pytest.mark.parametrize(("own", "fine"), SHARING)
def test_data_have_to_go_through_shared_memory(own: dict[str, float], fine: bool) -> None:
    verdict = resources.evaluate(resources.Options(shared="static"), graded({"small": own}))
    assert verdict.share == float(fine), verdict.summary
    assert all(f.space == "shared" and f.cases == ("small",) for f in verdict.findings)


def test_a_case_in_which_few_threads_work_shows_no_sharing() -> None:
    held = graded({"small": {LOAD_BYTES: 16000.0, FOREIGN_BYTES: 0.0}})
    idle = {"small": Trace("sim", counters=NAIVE | {WORKING_THREADS: 127.0})}
    held = replace(held, baseline={**held.baseline, **idle})
    assert resources.evaluate(resources.Options(shared="static"), held).share == 1.0


@pytest.mark.parametrize(
    ("limit", "own", "fine"),
    [
        (2000, {}, True),  # as many atomics as the baseline's: nothing has to be saved
        (1000, {}, False),
        (1000, {MOVED_BYTES[1]: 8000.0, DISTINCT_BYTES: 4000.0}, True),  # all that are allowed
        (1000, {MOVED_BYTES[1]: 8004.0, DISTINCT_BYTES: 5000.0}, False),
        (1000, {MOVED_BYTES[1]: 8000.0}, False),  # of what the block accessed before
        (100, {MOVED_BYTES[1]: 6400.0, DISTINCT_BYTES: 4000.0}, True),  # saves 60 %
        (100, {MOVED_BYTES[1]: 6404.0, DISTINCT_BYTES: 4000.0}, False),
    ],
)
def test_no_more_has_to_be_saved_than_the_limit_on_atomics_asks(
    limit: int, own: dict[str, float], fine: bool
) -> None:
    """The baseline's 16,000 bytes are 2,000 atomics of 8 bytes."""
    naive = NAIVE | {LOAD_BYTES: 0.0, MOVED_BYTES[1]: 16000.0, ATOMICS: 2000.0}
    naive |= {DISTINCT_BYTES: 0.0}
    held = graded({"small": naive | {FOREIGN_BYTES: 99999.0} | own},
                  lab=a_lab({"traffic": (1, {"max_global_atomics": limit})}))  # fmt: skip
    held = replace(held, baseline={**held.baseline, "small": Trace("sim", counters=naive)})
    assert resources.evaluate(resources.Options(shared="static"), held).share == float(fine)


@pytest.mark.parametrize(
    ("working", "loaded", "fine"),
    [(256, 1600, True), (256, 1601, False), (64, 6400, True), (64, 6401, False)],
)
def test_blocks_that_are_partly_used_may_load_as_much(
    working: float, loaded: float, fine: bool
) -> None:
    held = graded({"small": {LOAD_BYTES: loaded}})
    partly = {"small": Trace("sim", counters=NAIVE | {WORKING_THREADS: working})}
    held = replace(held, baseline={**held.baseline, **partly})
    options = traffic.Options(max_global_bytes_ratio=0.1, whole_blocks=True)
    assert traffic.evaluate(options, held).share == float(fine)


def test_a_variable_of_the_lab_has_to_be_constant() -> None:
    lab = a_lab({"output": (40, {})})
    mask = (ArgumentSpec("mask", "in", "float32", (5, 5)),)
    own = {"ptx__thread_loads_mem_const.sum": 9.0}
    held = graded(dict.fromkeys([c.name for c in CASES], own), lab=replace(lab, globals=mask))
    options = resources.Options(constant=True)
    for space, fine in (("const", True), ("global", False)):
        ptx = f".visible .{space} .align 4 .b8 mask[100];\n"
        placed = replace(held, program=replace(a_program(), ptx=ptx))
        assert resources.evaluate(options, placed).share == float(fine)


def test_checks_and_simulator_agree_on_the_names() -> None:
    names = {BUSIEST_THREAD, THREAD_INSTRUCTIONS, *MOVED_BYTES, WASTED}
    names |= {WORKING_THREADS, FOREIGN_BYTES, DISTINCT_BYTES, EXCHANGES}
    written = {value for value in vars(simulated).values() if isinstance(value, str)}
    written |= {simulated.REQUESTED.format(op) for op in ("ld", "atom", "red")}
    assert names <= written
