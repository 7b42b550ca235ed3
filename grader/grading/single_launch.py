"""`grader run` on one screen: one kernel, one launch, no lab."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from grader.compile.launch_limits import beyond
from grader.compile.program import Kernel, Parameter, Program
from grader.compile.source import compile_source
from grader.faults import LabFault, MachineFault
from grader.grading.cases import RunOptions
from grader.grading.run import built_for, run_all
from grader.labs.files import write_atomically
from grader.launch import Argument, Array, Finding, Launch, Trace
from grader.simulator.exchange import MAX_BLOCKS
from grader.submissions.files import Submission
from grader.submissions.launchfile import LaunchFile, element_type, is_compatible


@dataclass(frozen=True)
class Ran:
    """What one launch did: `saved` maps an argument's index to the file that holds it now."""

    kernel: str
    trace: Trace
    saved: Mapping[int, Path]
    compile_seconds: float


def run_once(
    submission: Submission,
    asked: LaunchFile,
    how: RunOptions,
    out: Path,
    progress: Callable[[str, int, int], None] = lambda step, number, steps: None,
    *,
    schedules: int = 0,
    table: Path | None = None,
    watched: bool = False,
) -> Ran:
    """Compile, launch, and save the arrays that the launch file wants kept, into folder `out`,
    and the table of all accesses as `table`; try `schedules` other orders of blocks and warps.
    `watched` has the simulator run the launch too, where a GPU does.

    Raises StudentFault when it does not compile, LabFault when the launch does not fit the
    kernel, MachineFault.
    """
    progress("compile", 1, 2)
    program = built_for(how.on, compile_source(submission.data, submission.name))
    kernel = chosen(program, asked)
    match(kernel, asked)
    progress("run", 2, 2)
    launch = asked.launch(kernel.name, tuple(parameter.name for parameter in kernel.parameters))
    within_limits(launch, kernel, asked, how.on)
    run = partial(
        run_all,
        program,
        [launch],
        threads=how.threads,
        limit=how.limit,
        schedules=schedules,
        table=table is not None,
    )
    (trace,) = run(on=how.on)
    if watched and how.on == "gpu":
        trace = beside(trace, run)
    if table is not None and trace.accesses is not None:
        held = io.BytesIO()
        np.savez_compressed(held, accesses=trace.accesses)
        write_atomically(table, held.getvalue())
    return Ran(kernel.name, trace, save(trace, asked, out), program.seconds)


def beside(gpu: Trace, simulate: Callable[[], tuple[Trace, ...]]) -> Trace:
    """A GPU's trace with what the simulator says of the same launch: its findings, which name the
    line and the thread, in place of the GPU's of the same kinds; its counters and its table.

    A simulator that cannot run it, or not in time, is an info, and nothing else is said of it.
    """
    try:
        (sim,) = simulate()
    except (LabFault, MachineFault) as fault:
        return replace(gpu, findings=(*gpu.findings, _unwatched(fault.what)))
    if gpu.ended and any(finding.kind == "timeout" for finding in sim.errors):
        return replace(gpu, findings=(*gpu.findings, _unwatched("it takes longer than --limit")))
    kinds = {finding.kind for finding in sim.findings}
    own = [finding for finding in gpu.findings if finding.kind not in kinds]
    return replace(
        gpu,
        findings=(*own, *sim.findings),
        counters=sim.counters,
        lines=sim.lines,
        accesses=sim.accesses,
    )


def _unwatched(why: str) -> Finding:
    what = f"races and uninitialized reads were not looked for, the simulator did not run it: {why}"
    return Finding("machine", "info", what, hint="give it a smaller launch, or --on sim")


def chosen(program: Program, asked: LaunchFile) -> Kernel:
    """The kernel that is meant: the one that is named, else the only one."""
    names = ", ".join(kernel.name for kernel in program.kernels)
    if asked.kernel is None and len(program.kernels) == 1:
        return program.kernels[0]
    if asked.kernel is None:
        what = f"{program.file} has {len(program.kernels)} kernels: {names}"
        raise LabFault(what, where=asked.where(), fix="name one of them: `kernel: ...`")
    kernel = program.kernel(asked.kernel)
    if kernel is None:
        what = f"{program.file} has no kernel `{asked.kernel}`"
        raise LabFault(what, where=asked.where("kernel"), fix=f"it has {names or 'none'}")
    return kernel


def match(kernel: Kernel, asked: LaunchFile) -> None:
    """Raises LabFault when the arguments are not what the kernel's parameters take."""
    due, given = len(kernel.parameters), len(asked.arguments)
    if due != given:
        what = f"{kernel.name} takes {due} arguments, and `args` has {given}"
        raise LabFault(what, where=asked.where("args"), fix=kernel.signature)
    for index, (parameter, argument) in enumerate(
        zip(kernel.parameters, asked.arguments, strict=True)
    ):
        problem = _mismatch(parameter, argument)
        if problem:
            name = f"`{parameter.name}`" if parameter.name else f"parameter {index + 1}"
            what = f"{name} of {kernel.name} is {problem}"
            fix = "\n".join([*_conversion(parameter, argument), kernel.signature])
            raise LabFault(what, where=asked.where("args", index), fix=fix)


def within_limits(launch: Launch, kernel: Kernel, asked: LaunchFile, on: str) -> None:
    """Raises LabFault when grid, block or shared memory are more than CUDA has, or the grid more
    than the simulator takes: no change of the kernel mends that.
    """
    found = beyond(launch, kernel)
    if found is not None:
        raise LabFault(found.what, where=asked.where(found.key), fix=found.limit)
    if on == "sim" and prod(launch.grid) > MAX_BLOCKS:
        what = f"{prod(launch.grid)} blocks: legal on a GPU, too many to simulate"
        fix = f"at most {MAX_BLOCKS} blocks here, or --on gpu"
        raise LabFault(what, where=asked.where("grid"), fix=fix)


def _mismatch(parameter: Parameter, argument: Argument) -> str:
    if parameter.is_pointer != isinstance(argument, Array):
        kind = "a pointer: give it an array" if parameter.is_pointer else "no pointer: give a value"
        return f"`{parameter.type}`, {kind}"
    if is_compatible(parameter.type, argument.dtype):
        return ""
    due = element_type(parameter.type)
    given = "this array" if isinstance(argument, Array) else "this value"
    return f"`{parameter.type}`, which takes {due}; {given} is {argument.dtype}"


def _conversion(parameter: Parameter, argument: Argument) -> list[str]:
    """How to make what the parameter takes of an array or a value of another dtype."""
    due = element_type(parameter.type)
    if due is None or parameter.is_pointer != isinstance(argument, Array):
        return []
    if isinstance(argument, Array):
        return [f"save it as {due}: numpy.save(FILE, array.astype('{due}'))"]
    return [f"write dtype: {due}"]


def save(trace: Trace, asked: LaunchFile, out: Path) -> dict[int, Path]:
    """Write each array that is to be saved; nothing when the launch did not end."""
    kept = {}
    for index, name in asked.saves.items():
        if index in trace.outputs:
            held = io.BytesIO()
            np.save(held, trace.outputs[index], allow_pickle=False)
            write_atomically(out / name, held.getvalue())
            kept[index] = out / name
    return kept
