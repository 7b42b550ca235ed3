"""Count the work of one launch, from a sample of its blocks: what an estimate of its time needs.

The block in the middle of the grid runs in the optimized variant, with a record of its accesses, of
which shares are taken: wavefronts per request, distinct sectors, equal addresses of atomics. A few
blocks, spread evenly over the grid, are counted, or that one where blocks are long; the counts are
scaled to the whole grid.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import replace
from grader.launch import WARP_SIZE, Array, Arrays, Launch, Resources, unpack_launches
from grader.simulator.chains import FUSED, NotCounted, block_chain, class_of
from grader.simulator.core.bindings import COUNT_DISTINCT, core
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.counters import (
    SECTORS,
    counted_values,
    launch_counters,
    thread_executions,
)
from grader.simulator.decode.instructions import NotSimulated
from grader.simulator.decode.module import Image, decode
from grader.simulator.exchange import too_large, unpack_program
from grader.simulator.ptx.model import PtxError
from grader.simulator.ptx.parser import parse
from grader.simulator.ptx.ptxas import contract, merge_loads, reduce_unused_atomics
from grader.simulator.records import SECTOR, Record, merged_loads, past_l1
from grader.simulator.workload import Work

SAMPLED_BLOCKS = 4
SAMPLED_STEPS = 1_000_000
"""Instructions of warps that these may execute; one block has to do where they would take more."""

EDGE_FACTOR = 4
EDGE_STEPS = 10_000
"""What the first and the last block may each execute: so many times what a sampled block does, and
these steps. Where one does the work of the others, the sample says nothing of the launch."""

SECTOR_BYTES = 1 << SECTOR

RECORDED = 1 << 17
"""The most accesses of a block that are recorded; of a longer record, the first ones."""


def count_work(machine: Machine, launch: Launch, limits: Limits, resources: Resources) -> Work:
    """Count the work of one launch.

    Args:
        machine: the optimized variant of the kernel.
        launch: the launch, at its full size.
        limits: what each of the two runs may take.
        resources: what the assembler reported of the kernel.

    Raises:
        NotCounted: the blocks do not end by themselves, or use what is not modelled.
    """
    image, total = machine.image, prod(launch.grid)
    if image.waits:
        raise NotCounted("its blocks may wait for each other")
    middle = (total // 2,)
    recorded = machine.run(launch, _limits(limits, middle, RECORDED), count=True)
    raw, count = recorded, 1
    if recorded.ended and recorded.steps * SAMPLED_BLOCKS <= SAMPLED_STEPS:
        count = min(SAMPLED_BLOCKS, total)
        sample = tuple((2 * k + 1) * total // (2 * count) for k in range(count))
        raw = machine.run(launch, _limits(limits, sample, 0), count=True)
    if not raw.ended:
        raise NotCounted("a block does not end at this size")
    edges = replace(
        _limits(limits, tuple({0, total - 1}), 0),
        steps=EDGE_STEPS + EDGE_FACTOR * raw.steps // count,
    )
    if not machine.run(launch, edges, count=False).ended:
        raise NotCounted("its first or last block does far more than the others")
    registers = resources.registers or 0
    shared = (resources.static_shared_bytes or 0) + launch.shared
    return _Counted(machine, launch, raw, recorded, total / count, registers, shared).work()


def _limits(limits: Limits, blocks: tuple[int, ...], trace: int) -> Limits:
    return replace(limits, blocks=blocks, measures=COUNT_DISTINCT, trace=trace)


class _Counted:
    """The results of both runs, scaled to the grid."""

    def __init__(
        self, machine: Machine, launch: Launch, raw: Raw, recorded: Raw, scale: float,
        registers: int, shared: int,
    ) -> None:  # fmt: skip
        self.image, self.launch, self.raw, self.scale = machine.image, launch, raw, scale
        self.registers = registers
        self.visits = _warp_executions(machine.image, raw)
        self.record = Record(machine.image, recorded)
        self.merged = merged_loads(machine.image, self.record)
        self.counters = launch_counters(raw, counted_values(machine.image, raw))
        self.shared = shared

    def work(self) -> Work:
        executed, slots = self._executed()
        read, changed = self._dram()
        loads = self.scale * SECTOR_BYTES * self.counters[SECTORS.format("ld")]
        written, masked = self._stores()
        requests, in_l1, wavefronts = self._accesses()
        past = self.scale * SECTOR_BYTES * self._past_l1()
        l2_read, dram_read = past + min(loads - past, self._distinct()), min(read, loads)
        return Work(
            prod(self.launch.grid), prod(self.launch.block), self.registers, self.shared, executed,
            slots, requests, in_l1, wavefronts, l2_read, written, masked, dram_read,
            min(changed, written + masked), self._atomics(), self._chain(), self._flop(),
            l2_read / loads if loads else 0.0, min(l2_read, dram_read) / loads if loads else 0.0,
        )  # fmt: skip

    def _executed(self) -> tuple[dict[str, float], float]:
        executed: dict[str, float] = defaultdict(float)
        slots = 0.0
        for pc, op in enumerate(self.image.ops):
            kind, each = class_of(op)
            each = 0.0 if self.merged.get(pc) == 0 else each
            slots += each * self.visits[pc]
            if kind:
                weight = each if kind in ("int32", "mad32", "fma64") else 1.0
                executed[kind] += weight * self.visits[pc]
        return {k: self.scale * float(v) for k, v in executed.items() if v}, self.scale * slots

    def _accesses(self) -> tuple[float, float, float]:
        """Requests and wavefronts of global and local memory, wavefronts of shared memory."""
        requests = in_l1 = wavefronts = 0.0
        assert self.raw.counters is not None
        for pc, op in enumerate(self.image.ops):
            counted = self.raw.counters[pc]
            head = op.split(".")[0]
            if head in ("atom", "red"):
                continue
            recorded = self.record.wavefronts.get(pc)
            if counted["sectors"] or (recorded is not None and not counted["requests"]):
                made = float(counted["requests"]) or float(self.visits[pc])
                requests += made
                in_l1 += made * (1.0 if recorded is None else recorded)
            if (wide := self.merged.get(pc)) is not None:
                wavefronts += wide * float(counted["requests"])
            else:
                wavefronts += float(counted["wavefronts"])
        return self.scale * requests, self.scale * in_l1, self.scale * wavefronts

    def _stores(self) -> tuple[float, float]:
        """The bytes of the sectors that stores write as a whole, and in part."""
        assert self.raw.counters is not None
        whole = some = 0.0
        for pc, op in enumerate(self.image.ops):
            recorded = self.record.written.get(pc)
            if op.split(".")[0] != "st":
                continue
            counted = float(self.raw.counters[pc]["sectors"])
            if not counted and recorded and not self.raw.counters[pc]["requests"]:  # local memory
                counted = float(self.visits[pc]) * sum(recorded)
            share = recorded[1] / sum(recorded) if recorded else 0.0
            whole += (1 - share) * counted
            some += share * counted
        return self.scale * SECTOR_BYTES * whole, self.scale * SECTOR_BYTES * some

    def _past_l1(self) -> float:
        """The sectors of the loads that read from the L2 cache each time."""
        assert self.raw.counters is not None
        ops = enumerate(self.image.ops)
        return sum(float(self.raw.counters[pc]["sectors"]) for pc, op in ops if past_l1(op))

    def _distinct(self) -> float:
        """The bytes of the sectors that blocks load into the L1 cache, each once a block."""
        if self.record.complete:
            return float(prod(self.launch.grid)) * SECTOR_BYTES * self.record.loaded_sectors
        assert self.raw.work is not None
        return self.scale * float(self.raw.work[0]["distinct"]) * self.record.sector_share

    def _dram(self) -> tuple[float, float]:
        """The bytes of the arrays that are read, and of those that are written."""
        arrays = [a for a in self.launch.args if isinstance(a, Array)]
        read = sum(
            float(buffer.data.nbytes)
            for number, buffer in enumerate(self.raw.buffers)
            if number in self.record.read
        )
        return read, float(sum(array.nbytes for array in arrays if array.read_back))

    def _atomics(self) -> dict[str, float]:
        out: dict[str, float] = defaultdict(float)
        assert self.raw.counters is not None
        for pc, op in enumerate(self.image.ops):
            if op.split(".")[0] not in ("atom", "red"):
                continue
            counted, same = self.raw.counters[pc], self.record.same.get(pc, 1.0)
            space = "global" if counted["sectors"] else "shared"
            made = self.scale * float(counted["requests"])
            if space == "shared":
                out["shared requests"] += made
                out["shared serial"] += made * (same - 1)
                continue
            operations = made * self.record.operations.get(pc, 1.0)
            out["operations"] += operations
            out["hottest"] += operations * self.record.hottest.get(pc, 0.0)
        return {name: value for name, value in out.items() if value}

    def _chain(self) -> dict[str, float]:
        sampled = prod(self.launch.grid) / self.scale
        warps = sampled * -(-prod(self.launch.block) // WARP_SIZE)
        out: dict[str, float] = defaultdict(float)
        number = 0
        for function in self.image.functions:
            for index, block in enumerate(function.blocks):
                times = float(self.raw.visits[number])
                if times:
                    for kind, many in block_chain(block, index).items():
                        out[kind] += many * times / warps
                number += 1
        return {kind: float(value) for kind, value in out.items() if value > 0}

    def _flop(self) -> float:
        lanes = thread_executions(self.image, self.raw)
        flop = 0.0
        for pc, op in enumerate(self.image.ops):
            head, *parts = op.split(".")
            if head in FUSED and parts and parts[-1] in ("f32", "f64"):
                flop += (2 if head in ("fma", "mad") else 1) * float(lanes[pc])
        return self.scale * flop


def _warp_executions(image: Image, raw: Raw) -> NDArray[np.float64]:
    """The executions of each instruction by warps; guarded ones count as executed."""
    out = np.zeros(len(image.ops) + 1)
    number = 0
    for function in image.functions:
        for block in function.blocks:
            for pc in {insn.pc for insn in block.insns}:
                out[pc] += float(raw.visits[number])
            number += 1
    return out


def run(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, Arrays]:
    """Count the work of the one launch of a request: {"work": Work}, or {"problem": why not}."""
    program = unpack_program(request["program"])
    (launch,) = unpack_launches(request["launches"], arrays)
    kernel = program.kernel(launch.kernel)
    if kernel is None or too_large(launch):
        return {"problem": "the launch is too large to simulate"}, {}
    limits = Limits(request["steps"] or Limits.steps, request["limit"], request["threads"])
    try:
        module = parse(program.ptx)
        contract(module)
        reduce_unused_atomics(module)
        merge_loads(module)
        image = decode(module, kernel.symbol, core().known, definedness=False)
        work = count_work(Machine(module, image), launch, limits, kernel.resources)
    except NotCounted as error:
        return {"problem": str(error)}, {}
    except (NotSimulated, PtxError) as error:
        return {"problem": f"the kernel is not simulated: {error.args[0]}"}, {}
    return {"work": asdict(work)}, {}
