"""`grader doctor`: check that this machine can grade, and how to fix what is missing."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from grader import dataclass
from grader.cli.terminal import Json, check_writable, show_line, write_json
from grader.faults import NOT_LINUX, Fault, MachineFault, install_command, other_system

State = Literal["ok", "note", "bad"]

PROBE = b"""\
extern "C" __global__ void probe(int* out)
{
    __shared__ int tile[32];
    tile[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}
"""


@dataclass(frozen=True)
class Diagnosis:
    """The state of one requirement.

    Attributes:
        what: The requirement.
        state: `bad` prevents grading, `note` limits it.
        observed: What was observed.
        fix: How to fix it; empty when nothing is wrong.
    """

    what: str
    state: State
    observed: str
    fix: str = ""


def diagnose() -> Iterator[Diagnosis]:
    """Check everything that grading needs or can use, in turn; raise nothing."""
    gpu_probes = (pycuda, nvcc, nvml, sanitizer, ncu, launch) if has_gpu() else ()
    probes: tuple[tuple[str, Callable[[], Diagnosis]], ...] = (
        ("python", python),
        ("compiler", compiler),
        ("simulator", simulator),
        ("probe", probe),
        ("sandbox", sandbox),
        ("bounds", bounds),
        ("cache", cache),
        ("labs", labs),
        ("gpu", gpu),
        *((probe_function.__name__, probe_function) for probe_function in gpu_probes),
    )
    for what, probe_function in probes:
        try:
            yield probe_function()
        except Fault as fault:
            yield Diagnosis(what, "bad", fault.what, fault.fix)
        except (ImportError, OSError) as error:
            yield Diagnosis(what, "bad", f"{type(error).__name__}: {error}", "install grader again")


def has_gpu() -> bool:
    """Return whether this machine has a GPU, so that its requirements are checked too."""
    from grader.gpu.devices import devices

    return bool(devices())


def python() -> Diagnosis:
    """Check the interpreter and the platform."""
    observed = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform != "linux":
        return Diagnosis("python", "bad", f"{observed}: {NOT_LINUX}", other_system(sys.platform))
    return Diagnosis("python", "ok", f"{observed}, {len(os.sched_getaffinity(0))} cores")


def compiler() -> Diagnosis:
    """Check NVRTC, which comes from a PyPI wheel."""
    try:
        return Diagnosis("compiler", "ok", f"NVRTC {version('nvidia-cuda-nvrtc')}")
    except PackageNotFoundError:
        fix = "run: pip install 'nvidia-cuda-nvrtc==13.0.*'"
        return Diagnosis("compiler", "bad", "the package nvidia-cuda-nvrtc is not installed", fix)


def simulator() -> Diagnosis:
    """Check the C core that was built with the package."""
    folder = Path(__file__).parents[1] / "simulator"
    cores = sorted(path.name for path in folder.glob("_core*.so"))
    if not cores:
        fix = "install a C compiler, then run: pip install . (or make demo in a checkout)"
        return Diagnosis("simulator", "bad", f"there is no C core in {folder}", fix)
    for name in cores:
        ctypes.CDLL(str(folder / name))
    return Diagnosis("simulator", "ok", ", ".join(cores))


def probe() -> Diagnosis:
    """Compile and simulate a kernel of one warp."""
    from grader.compile.source import compile_source
    from grader.grading.run import run_all
    from grader.launch import Array, Launch

    program = compile_source(PROBE, "probe.cu")
    out = Array("out", (32,), "int32", read_back=True)
    (trace,) = run_all(program, [Launch("probe", (1, 1, 1), (32, 1, 1), (out,))], on="sim")
    right = trace.ended and trace.outputs[0].tolist() == [2 * (31 - i) for i in range(32)]
    if not right or trace.errors:
        message = trace.errors[0].message if trace.errors else "its output is wrong"
        return Diagnosis(
            "probe", "bad", f"a correct kernel fails: {message}", "install grader again"
        )
    return Diagnosis(
        "probe", "ok", "a kernel was compiled and simulated, and its output is correct"
    )


def sandbox() -> Diagnosis:
    """Check the sandbox of the compiler and the simulator."""
    from grader.sandbox.bubblewrap import bubblewrap_programs, suggest_fix
    from grader.sandbox.call import describe_sandbox, sandbox_problem

    if isolation := describe_sandbox():
        return Diagnosis("sandbox", "ok", isolation)
    fix = f"{suggest_fix(any(bubblewrap_programs()))}; until then grade only files that you trust"
    return Diagnosis("sandbox", "note", f"{sandbox_problem()}: grader batch refuses to grade", fix)


def bounds() -> Diagnosis:
    """Check whether memory and processes are limited per sandbox or only per process."""
    from grader.sandbox.cgroup import parent_group

    group = parent_group()
    if isinstance(group, Path):
        return Diagnosis("bounds", "ok", f"one control group per sandbox, in {group}")
    observed = f"memory is limited per process, not per sandbox: {group}"
    fix = "with systemd, run as a user: systemd-run --user --scope grader batch ..."
    return Diagnosis("bounds", "note", observed, fix)


def cache() -> Diagnosis:
    """Check the cache of compiled files; grading works without it, but slower."""
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("HOME")
    if not root:
        fix = "set HOME or XDG_CACHE_HOME, so that a second check of a file is faster"
        return Diagnosis("cache", "note", "no home folder: nothing is cached", fix)
    base = Path(root) if os.environ.get("XDG_CACHE_HOME") else Path(root) / ".cache"
    folder = base / "warpgrade"
    nearest = next(
        parent_group for parent_group in (folder, *folder.parents) if parent_group.exists()
    )
    if not os.access(nearest, os.W_OK):
        fix = "make it writable, or set XDG_CACHE_HOME to another folder"
        return Diagnosis("cache", "note", f"{nearest} is not writable", fix)
    return Diagnosis("cache", "ok", str(folder))


def labs() -> Diagnosis:
    """List the labs that are available in this folder."""
    from grader.labs.reading import lab_roots, list_labs

    names, roots = list_labs(), ", ".join(map(str, lab_roots()))
    if not names:
        fix = "set WARPGRADE_LABS to a folder of labs, use --course DIR, or install a wheel"
        return Diagnosis("labs", "note", f"none in {roots}", fix)
    return Diagnosis("labs", "ok", f"{len(names)} in {roots}")


def gpu() -> Diagnosis:
    """Check the NVIDIA GPUs and their driver; a GPU that failed its probe is in quarantine."""
    from grader.gpu.devices import devices, driver_version, lock_file, quarantine_reason
    from grader.gpu.driver import driver_too_old

    devices_found = devices()
    if not devices_found:
        return Diagnosis("gpu", "note", "none: speed is not evaluated, all other checks are")
    names = ", ".join(f"{device.model} ({device.node.name})" for device in devices_found)
    observed = f"{names}, driver {driver_version() or 'unknown'}"
    sick = [(device, why) for device in devices_found if (why := quarantine_reason(device))]
    if not sick and (old := driver_too_old()):
        return Diagnosis("gpu", "note", f"{names}: {old.what}", old.fix)
    if not sick:
        return Diagnosis("gpu", "ok", observed)
    reasons = "; ".join(f"{device.node.name} is in quarantine: {why}" for device, why in sick)
    files = " ".join(str(lock_file(device)) for device, _ in sick)
    fix = f"reset it (nvidia-smi --gpu-reset) or restart the machine, then: rm {files}"
    return Diagnosis("gpu", "note", f"{observed}; {reasons}", fix)


def pycuda() -> Diagnosis:
    """Check PyCUDA, which launches kernels on a GPU, without importing it."""
    try:
        return Diagnosis("pycuda", "ok", f"PyCUDA {version('pycuda')}")
    except PackageNotFoundError:
        return Diagnosis("pycuda", "note", "PyCUDA is not installed", install_command("gpu"))


def nvcc() -> Diagnosis:
    """Check nvcc, the compiler of the CUDA toolkit, which PyCUDA calls."""
    from grader.gpu.devices import toolkit
    from grader.gpu.nvcc import release

    tools = toolkit()
    if tools is None:
        fix = "run: sudo apt-get install cuda-nvcc-13-0 (NVIDIA's packages); add nvcc to PATH"
        return Diagnosis("nvcc", "note", "nvcc is not installed", fix)
    return Diagnosis("nvcc", "ok", f"nvcc {release(tools)} ({tools.nvcc})")


def nvml() -> Diagnosis:
    """Check nvidia-ml-py, which reads the clocks: without it, throttling is not detected."""
    from importlib.util import find_spec

    if find_spec("pynvml") is None:
        observed = "nvidia-ml-py is not installed: GPU throttling is not detected"
        return Diagnosis("nvml", "note", observed, "run: pip install nvidia-ml-py")
    try:
        return Diagnosis("nvml", "ok", f"nvidia-ml-py {version('nvidia-ml-py')}")
    except PackageNotFoundError:
        return Diagnosis("nvml", "ok", "pynvml")


def sanitizer() -> Diagnosis:
    """Check compute-sanitizer, for --sanitizer."""
    return _tool("sanitizer", "compute-sanitizer", "cuda-sanitizer-13-0")


def ncu() -> Diagnosis:
    """Check Nsight Compute, for --profile, and whether this user may read the counters."""
    from grader.gpu.devices import counters_need_administrator

    diagnosis = _tool("ncu", "ncu", "cuda-nsight-compute-13-0")
    if diagnosis.state == "ok" and counters_need_administrator():
        fix = (
            "run: echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | "
            "sudo tee /etc/modprobe.d/nvidia-profiling.conf, then restart the machine"
        )
        return Diagnosis(
            "ncu", "note", f"{diagnosis.observed}, but only root may read the counters", fix
        )
    return diagnosis


def _tool(what: str, name: str, package: str) -> Diagnosis:
    from grader.gpu.tools import tool_path

    path = tool_path(name)
    if path is None:
        fix = f"run: sudo apt-get install {package} (NVIDIA's packages), or do not use the option"
        return Diagnosis(what, "note", f"{name} is not installed", fix)
    return Diagnosis(what, "ok", str(path))


def launch() -> Diagnosis:
    """Run a known kernel on every GPU, each in a child process."""
    from grader.gpu.devices import devices, missing_requirement
    from grader.gpu.process import health_problem

    missing = missing_requirement()
    if missing is not None:
        return Diagnosis("launch", "note", missing.what, missing.fix)
    problems = [f"{d.node.name}: {p}" for d in devices() if (p := health_problem(d))]
    if problems:
        fix = "check nvidia-smi; reset the GPU or restart the machine"
        return Diagnosis("launch", "note", "; ".join(problems), fix)
    return Diagnosis("launch", "ok", "a known kernel ran on every GPU, its output is correct")


MARKS = {"ok": "ok  ", "note": "note", "bad": "FAIL"}


def doctor(json: Json = None) -> int:
    """Check that this machine can grade, and show how to fix what is missing.

    The exit code is 3 when it cannot grade.
    """
    from grader import __version__

    check_writable(json)
    diagnoses = []
    for diagnosis in diagnose():
        diagnoses.append(diagnosis)
        if json == "-":
            continue
        show_line(
            f"{MARKS[diagnosis.state]} {diagnosis.what:<10} {diagnosis.observed}",
            good=diagnosis.state != "bad",
        )
        if diagnosis.fix:
            show_line(f"     {'':<10} {diagnosis.fix}", good=True)
    bad = sum(diagnosis.state == "bad" for diagnosis in diagnoses)
    if json:
        signs_json = [
            {"what": s.what, "state": s.state, "seen": s.observed, "mend": s.fix} for s in diagnoses
        ]
        write_json({"version": __version__, "can_grade": not bad, "signs": signs_json}, json)
    if json != "-":
        problems = "1 problem" if bad == 1 else f"{bad} problems"
        verdict = f"this machine cannot grade: fix {problems}" if bad else "this machine can grade"
        show_line(verdict, good=not bad)
    return MachineFault.exit_code if bad else 0
