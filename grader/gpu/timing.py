"""A kernel's speed beside its baseline's: what the timing child is asked, and what its answer says.

The GPU is ours only while the child runs; the outputs are verified when it is free again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from grader.compile.cache import key_of, load, store, user_folder
from grader.compile.launch_limits import launch_error
from grader.compile.program import Kernel, Program
from grader.faults import LabFault, MachineFault
from grader.gpu import peaks, timing_child
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
    START_SECONDS,
    call_on,
    check_after_death,
    device_info,
    require_healthy,
)
from grader.gpu.samples import BASELINE, BASELINE_PREFIX, MIN_PAIRS, SUBMISSION, throttled
from grader.gpu.speedup import Timing, TimingPlan, Verify, make_pairs
from grader.gpu.timing_verification import (
    array_arguments,
    baseline_findings,
    submission_findings,
    validate_reply,
)
from grader.launch import Array, Finding, Launch
from grader.sandbox.call import Limits, Reply, SandboxFailure
from grader.sandbox.launches import pack_launches

OUTPUT_BYTES = 5 << 28
"""Bytes of the submission's timed outputs that are handed back for verification, at most: a
machine takes about a second to move and to verify a gigabyte of them. A kernel that leaves more in
FEWEST launches has no more than those."""

FORMAT = 1


@dataclass(frozen=True)
class Measurement:
    """What is timed: the submission's program and the plan, both kernels known to exist."""

    program: Program
    plan: TimingPlan
    kernels: tuple[Kernel, Kernel]


def time_kernel(program: Program, plan: TimingPlan, verify: Verify) -> Timing:
    """Pairs of timed launches on the first GPU that is free, each of the submission's outputs
    verified. Raises MachineFault, LabFault (the baseline fails) and StudentFault (nvcc refuses).
    """
    if (missing := missing_requirement()) is not None:
        raise missing
    found = same_model_devices()
    architecture = device_info(found[0]).architecture
    if (refused := _launch_problem(program, plan.launch)) is not None:
        return Timing((), findings=(refused,), ended=False)
    question = Measurement(program, plan, (_kernel(plan.baseline, plan.baseline_launch),
                                        _kernel(program, plan.launch)))  # fmt: skip
    cubins = build_baseline(plan.baseline) | {"cubin.1": compile_cubin(program, architecture)}
    with acquire_device(found) as device:
        name = device_info(device).toolchain["device"]
        try:
            reply = _measure(question, cubins, device)
        except SandboxFailure as death:
            check_after_death(device, death)
            lost = at_kernel_line(death_finding(death, plan.limit), program, question.kernels[1])
            return Timing((), findings=(lost,), ended=False, device=name)
        if reply.value["stopped"]:
            require_healthy(device)
        measured = reply.value["peaks"] | _cublas(plan.cublas, device)
    return replace(_to_timing(question, reply, verify), device=name, peaks=measured)


def build_baseline(baseline: Program) -> dict[str, bytes]:
    """What a measurement needs beside the submission, compiled for this machine's GPU, from the
    cache where it is known. Raises MachineFault and StudentFault (nvcc refuses the baseline).
    """
    if (missing := missing_requirement()) is not None:
        raise missing
    architecture = device_info(same_model_devices()[0]).architecture
    return {
        "cubin.own": compile_cubin(timing_kernels(), architecture),
        "cubin.0": compile_cubin(baseline, architecture),
    }


def timing_kernels() -> Program:
    """kernels.cu as a program; NVRTC never sees it."""
    source = files("grader.gpu").joinpath("kernels.cu").read_text(encoding="utf-8")
    return Program("kernels.cu", source, (), "", "", "")


def max_pairs(plan: TimingPlan) -> int:
    """How many pairs the bytes of their outputs allow, FEWEST at least."""
    one = sum(a.nbytes + 2 * GUARD for _, a in array_arguments(plan.launch) if a.read_back)
    return min(plan.most, max(OUTPUT_BYTES // max(one, 1), MIN_PAIRS))


def _measure(question: Measurement, cubins: Mapping[str, bytes], device: Device) -> Reply:
    plan = question.plan
    rows, arrays = pack_launches([_without_data(plan.baseline_launch), plan.launch])
    arrays |= {name: np.frombuffer(cubin, np.uint8) for name, cubin in cubins.items()}
    most = max_pairs(plan)
    key = key_of("peaks", FORMAT, device.name, driver_version())
    known = load(user_folder(), key)
    request = {
        "launches": rows,
        "symbols": [kernel.symbol for kernel in question.kernels],
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
    one = sum(a.nbytes + 2 * GUARD for _, a in array_arguments(plan.launch))
    limits = Limits(wall=wall, cpu=wall, memory=0, output=(2 * most + 2) * one + (4 << 20))
    began = time.monotonic()
    made = call_on(device, timing_child.measure, request, arrays, limits)
    took = time.monotonic() - began
    reply = Reply(dict(validate_reply(made.value, made.arrays, plan.launch, took)), made.arrays)
    if known is None and reply.value["peaks"]:
        store(user_folder(), key, reply.value["peaks"])
    reply.value["peaks"] = reply.value["peaks"] or known or {}
    return reply


def _cublas(sizes: tuple[int, int, int] | None, device: Device) -> dict[str, float]:
    """cuBLAS' speed on a product of these sizes, remembered; nothing where it does not work."""
    tools = toolkit()
    paths = peaks.cublas_libraries(tools) if tools and sizes else ()
    if not paths:
        return {}
    key = key_of("cublas", FORMAT, device.name, driver_version(), sizes, paths[-1].name)
    known = load(user_folder(), key)
    if known is None:
        request = {"sizes": sizes, "libraries": [str(path) for path in paths]}
        limits = Limits(wall=START_SECONDS, memory=0)
        try:
            reply = call_on(device, peaks.cublas_rate, request, {}, limits, (paths[-1].parent,))
        except (SandboxFailure, MachineFault):
            return {}  # it is shown beside a speed that was measured, and decides nothing
        known = float(reply.value)
        store(user_folder(), key, known)
    return {"cublas_flop_per_second": known} if known else {}


def _to_timing(question: Measurement, reply: Reply, verify: Verify) -> Timing:
    """The pairs; the first only warmed up. What is wrong with any timed launch is a finding."""
    told = reply.value
    overhead = told["overhead"]
    pairs = make_pairs(told["times"], throttled(told["clocks"]), overhead, told["empty"])
    ran = any(key[0].isdigit() for key in reply.arrays)
    findings = [*stop_findings(question.plan, told, ran), *_guard_findings(question, reply)]
    findings += baseline_findings(question.plan, reply.arrays, verify)
    wrong, verified = submission_findings(question.plan, reply.arrays, verify)
    clocks = tuple(told["clocks"][1:]) if any(told["clocks"]) else ()
    return Timing(
        pairs,
        overhead,
        tuple(
            at_kernel_line(f, question.program, question.kernels[1]) for f in (*findings, *wrong)
        ),
        ended=not told["stopped"],
        verified=verified,
        clocks=clocks,
        empty=max(told["empty"] - overhead, 0.0),
    )


def stop_findings(plan: TimingPlan, told: Mapping[str, Any], ran: bool) -> Iterator[Finding]:
    """Why a launch ended the measurement, as the child told it; nothing when none did.

    A baseline that fails is no mistake of the student's, unless the submission `ran` before it: the
    baseline's first launch comes first, so it was sound then. Raises LabFault and MachineFault.
    """
    if not told["stopped"]:
        return
    late = told["stopped"] == "timeout"
    finding = timeout_finding(plan.limit) if late else error_finding(told["error"], told["text"])
    if told["culprit"] == SUBMISSION:
        yield finding
    elif ran:
        what = "launched after this kernel the lab's own fails: memory that is not this kernel's"
        yield Finding("invalid-access", "error", f"{what} was written", hint=USE_SIMULATOR)
    elif told["culprit"] == BASELINE:
        where = plan.baseline.file
        raise LabFault(f"the baseline fails when it is timed: {finding.message}", where=where)
    else:
        raise MachineFault(f"the GPU fails an empty kernel: {finding.message}")


def _guard_findings(question: Measurement, reply: Reply) -> Iterator[Finding]:
    """Writes beside a buffer: the outputs' after every launch, the inputs' in the end."""
    told: set[tuple[int, str]] = set()
    names = question.kernels[1].parameters
    arrays = dict(array_arguments(question.plan.launch))
    for key, bytes_after in reply.arrays.items():
        if key.startswith(BASELINE_PREFIX):
            continue
        index = int(key.partition(".")[2])
        array = replace(arrays[index], name=names[index].name or arrays[index].name)
        for what, finding in guard_band_findings(index, array, bytes_after):
            if (index, what) not in told:
                told.add((index, what))
                yield finding


def _without_data(launch: Launch) -> Launch:
    """Both kernels share the submission's buffers, and what their inputs are made of."""
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
