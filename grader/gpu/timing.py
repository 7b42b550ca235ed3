"""Time a kernel against its baseline on a GPU: TimingPlan -> Timing (paired timing).

A child process takes the samples. The GPU is locked only while the child runs; the outputs are
verified once it has taken them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from importlib.resources import files
from typing import Any

import numpy as np

from grader import dataclass, replace
from grader.compile.cache import cache_key, load, store, user_folder
from grader.compile.launch_limits import launch_error, with_parameter_types
from grader.compile.program import Kernel, Program
from grader.faults import LabFault, MachineFault
from grader.gpu import peaks, process
from grader.gpu.buffers import GUARD, guard_band_findings
from grader.gpu.devices import (
    Device,
    acquire_device,
    driver_version,
    missing_requirement,
    same_model_devices,
    toolkit,
)
from grader.gpu.launches import (
    USE_SIMULATOR,
    at_kernel_line,
    death_finding,
    error_finding,
    timeout_finding,
)
from grader.gpu.nvcc import compile_cubin
from grader.gpu.process import (
    MEASURE,
    START_SECONDS,
    ReadyChildren,
    call_on,
    check_after_death,
    device_info,
    require_healthy,
)
from grader.gpu.speedup import (
    BASELINE,
    BASELINE_PREFIX,
    MIN_PAIRS,
    SUBMISSION,
    Timing,
    TimingPlan,
    Verify,
    make_pairs,
    throttled,
)
from grader.gpu.timing_verification import (
    array_arguments,
    baseline_findings,
    reply_model,
    submission_findings,
    validate_reply,
)
from grader.launch import Array, Arrays, Finding, Launch, pack_launches
from grader.sandbox.call import KeptChild, Limits, Reply, SandboxFailure

OUTPUT_BYTES = 5 << 28
"""Bytes of the submission's timed outputs that are handed back for verification, at most: a
machine takes about a second to move and to verify a gigabyte of them. A kernel that leaves more in
FEWEST launches has no more than those."""

FORMAT = 1


@dataclass(frozen=True)
class Measurement:
    """What to measure: program, plan, and the kernels of the baseline and the submission."""

    program: Program
    plan: TimingPlan
    kernels: tuple[Kernel, Kernel]


def time_kernel(
    program: Program, plan: TimingPlan, verify: Verify, ready: ReadyChildren | None = None
) -> Timing:
    """Time pairs of launches on the first free GPU and verify every output of the submission.

    `ready` may hold a child for that.

    Raises:
        MachineFault: the GPU, the driver or a tool fails or is missing.
        LabFault: the baseline fails.
        StudentFault: nvcc does not compile the source.
    """
    if (missing := missing_requirement()) is not None:
        raise missing
    devices = same_model_devices()
    architecture = device_info(devices[0]).architecture
    if (problem := _launch_problem(program, plan.launch)) is not None:
        return Timing((), findings=(problem,), ended=False)
    measurement = Measurement(program, plan, (_kernel(plan.baseline, plan.baseline_launch),
                                        _kernel(program, plan.launch)))  # fmt: skip
    cubins = build_baseline(plan.baseline) | {"cubin.1": compile_cubin(program, architecture)}
    packed = _packed(measurement, cubins)
    if ready is not None:
        ready.wait(MEASURE)
    # The outputs are verified while the child ends, which frees its context and its memory.
    with ThreadPoolExecutor(1) as beside, acquire_device(devices) as device:
        name = device_info(device).toolchain["device"]
        try:
            with ready.take(MEASURE) if ready else nullcontext() as kept:
                reply = _measure(measurement, packed, device, kept)
                evaluated = beside.submit(_to_timing, measurement, reply, verify)
        except SandboxFailure as death:
            check_after_death(device, death)
            lost = at_kernel_line(death_finding(death, plan.limit), program, measurement.kernels[1])
            return Timing((), findings=(lost,), ended=False, device=name)
        if reply.value["stopped"]:
            require_healthy(device)
        measured = reply.value["peaks"] | _cublas(plan.cublas, device)
    return replace(evaluated.result(), device=name, peaks=measured)


def build_baseline(baseline: Program) -> dict[str, bytes]:
    """Compile the baseline and the timing kernels for this machine's GPU (cached).

    Raises:
        MachineFault: the GPU, the driver or nvcc is missing.
        StudentFault: nvcc does not compile the baseline.
    """
    if (missing := missing_requirement()) is not None:
        raise missing
    architecture = device_info(same_model_devices()[0]).architecture
    return {
        "cubin.own": compile_cubin(timing_kernels(), architecture),
        "cubin.0": compile_cubin(baseline, architecture),
    }


def timing_kernels() -> Program:
    """Return kernels.cu as a program, which only nvcc compiles."""
    source = files("grader.gpu").joinpath("kernels.cu").read_text(encoding="utf-8")
    return Program("kernels.cu", source, (), "", "", "")


def max_pairs(plan: TimingPlan) -> int:
    """Return how many pairs the size of their outputs allows, at least MIN_PAIRS."""
    one = _buffer_bytes(plan, outputs=True)
    return min(plan.most, max(OUTPUT_BYTES // max(one, 1), MIN_PAIRS))


def _reply_bytes(plan: TimingPlan, pairs: int) -> int:
    """Return the bytes of a reply: both kernels' outputs of each pair, inputs once, and numbers."""
    outputs, every = _buffer_bytes(plan, outputs=True), _buffer_bytes(plan, outputs=False)
    return 2 * pairs * outputs + every + (4 << 20)


def _buffer_bytes(plan: TimingPlan, *, outputs: bool) -> int:
    """Return the bytes of one launch's buffers with their guard bands: `outputs`, or all."""
    arrays = [a for _, a in array_arguments(plan.launch) if a.read_back or not outputs]
    return sum(a.nbytes + 2 * GUARD for a in arrays)


def _packed(measurement: Measurement, cubins: Mapping[str, bytes]) -> tuple[Any, Arrays]:
    """Pack both launches and the cubins for the child."""
    plan = measurement.plan
    own = with_parameter_types(plan.launch, measurement.kernels[1])
    rows, arrays = pack_launches([_without_data(plan.baseline_launch), own])
    return rows, arrays | {n: np.frombuffer(cubin, np.uint8) for n, cubin in cubins.items()}


def _measure(
    measurement: Measurement, packed: tuple[Any, Arrays], device: Device, kept: KeptChild | None
) -> Reply:
    """Have a child take the samples, in `kept` if it is one."""
    plan, (rows, arrays) = measurement.plan, packed
    most = max_pairs(plan)
    key = cache_key("peaks", FORMAT, device.name, driver_version())
    known = load(user_folder(), key)
    request = {
        "launches": rows,
        "symbols": [kernel.symbol for kernel in measurement.kernels],
        "peaks": known is None,
        "plan": {
            "seed": plan.seed.hex(),
            "fixed": list(plan.fixed),
            "minimum": plan.minimum,
            "full": plan.full,
            "budget": plan.budget,
            "least": min(plan.least, most),
            "most": most,
            "limit": plan.limit,
        },
    }
    wall = START_SECONDS + plan.budget + (MIN_PAIRS + 3) * 2 * plan.limit
    output = max(_reply_bytes(plan, most), process.OUTPUT_BYTES)
    limits = Limits(wall=wall, cpu=wall, memory=0, output=output)
    began = time.monotonic()
    with ThreadPoolExecutor(1) as beside:  # what reads the reply is made while it is awaited
        beside.submit(reply_model)
        made = call_on(device, MEASURE, request, arrays, limits, kept=kept)
    took = time.monotonic() - began
    reply = Reply(dict(validate_reply(made.value, made.arrays, plan.launch, took)), made.arrays)
    if known is None and reply.value["peaks"]:
        store(user_folder(), key, reply.value["peaks"])
    reply.value["peaks"] = reply.value["peaks"] or known or {}
    return reply


def _cublas(sizes: tuple[int, int, int] | None, device: Device) -> dict[str, float]:
    """Measure the rate of cuBLAS on a product of these sizes (cached); empty if it fails."""
    tools = toolkit()
    paths = peaks.cublas_libraries(tools) if tools and sizes else ()
    if not paths:
        return {}
    key = cache_key("cublas", FORMAT, device.name, driver_version(), sizes, paths[-1].name)
    known = load(user_folder(), key)
    if known is None:
        request = {"sizes": sizes, "libraries": [str(path) for path in paths]}
        limits = Limits(wall=START_SECONDS, memory=0)
        try:
            reply = call_on(device, peaks.cublas_rate, request, {}, limits, (paths[-1].parent,))
        except (SandboxFailure, MachineFault):
            return {}  # only shown in the report
        known = float(reply.value)
        store(user_folder(), key, known)
    return {"cublas_flop_per_second": known} if known else {}


def _to_timing(measurement: Measurement, reply: Reply, verify: Verify) -> Timing:
    """Make the Timing; report what is wrong with any timed launch."""
    samples = reply.value
    overhead = samples["overhead"]
    pairs = make_pairs(samples["times"], throttled(samples["clocks"]), overhead, samples["empty"])
    ran = any(key[0].isdigit() for key in reply.arrays)
    findings = [
        *stop_findings(measurement.plan, samples, ran),
        *_guard_findings(measurement, reply),
    ]
    findings += baseline_findings(measurement.plan, reply.arrays, verify)
    wrong, verified = submission_findings(measurement.plan, reply.arrays, verify)
    clocks = tuple(samples["clocks"][1:]) if any(samples["clocks"]) else ()
    return Timing(
        pairs,
        overhead,
        tuple(
            at_kernel_line(f, measurement.program, measurement.kernels[1])
            for f in (*findings, *wrong)
        ),
        ended=not samples["stopped"],
        verified=verified,
        clocks=clocks,
        empty=max(samples["empty"] - overhead, 0.0),
    )


def stop_findings(plan: TimingPlan, samples: Mapping[str, Any], ran: bool) -> Iterator[Finding]:
    """Report why a launch ended the measurement; nothing when none did.

    A failing baseline is the submission's error only if the submission `ran` before: the baseline's
    first launch comes first, so it worked then.

    Raises:
        LabFault: the baseline fails.
        MachineFault: an empty kernel fails.
    """
    if not samples["stopped"]:
        return
    is_timeout = samples["stopped"] == "timeout"
    finding = (
        timeout_finding(plan.limit)
        if is_timeout
        else error_finding(samples["error"], samples["text"])
    )
    if samples["culprit"] == SUBMISSION:
        yield finding
    elif ran:
        what = (
            "the lab's baseline fails after this kernel ran: this kernel wrote outside its buffers"
        )
        yield Finding("invalid-access", "error", what, hint=USE_SIMULATOR)
    elif samples["culprit"] == BASELINE:
        where = plan.baseline.file
        raise LabFault(f"the baseline fails when it is timed: {finding.message}", where=where)
    else:
        raise MachineFault(f"an empty kernel fails on the GPU: {finding.message}")


def _guard_findings(measurement: Measurement, reply: Reply) -> Iterator[Finding]:
    """Report writes outside a buffer: outputs after every launch, inputs at the end."""
    reported: set[tuple[int, str]] = set()
    names = measurement.kernels[1].parameters
    arrays = dict(array_arguments(measurement.plan.launch))
    for key, bytes_after in reply.arrays.items():
        if key.startswith(BASELINE_PREFIX):
            continue
        index = int(key.partition(".")[2])
        array = replace(arrays[index], name=names[index].name or arrays[index].name)
        for what, finding in guard_band_findings(index, array, bytes_after):
            if (index, what) not in reported:
                reported.add((index, what))
                yield finding


def _without_data(launch: Launch) -> Launch:
    """Drop the data of the baseline's arrays: both kernels use the submission's buffers."""
    args = tuple(replace(a, data=None) if isinstance(a, Array) else a for a in launch.args)
    return replace(launch, args=args)


def _launch_problem(program: Program, launch: Launch) -> Finding | None:
    kernel = program.kernel(launch.kernel)
    if kernel is None:
        return error_finding("CUDA_ERROR_NOT_FOUND", "")
    return launch_error(launch, kernel)


def _kernel(program: Program, launch: Launch) -> Kernel:
    kernel = program.kernel(launch.kernel)
    if kernel is None:
        raise LabFault(f"{program.file} has no kernel `{launch.kernel}`")
    return kernel
