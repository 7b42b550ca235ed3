"""A lab's thresholds of speed, device by device, as measured: labs/<lab>/thresholds.yaml.

`grader labs calibrate LAB --write` writes the file; a device that it does not name is held to the
numbers of lab.yaml. The rule behind a proposal: the solution is a good tenth above what earns all
points, and no kernel that must fail comes near what earns the first.
"""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self
import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator
from grader.labs.model import Band
from grader.labs.yamlfile import load_yaml

THRESHOLDS_FILE = "thresholds.yaml"
HEAD = "# Measured, not chosen: `grader labs calibrate {} --write` made this file.\n"

MINIMUM_MARGIN = 1.15
"""The solution's speedup over `minimum`, at least."""

FULL_MARGIN = 1.08
"""The solution's speedup over `full`: what another machine of the same model may lack."""

FAILING_MARGIN = 1.03
"""`minimum` over the fastest kernel that must fail, at least."""

MAX_MINIMUM_SHARE = 0.9
"""`minimum` over `full`, at most: in a narrower band the noise of a measurement (1 % a pair) moves
more than 2 % of the points, see bench/stopping.py."""


class DeviceThresholds(BaseModel):
    """One device's thresholds, and the speedups that they were set from, by the file timed.

    `dims` and `kind` are the launch that was timed; thresholds without them hold for any. `sha256`
    are the digests of the baseline's and the solution's file as they were then."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    minimum: float = Field(gt=0, allow_inf_nan=False)
    full: float = Field(gt=0, allow_inf_nan=False)
    dims: dict[str, int] = Field(default_factory=dict)
    kind: str = ""
    speedups: dict[str, float] = Field(default_factory=dict)
    sha256: dict[str, str] = Field(default_factory=dict)
    driver: str = ""
    toolchain: dict[str, str] = Field(default_factory=dict)
    date: datetime.date | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.full <= self.minimum:
            raise ValueError(f"full ({self.full:g}) must be above minimum ({self.minimum:g})")
        return self

    def is_of(self, dims: object, kind: object, baseline: Path) -> bool:
        """Whether it was measured of the launch that the lab times today, and beside that file."""
        launch = self.dims in ({}, dims) and self.kind in ("", kind)
        return launch and not self.is_older_than(baseline)

    def is_older_than(self, file: Path) -> bool:
        """Whether the file is another one now than the one that was timed."""
        return self.sha256.get(file.name, "") not in ("", file_digest(file))


class Thresholds(BaseModel):
    """thresholds.yaml: by the device's name, as CUDA gives it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    devices: dict[str, DeviceThresholds]


def read_thresholds(folder: Path) -> Mapping[str, DeviceThresholds]:
    """What was measured of the lab in `folder`; nothing when the file is not there. Raises
    LabFault with file, line and key."""
    file = folder / THRESHOLDS_FILE
    return load_yaml(file, Thresholds).devices if file.is_file() else {}


def applicable_bands(
    measured: Mapping[str, DeviceThresholds], dims: object, kind: object, baseline: Path
) -> Mapping[str, Band]:
    """The thresholds alone, by device, of a lab that times these `dims` with inputs of that `kind`
    beside the kernel in `baseline`. Those of another size, input or baseline are left out: a
    speedup there says nothing of one here."""
    return {
        name: Band(one.minimum, one.full)
        for name, one in measured.items()
        if one.is_of(dims, kind, baseline)
    }


def file_digest(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal; empty when it cannot be read."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""


def outdated_devices(measured: Mapping[str, DeviceThresholds], file: Path) -> Iterator[str]:
    """The devices whose thresholds were measured with other contents of `file`."""
    yield from (name for name, one in sorted(measured.items()) if one.is_older_than(file))


def thresholds_text(lab: str, measured: Mapping[str, DeviceThresholds]) -> str:
    """The file's text, devices in alphabetical order."""
    devices = {
        name: one.model_dump(exclude_defaults=True) for name, one in sorted(measured.items())
    }
    body: str = yaml.safe_dump({"devices": devices}, sort_keys=False, width=100)
    return HEAD.format(lab) + body


def propose_band(failing: float, solution: float) -> Band | None:
    """Thresholds for a solution of that speedup (the low end of its interval) where the fastest
    kernel that must fail has `failing` (the high end); None when there is no room between."""
    full = solution / FULL_MARGIN
    highest = min(solution / MINIMUM_MARGIN, full * MAX_MINIMUM_SHARE)
    lowest = failing * FAILING_MARGIN
    if lowest > highest:
        return None
    return Band(_down(math.sqrt(lowest * highest)), _down(full))


def _down(value: float) -> float:
    """Three digits, rounded down."""
    scale = 10.0 ** (2 - math.floor(math.log10(value)))
    return math.floor(value * scale) / scale
