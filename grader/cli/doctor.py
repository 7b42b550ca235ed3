"""`grader doctor`: what this machine can do for grading, and how to mend what it cannot."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from grader.cli.options import Json
from grader.cli.terminal import check_writable, show_line, write_json
from grader.faults import Fault, MachineFault, install_command

# What this machine can do for grading: one Sign a thing looked at, each with how to mend it.

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
class Sign:
    """One thing looked at. `bad` keeps this machine from grading; `note` only from some of it."""

    what: str
    state: State
    seen: str
    fix: str = ""


def signs() -> Iterator[Sign]:
    """Everything that grading needs or can use, looked at in turn; nothing is raised."""
    gpu_looks = (pycuda, nvcc, nvml, sanitizer, ncu, launch) if has_gpu() else ()
    looks: tuple[tuple[str, Callable[[], Sign]], ...] = (
        ("python", python),
        ("compiler", compiler),
        ("simulator", simulator),
        ("probe", probe),
        ("sandbox", sandbox),
        ("bounds", bounds),
        ("cache", cache),
        ("labs", labs),
        ("gpu", gpu),
        *((look.__name__, look) for look in gpu_looks),
    )
    for what, look in looks:
        try:
            yield look()
        except Fault as fault:
            yield Sign(what, "bad", fault.what, fault.fix)
        except (ImportError, OSError) as error:
            yield Sign(what, "bad", f"{type(error).__name__}: {error}", "install grader again")


def has_gpu() -> bool:
    """Whether there is a GPU, and so what it needs is worth a look."""
    from grader.gpu.devices import devices

    return bool(devices())


def python() -> Sign:
    """The interpreter, the platform and the package."""
    seen = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform != "linux":
        return Sign("python", "bad", seen, "grader runs on Linux; on Windows use WSL 2")
    return Sign("python", "ok", f"{seen}, {len(os.sched_getaffinity(0))} cores")


def compiler() -> Sign:
    """NVRTC, from its PyPI wheel."""
    try:
        return Sign("compiler", "ok", f"NVRTC {version('nvidia-cuda-nvrtc')}")
    except PackageNotFoundError:
        fix = "pip install 'nvidia-cuda-nvrtc==13.0.*'"
        return Sign("compiler", "bad", "the package nvidia-cuda-nvrtc is not installed", fix)


def simulator() -> Sign:
    """The C core that was built with the package."""
    folder = Path(__file__).parents[1] / "simulator"
    cores = sorted(path.name for path in folder.glob("_core*.so"))
    if not cores:
        fix = "install a C compiler, then: pip install . (or make demo in a checkout)"
        return Sign("simulator", "bad", f"there is no C core in {folder}", fix)
    for name in cores:
        ctypes.CDLL(str(folder / name))
    return Sign("simulator", "ok", ", ".join(cores))


def probe() -> Sign:
    """A kernel of one warp, compiled and simulated."""
    from grader.compile.source import compile_source
    from grader.grading.run import run_all
    from grader.launch import Array, Launch

    program = compile_source(PROBE, "probe.cu")
    out = Array("out", (32,), "int32", read_back=True)
    (trace,) = run_all(program, [Launch("probe", (1, 1, 1), (32, 1, 1), (out,))], on="sim")
    right = trace.ended and trace.outputs[0].tolist() == [2 * (31 - i) for i in range(32)]
    if not right or trace.errors:
        said = trace.errors[0].message if trace.errors else "its numbers are wrong"
        return Sign("probe", "bad", f"a kernel that is right fails: {said}", "install grader again")
    return Sign("probe", "ok", "a kernel was compiled and simulated, and is right")


def sandbox() -> Sign:
    """What confines the compiler and the simulator."""
    from grader.sandbox.bubblewrap import bubblewrap_programs, suggest_fix
    from grader.sandbox.call import describe_sandbox, sandbox_problem

    if walls := describe_sandbox():
        return Sign("sandbox", "ok", walls)
    fix = f"{suggest_fix(bool(bubblewrap_programs()))}; until then grade only files that you trust"
    return Sign("sandbox", "note", f"{sandbox_problem()}: grader batch refuses to grade", fix)


def bounds() -> Sign:
    """What bounds a box's memory and processes: its whole tree, or each process alone."""
    from grader.sandbox.cgroup import parent_group

    found = parent_group()
    if isinstance(found, Path):
        return Sign("bounds", "ok", f"a control group for each box, in {found}")
    seen = f"memory is bounded for each process of a box alone: {found}"
    fix = "where systemd runs, as a user: systemd-run --user --scope grader batch ..."
    return Sign("bounds", "note", seen, fix)


def cache() -> Sign:
    """The folder that remembers compiled files; grading works without, only slower."""
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("HOME")
    if not root:
        fix = "set HOME or XDG_CACHE_HOME to make a second check of a file quicker"
        return Sign("cache", "note", "no home folder: nothing is remembered", fix)
    base = Path(root) if os.environ.get("XDG_CACHE_HOME") else Path(root) / ".cache"
    folder = base / "warpgrade"
    nearest = next(
        parent_group for parent_group in (folder, *folder.parents) if parent_group.exists()
    )
    if not os.access(nearest, os.W_OK):
        fix = "make it writable, or point XDG_CACHE_HOME elsewhere"
        return Sign("cache", "note", f"{nearest} cannot be written", fix)
    return Sign("cache", "ok", str(folder))


def labs() -> Sign:
    """The labs that are found from here."""
    from grader.labs.reading import lab_roots, list_labs

    names, roots = list_labs(), ", ".join(map(str, lab_roots()))
    if not names:
        fix = "set WARPGRADE_LABS to a labs folder, or use --course DIR"
        return Sign("labs", "note", f"none in {roots}", fix)
    return Sign("labs", "ok", f"{len(names)} in {roots}")


def gpu() -> Sign:
    """NVIDIA GPUs and their driver; one that failed its health probe is in quarantine."""
    from grader.gpu.devices import devices, driver_version, lock_file, quarantine_reason

    found = devices()
    if not found:
        return Sign("gpu", "note", "none: speed is not judged, everything else is")
    names = ", ".join(f"{device.model} ({device.node.name})" for device in found)
    seen = f"{names}, driver {driver_version() or 'unknown'}"
    sick = [(device, why) for device in found if (why := quarantine_reason(device))]
    if not sick:
        return Sign("gpu", "ok", seen)
    reasons = "; ".join(f"{device.node.name} is in quarantine: {why}" for device, why in sick)
    files = " ".join(str(lock_file(device)) for device, _ in sick)
    fix = f"reset it (nvidia-smi --gpu-reset) or restart the machine, then: rm {files}"
    return Sign("gpu", "note", f"{seen}; {reasons}", fix)


def pycuda() -> Sign:
    """PyCUDA, which compiles and launches on a GPU; never imported here."""
    try:
        return Sign("pycuda", "ok", f"PyCUDA {version('pycuda')}")
    except PackageNotFoundError:
        return Sign("pycuda", "note", "PyCUDA is not installed", install_command("gpu"))


def nvcc() -> Sign:
    """The CUDA toolkit's compiler, which PyCUDA calls."""
    from grader.gpu.devices import toolkit
    from grader.gpu.nvcc import release

    found = toolkit()
    if found is None:
        fix = "sudo apt-get install cuda-nvcc-13-0 (NVIDIA's packages); put nvcc on the PATH"
        return Sign("nvcc", "note", "nvcc is not installed", fix)
    return Sign("nvcc", "ok", f"nvcc {release(found)} ({found.nvcc})")


def nvml() -> Sign:
    """The library that tells the clocks: without it no throttled pair is seen."""
    from importlib.util import find_spec

    if find_spec("pynvml") is None:
        seen = "nvidia-ml-py is not installed: a clock that drops is not noticed"
        return Sign("nvml", "note", seen, "pip install nvidia-ml-py")
    try:
        return Sign("nvml", "ok", f"nvidia-ml-py {version('nvidia-ml-py')}")
    except PackageNotFoundError:
        return Sign("nvml", "ok", "pynvml")


def sanitizer() -> Sign:
    """compute-sanitizer, for --sanitizer."""
    return _tool("sanitizer", "compute-sanitizer", "cuda-sanitizer-13-0")


def ncu() -> Sign:
    """Nsight Compute, for --profile, and whether this user may read the GPU's counters."""
    from grader.gpu.devices import counters_need_administrator

    sign = _tool("ncu", "ncu", "cuda-nsight-compute-13-0")
    if sign.state == "ok" and counters_need_administrator():
        fix = (
            "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | "
            "sudo tee /etc/modprobe.d/nvidia-profiling.conf, then restart the machine"
        )
        return Sign("ncu", "note", f"{sign.seen}, but the counters are for root only", fix)
    return sign


def _tool(what: str, name: str, package: str) -> Sign:
    from grader.gpu.tools import tool_path

    path = tool_path(name)
    if path is None:
        fix = f"sudo apt-get install {package} (NVIDIA's packages), or leave the option out"
        return Sign(what, "note", f"{name} is not installed", fix)
    return Sign(what, "ok", str(path))


def launch() -> Sign:
    """Whether a GPU runs a known kernel, asked of each in a child."""
    from grader.gpu.devices import devices, missing_requirement
    from grader.gpu.process import health_problem

    missing = missing_requirement()
    if missing is not None:
        return Sign("launch", "note", missing.what, missing.fix)
    problems = [f"{d.node.name}: {p}" for d in devices() if (p := health_problem(d))]
    if problems:
        fix = "see nvidia-smi; reset the GPU or restart the machine"
        return Sign("launch", "note", "; ".join(problems), fix)
    return Sign("launch", "ok", "a known kernel ran on every GPU and is right")


MARKS = {"ok": "ok  ", "note": "note", "bad": "FAIL"}


def doctor(json: Json = None) -> int:
    """Look at what grading needs on this machine. The exit code is 3 when it cannot grade."""

    from grader import __version__

    check_writable(json)
    seen = []
    for sign in signs():
        seen.append(sign)
        if json == "-":
            continue
        show_line(f"{MARKS[sign.state]} {sign.what:<10} {sign.seen}", good=sign.state != "bad")
        if sign.fix:
            show_line(f"     {'':<10} {sign.fix}", good=True)
    bad = sum(sign.state == "bad" for sign in seen)
    if json:
        signs_json = [
            {"what": s.what, "state": s.state, "seen": s.seen, "mend": s.fix} for s in seen
        ]
        write_json({"version": __version__, "can_grade": not bad, "signs": signs_json}, json)
    if json != "-":
        verdict = f"this machine cannot grade: {bad} to mend" if bad else "this machine can grade"
        show_line(verdict, good=not bad)
    return MachineFault.exit_code if bad else 0
