"""Small concurrent kernels in PTX: a few threads, each with a few operations on a few places.

All threads execute the same steps. In a step one of the acting threads performs its operation, or
all threads of a block wait at a barrier. Half of the operations are taken from patterns that
programs use (a flag, a lock, a ticket), of which each part may be missing or changed. A thread may
wait in a loop, for a flag or for a lock, a few times at most; so every kernel ends. A third of
the kernels have mbarriers: producers and consumers wait for each other's phases.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from grader.launch import Array, Launch

WORDS = 8
"""The words of the array in global memory, and of the one in shared memory."""

MBARRIERS = 2
"""The mbarriers of a block, behind the words in shared memory."""

ORDERS = {
    "ld": ("", "", "volatile", "relaxed", "acquire"),
    "st": ("", "", "volatile", "relaxed", "release"),
    "atom": ("", "relaxed", "acquire", "release", "acq_rel"),
    "red": ("", "relaxed", "release"),
}
FENCES = ("membar.cta", "membar.gl", "membar.sys") + tuple(
    f"fence.{order}.{scope}" for order in ("sc", "acq_rel") for scope in ("cta", "gpu", "sys")
)


TRIES = 40
"""How often a thread that waits looks."""


@dataclass
class Kernel:
    """A kernel's launch and its steps; an actor is (block, thread)."""

    seed: int
    blocks: int
    threads: int
    schedule: int
    steps: list[str] = field(default_factory=list)

    @property
    def ptx(self) -> str:
        """The module."""
        body = "\n".join(self.steps)
        return HEAD + body + "\nret;\n}\n"

    @property
    def is_pipeline(self) -> bool:
        """Whether it has mbarriers."""
        return any("mbarrier" in step for step in self.steps)

    @property
    def launch(self) -> Launch:
        """The launch."""
        x = Array("x", (WORDS,), "uint32", np.zeros(WORDS, np.uint32), True)
        return Launch("k", (self.blocks, 1, 1), (self.threads, 1, 1), (x,))


HEAD = f"""\
.version 8.5
.target sm_90
.address_size 64
.shared .align 8 .b8 s[{4 * WORDS + 8 * MBARRIERS}];
.visible .entry k(.param .u64 x)
{{
.reg .pred %p<4>;
.reg .b16 %h<4>;
.reg .b32 %r<10>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [x];
cvta.to.global.u64 %rd1, %rd1;
mov.u64 %rd2, s;
cvta.shared.u64 %rd3, %rd2;
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
shl.b32 %r3, %r1, 10;
add.u32 %r3, %r3, %r2;
mov.u32 %r4, 1;
mov.u64 %rd4, 1;
mov.u64 %rd6, 0;
shr.u32 %r7, %r2, 5;
"""


class Generator:
    """Makes one kernel from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = r = random.Random(seed)
        self.kernel = Kernel(seed, r.choice((1, 2, 2, 3)), r.choice((2, 2, 64)), r.randrange(4))
        self.labels = self.arrivals = self.loops = 0
        warps = [0, 1] if self.kernel.threads == 2 else [0, 1, 32, 33]
        every = [(b, t) for b in range(self.kernel.blocks) for t in warps]
        self.actors = r.sample(every, min(len(every), r.randrange(2, 5)))
        self.mbarriers = random.Random(~seed).random() < 0.35
        if self.mbarriers and r.random() < 0.7:
            self.kernel.blocks = 1
            self.actors = [(0, t) for t in r.sample(warps, min(len(warps), r.randrange(2, 5)))]
        self.narrow = r.random() < 0.35
        self.shared = r.random() < (0.7 if self.mbarriers else 0.3)

    def make(self) -> Kernel:
        """Make the kernel."""
        make = self.plan_with_mbarriers if self.mbarriers else self.plan
        plans = [make(k) for k in range(len(self.actors))]
        left = [k for k, plan in enumerate(plans) for _ in plan]
        self.random.shuffle(left)
        if self.mbarriers:
            self.initialize()
            if self.random.random() < 0.5:  # most waits are for what has happened
                left.sort(key=lambda k: k % 2)
        for k in left:
            self.step(plans[k].pop(0), self.actors[k])
        return self.kernel

    def plan(self, actor: int) -> list[str]:
        """The operations of one thread, in order."""
        r = self.random
        if r.random() < 0.25:
            return [self.operation() for _ in range(r.randrange(2, 6))]
        data, flag = self.place(0), self.place(1)
        if r.random() < 0.2:
            return self.with_lock(data, flag)
        order = r.choice(("fence", "fence", "order", "none"))
        write, read = r.choice(("st", "atom", "red")), r.choice(("ld", "ld", "atom"))
        publish = [
            self.access("st", data, ""),
            self.fence(),
            self.access(write, flag, "release" if order == "order" else "relaxed"),
        ]
        consume = [
            self.access(read, flag, "acquire" if order == "order" else "relaxed"),
            self.fence(),
            self.access(r.choice(("ld", "st")), data, ""),
        ]
        if read == "ld" and r.random() < 0.4:
            consume[0] = self.repeated(consume[0], "setp.eq.u32 %p3, %r5, 0;", TRIES)
        parts = publish if actor % 2 == 0 else consume
        parts = parts if r.random() < 0.85 else consume + publish
        if order != "fence":
            parts = [p for p in parts if not p.startswith(("fence", "membar"))]
        parts = [p for p in parts if r.random() < 0.96]
        for _ in range(r.choice((0, 0, 1, 2))):
            parts.insert(
                r.randrange(len(parts) + 1),
                self.barrier() if r.random() < 0.6 else self.operation(),
            )
        return parts

    def with_lock(self, data: str, lock: str) -> list[str]:
        """A lock by compare-and-swap, a use of the data, and the release of the lock."""
        r = self.random
        ordered = r.random() < 0.5
        acquire, release = ("acquire", "release") if ordered else ("relaxed", "relaxed")
        scope = self.scope()
        swap = f"atom.{acquire}.{scope}.cas.b32 %r5, {lock}, 0, 1;"
        if r.random() < 0.7:
            swap = self.repeated(swap, "setp.ne.u32 %p3, %r5, 0;", TRIES)
        unlock = r.choice(
            (
                f"atom.{release}.{scope}.exch.b32 %r5, {lock}, 0;",
                f"st.{release}.{scope}.b32 {lock}, 0;",
                f"atom.{release}.{scope}.cas.b32 %r5, {lock}, 1, 0;",
            )
        )
        use = [self.access(what, data, "") for what in r.choice((("ld", "st"), ("st",), ("ld",)))]
        if r.random() < 0.3:
            use = [self.repeated("\n".join(use), "setp.eq.u32 %p3, %r4, 1;", r.randrange(2, 4))]
        fences = [] if ordered else [self.fence()]
        parts = [swap, *fences, *use, *fences, unlock]
        return [p for p in parts if r.random() < 0.95]

    def plan_with_mbarriers(self, actor: int) -> list[str]:
        """A thread of a pipeline: it fills places and arrives, or waits and uses them."""
        r = self.random
        parts = []
        for number in r.sample(range(MBARRIERS), r.choice((1, 1, 2))):
            data = self.place(number if r.random() < 0.9 else 2)
            if actor % 2 == 0:
                parts += [self.access("st", data, ""), self.arrival(number)]
            else:
                uses = [self.access(what, data, "") for what in r.choice((("ld",), ("ld", "st")))]
                parts += [self.waited(number), *uses]
            if r.random() < 0.3:
                parts.append(self.arrival(number))
        if r.random() < 0.15:
            parts.insert(r.randrange(len(parts) + 1), self.operation())
        return [p for p in parts if r.random() < 0.97]

    def initialize(self) -> None:
        """Append the initialization of each block's mbarriers by one thread, and a barrier."""
        r = self.random
        for block in {block for block, _ in self.actors}:
            mine = [k for k, (b, _) in enumerate(self.actors) if b == block]
            producers = max(1, sum(k % 2 == 0 for k in mine))
            for number in range(MBARRIERS):
                count = producers if r.random() < 0.9 else r.choice((1, 2, 3))
                init = f"mbarrier.init.shared.b64 [{self.mbarrier(number)}], {count};"
                self.step(init, self.actors[mine[0]])
            if r.random() < 0.95:
                self.step("block", self.actors[mine[0]])

    def mbarrier(self, number: int) -> str:
        """The address of an mbarrier."""
        return f"%rd2+{4 * WORDS + 8 * number}"

    def arrival(self, number: int) -> str:
        """An arrival at an mbarrier, or the start or end of a transaction."""
        r, at = self.random, self.mbarrier(number)
        sem = r.choice(("", "", "", ".release.cta", ".relaxed.cta"))
        fence = f"{self.fence()}\n" if r.random() < 0.3 else ""
        token = r.choice(("_", "_", "%rd6"))
        size = r.choice((4, 8))
        plain = f"mbarrier.arrive{sem}.shared::cta.b64 {token}, [{at}]"
        if r.random() < 0.75:
            return f"{fence}{plain};"
        return fence + r.choice(
            (
                f"{plain}, 2;",
                f"mbarrier.arrive_drop.shared.b64 {token}, [{at}];",
                f"mbarrier.arrive.expect_tx{sem}.shared::cta.b64 {token}, [{at}], {size};",
                f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{at}], {size};",
                f"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [{at}], {size};",
                f"cp.async.mbarrier.arrive{r.choice(('', '.noinc'))}.shared.b64 [{at}];",
            )
        )

    def waited(self, number: int) -> str:
        """A wait for a phase of an mbarrier: once, or up to some times."""
        r, at = self.random, self.mbarrier(number)
        what = r.choice(("test_wait", "try_wait", "try_wait"))
        sem = r.choice(("", "", ".acquire.cta", ".relaxed.cta"))
        parity = r.random() < 0.8
        phase = r.choice((0, 0, 0, 0, 0, 1)) if parity else "%rd6"
        name = f"mbarrier.{what}{'.parity' if parity else ''}{sem}.shared::cta.b64"
        test = f"{name} %p3, [{at}], {phase};"
        fence = f"\n{self.fence()}" if r.random() < 0.3 else ""
        if r.random() < 0.2:
            return test + fence
        return self.repeated(f"{test}\nnot.pred %p3, %p3;", "", TRIES) + fence

    def repeated(self, body: str, again: str, most: int) -> str:
        """A loop that repeats instructions while `again` sets %p3, `most` times in all."""
        self.loops += 1
        count = f"add.u32 %r9, %r9, 1;\nsetp.lt.and.u32 %p3, %r9, {most}, %p3;"
        loop = f"$S{self.loops}"
        return f"mov.u32 %r9, 0;\n{loop}:\n{body}\n{again}\n{count}\n@%p3 bra {loop};"

    def place(self, number: int) -> str:
        """An operand: one of few places in global or shared memory."""
        base = "%rd3" if self.shared and self.random.random() < 0.7 else "%rd1"
        return f"[{base}+{8 * number}]"

    def scope(self) -> str:
        return (
            self.random.choice(("cta", "gpu"))
            if self.narrow
            else self.random.choice(("gpu", "sys"))
        )

    def fence(self) -> str:
        wide = [f for f in FENCES if not f.endswith("cta")]
        return self.random.choice(FENCES if self.narrow else wide) + ";"

    def access(self, what: str, where: str, order: str) -> str:
        """An access to a word; sometimes to two, or to another one."""
        r = self.random
        size = r.choice((32,) * 12 + (64,))
        if size == 32 and r.random() < 0.04:
            base, _, offset = where.strip("[]").partition("+")
            where = f"[{base}+{int(offset) + 4}]"
        scope = f".{self.scope()}" if order and order != "volatile" else ""
        if what in ("atom", "red") and not order and self.narrow and r.random() < 0.5:
            scope = ".cta"
        if what == "st" and order == "acquire" or what == "ld" and order == "release":
            order = "relaxed"
        if what == "red" and order in ("acquire", "acq_rel"):
            order = "relaxed"
        value, old = ("%r4", "%r5") if size == 32 else ("%rd4", "%rd5")
        name = f"{what}{'.' + order if order else ''}{scope}"
        if what == "ld":
            return f"{name}.b{size} {old}, {where};"
        if what == "st":
            return f"{name}.b{size} {where}, {value};"
        if what == "red":
            return f"{name}.add.u{size} {where}, {value};"
        op = r.choice((f"add.u{size}", f"exch.b{size}", f"cas.b{size}"))
        if op.startswith("cas"):
            return f"{name}.{op} {old}, {where}, {r.choice((0, 0, 1))}, {r.choice((0, 1, 2))};"
        return f"{name}.{op} {old}, {where}, {value};"

    def operation(self) -> str:
        """Any operation."""
        r = self.random
        if r.random() < 0.2:
            return self.fence()
        if r.random() < 0.15:
            return self.barrier()
        what = r.choice(("ld", "st", "atom", "red", "ld", "st"))
        return self.access(what, self.place(r.randrange(3)), r.choice(ORDERS[what]))

    def barrier(self) -> str:
        """A barrier of the block, of the warp, or of two warps of which one only arrives."""
        kinds = (
            ["block", "warp"] if self.kernel.threads == 2 else ["block", "warp", "named", "arrive"]
        )
        return self.random.choice(kinds)

    def step(self, what: str, actor: tuple[int, int]) -> None:
        """Append the operation of one actor, or a barrier of its block."""
        self.labels += 1
        label, (block, thread) = f"$L{self.labels}", actor
        if what in ("block", "warp", "named", "arrive"):
            lines = [
                f"setp.ne.u32 %p1, %r1, {block};",
                f"@%p1 bra {label};",
                *self.wait(what, thread),
            ]
        else:
            lines = [
                f"setp.ne.u32 %p1, %r3, {block << 10 | thread};",
                f"@%p1 bra {label};",
                what,
            ]
        self.kernel.steps += [*lines, f"{label}:"]

    def wait(self, what: str, thread: int) -> list[str]:
        if what == "block":
            return ["bar.sync 0;"]
        if what == "warp":
            return (
                ["bar.warp.sync 0xffffffff;"] if self.kernel.threads > 2 else ["bar.warp.sync 3;"]
            )
        if what == "named":
            return ["bar.sync 1, 64;"]
        other = f"$A{self.labels}"
        self.arrivals += 1
        barrier = 2 + self.arrivals % 13  # no barrier is used again before it is complete
        return [
            f"setp.ne.u32 %p2, %r7, {thread >> 5};",
            f"@%p2 bra {other};",
            f"bar.arrive {barrier}, 64;",
            f"bra.uni $L{self.labels};",
            f"{other}:",
            f"bar.sync {barrier}, 64;",
        ]


def generate(seed: int) -> Kernel:
    """The kernel of a seed."""
    return Generator(seed).make()
