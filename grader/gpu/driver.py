"""Whether the NVIDIA driver of this machine can run what its CUDA toolkit compiles.

A kernel that a newer major release compiled does not run with an older driver. The runtime of many
programs then reports nothing: the kernel is not launched, and its output stays as it was. Hosted
notebooks are where it happens most, because their driver is fixed.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

from grader.faults import MachineFault
from grader.gpu.devices import (
    Toolkit,
    all_quarantined,
    driver_version,
    library_folder,
    missing_requirement,
    same_model_devices,
    toolkit,
)
from grader.gpu.nvcc import cached_release

FIRST_DRIVER = {11: 450, 12: 525, 13: 580}
"""The first driver of each major release of CUDA: CUDA Toolkit Release Notes, table of drivers."""


def unusable_gpu() -> MachineFault | None:
    """Return why this machine's GPUs cannot be used, and the fix; None where they can."""
    return missing_requirement() or driver_too_old() or all_quarantined(same_model_devices())


def driver_too_old() -> MachineFault | None:
    """Return why the driver cannot run what nvcc compiles; None where it can, or is not known."""
    folder, tools = library_folder(), toolkit()
    if folder is None or tools is None:
        return None
    supported = supported_release(folder / "libcuda.so.1")
    release = _release(tools)
    if supported is None or release is None or supported[0] >= release[0]:
        return None
    name = f"driver {driver_version()}" if driver_version() else "driver"
    first = FIRST_DRIVER.get(release[0])
    newer = f" ({first} or newer)" if first else ""
    return MachineFault(
        f"the NVIDIA {name} is too old for this machine's CUDA toolkit: the driver runs CUDA "
        f"{supported[0]}.{supported[1]} and older, the toolkit is CUDA {release[0]}.{release[1]}",
        fix=f"install a driver for CUDA {release[0]}{newer}, or the CUDA toolkit {supported[0]}",
    )


def supported_release(library: Path) -> tuple[int, int] | None:
    """Ask the driver's library for the newest release of CUDA that it runs; None if it is silent.

    The driver answers without a GPU and without initialization (cuDriverGetVersion).
    """
    number = ctypes.c_int(0)
    try:
        failed = ctypes.CDLL(str(library)).cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    if failed or number.value <= 0:
        return None
    return number.value // 1000, number.value % 1000 // 10


def _release(tools: Toolkit) -> tuple[int, int] | None:
    try:
        major, minor, *_ = cached_release(tools).split(".")
        return int(major), int(minor)
    except (MachineFault, ValueError):
        return None
