"""The options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from grader.cli.terminal import say


class Backend(StrEnum):
    """What runs the kernel; `auto` takes the best that this machine has."""

    sim = "sim"
    gpu = "gpu"
    auto = "auto"


On = Annotated[
    Backend, typer.Option("--on", help="What runs the kernel: the CPU simulator or a GPU.")
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="F", help="Write the result as JSON to F; - is stdout."),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, max=1024, help="The simulator's threads.  [default: all cores]"
    ),
]
Limit = Annotated[
    float,
    typer.Option("--limit", min=0.1, max=3600, help="Seconds after which a kernel is stopped."),
]
Sanitizer = Annotated[
    bool, typer.Option("--sanitizer", help="On a GPU: ask compute-sanitizer for its findings too.")
]
Profile = Annotated[
    bool, typer.Option("--profile", help="On a GPU: show Nsight Compute's counters beside ours.")
]
Course = Annotated[
    Path | None,
    typer.Option(
        "--course", metavar="DIR", help="A folder with labs/ (and solutions/) of its own."
    ),
]
Source = Annotated[Path, typer.Argument(metavar="FILE.cu", help="The file with the kernel.")]


def resolved(on: Backend) -> Literal["sim", "gpu"]:
    """The backend that is meant: `auto` is a GPU where one can be used, and says why a GPU that is
    there cannot. Raises MachineFault when `gpu` is asked for and something is missing.
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
        say(f"the GPU is not used, the CPU simulates: {missing}")
    return "sim"
