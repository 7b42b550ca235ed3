"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from grader.cli.terminal import say


class Backend(StrEnum):
    """Where kernels run; `auto` is a GPU if this machine has a usable one."""

    sim = "sim"
    gpu = "gpu"
    auto = "auto"


On = Annotated[
    Backend,
    typer.Option("--on", help="Where the kernel runs: sim is the CPU simulator, gpu is a GPU."),
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="F", help="Write the result as JSON to file F; - is stdout."),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, max=1024, help="Threads of the simulator.  [default: all cores]"
    ),
]
Limit = Annotated[
    float,
    typer.Option("--limit", min=0.1, max=3600, help="Stop a kernel after this many seconds."),
]
Sanitizer = Annotated[
    bool, typer.Option("--sanitizer", help="On a GPU: add the findings of compute-sanitizer.")
]
Profile = Annotated[
    bool,
    typer.Option("--profile", help="On a GPU: compare the counters with those of Nsight Compute."),
]
Course = Annotated[
    Path | None,
    typer.Option(
        "--course", metavar="DIR", help="The folder of a course, with labs/ or course.yaml."
    ),
]
All = Annotated[
    bool,
    typer.Option("--all", help="Show every finding, not one block for each cause."),
]
LabName = Annotated[
    str, typer.Argument(metavar="LAB", help="The lab; `grader labs list` shows all labs.")
]
Source = Annotated[Path, typer.Argument(metavar="FILE.cu", help="The source file with the kernel.")]


def resolved(on: Backend) -> Literal["sim", "gpu"]:
    """Return the backend to use; `auto` becomes `gpu` when a GPU can be used, otherwise `sim`.

    A message on stderr says why a GPU of this machine cannot be used.

    Raises:
        MachineFault: `gpu` is asked for and something is missing.
    """
    from grader.gpu.devices import all_quarantined, devices, missing_requirement, same_model_devices

    if on is Backend.sim:
        return "sim"
    missing = missing_requirement() or all_quarantined(same_model_devices())
    if missing is None:
        return "gpu"
    if on is Backend.gpu:
        raise missing
    if devices():
        say(f"the kernel runs on the CPU simulator, because the GPU cannot be used: {missing}")
    return "sim"
