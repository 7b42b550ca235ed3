"""Run a generated kernel, and compare the core's verdict with the specification's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.simulator.core import bindings as c
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.decode.memory import FENCE_SC, HAS_FENCES, SCOPE_CTA, SHARED, WAITING
from grader.simulator.decode.module import decode
from grader.simulator.diagnose.races import UNWAITED
from grader.simulator.ptx.model import Instruction
from grader.simulator.ptx.parser import parse
from tests.model.kernels import Kernel
from tests.model.specification import Execution, Kind, Operation

STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel"}
EVENTS = {c.WARP_SYNC: Kind.WARP_SYNC, c.BARRIER_ARRIVED: Kind.ARRIVE, c.BARRIER_LEFT: Kind.LEAVE}


@dataclass(frozen=True)
class Comparison:
    """What the core and the specification say of a kernel."""

    kernel: Kernel
    core: bool
    races: list[tuple[Operation, Operation]]

    @property
    def agrees(self) -> bool:
        """Whether both call it racy, or both not."""
        return self.core == bool(self.races)

    def __str__(self) -> str:
        said = f"core: {'racy' if self.core else 'no race'}"
        pairs = "; ".join(f"{a.thread} {a.text} with {b.thread} {b.text}" for a, b in self.races)
        return f"seed {self.kernel.seed}: {said}; specification: {pairs or 'no race'}"


def compare(kernel: Kernel) -> Comparison:
    """Compare the verdicts on a kernel. Raises AssertionError if it does not end."""
    module = parse(kernel.ptx)
    machine = Machine(module, decode(module, "k", c.core().known))
    machine.image.exact = True
    limits = Limits(100_000, 5.0, schedule=kernel.schedule, trace=1 << 15, trace_sync=True)
    raw = machine.run(kernel.launch, limits, count=False)
    assert raw.ended and raw.traced <= 1 << 15, f"seed {kernel.seed} did not end"
    racy = any(r["kind"] == c.RACE and not int(r["flags"]) & UNWAITED for r in raw.reports)
    return Comparison(kernel, racy, Execution(operations(machine, raw)).races())


def operations(machine: Machine, raw: Raw) -> list[Operation]:
    """The operations of a run, from its trace."""
    assert raw.accesses is not None
    acting = {
        (int(r["block"]), int(r["thread"])) for r in raw.accesses if int(r["event"]) <= c.FENCE
    }
    out: list[Operation] = []
    memory, mbarriers = Memory(), Mbarriers()
    uses: dict[tuple[int, int], int] = {}
    leaving, last = False, (0, 0)
    for row in raw.accesses:
        thread = (int(row["block"]), int(row["thread"]))
        event = int(row["event"])
        if thread not in acting and thread[1] % 32:
            continue  # it waits as the first thread of its warp does
        if event == c.FENCE:
            flag = int(row["bytes"])
            narrow, sc = bool(flag & SCOPE_CTA), bool(flag & FENCE_SC)
            out.append(
                Operation(Kind.FENCE, thread, strong=True, narrow=narrow, sc=sc, text="fence")
            )
        elif event == c.WARP_SYNC:
            out.append(
                Operation(Kind.WARP_SYNC, thread, group=("warp", *thread[:1], int(row["at"])))
            )
        elif event:
            barrier = (thread[0], int(row["at"]))
            if leaving and event == c.BARRIER_ARRIVED:
                uses[last] = uses.get(last, 0) + 1
            leaving, last = event == c.BARRIER_LEFT, barrier
            full = event == c.BARRIER_ARRIVED and int(row["at"]) in ALL_WAIT
            group = ("barrier", *barrier, uses.get(barrier, 0))
            out.append(Operation(EVENTS[event], thread, group=group, sc=full))
        else:
            i = machine.image.instructions[int(row["pc"])]
            if "mbarrier" in i.op.split("."):
                out.append(mbarriers.operation(i, thread, int(row["at"])))
            else:
                out.append(_access(machine, row, thread, memory))
        if leaving and event != c.BARRIER_LEFT:
            uses[last] = uses.get(last, 0) + 1
            leaving = False
    return out


ALL_WAIT = (0, 1)
"""The barriers of kernels.py at which all threads of a block wait."""

ORDERED = {"acquire", "release", "acq_rel"}
"""The memory orders of an atomic that is no ticket: see `TICKET`."""

FIRST = {"global": 0, "shared": 0xA5}
"""The bytes that the core puts into memory before a block runs."""


class Memory:
    """The bytes in memory, computed from the operations: the trace has no values."""

    def __init__(self) -> None:
        self.bytes: dict[tuple[object, int], int] = {}

    def performs(self, op: str, operands: Sequence[str], at: tuple[object, int], size: int) -> bool:
        """Perform a write; return whether it writes: a compare-and-swap may fail."""
        space, first = at
        places = [(space, first + k) for k in range(size)]
        old = int.from_bytes(bytes(self.bytes.get(p, FIRST[p[0][0]]) for p in places), "little")  # type: ignore[index]
        value = 1 if operands[-1].startswith("%") else int(operands[-1])
        parts = op.split(".")
        if "cas" in parts and old != int(operands[-2]):
            return False
        new = (old + value) % (1 << 8 * size) if "add" in parts else value
        self.bytes |= zip(places, new.to_bytes(size, "little"), strict=True)
        return True


@dataclass
class Phases:
    """An mbarrier object: its counts, and the number of its completed phases."""

    expected: int
    pending: int
    bytes: int = 0
    phase: int = 0

    def arrive(self, count: int, bytes_: int = 0) -> None:
        """Count arrivals and bytes; the last one of both completes the phase."""
        self.pending -= count
        self.bytes += bytes_
        if self.pending <= 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.expected


class Mbarriers:
    """The mbarriers of a run, computed from its operations by the manual's description."""

    def __init__(self) -> None:
        self.at: dict[tuple[int, int], Phases] = {}
        self.tokens: dict[tuple[int, int], int] = {}

    def operation(self, i: Instruction, thread: tuple[int, int], at: int) -> Operation:
        """Perform an operation on the mbarrier at an offset of the block's shared memory."""
        parts = i.op.split(".")
        place = (thread[0], at)
        *_, last = i.operands
        made = Operation(
            Kind.UPDATE, thread, ("shared", thread[0]), at, 8, strong=True, narrow=True, text=i.op
        )
        if parts[1] in ("init", "inval"):
            self.at[place] = Phases(int(last), int(last)) if parts[1] == "init" else Phases(0, 0)
            return replace(made, kind=Kind.WRITE, strong=False)
        b = self.at.setdefault(place, Phases(0, 0))
        if parts[1] in ("test_wait", "try_wait"):
            waited = i.operands[2]
            passes = b.phase % 2 != int(waited) if "parity" in parts else self._passed(b, thread)
            acquires = passes and "relaxed" not in parts
            made = replace(made, kind=Kind.READ, acquires=acquires, phase=b.phase)
            return replace(made, waits=True, passes=passes)
        made = replace(made, phase=b.phase, releases="relaxed" not in parts)
        if i.operands[0].startswith("%rd"):
            self.tokens[thread] = b.phase
        self._arrive(b, parts, int(last) if not last.startswith("[") else 1)
        return replace(
            made, releases=made.releases and parts[1] not in ("expect_tx", "complete_tx")
        )

    def _passed(self, b: Phases, thread: tuple[int, int]) -> bool:
        return b.phase != self.tokens.get(thread, 0)

    def _arrive(self, b: Phases, parts: list[str], count: int) -> None:
        if parts[0] == "cp":  # without .noinc, one more arrival is pending, and then arrives
            b.arrive(1 if "noinc" in parts else 0)
        elif "expect_tx" in parts:
            b.bytes += count
            b.arrive(1 if parts[1] == "arrive" else 0)
        elif parts[1] == "complete_tx":
            b.arrive(0, -count)
        else:
            b.expected -= count if parts[1] == "arrive_drop" else 0
            b.arrive(count)


def waiting_loads(machine: Machine) -> set[int]:
    """The accesses that a loop repeats until their values allow to leave, by program counter."""
    blocks = (block for function in machine.image.functions for block in function.blocks)
    return {insn.pc for block in blocks for insn in block.insns if insn.flag & WAITING}


def _access(machine: Machine, row: object, thread: tuple[int, int], values: Memory) -> Operation:
    """A memory operation of the trace."""
    text = machine.image.ops[int(row["pc"])]  # type: ignore[index]
    parts = text.split(".")
    shared = int(row["space"]) == SHARED  # type: ignore[index]
    memory = ("shared", thread[0]) if shared else ("global", int(row["buffer"]))  # type: ignore[index]
    kind = {"ld": Kind.READ, "st": Kind.WRITE}.get(parts[0], Kind.UPDATE)
    atomic = kind is Kind.UPDATE
    volatile = "volatile" in parts
    awaits = volatile and int(row["pc"]) in waiting_loads(machine)  # type: ignore[index]
    i = machine.image.instructions[int(row["pc"])]  # type: ignore[index]
    if kind is not Kind.READ:
        first, size = int(row["at"]), int(row["bytes"])  # type: ignore[index]
        if not values.performs(text, i.operands, (memory, first), size):
            kind = Kind.READ  # a compare-and-swap that finds another value
    weak = shared and volatile and not awaits and not machine.image.sync & HAS_FENCES
    return Operation(
        kind,
        thread,
        memory,
        int(row["at"]),  # type: ignore[index]
        int(row["bytes"]),  # type: ignore[index]
        strong=(atomic or bool(STRONG & set(parts))) and not weak,
        narrow="cta" in parts,
        acquires=bool({"acquire", "acq_rel"} & set(parts)),
        releases=bool({"release", "acq_rel"} & set(parts)),
        ticket=parts[0] == "atom" and "add" in parts and not ORDERED & set(parts),
        volatile=volatile,
        awaits=awaits,
        text=text,
    )
