"""Measure one GPU for estimates: the sweep, and the labs' own kernels: -> machine file.

The kernels are those that `calibrate` times (baselines, files that are too slow, intermediate
versions, solutions), and the incorrect variants that compute the right output slowly. Each is timed
as a submission is, in pairs with the baseline and with a cold L2 cache, and its outputs are
verified. Its work is counted on the simulator meanwhile. The model is fitted to them, and its error
is that of labs that were held back (grader.grading.estimate.fit).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from grader import dataclass, replace
from grader.authoring.calibrate import ladder, speed_plan
from grader.compile.program import Program
from grader.compile.signature import with_lab_kernels
from grader.compile.source import compile_source
from grader.faults import LabFault, MachineFault, StudentFault
from grader.gpu import sweep
from grader.gpu.devices import acquire_device, same_model_devices
from grader.gpu.nvcc import compile_cubin
from grader.gpu.process import START_SECONDS, call_on, device_info
from grader.gpu.speedup import MIN_PAIRS, TimingPlan, counted_pairs
from grader.gpu.timing import time_kernel
from grader.grading.cases import RunOptions
from grader.grading.estimate.fit import UNKNOWN, HeldBack, Sample, error_lines
from grader.grading.estimate.kernel import NoWork, baseline_key, count_work
from grader.grading.estimate.machine import (
    MachineFile,
    file_name,
    fitted,
    read_machine,
    rounded,
    store_machine,
)
from grader.grading.estimate.model import Fit
from grader.grading.timing import verifier
from grader.labs.model import MACHINES, Case, Lab
from grader.sandbox.call import Limits, SandboxFailure
from grader.simulator.workload import Work

PAIRS = 20
BUDGET = 1.0
"""Pairs of launches of one kernel, and seconds that they may take, at most, after MIN_PAIRS."""

SWEEP_SECONDS = 60.0
"""Seconds that the sweep may take, beyond the start of its child; it takes a few."""

LIMIT = 60.0
"""Seconds that the simulator may take for the sample of a launch."""

COSTLY = ("bank-conflict", "missing-feature", "spill", "uncoalesced")
"""How the names of incorrect variants begin that compute the right output slowly."""

JOBS = 4
"""Kernels that are compiled, or counted on the simulator, at a time."""

Announce = Callable[[str], None]


@dataclass(frozen=True)
class Kernel:
    """One kernel to measure: a file of a lab, its program, and how it is launched."""

    lab: Lab
    name: str
    case: Case
    program: Program
    plan: TimingPlan


@dataclass(frozen=True)
class Measured:
    """A machine's content, its table of held-back kernels, and the kernels that were left out."""

    content: MachineFile
    rows: tuple[HeldBack, ...]
    problems: tuple[str, ...]


def measure_machine(
    labs: Sequence[Lab],
    keep: Callable[[MachineFile], None] = lambda content: None,
    announce: Announce = lambda what: None,
) -> Measured:
    """Measure the first free GPU: the sweep, then every kernel of the labs with a speed check.

    Args:
        labs: The labs.
        keep: Called with what is measured so far, after the sweep and after each kernel.
        announce: Called with a short text before each step.

    Raises:
        LabFault: A lab is broken.
        MachineFault: No GPU can be used, or the sweep fails.
    """
    info = device_info(same_model_devices()[0])
    announce("compiling")
    kernels, problems = _compiled(labs, info.architecture)
    announce("the sweep")
    keys = {kernel.lab.name: baseline_key(kernel.lab, kernel.case) for kernel in kernels}
    content = _swept(dict(info.toolchain), _sweep(info.architecture), keys)
    keep(content)
    with ThreadPoolExecutor(JOBS) as pool:
        works = [pool.submit(work_of, kernel) for kernel in kernels]
        for kernel, work in zip(kernels, works, strict=True):
            announce(f"{kernel.lab.name}: {kernel.name}")
            made = sample_of(kernel, work)
            if isinstance(made, Sample):
                content = replace(content, kernels=(*content.kernels, made))
                keep(content)
            else:
                problems.append(f"{kernel.lab.name} {kernel.name}: {made}")
    announce("fitting the model")
    measured = refit(content)
    return replace(measured, problems=(*problems, *measured.problems))


def _swept(tools: dict[str, str], swept: Any, keys: dict[str, str]) -> MachineFile:
    """Return the content of a file that has no kernels yet; numbers are rounded as the file's."""
    swept = rounded(swept)
    major, minor = swept["capability"]
    return MachineFile(
        tools.pop("device"),
        (major, minor),
        swept["multiprocessors"],
        swept["launch"],
        tuple(swept["clocks"]),
        swept["points"],
        (),
        keys,
        Fit(),
        UNKNOWN,
        tools.pop("driver", ""),
        tools,
        datetime.date.today(),
    )


def refit(content: MachineFile) -> Measured:
    """Fit the model to a file's own measurements: at the end, or again after it has changed.

    Where that is not possible, the measurements stay, without a fit that anything is shown of.
    """
    try:
        fit, errors, rows = fitted(content.kernels, content.machine)
    except LabFault as fault:
        return Measured(replace(content, fit=Fit(), errors=UNKNOWN), (), (str(fault),))
    return Measured(replace(content, fit=fit, errors=errors), rows, ())


def write_machine(labs: Sequence[Lab], course: Path, announce: Announce) -> tuple[Measured, Path]:
    """Measure as `measure_machine` does, and write the file of the GPU in a course's folder.

    It is written after each step, so that what ends the measurement loses one kernel.

    Raises:
        LabFault: A lab is broken, or the file cannot be written.
        MachineFault: No GPU can be used, or the sweep fails.
    """

    def path_of(content: MachineFile) -> Path:
        return course / MACHINES / file_name(content.device)

    def keep(content: MachineFile) -> None:
        store_machine(content, path_of(content))

    measured = measure_machine(labs, keep, announce)
    keep(measured.content)
    return measured, path_of(measured.content)


def refit_file(path: Path) -> Measured:
    """Fit the model again to a machine file, and write it.

    Raises:
        LabFault: The file cannot be read or written.
    """
    measured = refit(read_machine(path))
    store_machine(measured.content, path)
    return measured


def machine_lines(measured: Measured) -> Iterator[str]:
    """Yield the report of a measured machine, at most 80 columns wide."""
    content = measured.content
    yield f"{content.device}: {len(content.points)} points, {len(content.kernels)} kernels"
    if not measured.rows:
        yield from (f"  no fit: {problem}" for problem in measured.problems)
        return
    machine = content.machine
    yield f"  {'rate':<24}{'a second':>12}  {'latency':<24}{'ns':>8}"
    rates, latencies = sorted(machine.rates.items()), sorted(machine.latencies.items())
    for left, right in zip_longest(rates, latencies):
        one = f"{left[0]:<24}{left[1]:>12.4g}" if left else " " * 36
        other = f"  {right[0]:<24}{1e9 * right[1]:>8.2f}" if right else ""
        yield f"  {one}{other}".rstrip()
    yield from error_lines(measured.rows)
    yield from (f"  left out: {problem}" for problem in measured.problems)


def _compiled(labs: Sequence[Lab], architecture: str) -> tuple[list[Kernel], list[str]]:
    """Compile every kernel for both backends, so that the GPU does not wait for compilers."""

    def build(kernel: Kernel) -> Kernel:
        compile_cubin(kernel.program, architecture)
        compile_cubin(kernel.plan.baseline, architecture)
        return kernel

    made, problems, pending = [], [], list[tuple[str, Future[Kernel]]]()
    with ThreadPoolExecutor(JOBS) as pool:
        for kernel in kernels_of(labs):
            if isinstance(kernel, str):
                problems.append(kernel)
            else:
                name = f"{kernel.lab.name} {kernel.name}"
                pending.append((name, pool.submit(build, kernel)))
        for name, future in pending:
            try:
                made.append(future.result())
            except StudentFault as fault:
                problems.append(f"{name}: {fault.what}")
    return made, problems


def kernels_of(labs: Sequence[Lab]) -> Iterator[Kernel | str]:
    """Yield the kernels of the labs that have a speed check, or why one cannot be measured.

    Raises:
        LabFault: A lab is broken, or a file cannot be read.
    """
    for lab in labs:
        if (planned := speed_plan(lab)) is None:
            continue
        case, plan = planned
        plan = replace(plan, budget=BUDGET, least=MIN_PAIRS, most=PAIRS)
        for name, file in measured_files(lab):
            own = replace(plan, launch=plan.baseline_launch) if file == lab.baseline else plan
            try:
                yield Kernel(lab, name, case, lab_program(lab, file), own)
            except StudentFault as fault:
                yield f"{lab.name} {name}: does not compile: {fault.what}"


def measured_files(lab: Lab) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of the files of a lab that an estimate is fitted to."""
    files = [(name, file) for name, file, _ in ladder(lab)]
    folder = lab.solution.parent
    for start in COSTLY:
        files += [(f"wrong/{f.name}", f) for f in sorted(folder.glob(f"wrong/{start}-*.cu"))]
    yield from files


def lab_program(lab: Lab, file: Path) -> Program:
    """Compile one of a lab's own files.

    Raises:
        LabFault: It cannot be read.
        StudentFault: It does not compile.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise LabFault(f"cannot read the file: {error.strerror}", where=str(file)) from None
    kernels = lab.kernels[:1]
    return with_lab_kernels(compile_source(data, file.name, wanted=kernels), kernels)


def _sweep(architecture: str) -> Any:
    """Run the sweep in a child on the first free GPU."""
    cubin = compile_cubin(sweep.sweep_kernels(), architecture)
    arrays = {"cubin": np.frombuffer(cubin, np.uint8)}
    wall = START_SECONDS + SWEEP_SECONDS
    with acquire_device(same_model_devices()) as device:
        try:
            limits = Limits(wall=wall, cpu=wall, memory=0)
            return call_on(device, sweep.measure, {}, arrays, limits).value
        except SandboxFailure as death:
            raise MachineFault(f"the sweep's process died: {death.detail}") from death


def work_of(kernel: Kernel) -> Work | str:
    """Count a kernel's work on the simulator; return why that is not possible, if it is not."""
    options = RunOptions("sim", threads=1, limit=LIMIT)
    try:
        work = count_work(kernel.program, kernel.plan.launch, options)
    except (NoWork, MachineFault) as problem:
        return str(problem)
    return Work(**rounded(asdict(work)))


def sample_of(kernel: Kernel, work: Future[Work | str]) -> Sample | str:
    """Time one kernel; return why it cannot be used, if it cannot: others are still measured."""
    try:
        timing = time_kernel(kernel.program, kernel.plan, verifier(kernel.lab, kernel.case))
    except (LabFault, MachineFault, StudentFault) as fault:
        return str(fault)
    wrong = [finding for finding in timing.findings if finding.severity == "error"]
    pairs = counted_pairs(timing.pairs)
    if wrong or not pairs:
        return wrong[0].message if wrong else "no pair of launches was timed"
    counted = work.result()
    if isinstance(counted, str):
        return counted
    seconds = rounded(median(pair.submission for pair in pairs))
    return Sample(kernel.lab.name, kernel.name, seconds, counted)
