"""Find what a thread makes of what it reads in memory: updates of a place, and data.

A thread that reads a place, by an atomic or a strong load, and then writes there what it made of
the value, loses what other threads write in between. `memory_roles` marks both ends: the core
compares, where the thread writes, what is there with what it left (watch/updates.c). An exchange
whose result is used loses nothing, since the thread gets what it replaces. A compare-and-swap whose
result is ignored drops the thread's own update; where the value that it expects is used elsewhere,
another thread may have made the same step for it, as lock-free code does.

What a branch or selection chose by a value is not made of it: state machines write constants. The
one exception is a comparison by size with the very value that is written: a minimum or maximum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from functools import cached_property

from grader import regex
from grader.simulator.decode.async_copies import unheeded_tests
from grader.simulator.decode.dataflow import (
    access_head,
    are_apart,
    is_sum,
    place_of,
    sources,
    targets,
)
from grader.simulator.decode.memory import (
    DATA_READ,
    HAS_BLOCK_SCOPE,
    HAS_CHECKS,
    HAS_TESTS,
    HAS_UPDATES,
    RELAXED,
    SCOPE_CTA,
    WAITING,
    has_fences,
    is_strong,
    reloads,
    without_narrow_fences,
)
from grader.simulator.decode.operands import address_or_none
from grader.simulator.decode.retries import confirmed_loads, swap_loads
from grader.simulator.decode.stack import users_of
from grader.simulator.decode.sync import (
    BY_SIZE,
    Values,
    compared_looks,
    pointer_stores,
    strong_roles,
)
from grader.simulator.ptx.call_copies import with_bodies
from grader.simulator.ptx.flow import reached, successors_of
from grader.simulator.ptx.model import STRONG_READS, Function, Instruction

READ, WRITE, MERGE, BEST, POINTER, RELOADED = 1, 2, 4, 8, 16, 32
"""What an instruction is to an update, in Insn.used: it reads the place, or writes there: what is
computed of the value; what another thread may have made of it too; what it was compared with.
POINTER: it stores a pointer to shared memory; RELOADED: see `reloads`."""
USED_SHIFT, SYNC_SHIFT = 8, 16
"""Where a role has what becomes Insn.used, and what the launch must know."""
WRITES = (WRITE | MERGE | BEST) << USED_SHIFT

_COMPUTES = regex("(add|sub|mul|mad|fma|div|rem|abs|neg|xor|not|shl|shr|lg2|ex2|sqrt)$")
_KEEPS = regex("(mov|cvt|cvta|and|or|min|max|lop3|bfe|bfi|prmt|shf)$")
"""Operations that change nothing when they are repeated, as of `v | bit`."""
_MOVES = ("mov", "cvta")


def memory_roles(f: Function, functions: Mapping[str, Function]) -> dict[int, int]:
    """The flags and other roles of a function's accesses to memory, by index in the body.

    Those of `strong_roles`; `swap_loads` count as strong: RELAXED; what updates consist of;
    `unheeded_tests`; and volatile loads whose value is data without being stored. No data is what
    `confirmed_loads` read; where fences of a block's scope confirm it, not what other blocks write.
    """
    roles = strong_roles(f, functions)
    for at in swap_loads(f, functions):
        roles[at] = roles.get(at, 0) | RELAXED
    for at in pointer_stores(f):
        roles[at] = roles.get(at, 0) | POINTER << USED_SHIFT
    for at in reloads(f):
        roles[at] = roles.get(at, 0) | RELOADED << USED_SHIFT
    accesses = _Accesses(f)
    tests = dict.fromkeys(unheeded_tests(f), HAS_TESTS << SYNC_SHIFT)
    for at, role in (accesses.updates() | tests).items():
        roles[at] = roles.get(at, 0) | role
    for at in accesses.loads:
        if at not in roles or not roles[at] % (1 << USED_SHIFT):
            roles[at] = roles.get(at, 0) | (DATA_READ if accesses.is_data(at, functions) else 0)
    volatile = [at for at in accesses.loads if "volatile" in f.body[at].op]
    data = [at for at in volatile if roles.get(at, 0) & (DATA_READ | WAITING) == DATA_READ]
    confirmed = confirmed_reads(f, functions, data)
    looks = compared_looks(f, volatile, accesses.all_copies, lambda at: accesses.made_of(at)[1])
    for at in looks.intersection(data):
        roles[at] &= ~DATA_READ
    others = {name: without_narrow_fences(g) for name, g in functions.items()} if confirmed else {}
    wide = confirmed_reads(others.get(f.name, f), others, confirmed)
    for at in confirmed:
        scope = 0 if at in wide else SCOPE_CTA | HAS_BLOCK_SCOPE << SYNC_SHIFT
        roles[at] = roles[at] & ~DATA_READ | scope
    return roles


def volatile_loads(f: Function) -> list[int]:
    """The volatile loads of a function, by index."""
    return [at for at in _Accesses(f).loads if "volatile" in f.body[at].op]


def data_reads(f: Function, functions: Mapping[str, Function]) -> set[int]:
    """The volatile loads, by index, whose value is data, or local, or compared with another's.

    It is none where it is only tested, waited for, or confirmed by a sequence lock.
    """
    roles, accesses, read = memory_roles(f, functions), _Accesses(f), volatile_loads(f)
    users = {at: accesses.made_of(at)[1] for at in read}
    waits = {at for at in read if roles.get(at, 0) & WAITING}
    tests = Counter(k for own in users.values() for k in own if f.body[k].op[:4] == "setp")
    kept = {
        at
        for at, own in users.items()
        if any(tests[k] > 1 or (f.body[k].op[:3] == "st." and at not in waits) for k in own)
    }
    kept -= confirmed_reads(f, functions, kept)
    kept -= compared_looks(f, read, accesses.all_copies, users.__getitem__)
    return kept | {at for at in read if roles.get(at, 0) & (DATA_READ | WAITING) == DATA_READ}


def confirmed_reads(
    f: Function, functions: Mapping[str, Function], loads: Iterable[int]
) -> set[int]:
    """Those of some volatile loads, by index, that a sequence lock confirms.

    It is in the function, which may call others that copy for it, or in each that calls it.
    """
    if not (every := set(loads)):
        return set()
    callers = [g for g in functions.values() if any(f.name in i.operands[:1] for i in g.body)]
    places = _confirmed_places(f, functions)
    if callers:
        places |= set.intersection(*(_confirmed_places(g, functions) for g in callers))
    return _Accesses(f).confirmed(every, functions) | {at for at in every if (f.name, at) in places}


def _confirmed_places(f: Function, functions: Mapping[str, Function]) -> set[tuple[str, int]]:
    """The volatile loads that a sequence lock confirms in a function with what it calls.

    By the names of functions and indices there. None where it calls none that it can have.
    """
    whole = with_bodies(f, functions)
    if all(name == f.name for name, _ in whole.places):
        return set()
    volatile = volatile_loads(whole.f)
    confirmed = _Accesses(whole.f).confirmed(volatile, functions)
    others = {whole.places[at] for at in volatile if at not in confirmed}
    return {whole.places[at] for at in confirmed} - others


class _Accesses:
    """The atomics and strong accesses of a function, and where their values go."""

    def __init__(self, f: Function) -> None:
        self.f, self.values = f, Values(f)
        heads = [access_head(i) for i in f.body]
        self.atomics = [at for at, head in enumerate(heads) if head == "atom"]
        self.loads = [at for at, head in enumerate(heads) if head == "ld" and self.strong(at)]
        any_reads = self.atomics or self.loads
        self.users = users_of(f) if any_reads else {}
        self.guards = {i.guard[0] for i in f.body if i.guard} if any_reads else set()
        self.reads = [at for at in self.atomics if self.is_used(f.body[at])]
        self.draws = {at for at in self.reads if ".cas." not in f.body[at].op}
        self.reads += self.loads if self.atomics else []
        self.copies = self.all_copies if self.reads else {}

    @cached_property
    def all_copies(self) -> dict[str, str]:
        """What each register that is written once is a copy of."""
        written = Counter(name for i in self.f.body for name in targets(i))
        copies = [i for i in self.f.body if i.op.startswith(_MOVES) and len(i.operands) == 2]
        return {i.operands[0]: i.operands[1] for i in copies if written[i.operands[0]] == 1}

    def strong(self, at: int) -> bool:
        """Whether an access has a memory order or is volatile."""
        return not STRONG_READS.isdisjoint(self.f.body[at].op.split("."))

    def is_used(self, i: Instruction) -> bool:
        """Whether an atomic's result is used."""
        return (x := i.operands[0]) != "_" and bool(self.users.get(x) or x in self.guards)

    def place(self, operand: str) -> str:
        """An operand or address, with copies replaced by what they are copies of."""
        return place_of(operand, self.copies)

    def updates(self) -> dict[int, int]:
        """The roles in updates, and checks before a draw, by index in the body."""
        roles = dict.fromkeys(self.bests(), BEST << USED_SHIFT)
        for at in self.reads:
            i = self.f.body[at]
            found = self.written_by(at)
            for write, what in found.items():
                roles[write] = roles.get(write, 0) | what << USED_SHIFT | HAS_UPDATES << SYNC_SHIFT
            if found:
                roles[at] = roles.get(at, 0) | READ << USED_SHIFT
            drawn = (self.place(self.f.body[k].operands[1]) for k in self.draws - {at})
            if self.place(i.operands[1]) in drawn and self.decides(at):
                roles[at] = roles.get(at, 0) | HAS_CHECKS << SYNC_SHIFT
        return roles

    def bests(self) -> list[int]:
        """The strong stores of a value that was compared by size with one that a load gives."""
        values = {
            k: i.operands[1]
            for k, i in enumerate(self.f.body)
            if access_head(i) == "st"
            and self.strong(k)
            and self.place(i.operands[1]) in self.by_size
        }
        made = [self.made_of(at)[0] for at in self.loads] if values else []
        return [k for k, value in values.items() if any(self.comparing(m, value) for m in made)]

    def decides(self, at: int) -> bool:
        """Whether a branch, or what a guard covers, depends on a value that is read."""
        made, _ = self.made_of(at, predicates=True)
        return not self.guards.isdisjoint(made)

    def written_by(self, at: int) -> dict[int, int]:
        """The writes that an update may end with which begins with a read."""
        made, users = self.made_of(at)
        found: dict[int, int] = {}
        for write in self.blind_writes(at):
            i = self.f.body[write]
            swap = len(i.operands) == 4
            value = i.operands[-1]
            if not self.values.may_reach(write, value, made, at):
                continue
            unused = self.comparing(made, value) | {write}
            if swap and (i.operands[2] not in made or users - unused):
                continue
            if value in made:
                found[write] = WRITE if made[value] else MERGE
            elif self.comparing(made, value):
                found[write] = BEST
        return found

    def blind_writes(self, read: int) -> list[int]:
        """The stores, exchanges and swaps at the place of a read that give no old value back."""
        where = self.place(self.f.body[read].operands[1])
        return [
            at
            for at, store, place in self.every_blind_write
            if place == where and (not store or read in self.atomics)
        ]

    @cached_property
    def every_blind_write(self) -> list[tuple[int, bool, str]]:
        """The writes that give no old value back, whether each is a store, and their places."""
        out = []
        for at, i in enumerate(self.f.body):
            head = access_head(i)
            blind = head == "atom" and {"exch", "cas"} & {*i.op.split(".")} and not self.is_used(i)
            if head == "st" or blind:
                out.append((at, head == "st", self.place(i.operands[0 if head == "st" else 1])))
        return out

    def comparing(self, made: Mapping[str, bool], value: str) -> set[int]:
        """The comparisons by size of a register with what is made of a read."""
        out, wanted = set(), self.place(value)
        for at in self.by_size.get(wanted, ()) if wanted[:1] == "%" else ():
            names = sources(self.f.body[at])
            if not made.keys().isdisjoint(names):
                out |= {at} if wanted in [self.place(x) for x in names if x not in made] else set()
        return out

    @cached_property
    def by_size(self) -> dict[str, set[int]]:
        """The comparisons by size, by the places of what they compare."""
        found: dict[str, set[int]] = {}
        for at, i in enumerate(self.f.body):
            if i.op.startswith("setp.") and i.op.split(".")[1] in BY_SIZE:
                for name in sources(i):
                    found.setdefault(self.place(name), set()).add(at)
        return found

    def made_of(self, at: int, *, predicates: bool = False) -> tuple[dict[str, bool], set[int]]:
        """The registers made of what is read, by whether repeating that would change the value.

        Also the instructions that use any of them otherwise.
        """
        made = dict.fromkeys(targets(self.f.body[at]), False)
        work, others = list(made), set[int]()
        while work:
            name = work.pop()
            for user in self.users.get(name, ()):
                i = self.f.body[user]
                head = i.op.partition(".")[0]
                computes = _COMPUTES.match(head) is not None
                chooses = predicates and head in ("setp", "selp")
                if not computes and not chooses and not _KEEPS.match(head):
                    others.add(user)
                    continue
                for new in targets(i):
                    if (computes or made[name]) > made.get(new, -1):
                        made[new] = computes or made[name]
                        work.append(new)
        for name in self.guarded.keys() & made.keys():
            others |= self.guarded[name]
        return made, others

    @cached_property
    def guarded(self) -> dict[str, set[int]]:
        """The instructions that each predicate guards."""
        found: dict[str, set[int]] = {}
        for at, i in enumerate(self.f.body):
            if i.guard:
                found.setdefault(i.guard[0], set()).add(at)
        return found

    def is_data(self, at: int, functions: Mapping[str, Function]) -> bool:
        """Whether a load's value goes into an atomic, is printed, or chooses what is accessed.

        A pointer or index that was published is tested, or followed by a fence.
        """
        if "volatile" not in self.f.body[at].op:
            return False
        made, users = self.made_of(at)
        if any(self.takes(self.f.body[k], made) for k in users):
            return True
        followed = any(self.follows(self.f.body[k], made) for k in users)
        return followed and not self.decides(at) and not has_fences(self.f, functions)

    def confirmed(self, loads: Iterable[int], functions: Mapping[str, Function]) -> set[int]:
        """Those of some loads that a sequence lock with all its fences confirms."""
        found = confirmed_loads(self.f, functions, loads)
        groups = (group for group, *lock in found if self.are_guarded(group, *lock))
        return set[int]().union(*groups)

    def are_guarded(self, loads: set[int], looks: Container[int], fences: Container[int]) -> bool:
        """Whether fences are between writes of what loads read and those of what looks read.

        A load of a place that is known reads nothing of another such place. Not asked of what is
        written only before a barrier that comes before the loads.
        """
        where = {
            k: place_of(i.operands[head in ("ld", "atom")], self.all_copies)
            for k, i in enumerate(self.f.body)
            if (head := access_head(i)) and is_strong(i.op)
        }
        numbers = {place for k, place in where.items() if k in looks}
        read = {where[k] for k in loads}
        barriers = {k for k, i in enumerate(self.f.body) if i.op.startswith(("bar.", "barrier."))}
        writes = {k for k in where if access_head(self.f.body[k]) != "ld"}
        before = self.values.before
        first = reached(loads, (), before) - reached(loads, barriers, before)
        signs = {k for k in writes - first if where[k] in numbers}
        data = writes - first - signs
        data = {k for k in data if not all(are_apart(where[k], place) for place in read)}
        then = {k: [*successors_of(self.f, k)] for k in range(len(self.f.body))}
        after = [reached(x, fences, then) for x in (signs, data)]
        return bool(signs) and after[0].isdisjoint(data) and after[1].isdisjoint(signs)

    def takes(self, i: Instruction, made: Container[str]) -> bool:
        """Whether an atomic or printf gets a value; a swap compares it with the present one."""
        head, *parts = access_head(i), *i.op.split(".")
        if head in ("atom", "red") and "cas" not in parts:
            return any(x in made for x in i.operands[1 + (head == "atom") :])
        return head == "st" and i.operands[1] in made and self.place(i.operands[0]) in self.printed

    def follows(self, i: Instruction, made: Container[str]) -> bool:
        """Whether an instruction accesses memory at an address made of a value."""
        head = access_head(i)
        if head not in ("ld", "st", "atom", "red"):
            return False
        where = i.operands[1 if head in ("ld", "atom") else 0]
        return address_or_none(where)[0] in made

    @cached_property
    def printed(self) -> set[str]:
        """The places in the stack frame that printf gets its arguments from."""
        given: dict[str, str] = {}
        out = set[str]()
        for i in self.f.body:
            if access_head(i) == "st" and ".param" in i.op:
                given[i.operands[0]] = i.operands[1]
            elif i.op.startswith("call") and "vprintf" in i.operands:
                out |= {x.partition("+")[0] for x in map(self.place, given.values())}
        bases = {i.operands[0]: i.operands[2] for i in self.f.body if is_sum(i)}
        starts = {bases[x] for x in out if x in bases}
        local = {x for x, start in bases.items() if start in starts}
        stores = [i for i in self.f.body if access_head(i) == "st" and ".local" in i.op]
        places = {self.place(i.operands[0]) for i in stores}
        return {x for x in places if x.partition("+")[0] in local}
