"""What a timing child handed back, judged: whether it can be, and whether every output is right.

The child ran code that its submission wrote: its numbers are believed only if they are possible,
and no time counts without the output that was computed in it. The baseline's outputs are looked at
too, in pairs that a submission cannot foresee. One that reaches the baseline's inputs could make
it slow without a trace in its own output; in the baseline's it shows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.faults import LabFault, MachineFault
from grader.gpu.buffers import GUARD, draw_moves, new_input, without_guard_bands
from grader.gpu.launches import USE_SIMULATOR
from grader.gpu.samples import BASELINE, BASELINE_PREFIX, SUBMISSION
from grader.gpu.speedup import TimingPlan, Verify
from grader.launch import Array, Finding, Launch

VERIFIERS = 8

Buffers = Mapping[str, NDArray[np.uint8]]
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_KEY = re.compile(rf"(?:bands|(?:{BASELINE_PREFIX})?\d{{1,6}})\.(\d{{1,3}})")


class ChildReply(BaseModel):
    """The numbers that a timing child hands back: see grader.gpu.samples.Record."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    times: list[tuple[_Seconds, _Seconds]]
    clocks: list[Annotated[int, Field(ge=0)]]
    overhead: _Seconds
    empty: _Seconds
    stopped: str
    culprit: Annotated[int, Field(ge=0, le=2)]
    error: str
    text: str
    peaks: dict[str, _Seconds]


def validate_reply(value: Any, arrays: Buffers, launch: Launch, wall: float) -> Mapping[str, Any]:
    """The child's numbers when they are possible in `wall` seconds, and each time has its output.

    Raises MachineFault: the machine or the child lies, and nothing can be judged by it.
    """
    try:
        told = ChildReply.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise _implausible(f"{key}: {first['msg']}") from None
    if len(told.clocks) != len(told.times):
        raise _implausible("clocks and pairs are not of one number")
    took = sum(a + b for a, b in told.times)
    if took > wall:
        raise _implausible(f"{took:g} s of launches in {wall:g} s")
    sizes = {k: a.nbytes + 2 * GUARD for k, a in array_arguments(launch)}
    for key, held in arrays.items():
        found = _KEY.fullmatch(key)
        if not found or held.dtype != np.uint8 or held.shape != (sizes.get(int(found[1])),):
            raise _implausible(f"the buffer {key[:20]!r} is none of the launch's")
    outputs = [k for k, a in array_arguments(launch) if a.read_back]
    if any(f"{p}.{k}" not in arrays for p in range(len(told.times)) for k in outputs):
        raise _implausible("a launch was timed whose output is missing")
    return told.model_dump()


def _implausible(why: str) -> MachineFault:
    what = f"what the timing process says cannot be: {why}"
    return MachineFault(what, fix="grade it again; see `grader doctor` if it happens twice")


def submission_findings(
    plan: TimingPlan, after: Buffers, verify: Verify
) -> tuple[tuple[Finding, ...], int]:
    """What the first wrong output of the submission has wrong, and how many were right."""
    said = _problems(plan, after, verify, SUBMISSION)
    wrong = [(number, text) for number, text in enumerate(said.values(), start=1) if text]
    if not wrong:
        return (), len(said)
    number, text = wrong[0]
    what = f"timed launch {number} of {len(said)} is wrong: {text}"
    hint = "every timed launch has inputs of its own: compute all of the output in each"
    finding = Finding("wrong-output", "error", what, count=len(wrong), hint=hint)
    return (finding,), len(said) - len(wrong)


def baseline_findings(plan: TimingPlan, after: Buffers, verify: Verify) -> Iterator[Finding]:
    """A wrong output of the lab's own kernel, in a pair in which it was looked at.

    In the first pair it is launched before the submission ever was: LabFault, it is the lab's
    mistake. Later somebody has written to its inputs, or to its code.
    """
    said = _problems(plan, after, verify, BASELINE)
    wrong = [(pair, text) for pair, text in said.items() if text]
    if wrong and wrong[0][0] == 0:
        what = f"the baseline is wrong at the timed size: {wrong[0][1]}"
        raise LabFault(what, where=plan.baseline.file, fix="no speed is judged beside it")
    if wrong:
        what = "launched after this kernel the lab's own gives a wrong output: memory that is not "
        what += f"this kernel's was written ({wrong[0][1]})"
        yield Finding("invalid-access", "error", what, count=len(wrong), hint=USE_SIMULATOR)


def _problems(plan: TimingPlan, after: Buffers, verify: Verify, side: int) -> dict[int, str]:
    """What `verify` says of the outputs that one side left, by pair, in order."""
    prefix = BASELINE_PREFIX if side == BASELINE else ""
    kept = (key.removeprefix(prefix) for key in after if key.startswith(prefix))
    pairs = sorted({int(key.partition(".")[0]) for key in kept if key[0].isdigit()})

    def problem(pair: int) -> str:
        return verify(*recreate_launch(plan, pair, after, side))

    with ThreadPoolExecutor(max(1, min(VERIFIERS, os.cpu_count() or 1))) as pool:
        return dict(zip(pairs, pool.map(problem, pairs), strict=True))


def recreate_launch(
    plan: TimingPlan, pair: int, after: Buffers, side: int = SUBMISSION
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """The inputs that one side had in a pair, made again, and the outputs that it left."""
    inputs: dict[str, NDArray[Any]] = dict(plan.launch.globals)
    outputs: dict[str, NDArray[Any]] = {}
    prefix = BASELINE_PREFIX if side == BASELINE else ""
    for k, array in array_arguments(plan.launch):
        if array.data is not None:
            base = np.ascontiguousarray(array.data, array.dtype)
            moved = draw_moves(array.shape, plan.seed, 2 * pair + side, array.name)
            inputs[array.name] = base if array.name in plan.fixed else new_input(base, moved)
        if array.read_back:
            left = without_guard_bands(after[f"{prefix}{pair}.{k}"])
            outputs[array.name] = left.view(array.dtype).reshape(array.shape)
    return inputs, outputs


def array_arguments(launch: Launch) -> list[tuple[int, Array]]:
    """The array arguments with their indices."""
    return [(k, a) for k, a in enumerate(launch.args) if isinstance(a, Array)]
