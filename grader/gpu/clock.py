"""The GPU's clock as NVML tells it: a clock that drops makes a kernel look slower than it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DROP = 0.9
"""A pair counts while the clock is at least this share of the highest that was seen."""


@dataclass(frozen=True)
class Clock:
    """NVML and its handle of one GPU; both None where NVML does not answer."""

    nvml: Any = None
    handle: Any = None

    def megahertz(self) -> int:
        """The multiprocessors' clock now, 0 when it is not known."""
        if self.nvml is None:
            return 0
        try:
            return int(self.nvml.nvmlDeviceGetClockInfo(self.handle, self.nvml.NVML_CLOCK_SM))
        except self.nvml.NVMLError:
            return 0


def clock_of(bus: str) -> Clock:
    """The clock of the GPU at that PCI address; one that knows nothing where NVML is missing."""
    try:
        import pynvml
    except ImportError:
        return Clock()
    try:
        pynvml.nvmlInit()
        return Clock(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(bus.encode()))
    except pynvml.NVMLError:
        return Clock()


def dropped(clocks: Sequence[int]) -> tuple[bool, ...]:
    """For each pair whether the clock had dropped when it ran; 0 is a clock that nobody told."""
    highest = max(clocks, default=0)
    return tuple(0 < clock < DROP * highest for clock in clocks)
