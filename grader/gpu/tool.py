"""The toolkit's own tools over a program's launches: where they are, and one call for several."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grader.box import BoxDeath, Limits
from grader.compile.program import Program
from grader.fault import MachineFault
from grader.gpu.child import START, call_on, facts_of, probe
from grader.gpu.device import alike, lacking, toolkit
from grader.gpu.lock import held
from grader.gpu.nvcc import compile_cubin
from grader.launch import Launch
from grader.packing import pack_launches
from grader.refusal import refusal

PROCESSES = 512
"""Threads too: a tool and what it watches have dozens each."""

_ELSEWHERE = Path("/opt/nvidia")  # where Nsight Compute's parts lie when the toolkit only links it


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


def required(name: str, package: str) -> Path:
    """The tool's path. MachineFault when this machine has no such tool, or no GPU for it."""
    if (missing := lacking()) is not None:
        what = f"{name} needs a GPU to watch, and {missing.what}"
        raise MachineFault(what, mend="leave the option out; the simulator needs none")
    path = tool_path(name)
    if path is None:
        mend = f"install the CUDA toolkit's package {package} and put {name} on the PATH"
        raise MachineFault(f"{name} is not installed", mend=mend)
    return path


def observed(
    program: Program, launches: Sequence[Launch], tools: Sequence[Sequence[str]], limit: float
) -> tuple[Report, ...]:
    """Each tool's report on the launches that CUDA can be asked for, from the first GPU that is
    free. A tool is its command line, with {report} for the file that it is to write; `limit` is in
    seconds a launch under a tool. Raises MachineFault and StudentFault."""
    ready = [one for one in launches if _fits(program, one)]
    if not ready:
        return tuple(Report("", ()) for _ in tools)
    found = alike()
    cubin = compile_cubin(program, facts_of(found[0]).architecture)
    rows, arrays = pack_launches(ready)
    arrays["cubin"] = np.frombuffer(cubin, np.uint8)
    symbols = [kernel.symbol for one in ready if (kernel := program.kernel(one.kernel))]
    request = {
        "launches": rows,
        "symbols": symbols,
        "limit": limit,
        "tools": [list(tool) for tool in tools],
    }
    wall = START + (START / 2 + limit) * len(ready)
    limits = Limits(wall=wall, cpu=wall * len(tools), memory=0, processes=PROCESSES)
    with held(found) as device:
        try:
            reply = call_on(device, "toolstep:observe", request, arrays, limits, _readable())
        except BoxDeath as death:
            probe(device)
            raise MachineFault(
                f"{Path(tools[0][0]).name} gave no answer: {death.detail}",
                mend="leave the option out, or give a longer --limit",
            ) from death
    return tuple(_report(tool, told) for tool, told in zip(tools, reply.value, strict=True))


def _fits(program: Program, launch: Launch) -> bool:
    kernel = program.kernel(launch.kernel)
    return kernel is not None and refusal(launch, kernel) is None


def _report(tool: Sequence[str], told: dict[str, object]) -> Report:
    if told["failed"]:
        raise MachineFault(
            f"{Path(tool[0]).name} does not work here: {told['failed']}",
            mend="run it by hand on a CUDA program; see `grader doctor`",
        )
    hung = told["hung"]
    assert isinstance(hung, list)
    return Report(str(told["text"]), tuple(hung))


def _readable() -> tuple[Path, ...]:
    """The folders that the tools' own parts lie in; /usr is always there."""
    tools = toolkit()
    places = [p for p in ((tools.root if tools else None), _ELSEWHERE) if p and p.is_dir()]
    return tuple(p for p in places if Path("/usr") not in p.parents)
