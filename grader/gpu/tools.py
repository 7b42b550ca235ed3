"""compute-sanitizer over a program's launches: a second judge beside the simulator.

Reports: Compute Sanitizer documentation, "Understanding Memcheck errors" and the other tools' like.
A tool that never ends on a launch in time says nothing of it, and that is told.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path

import numpy as np

from grader.compile.launch_limits import launch_error
from grader.compile.program import Program
from grader.faults import MachineFault
from grader.gpu import tools_child
from grader.gpu.devices import acquire_device, missing_requirement, same_model_devices, toolkit
from grader.gpu.nvcc import compile_cubin
from grader.gpu.process import START_SECONDS, call_on, device_info, require_healthy
from grader.launch import Finding, Launch, OtherAccess
from grader.sandbox.call import Limits, SandboxFailure
from grader.sandbox.launches import pack_launches

# The toolkit's own tools over a program's launches: where they are, and one call for several.

PROCESSES = 512
"""Threads too: a tool and what it watches have dozens each."""

_NSIGHT_FOLDER = Path(
    "/opt/nvidia"
)  # where Nsight Compute's parts lie when the toolkit only links it


@dataclass(frozen=True)
class Report:
    """What one tool wrote about some launches; `hung` are the numbers of those without end."""

    text: str
    hung: tuple[int, ...]


def tool_path(name: str) -> Path | None:
    """A tool of the toolkit: beside nvcc, else on the PATH."""
    tools = toolkit()
    beside = tools.root / "bin" / name if tools else None
    if beside is not None and beside.exists():
        return beside
    found = shutil.which(name)
    return Path(found) if found else None


def require_tool(name: str, package: str) -> Path:
    """The tool's path. MachineFault when this machine has no such tool, or no GPU for it."""
    if (missing := missing_requirement()) is not None:
        what = f"{name} needs a GPU to watch, and {missing.what}"
        raise MachineFault(what, fix="leave the option out; the simulator needs none")
    path = tool_path(name)
    if path is None:
        fix = f"install the CUDA toolkit's package {package} and put {name} on the PATH"
        raise MachineFault(f"{name} is not installed", fix=fix)
    return path


def run_tools(
    program: Program, launches: Sequence[Launch], tools: Sequence[Sequence[str]], limit: float
) -> tuple[Report, ...]:
    """Each tool's report on the launches that CUDA can be asked for, from the first GPU that is
    free. A tool is its command line, with {report} for the file that it is to write; `limit` is in
    seconds a launch under a tool. Raises MachineFault and StudentFault.
    """
    ready = [one for one in launches if _fits(program, one)]
    if not ready:
        return tuple(Report("", ()) for _ in tools)
    found = same_model_devices()
    cubin = compile_cubin(program, device_info(found[0]).architecture)
    rows, arrays = pack_launches(ready)
    arrays["cubin"] = np.frombuffer(cubin, np.uint8)
    symbols = [kernel.symbol for one in ready if (kernel := program.kernel(one.kernel))]
    request = {
        "launches": rows,
        "symbols": symbols,
        "limit": limit,
        "tools": [list(tool) for tool in tools],
    }
    wall = START_SECONDS + (START_SECONDS / 2 + limit) * len(ready)
    limits = Limits(wall=wall, cpu=wall * len(tools), memory=0, processes=PROCESSES)
    with acquire_device(found) as device:
        try:
            reply = call_on(
                device, tools_child.observe, request, arrays, limits, _readable_folders()
            )
        except SandboxFailure as death:
            require_healthy(device)
            raise MachineFault(
                f"{Path(tools[0][0]).name} gave no answer: {death.detail}",
                fix="leave the option out, or give a longer --limit",
            ) from death
    return tuple(_report(tool, told) for tool, told in zip(tools, reply.value, strict=True))


def _fits(program: Program, launch: Launch) -> bool:
    kernel = program.kernel(launch.kernel)
    return kernel is not None and launch_error(launch, kernel) is None


def _report(tool: Sequence[str], told: dict[str, object]) -> Report:
    if told["failed"]:
        raise MachineFault(
            f"{Path(tool[0]).name} does not work here: {told['failed']}",
            fix="run it by hand on a CUDA program; see `grader doctor`",
        )
    hung = told["hung"]
    assert isinstance(hung, list)
    return Report(str(told["text"]), tuple(hung))


def _readable_folders() -> tuple[Path, ...]:
    """The folders that the tools' own parts lie in; /usr is always there."""
    tools = toolkit()
    places = [p for p in ((tools.root if tools else None), _NSIGHT_FOLDER) if p and p.is_dir()]
    return tuple(p for p in places if Path("/usr") not in p.parents)


# Nsight Compute's counters of one launch, to stand beside the simulator's.
#
# Names: Nsight Compute documentation, "Metrics Reference". They are the hardware's own; a launch is
# replayed until all are counted, with the clocks as they are.

PROFILER_NAME = "ncu"
DURATION = "gpu__time_duration.sum"
_KERNEL = "Kernel Name"


@dataclass(frozen=True)
class Profile:
    """What Nsight Compute counted in one launch, by metric name; `seconds` the kernel's time,
    None where it was not measured.
    """

    counters: Mapping[str, float]
    seconds: float | None


def run_profiler(
    program: Program, launch: Launch, metrics: Iterable[str], limit: float = 20.0
) -> Profile:
    """The hardware's value of each metric that it knows, for one launch.

    Raises MachineFault when this machine has no GPU or no Nsight Compute, or when its counters
    are closed to this user, and StudentFault.
    """
    path = require_tool(PROFILER_NAME, "nsight-compute")
    names = [*dict.fromkeys(hardware_metrics(metrics)), DURATION]
    command = [str(path), "--clock-control", "none", "--csv", "--page", "raw"]
    command += ["--print-units", "base", "--metrics", ",".join(names), "--log-file", "{report}"]
    (report,) = run_tools(program, [launch], [command], limit)
    counted = read_counters(report.text, names)
    time = counted.pop(DURATION, None)
    return Profile(counted, None if time is None else time / 1e9)


def hardware_metrics(names: Iterable[str]) -> list[str]:
    """The metrics that are the hardware's; those that we define at PTX level are not asked for."""
    return [name for name in names if not name.startswith("ptx__")]


def read_counters(text: str, names: Iterable[str]) -> dict[str, float]:
    """The values in the raw page of one kernel: a header, a row of units, a row a launch."""
    lines = [line for line in text.splitlines() if not line.startswith("==")]
    for row in csv.DictReader(lines):
        if row.get(_KERNEL):
            read = {name: _number(row.get(name) or "") for name in names}
            return {name: value for name, value in read.items() if value is not None}
    return {}


def _number(text: str) -> float | None:
    """None too for what could not be counted, "n/a" or "nan": another process used the GPU."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if isfinite(value) else None


SANITIZER_NAME = "compute-sanitizer"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SHOWN = 20
"""Findings of one tool that are told, alike ones folded."""

_OPTIONS = ["--show-backtrace", "no", "--print-limit", "1000", "--log-file", "{report}"]
_ACCESS = re.compile(
    r"(Invalid|Misaligned) __(?P<space>global|shared|local)__ (?P<access>read|write|atomic)"
)
_UNINITIALIZED = re.compile(
    r"Uninitialized __(?P<space>global|shared|local)__ memory (?P<access>read)"
)
_RACE = re.compile(r"(Error|Warning): Race reported between (?P<access>Read|Write|Atomic) access")
_BARRIER = re.compile(r"Barrier error detected")
_HEADS = (
    (_ACCESS, "invalid-access"),
    (_UNINITIALIZED, "uninitialized-read"),
    (_RACE, "race"),
    (_BARRIER, "barrier-divergence"),
)
_PLACE = re.compile(r" in (?:\S*/)?[^\s/]+:(\d+)")
_OTHER = re.compile(r"and (?P<access>Read|Write|Atomic) access at .* in (?:\S*/)?[^\s/]+:(\d+)")
_THREAD = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
_HAZARDS = re.compile(r"\[(\d+) hazards?\]")
_ADDRESS = re.compile(r" at \S+\+0x[0-9a-f]+.*$")
_MARGIN = "=========     "


def run_sanitizer(
    program: Program, launches: Sequence[Launch], limit: float = 20.0
) -> tuple[Finding, ...]:
    """What the four tools find in the launches, alike findings folded, at their lines.

    Raises MachineFault when this machine has no GPU or no compute-sanitizer, and StudentFault.
    """
    path = require_tool(SANITIZER_NAME, "cuda-sanitizer")
    commands = [[str(path), "--tool", tool, *_OPTIONS] for tool in TOOLS]
    found: list[Finding] = []
    for tool, report in zip(TOOLS, run_tools(program, launches, commands, limit), strict=True):
        found += fold_findings(program, read_findings(tool, report.text))
        found += [_not_evaluated(tool, launches[number].name, limit) for number in report.hung]
    return tuple(found)


def read_findings(tool: str, text: str) -> Iterable[Finding]:
    """One finding a report of one tool's text; `line` is that of its first place."""
    for block in _blocks(text):
        head = block[0]
        for pattern, kind in _HEADS:
            if match := pattern.match(head):
                yield _finding(tool, kind, match, block)
                break


def fold_findings(program: Program, found: Iterable[Finding]) -> list[Finding]:
    """Alike findings as one, with their count, at its line of the program's source."""
    first: dict[tuple[object, ...], Finding] = {}
    for one in found:
        key = (one.kind, one.line, one.space, one.access, one.other and one.other.line)
        if key in first:
            one = replace(first[key], count=first[key].count + one.count)
        first[key] = one
    return [_placed(program, one) for one in first.values()][:SHOWN]


def _placed(program: Program, one: Finding) -> Finding:
    other = one.other and replace(one.other, text=program.text(one.other.line))
    return replace(program.at(one, one.line), other=other)


def _blocks(text: str) -> Iterable[list[str]]:
    """Each report's lines without the margin: its head first, then what is indented below."""
    block: list[str] = []
    for line in text.splitlines():
        if line.startswith(_MARGIN) and block:
            block.append(line.removeprefix(_MARGIN).strip())
            continue
        if block:
            yield block
        block = [line.strip("= ")] if line.strip("= ") else []
    if block:
        yield block


def _finding(tool: str, kind: str, match: re.Match[str], block: Sequence[str]) -> Finding:
    told = match.groupdict()
    whole = "\n".join(block)
    place, thread, other = (p.search(whole) for p in (_PLACE, _THREAD, _OTHER))
    hazards = _HAZARDS.search(whole)
    numbers = tuple(int(n) for n in thread.groups()) if thread else ()
    access = (told.get("access") or "").lower()
    warning = kind == "race" and match[1] == "Warning"
    return Finding(
        kind,
        "warning" if warning else "error",
        f"{SANITIZER_NAME} {tool}: {_ADDRESS.sub('', block[0]).rstrip('. ')}",
        line=int(place[1]) if place else 0,
        count=int(hazards[1]) if hazards else 1,
        space=told.get("space") or ("shared" if kind == "race" else ""),
        access=access,
        thread=(numbers[0], numbers[1], numbers[2]) if numbers else None,
        block=(numbers[3], numbers[4], numbers[5]) if numbers else None,
        other=_second(other) if other else None,
    )


def _second(found: re.Match[str]) -> OtherAccess:
    access = found["access"].lower()
    known = access if access in ("read", "write", "atomic") else "write"
    return OtherAccess(int(found[2]), (0, 0, 0), (0, 0, 0), known)  # type: ignore[arg-type]


def _not_evaluated(tool: str, name: str, limit: float) -> Finding:
    where = f" of {name}" if name else ""
    what = f"{SANITIZER_NAME} {tool} says nothing{where}: it did not end in {limit:g} s"
    return Finding("timeout", "info", what, hint="give it more time: --limit SECONDS")
