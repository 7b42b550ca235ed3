"""Launches on a GPU: one child per attempt, another after each launch that kills its context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from numpy.typing import NDArray

from grader.box import BoxDeath, Limits, call
from grader.compile.cache import key_of, load, store, user_folder
from grader.compile.program import Kernel, Program
from grader.fault import MachineFault
from grader.gpu.buffer import GUARD, POISONS, size, trespasses, written
from grader.gpu.device import Device, devices, driver_version, lacking, library_folder, toolkit
from grader.gpu.errors import of_error, of_timeout
from grader.gpu.lock import held, quarantine
from grader.gpu.nvcc import compile_cubin, release
from grader.launch import Array, Finding, Launch, Resources, Trace
from grader.occupancy import theoretical_occupancy
from grader.packing import pack_launches
from grader.refusal import refusal

START = 30.0
"""Seconds that a child may take to import PyCUDA and to get a context, at most."""

TEARDOWN = 10.0
PATIENCE = 4
"""A kernel that never ends once seldom ends elsewhere: the limit is divided after each timeout."""

FORMAT = 1


@dataclass(frozen=True)
class Facts:
    """One GPU: its name, "sm_90", and what else belongs in a grade's provenance."""

    architecture: str
    toolchain: Mapping[str, str]


@dataclass(frozen=True)
class _Work:
    """A compiled program on the GPU that it runs on."""

    program: Program
    cubin: bytes
    device: Device
    facts: Facts


def run_launches(
    program: Program, launches: Sequence[Launch], limit: float = 20.0
) -> tuple[Trace, ...]:
    """One trace a launch, in order, from the first GPU that is free; `limit` is in seconds a
    launch. Raises MachineFault, LabFault and StudentFault."""
    if (missing := lacking()) is not None:
        raise missing
    found = devices()
    facts = facts_of(found[0])
    cubin = compile_cubin(program, facts.architecture)
    traces: list[Trace] = []
    with held(found) as device:
        work = _Work(program, cubin, device, facts_of(device))
        while len(traces) < len(launches):
            traces += _attempt(work, launches[len(traces) :], limit)
            if any(f.kind == "timeout" for f in traces[-1].findings):
                limit = max(limit / PATIENCE, 0.5)
    return tuple(traces)


def facts_of(device: Device) -> Facts:
    """What CUDA says of a GPU; asked once for each driver, then remembered."""
    tools = toolkit()
    nvcc = release(tools) if tools else ""
    key = key_of("gpu", FORMAT, device.name, driver_version(), nvcc)
    told = load(user_folder(), key)
    if told is None:
        told = _call("describe", {}, {}, device, Limits(wall=START, memory=0)).value
        store(user_folder(), key, told)
    toolchain = {
        "device": told["name"],
        "driver": driver_version(),
        "cuda": told["cuda"],
        "pycuda": told["pycuda"],
        "nvcc": nvcc,
    }
    return Facts(told["architecture"], toolchain)


def healthy(device: Device) -> str:
    """Empty when a known kernel gives the right numbers on `device`, else what went wrong."""
    try:
        reply = _call("probe", {}, {}, device, Limits(wall=START, memory=0))
    except BoxDeath as death:
        return f"the probe died: {death.detail}"
    except MachineFault as fault:
        return fault.what
    return "" if reply.value is True else "a known kernel gives wrong numbers"


def _attempt(work: _Work, launches: Sequence[Launch], limit: float) -> list[Trace]:
    """The traces of one child: at least one, up to the launch that ended its context."""
    refused = _unlaunchable(work.program, launches[0])
    if refused is not None:
        return [_aborted(work, refused)]
    fitting = [one for one in launches if _unlaunchable(work.program, one) is None]
    ready = launches if len(fitting) == len(launches) else launches[:1]
    kernels = [_kernel(work.program, one) for one in ready]
    rows, arrays = pack_launches(ready)
    request = {"launches": rows, "symbols": [k.symbol for k in kernels], "limit": limit}
    arrays["cubin"] = _bytes(work.cubin)
    try:
        reply = _call("launch", request, arrays, work.device, _limits(ready, limit))
    except BoxDeath as death:
        _probe(work.device)
        return [_aborted(work, _of_death(death, limit)) for _ in ready]
    traces = [
        _trace(work, one, kernel, row, reply.arrays, number, limit)
        for number, (one, kernel, row) in enumerate(zip(ready, kernels, reply.value, strict=False))
    ]
    if not traces:
        raise MachineFault("the GPU's child process launched nothing", mend="see `grader doctor`")
    if not traces[-1].ended:
        _probe(work.device)
    return traces


def _call(
    step: str, request: Any, arrays: Mapping[str, NDArray[Any]], device: Device, limits: Limits
) -> Any:
    libraries = library_folder()
    variables = {"LD_LIBRARY_PATH": str(libraries or ""), "CUDA_CACHE_DISABLE": "1"}
    if device.uuid:
        variables["CUDA_VISIBLE_DEVICES"] = device.uuid
    return call(
        f"grader.gpu.step:{step}",
        request,
        arrays,
        limits=limits,
        readable=(libraries,) if libraries else (),
        devices=device.nodes(),
        variables=variables,
    )


def _limits(launches: Sequence[Launch], limit: float) -> Limits:
    """For a child that runs every launch twice and hands every buffer back twice."""
    arrays = [a for launch in launches for a in launch.args if isinstance(a, Array)]
    output = sum(len(POISONS) * (size(a) + 2 * GUARD + 64) for a in arrays) + (4 << 20)
    wall = START + TEARDOWN + len(launches) * len(POISONS) * limit
    return Limits(wall=wall, cpu=wall, memory=0, output=output)


def _trace(
    work: _Work,
    launch: Launch,
    kernel: Kernel,
    row: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    number: int,
    limit: float,
) -> Trace:
    if row["timeout"]:
        return _aborted(work, of_timeout(limit), kernel)
    if row["error"] or row["text"]:
        return _aborted(work, of_error(row["error"], row["text"]), kernel)
    places = [k for k, a in enumerate(launch.args) if isinstance(a, Array)]
    after = [[arrays[f"{number}.{run}.{k}"] for k in places] for run in range(len(POISONS))]
    findings = trespasses(launch, kernel, after)
    outputs, unwritten = {}, {}
    for at, k in enumerate(places):
        array = launch.args[k]
        if not isinstance(array, Array) or not array.read_back:
            continue
        left = written(array, [held[at] for held in after])
        outputs[k] = left.value
        if left.unwritten is not None:
            unwritten[k] = left.unwritten
        if not left.repeats:
            findings.append(_differs(kernel.parameters[k].name or array.name))
    return Trace(
        "gpu",
        tuple(_placed(work.program, kernel, finding) for finding in findings),
        outputs,
        unwritten,
        resources=_resources(work.facts, launch, row),
        seconds={"run": row["seconds"]},
        toolchain={**work.program.toolchain, **work.facts.toolchain},
        printed=row["printed"],
    )


def _resources(facts: Facts, launch: Launch, row: Mapping[str, Any]) -> Resources:
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


def _unlaunchable(program: Program, launch: Launch) -> Finding | None:
    """Why there is nothing to launch, before CUDA is asked; None when there is."""
    kernel = program.kernel(launch.kernel)
    if kernel is None:
        return of_error("CUDA_ERROR_NOT_FOUND", "")
    return refusal(launch, kernel)


def _aborted(work: _Work, finding: Finding, kernel: Kernel | None = None) -> Trace:
    placed = _placed(work.program, kernel, finding)
    toolchain = {**work.program.toolchain, **work.facts.toolchain}
    return Trace("gpu", (placed,), toolchain=toolchain, ended=False)


def _placed(program: Program, kernel: Kernel | None, finding: Finding) -> Finding:
    """At the kernel's own line: a GPU does not say which line it was."""
    line = kernel.line if kernel else 0
    lines = program.source.splitlines()
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return replace(finding, file=program.file, line=line, text=text)


def _differs(name: str) -> Finding:
    return Finding(
        "race",
        "info",
        f"{name} differs between two runs of the same launch",
        space="global",
        variable=name,
        hint="only sums by floating-point atomics may do that; else two threads race",
    )


def _of_death(death: BoxDeath, limit: float) -> Finding:
    if death.reason == "timeout":
        return of_timeout(limit)
    return Finding("launch-failure", "error", f"the GPU's process died: {death.detail}")


def _probe(device: Device) -> None:
    """After a failure: use the GPU again only if it still works."""
    if problem := healthy(device):
        quarantine(device, problem)
        raise MachineFault(
            f"{device.model} no longer works: {problem}",
            where=str(device.node),
            mend="reset it (nvidia-smi --gpu-reset) or restart the machine",
        )


def _bytes(data: bytes) -> NDArray[Any]:
    import numpy as np

    return np.frombuffer(data, np.uint8)
