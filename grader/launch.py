"""The values both backends share: what is launched, and what was observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

# The words both backends share: what is launched, and what was seen.
#
# A Launch goes in, a Trace comes out, whichever backend ran it. All values are frozen.

Severity = Literal["error", "warning", "info"]
Dim3 = tuple[int, int, int]

KINDS = (
    "compile-error",
    "compile-warning",
    "launch-failure",
    "race",
    "invalid-access",
    "uninitialized-read",
    "barrier-divergence",
    "timeout",
    "wrong-output",
    "unwritten-output",
    "wrong-answer",
    "uncoalesced",
    "bank-conflict",
    "spill",
    "missing-feature",
    "too-slow",
    "cheat",
    "machine",
)
"""Every kind of finding, in the words of compute-sanitizer where it has one; a wrong answer is one
to a question of a lab's quiz."""

OUTPUT_KINDS = frozenset({"wrong-output", "unwritten-output"})
"""Kinds that are about an output as a whole: thread and block are those of one element's store."""

_EMPTY: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Array:
    """A pointer argument: a buffer in global memory.

    `data` is what the buffer holds before the launch, or None for one that is allocated,
    poisoned and uninitialised. `read_back` asks for its contents after the launch.
    `shape` and `dtype` are those of the NumPy array; element order is C.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    data: NDArray[Any] | None = None
    read_back: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Scalar:
    """A by-value argument of a NumPy scalar type, for example int32 or float32."""

    name: str
    value: int | float | bool
    dtype: str


Argument = Array | Scalar


@dataclass(frozen=True)
class Launch:
    """One kernel launch. `shared` is the dynamic shared memory in bytes.

    `globals` sets `__constant__` and `__device__` variables by name before the launch.
    `name` says in reports which case it is.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    args: tuple[Argument, ...]
    shared: int = 0
    globals: Mapping[str, NDArray[Any]] = field(default_factory=lambda: _EMPTY)
    name: str = ""


@dataclass(frozen=True)
class OtherAccess:
    """The second access of a hazard."""

    line: int
    thread: Dim3
    block: Dim3
    access: Literal["read", "write", "atomic", "wait"] = "write"
    text: str = ""


@dataclass(frozen=True)
class Origin:
    """A line that decides what happens on another: it sets or defines `name`, or is the condition
    (`name` is then "if", "for", ...) that the other line stands under. `name` is empty for a line
    of which a small change alone makes every case right.
    """

    name: str
    line: int


@dataclass(frozen=True)
class Finding:
    """One thing found, what, where and how to mend it; alike ones folded with an exact `count`.

    `message` is one line with no location in it; `line` is 1-based, 0 when not known; `text` is
    the source line's text; `block` and `thread` are those of the first occurrence. `detail` is
    further lines to show below it as they are; `cases` names the cases that it was seen in;
    `origins` are the lines that the values and conditions of its place come from.
    """

    kind: str
    severity: Severity
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    text: str = ""
    count: int = 1
    space: str = ""
    hazard: str = ""
    access: str = ""
    variable: str = ""
    block: Dim3 | None = None
    thread: Dim3 | None = None
    other: OtherAccess | None = None
    hint: str = ""
    detail: str = ""
    cases: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True)
class LastStore:
    """What last stored an element of an output, counted in C order: its line, block and thread."""

    element: int
    line: int
    block: Dim3
    thread: Dim3


@dataclass(frozen=True)
class Localization:
    """What further runs of wrong launches showed. By launch, of each of the `lines` a small change
    alone makes that launch and all others of its kernel right; `stored`, by launch and argument,
    is what stored the first wrong element.
    """

    lines: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: _EMPTY)
    stored: Mapping[tuple[str, int], LastStore] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True)
class LineCounters:
    """Counters of one source line, under Nsight Compute's metric names."""

    line: int
    counters: Mapping[str, float]


@dataclass(frozen=True)
class Resources:
    """What the compiled kernel takes: a thread's registers, a block's static shared bytes, a
    thread's local bytes; theoretical occupancy is a ratio from 0 to 1, None when not known.
    """

    registers: int | None = None
    static_shared_bytes: int | None = None
    local_bytes: int | None = None
    theoretical_occupancy: float | None = None


@dataclass(frozen=True)
class Trace:
    """What one launch did.

    `outputs` maps an argument's index to the array after the launch (only those with
    `read_back`, and only when the launch ended); `unwritten` maps it to a boolean mask of the
    same shape that is True where an uninitialised buffer was never written.
    `seconds` has the wall time of each step. `ended` is False when the launch was aborted
    (launch failure, timeout, deadlock, trap): outputs are then absent. `accesses` is the table of
    every access, when it was asked for (grader.simulator.trace).
    """

    backend: Literal["sim", "gpu"]
    findings: tuple[Finding, ...] = ()
    outputs: Mapping[int, NDArray[Any]] = field(default_factory=lambda: _EMPTY)
    unwritten: Mapping[int, NDArray[np.bool_]] = field(default_factory=lambda: _EMPTY)
    counters: Mapping[str, float] = field(default_factory=lambda: _EMPTY)
    lines: tuple[LineCounters, ...] = ()
    resources: Resources = Resources()
    seconds: Mapping[str, float] = field(default_factory=lambda: _EMPTY)
    toolchain: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    ended: bool = True
    printed: str = ""
    accesses: NDArray[np.void] | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of severity "error"."""
        return tuple(f for f in self.findings if f.severity == "error")

    @property
    def verdict(self) -> Literal["clean", "findings"]:
        """`findings` when anything worse than an info was found."""
        return "findings" if any(f.severity != "info" for f in self.findings) else "clean"


# Theoretical occupancy: how many warps fit a multiprocessor, by CUDA's published rules.


@dataclass(frozen=True)
class MultiprocessorLimits:
    """What one multiprocessor of a compute capability has."""

    warps: int
    blocks: int
    registers: int
    shared: int
    shared_block: int
    reserved: int


MULTIPROCESSOR_LIMITS = {
    (7, 5): MultiprocessorLimits(32, 16, 65536, 65536, 65536, 0),
    (8, 0): MultiprocessorLimits(64, 32, 65536, 167936, 166912, 1024),
    (8, 6): MultiprocessorLimits(48, 16, 65536, 102400, 101376, 1024),
    (8, 7): MultiprocessorLimits(48, 16, 65536, 167936, 166912, 1024),
    (8, 9): MultiprocessorLimits(48, 24, 65536, 102400, 101376, 1024),
    (9, 0): MultiprocessorLimits(64, 32, 65536, 233472, 232448, 1024),
    (10, 0): MultiprocessorLimits(64, 32, 65536, 233472, 232448, 1024),
    (12, 0): MultiprocessorLimits(48, 24, 65536, 102400, 101376, 1024),
}
"""CUDA C++ Programming Guide, table of technical specifications per compute capability."""

WARP_SIZE = 32
REGISTER_UNIT = 256
SHARED_UNIT = 128
SCHEDULERS = 4


def blocks_per_multiprocessor(
    device: MultiprocessorLimits, threads: int, registers: int, shared: int
) -> int:
    """Resident blocks of `threads` threads, `registers` a thread and `shared` bytes a block."""
    warps = -(-threads // WARP_SIZE)
    limits = [device.blocks, device.warps // warps]
    if registers:
        a_warp = -(-registers * WARP_SIZE // REGISTER_UNIT) * REGISTER_UNIT
        held = device.registers // SCHEDULERS // a_warp * SCHEDULERS
        limits.append(held // warps)
    if shared + device.reserved:
        a_block = -(-(shared + device.reserved) // SHARED_UNIT) * SHARED_UNIT
        limits.append(device.shared // a_block)
    return max(0, min(limits))


def theoretical_occupancy(
    capability: tuple[int, int], threads: int, registers: int, shared: int
) -> float | None:
    """Resident warps over the multiprocessor's most, 0 to 1; None for an unknown capability."""
    device = MULTIPROCESSOR_LIMITS.get(capability)
    if device is None or threads < 1:
        return None
    warps = -(-threads // WARP_SIZE)
    return min(
        1.0, blocks_per_multiprocessor(device, threads, registers, shared) * warps / device.warps
    )
