"""The values that both backends share: what is launched, and what was observed.

A Launch goes in and a Trace comes out, whichever backend ran it. All values are frozen. The module
also has CUDA's published limits of a multiprocessor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from math import prod
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grader import dataclass

Severity = Literal["error", "warning", "info"]
Dim3 = tuple[int, int, int]

KINDS = (
    "compile-error", "compile-warning", "launch-failure", "race", "lost-update",
    "order-dependent", "invalid-access", "uninitialized-read", "barrier-divergence", "timeout",
    "wrong-output", "unwritten-output", "wrong-answer", "uncoalesced", "bank-conflict", "spill",
    "missing-feature", "too-slow", "cheat", "machine",
)  # fmt: skip
"""Every kind of finding, with compute-sanitizer's name where it has one."""

OUTPUT_KINDS = frozenset({"wrong-output", "unwritten-output"})
"""Kinds about an output as a whole; thread and block are those that stored one of its elements."""

_EMPTY: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Array:
    """A pointer argument: a buffer in global memory.

    `data` is the content before the launch, or None for a buffer that is allocated, poisoned and
    uninitialized. `read_back` asks for the content after the launch. `shape` and `dtype` are those
    of the NumPy array, in C order. `initialized` is a mask of the elements that have values before
    the launch; None for all of them.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    data: NDArray[Any] | None = None
    read_back: bool = False
    initialized: NDArray[np.bool_] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    def undefined_bytes(self) -> NDArray[np.bool_]:
        """Return a mask of the bytes that have no value before the launch."""
        if self.data is None or self.initialized is None:
            return np.full(self.nbytes, self.data is None)
        return np.repeat(~self.initialized.reshape(-1), np.dtype(self.dtype).itemsize)


@dataclass(frozen=True)
class Scalar:
    """A by-value argument of a NumPy scalar type, for example int32 or float32."""

    name: str
    value: int | float | bool
    dtype: str


@dataclass(frozen=True)
class Packed:
    """A by-value argument as its bytes: a structure, a vector such as float4, or a null pointer.

    Attributes:
        name: The parameter's name.
        data: The bytes; those of a pointer are 0.
        align: The alignment of the parameter in bytes.
        pointers: The offset of each pointer, and the index in `Launch.args` of its array.
    """

    name: str
    data: bytes
    align: int
    pointers: tuple[tuple[int, int], ...] = ()

    def with_addresses(self, addresses: Mapping[int, int]) -> bytes:
        """Return the bytes with the address of each array, given by its index."""
        out = bytearray(self.data)
        for at, index in self.pointers:
            out[at : at + 8] = addresses[index].to_bytes(8, "little")
        return bytes(out)


@dataclass(frozen=True)
class Texture:
    """A texture or surface object, whose texels are the array `Launch.args[array]` in C order.

    The last axis of the array is x, the one before it y, then z. With several `channels` they are
    one more axis at the end; with `layered` the layers are one at the start. `memory` is a CUDA
    array, or linear memory of one ("linear") or two dimensions ("pitch").

    Attributes:
        address: By dimension, x first, what stands outside the extents: a name of ADDRESS_MODES.
        interpolated: Whether fetches use the linear filter.
        normalized: Whether coordinates are from 0 to 1.
        read_float: Whether fetches convert integers to floating-point numbers up to 1.
    """

    name: str
    array: int
    surface: bool = False
    memory: Literal["array", "linear", "pitch"] = "array"
    channels: int = 1
    layered: bool = False
    address: tuple[str, ...] = ("clamp",) * 3
    interpolated: bool = False
    normalized: bool = False
    read_float: bool = False

    def extents(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the extents in texels, x first, of an array of that shape."""
        return shape[int(self.layered) : len(shape) - (self.channels > 1)][::-1]


ADDRESS_MODES = ("clamp", "border", "wrap", "mirror")
Argument = Array | Scalar | Packed | Texture


@dataclass(frozen=True)
class Launch:
    """One kernel launch.

    `shared` is the dynamic shared memory in bytes, more than 48 KiB where it is `large_shared`.
    `globals` sets `__constant__` and `__device__` variables by name before the launch. `name`
    identifies the case in reports. The blocks of a `cooperative` launch run at the same time and
    may wait for each other with grid.sync(). The last `hidden` arguments are no parameters: they
    are what structures and textures refer to.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    args: tuple[Argument, ...]
    shared: int = 0
    globals: Mapping[str, NDArray[Any]] = field(default_factory=lambda: _EMPTY)
    name: str = ""
    cooperative: bool = False
    hidden: int = 0
    large_shared: bool = False

    @property
    def parameters(self) -> tuple[Argument, ...]:
        """The arguments that are parameters of the kernel."""
        return self.args[: len(self.args) - self.hidden]


Arrays = dict[str, NDArray[Any]]
"""The arrays of packed launches, by the names that their rows contain."""


def pack_launches(launches: Sequence[Launch]) -> tuple[list[Any], Arrays]:
    """Return the launches as JSON rows, and their arrays by the names that the rows contain."""
    rows: list[Any] = []
    arrays: Arrays = {}
    for k, launch in enumerate(launches):
        args = [_packed(a, f"{k}.{j}", arrays) for j, a in enumerate(launch.args)]
        for name, value in launch.globals.items():
            arrays[f"{k}.g.{name}"] = np.ascontiguousarray(value)
        own = {f: getattr(launch, f) for f in _PLAIN}
        rows.append({**own, "args": args, "globals": list(launch.globals)})
    return rows, arrays


_PLAIN = ("kernel", "grid", "block", "shared", "name", "cooperative", "hidden", "large_shared")


def _packed(a: Argument, key: str, arrays: Arrays) -> dict[str, Any]:
    """An argument as JSON; the arrays that it contains are added to `arrays`."""
    if isinstance(a, Texture):
        return {"texture": asdict(a)}
    if isinstance(a, Scalar):
        return {"name": a.name, "value": a.value, "dtype": a.dtype}
    if isinstance(a, Packed):
        row = {"name": a.name, "bytes": a.data.hex(), "align": a.align}
        return {**row, "pointers": [list(pair) for pair in a.pointers]}
    if a.data is not None:
        arrays[key] = np.ascontiguousarray(a.data, a.dtype)
    if a.initialized is not None:
        arrays[f"{key}.initialized"] = a.initialized
    row = {"name": a.name, "shape": list(a.shape), "dtype": a.dtype, "read_back": a.read_back}
    return {**row, "data": key if a.data is not None else ""}


def _unpacked(row: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Argument:
    """The argument that `_packed` converted."""
    if "texture" in row:
        return Texture(**{**row["texture"], "address": tuple(row["texture"]["address"])})
    if "value" in row:
        return Scalar(row["name"], row["value"], row["dtype"])
    if "bytes" in row:
        pointers = tuple((at, index) for at, index in row["pointers"])
        return Packed(row["name"], bytes.fromhex(row["bytes"]), row["align"], pointers)
    data = arrays[row["data"]] if row["data"] else None
    mask = arrays.get(f"{row['data']}.initialized")
    mask = None if mask is None else mask.astype(np.bool_)
    return Array(row["name"], tuple(row["shape"]), row["dtype"], data, row["read_back"], mask)


def unpack_launches(rows: Sequence[Any], arrays: Mapping[str, NDArray[Any]]) -> list[Launch]:
    """Return the launches that `pack_launches` converted."""
    launches = []
    for k, row in enumerate(rows):
        own = {f: row[f] for f in _PLAIN}
        own |= {axes: tuple(row[axes]) for axes in ("grid", "block")}
        args = tuple(_unpacked(a, arrays) for a in row["args"])
        values = {name: arrays[f"{k}.g.{name}"] for name in row["globals"]}
        launches.append(Launch(**own, args=args, globals=values))
    return launches


@dataclass(frozen=True)
class Call:
    """A call that leads to a line; `file` is empty where it is the finding's."""

    line: int
    text: str = ""
    file: str = ""


@dataclass(frozen=True)
class OtherAccess:
    """The second access of a hazard; `file` is empty where it is the finding's."""

    line: int
    thread: Dim3
    block: Dim3
    access: Literal["read", "write", "atomic", "wait", "arrive"] = "write"
    text: str = ""
    file: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Origin:
    """A line that determines what happens on another line.

    The line sets or defines the variable `name`, or is the condition that the other line depends on
    (`name` is then "if", "for", ...). `name` is empty for a line where one small change makes every
    case correct. `file` is empty where it is the finding's.
    """

    name: str
    line: int
    file: str = ""


@dataclass(frozen=True)
class Finding:
    """One problem: what, where and how to fix it; equal ones are merged with an exact `count`.

    Attributes:
        message: One line without a location.
        line: 1-based; 0 when not known.
        text: The text of the source line.
        block: Block index of the first occurrence.
        thread: Thread index of the first occurrence.
        other: The second access of a hazard.
        hint: How to fix it.
        detail: Further lines to show below it unchanged.
        cases: The names of the cases in which it was detected.
        origins: The lines that determine the values and conditions at its place.
        follows: How many other findings of its run it is a consequence of.
        calls: The calls of the student's functions that lead to its line, the innermost first.
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
    follows: int = 0
    calls: tuple[Call, ...] = ()


WorkMeasure = Literal["nothing", "work", "sharing"]
"""What is measured beside the usual counters: "work", each thread's instructions; "sharing", also
the bytes of shared memory that threads read of others, and distinct bytes of global memory.
"""


@dataclass(frozen=True)
class LineCounters:
    """Counters of one source line, under Nsight Compute's metric names."""

    line: int
    counters: Mapping[str, float]
    file: str = ""  # a header's or another cell's name; empty for the submitted file


@dataclass(frozen=True)
class Resources:
    """Resource usage of the compiled kernel; None where it is not known.

    `registers` and `local_bytes` are per thread, `static_shared_bytes` is per block, and
    `theoretical_occupancy` is a ratio from 0 to 1.
    """

    registers: int | None = None
    static_shared_bytes: int | None = None
    local_bytes: int | None = None
    theoretical_occupancy: float | None = None


@dataclass(frozen=True)
class Trace:
    """What one launch did.

    Attributes:
        outputs: By argument index, the array after the launch: only those with `read_back`, and
            only when the launch ended.
        unwritten: By argument index, a boolean mask of the same shape, True where an uninitialized
            buffer was never written.
        seconds: The wall time of each step.
        others: By argument index, an output that another order of blocks, warps or lanes leaves,
            if one differs by more than rounding.
        ended: False when the launch was aborted (launch failure, timeout, deadlock, trap).
        printed: What the kernel printed.
        accesses: The table of every access, when it was requested (grader.simulator.counters).
    """

    backend: Literal["sim", "gpu"]
    findings: tuple[Finding, ...] = ()
    outputs: Mapping[int, NDArray[Any]] = field(default_factory=lambda: _EMPTY)
    unwritten: Mapping[int, NDArray[np.bool_]] = field(default_factory=lambda: _EMPTY)
    others: Mapping[int, NDArray[Any]] = field(default_factory=lambda: _EMPTY)
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
        """The findings with severity "error"."""
        return tuple(f for f in self.findings if f.severity == "error")

    @property
    def verdict(self) -> Literal["clean", "findings"]:
        """Return "findings" when any finding is more severe than "info", else "clean"."""
        return "findings" if any(f.severity != "info" for f in self.findings) else "clean"


@dataclass(frozen=True)
class MultiprocessorLimits:
    """The limits of one multiprocessor of a compute capability; memory sizes in bytes."""

    warps: int
    blocks: int
    registers: int
    shared: int
    shared_per_block: int
    reserved_per_block: int


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
"""By compute capability: CUDA C++ Programming Guide, table of technical specifications."""

WARP_SIZE = 32
