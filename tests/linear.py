"""Measure that a reader of a text takes linear time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import suppress

from grader.faults import Fault
from grader.simulator.ptx.model import PtxError

Reader = Callable[[str], object]

LONGER = 8
MOST = 10
"""How much longer a text is made, and how many times the processor time it may take."""

SPARE = 0.08
"""Seconds of processor time in addition, for any text. Half as long a text with a fifth of it
bounds a quadratic reader as tightly, and takes half the time."""

ATTEMPTS = 4
"""A shared machine can slow one measurement down; a quadratic reader fails each one."""


def seconds(reader: Reader, text: str) -> float:
    """The processor time of one reading; a fault that the reader reports is an answer.

    No garbage is collected meanwhile: its time grows with all objects of the test process.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        started = time.process_time()
        with suppress(Fault, PtxError):
            reader(text)
        return time.process_time() - started
    finally:
        if enabled:
            gc.enable()


def assert_linear(reader: Reader, short: str, long: str) -> None:
    """Fail if `reader` takes more than linear time for `long`, `LONGER` times `short`."""
    measured = []
    for _ in range(ATTEMPTS):
        taken = seconds(reader, long)
        if taken <= SPARE:
            return
        measured.append((taken, seconds(reader, short)))
        if taken <= MOST * measured[-1][1] + SPARE:
            return
    raise AssertionError(f"not linear: seconds of the long and of the short text: {measured}")
