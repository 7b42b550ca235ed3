"""The model of a kernel's time: it grows with the work, has the right units, says what binds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.grading.estimate.model import (
    ARITHMETIC,
    LIMITS,
    Fit,
    NotEstimated,
    estimate,
    limits_of,
    roofline,
)
from grader.simulator.workload import Work
from tests.grading.estimate.made import LAUNCH, MULTIPROCESSORS, RATES, a_machine, works

FIT = Fit(3.0, 1.1)
NUMBERS = (
    "slots", "requests", "l1_wavefronts", "wavefronts", "l2_read", "l2_written", "l2_masked",
    "dram_read", "dram_written", "missed", "cold",
)  # fmt: skip
ATOMICS = ("operations", "hottest", "shared requests", "shared serial")
A_WORK = st.integers(0, 10_000).map(lambda seed: works(1, seed)[0])
MORE = st.floats(1.0, 1e6)


@given(work=A_WORK, name=st.sampled_from(NUMBERS), factor=MORE)
def test_no_count_makes_a_launch_faster(work: Work, name: str, factor: float) -> None:
    machine = a_machine()
    more = replace(work, **{name: factor * getattr(work, name)})
    before = estimate(work, machine, FIT).seconds
    assert estimate(more, machine, FIT).seconds >= before * (1 - 1e-9)


@given(
    work=A_WORK,
    where=st.sampled_from(
        [("executed", k) for k in ARITHMETIC]
        + [("atomics", k) for k in ATOMICS]
        + [("chain", k) for k in (*ARITHMETIC, "global", "shared", "local", "atomic", "barrier")]
    ),
    count=st.floats(0.0, 1e9),
)
def test_no_instruction_makes_a_launch_faster(
    work: Work, where: tuple[str, str], count: float
) -> None:
    field, name = where
    machine, counts = a_machine(), getattr(work, field)
    more = replace(work, **{field: {**counts, name: counts.get(name, 0.0) + count}})
    before = estimate(work, machine, FIT).seconds
    assert estimate(more, machine, FIT).seconds >= before * (1 - 1e-9)


@given(work=A_WORK, registers=st.integers(16, 255), shared=st.integers(0, 40_000))
def test_no_use_of_a_multiprocessor_makes_a_launch_faster(
    work: Work, registers: int, shared: int
) -> None:
    small = replace(work, registers=16, shared_bytes=0)
    large = replace(work, registers=registers, shared_bytes=shared)
    before = estimate(small, a_machine(), FIT).seconds
    assert estimate(large, a_machine(), FIT).seconds >= before * (1 - 1e-9)


@given(work=A_WORK, speed=st.floats(0.1, 10.0))
def test_a_machine_that_is_twice_as_fast_takes_half_the_time(work: Work, speed: float) -> None:
    one = a_machine()
    other = a_machine(
        rates={name: speed * rate for name, rate in one.rates.items()},
        latencies={name: value / speed for name, value in one.latencies.items()},
        launch=one.launch / speed,
        blocks=one.blocks * speed,
    )
    expected = estimate(work, one, FIT).seconds / speed
    assert estimate(work, other, FIT).seconds == pytest.approx(expected)


@given(work=A_WORK, exponent=st.floats(1.0, 50.0))
def test_an_estimate_lies_between_the_largest_limit_and_the_sum(
    work: Work, exponent: float
) -> None:
    made = estimate(work, a_machine(), Fit(exponent))
    largest, total = max(made.limits.values()), sum(made.limits.values())
    assert largest * (1 - 1e-9) <= made.seconds - LAUNCH <= total * (1 + 1e-9)
    assert made.limits[made.binding] == largest


BLOCKS = 10 * MULTIPROCESSORS
PLAIN = Work(BLOCKS, 256, 32, 0)
ONE = [
    (replace(PLAIN, dram_read=2e9), "dram", 2e9 / RATES["read"]),
    (replace(PLAIN, dram_written=2e9), "dram", 2e9 / RATES["write"]),
    (replace(PLAIN, l2_read=4e9), "l2", 4e9 / RATES["l2"]),
    (replace(PLAIN, l2_written=3e9, l2_masked=5e9), "l2_write", 6.5e-3),
    (replace(PLAIN, requests=1e9, l1_wavefronts=3e9), "l1", 3e9 / RATES["l1_wavefront"]),
    (replace(PLAIN, wavefronts=5e9), "shared", 5e9 / RATES["shared"]),
    (replace(PLAIN, slots=8e9), "issue", 8e9 / RATES["issue"]),
    (replace(PLAIN, atomics={"operations": 1e9, "hottest": 1e8}), "atomic", 0.1),
    (replace(PLAIN, executed={"fma32": 4e9}), "fma32", 4e9 / RATES["fma32"]),
    (replace(PLAIN, executed={"special": 1e9}), "special", 1e9 / RATES["special"]),
]  # fmt: skip


@pytest.mark.parametrize(("work", "name", "seconds"), ONE)
def test_a_limit_is_the_work_over_the_rate(work: Work, name: str, seconds: float) -> None:
    limits = limits_of(work, a_machine())
    assert limits[name] == pytest.approx(seconds)
    assert estimate(work, a_machine(), Fit()).binding == name


def test_every_limit_has_a_name_in_reports() -> None:
    assert set(limits_of(PLAIN, a_machine())) == set(LIMITS)


def test_latency_is_the_chain_for_each_turn_of_the_resident_blocks() -> None:
    work = replace(PLAIN, chain={"fma32": 1000.0, "barrier": 10.0})
    chain = 1000 * 5e-9 + 10 * 2e-8
    for registers, resident in ((32, 8), (128, 2), (255, 1)):
        turns = -(-10 // resident)
        limits = limits_of(replace(work, registers=registers), a_machine())
        assert limits["latency"] == pytest.approx(turns * chain)


def test_a_load_waits_for_the_memory_that_it_comes_from() -> None:
    work = replace(PLAIN, blocks=1, chain={"global": 1.0})
    waits = [
        limits_of(replace(work, missed=missed, cold=cold), a_machine())["latency"]
        for missed, cold in ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 0.25))
    ]
    assert waits == pytest.approx([3e-8, 2e-7, 6e-7, 3e-8 + 0.5 * 1.7e-7 + 0.25 * 4e-7])


def test_a_few_blocks_keep_one_multiprocessor_each_busy() -> None:
    few = limits_of(replace(PLAIN, blocks=1, executed={"fma32": 1e6}), a_machine())["fma32"]
    many = limits_of(replace(PLAIN, executed={"fma32": 1e6}), a_machine())["fma32"]
    assert few == pytest.approx(MULTIPROCESSORS * many)


def test_the_roofline_is_the_largest_limit_of_memory_and_arithmetic() -> None:
    work = replace(PLAIN, wavefronts=5e9, slots=1e12, executed={"int32": 1e12})
    assert roofline(work, a_machine()) == pytest.approx(LAUNCH + 5e9 / RATES["shared"])


def test_a_launch_that_does_not_fit_is_not_estimated() -> None:
    with pytest.raises(NotEstimated, match="do not fit"):
        estimate(replace(PLAIN, threads=1024, registers=255), a_machine(), FIT)
    with pytest.raises(NotEstimated, match="not known"):
        estimate(PLAIN, a_machine(capability=(1, 0)), FIT)
