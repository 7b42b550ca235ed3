"""A timing child's reply must be plausible, and both kernels' outputs are verified.

The child's replies are prepared: needs no GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.compile.source import compile_source
from grader.faults import LabFault, MachineFault
from grader.gpu import timing_child
from grader.gpu.buffers import GUARD, with_guard_bands, without_guard_bands
from grader.gpu.speedup import (
    ALWAYS_VERIFIED,
    BASELINE,
    BASELINE_PREFIX,
    SUBMISSION,
    Clock,
    Record,
    TimingPlan,
    is_baseline_verified,
)
from grader.gpu.timing_verification import (
    baseline_findings,
    recreate_launch,
    submission_findings,
    validate_reply,
)
from grader.grading.timing import verifier
from grader.labs.cases import prepare_launches
from grader.labs.model import Case
from grader.labs.reading import load_lab
from grader.launch import Array

LAB = load_lab("tiled-matmul")
CASE = Case("timed", {"n": 16}, "integer")
OWN, THEIRS = prepare_launches(LAB, CASE, b"")
NAIVE = compile_source(LAB.baseline.read_bytes(), LAB.baseline.name)
PLAN = TimingPlan(NAIVE, THEIRS, OWN, 1.2, 1.5, seed=b"test")
VERIFY = verifier(LAB, CASE)
PAIRS = 12

Buffers = dict[str, NDArray[np.uint8]]


def buffer(pair: int, side: int, inputs_of: int | None = None) -> NDArray[np.uint8]:
    """C as it is left by a right kernel that had the inputs of that pair and side."""
    held = with_guard_bands(2, OWN.args[2], 0)  # type: ignore[arg-type]
    blank: Any = {"7.2": held, f"{BASELINE_PREFIX}7.2": held}
    number = pair if inputs_of is None else inputs_of
    key = f"{BASELINE_PREFIX if side == BASELINE else ''}{number}.2"
    inputs, _ = recreate_launch(PLAN, number, {**blank, key: held}, side)
    without_guard_bands(held).view(np.float32)[:] = (inputs["A"] @ inputs["B"]).reshape(-1)
    return held


def answer(**changed: Any) -> tuple[dict[str, Any], Buffers]:
    """A sound child's: every pair's output, and the baseline's of those that are looked at."""
    told = {
        "times": [[2e-3, 1e-3]] * PAIRS,
        "clocks": [1980] * PAIRS,
        "overhead": 2e-6,
        "empty": 4e-6,
        "stopped": "",
        "culprit": SUBMISSION,
        "error": "",
        "text": "",
        "peaks": {"copy_bytes_per_second": 2e12},
    }
    arrays = {f"{pair}.2": buffer(pair, SUBMISSION) for pair in range(PAIRS)}
    for pair in range(PAIRS):
        if is_baseline_verified(PLAN.seed, pair):
            arrays[f"{BASELINE_PREFIX}{pair}.2"] = buffer(pair, BASELINE)
    arrays |= {f"bands.{k}": with_guard_bands(k, OWN.args[k], 0) for k in (0, 1)}  # type: ignore[arg-type]
    return {**told, **changed}, arrays


def test_plausible_reply_is_accepted_and_right() -> None:
    told, arrays = answer()
    believed = validate_reply(told, arrays, OWN, 10.0)
    assert believed["times"] == [(2e-3, 1e-3)] * PAIRS
    assert submission_findings(PLAN, arrays, VERIFY) == ((), PAIRS)
    assert list(baseline_findings(PLAN, arrays, VERIFY)) == []


LIES: list[tuple[Mapping[str, Any], str]] = [
    ({"times": [[float("nan"), 1e-3]] * PAIRS}, "times.0.0"),
    ({"times": [[float("inf"), 1e-3]] * PAIRS}, "times.0.0"),
    ({"times": [[2e-3, -1e-3]] * PAIRS}, "times.0.1"),
    ({"times": [[2.0, 1e-3]] * PAIRS}, "24.012 s of launches in 10 s"),
    ({"times": [[2e-3, 1e-3, 5]] * PAIRS}, "times.0"),
    (
        {"times": [[2e-3, 1e-3]] * (PAIRS + 1), "clocks": [0] * (PAIRS + 1)},
        "output of a timed launch is missing",
    ),
    ({"clocks": [1980]}, "numbers of clocks and pairs differ"),
    ({"overhead": -1}, "overhead"),
    ({"culprit": 7}, "culprit"),
    ({"peaks": {"cublas": "fast"}}, "peaks.cublas"),
    ({"verdict": "pass"}, "verdict"),
]


@pytest.mark.parametrize(("changed", "said"), LIES)
def test_impossible_numbers_are_rejected(changed: Mapping[str, Any], said: str) -> None:
    told, arrays = answer(**changed)
    with pytest.raises(MachineFault, match="implausible reply") as caught:
        validate_reply(told, arrays, OWN, 10.0)
    assert said in caught.value.what


@pytest.mark.parametrize("told", [None, [], "pass", {"times": []}])
def test_malformed_numbers_are_rejected(told: Any) -> None:
    with pytest.raises(MachineFault, match="implausible reply"):
        validate_reply(told, {}, OWN, 10.0)


@pytest.mark.parametrize(
    ("key", "held"),
    [
        ("3.2", np.zeros(5, np.uint8)),
        ("3.2", np.zeros(16 * 16 + GUARD // 2, np.float32)),
        ("3.9", np.zeros(2 * GUARD, np.uint8)),
        ("3.3", np.zeros(2 * GUARD, np.uint8)),
        ("x.y", np.zeros(2 * GUARD, np.uint8)),
        (f"{BASELINE_PREFIX}x.2", np.zeros(2 * GUARD, np.uint8)),
    ],
)
def test_buffer_of_no_argument_is_rejected(key: str, held: NDArray[Any]) -> None:
    told, arrays = answer()
    with pytest.raises(MachineFault, match="the launch has no buffer"):
        validate_reply(told, {**arrays, key: held}, OWN, 10.0)


def test_an_output_of_another_launch_is_wrong() -> None:
    _, arrays = answer()
    arrays["5.2"] = buffer(5, SUBMISSION, inputs_of=4)
    (finding,), right = submission_findings(PLAN, arrays, VERIFY)
    assert finding.message.startswith(f"timed launch 6 of {PAIRS} is wrong") and right == PAIRS - 1


def test_overwritten_baseline_input_is_detected() -> None:
    """The submission's own outputs are right: nothing else would show it."""
    _, arrays = answer()
    pair = next(p for p in range(1, PAIRS) if is_baseline_verified(PLAN.seed, p))
    arrays[f"{BASELINE_PREFIX}{pair}.2"] = buffer(pair, BASELINE, inputs_of=pair + 1)
    assert submission_findings(PLAN, arrays, VERIFY) == ((), PAIRS)
    (finding,) = baseline_findings(PLAN, arrays, VERIFY)
    assert (finding.kind, finding.severity) == ("invalid-access", "error")
    assert "this kernel wrote outside its buffers" in finding.message


def test_a_baseline_that_is_wrong_from_the_start_is_the_lab_s_mistake() -> None:
    _, arrays = answer()
    arrays[f"{BASELINE_PREFIX}0.2"] = buffer(0, BASELINE, inputs_of=3)
    with pytest.raises(LabFault, match="wrong at the timed size"):
        list(baseline_findings(PLAN, arrays, VERIFY))


def test_baseline_is_verified_in_first_pairs_then_in_unpredictable_ones() -> None:
    seeds = [bytes([k]) for k in range(200)]
    assert all(
        is_baseline_verified(seed, pair) for seed in seeds for pair in range(ALWAYS_VERIFIED)
    )
    late = [sum(is_baseline_verified(seed, pair) for pair in range(200, 400)) for seed in seeds]
    assert 2 < np.mean(late) < 4, "ALWAYS_VERIFIED * log(2) of them"
    assert np.mean([count == 0 for count in late]) < 0.15
    assert len({tuple(is_baseline_verified(s, p) for p in range(400)) for s in seeds}) == len(seeds)


class Bench(timing_child.Bench):
    """The child's own loop, with right outputs in the place of launches."""

    def time_launch(self, kernel: timing_child.TimedKernel | None, number: int) -> float:
        return 1e-3 if number % 2 == SUBMISSION else 2e-3

    def _fetch(self, k: int, array: Array) -> NDArray[np.uint8]:
        return with_guard_bands(k, array, 0)


def test_memory_of_a_buffer_is_used_again_only_when_it_is_sent() -> None:
    sent: list[tuple[str, int]] = []
    outputs = timing_child.Outputs(lambda name, held: sent.append((name, int(held[0]))))
    for value in (1, 2):
        held = outputs.memory(8)
        held[:] = value
        outputs.keep(str(value), held)
    assert not sent
    outputs.send()
    assert sent == [("1", 1), ("2", 2)]
    first, second, third = (outputs.memory(size) for size in (8, 4, 8))
    assert not np.shares_memory(first, third) and second.size == 4
    outputs.send()
    assert len(sent) == 2


def test_child_returns_the_outputs_that_the_parent_requires() -> None:
    kernel = timing_child.TimedKernel(None, OWN, ())
    numbers = {"seed": PLAN.seed.hex(), "minimum": 1.2, "full": 1.5, "budget": 9, "least": 30}
    plan = {**numbers, "most": 60, "fixed": [], "limit": 1.0}
    sent: dict[str, NDArray[np.uint8]] = {}
    outputs = timing_child.Outputs(lambda name, held: sent.update({name: held.copy()}))
    bench = Bench(None, None, (kernel, kernel), None, Clock(), plan, outputs)  # type: ignore[arg-type]
    record = Record()
    bench.run(record, SimpleNamespace(synchronize=lambda: None))
    outputs.send()
    pairs = range(len(record.times))
    assert len(pairs) == 31 and set(record.times) == {(2e-3, 1e-3)}
    looked_at = {f"{BASELINE_PREFIX}{p}.2" for p in pairs if is_baseline_verified(PLAN.seed, p)}
    assert set(sent) == {f"{p}.2" for p in pairs} | looked_at | {"bands.0", "bands.1"}
    told = {**answer()[0], "times": record.times, "clocks": record.clocks}
    assert validate_reply(told, sent, OWN, 10.0)["clocks"] == [0] * len(pairs)
