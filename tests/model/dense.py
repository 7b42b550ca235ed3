"""Kernels of strong operations on one or two places, with few plain accesses among them.

A plain access conflicts with every write of the place. Whether it races depends on all that the
threads know of each other, and on which values they observed.
"""

from __future__ import annotations

from tests.model.kernels import ORDERS, Generator, Kernel

BARRIERS = ("block", "warp", "named", "arrive")


class Dense(Generator):
    """Makes one kernel from a seed: the threads' operations in any order, then the last accesses.

    Some operations are executed by several lanes of the warps at once.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        r = self.random
        self.mbarriers, self.narrow, self.shared = False, r.random() < 0.4, r.random() < 0.35
        self.fences, self.barriers = r.choice((0.1, 0.3, 0.5)), r.choice((0, 0.05, 0.15))
        self.plain, self.groups = r.choice((0, 0, 0.05, 0.15)), r.choice((0, 0, 0.2, 0.6))
        self.volatile = r.random() < 0.3
        self.where, self.data = self.place(1), self.place(0)

    def make(self) -> Kernel:
        """Make the kernel."""
        r = self.random
        first = r.choice(self.actors) if r.random() < 0.4 else None
        if first:
            self.step(self.access("st", self.data, ""), first)
        for _ in range(r.randrange(3, 13)):
            self.perform(self.strong())
        for _ in range(r.choice((1, 1, 2))):
            what = r.choice(("ld", "ld", "st", "st", "atom"))
            self.perform(self.access(what, self.data if first else self.where, ""))
        return self.kernel

    def strong(self) -> str:
        """A fence, a barrier or an operation on the place that is strong, but for few."""
        r, kind = self.random, self.random.random()
        if kind < self.fences:
            return self.fence()
        if kind < self.fences + self.barriers:
            return self.barrier()
        what = r.choice(("ld", "ld", "st", "atom", "atom", "red"))
        orders = [o for o in ORDERS[what] if o and (self.volatile or o != "volatile")]
        order = "" if r.random() < self.plain else r.choice(orders)
        return self.access(what, self.where if r.random() < 0.9 else self.place(2), order)

    def perform(self, what: str) -> None:
        """Append an operation of one actor, or of some of the first four lanes of each warp."""
        r = self.random
        if what in BARRIERS or r.random() >= self.groups:
            self.step(what, r.choice(self.actors))
            return
        self.labels += 1
        label, lanes = f"$L{self.labels}", r.choice((0, 1, 2, 3))
        chosen = [
            f"and.b32 %r6, %r2, {28 | lanes};",
            f"setp.ne.u32 %p1, %r6, {r.randrange(4) & lanes};",
        ]
        if r.random() < 0.5:
            block = r.randrange(self.kernel.blocks)
            chosen += [f"setp.ne.or.u32 %p1, %r1, {block}, %p1;"]
        if r.random() < 0.5:
            chosen += [f"setp.ne.or.u32 %p1, %r7, {r.randrange(2)}, %p1;"]
        self.kernel.steps += [*chosen, f"@%p1 bra {label};", what, f"{label}:"]


class Phases(Dense):
    """Makes a kernel of arrivals and waits at mbarriers, strong operations and two plain accesses.

    Arrivals may be more or fewer than expected, and waits for phases that have not begun.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        r = self.random
        self.mbarriers, self.shared = True, r.random() < 0.7
        self.waits = r.choice((0.3, 0.5, 0.7))

    def make(self) -> Kernel:
        """Make the kernel."""
        r = self.random
        self.initialize()
        steps = [(self.any(), r.choice(self.actors)) for _ in range(r.randrange(4, 12))]
        first = r.choice(self.actors)
        last = r.choice([actor for actor in self.actors if actor != first])
        write, use = self.access("st", self.data, ""), r.choice(("ld", "st"))
        steps.insert(r.randrange(len(steps) // 3 + 1), (write, first))
        late = r.randrange(2 * len(steps) // 3, len(steps) + 1)
        steps.insert(late, (self.access(use, self.data, ""), last))
        for what, actor in steps:
            self.step(what, actor)
        return self.kernel

    def any(self) -> str:
        """An arrival or a wait at an mbarrier, or what Dense has."""
        r = self.random
        if r.random() >= self.waits:
            return self.strong()
        number = 0 if r.random() < 0.8 else 1
        return self.arrival(number) if r.random() < 0.55 else self.waited(number)
