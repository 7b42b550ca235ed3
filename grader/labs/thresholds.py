"""The speed thresholds of a lab as measured on each device: labs/<lab>/thresholds.yaml.

`grader labs calibrate LAB --write` writes the file. A device without an entry uses the numbers of
lab.yaml. A proposed band leaves room on both sides: the solution is clearly faster than what earns
all points, and every kernel that must fail is clearly slower than what earns the first.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from grader.labs.files import file_digest, load_yaml
from grader.labs.model import Band

THRESHOLDS_FILE = "thresholds.yaml"
HEAD = "# Measured, not chosen: `grader labs calibrate {} --write` made this file.\n"

MINIMUM_MARGIN = 1.15
"""The least ratio of the solution's speedup to `minimum`."""

FULL_MARGIN = 1.08
"""The ratio of the solution's speedup to `full`, for slower machines of the same model."""

FAILING_MARGIN = 1.03
"""The least ratio of `minimum` to the speedup of the fastest kernel that must fail."""

MAX_MINIMUM_SHARE = 0.9
"""The largest ratio of `minimum` to `full`.

In a narrower band the noise of a measurement (1 % per pair) changes more than 2 % of the points;
see bench/stopping.py.
"""


class DeviceThresholds(BaseModel):
    """The thresholds of one device, and how they were measured.

    Attributes:
        minimum: The speedup over the baseline that earns the first point.
        full: The speedup that earns all points.
        dims: The size of the launch that was timed; when empty, the thresholds hold for any.
        kind: The kind of its inputs; when empty, the thresholds hold for any.
        speedups: The measured speedups by file.
        sha256: The digests of the baseline's and the solution's file at that time.
        driver: The driver's version.
        toolchain: The versions of the tools.
        date: The day of the measurement.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
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

    def applies_to(self, dims: object, kind: object, baseline: Path) -> bool:
        """Return whether it was measured for this launch and this baseline."""
        same_launch = self.dims in ({}, dims) and self.kind in ("", kind)
        return same_launch and not self.has_changed(baseline)

    def has_changed(self, file: Path) -> bool:
        """Return whether the file's content differs from what was timed."""
        return self.sha256.get(file.name, "") not in ("", file_digest(file))


class Thresholds(BaseModel):
    """The content of thresholds.yaml: thresholds by CUDA's name of the device."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    devices: dict[str, DeviceThresholds]


def read_thresholds(folder: Path) -> Mapping[str, DeviceThresholds]:
    """Return the thresholds of the lab in `folder` by device; empty when there is no file.

    Raises:
        LabFault: The file is wrong; the fault has file, line and key.
    """
    file = folder / THRESHOLDS_FILE
    return load_yaml(file, Thresholds).devices if file.is_file() else {}


def applicable_bands(
    measured: Mapping[str, DeviceThresholds], dims: object, kind: object, baseline: Path
) -> Mapping[str, Band]:
    """Return the bands, by device, that apply to a launch.

    Bands measured with another size, kind of inputs or baseline are left out.

    Args:
        measured: All thresholds of the lab by device.
        dims: The size that the lab times.
        kind: The kind of inputs that it times.
        baseline: The file of the baseline.
    """
    return {
        name: Band(one.minimum, one.full)
        for name, one in measured.items()
        if one.applies_to(dims, kind, baseline)
    }


def outdated_devices(measured: Mapping[str, DeviceThresholds], file: Path) -> Iterator[str]:
    """Yield the devices whose thresholds were measured with other content of `file`."""
    yield from (name for name, one in sorted(measured.items()) if one.has_changed(file))


def thresholds_text(lab: str, measured: Mapping[str, DeviceThresholds]) -> str:
    """Return the text of thresholds.yaml, devices in alphabetical order."""
    devices = {
        name: one.model_dump(exclude_defaults=True) for name, one in sorted(measured.items())
    }
    body: str = yaml.safe_dump({"devices": devices}, sort_keys=False, width=100)
    return HEAD.format(lab) + body


def propose_band(failing: float, solution: float) -> Band | None:
    """Return a band between two speedups, or None when they are too close.

    Args:
        failing: The speedup of the fastest kernel that must fail (upper end of its interval).
        solution: The speedup of the solution (lower end of its interval).
    """
    full = solution / FULL_MARGIN
    highest = min(solution / MINIMUM_MARGIN, full * MAX_MINIMUM_SHARE)
    lowest = failing * FAILING_MARGIN
    if lowest > highest:
        return None
    return Band(_round_down(math.sqrt(lowest * highest)), _round_down(full))


def _round_down(value: float) -> float:
    """Round down to three digits."""
    scale = 10.0 ** (2 - math.floor(math.log10(value)))
    return math.floor(value * scale) / scale
