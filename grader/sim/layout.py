"""Memory of one launch: buffers in global memory with their shadow, and the shared window.

Every buffer has a slot of 64 GiB of addresses and lies in its middle; shared variables are fenced
by gaps. An address that strays is thus never another variable's, and says whose it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grader.sim.core import BUFFER, CELL_BYTES, GLOBAL_BASE, SLOT_BITS, SLOT_MIDDLE
from grader.sim.ptx import PtxError, Variable

GAP, WRITTEN = 1, 2
FENCE = 256
"""Bytes between shared variables; a multiple of all banks, so that bank numbers stay."""
POISON = 0xA5
RESERVED = "%reserved_smem"
RESERVED_BYTES = 1024
"""What the system keeps of a block's shared memory; cooperative groups work there."""
UNINITIALISED, INITIALISED = 0, 2


@dataclass
class Buffer:
    """One allocation: its bytes, and a shadow cell for each granule."""

    name: str
    data: NDArray[np.uint8]
    initialised: bool
    readonly: bool = False
    argument: int | None = None
    hot: NDArray[np.uint32] = field(init=False)
    cell: NDArray[np.uint8] = field(init=False)

    def shadow(self, shift: int) -> None:
        granules = (self.data.nbytes >> shift) + 2
        state = INITIALISED if self.initialised else UNINITIALISED
        self.hot = np.full(granules, state, np.uint32) if state else np.zeros(granules, np.uint32)
        self.cell = np.zeros(granules * CELL_BYTES, np.uint8)

    def unwritten(self, shift: int) -> NDArray[np.bool_]:
        """True for each byte that nothing ever wrote."""
        granule = self.hot[: (self.data.nbytes >> shift) + 1] == UNINITIALISED
        return np.repeat(granule, 1 << shift)[: self.data.nbytes]


def address_of(number: int) -> int:
    return GLOBAL_BASE + (number << SLOT_BITS) + SLOT_MIDDLE


def table(buffers: Sequence[Buffer]) -> NDArray[np.void]:
    """The core's Buffer array."""
    out = np.zeros(len(buffers) + 1, BUFFER)
    for k, b in enumerate(buffers):
        out[k] = (
            address_of(k),
            b.data.nbytes,
            b.data.ctypes.data,
            b.hot.ctypes.data,
            b.cell.ctypes.data,
            b.readonly,
            0,
        )
    return out


@dataclass(frozen=True)
class Placed:
    """A shared variable and its offset in the window; of a `dynamic` one the launch gives the
    bytes, perhaps none."""

    name: str
    offset: int
    bytes: int
    dynamic: bool = False


@dataclass(frozen=True)
class SharedWindow:
    """`bytes` of window, gaps included; `used` is what the hardware would count."""

    variables: tuple[Placed, ...]
    bytes: int
    used: int

    def initial(self, shift: int) -> NDArray[np.uint32]:
        """The stamp of each granule before the block starts: GAP or 0."""
        out = np.full((self.bytes >> shift) + 1, GAP, np.uint32)
        for v in self.variables:
            state = WRITTEN if v.name == RESERVED else 0
            out[v.offset >> shift : (v.offset + v.bytes + (1 << shift) - 1) >> shift] = state
        return out

    def offset(self, name: str) -> int | None:
        return next((v.offset for v in self.variables if v.name == name), None)

    def at(self, offset: int) -> Placed | None:
        """The variable that holds this offset, the last one before it, or else the first one."""
        held = [v for v in self.variables if v.bytes or v.dynamic]
        before = [v for v in held if v.offset <= offset]
        first = min(held, key=lambda v: v.offset, default=None)
        return max(before, key=lambda v: v.offset, default=first)


def shared_window(
    static: Sequence[Variable], dynamic: Sequence[Variable], dynamic_bytes: int
) -> SharedWindow:
    """Static variables in turn with gaps, then the dynamic array that all extern names share."""
    placed, end, used = [], FENCE, 0
    for v in static:
        end = _up(end, max(v.align, 16))
        placed.append(Placed(v.name, end, v.bytes))
        used = _up(used, v.align) + v.bytes
        end = _up(end + v.bytes, FENCE) + FENCE
    end = _up(end, max([16, *(v.align for v in dynamic)]))
    placed += [Placed(v.name, end, dynamic_bytes, dynamic=True) for v in dynamic]
    return SharedWindow(
        tuple(placed), _up(end + dynamic_bytes, FENCE) + FENCE, _up(used, 16) + dynamic_bytes
    )


def _up(x: int, align: int) -> int:
    return (x + align - 1) // align * align


def module_buffer(v: Variable, content: bytes | None, resolve: Callable[[str], int]) -> Buffer:
    """A `__device__` or `__constant__` variable as a buffer, with its initial bytes."""
    data = np.zeros(max(v.bytes, 1), np.uint8)
    start = v.init if content is None else content
    data[: len(start)] = np.frombuffer(start, np.uint8)
    if content is None:
        for at, name, add in v.relocations:
            pointer = (resolve(name) + add).to_bytes(8, "little")
            if at + 8 > data.nbytes:
                raise PtxError(f"the initialiser of {v.name} is longer than it")
            data[at : at + 8] = np.frombuffer(pointer, np.uint8)
    return Buffer(v.name, data, True, readonly=v.space == "const")
