"""Run one launch of one kernel without a lab, as `grader run` does."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from grader.compile.launch_limits import exceeded_limit
from grader.compile.program import Kernel, Parameter, Program
from grader.compile.source import compile_source
from grader.faults import LabFault, MachineFault
from grader.grading.cases import RunOptions
from grader.grading.run import build_for, run_all
from grader.labs.files import write_atomically
from grader.launch import Argument, Array, Finding, Launch, Trace
from grader.simulator.exchange import MAX_BLOCKS
from grader.submissions.files import Submission
from grader.submissions.launchfile import LaunchFile, element_type, is_compatible


@dataclass(frozen=True)
class LaunchResult:
    """The result of one launch; `saved` maps an argument's index to the file that holds it."""

    kernel: str
    trace: Trace
    saved: Mapping[int, Path]
    compile_seconds: float


def run_launch(
    submission: Submission,
    launch_file: LaunchFile,
    options: RunOptions,
    out: Path,
    progress: Callable[[str, int, int], None] = lambda step, number, steps: None,
    *,
    schedules: int = 0,
    table: Path | None = None,
    with_simulator: bool = False,
) -> LaunchResult:
    """Compile a file, launch its kernel, and save the arrays that the launch file names.

    Args:
        submission: the source file.
        launch_file: the launch file.
        options: the backend and its limits.
        out: the folder for saved arrays.
        progress: called before each step.
        schedules: how many other orders of blocks and warps to try.
        table: the file for the table of all accesses, if any.
        with_simulator: whether the simulator runs the launch too when a GPU does.

    Raises:
        StudentFault: the file does not compile.
        LabFault: the launch does not fit the kernel.
        MachineFault: a backend fails.
    """
    progress("compile", 1, 2)
    program = build_for(options.on, compile_source(submission.data, submission.name))
    kernel = select_kernel(program, launch_file)
    check_arguments(kernel, launch_file)
    progress("run", 2, 2)
    launch = launch_file.launch(
        kernel.name, tuple(parameter.name for parameter in kernel.parameters)
    )
    check_launch_limits(launch, kernel, launch_file, options.on)
    run = partial(
        run_all,
        program,
        [launch],
        threads=options.threads,
        limit=options.limit,
        schedules=schedules,
        table=table is not None,
    )
    (trace,) = run(on=options.on)
    if with_simulator and options.on == "gpu":
        trace = with_simulation(trace, run)
    if table is not None and trace.accesses is not None:
        held = io.BytesIO()
        np.savez_compressed(held, accesses=trace.accesses)
        write_atomically(table, held.getvalue())
    return LaunchResult(kernel.name, trace, save_outputs(trace, launch_file, out), program.seconds)


def with_simulation(gpu: Trace, simulate: Callable[[], tuple[Trace, ...]]) -> Trace:
    """Add the simulator's counters, accesses and findings to a GPU's trace of the same launch.

    The simulator's findings name the line and the thread; they replace the GPU's findings of the
    same kinds. If the simulator cannot run the launch in time, an info finding says so.
    """
    try:
        (sim,) = simulate()
    except (LabFault, MachineFault) as fault:
        return replace(gpu, findings=(*gpu.findings, _not_simulated(fault.what)))
    if gpu.ended and any(finding.kind == "timeout" for finding in sim.errors):
        return replace(
            gpu, findings=(*gpu.findings, _not_simulated("it takes longer than --limit"))
        )
    kinds = {finding.kind for finding in sim.findings}
    own = [finding for finding in gpu.findings if finding.kind not in kinds]
    return replace(
        gpu,
        findings=(*own, *sim.findings),
        counters=sim.counters,
        lines=sim.lines,
        accesses=sim.accesses,
    )


def _not_simulated(why: str) -> Finding:
    what = f"not checked for races and uninitialized reads: the simulator did not run it: {why}"
    return Finding("machine", "info", what, hint="use a smaller launch, or --on sim")


def select_kernel(program: Program, launch_file: LaunchFile) -> Kernel:
    """Return the kernel that the launch file names, else the only kernel of the file.

    Raises:
        LabFault: there is no such kernel, or the choice is ambiguous.
    """
    names = ", ".join(kernel.name for kernel in program.kernels)
    if launch_file.kernel is None and len(program.kernels) == 1:
        return program.kernels[0]
    if launch_file.kernel is None:
        what = f"{program.file} has {len(program.kernels)} kernels: {names}"
        raise LabFault(what, where=launch_file.where(), fix="name one of them: `kernel: ...`")
    kernel = program.kernel(launch_file.kernel)
    if kernel is None:
        what = f"{program.file} has no kernel `{launch_file.kernel}`"
        raise LabFault(
            what,
            where=launch_file.where("kernel"),
            fix=f"use one of its kernels: {names or 'none'}",
        )
    return kernel


def check_arguments(kernel: Kernel, launch_file: LaunchFile) -> None:
    """Check that the launch file's arguments match the kernel's parameters.

    Raises:
        LabFault: number or types differ.
    """
    expected, given = len(kernel.parameters), len(launch_file.arguments)
    if expected != given:
        what = f"{kernel.name} takes {expected} arguments, and `args` has {given}"
        raise LabFault(what, where=launch_file.where("args"), fix=kernel.signature)
    for index, (parameter, argument) in enumerate(
        zip(kernel.parameters, launch_file.arguments, strict=True)
    ):
        problem = _mismatch(parameter, argument)
        if problem:
            name = f"`{parameter.name}`" if parameter.name else f"parameter {index + 1}"
            what = f"{name} of {kernel.name} is {problem}"
            fix = "\n".join([*_conversion(parameter, argument), kernel.signature])
            raise LabFault(what, where=launch_file.where("args", index), fix=fix)


def check_launch_limits(launch: Launch, kernel: Kernel, launch_file: LaunchFile, on: str) -> None:
    """Check grid, block and shared memory against the limits of CUDA and of the simulator.

    Raises:
        LabFault: a limit is exceeded.
    """
    exceeded = exceeded_limit(launch, kernel)
    if exceeded is not None:
        raise LabFault(exceeded.what, where=launch_file.where(exceeded.key), fix=exceeded.limit)
    if on == "sim" and prod(launch.grid) > MAX_BLOCKS:
        what = f"the grid has {prod(launch.grid)} blocks; the simulator runs at most {MAX_BLOCKS}"
        fix = f"use at most {MAX_BLOCKS} blocks, or --on gpu"
        raise LabFault(what, where=launch_file.where("grid"), fix=fix)


def _mismatch(parameter: Parameter, argument: Argument) -> str:
    if parameter.is_pointer != isinstance(argument, Array):
        kind = "a pointer: pass an array" if parameter.is_pointer else "not a pointer: pass a value"
        return f"`{parameter.type}`, {kind}"
    if is_compatible(parameter.type, argument.dtype):
        return ""
    expected = element_type(parameter.type)
    given = "this array" if isinstance(argument, Array) else "this value"
    return f"`{parameter.type}`, which takes {expected}; {given} is {argument.dtype}"


def _conversion(parameter: Parameter, argument: Argument) -> list[str]:
    """Suggest how to convert an argument to the parameter's dtype."""
    expected = element_type(parameter.type)
    if expected is None or parameter.is_pointer != isinstance(argument, Array):
        return []
    if isinstance(argument, Array):
        return [f"save it as {expected}: numpy.save(FILE, array.astype('{expected}'))"]
    return [f"write dtype: {expected}"]


def save_outputs(trace: Trace, launch_file: LaunchFile, out: Path) -> dict[int, Path]:
    """Write each array that the launch file saves; none when the launch did not end.

    Returns:
        The file of each argument's index.
    """
    saved = {}
    for index, name in launch_file.saves.items():
        if index in trace.outputs:
            held = io.BytesIO()
            np.save(held, trace.outputs[index], allow_pickle=False)
            write_atomically(out / name, held.getvalue())
            saved[index] = out / name
    return saved
