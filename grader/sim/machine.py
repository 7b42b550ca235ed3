"""Runs one decoded kernel with one launch on the C core: raw reports, counters and outputs."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.fault import LabFault, MachineFault
from grader.launch import Array, Launch
from grader.sim import core as c
from grader.sim.access import GLOBAL, SHARED, parameter_value
from grader.sim.decode import Image
from grader.sim.flatten import flatten
from grader.sim.layout import (
    POISON,
    RESERVED,
    RESERVED_BYTES,
    Buffer,
    SharedWindow,
    address_of,
    module_buffer,
    shared_window,
    table,
)
from grader.sim.names import plain_name
from grader.sim.operands import Constant, OperandError
from grader.sim.ptx import Module, PtxError, Variable

NOWHERE = 1 << 31
"""The number of a function that is not there: a call of it traps."""

LOCAL_LIMIT = 512 << 10
"""Bytes of local memory a thread may have, the hardware's limit."""

PRINTED = 64 << 10
"""Bytes of a launch's printf text that are kept."""

HEAP_LIMIT = 8 << 20
"""Bytes that device malloc has to give: cudaLimitMallocHeapSize unless a program sets it."""


@dataclass(frozen=True)
class Limits:
    """`steps`: warp instructions a block may execute; `seconds`: wall clock of the launch;
    `schedule`: which legal order of blocks and warps; `trace`: how many accesses to write down."""

    steps: int = 400_000_000
    seconds: float = 20.0
    threads: int = 1
    schedule: int = 0
    trace: int = 0


@dataclass(frozen=True)
class Raw:
    """What the core reported. `ended` is False when the launch was aborted."""

    ended: bool
    reports: NDArray[np.void]
    lost: int
    counters: NDArray[np.void] | None
    visits: NDArray[np.uint64]
    visit_lanes: NDArray[np.uint64]
    buffers: tuple[Buffer, ...]
    shared: SharedWindow
    global_shift: int
    steps: int
    printed: str = ""
    accesses: NDArray[np.void] | None = None
    traced: int = 0


class Machine:
    """A module and one of its kernels, decoded once for any number of launches."""

    def __init__(self, module: Module, image: Image) -> None:
        self.module, self.image, self.core = module, image, c.core()
        self.arrays = flatten(image, self.core)
        kernel = module.functions[image.functions[0].name]
        inside = [v for f in module.functions.values() for v in f.variables if v.space == "shared"]
        shared = [*(v for v in module.variables if v.space == "shared"), *inside]
        self.static = [v for v in shared if not v.extern]
        self.dynamic = [v for v in shared if v.extern]
        if any(str(k[2]).startswith(RESERVED) for k in image.constants.places):
            self.static.append(Variable(RESERVED, "shared", 16, RESERVED_BYTES))
        self.globals = [v for v in module.variables if v.space in ("global", "const")]
        self.globals += [
            v
            for f in module.functions.values()
            for v in f.variables
            if v.space in ("global", "const")
        ]
        self.kernel = kernel

    def shift(self, space: int) -> int:
        return {1: 0, 2: 1}.get(self.image.smallest.get(space, 4), 2)

    def run(self, launch: Launch, limits: Limits, count: bool) -> Raw:
        """Raises MachineFault when memory runs out, PtxError when the code cannot be launched."""
        image = self.image
        in_order = image.waits or image.finer or bool(image.runtime - {"__assertfail"})
        in_order = in_order or bool(limits.schedule or limits.trace)
        raw = self._attempt(launch, limits, count, ordered=in_order)
        if raw is None:
            raw = self._attempt(launch, limits, count, ordered=True)
        assert raw is not None
        return raw

    def _attempt(self, launch: Launch, limits: Limits, count: bool, *, ordered: bool) -> Raw | None:
        window = shared_window(self.static, self.dynamic, launch.shared)
        buffers, pointers = self._buffers(launch)
        params = self._parameters(launch, pointers)
        try:
            bank = self.image.constants.fill(
                lambda k: self._value(k, launch, window, buffers, params)
            )
        except OperandError as error:
            raise PtxError(str(error)) from error
        for b in buffers:
            b.shadow(self.shift(GLOBAL))
        counters = np.zeros(len(self.image.ops) + 1, c.COUNTER)
        visits = np.zeros((2, len(self.arrays.blocks) + 1), np.uint64)
        reports = np.zeros(c.REPORTS, c.REPORT)
        rows, initial = table(buffers), window.initial(self.shift(SHARED))
        n = c.CLaunch(
            entry=0,
            shared_bytes=window.bytes,
            shared_shift=self.shift(SHARED),
            global_shift=self.shift(GLOBAL),
            threads=limits.threads,
            schedule=limits.schedule,
            trace_room=limits.trace,
            ordered=ordered,
            may_wait=self.image.waits,
            exact=self.image.finer,
            local_limit=LOCAL_LIMIT,
            step_limit=limits.steps,
            wall_limit=limits.seconds,
            block_count=launch.grid[0] * launch.grid[1] * launch.grid[2],
            grid=(ctypes.c_uint32 * 3)(*launch.grid),
            dim=(ctypes.c_uint32 * 3)(*launch.block),
            insns=len(self.image.ops),
            blocks=len(self.arrays.blocks),
            functions=len(self.arrays.functions),
            buffers=len(buffers),
            param_bytes=len(params),
            constant_bytes=bank.nbytes,
        )
        held = np.frombuffer(params + bytes(64), np.uint8)
        for name, array in (
            ("insn", self.arrays.insns),
            ("block", self.arrays.blocks),
            ("copy", self.arrays.copies),
            ("function", self.arrays.functions),
            ("call", self.arrays.calls),
            ("params", held),
            ("table", self.arrays.tables),
            ("constants", bank),
            ("buffer", rows),
            ("shared_init", initial),
            ("reports", reports),
            ("visits", visits[0]),
            ("visit_lanes", visits[1]),
        ):
            setattr(n, name, array.ctypes.data)
        n.counter = counters.ctypes.data if count else None
        accesses = np.zeros(limits.trace, c.ACCESS)
        n.trace = accesses.ctypes.data if limits.trace else None
        printed = (ctypes.c_char * PRINTED)()
        n.printed, n.printed_room = ctypes.addressof(printed), PRINTED
        n.heap_limit = HEAP_LIMIT if {"malloc", "free"} & self.image.runtime else 0
        status = self.core.run(n)
        if status == c.AGAIN:
            return None
        if status == c.NO_MEMORY:
            raise MachineFault(
                "the simulator ran out of memory", mend="use a smaller launch, or a larger machine"
            )
        return Raw(
            status == c.ENDED,
            reports[: n.nreports],
            n.lost,
            counters if count else None,
            visits[0],
            visits[1],
            tuple(buffers),
            window,
            self.shift(GLOBAL),
            n.steps,
            _text(printed.raw, n.printed_bytes),
            accesses[: n.traced] if limits.trace else None,
            n.traced,
        )

    def _buffers(self, launch: Launch) -> tuple[list[Buffer], dict[int, int]]:
        buffers: list[Buffer] = []
        pointers: dict[int, int] = {}
        for index, argument in enumerate(launch.args):
            if isinstance(argument, Array):
                pointers[index] = address_of(len(buffers))
                buffers.append(_argument_buffer(index, argument))
        numbers = {v.name: len(buffers) + k for k, v in enumerate(self.globals)}
        given = {plain_name(v.name): v for v in self.globals}
        for name in launch.globals:
            if name not in given:
                raise LabFault(
                    f"the kernel's file has no __constant__ or __device__ variable `{name}`"
                )
        for v in self.globals:
            content = launch.globals.get(plain_name(v.name))
            if content is not None and content.nbytes != v.bytes:
                raise LabFault(
                    f"`{plain_name(v.name)}` has {v.bytes} bytes, "
                    f"the array given for it {content.nbytes}"
                )
            data = None if content is None else np.ascontiguousarray(content).tobytes()
            buffers.append(module_buffer(v, data, lambda name: self._symbol(name, numbers)))
        return buffers, pointers

    def _symbol(self, name: str, numbers: Mapping[str, int]) -> int:
        if name in numbers:
            return address_of(numbers[name])
        for k, f in enumerate(self.image.functions):
            if f.name == name:
                return c.FUNCTION_BASE + k
        if name in self.module.functions:
            return c.FUNCTION_BASE + NOWHERE  # of a function that this kernel cannot reach
        raise PtxError(f"no variable or function {name}")

    def _parameters(self, launch: Launch, pointers: Mapping[int, int]) -> bytes:
        out = bytearray()
        for index, v in enumerate(self.kernel.parameters):
            out += bytes(-len(out) % max(v.align, 1))
            if index < len(launch.args) and index not in pointers:
                argument = launch.args[index]
                assert not isinstance(argument, Array)
                data = np.array(argument.value, argument.dtype).tobytes()
                out += data[: v.bytes].ljust(v.bytes, b"\0")
            else:
                out += pointers.get(index, 0).to_bytes(8, "little")[: v.bytes].ljust(v.bytes, b"\0")
        return bytes(out)

    def _value(
        self,
        k: Constant,
        launch: Launch,
        window: SharedWindow,
        buffers: list[Buffer],
        params: bytes,
    ) -> int:
        what, _, name, add = k
        if what == "bits":
            assert isinstance(name, int)
            return name
        if what == "launch":
            return _special(str(name), launch, window)
        if what.startswith("param"):
            return parameter_value(params, what, add)
        if (offset := window.offset(str(name))) is not None:
            return offset + add
        if str(name) in self.image.local_places:
            return self.image.local_places[str(name)] + add
        return (
            self._symbol(
                str(name), {b.name: n for n, b in enumerate(buffers) if b.argument is None}
            )
            + add
        )


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


def _text(printed: bytes, size: int) -> str:
    text = printed[: min(size, PRINTED)].decode(errors="replace")
    if size <= PRINTED:
        return text
    return f"{text}\n[printf: only the first {PRINTED >> 10} KiB are kept]\n"


def _argument_buffer(index: int, argument: Array) -> Buffer:
    size = int(np.prod(argument.shape, dtype=np.int64)) * np.dtype(argument.dtype).itemsize
    if argument.data is None:
        return Buffer(argument.name, np.full(size, POISON, np.uint8), False, argument=index)
    data = np.ascontiguousarray(argument.data, argument.dtype).reshape(-1).view(np.uint8).copy()
    return Buffer(argument.name, data, True, argument=index)
