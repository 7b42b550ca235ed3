"""Run a decoded kernel on the C core: raw reports, counters and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.faults import MachineFault
from grader.launch import Array, Launch, Texture
from grader.simulator.core import bindings as c
from grader.simulator.core.memory import (
    PARAMETER_ROOM,
    Buffer,
    Loaded,
    Loader,
    SharedWindow,
    buffer_table,
)
from grader.simulator.decode.control_flow import Block, Call
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.memory import GLOBAL, HAS_NONCOHERENT, SHARED
from grader.simulator.decode.module import Image
from grader.simulator.ptx.model import Module


@dataclass(frozen=True)
class ImageArrays:
    """An image as the arrays of core.h's Launch."""

    insns: NDArray[np.void]
    blocks: NDArray[np.void]
    functions: NDArray[np.void]
    calls: NDArray[np.void]
    copies: NDArray[np.void]
    tables: NDArray[np.uint32]
    loops: NDArray[np.void]
    states: NDArray[np.void]


def encode_image(image: Image, core: c.Core) -> ImageArrays:
    """Encode an image for the core, with instructions bound to its functions."""
    return _Encoder(image, core).arrays()


class _Encoder:
    """Collects the rows of the arrays."""

    def __init__(self, image: Image, core: c.Core) -> None:
        self.core = core
        self.insns: list[tuple[int, ...]] = []
        self.blocks: list[tuple[int, ...]] = []
        self.functions: list[tuple[int, ...]] = []
        self.calls: list[tuple[int, ...]] = []
        self.copies: list[tuple[int, int, int]] = []
        self.tables: list[int] = []
        self.loops: list[tuple[int, ...]] = []
        self.states: list[tuple[int, int]] = []
        self.numbers = {f.name: k for k, f in enumerate(image.functions)}
        for f in image.functions:
            sizes = (len(self.blocks), len(f.blocks), f.registers, f.local, f.params)
            self.functions.append(sizes)
            base, before = len(self.blocks), len(self.loops)
            for block in f.blocks:
                self.add(block, before)
            for loop in f.loops:
                outer = loop.outer and loop.outer + before
                where = (base + loop.first, base + loop.last, outer, loop.pc)
                self.loops.append((*where, len(self.states), len(loop.state)))
                self.states += loop.state

    def add(self, block: Block, loops: int) -> None:
        """Append a basic block of a function before which there are so many loops."""
        first, end, index = len(self.insns), block.end, 0
        self.insns += [encode_insn(insn, self.core) for insn in block.insns]
        if end.table:
            index = len(self.tables)
            self.tables += block.table
        if end.call is not None:
            index = self.call(end.call)
        where = (first, len(self.insns), end.kind, block.next, block.target)
        operands = (end.a, end.b, end.c, end.d)
        guard = (end.guard, end.negate, max(end.pc, 0))
        self.blocks.append(
            (
                *where,
                *guard,
                *operands,
                index,
                end.flag,
                block.steps,
                block.loop and block.loop + loops,
            )
        )

    def call(self, call: Call) -> int:
        """Append a call site; return its number."""
        into = len(self.copies)
        self.copies += call.inputs
        back = len(self.copies)
        self.copies += call.outputs
        callee = 0 if call.callee is None else self.numbers[call.callee]
        copies = (into, len(call.inputs), back, len(call.outputs))
        self.calls.append((callee, call.callee is None, call.needs, *copies, call.library))
        return len(self.calls) - 1

    def arrays(self) -> ImageArrays:
        """The collected rows; no array is empty."""
        return ImageArrays(
            np.array(self.insns, c.INSN) if self.insns else np.zeros(1, c.INSN),
            np.array(self.blocks, c.BLOCK),
            np.array(self.functions, c.FUNCTION),
            np.array([*self.calls, (0,) * 8], c.CALL),
            np.array([*self.copies, (0, 0, 0)], c.COPY),
            np.array([*self.tables, 0], np.uint32),
            np.array([*self.loops, (0,) * 6], c.LOOP),
            np.array([*self.states, (0, 0)], c.STATE),
        )


def encode_insn(insn: Insn, core: c.Core) -> tuple[int, ...]:
    """Encode an instruction as core.h's Insn. Raises MachineFault."""
    imm = insn.imm if not insn.inner else core.address(insn.inner) or 0
    at = core.address(insn.exec)
    if at is None:
        raise MachineFault(
            f"{core.path.name} was built from other sources: it has no {insn.exec}",
            fix="Build it again: make clean, then make demo.",
        )
    return (
        at,
        insn.d,
        insn.a,
        insn.b,
        insn.c,
        insn.e,
        insn.guard,
        insn.negate,
        insn.used,
        insn.pc,
        imm,
        insn.size,
        insn.count,
        insn.space,
        insn.width,
        insn.flag,
        insn.mode,
    )


LOCAL_LIMIT = 512 << 10
"""The most local memory of a thread in bytes, the limit of the hardware."""

PRINTED = 64 << 10
"""The bytes of a launch's printf text that are kept."""

HEAP_LIMIT = 8 << 20
"""The bytes of the device's heap: the default of cudaLimitMallocHeapSize."""


@dataclass(frozen=True)
class Limits:
    """What one run may take, and what it records.

    Attributes:
        steps: warp instructions that a block may execute.
        seconds: processor time of each thread in the launch.
        threads: threads of the CPU.
        garbage: what is added to the values that lanes read from lanes which do not provide one.
        schedule: the number of an order of blocks and warps; 0 is the usual one.
        trace: accesses to record.
        only_stores: whether to record only stores to global memory.
        trace_sync: whether to record fences and barriers, too.
        blocks: the numbers of the blocks to run; empty for all.
        stop_at_error: whether the first error ends the run.
        measures: what to measure of the work of a counted run: bindings.COUNT_FOREIGN and
            COUNT_DISTINCT, 0 for the instructions of threads alone; None measures nothing.
    """

    steps: int = 400_000_000
    seconds: float = 20.0
    threads: int = 1
    garbage: int = 0
    schedule: int = 0
    trace: int = 0
    only_stores: bool = False
    trace_sync: bool = False
    blocks: tuple[int, ...] = ()
    stop_at_error: bool = False
    measures: int | None = None


@dataclass(frozen=True)
class Raw:
    """The result of one run; `ended` is False when the launch was aborted."""

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
    work: NDArray[np.void] | None = None


class Results:
    """The arrays that one run of the core fills in. Of the last three it says how far they are."""

    def __init__(self, instructions: int, blocks: int, trace: int) -> None:
        self.counters = np.zeros(instructions, c.COUNTER)
        self.visits = np.zeros((2, blocks + 1), np.uint64)
        self.work = np.zeros(1, c.WORK)
        self.reports = np.empty(c.REPORTS, c.REPORT)
        self.accesses = np.empty(trace, c.ACCESS)
        self.printed = np.empty(PRINTED, np.uint8)


def texel_bytes(launch: Launch) -> Iterator[int]:
    """The bytes of the texels whose shadow matters; 4, too, which a granule has at most.

    It does where they may be written, or start without values.
    """
    yield 4
    drawn = {a.array for a in launch.args if isinstance(a, Texture) and a.surface}
    drawn.update(range(len(launch.parameters)))
    for one in launch.args:
        array = launch.args[one.array] if isinstance(one, Texture) else None
        if not isinstance(one, Texture) or not isinstance(array, Array):
            continue
        if one.array in drawn or array.data is None or array.initialized is not None:
            yield one.channels * np.dtype(array.dtype).itemsize


class Machine:
    """A module and one of its kernels, decoded once for any number of launches."""

    def __init__(self, module: Module, image: Image) -> None:
        self.image, self.core = image, c.core()
        self.fetches = any(op.startswith(("tex.", "tld4.")) for op in image.ops)
        self.arrays = encode_image(image, self.core)
        self.loader = Loader(module, image, self.shift(SHARED))

    def with_code(self, insns: NDArray[np.void], blocks: NDArray[np.void]) -> Machine:
        """The same kernel with other instructions and basic blocks, as many as it has."""
        other = copy(self)
        other.arrays = replace(self.arrays, insns=insns, blocks=blocks)
        return other

    def shift(self, space: int, launch: Launch | None = None) -> int:
        """The binary logarithm of a granule's bytes in a state space.

        Args:
            space: the state space.
            launch: the launch, for global memory: texture fetches read parts as small as a texel.
        """
        smallest = self.image.smallest.get(space, 4)
        if self.fetches and launch is not None:
            smallest = min(smallest, *texel_bytes(launch))
        return {1: 0, 2: 1}.get(smallest, 2)

    def run(self, launch: Launch, limits: Limits, count: bool, memory: Loaded | None = None) -> Raw:
        """Run one launch.

        Args:
            launch: the launch.
            limits: what the run may take.
            count: whether to count.
            memory: the prepared memory of the launch, for repeated runs.

        Raises MachineFault when memory runs out, and PtxError when the code cannot be launched.
        """
        image = self.image
        in_order = image.may_wait or image.exact or bool(image.runtime - {"__assertfail"})
        in_order = in_order or bool(image.sync & HAS_NONCOHERENT)
        in_order = in_order or bool(limits.schedule or limits.trace or limits.stop_at_error)
        raw = self._attempt(launch, limits, count, memory, ordered=in_order)
        if raw is None:
            raw = self._attempt(launch, limits, count, memory, ordered=True)
        assert raw is not None
        return raw

    def _attempt(
        self, launch: Launch, limits: Limits, count: bool, memory: Loaded | None, *, ordered: bool
    ) -> Raw | None:
        loaded = memory or self.loader.load(launch)
        buffers = [b.copy() for b in loaded.buffers] if memory else loaded.buffers
        shift = self.shift(GLOBAL, launch)
        for b in buffers:
            b.shadow(shift)
        counted = len(self.image.ops) + 1 if count else 0
        results = Results(counted, len(self.arrays.blocks), limits.trace)
        table, chosen = buffer_table(buffers), np.array(limits.blocks, np.uint64)
        n = c.CLaunch.from_buffer_copy(self.image_terms)
        _set_terms(n, launch, limits)
        _set_memory(n, loaded, table)
        _set_results(n, results)
        n.insn, n.block = self.arrays.insns.ctypes.data, self.arrays.blocks.ctypes.data
        n.chosen = chosen.ctypes.data if chosen.size else None
        n.global_shift, n.ordered = shift, ordered
        if count and limits.measures is not None:
            n.work = results.work.ctypes.data
        status = self.core.run(n)
        if status == c.AGAIN:
            return None
        if status == c.NO_MEMORY:
            # Whether the kernel or the machine is the cause depends on the limit of the process.
            raise MemoryError("the simulator ran out of memory")
        return Raw(
            status == c.ENDED,
            results.reports[: n.nreports],
            n.lost,
            results.counters if count else None,
            results.visits[0],
            results.visits[1],
            tuple(buffers),
            loaded.window,
            shift,
            n.steps,
            _text(results.printed, n.printed_bytes),
            results.accesses[: n.traced] if limits.trace else None,
            n.traced,
            results.work if n.work else None,
        )

    @cached_property
    def image_terms(self) -> c.CLaunch:
        """What all launches have in common: the image without `insns` and `blocks`.

        Those are set for each run, because a search runs many changes of them.
        """
        image, arrays = self.image, self.arrays
        return c.CLaunch(
            function=arrays.functions.ctypes.data,
            call=arrays.calls.ctypes.data,
            copy=arrays.copies.ctypes.data,
            table=arrays.tables.ctypes.data,
            loop=arrays.loops.ctypes.data,
            state=arrays.states.ctypes.data,
            entry=0,
            shared_shift=self.shift(SHARED),
            may_wait=image.may_wait,
            exact=image.exact,
            sync=image.sync,
            local_limit=LOCAL_LIMIT,
            insns=len(image.ops),
            blocks=len(arrays.blocks),
            functions=len(arrays.functions),
            printed_room=PRINTED,
            heap_limit=HEAP_LIMIT if {"malloc", "free"} & image.runtime else 0,
        )


def _set_terms(n: c.CLaunch, launch: Launch, limits: Limits) -> None:
    """Set the extents of a launch, and what it may take."""
    n.grid[:], n.dim[:] = launch.grid, launch.block
    n.block_count = len(limits.blocks) or prod(launch.grid)
    n.threads, n.garbage, n.schedule = limits.threads, limits.garbage, limits.schedule
    n.trace_room, n.trace_sync = limits.trace, limits.trace_sync
    n.stops_at_error, n.only_stores = limits.stop_at_error, limits.only_stores
    n.measures = limits.measures or 0
    n.step_limit, n.time_limit = limits.steps, limits.seconds


def _set_memory(n: c.CLaunch, loaded: Loaded, table: NDArray[np.void]) -> None:
    """Set the memory of a launch, whose buffers are in `table`; the caller keeps all alive."""
    n.shared_bytes, n.dynamic_start = loaded.window.bytes, loaded.window.dynamic_start
    n.buffer, n.buffers = table.ctypes.data, len(table) - 1
    n.image, n.images = loaded.images.ctypes.data, len(loaded.images) - 1
    n.params, n.param_bytes = loaded.params.ctypes.data, len(loaded.params) - PARAMETER_ROOM
    n.constants, n.constant_bytes = loaded.bank.ctypes.data, loaded.bank.nbytes
    n.shared_init = loaded.shared.ctypes.data


def _set_results(n: c.CLaunch, results: Results) -> None:
    """Set where the results are written; the caller keeps them alive."""
    n.reports, n.printed = results.reports.ctypes.data, results.printed.ctypes.data
    n.visits, n.visit_lanes = (row.ctypes.data for row in results.visits)
    n.counter = results.counters.ctypes.data if results.counters.size else None
    n.trace = results.accesses.ctypes.data if results.accesses.size else None


def _text(printed: NDArray[np.uint8], size: int) -> str:
    text = printed[: min(size, PRINTED)].tobytes().decode(errors="replace")
    if size <= PRINTED:
        return text
    return f"{text}\n[printf: only the first {PRINTED >> 10} KiB are kept]\n"
