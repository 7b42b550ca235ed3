"""Launches on a GPU: one child per attempt, another after each launch that kills its context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from math import prod
from typing import Any

from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from grader.compile.launch_limits import launch_error
from grader.compile.program import Kernel, Program
from grader.faults import MachineFault
from grader.gpu import launch_child
from grader.gpu.buffers import GUARD, POISONS, illegal_writes, read_buffer
from grader.gpu.devices import Device, acquire_device, missing_requirement, same_model_devices
from grader.gpu.nvcc import compile_cubin
from grader.gpu.process import (
    START_SECONDS,
    DeviceInfo,
    call_on,
    check_after_death,
    device_info,
    require_healthy,
)
from grader.launch import Array, Finding, Launch, Resources, Trace, theoretical_occupancy
from grader.sandbox.call import Limits, Reply, SandboxFailure
from grader.sandbox.launches import pack_launches

# CUDA's errors as findings: which of a launch's errors is what kind of mistake.
#
# Names and texts: CUDA Driver API, "Data types used by CUDA driver", CUresult.

INVALID_ACCESS = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "the kernel accessed memory that no buffer covers",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "the kernel accessed memory at an address that is not a "
    "multiple of the access's size",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "the kernel used a pointer of one memory space for another",
}
LAUNCH_FAILURE = {
    "CUDA_ERROR_ASSERT": "an assert in the kernel failed",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "the kernel ran into an illegal instruction or __trap()",
    "CUDA_ERROR_LAUNCH_FAILED": "the kernel was ended by an exception, for example __trap()",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "the kernel's stack is damaged or overflowed",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "a block needs more registers or shared memory than a "
    "multiprocessor has",
    "CUDA_ERROR_INVALID_VALUE": "the launch is refused: the grid, the block or the shared memory "
    "is larger than the device allows",
    "CUDA_ERROR_NOT_FOUND": "there is no such kernel in the compiled code",
}
USE_SIMULATOR = "run it with --on sim: the simulator names the line and the thread"


def error_finding(name: str, text: str) -> Finding:
    """The finding for a launch that ended in CUDA's error `name`; `text` is the driver's own."""
    if name in INVALID_ACCESS:
        what, kind = INVALID_ACCESS[name], "invalid-access"
    else:
        what, kind = LAUNCH_FAILURE.get(name, text or "the launch failed"), "launch-failure"
    return Finding(kind, "error", f"{what} ({name or 'unknown error'})", hint=USE_SIMULATOR)


def timeout_finding(seconds: float) -> Finding:
    """The finding for a launch that was stopped."""
    return Finding(
        "timeout",
        "error",
        f"the kernel ran for more than {seconds:g} s on the GPU and was stopped",
        hint=USE_SIMULATOR,
    )


def death_finding(death: SandboxFailure, limit: float) -> Finding:
    """The finding for a launch whose whole process ended; it had `limit` seconds."""
    if death.reason == "timeout":
        return timeout_finding(limit)
    return Finding("launch-failure", "error", f"the GPU's process died: {death.detail}")


def at_kernel_line(finding: Finding, program: Program, kernel: Kernel | None = None) -> Finding:
    """At the kernel's own line: a GPU does not say which line it was."""
    return program.at(finding, kernel.line if kernel else 0)


TEARDOWN_SECONDS = 10.0
OUTCOME_BYTES = 512 << 10
"""Bytes of JSON about one launch: what it printed may be all control characters, six bytes each."""

TIMEOUT_DIVISOR = 4
"""A kernel that never ends once seldom ends elsewhere: the limit is divided after each timeout."""


@dataclass(frozen=True)
class _Job:
    """A compiled program on the GPU that it runs on."""

    program: Program
    cubin: bytes
    device: Device
    facts: DeviceInfo


def run_launches(
    program: Program, launches: Sequence[Launch], limit: float = 20.0
) -> tuple[Trace, ...]:
    """One trace a launch, in order, from the first GPU that is free; `limit` is in seconds a
    launch. Raises MachineFault, LabFault and StudentFault.
    """
    if (missing := missing_requirement()) is not None:
        raise missing
    found = same_model_devices()
    facts = device_info(found[0])
    cubin = compile_cubin(program, facts.architecture)
    traces: list[Trace] = []
    with acquire_device(found) as device:
        work = _Job(program, cubin, device, device_info(device))
        while len(traces) < len(launches):
            traces += _attempt(work, launches[len(traces) :], limit)
            if any(f.kind == "timeout" for f in traces[-1].findings):
                limit = max(limit / TIMEOUT_DIVISOR, 0.5)
    return tuple(traces)


def _attempt(work: _Job, launches: Sequence[Launch], limit: float) -> list[Trace]:
    """The traces of one child: at least one, up to the launch that ended its context."""
    refused = _launch_problem(work.program, launches[0])
    if refused is not None:
        return [_aborted(work, refused)]
    fitting = [one for one in launches if _launch_problem(work.program, one) is None]
    ready = launches if len(fitting) == len(launches) else launches[:1]
    kernels = [_kernel(work.program, one) for one in ready]
    rows, arrays = pack_launches(ready)
    request = {"launches": rows, "symbols": [k.symbol for k in kernels], "limit": limit}
    arrays["cubin"] = _bytes(work.cubin)
    try:
        reply = call_on(work.device, launch_child.launch, request, arrays, _limits(ready, limit))
    except SandboxFailure as death:
        check_after_death(work.device, death)
        return [_aborted(work, death_finding(death, limit)) for _ in ready]
    traces = [
        _trace(work, one, kernel, row, reply.arrays, number, limit)
        for number, (one, kernel, row) in enumerate(
            zip(ready, kernels, _validated(reply, ready), strict=False)
        )
    ]
    if not traces:
        raise MachineFault("the GPU's child process launched nothing", fix="see `grader doctor`")
    if not traces[-1].ended:
        require_healthy(work.device)
    return traces


def _validated(reply: Reply, launches: Sequence[Launch]) -> list[dict[str, Any]]:
    """The outcomes as JSON, each with its form and its launch's buffers. MachineFault for anything
    else: the child ran what a student wrote, and may have been taken over.
    """
    try:
        outcomes = TypeAdapter(list[launch_child.Outcome]).validate_python(reply.value)
    except ValidationError:
        raise _malformed_reply() from None
    for number, (one, outcome) in enumerate(zip(launches, outcomes, strict=False)):
        if outcome.error or outcome.text or outcome.timeout:
            continue
        arrays = [(k, a) for k, a in enumerate(one.args) if isinstance(a, Array)]
        for run, (k, array) in product(range(len(POISONS)), arrays):
            held = reply.arrays.get(f"{number}.{run}.{k}")
            if held is None or (held.dtype.str, held.shape) != ("|u1", (array.nbytes + 2 * GUARD,)):
                raise _malformed_reply()
    return [asdict(outcome) for outcome in outcomes]


def _malformed_reply() -> MachineFault:
    what = "the GPU's child process gave an answer of another form"
    return MachineFault(what, fix="grade it again; see `grader doctor` if it happens twice")


def _limits(launches: Sequence[Launch], limit: float) -> Limits:
    """For a child that runs every launch twice and hands every buffer back twice."""
    arrays = [a for launch in launches for a in launch.args if isinstance(a, Array)]
    output = sum(len(POISONS) * (a.nbytes + 2 * GUARD + 64) for a in arrays) + (4 << 20)
    output += len(launches) * OUTCOME_BYTES
    wall = START_SECONDS + TEARDOWN_SECONDS + len(launches) * len(POISONS) * limit
    return Limits(wall=wall, cpu=wall, memory=0, output=output)


def _trace(
    work: _Job,
    launch: Launch,
    kernel: Kernel,
    row: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    number: int,
    limit: float,
) -> Trace:
    if row["timeout"]:
        return _aborted(work, timeout_finding(limit), kernel)
    if row["error"] or row["text"]:
        return _aborted(work, error_finding(row["error"], row["text"]), kernel)
    places = [k for k, a in enumerate(launch.args) if isinstance(a, Array)]
    after = [[arrays[f"{number}.{run}.{k}"] for k in places] for run in range(len(POISONS))]
    findings = illegal_writes(launch, kernel, after)
    outputs, unwritten = {}, {}
    for at, k in enumerate(places):
        array = launch.args[k]
        if not isinstance(array, Array) or not array.read_back:
            continue
        left = read_buffer(array, [held[at] for held in after])
        outputs[k] = left.value
        if left.unwritten is not None:
            unwritten[k] = left.unwritten
        if not left.repeats:
            findings.append(_nondeterministic(kernel.parameters[k].name or array.name))
    return Trace(
        "gpu",
        tuple(at_kernel_line(finding, work.program, kernel) for finding in findings),
        outputs,
        unwritten,
        resources=_resources(work.facts, launch, row),
        seconds={"run": row["seconds"]},
        toolchain={**work.program.toolchain, **work.facts.toolchain},
        printed=row["printed"],
    )


def _resources(facts: DeviceInfo, launch: Launch, row: Mapping[str, Any]) -> Resources:
    digits = facts.architecture.removeprefix("sm_")
    shared = row["static_shared_bytes"] + launch.shared
    capability = (int(digits[:-1]), int(digits[-1]))
    return Resources(
        row["registers"],
        row["static_shared_bytes"],
        row["local_bytes"],
        theoretical_occupancy(capability, prod(launch.block), row["registers"], shared),
    )


def _kernel(program: Program, launch: Launch) -> Kernel:
    kernel = program.kernel(launch.kernel)
    assert kernel is not None, "refused before"
    return kernel


def _launch_problem(program: Program, launch: Launch) -> Finding | None:
    """Why there is nothing to launch, before CUDA is asked; None when there is."""
    kernel = program.kernel(launch.kernel)
    if kernel is None:
        return error_finding("CUDA_ERROR_NOT_FOUND", "")
    return launch_error(launch, kernel)


def _aborted(work: _Job, finding: Finding, kernel: Kernel | None = None) -> Trace:
    toolchain = {**work.program.toolchain, **work.facts.toolchain}
    return Trace(
        "gpu", (at_kernel_line(finding, work.program, kernel),), toolchain=toolchain, ended=False
    )


def _nondeterministic(name: str) -> Finding:
    return Finding(
        "race",
        "info",
        f"{name} differs between two runs of the same launch",
        space="global",
        variable=name,
        hint="only sums by floating-point atomics may do that; else two threads race",
    )


def _bytes(data: bytes) -> NDArray[Any]:
    import numpy as np

    return np.frombuffer(data, np.uint8)
