"""Which outcomes of a small program the PTX manual's memory consistency model allows.

A program is a list of operations for each thread. Every execution is tried: for each read the write
whose value it gets, for each place an order of the writes (coherence order), an order of the fences
that are sequentially consistent. Those that contradict no axiom of the manual are allowed:

    coherence, Fence-SC, atomicity, SC-per-location, causality.

`observed` runs the same program on the core, in every order and with each choice of loads that give
old values where they may; `paused` pauses a thread besides; `late` makes each access late that may
be, with a pause before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, permutations, product

import numpy as np

from grader.launch import Array, Launch
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.decode.module import decode
from grader.simulator.late import late_accesses, moved, overlaps
from grader.simulator.ptx.parser import parse

PLACES = "xyz"
APART = 8
"""The words between two places in memory."""

ORDERS = 8
"""The orders of blocks and warps in which a program is run."""

MANY_ORDERS = 40
"""Those in which one of four threads makes an access late."""

Outcome = tuple[tuple[int, ...], tuple[int, ...]]
"""What the reads of all threads gave, in their order, and the last values of the places."""


@dataclass(frozen=True)
class Step:
    """One operation: `st relaxed x 1`, `ld acquire.cta y`, `exch acq_rel x 2`, `fence sc.cta`."""

    kind: str
    order: str
    narrow: bool
    place: str
    value: int
    thread: int

    @property
    def reads(self) -> bool:
        """Whether it reads memory."""
        return self.kind in ("ld", "exch")

    @property
    def writes(self) -> bool:
        """Whether it writes memory."""
        return self.kind in ("st", "exch", "init")

    @property
    def releases(self) -> bool:
        """Whether it is a release."""
        return self.order in ("release", "acq_rel", "sc")

    @property
    def acquires(self) -> bool:
        """Whether it is an acquire."""
        return self.order in ("acquire", "acq_rel", "sc")


def step(text: str, thread: int) -> Step:
    """Read a step."""
    kind, order, *rest = text.split()
    order, _, scope = order.partition(".")
    place, value = [*rest, "", "0"][:2] if len(rest) != 1 else (rest[0], "0")
    return Step(kind, order, scope == "cta", place, int(value or 0), thread)


class Program:
    """A litmus test: the steps of each thread, and whether the threads are in one block."""

    def __init__(self, threads: Sequence[Sequence[str]], *, near: bool = False) -> None:
        self.threads, self.near = threads, near
        steps = [step(text, t) for t, texts in enumerate(threads) for text in texts]
        self.places = sorted({s.place for s in steps if s.place})
        inits = [Step("init", "relaxed", False, p, 0, -1) for p in self.places]
        self.steps = [*inits, *steps]
        self.reads = [k for k, s in enumerate(self.steps) if s.reads]
        self.writes = {
            p: [k for k, s in enumerate(self.steps) if s.writes and s.place == p]
            for p in self.places
        }

    def strong(self, i: int, j: int) -> bool:
        """Whether two operations are morally strong: all are strong, and access whole places."""
        a, b = self.steps[i], self.steps[j]
        same = self.near or a.thread == b.thread or -1 in (a.thread, b.thread)
        return same or not (a.narrow or b.narrow)

    def before(self, i: int, j: int) -> bool:
        """Whether i precedes j in program order; the initial writes precede all."""
        a, b = self.steps[i], self.steps[j]
        return i < j and (a.thread == b.thread or a.thread == -1) and b.thread != -1

    def allowed(self) -> set[Outcome]:
        """The outcomes of all executions that contradict no axiom."""
        sources = [self.writes[self.steps[r].place] for r in self.reads]
        fences = [k for k, s in enumerate(self.steps) if s.kind == "fence" and s.order == "sc"]
        out = set()
        for values in product(*sources):
            read = dict(zip(self.reads, values, strict=True))
            if any(r == w for r, w in read.items()):
                continue
            for orders in product(*(permutations(w[1:]) for w in self.writes.values())):
                whole = [(w[0], *o) for w, o in zip(self.writes.values(), orders, strict=True)]
                outcome = (
                    tuple(self.steps[read[r]].value for r in self.reads),
                    tuple(self.steps[o[-1]].value for o in whole),
                )
                if outcome in out:
                    continue
                if any(Candidate(self, read, whole, sc).valid() for sc in permutations(fences)):
                    out.add(outcome)
        return out

    def ptx(self) -> str:
        """The kernel: thread t is the first one of block t, or of warp t."""
        lines = list[str]()
        slots = iter(range(100))
        for t, texts in enumerate(self.threads):
            first = 32 * t if self.near else t
            lines += [f"setp.ne.u32 %p1, %r1, {first};", f"@%p1 bra L{t};"]
            lines += chain.from_iterable(_instructions(step(x, t), slots) for x in texts)
            lines.append(f"L{t}:")
        number = "%tid.x" if self.near else "%ctaid.x"
        return HEAD.replace("NUMBER", number) + "\n".join(lines) + "\nret;\n}\n"

    def observed(self, *, old: bool = True) -> set[Outcome]:
        """The outcomes of the core; without `old`, those of sequentially consistent runs."""
        machine = self._machine()
        ops = machine.image.ops
        loads = [k for k, op in enumerate(ops) if op.startswith("ld.relaxed")]
        loads += [k for k, op in enumerate(ops) if op.startswith(("ld.acquire", "ld.volatile"))]
        chosen = [set(s) for n in range(len(loads) + 1) for s in combinations(loads, n)]
        out = set()
        for stale in chosen if old else [set[int]()]:
            for schedule in range(ORDERS + 1):
                limits = Limits(100_000, 5.0, schedule=schedule, stale=frozenset(stale))
                out.add(self._run(machine, replace(limits, gives_old=True)))
        return out

    def paused(self) -> set[Outcome]:
        """The outcomes of the core where a thread pauses and loads give old values.

        It pauses before an access or fence, and again once one of its loads has given an old value.
        """
        machine, out = self._machine(), set()
        ops = list(enumerate(machine.image.ops))
        loads = frozenset(k for k, op in ops if op.startswith("ld.") and "param" not in op)
        pauses = [k for k, op in ops if op.startswith(("ld.", "st.", "atom.", "fence."))]
        for pc, schedule, again, changes in product(pauses, range(4), range(3), (0, 3, 5)):
            limits = Limits(100_000, 5.0, schedule=schedule, stale=loads, gives_old=True)
            limits = replace(limits, pause=pc, whole_turns=bool(schedule))
            out.add(self._run(machine, replace(limits, old_pause=again, pause_changes=changes)))
        return out

    def late(self) -> set[Outcome]:
        """The outcomes of the core where one access is late, and memory sequentially consistent."""
        machine, out = self._machine(), set()
        f = machine.module.functions["k"]
        for late in late_accesses(f, range(len(f.body))):
            code = moved(machine, "k", late)
            assert code is not None
            code.image.exact = code.image.may_wait = True
            orders = (MANY_ORDERS if len(self.threads) > 3 else ORDERS) + 1
            for schedule, changes in [(s, 0) for s in range(orders)] + [(0, 3), (1, 3), (0, 5)]:
                limits = Limits(100_000, 5.0, schedule=schedule, pause=late.pause, trace=1 << 10)
                raw = self._raw(code, replace(limits, pause_changes=changes))
                assert not overlaps(raw, late)
                out.add(self._outcome(raw))
        return out

    def _machine(self) -> Machine:
        module = parse(self.ptx())
        machine = Machine(module, decode(module, "k", c.core().known))
        machine.image.exact = machine.image.may_wait = True
        return machine

    def _run(self, machine: Machine, limits: Limits) -> Outcome:
        return self._outcome(self._raw(machine, limits))

    def _raw(self, machine: Machine, limits: Limits) -> Raw:
        count = len(self.threads)
        grid, block = ((1, 1, 1), (32 * count, 1, 1)) if self.near else ((count, 1, 1), (1, 1, 1))
        x = Array("x", (APART * len(PLACES),), "uint32", np.zeros(APART * len(PLACES), np.uint32))
        r = Array("r", (100,), "uint32", np.zeros(100, np.uint32))
        raw = machine.run(Launch("k", grid, block, (x, r)), limits, count=False)
        assert raw.ended
        return raw

    def _outcome(self, raw: Raw) -> Outcome:
        places, results = (b.data.view(np.uint32) for b in raw.buffers[:2])
        last = tuple(int(places[APART * PLACES.index(p)]) for p in self.places)
        return tuple(int(v) for v in results[: len(self.reads)]), last


HEAD = """\
.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 r)
{
.reg .pred %p<3>;
.reg .b32 %r<104>;
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [r];
cvta.to.global.u64 %rd1, %rd1;
cvta.to.global.u64 %rd2, %rd2;
mov.u32 %r1, NUMBER;
and.b32 %r2, %r1, 31;
shr.u32 %r3, %r1, 5;
"""


def _instructions(s: Step, slots: Iterator[int]) -> Iterator[str]:
    scope = "cta" if s.narrow else "gpu"
    if s.kind == "fence":
        yield f"fence.{s.order}.{scope};"
        return
    at = f"[%rd1+{4 * APART * PLACES.index(s.place)}]"
    if s.kind == "st":
        yield f"st.{s.order}.{scope}.global.u32 {at}, {s.value};"
        return
    slot = next(slots)
    result = f"%r{4 + slot}"
    read = f"ld.{s.order}.{scope}.global.u32 {result}, {at};"
    swap = f"atom.{s.order}.{scope}.global.exch.b32 {result}, {at}, {s.value};"
    yield read if s.kind == "ld" else swap
    yield f"st.global.u32 [%rd2+{4 * slot}], {result};"


class Candidate:
    """One execution: what each read reads, coherence order and fence-SC order."""

    def __init__(
        self,
        program: Program,
        read: dict[int, int],
        coherence: Sequence[Sequence[int]],
        fences: Sequence[int],
    ) -> None:
        self.p, self.read, self.fences = program, read, fences
        self.place = {w: (k, n) for k, order in enumerate(coherence) for n, w in enumerate(order)}
        self.count = len(program.steps)

    def earlier(self, a: int, b: int) -> bool:
        """Whether a write precedes another in coherence order."""
        return self.place[a][0] == self.place[b][0] and self.place[a][1] < self.place[b][1]

    def valid(self) -> bool:
        """Whether the execution contradicts no axiom."""
        return self.atomic() and self.per_location() and self.causal()

    def atomic(self) -> bool:
        """Whether each exchange reads the write just before it in coherence order."""
        swaps = ((k, w) for k, w in self.read.items() if self.p.steps[k].writes)
        return all(
            self.place[k][1] == self.place[w][1] + 1 or not self.p.strong(k, w) for k, w in swaps
        )

    def per_location(self) -> bool:
        """Whether communication order agrees with program order at each place."""
        edges = set[tuple[int, int]]()
        for i, j in product(range(self.count), repeat=2):
            a, b = self.p.steps[i], self.p.steps[j]
            if a.place != b.place or not a.place or i == j or not self.p.strong(i, j):
                continue
            if self.p.before(i, j) or self.communicates(i, j):
                edges.add((i, j))
        after = closed(edges, self.count)
        return not any(after[k] >> k & 1 for k in range(self.count))

    def communicates(self, i: int, j: int) -> bool:
        """Whether i immediately precedes j in communication order."""
        a, b = self.p.steps[i], self.p.steps[j]
        if a.writes and b.writes and self.earlier(i, j):
            return True
        if self.read.get(j) == i:
            return True
        return a.reads and b.writes and i != j and self.earlier(self.read[i], j)

    def observation(self) -> set[tuple[int, int]]:
        """Each write with the reads that read it, or what an exchange made of it."""
        pairs = {(w, r) for r, w in self.read.items() if self.p.strong(w, r)}
        for _ in self.read:
            pairs |= {
                (w, r) for w, z in pairs for y, r in pairs if z == y and self.p.steps[z].writes
            }
        return pairs

    def synchronizes(self, observed: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Release patterns with acquire patterns, and fence.sc with later ones."""
        for write, read in observed:
            for a, b in product(self.releases(write), self.acquires(read)):
                if self.p.strong(a, b):
                    yield a, b
        for n, a in enumerate(self.fences):
            yield from ((a, b) for b in self.fences[n + 1 :] if self.p.strong(a, b))

    def releases(self, write: int) -> Iterator[int]:
        """The first operations of the release patterns that end with a write."""
        w = self.p.steps[write]
        for k, s in enumerate(self.p.steps[: write + 1]):
            at_place = s.writes and s.releases and s.place == w.place
            if s.thread == w.thread >= 0 and (s.kind == "fence" or at_place):
                yield k

    def acquires(self, read: int) -> Iterator[int]:
        """The last operations of the acquire patterns that begin with a read."""
        r = self.p.steps[read]
        for k, s in enumerate(self.p.steps):
            at_place = s.reads and s.acquires and s.place == r.place
            if k >= read and s.thread == r.thread and (s.kind == "fence" or at_place):
                yield k

    def causal(self) -> bool:
        """Whether coherence, communication and fence-SC order agree with causality order."""
        observed = self.observation()
        order = {(i, j) for i, j in combinations(range(self.count), 2) if self.p.before(i, j)}
        after = closed(order | set(self.synchronizes(observed)), self.count)
        for w, z in observed:
            after[w] |= after[z]
        for n, a in enumerate(self.fences):
            if any(after[b] >> a & 1 for b in self.fences[n + 1 :] if self.p.strong(a, b)):
                return False
        pairs = product(range(self.count), repeat=2)
        return not any(after[i] >> j & 1 and (i == j or self.contradicts(j, i)) for i, j in pairs)

    def contradicts(self, i: int, j: int) -> bool:
        """Whether i precedes j in communication order, which j may precede in causality order."""
        a, b = self.p.steps[i], self.p.steps[j]
        return bool(a.place) and a.place == b.place and self.communicates(i, j)


def closed(edges: set[tuple[int, int]], count: int) -> list[int]:
    """The transitive closure: bit j of element i is set where i precedes j."""
    after = [0] * count
    for i, j in edges:
        after[i] |= 1 << j
    for k in range(count):
        for i in range(count):
            if after[i] >> k & 1:
                after[i] |= after[k]
    return after
