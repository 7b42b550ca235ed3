"""Machine files: what `grader labs calibrate --machine` measured on one GPU, machines/NAME.yaml.

A file has the points of the sweep, the measured kernels with their work, and the fit with its
errors on held-back kernels. The last two follow from the first two: `fitted` computes them, and a
test compares every file of the repository with that, so none is written by hand. `known_machines`
reads the parameters that an estimate needs, through the user's cache.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from grader import dataclass, replace
from grader.compile.cache import cache_key, load, store, user_folder
from grader.faults import LabFault, file_fault
from grader.grading.estimate.fit import (
    Errors,
    HeldBack,
    Sample,
    errors_of,
    fit_model,
    held_back,
)
from grader.grading.estimate.model import ARITHMETIC, Fit, Machine, NotEstimated
from grader.labs.files import write_atomically, yaml_loader
from grader.labs.model import BASELINE_FILE, Lab
from grader.simulator.workload import Work

HEAD = "# Measured, not chosen: `grader labs calibrate --machine` made this file.\n"

FORMAT = 1
"""The format of what the cache keeps of a file."""

SCHEDULERS = 4
"""Schedulers of a multiprocessor: CUDA C++ Programming Guide, compute capabilities 7.0 to 12.0."""

MOST_ISSUED = 1.5
"""The largest ratio of the rate of a class of instructions to the rate of issue. A larger one shows
that the assembler left out instructions of a microbenchmark."""

SIGNIFICANT = 6
"""Digits of a stored number."""

_SAME = ("read", "write", "l2", "l2_write", "l2_masked", "l1_request", "l1_wavefront", "shared")
_LATENCIES = ("l1", "l2", "dram", "shared", "barrier")
_LANES = 32
_ZEROS = {"registers": 0, "shared_bytes": 0}
"""What a file leaves out of a work, besides what has a default."""

Points = Mapping[str, Any]


@dataclass(frozen=True)
class MachineFile:
    """The content of a machine file.

    Attributes:
        device: CUDA's name of the GPU.
        capability, multiprocessors: of the GPU.
        launch: seconds of an empty launch, beyond two events with nothing between them.
        clocks: MHz before and after the sweep; 0 where NVML is missing.
        points: by name, two pairs of amount and seconds: grader/gpu/sweep.py.
        kernels: the measured kernels.
        baselines: by lab, what its baseline's time belongs to: kernel.py, `baseline_key`.
        fit: the fit to all kernels.
        errors: the errors on held-back kernels.
        driver, toolchain, date: how it was measured.
    """

    device: str
    capability: tuple[int, int]
    multiprocessors: int
    launch: float
    clocks: tuple[int, ...]
    points: Points
    kernels: tuple[Sample, ...]
    baselines: Mapping[str, str]
    fit: Fit
    errors: Errors
    driver: str = ""
    toolchain: Mapping[str, str] = field(default_factory=dict)
    date: datetime.date | None = None

    @property
    def machine(self) -> Machine:
        """The parameters that follow from the points."""
        one = machine_of(self.points, self.device, self.capability, self.multiprocessors)
        return replace(one, launch=self.launch)


def machine_of(
    points: Points, device: str, capability: tuple[int, int], multiprocessors: int
) -> Machine:
    """Return the parameters that follow from the points of a sweep; `launch` is 0.

    Raises:
        LabFault: a point is missing, the longer launch did not take longer, or no GPU has a rate.
    """

    def slope(name: str) -> float:
        """The seconds of one unit of a point."""
        try:
            (few, short), (many, long) = points[name]
            taken = (float(long) - float(short)) / (float(many) - float(few))
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            raise LabFault(f"the sweep has no point `{name}`", where=device) from None
        if taken <= 0:
            raise LabFault(f"the times of the point `{name}` do not grow with its work")
        return taken

    rates = {name: 1 / slope(name) for name in (*_SAME, *ARITHMETIC, "atomic_shared")}
    rates["atomic_global"] = 1 / slope("atomic_global")
    rates["atomic_global_same"] = 1 / slope("atomic_global_same")
    issued = 1 / slope("issue")
    for name in ARITHMETIC:
        if rates[name] > MOST_ISSUED * issued:
            raise LabFault(f"the point `{name}` ran more instructions than can be issued")
    rates["issue"] = max(issued, *(rates[name] for name in ARITHMETIC))
    turns = (slope("atomic_shared_same") - slope("atomic_shared")) / (_LANES - 1)
    rates["atomic_shared_same"] = 1 / max(turns, slope("atomic_shared") / _LANES)
    latencies = {name: slope(f"{name} latency") for name in (*_LATENCIES, *ARITHMETIC)}
    latencies["slot"] = SCHEDULERS * multiprocessors / rates["issue"]
    return Machine(device, capability, multiprocessors, rates, latencies, 0.0, 1 / slope("blocks"))


def fitted(
    kernels: tuple[Sample, ...], machine: Machine
) -> tuple[Fit, Errors, tuple[HeldBack, ...]]:
    """Fit the model to all kernels, and find its errors on held-back ones.

    Raises:
        LabFault: there are fewer than two labs, or a launch does not fit the machine.
    """
    try:
        if len({kernel.lab for kernel in kernels}) < 2:
            raise LabFault("the kernels of two labs are needed: one is held back")
        rows = tuple(held_back(kernels, machine))
        return fit_model(kernels, machine), errors_of(rows), rows
    except NotEstimated as error:
        raise LabFault(f"a kernel cannot be estimated: {error}") from None


def file_name(device: str) -> str:
    """Return the name of a device's file, such as `nvidia-h100-80gb-hbm3.yaml`."""
    return re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-") + ".yaml"


def file_text(content: MachineFile) -> str:
    """Return the text of a machine file."""
    import yaml

    value = rounded(asdict(content))
    for row in value["kernels"]:
        row["work"] = {name: count for name, count in row["work"].items() if count}
    value["capability"] = list(content.capability)
    value["date"] = content.date
    body: str = yaml.safe_dump(value, sort_keys=False, width=100, default_flow_style=None)
    return HEAD + body


def public_text(content: MachineFile) -> str:
    """Return the text of a machine file for students: of the kernels, the baselines alone."""
    shown = tuple(one for one in content.kernels if one.file == BASELINE_FILE)
    return file_text(replace(content, kernels=shown))


def store_machine(content: MachineFile, path: Path) -> None:
    """Write a machine file at once or not at all, in a folder that is made if it is missing.

    Raises:
        LabFault: it cannot be written; MachineFault where the machine is the cause.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot make the folder: {error.strerror}"
        raise file_fault(error, what, where=str(path.parent)) from None
    write_atomically(path, file_text(content).encode())


def rounded(value: Any) -> Any:
    """Return plain values with floats of SIGNIFICANT digits: what a file has, and is fitted to."""
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT}g}")
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value


def read_machine(path: Path) -> MachineFile:
    """Read a machine file.

    Raises:
        LabFault: it cannot be read, or is not what `file_text` writes.
    """
    import yaml

    fix = "make it again: grader labs calibrate --machine"
    try:
        value = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml_loader())
        kernels = tuple(
            Sample(row["lab"], row["file"], float(row["seconds"]), Work(**_ZEROS | row["work"]))
            for row in value["kernels"]
        )
        errors = dict(value["errors"])
        order = tuple((str(a), str(b)) for a, b in errors.pop("wrong_order", ()))
        major, minor = value["capability"]
        return MachineFile(
            **{key: value[key] for key in ("device", "multiprocessors", "points")},
            **{key: value[key] for key in ("driver", "toolchain", "date") if key in value},
            launch=float(value.get("launch", 0.0)),
            capability=(int(major), int(minor)),
            clocks=tuple(value["clocks"]),
            kernels=kernels,
            baselines=dict(value.get("baselines", {})),
            fit=Fit(**value["fit"]),
            errors=Errors(**errors, wrong_order=order),
        )
    except OSError as error:
        raise file_fault(
            error, f"cannot read the file: {error.strerror}", where=str(path)
        ) from None
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError) as error:
        what = f"this is not a machine file: {type(error).__name__}: {error}".splitlines()[0]
        raise LabFault(what, where=str(path), fix=fix) from None


@dataclass(frozen=True)
class KnownMachine:
    """What an estimate needs of a machine file.

    Attributes:
        machine, fit, errors: as the file has them.
        baselines: by lab, the measured seconds of its baseline, and what `baseline_key` gave.
    """

    machine: Machine
    fit: Fit
    errors: Errors
    baselines: Mapping[str, tuple[float, str]]


def known_machines(lab: Lab) -> Iterator[KnownMachine]:
    """Yield the machines whose estimates are shown for a lab.

    A machine is left out when its errors on held-back kernels do not allow it (`Errors.problem`).

    Raises:
        LabFault: a file cannot be read.
    """
    for path in lab.machine_files:
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise file_fault(error, f"cannot read it: {error.strerror}", where=str(path)) from None
        key = cache_key("machine", FORMAT, digest)
        kept = load(user_folder(), key)
        if kept is None:
            kept = _kept(read_machine(path))
            store(user_folder(), key, kept)
        known = _known(kept)
        if not known.errors.problem:
            yield known


def _kept(content: MachineFile) -> dict[str, Any]:
    """What the cache keeps of a file, as JSON."""
    baselines = {
        sample.lab: [sample.seconds, content.baselines[sample.lab]]
        for sample in content.kernels
        if sample.file == BASELINE_FILE and sample.lab in content.baselines
    }
    return {
        "machine": asdict(content.machine),
        "fit": asdict(content.fit),
        "errors": asdict(content.errors),
        "baselines": baselines,
    }


def _known(kept: Mapping[str, Any]) -> KnownMachine:
    row, errors = dict(kept["machine"]), dict(kept["errors"])
    major, minor = row.pop("capability")
    order = tuple((a, b) for a, b in errors.pop("wrong_order"))
    return KnownMachine(
        Machine(**row, capability=(major, minor)),
        Fit(**kept["fit"]),
        Errors(**errors, wrong_order=order),
        {lab: (seconds, key) for lab, (seconds, key) in kept["baselines"].items()},
    )
