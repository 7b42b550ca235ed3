"""Prepare the memory of a launch: buffers with their shadow, parameters, constants, shared window.

Every buffer has a slot of 64 GiB of addresses and starts in its middle; shared variables have gaps
between them. An address out of bounds is thus never in another variable, and shows whose it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.compile.launch_limits import wider_dtype
from grader.faults import LabFault
from grader.launch import Array, Launch, Packed, Scalar
from grader.simulator.core import bindings as c
from grader.simulator.core.bindings import BUFFER, CELL_BYTES
from grader.simulator.core.encode import address_of, texture_table
from grader.simulator.decode.memory import parameter_value
from grader.simulator.decode.module import Image
from grader.simulator.decode.operands import Constant, OperandError
from grader.simulator.decode.stack import local_variables
from grader.simulator.ptx.debug_types import OF_MEMBER, OF_NUMBER
from grader.simulator.ptx.model import Module, PtxError, Variable, plain_name

GAP, WRITTEN = 1, 2
FENCE = 256
"""Bytes between shared variables; a multiple of all banks, so that bank numbers stay."""

POISON = 0xA5
"""The byte that fills an uninitialized buffer."""

GRID_BARRIER = "the grid's barrier"
"""The buffer in which the blocks of a cooperative launch wait for each other."""

GRID_REGISTERS = ("%envreg1", "%envreg2")
"""The upper and the lower half of that buffer's address; 0 in any other launch."""

RESERVED = "%reserved_smem"
RESERVED_BYTES = 1024
"""Bytes of shared memory that the system reserves in a block; cooperative groups use them."""

UNINITIALIZED, INPUT, INITIALIZED = range(3)


@dataclass
class Buffer:
    """An allocation in global memory with a shadow cell for each granule.

    A granule of which some bytes have values counts as initialized.

    Attributes:
        name: the argument's name or the variable's symbol.
        data: its bytes.
        initialized: whether all of it has values before the launch.
        partly: a mask of the bytes that have values, where only some do.
        readonly: whether it is constant memory.
        argument: the index of the launch's argument; None for a variable.
        members: of an argument: what the bytes of an element belong to: see `pointed_to`.
        input: whether a run is presumed to leave it as it is: reads of it need no watch.
        hot, cell: the shadow: see core.h's Buffer.
    """

    name: str
    data: NDArray[np.uint8]
    initialized: bool
    readonly: bool = False
    argument: int | None = None
    partly: NDArray[np.bool_] | None = None
    members: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    input: bool = False
    hot: NDArray[np.uint32] = field(init=False)
    cell: NDArray[np.uint8] = field(init=False)

    def shadow(self, shift: int) -> None:
        """Allocate the shadow for granules of 2^shift bytes."""
        granules = (self.data.nbytes >> shift) + 2
        state = (INPUT if self.input else INITIALIZED) if self.initialized else UNINITIALIZED
        self.hot = np.full(granules, state, np.uint32) if state else np.zeros(granules, np.uint32)
        if self.partly is not None:
            self.hot[np.flatnonzero(self.partly) >> shift] = INITIALIZED
        self.cell = np.zeros(granules * CELL_BYTES, np.uint8)

    def copy(self) -> Buffer:
        """A copy for another run, without a shadow."""
        terms = self.initialized, self.readonly, self.argument, self.partly, self.members
        return Buffer(self.name, self.data.copy(), *terms)

    def unwritten(self, shift: int) -> NDArray[np.bool_]:
        """A mask of the bytes that were never written, for granules of 2^shift bytes."""
        granule = self.hot[: (self.data.nbytes >> shift) + 1] == UNINITIALIZED
        return np.repeat(granule, 1 << shift)[: self.data.nbytes]


def buffer_table(buffers: Sequence[Buffer]) -> NDArray[np.void]:
    """The array of core.h's Buffers, with one more row than there are."""
    rows: list[tuple[int, ...]] = []
    for k, b in enumerate(buffers):
        places = (x.ctypes.data for x in (b.data, b.hot, b.cell))
        members = b.members.ctypes.data, b.members.size
        rows.append((address_of(k), b.data.nbytes, *places, b.readonly, 0, 0, b.input, *members))
    return np.array([*rows, (0,) * 11], BUFFER)


@dataclass(frozen=True)
class Placed:
    """A shared variable and its offset in the window; the launch sets the size of a dynamic one."""

    name: str
    offset: int
    bytes: int
    dynamic: bool = False


@dataclass(frozen=True)
class SharedWindow:
    """The shared memory of a block.

    Attributes:
        variables: the shared variables.
        bytes: the size of the window with its gaps.
        used: the size that the hardware would count.
    """

    variables: tuple[Placed, ...]
    bytes: int
    used: int

    def initial(self, shift: int) -> NDArray[np.uint32]:
        """The state of each granule of 2^shift bytes before the block starts: GAP, WRITTEN or 0."""
        out = np.full((self.bytes >> shift) + 1, GAP, np.uint32)
        for v in self.variables:
            state = WRITTEN if v.name == RESERVED else 0
            out[v.offset >> shift : (v.offset + v.bytes + (1 << shift) - 1) >> shift] = state
        return out

    @property
    def dynamic_start(self) -> int:
        """The offset of the dynamic array; the window's size when there is none."""
        return next((v.offset for v in self.variables if v.dynamic), self.bytes)

    def offset(self, name: str) -> int | None:
        """The offset of a variable; None when there is none of this name."""
        return next((v.offset for v in self.variables if v.name == name), None)

    def at(self, offset: int) -> Placed | None:
        """The last variable that starts at this offset or before it; else the first one."""
        variables = [v for v in self.variables if (v.bytes or v.dynamic) and v.name != RESERVED]
        before = [v for v in variables if v.offset <= offset]
        first = min(variables, key=lambda v: v.offset, default=None)
        return max(before, key=lambda v: v.offset, default=first)


def shared_window(
    static: Sequence[Variable], dynamic: Sequence[Variable], dynamic_bytes: int
) -> SharedWindow:
    """Place the static variables with gaps, then the dynamic array that all extern names share."""
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
    """Make a buffer of a `__device__` or `__constant__` variable. Raises PtxError."""
    data = np.zeros(max(v.bytes, 1), np.uint8)
    start = v.init if content is None else content
    data[: len(start)] = np.frombuffer(start, np.uint8)
    if content is None:
        for at, name, add in v.relocations:
            pointer = ((resolve(name) + add) % (1 << 64)).to_bytes(8, "little")
            if at + 8 > data.nbytes:
                raise PtxError(f"the initializer of {v.name} is longer than the variable")
            data[at : at + 8] = np.frombuffer(pointer, np.uint8)
    return Buffer(v.name, data, True, readonly=v.space == "const")


PARAMETER_ROOM = 64
"""Bytes behind the parameters, which the core may read."""

NOWHERE = 1 << 31
"""The number of a function that does not exist; a call of it traps."""

MAX_SHARED = 1 << 20
"""The most shared memory of a block in bytes, several times that of any device. The limit of the
launch's own device is checked before."""


@dataclass(frozen=True)
class Loaded:
    """The memory of one launch; a run changes the buffers alone.

    `shared` has the state of each granule of the window, `params` PARAMETER_ROOM bytes more than
    the parameters, `bank` the constants with the launch's values, `images` the objects.
    """

    window: SharedWindow
    buffers: list[Buffer]
    shared: NDArray[np.uint32]
    params: NDArray[np.uint8]
    bank: NDArray[np.uint8]
    images: NDArray[np.void]


class Loader:
    """Places the variables of a module, in the same way for every launch."""

    def __init__(self, module: Module, image: Image, shared_shift: int) -> None:
        self.module, self.image, self.shared_shift = module, image, shared_shift
        names = [f.name for f in image.functions]
        self.kernel = module.functions[names[0]]
        inside = [v for f in module.functions.values() for v in f.variables if v.space == "shared"]
        shared = [*(v for v in module.variables if v.space == "shared"), *inside]
        self.static = [v for v in shared if not v.extern]
        self.dynamic = [v for v in shared if v.extern]
        if any(str(k[2]).startswith(RESERVED) for k in image.constants.places):
            self.static.append(Variable(RESERVED, "shared", 16, RESERVED_BYTES))
        self.globals = [v for v in module.variables if v.space in ("global", "const")]
        local = (v for f in module.functions.values() for v in f.variables)
        self.globals += [v for v in local if v.space in ("global", "const")]
        variables = None if image.shadowed is None else local_variables(module.sections)
        self.pointed_to = variables.pointed_to(*names, source=module.source) if variables else []
        self.named = self._named()
        self.unnamed = [(v, "") for v in self.globals if v.name in self.named]
        self.functions = {
            f.name: c.FUNCTION_BASE + k * c.FUNCTION_BYTES for k, f in enumerate(image.functions)
        }

    def _named(self) -> frozenset[str]:
        """The symbols that the kernel and the variables that it names have."""
        held = {v.name: [to for _, to, _ in v.relocations] for v in self.globals if v.relocations}
        left = [str(name) for kind, _, name, _ in self.image.constants.places if kind == "symbol"]
        found: set[str] = set()
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += held.get(name, ())
        return frozenset(found)

    def _placed(self, launch: Launch) -> list[tuple[Variable, str]]:
        """The variables that need a buffer, with the names that the launch may give them.

        The C++ library declares a thousand, of which a kernel names a few: with all of them, a
        fifth of the time of most runs was for their buffers.
        """
        if not launch.globals:
            return self.unnamed
        names = [plain_name(v.name) for v in self.globals]
        for name in launch.globals:
            if name not in names:
                missing = f"the kernel's file has no __constant__ or __device__ variable `{name}`"
                raise LabFault(missing)
        pairs = zip(self.globals, names, strict=True)
        return [(v, name) for v, name in pairs if v.name in self.named or name in launch.globals]

    def load(self, launch: Launch) -> Loaded:
        """Prepare the memory of a launch.

        Raises PtxError when a constant has no value or a block has too much shared memory, and
        LabFault for `globals` that do not match the kernel's file.
        """
        window = shared_window(self.static, self.dynamic, launch.shared)
        if window.used > MAX_SHARED:
            raise PtxError(
                f"a block has {window.used} bytes of shared memory, more than any device"
            )
        buffers, pointers = self._buffers(launch)
        images = texture_table(launch, pointers)
        params = self._parameters(launch, pointers)
        places = {b.name: address_of(n) for n, b in enumerate(buffers) if b.argument is None}
        places |= {name: c.LOCAL_START + at for name, at in self.image.local_places.items()}
        places |= {v.name: v.offset for v in reversed(window.variables)}
        try:
            bank = self.image.constants.fill(
                lambda k: self._value(k, launch, window, places, params)
            )
        except OperandError as error:
            raise PtxError(str(error)) from error
        room = np.frombuffer(params + bytes(PARAMETER_ROOM), np.uint8)
        return Loaded(window, buffers, window.initial(self.shared_shift), room, bank, images)

    def _buffers(self, launch: Launch) -> tuple[list[Buffer], dict[int, int]]:
        buffers: list[Buffer] = []
        pointers: dict[int, int] = {}
        for index, argument in enumerate(launch.args):
            if isinstance(argument, Array):
                pointers[index] = address_of(len(buffers))
                known = self.pointed_to[index] if index < len(self.pointed_to) else []
                buffers.append(_argument_buffer(index, argument, known or [True]))
        placed = self._placed(launch)
        places = {v.name: address_of(len(buffers) + k) for k, (v, _) in enumerate(placed)}
        for v, name in placed:
            content = launch.globals.get(name)
            if content is not None and content.nbytes != v.bytes:
                raise LabFault(
                    f"`{name}` has {v.bytes} bytes, but the array for it has {content.nbytes} bytes"
                )
            data = None if content is None else np.ascontiguousarray(content).tobytes()
            buffers.append(module_buffer(v, data, lambda name: self._symbol(name, places)))
        if launch.cooperative:
            buffers.append(Buffer(GRID_BARRIER, np.zeros(16, np.uint8), True))
        return buffers, pointers

    def _symbol(self, name: str, places: Mapping[str, int]) -> int:
        if name in places:
            return places[name]
        if name in self.functions:
            return self.functions[name]
        if name in self.module.functions:  # this kernel cannot reach it
            return c.FUNCTION_BASE + NOWHERE * c.FUNCTION_BYTES
        raise PtxError(f"no variable or function {name}")

    def _parameters(self, launch: Launch, pointers: Mapping[int, int]) -> bytes:
        out = bytearray()
        given = launch.parameters
        for index, v in enumerate(self.kernel.parameters):
            out += bytes(-len(out) % max(v.align, 1))
            argument = given[index] if index < len(given) else None
            if isinstance(argument, Scalar):
                data = np.array(argument.value, wider_dtype(argument.dtype, v.bytes)).tobytes()
            elif isinstance(argument, Packed):
                data = argument.with_addresses(pointers)
            else:
                data = pointers.get(index, 0).to_bytes(8, "little")
            out += data[: v.bytes].ljust(v.bytes, b"\0")
        return bytes(out)

    def _value(
        self,
        k: Constant,
        launch: Launch,
        window: SharedWindow,
        places: Mapping[str, int],
        params: bytes,
    ) -> int:
        what, _, name, add = k
        if what == "bits":
            assert isinstance(name, int)
            return name
        if what == "launch":
            if name in GRID_REGISTERS:
                at = places.get(GRID_BARRIER, 0)
                return at >> 32 if name == GRID_REGISTERS[0] else at & 0xFFFFFFFF
            return _special(str(name), launch, window)
        if what.startswith("param"):
            return parameter_value(params, what, add)
        return self._symbol(str(name), places) + add


def _special(name: str, launch: Launch, window: SharedWindow) -> int:
    register, _, axis = name[1:].partition(".")
    if axis:
        sizes = launch.block if register == "ntid" else launch.grid
        return sizes["xyz".index(axis)]
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    reserved = window.offset(RESERVED) or 0
    values = {
        "nwarpid": (threads + 31) // 32,
        "nsmid": 1,
        "dynamic_smem_size": launch.shared,
        "total_smem_size": window.used,
        "ARP_SZ": 32,
        "cluster_nctarank": 1,
        **{f"reserved_smem_offset_{k}": reserved for k in ("begin", "0", "1")},
        "reserved_smem_offset_end": reserved + RESERVED_BYTES,
        "reserved_smem_offset_cap": RESERVED_BYTES,
    }
    return values.get(register, 0)


def _argument_buffer(index: int, argument: Array, members: list[int]) -> Buffer:
    undefined = argument.undefined_bytes()
    data = np.full(argument.nbytes, POISON, np.uint8)
    if argument.data is not None:
        data = np.ascontiguousarray(argument.data, argument.dtype).reshape(-1).view(np.uint8).copy()
        data[undefined] = POISON
    initialized = argument.data is not None and argument.initialized is None
    partly = None if initialized or argument.data is None else ~undefined
    own = np.array(members, np.uint8).clip(max=OF_NUMBER if argument.read_back else OF_MEMBER)
    return Buffer(argument.name, data, initialized, False, index, partly, own)
