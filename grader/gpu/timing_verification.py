"""Verify a timing child's reply: that it is plausible, and that every output is right.

The child ran the submission's code, so its numbers count only if they are possible, and a time
counts only with the output that was computed in it. The baseline's outputs are verified too, in
pairs that a submission cannot predict: a submission that overwrites the baseline's inputs could
slow it down without an error in its own output, but not in the baseline's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from grader import regex
from grader.faults import LabFault, MachineFault
from grader.gpu.buffers import GUARD, draw_moves, new_input, without_guard_bands
from grader.gpu.launches import USE_SIMULATOR
from grader.gpu.speedup import BASELINE, BASELINE_PREFIX, SUBMISSION, TimingPlan, Verify
from grader.labs.reference_child import Made
from grader.launch import Array, Finding, Launch

if TYPE_CHECKING:
    from pydantic import BaseModel

VERIFIERS = 16
"""Outputs that are verified at a time, at most; each needs a core and a reference process."""

Buffers = Mapping[str, NDArray[np.uint8]]
_KEY = regex(rf"(?:bands|(?:{BASELINE_PREFIX})?\d{{1,6}})\.(\d{{1,3}})")


@cache
def reply_model() -> type[BaseModel]:
    """Return the model of a timing child's numbers: see grader.gpu.speedup.Record."""
    from pydantic import Field, create_model

    seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
    return create_model(
        "ChildReply",
        __config__={"extra": "forbid", "frozen": True},
        times=(list[tuple[seconds, seconds]], ...),
        clocks=(list[Annotated[int, Field(ge=0)]], ...),
        overhead=(seconds, ...),
        empty=(seconds, ...),
        stopped=(str, ...),
        culprit=(Annotated[int, Field(ge=0, le=2)], ...),
        error=(str, ...),
        text=(str, ...),
        peaks=(dict[str, seconds], ...),
    )


def validate_reply(value: Any, arrays: Buffers, launch: Launch, wall: float) -> Mapping[str, Any]:
    """Validate a child's reply.

    Args:
        value: the numbers.
        arrays: the buffers.
        launch: the submission's launch.
        wall: seconds that the child ran.

    Raises:
        MachineFault: the numbers are impossible, or a time has no output.
    """
    from pydantic import ValidationError

    try:
        reply: Any = reply_model().model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise _implausible(f"{key}: {first['msg']}") from None
    if len(reply.clocks) != len(reply.times):
        raise _implausible("the numbers of clocks and pairs differ")
    took = sum(a + b for a, b in reply.times)
    if took > wall:
        raise _implausible(f"{took:g} s of launches in {wall:g} s")
    sizes = {k: a.nbytes + 2 * GUARD for k, a in array_arguments(launch)}
    for key, held in arrays.items():
        match = _KEY.fullmatch(key)
        if not match or held.dtype != np.uint8 or held.shape != (sizes.get(int(match[1])),):
            raise _implausible(f"the launch has no buffer {key[:20]!r}")
    outputs = [k for k, a in array_arguments(launch) if a.read_back]
    if any(f"{p}.{k}" not in arrays for p in range(len(reply.times)) for k in outputs):
        raise _implausible("the output of a timed launch is missing")
    numbers: Mapping[str, Any] = reply.model_dump()
    return numbers


def _implausible(why: str) -> MachineFault:
    what = f"the timing process sent an implausible reply: {why}"
    return MachineFault(what, fix="grade it again; see `grader doctor` if it happens twice")


def submission_findings(
    plan: TimingPlan, after: Buffers, verify: Verify
) -> tuple[tuple[Finding, ...], int]:
    """Report the first wrong output of the submission; return the number of right ones too."""
    problems = _problems(plan, after, verify, SUBMISSION)
    wrong = [(number, text) for number, text in enumerate(problems.values(), start=1) if text]
    if not wrong:
        return (), len(problems)
    number, text = wrong[0]
    what = f"timed launch {number} of {len(problems)} is wrong: {text}"
    hint = "compute the whole output in every launch: each timed launch has new inputs"
    finding = Finding("wrong-output", "error", what, count=len(wrong), hint=hint)
    return (finding,), len(problems) - len(wrong)


def baseline_findings(plan: TimingPlan, after: Buffers, verify: Verify) -> Iterator[Finding]:
    """Report a wrong output of the baseline, in a pair in which it is verified.

    After the first pair, the submission has overwritten the baseline's inputs or code.

    Raises:
        LabFault: the output of the first pair is wrong; the baseline runs first there.
    """
    problems = _problems(plan, after, verify, BASELINE)
    wrong = [(pair, text) for pair, text in problems.items() if text]
    if wrong and wrong[0][0] == 0:
        what = f"the baseline is wrong at the timed size: {wrong[0][1]}"
        raise LabFault(
            what, where=plan.baseline.file, fix="correct the baseline or verify() in reference.py"
        )
    if wrong:
        what = "the lab's baseline gives a wrong output after this kernel ran: this kernel wrote "
        what += f"outside its buffers ({wrong[0][1]})"
        yield Finding("invalid-access", "error", what, count=len(wrong), hint=USE_SIMULATOR)


def _problems(plan: TimingPlan, after: Buffers, verify: Verify, side: int) -> dict[int, str]:
    """Verify the outputs of one side; return what is wrong by pair, in order."""
    prefix = BASELINE_PREFIX if side == BASELINE else ""
    kept = (key.removeprefix(prefix) for key in after if key.startswith(prefix))
    pairs = sorted({int(key.partition(".")[0]) for key in kept if key[0].isdigit()})

    def problem(pair: int) -> str:
        return verify(*describe_launch(plan, pair, after, side))

    with ThreadPoolExecutor(max(1, min(VERIFIERS, os.cpu_count() or 1))) as pool:
        return dict(zip(pairs, pool.map(problem, pairs), strict=True))


def describe_launch(
    plan: TimingPlan, pair: int, after: Buffers, side: int = SUBMISSION
) -> tuple[dict[str, NDArray[Any] | Made], dict[str, NDArray[Any]]]:
    """Return the inputs of one side in a pair, or what makes them, and the outputs that it left."""
    inputs: dict[str, NDArray[Any] | Made] = dict(plan.launch.globals)
    outputs: dict[str, NDArray[Any]] = {}
    prefix = BASELINE_PREFIX if side == BASELINE else ""
    for k, array in array_arguments(plan.launch):
        if array.data is not None:
            base = np.ascontiguousarray(array.data, array.dtype)
            moved = draw_moves(array.shape, plan.seed, 2 * pair + side, array.name)
            inputs[array.name] = (
                base if array.name in plan.fixed else Made(new_input, (base, moved))
            )
        if array.read_back:
            left = without_guard_bands(after[f"{prefix}{pair}.{k}"])
            outputs[array.name] = left.view(array.dtype).reshape(array.shape)
    return inputs, outputs


def recreate_launch(
    plan: TimingPlan, pair: int, after: Buffers, side: int = SUBMISSION
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Recreate the inputs of one side in a pair; return them with the outputs that it left."""
    inputs, outputs = describe_launch(plan, pair, after, side)
    return {k: v.array() if isinstance(v, Made) else v for k, v in inputs.items()}, outputs


def array_arguments(launch: Launch) -> list[tuple[int, Array]]:
    """Return the array arguments with their indices."""
    return [(k, a) for k, a in enumerate(launch.args) if isinstance(a, Array)]
