"""Run a decoded kernel on the C core: raw reports, counters and outputs."""

from __future__ import annotations

import time
from copy import copy
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, replace
from grader.launch import Array, Launch
from grader.simulator.core import bindings as c
from grader.simulator.core.encode import (
    PRINTED,
    REPRESENTATIVES,
    ProofArrays,
    Results,
    encode_image,
    encode_proof,
    lane_marks,
    marks,
    set_proof,
    texel_bytes,
)
from grader.simulator.core.memory import (
    PARAMETER_ROOM,
    Buffer,
    Loaded,
    Loader,
    SharedWindow,
    buffer_table,
)
from grader.simulator.decode.memory import GLOBAL, HAS_NONCOHERENT, SHARED
from grader.simulator.decode.module import Image
from grader.simulator.decode.proof import prove
from grader.simulator.ptx.model import Module

LOCAL_LIMIT = 512 << 10
"""The most local memory of a thread in bytes, the limit of the hardware."""

CYCLES, DEBUG_CYCLES = 16, 6
"""What an instruction takes in simulated time. The code of `-G` has more of them for the same work,
which a wait with a timeout must not end sooner for."""

HEAP_LIMIT = 8 << 20
"""The bytes of the device's heap: the default of cudaLimitMallocHeapSize."""

KEPT_BYTES = 1 << 16
"""The bytes of the arrays of a launch whose prepared memory is kept for more runs, at most."""


@dataclass(frozen=True)
class Limits:
    """What one run may take, and what it records.

    Attributes:
        steps, seconds: warp instructions that a block may execute, processor time of each thread.
        threads: threads of the CPU.
        garbage: what lanes that provide no value give others instead; 0: what their registers have.
        unset: what undefined bits that are used, or left in memory, have; None: what is there.
        schedule: the number of an order of blocks and warps; 0 is the usual one.
        trace: accesses to record.
        only_stores, only_strong: whether to record only stores to global memory; only strong
            accesses and atomics, or PLAIN_TOO, and to end where `trace` is too few.
        trace_sync: whether to record fences and barriers, too.
        blocks: the numbers of the blocks to run; empty for all.
        stop_at_error: whether the first error ends the run.
        measures: what to measure of a counted run: bindings.COUNT_..., 0 for instructions; or None.
        proof: whether it may be by proof; without counting, its findings hold, its outputs do not.
        stale: the program counters of strong loads that may give old values.
        gives_old: whether they give them; else those that may are only reported.
        pause: where the first warp waits until all others are done, wait, or change nothing.
        short_pause: whether it waits only until a warp ends after memory has changed.
        pause_changes: the pause ends when other warps have changed memory so often; 0: not so.
        pause_skips: how often warps, with `lane_order` lanes, come there before one of them waits.
        restored: how often a swap's place has again what it expects when the pause ends; 0: not so.
        pause_until, pause_behind: the pause ends when another warp has executed the first of these
            instructions, which stops; the warp pauses once more behind the second.
        hurries: whether time passes fast, while a warp pauses, for one that reads clocks.
        limited: the reads in loops that give up after some rounds.
        long_looks: the most looks, at these, for which warps keep their turns.
        old_pause: a warp pauses, again, once a load has given an old value, or would have where
            none are given: at once (1), or after its next fence (2).
        whole_turns: whether turns are as long as in the usual order, in another one too.
        lane_order: lanes of a warp run one after the other, from the first one (1) or from the last
            one (2), each until it waits or ends; 0: in lock step.
        first_wins: whether, of lanes that store to one place at once, the first one's value stays.
        lone: the basic blocks that this is so in; empty for all.
    """

    steps: int = 400_000_000
    seconds: float = 20.0
    threads: int = 1
    garbage: int = 0
    unset: int | None = None
    schedule: int = 0
    trace: int = 0
    only_stores: bool = False
    only_strong: int = 0
    trace_sync: bool = False
    blocks: tuple[int, ...] = ()
    stop_at_error: bool = False
    measures: int | None = None
    proof: bool = False
    stale: frozenset[int] = frozenset()
    gives_old: bool = False
    pause: int | None = None
    short_pause: bool = False
    pause_changes: int = 0
    pause_skips: int = 0
    pause_until: int | None = None
    pause_behind: int | None = None
    restored: int = 0
    hurries: bool = False
    limited: frozenset[int] = frozenset()
    long_looks: int = 0
    old_pause: int = 0
    whole_turns: bool = False
    lane_order: int = 0
    first_wins: bool = False
    lone: tuple[int, ...] = ()


LEAST_PROVEN = 1 << 13
"""The threads of a launch from which on a proof can save more time than it takes."""

PROVEN_STEPS = 1 << 22
"""The warp instructions of a block up to which it is proven: an endless loop is not run twice."""


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
    observed: int = 0


@dataclass(frozen=True)
class Prepared:
    """The arrays of a run and, in `terms`, their places; `others` are only kept alive."""

    loaded: Loaded
    buffers: list[Buffer]
    table: NDArray[np.void]
    results: Results
    terms: c.CLaunch
    others: tuple[NDArray[Any], ...]

    def result(self, n: c.CLaunch, status: int) -> Raw:
        """What a run left in the arrays; `n` has what it says besides. Raises MemoryError."""
        if status == c.NO_MEMORY:
            raise MemoryError("the simulator ran out of memory")  # or the process, by its limit
        results = self.results
        return Raw(
            status == c.ENDED,
            results.reports[: n.nreports],
            n.lost,
            results.counters if n.counter else None,
            results.visits[0],
            results.visits[1],
            tuple(self.buffers),
            self.loaded.window,
            n.global_shift,
            n.steps,
            results.text(n.printed_bytes),
            results.accesses[: n.traced] if n.trace_room else None,
            n.traced,
            results.work if n.work else None,
            n.observed,
        )


class Machine:
    """A module and one of its kernels, decoded once for any number of launches."""

    def __init__(self, module: Module, image: Image) -> None:
        self.image, self.core = image, c.core()
        self.fetches = any(op.startswith(("tex.", "tld4.")) for op in image.ops)
        self.arrays = encode_image(image, self.core)
        self.module, self.loader = module, Loader(module, image, self.shift(SHARED))
        self.written: set[int | None] | None = None  # by runs: the arguments
        self.changed: dict[object, tuple[object, Machine]] = {}  # see edited_code.py
        self.kept: tuple[Launch, Loaded] | None = None

    def with_code(self, insns: NDArray[np.void], blocks: NDArray[np.void]) -> Machine:
        """The same kernel with other instructions and basic blocks, as many as it has."""
        other = copy(self)
        other.__dict__["proof"] = None  # it is of the other code
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
        image, begun = self.image, time.thread_time()
        memory = memory or self._kept(launch)
        asked = limits.schedule or limits.trace or limits.stop_at_error or limits.lane_order
        needed = image.may_wait or image.exact or image.sync & HAS_NONCOHERENT
        calls, pauses = image.runtime - {"__assertfail"}, limits.pause is not None
        in_order = bool(asked or needed or calls or pauses)
        raw = None if in_order else self._proven(launch, limits, count, memory)
        if raw is None:
            left = limits.seconds - (time.thread_time() - begun)
            limits = replace(limits, seconds=max(left, limits.seconds / 2))
            raw = self._attempt(launch, limits, count, memory, ordered=in_order, leaps=True)
        raw = raw or self._attempt(launch, limits, count, memory, ordered=True)
        assert raw is not None
        return raw

    def _proven(
        self, launch: Launch, limits: Limits, count: bool, memory: Loaded | None
    ) -> Raw | None:
        """Run a launch by proof; None where that is not possible, or nothing is proven."""
        if (proof := self.proof_of(launch, limits, count)) is None:
            return None
        less = replace(limits, steps=min(limits.steps, PROVEN_STEPS), seconds=limits.seconds / 2)
        return self._attempt(launch, less, count, memory, ordered=False, proof=proof)

    def proof_of(self, launch: Launch, limits: Limits, count: bool) -> ProofArrays | None:
        """The code with which a launch runs by proof; None where it runs as usual."""
        if not limits.proof or limits.blocks or limits.garbage or limits.unset is not None:
            return None
        worth = prod(launch.grid) * prod(launch.block) >= LEAST_PROVEN
        if not worth or prod(launch.grid) <= REPRESENTATIVES or self.proof is None:
            return None
        own = self.proof
        return replace(own, reduced_insns=own.insns, reduced_blocks=own.blocks) if count else own

    @cached_property
    def proof(self) -> ProofArrays | None:
        """What launches by proof run; None where the kernel has no proof."""
        proof = prove(self.module, self.image)
        return None if proof is None else encode_proof(self.image, self.arrays, proof)

    def _attempt(
        self,
        launch: Launch,
        limits: Limits,
        count: bool,
        memory: Loaded | None,
        *,
        ordered: bool,
        leaps: bool = False,
        proof: ProofArrays | None = None,
    ) -> Raw | None:
        begun = time.thread_time()
        p = self.prepared(launch, limits, count, memory, ordered=ordered, leaps=leaps)
        if proof is not None:
            set_proof(p.terms, proof, REPRESENTATIVES)
        status = self.core.run(p.terms)
        if self.wrote_input(p):
            left = max(limits.seconds - (time.thread_time() - begun), limits.seconds / 4)
            again = partial(self._attempt, ordered=ordered, leaps=leaps, proof=proof)
            return again(launch, replace(limits, seconds=left), count, memory)
        if status in (c.AGAIN, c.NOT_PROVEN) or (proof is not None and status != c.ENDED):
            return None
        return p.result(p.terms, status)

    def prepared(
        self, launch: Launch, limits: Limits, count: bool, memory: Loaded | None = None, *,
        ordered: bool, leaps: bool,
    ) -> Prepared:  # fmt: skip
        """Allocate what a run of a launch needs, with copies of the memory that is prepared."""
        loaded = memory or self.loader.load(launch)
        buffers = [b.copy() for b in loaded.buffers] if memory else loaded.buffers
        shift, ops = self.shift(GLOBAL, launch), len(self.image.ops)
        for b in buffers:
            b.input = self._is_input(launch, b)
            b.shadow(shift)
        results = Results(ops + 1 if count else 0, len(self.arrays.blocks), limits.trace)
        table, chosen = buffer_table(buffers), np.array(limits.blocks, np.uint64)
        n = c.CLaunch.from_buffer_copy(self.image_terms)
        _set_terms(n, launch, limits)
        _set_memory(n, loaded, table)
        results.set_in(n, measures=limits.measures is not None)
        n.global_shift, n.ordered, n.leaps = shift, ordered, leaps
        n.insn, n.block = self.arrays.insns.ctypes.data, self.arrays.blocks.ctypes.data
        lanes = lane_marks(self.image, limits.lane_order, limits.lone)
        bits = marks(limits.stale, ops), marks(limits.limited, ops), lanes, chosen
        n.stale, n.limited, n.lone, n.chosen = (m.ctypes.data if m.size else None for m in bits)
        return Prepared(loaded, buffers, table, results, n, bits)

    def wrote_input(self, p: Prepared) -> bool:
        """Whether a run wrote to an array that it was presumed to leave, which is not so again."""
        pairs = [(b, row) for b, row in zip(p.buffers, p.table["written"], strict=False) if row]
        self.written = {b.argument for b, _ in pairs}.union(self.written or ())
        return any(b.input for b, _ in pairs)

    def _kept(self, launch: Launch) -> Loaded | None:
        """The prepared memory of a small launch, of which a search makes many runs."""
        if sum(x.nbytes for x in launch.args if isinstance(x, Array)) > KEPT_BYTES:
            return None
        if self.kept is None or self.kept[0] is not launch:
            self.kept = launch, self.loader.load(launch)
        return self.kept[1]

    def _is_input(self, launch: Launch, b: Buffer) -> bool:
        """Whether a run is presumed to leave an array as it is; one that does not is void.

        Those are arrays that are not read back, or that no run before has written to.
        """
        array = None if b.argument is None else launch.args[b.argument]
        if not isinstance(array, Array) or not b.initialized or b.partly is not None:
            return False
        return not array.read_back if self.written is None else b.argument not in self.written

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
            variable=arrays.variables.ctypes.data,
            entry=0,
            cycles=DEBUG_CYCLES if image.shadowed is not None else CYCLES,
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
    n.unset = 0 if limits.unset is None else limits.unset | 1 << 32
    n.trace_room, n.trace_sync = limits.trace, limits.trace_sync
    n.stops_at_error, n.only_stores = limits.stop_at_error, limits.only_stores
    n.gives_old, n.only_strong = limits.gives_old, limits.only_strong
    pauses = limits.pause, limits.pause_until, limits.pause_behind
    n.pause, n.pause_until, n.pause_behind = (0 if pc is None else pc + 1 for pc in pauses)
    n.short_pause, n.whole_turns = limits.short_pause, limits.whole_turns
    n.pause_changes, n.restored, n.hurries = limits.pause_changes, limits.restored, limits.hurries
    n.old_pause, n.long_looks, n.lane_order = limits.old_pause, limits.long_looks, limits.lane_order
    n.first_wins, n.pause_skips = limits.first_wins, limits.pause_skips
    n.measures, n.step_limit, n.time_limit = limits.measures or 0, limits.steps, limits.seconds


def _set_memory(n: c.CLaunch, loaded: Loaded, table: NDArray[np.void]) -> None:
    """Set the memory of a launch, whose buffers are in `table`; the caller keeps all alive."""
    n.shared_bytes, n.dynamic_start = loaded.window.bytes, loaded.window.dynamic_start
    n.buffer, n.buffers = table.ctypes.data, len(table) - 1
    n.image, n.images = loaded.images.ctypes.data, len(loaded.images) - 1
    n.params, n.param_bytes = loaded.params.ctypes.data, len(loaded.params) - PARAMETER_ROOM
    n.constants, n.constant_bytes = loaded.bank.ctypes.data, loaded.bank.nbytes
    n.shared_init = loaded.shared.ctypes.data
