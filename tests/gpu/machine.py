"""The GPU machine that ground truth was read on, as every file of it says."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime

from grader.compile.source import toolchain
from grader.gpu.devices import devices, driver_version
from grader.gpu.devices import toolkit as toolkit_here
from grader.gpu.nvcc import release


def machine() -> dict[str, str]:
    """Device, driver, compiler and toolkit, and the day in UTC."""
    tools = toolkit_here()
    return {
        "device": devices()[0].model,
        "driver": driver_version(),
        "nvrtc": toolchain()["nvrtc"],
        "toolkit": release(tools) if tools else "",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def version_of(tool: str) -> str:
    """The release that a tool of the toolkit says it has."""
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+\.\d+(\.\d+)+", said)
    return found[0] if found else said.strip().splitlines()[-1]
