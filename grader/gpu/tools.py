"""Run compute-sanitizer and Nsight Compute on a program's launches, and read their reports.

Report formats: Compute Sanitizer documentation, "Understanding Memcheck errors" and the sections on
the other tools; metric names: Nsight Compute documentation, "Metrics Reference". Nsight Compute
replays a launch until all metrics are counted, without changing the clocks. A launch that does not
end in time under a tool is reported.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path

import numpy as np

from grader import dataclass, regex, replace
from grader.compile.launch_limits import launch_error, with_parameter_types
from grader.compile.program import Program
from grader.faults import MachineFault
from grader.gpu import launch_child
from grader.gpu.devices import acquire_device, missing_requirement, same_model_devices, toolkit
from grader.gpu.nvcc import compile_cubin
from grader.gpu.process import START_SECONDS, call_on, device_info, require_healthy
from grader.launch import Finding, Launch, OtherAccess, pack_launches
from grader.sandbox.call import Limits, SandboxFailure

PROCESSES = 512
"""Includes threads: a tool and the process that it instruments have dozens each."""

_NSIGHT_FOLDER = Path("/opt/nvidia")  # Nsight Compute, where the toolkit only links to it


@dataclass(frozen=True)
class Report:
    """One tool's report; `hung` has the numbers of the launches that did not end in time."""

    text: str
    hung: tuple[int, ...]


def tool_path(name: str) -> Path | None:
    """Find a tool of the toolkit: next to nvcc, else on the PATH."""
    tools = toolkit()
    in_toolkit = tools.root / "bin" / name if tools else None
    if in_toolkit is not None and in_toolkit.exists():
        return in_toolkit
    on_path = shutil.which(name)
    return Path(on_path) if on_path else None


def require_tool(name: str, package: str) -> Path:
    """Return the tool's path.

    Raises:
        MachineFault: this machine lacks the tool, or a GPU for it.
    """
    if (missing := missing_requirement()) is not None:
        what = f"{name} needs a GPU, and {missing.what}"
        raise MachineFault(what, fix="omit the option; the simulator needs no GPU")
    path = tool_path(name)
    if path is None:
        fix = f"install the CUDA toolkit's package {package} and put {name} on the PATH"
        raise MachineFault(f"{name} is not installed", fix=fix)
    return path


def run_tools(
    program: Program, launches: Sequence[Launch], tools: Sequence[Sequence[str]], limit: float
) -> tuple[Report, ...]:
    """Run tools on the possible launches, on the first free GPU.

    Args:
        program: the compiled program.
        launches: the launches; impossible ones are skipped.
        tools: each tool's command line, with {report} for the file that it writes.
        limit: seconds per launch under a tool.

    Returns:
        One report for each tool.

    Raises:
        MachineFault: the GPU or a tool fails.
        StudentFault: nvcc does not compile the source.
    """
    ready = [one for one in launches if _fits(program, one)]
    if not ready:
        return tuple(Report("", ()) for _ in tools)
    devices = same_model_devices()
    cubin = compile_cubin(program, device_info(devices[0]).architecture)
    pairs = [(one, kernel) for one in ready if (kernel := program.kernel(one.kernel))]
    rows, arrays = pack_launches([with_parameter_types(*pair) for pair in pairs])
    arrays["cubin"] = np.frombuffer(cubin, np.uint8)
    symbols = [kernel.symbol for _, kernel in pairs]
    request = {
        "launches": rows,
        "symbols": symbols,
        "limit": limit,
        "tools": [list(tool) for tool in tools],
    }
    wall = START_SECONDS + (START_SECONDS / 2 + limit) * len(ready)
    limits = Limits(wall=wall, cpu=wall * len(tools), memory=0, processes=PROCESSES)
    with acquire_device(devices) as device:
        try:
            reply = call_on(
                device, launch_child.observe, request, arrays, limits, _readable_folders()
            )
        except SandboxFailure as death:
            require_healthy(device)
            raise MachineFault(
                f"{Path(tools[0][0]).name} did not finish: {death.detail}",
                fix="omit the option, or use a longer --limit",
            ) from death
    return tuple(
        _report(tool, reply_row) for tool, reply_row in zip(tools, reply.value, strict=True)
    )


def _fits(program: Program, launch: Launch) -> bool:
    kernel = program.kernel(launch.kernel)
    return kernel is not None and launch_error(launch, kernel) is None


def _report(tool: Sequence[str], row: dict[str, object]) -> Report:
    if row["failed"]:
        raise MachineFault(
            f"{Path(tool[0]).name} does not work here: {row['failed']}",
            fix="run it on a CUDA program to test it; see `grader doctor`",
        )
    hung = row["hung"]
    assert isinstance(hung, list)
    return Report(str(row["text"]), tuple(hung))


def _readable_folders() -> tuple[Path, ...]:
    """Return the tools' folders outside /usr, which the sandbox always has."""
    tools = toolkit()
    places = [p for p in ((tools.root if tools else None), _NSIGHT_FOLDER) if p and p.is_dir()]
    return tuple(p for p in places if Path("/usr") not in p.parents)


PROFILER_NAME = "ncu"
DURATION = "gpu__time_duration.sum"
_KERNEL = "Kernel Name"


@dataclass(frozen=True)
class Profile:
    """Nsight Compute's counters of one launch.

    `counters` is by metric name; `seconds` is the kernel's time, None if it was not measured.
    """

    counters: Mapping[str, float]
    seconds: float | None


def run_profiler(
    program: Program, launch: Launch, metrics: Iterable[str], limit: float = 20.0
) -> Profile:
    """Measure the metrics of one launch that the hardware has.

    Raises:
        MachineFault: this machine has no GPU or no Nsight Compute, or this user may not read the
            counters.
        StudentFault: nvcc does not compile the source.
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
    """Select the hardware's metrics, without those that we define at PTX level."""
    return [name for name in names if not name.startswith("ptx__")]


def read_counters(text: str, names: Iterable[str]) -> dict[str, float]:
    """Read the values from one kernel's raw page: a header, a row of units, a row per launch.

    There are none in a page that is no such table, or whose names are longer than csv reads.
    """
    lines = [line for line in text.splitlines() if not line.startswith("==")]
    with suppress(csv.Error):
        for row in csv.DictReader(lines):
            if row.get(_KERNEL):
                read = {name: _number(row.get(name) or "") for name in names}
                return {name: value for name, value in read.items() if value is not None}
    return {}


def _number(text: str) -> float | None:
    """Read a number; None for "n/a" or "nan", when another process used the GPU."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if isfinite(value) else None


SANITIZER_NAME = "compute-sanitizer"
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SHOWN = 20
"""Findings reported per tool, after folding."""

_OPTIONS = ["--show-backtrace", "no", "--print-limit", "1000", "--log-file", "{report}"]
_ACCESS = regex(
    r"(Invalid|Misaligned) __(?P<space>global|shared|local)__ (?P<access>read|write|atomic)"
)
_UNINITIALIZED = regex(r"Uninitialized __(?P<space>global|shared|local)__ memory (?P<access>read)")
_RACE = regex(r"(Error|Warning): Race reported between (?P<access>Read|Write|Atomic) access")
_BARRIER = regex(r"Barrier error detected")
_HEADS = (
    (_ACCESS, "invalid-access"),
    (_UNINITIALIZED, "uninitialized-read"),
    (_RACE, "race"),
    (_BARRIER, "barrier-divergence"),
)
_PLACE = regex(r" in (?:\S*/)?[^\s/]+:(\d{1,9})\b")
_OTHER = regex(r"and (?P<access>Read|Write|Atomic) access at .* in (?:\S*/)?[^\s/]+:(\d{1,9})\b")
_INDEX = r"\((\d{1,9}),(\d{1,9}),(\d{1,9})\)"
_THREAD = regex(f"by thread {_INDEX} in block {_INDEX}")
_HAZARDS = regex(r"\[(\d{1,18}) hazards?\]")
_ADDRESS = regex(r" at \S+\+0x[0-9a-f]+.*$")
_MARGIN = "=========     "


def run_sanitizer(
    program: Program, launches: Sequence[Launch], limit: float = 20.0
) -> tuple[Finding, ...]:
    """Run compute-sanitizer's four tools on the launches; return their folded findings.

    Raises:
        MachineFault: this machine has no GPU or no compute-sanitizer.
        StudentFault: nvcc does not compile the source.
    """
    path = require_tool(SANITIZER_NAME, "cuda-sanitizer")
    commands = [[str(path), "--tool", tool, *_OPTIONS] for tool in TOOLS]
    result: list[Finding] = []
    for tool, report in zip(TOOLS, run_tools(program, launches, commands, limit), strict=True):
        result += fold_findings(program, read_findings(tool, report.text))
        result += [_not_evaluated(tool, launches[number].name, limit) for number in report.hung]
    return tuple(result)


def read_findings(tool: str, text: str) -> Iterable[Finding]:
    """Read the findings of one tool's report; `line` is that of the first place."""
    for block in _blocks(text):
        head = block[0]
        for pattern, kind in _HEADS:
            if match := pattern.match(head):
                yield _finding(tool, kind, match, block)
                break


def fold_findings(program: Program, findings: Iterable[Finding]) -> list[Finding]:
    """Fold findings of the same kind and line, and place them in the program's source."""
    first: dict[tuple[object, ...], Finding] = {}
    for one in findings:
        key = (one.kind, one.line, one.space, one.access, one.other and one.other.line)
        if key in first:
            one = replace(first[key], count=first[key].count + one.count)
        first[key] = one
    return [_placed(program, one) for one in first.values()][:SHOWN]


def _placed(program: Program, one: Finding) -> Finding:
    other = one.other and replace(one.other, text=program.text(one.other.line))
    return replace(program.at(one, one.line), other=other)


def _blocks(text: str) -> Iterable[list[str]]:
    """Split a report into blocks: a head, then its indented lines, all without the margin."""
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
    groups = match.groupdict()
    whole = "\n".join(block)
    place, thread, other = (p.search(whole) for p in (_PLACE, _THREAD, _OTHER))
    hazards = _HAZARDS.search(whole)
    numbers = tuple(int(n) for n in thread.groups()) if thread else ()
    access = (groups.get("access") or "").lower()
    warning = kind == "race" and match[1] == "Warning"
    return Finding(
        kind,
        "warning" if warning else "error",
        f"{SANITIZER_NAME} {tool}: {_ADDRESS.sub('', block[0]).rstrip('. ')}",
        line=int(place[1]) if place else 0,
        count=int(hazards[1]) if hazards else 1,
        space=groups.get("space") or ("shared" if kind == "race" else ""),
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
    what = f"{SANITIZER_NAME} {tool} has no result{where}: it did not end in {limit:g} s"
    return Finding("timeout", "info", what, hint="use a longer --limit")
