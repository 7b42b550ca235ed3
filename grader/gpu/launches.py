"""Run launches on a GPU: Program and Launches -> Traces.

One child process runs all launches; after a launch that kills its context, another child runs the
rest. CUDA errors become findings. Their names and texts are from the CUDA Driver API, "Data types
used by CUDA driver", CUresult.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from grader import dataclass
from grader.compile.launch_limits import (
    launch_error,
    theoretical_occupancy,
    with_parameter_types,
)
from grader.compile.program import Kernel, Program
from grader.faults import MachineFault
from grader.gpu import launch_child
from grader.gpu.buffers import GUARD, POISONS, illegal_writes, read_buffer
from grader.gpu.devices import Device, acquire_device, missing_requirement, same_model_devices
from grader.gpu.nvcc import compile_cubin
from grader.gpu.process import (
    OUTPUT_BYTES,
    START_SECONDS,
    DeviceInfo,
    ReadyChildren,
    call_ready,
    check_after_death,
    device_info,
    require_healthy,
)
from grader.launch import (
    Array,
    Finding,
    Launch,
    Resources,
    Trace,
    pack_launches,
)
from grader.sandbox.call import Limits, Reply, SandboxFailure

if TYPE_CHECKING:
    from pydantic import TypeAdapter

INVALID_ACCESS = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "the kernel accessed memory outside every buffer",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "the kernel accessed memory at an address that is not a "
    "multiple of the access's size",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "the kernel used a pointer of one memory space for another",
}
LAUNCH_FAILURE = {
    "CUDA_ERROR_ASSERT": "an assert in the kernel failed",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "the kernel ran into an illegal instruction or __trap()",
    "CUDA_ERROR_LAUNCH_FAILED": "an exception ended the kernel, for example __trap()",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "the kernel's stack is damaged or overflowed",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "a block needs more registers or shared memory than a "
    "multiprocessor has",
    "CUDA_ERROR_INVALID_VALUE": "CUDA rejected the launch: the grid, the block or the shared "
    "memory is larger than the device allows",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": "a cooperative launch has more blocks than the GPU "
    "can run at the same time",
    "CUDA_ERROR_NOT_FOUND": "there is no such kernel in the compiled code",
}
USE_SIMULATOR = "run it with --on sim: the simulator names the line and the thread"


def error_finding(name: str, text: str) -> Finding:
    """Return the finding for a launch that ended in CUDA's error `name`.

    `text` is the driver's text, used for an unknown error.
    """
    if name in INVALID_ACCESS:
        what, kind = INVALID_ACCESS[name], "invalid-access"
    else:
        what, kind = LAUNCH_FAILURE.get(name, text or "the launch failed"), "launch-failure"
    return Finding(kind, "error", f"{what} ({name or 'unknown error'})", hint=USE_SIMULATOR)


def timeout_finding(seconds: float) -> Finding:
    """Return the finding for a launch that was stopped after `seconds`."""
    return Finding(
        "timeout",
        "error",
        f"the kernel ran for more than {seconds:g} s on the GPU and was stopped",
        hint=USE_SIMULATOR,
    )


def death_finding(death: SandboxFailure, limit: float) -> Finding:
    """Return the finding for a launch whose process died; it had `limit` seconds."""
    if death.reason == "timeout":
        return timeout_finding(limit)
    return Finding("launch-failure", "error", f"the GPU's process died: {death.detail}")


def at_kernel_line(finding: Finding, program: Program, kernel: Kernel | None = None) -> Finding:
    """Place a finding at the kernel's line: the GPU does not report the line of an error."""
    return program.at(finding, kernel.line if kernel else 0)


TEARDOWN_SECONDS = 10.0
OUTCOME_BYTES = 512 << 10
"""Bytes of JSON for one launch: printed control characters take six bytes each."""

TIMEOUT_DIVISOR = 4
"""The limit is divided by this after each timeout: a kernel that hangs once often hangs again."""


@dataclass(frozen=True)
class _Job:
    """A compiled program on the GPU that it runs on."""

    program: Program
    cubin: bytes
    device: Device
    facts: DeviceInfo
    ready: ReadyChildren | None


def run_launches(
    program: Program,
    launches: Sequence[Launch],
    limit: float = 20.0,
    ready: ReadyChildren | None = None,
) -> tuple[Trace, ...]:
    """Run launches on the first free GPU.

    Args:
        program: the compiled program.
        launches: the launches.
        limit: seconds per launch.
        ready: may hold a child for the first of them.

    Returns:
        One trace for each launch, in order.

    Raises:
        MachineFault: the GPU, the driver or a tool fails or is missing.
        LabFault: a launch does not fit the program.
        StudentFault: nvcc does not compile the source.
    """
    if (missing := missing_requirement()) is not None:
        raise missing
    devices = same_model_devices()
    cubin = compile_cubin(program, device_info(devices[0]).architecture)
    traces: list[Trace] = []
    if ready is not None:
        ready.wait(launch_child.launch)
    with acquire_device(devices) as device:
        work = _Job(program, cubin, device, device_info(device), ready)
        while len(traces) < len(launches):
            traces += _attempt(work, launches[len(traces) :], limit)
            if any(f.kind == "timeout" for f in traces[-1].findings):
                limit = max(limit / TIMEOUT_DIVISOR, 0.5)
    return tuple(traces)


def _attempt(work: _Job, launches: Sequence[Launch], limit: float) -> list[Trace]:
    """Run one child; return at least one trace, up to the launch that ended its context."""
    refused = _launch_problem(work.program, launches[0])
    if refused is not None:
        return [_aborted(work, refused)]
    fitting = [one for one in launches if _launch_problem(work.program, one) is None]
    ready = launches if len(fitting) == len(launches) else launches[:1]
    kernels = [_kernel(work.program, one) for one in ready]
    typed = [with_parameter_types(one, k) for one, k in zip(ready, kernels, strict=True)]
    rows, arrays = pack_launches(typed)
    request = {"launches": rows, "symbols": [k.symbol for k in kernels], "limit": limit}
    arrays["cubin"] = _bytes(work.cubin)
    try:
        step, limits = launch_child.launch, _limits(ready, limit)
        with ThreadPoolExecutor(1) as beside:  # what reads the reply is made while it is awaited
            beside.submit(_outcomes)
            reply = call_ready(work.ready, work.device, step, request, arrays, limits)
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
    """Validate a child's outcomes and buffers.

    The child ran a student's code and may have been taken over.

    Raises:
        MachineFault: an outcome or a buffer is malformed.
    """
    from pydantic import ValidationError

    try:
        outcomes = _outcomes().validate_python(reply.value)
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


@cache
def _outcomes() -> TypeAdapter[list[launch_child.Outcome]]:
    """Return what validates a child's outcomes; pydantic takes a tenth of a second to import."""
    from pydantic import TypeAdapter

    return TypeAdapter(list[launch_child.Outcome])


def _malformed_reply() -> MachineFault:
    what = "the GPU's child process sent a malformed reply"
    return MachineFault(what, fix="grade it again; see `grader doctor` if it happens twice")


def _limits(launches: Sequence[Launch], limit: float) -> Limits:
    """Return the limits of a child that runs every launch twice and returns every buffer twice."""
    arrays = [a for launch in launches for a in launch.args if isinstance(a, Array)]
    output = sum(len(POISONS) * (a.nbytes + 2 * GUARD + 64) for a in arrays) + (4 << 20)
    output += len(launches) * OUTCOME_BYTES
    wall = START_SECONDS + TEARDOWN_SECONDS + len(launches) * len(POISONS) * limit
    return Limits(wall=wall, cpu=wall, memory=0, output=max(output, OUTPUT_BYTES))


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
            own = kernel.parameters[k].name if k < len(kernel.parameters) else ""
            findings.append(_nondeterministic(own or array.name))
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
    assert kernel is not None, "rejected by _launch_problem"
    return kernel


def _launch_problem(program: Program, launch: Launch) -> Finding | None:
    """Return why the launch is impossible; None when it is possible."""
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
        hint="look for a data race; only floating-point atomics may change the result",
    )


def _bytes(data: bytes) -> NDArray[Any]:
    import numpy as np

    return np.frombuffer(data, np.uint8)
