"""Run one launch of one kernel without a lab, as `grader run` does, and return its JSON."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from grader import dataclass, regex, replace
from grader.compile.launch_limits import exceeded_limit
from grader.compile.program import Kernel, Parameter, Program
from grader.compile.source import compile_source
from grader.faults import Fault, LabFault, MachineFault, StudentFault
from grader.grading.cases import RunOptions
from grader.grading.record import finding_json, line_json
from grader.grading.run import build_for, run_all
from grader.labs.files import write_atomically
from grader.launch import Argument, Array, Finding, Launch, Packed, Scalar, Texture, Trace
from grader.simulator.exchange import MAX_BLOCKS
from grader.submissions.files import DTYPES, Submission
from grader.submissions.launchfile import POINTER_BYTES, LaunchFile
from grader.submissions.sources import in_own_files, source_places

_DTYPE_OF = {
    "bool": "bool",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "size_t": "uint64",
    "uint": "uint32",
    "uchar": "uint8",
    "ushort": "uint16",
}
_DTYPE_OF |= {f"{name}_t": name for name in DTYPES if "int" in name}
_QUALIFIERS = ("const", "volatile", "restrict", "__restrict__", "__restrict", "signed", "struct")


def element_type(c_type: str) -> str | None:
    """Return the NumPy dtype of a C type, or of what it points to: "const float*" -> "float32".

    None for a type that is not a plain number, such as a struct or a vector.
    """
    of = c_type.partition("(*)[")[0].replace("*", " ")
    words = [word for word in of.split() if word not in _QUALIFIERS]
    unsigned = "unsigned" in words
    words = [word for word in words if word != "unsigned"]
    if len(words) > 1 and words[-1] == "int":
        words.pop()
    if not words or len(words) > 2 or (len(words) == 2 and words != ["long", "long"]):
        return "uint32" if unsigned and not words else None
    name = _DTYPE_OF.get(words[0])
    return f"u{name}" if unsigned and name and name.startswith("int") else name


def is_compatible(c_type: str, dtype: str) -> bool:
    """Return whether an argument of that dtype can be passed as the C type.

    Signed and unsigned integers of one size are compatible, and a type that is not a plain number
    accepts any dtype.
    """
    name = element_type(c_type)
    if name is None:
        return True
    wanted, given = np.dtype(name), np.dtype(dtype)
    kinds = [kind if kind in "fc" else "i" for kind in (wanted.kind, given.kind)]
    return wanted.itemsize == given.itemsize and kinds[0] == kinds[1]


OBJECT_TYPES = ("cudaTextureObject_t", "cudaSurfaceObject_t")


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
    launch = launch_of(kernel, launch_file)
    if allows_large_shared(submission.text, kernel.name):
        launch = replace(launch, large_shared=True)
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
    if places := source_places(submission.text, submission.name):
        own = partial(in_own_files, places=places, name=submission.name)
        trace = replace(trace, findings=own(trace.findings), lines=own(trace.lines))
    if table is not None and trace.accesses is not None:
        held = io.BytesIO()
        np.savez_compressed(held, accesses=trace.accesses)
        write_atomically(table, held.getvalue())
    return LaunchResult(kernel.name, trace, save_outputs(trace, launch_file, out), program.seconds)


_COMMENT = regex(r"//[^\n]*|/\*(?:.*?\*/|.*)", re.S)
"""One that is not closed reaches to the end: looking on for its end from each `/*` is quadratic."""


def allows_large_shared(text: str, kernel: str) -> bool:
    """Whether the host code of a program sets cudaFuncAttributeMaxDynamicSharedMemorySize."""
    calls = re.findall(r"\bcudaFuncSetAttribute\s*\(([^;]*)", _COMMENT.sub(" ", text))
    name = re.compile(rf"\b{re.escape(kernel)}\b")
    return any("MaxDynamicSharedMemorySize" in call and name.search(call) for call in calls)


def with_simulation(gpu: Trace, simulate: Callable[[], tuple[Trace, ...]]) -> Trace:
    """Add the simulator's counters, accesses and findings to a GPU's trace of the same launch.

    The simulator's findings name the line and the thread; they replace the GPU's findings of the
    same kinds. If the simulator cannot run the launch in time, an info finding says so.
    """
    try:
        (sim,) = simulate()
    except (LabFault, MachineFault) as fault:
        return replace(gpu, findings=(*gpu.findings, _not_simulated(fault.what)))
    if gpu.ended and not sim.ended and any(finding.kind == "timeout" for finding in sim.errors):
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
            fix=_named_template(program, launch_file.kernel)
            or f"use one of its kernels: {names or 'none'}",
        )
    return kernel


def _named_template(program: Program, name: str) -> str:
    """Return what to write instead of the name of a template's instance; "" for any other name."""
    template, arguments, _ = name.partition("<")
    instances = [k for k in program.kernels if k.name == template.strip()]
    if not (arguments and instances):
        return ""
    fix = f"write `kernel: {template.strip()}`, without template arguments"
    return fix if len(instances) == 1 else f"{fix}, and instantiate it in the file only once"


def check_arguments(kernel: Kernel, launch_file: LaunchFile) -> None:
    """Check that the launch file's arguments match the kernel's parameters.

    Raises:
        LabFault: number or types differ.
    """
    arguments = launch_file.arguments[: len(launch_file.arguments) - launch_file.hidden]
    expected, given = len(kernel.parameters), len(arguments)
    if expected != given:
        what = f"{kernel.name} takes {expected} arguments, and `args` has {given}"
        raise LabFault(what, where=launch_file.where("args"), fix=kernel.signature)
    for index, (parameter, argument) in enumerate(zip(kernel.parameters, arguments, strict=True)):
        problem = _mismatch(parameter, argument)
        if problem:
            name = f"`{parameter.name}`" if parameter.name else f"parameter {index + 1}"
            what = f"{name} of {kernel.name} is {problem}"
            fix = "\n".join([*_conversion(parameter, argument), kernel.signature])
            raise LabFault(what, where=launch_file.where("args", index), fix=fix)


def launch_of(kernel: Kernel, launch_file: LaunchFile) -> Launch:
    """Return the launch of a kernel that `check_arguments` accepted."""
    names = tuple(parameter.name for parameter in kernel.parameters)
    launch = launch_file.launch(kernel.name, names)
    args = [
        replace(a, align=p.align) if isinstance(a, Packed) and p.align else a
        for p, a in zip(kernel.parameters, launch.parameters, strict=True)
    ]
    return replace(launch, args=(*args, *launch.args[len(args) :]))


def check_launch_limits(launch: Launch, kernel: Kernel, launch_file: LaunchFile, on: str) -> None:
    """Check grid, block and shared memory against the limits of CUDA and of the simulator.

    Raises:
        LabFault: a limit is exceeded.
    """
    exceeded = exceeded_limit(launch, kernel)
    if exceeded is not None:
        inner = () if exceeded.argument is None else (exceeded.argument,)
        where = launch_file.where(exceeded.key, *inner)
        raise LabFault(exceeded.what, where=where, fix=exceeded.limit)
    if on == "sim" and prod(launch.grid) > MAX_BLOCKS:
        what = f"the grid has {prod(launch.grid)} blocks; the simulator runs at most {MAX_BLOCKS}"
        fix = f"use at most {MAX_BLOCKS} blocks, or --on gpu"
        raise LabFault(what, where=launch_file.where("grid"), fix=fix)


def _mismatch(parameter: Parameter, argument: Argument) -> str:
    if isinstance(argument, Packed):
        return _packed_mismatch(parameter, argument)
    if isinstance(argument, Texture) or parameter.type.split()[-1] in OBJECT_TYPES:
        return _object_mismatch(parameter, argument)
    if parameter.is_pointer != isinstance(argument, Array):
        kind = "a pointer: pass an array" if parameter.is_pointer else "not a pointer: pass a value"
        return f"`{parameter.type}`, {kind}"
    expected = element_type(parameter.type)
    size = np.dtype(argument.dtype).itemsize
    if expected is None and not parameter.is_pointer and parameter.bytes not in (0, size):
        return f"`{parameter.type}` of {parameter.bytes} bytes; this value has {size}"
    if is_compatible(parameter.type, argument.dtype):
        return ""
    given = "this array" if isinstance(argument, Array) else "this value"
    return f"`{parameter.type}`, which takes {expected}; {given} is {argument.dtype}"


def _object_mismatch(parameter: Parameter, argument: Argument) -> str:
    """What is wrong with an object, or with what is given for one; integers are 64-bit handles."""
    kind = parameter.type.split()[-1]
    if isinstance(argument, Texture):
        own = OBJECT_TYPES[1] if argument.surface else OBJECT_TYPES[0]
        is_handle = kind == own or (kind not in OBJECT_TYPES and parameter.bytes in (0, 8))
        is_handle &= not parameter.is_pointer
        return "" if is_handle else f"`{parameter.type}`, and this argument is a {own}"
    if isinstance(argument, Scalar) and np.dtype(argument.dtype).kind in "iu":
        return ""
    what = "texture" if kind == OBJECT_TYPES[0] else "surface"
    return f"`{parameter.type}`: pass {{{what}: {{in: FILE.npy}}}}"


def _packed_mismatch(parameter: Parameter, argument: Packed) -> str:
    size = len(argument.data)
    if parameter.is_pointer and (any(argument.data) or argument.pointers or size != POINTER_BYTES):
        return f"`{parameter.type}`, a pointer: pass an array, or {{pointer: null}}"
    if parameter.bytes in (0, size):
        return ""
    return f"`{parameter.type}` of {parameter.bytes} bytes; this argument has {size}"


def _conversion(parameter: Parameter, argument: Argument) -> list[str]:
    """Suggest how to convert an argument to the parameter's dtype."""
    expected = element_type(parameter.type)
    if isinstance(argument, Packed) and not parameter.is_pointer:
        return [
            "write every member, with its own dtype; give vector members such as float4 their align"
        ]
    if expected is None and not parameter.is_pointer and not isinstance(argument, Array):
        return ["write its members: struct: {x: {value: 1, dtype: int32}, ...}"]
    if isinstance(argument, Array) and parameter.type == "unsigned long long":
        return [
            "for a cudaTextureObject_t write {texture: {in: FILE.npy}}, likewise {surface: ...}"
        ]
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
            value = trace.outputs[index]
            if (structure := launch_file.structures.get(index)) is not None:
                value = np.ascontiguousarray(value).view(structure)[..., 0]
            np.save(held, value, allow_pickle=False)
            write_atomically(out / name, held.getvalue())
            saved[index] = out / name
    return saved


def run_json(
    trace: Trace, outputs: Mapping[int, str], compile_seconds: float = 0.0
) -> dict[str, Any]:
    """Return the object of `grader run`.

    Args:
        trace: The launch.
        outputs: The file that each saved argument was written to, by the argument's index.
        compile_seconds: The compiler's wall time, unless the trace has its own.
    """
    seconds = {"compile": compile_seconds, **trace.seconds}
    return {
        "backend": trace.backend,
        "verdict": trace.verdict,
        "findings": [finding_json(finding) for finding in trace.findings],
        "counters": dict(trace.counters),
        "lines": [line_json(at) for at in trace.lines],
        "resources": asdict(trace.resources),
        "outputs": {str(index): file for index, file in outputs.items()},
        "seconds": {step: round(value, 4) for step, value in {"run": 0.0, **seconds}.items()},
        "toolchain": dict(trace.toolchain),
    }


def fault_json(fault: Fault, backend: str) -> dict[str, Any]:
    """Return the same object when nothing was launched: the student's findings, or an error."""
    trace = Trace(
        "gpu" if backend == "gpu" else "sim", findings=_fault_findings(fault), ended=False
    )
    verdict = "findings" if isinstance(fault, StudentFault) else "error"
    return run_json(trace, {}) | {"verdict": verdict}


def _fault_findings(fault: Fault) -> tuple[Finding, ...]:
    if isinstance(fault, StudentFault) and fault.findings:
        return fault.findings
    kind = "machine" if isinstance(fault, MachineFault) else "launch-failure"
    message = f"{fault.where}: {fault.what}" if fault.where else fault.what
    place = re.match(r"(.+?):(\d+)(?=:|$)", fault.where)
    file, line = (place[1], int(place[2])) if place else ("", 0)
    return (Finding(kind, "error", message, file, line, hint=fault.fix),)
