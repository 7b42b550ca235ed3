"""Which reports of a run follow from others: a cause comes before what it makes go wrong.

A thread that reads a value in a race, or a value that nothing has written, goes on with it. What
the value then decides is a consequence: the address of a stray access, the branch around a barrier
that some threads pass by, a loop that never ends. The values are followed through registers, calls
and local variables, as far as the code of one image shows them; not through other memory, except
that all loads of a scalar variable give the value in question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property

from grader import regex
from grader.simulator.core import bindings as c
from grader.simulator.core.memory import POISON
from grader.simulator.decode.blocks import reachable
from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.module import Image
from grader.simulator.decode.operands import vector
from grader.simulator.diagnose.aborts import ALL_ARRIVED
from grader.simulator.diagnose.branching import Control, joined
from grader.simulator.diagnose.confirmation import Confirmation, comes_too_early
from grader.simulator.diagnose.copies import is_awaited_in_vain, is_copied_over
from grader.simulator.diagnose.local_places import LocalPlaces
from grader.simulator.diagnose.mbarriers import upsets_phases
from grader.simulator.diagnose.races import (
    ACROSS_BLOCKS,
    ATOMIC,
    OTHER_ATOMIC,
    OTHER_STORE,
    SAME_INSTRUCTION,
    SAME_VALUE,
    STORE,
    ProgramOrder,
    Report,
    leads_astray,
    skips_grid_barrier,
)
from grader.simulator.ptx.model import Instruction, is_load, plain_name

MOST_REPORTS = 64
"""So many reports of a run are related to each other, at most."""

_NAME = regex(r"[$%A-Za-z_][$%\w@]*")
_ARGUMENT = regex(r"_param_(\d+)\b")
_WRITING = ("st", "red", "atom", "cp", "mbarrier", "wmma", "sust")
_UNSET = (c.UNINIT, c.UNDEFINED)
_AT_BARRIERS = (c.DIVERGENCE, c.DEADLOCK, c.EARLY_EXIT, c.WARP_STUCK)
_ENDS = (c.TIMEOUT, c.LIMIT, c.STANDSTILL, c.ASSERTION)
_ACCESSES = (c.INVALID, c.STACK, c.RACE, c.UNINIT)
_SCALAR_BYTES = 8
_NULL_PAGE, _POINTER_LOW = 4096, 48
"""The bytes from a null pointer on, and the bits of a pointer that its index may change."""
_OWN_TRAP = regex(r"trap|assert|abort|unreachable")

Value = tuple[int, str, bool]
"""A register or parameter of a function, by number and name, and whether the function itself, or
one that it calls, made the value: such a value goes back to all its callers."""

Effects = tuple[frozenset[tuple[int, str]], frozenset[tuple[int, int]]]
"""Registers, each with its function, and blocks, each with its function."""

_JOINS = "mov.pred"
"""What sets the predicate of `a && b`, in the block of each of its ways."""


class Flow:
    """Where values go in an image: from registers to registers, through calls, to branches."""

    def __init__(self, values: Confirmation) -> None:
        self.image, self.values = values.image, values
        self._control = Control(self.image)
        self._decided: dict[int, frozenset[tuple[int, int]]] = {}
        self._effects: dict[frozenset[Value], Effects] = {}
        self._addressed: dict[int, frozenset[tuple[int, str]]] = {}
        self._returned: dict[frozenset[Value], bool] = {}

    @cached_property
    def locals(self) -> LocalPlaces:
        """Where local accesses are."""
        numbers = range(len(self.image.functions))
        return LocalPlaces(self.image, [self.values.readers_of(k) for k in numbers])

    @cached_property
    def calls_of(self) -> dict[int, list[int]]:
        """By function, the calls of it."""
        out = defaultdict(list)
        for pc, i in enumerate(self.image.instructions):
            if (callee := self._callee(i)) is not None:
                out[callee].append(pc)
        return out

    def lines_of(self, pc: int) -> set[int]:
        """The lines of an instruction and of the calls of its function."""
        return {self.image.locations[at].line for at in (pc, *self.calls_of[self.image.owner[pc]])}

    def _callee(self, i: Instruction) -> int | None:
        number_of = self._control.number.get
        named = map(number_of, i.operands[:2]) if i.op.startswith("call") else ()
        return next((number for number in named if number is not None), None)

    def after(self, seeds: Iterable[Value], *, addresses: bool = False) -> set[Value]:
        """The values that are computed from some; `addresses`: not those that are loaded there."""
        work, known = list(seeds), set[Value]()
        while work:
            value = work.pop()
            if value in known:
                continue
            known.add(value)
            owner, name, _ = value
            for pc in self.values.readers_of(owner).get(name, ()):
                if not (addresses and is_load(self.instruction(pc))):
                    work += self._next(pc, value, addresses=addresses)
        return known

    def effects(self, seeds: Iterable[Value]) -> Effects:
        """What the values that are computed from some decide: registers, and blocks by branches."""
        key = frozenset(seeds)
        if key not in self._effects:
            values = self.after(key)
            blocks = {*self.controlled(values)} if values else set[tuple[int, int]]()
            while more := self._joined(blocks, _JOINS) - values:
                values |= self.after(more)
                blocks |= self.controlled(values)
            names = frozenset((owner, name) for owner, name, _ in values)
            self._effects[key] = names, frozenset(blocks)
        return self._effects[key]

    def chosen(self, blocks: Iterable[tuple[int, int]]) -> set[tuple[int, str]]:
        """The registers that have another value if some blocks run, and what follows from these."""
        return {(owner, name) for owner, name, _ in self.after(self._joined(set(blocks)))}

    def _joined(self, blocks: set[tuple[int, int]], op: str = "") -> set[Value]:
        return joined(self.image, self.values.blocks, blocks, op) if blocks else set()

    def addressed(self, pc: int) -> frozenset[tuple[int, str]]:
        """The registers in the addresses of an instruction, each with its function."""
        if pc not in self._addressed:
            owner = self.image.owner[pc]
            self._addressed[pc] = frozenset((owner, x) for x in addressed(self.image, pc))
        return self._addressed[pc]

    def loaded(self, pc: int) -> set[Value]:
        """The values that are computed from what an instruction reads."""
        owner = self.image.owner[pc]
        return self.after((owner, name, True) for name in targets(self.image.instructions[pc]))

    def _next(self, pc: int, value: Value, *, addresses: bool) -> Iterator[Value]:
        """What an instruction makes of a value that it reads, or of an address."""
        i, (owner, name, inner) = self.image.instructions[pc], value
        if i.op.startswith("st.param"):
            place = _NAME.findall(i.operands[0])[0]
            yield owner, place, inner
            if place.startswith("func_retval") and inner:
                for site in self.calls_of[owner]:
                    yield from self._results(site)
        elif i.op.startswith("call"):
            callee, names = self._callee(i), _NAME.findall(i.operands[-1])
            passed = frozenset[Value]()
            if callee is not None and name in names:
                passed = frozenset(self._arguments(callee, names.index(name)))
            yield from passed
            if not (addresses and passed) or self._returns(passed):
                yield from ((owner, x, inner) for _, x, _ in self._results(pc))
        elif i.op.startswith("st."):
            if name in vector(i.operands[1]):
                for load in (*self.locals.loads_after(pc), *self.locals.loads_elsewhere(pc)):
                    own = self.image.owner[load]
                    yield from ((own, x, inner) for x in targets(self.instruction(load)))
        else:
            yield from ((owner, x, inner) for x in targets(i))

    def _returns(self, passed: frozenset[Value]) -> bool:
        """Whether a function returns an address that is computed from its argument."""
        if passed not in self._returned:
            self._returned[passed] = True  # where it calls itself
            names = {name for _, name, _ in self.after(passed, addresses=True)}
            self._returned[passed] = any(name.startswith("func_retval") for name in names)
        return self._returned[passed]

    def _results(self, call: int) -> Iterator[Value]:
        first = self.image.instructions[call].operands[0]
        names = _NAME.findall(first) if first.startswith("(") else ()
        return ((self.image.owner[call], name, True) for name in names)

    def _arguments(self, callee: int, number: int) -> Iterator[Value]:
        for name in self.values.readers_of(callee):
            if (found := _ARGUMENT.search(name)) and int(found[1]) == number:
                yield callee, name, False

    def loads_of(self, name: str) -> set[int]:
        """The loads from a variable of the module, by its name in the source."""
        return {pc for pc in self._uses(self._symbols(name))[0] if is_load(self.instruction(pc))}

    def writes_to(self, name: str, parameter: int | None) -> set[int] | None:
        """What writes to a variable of the module, or to what a parameter of the kernel points to.

        Args:
            name: the name of the variable in the source.
            parameter: the number of the parameter; None for a variable.

        Returns:
            The stores and atomics; None where its address is not known everywhere.
        """
        seeds = self._symbols(name)
        if parameter is not None:
            names = ((x, _ARGUMENT.search(x)) for x in self.values.readers_of(0))
            seeds = {(0, x, True) for x, at in names if at and int(at[1]) == parameter}
        uses, others = self._uses(seeds)
        if not seeds or any(self._hides(self.instruction(pc)) for pc in others):
            return None
        return {pc for pc in uses if self.instruction(pc).op.startswith(_WRITING)}

    def _hides(self, i: Instruction) -> bool:
        """Whether an instruction hands a value to memory, or to a function that is not known."""
        parts = i.op.split(".")
        return (parts[0] == "st" and "param" not in parts) or (
            parts[0] == "call" and self._callee(i) is None
        )

    def instruction(self, pc: int) -> Instruction:
        """The instruction at a program counter."""
        return self.image.instructions[pc]

    def _symbols(self, name: str) -> set[Value]:
        return {
            (number, symbol, True)
            for number in range(len(self.image.functions))
            for symbol in self.values.readers_of(number)
            if not symbol.startswith("%") and plain_name(symbol) == name
        }

    def _uses(self, seeds: Collection[Value]) -> tuple[set[int], set[int]]:
        """The accesses at addresses that are computed from some, and what else reads these."""
        found, others = set[int](), set[int]()
        for owner, register, _ in self.after(seeds, addresses=True):
            for pc in self.values.readers_of(owner).get(register, ()):
                (found if register in addressed(self.image, pc) else others).add(pc)
        return found, others

    def controlled(self, values: Collection[Value]) -> frozenset[tuple[int, int]]:
        """The blocks that branches on some values decide about, those of callees included."""
        return self._control.controlled({(owner, name) for owner, name, _ in values})

    def decided_by(self, pc: int) -> frozenset[tuple[int, int]]:
        """The blocks that what an instruction loads decides about."""
        if pc not in self._decided:
            self._decided[pc] = self.controlled(self.loaded(pc))
        return self._decided[pc]

    def repeats(self, pc: int) -> bool:
        """Whether what an instruction loads decides whether it is repeated."""
        return self.values.blocks.get(pc) in self.decided_by(pc)


def addressed(image: Image, pc: int) -> set[str]:
    """The registers in the addresses of an instruction."""
    operands = image.instructions[pc].operands
    return {name for x in operands if x.startswith("[") for name in _NAME.findall(x)}


class Consequences:
    """What the reports of one image follow from."""

    def __init__(self, flow: Flow, order: ProgramOrder) -> None:
        self.flow, self.order, self.image = flow, order, flow.image

    def causes(self, reports: Sequence[Report], text: Callable[[int], str]) -> list[set[int]]:
        """For each report, the numbers of those that it follows from and that not follow from it.

        Args:
            reports: the reports of a run.
            text: the text of a line of the source.
        """
        places = [(r.kind, r.line, r.line2, r.target.name) for r in reports]
        first = {place: k for k, place in reversed(list(enumerate(places)))}
        chosen = sorted(range(len(reports)), key=lambda k: first[places[k]] != k)[:MOST_REPORTS]
        own = [reports[k] for k in chosen]
        then = [[n for n in self._led_to(r, own, text) if n != k] for k, r in enumerate(own)]
        every = [set(reachable(then, k)) - {k} for k in range(len(own))]
        found = dict[int, set[int]]()
        for n, k in enumerate(chosen):
            before = (m for m, follow in enumerate(every) if n in follow and m not in every[n])
            found[k] = {chosen[m] for m in before}
        return [found.get(k, found.get(first[places[k]], set())) for k in range(len(reports))]

    def certain(self, reports: Sequence[Report], causes: Sequence[set[int]]) -> set[int]:
        """The writes of a scalar by several lanes at once that make an access leave its array.

        Any of them may win, which may be meant, but for this.
        """
        led = {n for k, r in enumerate(reports) if r.kind == c.INVALID for n in causes[k]}
        return {
            n
            for n in led
            if reports[n].kind == c.RACE and reports[n].has(SAME_INSTRUCTION)
            if reports[n].target.space == "shared" and _is_scalar(reports[n])
        }

    def _led_to(
        self, r: Report, reports: Sequence[Report], text: Callable[[int], str]
    ) -> Iterator[int]:
        """The numbers of the reports that follow from one directly."""
        names, blocks = self.flow.effects(self._values_of(r))
        chosen = self.flow.chosen(blocks) if r.kind in _UNSET else set()
        for k, other in enumerate(reports):
            follows = (
                _ends(r, other, text)
                or leads_astray(r, other, self.flow.lines_of)
                or is_copied_over(r, other)
                or skips_grid_barrier(r, other)
                or is_awaited_in_vain(other, r)
                or _holds_up(r, other)
                or _upsets(r, other)
                or _is_unset_pointer(r, other)
                or upsets_phases(r, other)
                or self._addresses(other, names)
                or (other.kind == c.INVALID and self._addresses(other, chosen))
                or self._is_decided(r, other, blocks)
            )
            if follows and not comes_too_early(r, other, self.order):
                yield k

    def _values_of(self, r: Report) -> set[Value]:
        """The values in question of a report: what its read gives, if that is not certain."""
        if r.kind in _UNSET:
            loads = {r.pc}
        elif r.kind == c.RACE and not r.has(SAME_VALUE) and self._is_unordered(r):
            loads = {r.pc} if not r.has(STORE) or r.has(ATOMIC) else set()
            loads |= {r.pc2} if not r.has(OTHER_STORE) or r.has(OTHER_ATOMIC) else set()
        else:
            return set()
        if _is_scalar(r):
            loads |= self.flow.loads_of(r.target.name)
        return {
            (self.image.owner[pc], name, True)
            for pc in loads
            for name in targets(self.image.instructions[pc])
        }

    def _is_unordered(self, r: Report) -> bool:
        """Whether no barrier of the code orders the accesses of a race."""
        if r.pc == r.pc2 or r.has(ACROSS_BLOCKS) or self.flow.values.are_apart(r.pc, r.pc2):
            return True
        return self.order.may_meet(r.pc, r.pc2)

    def _addresses(self, r: Report, names: Collection[tuple[int, str]]) -> bool:
        """Whether the address of an access is computed from some values."""
        if r.kind not in (*_ACCESSES, *_ENDS):
            return False
        both = (r.pc, r.pc2) if r.kind == c.RACE else (r.pc,)
        return any(not self.flow.addressed(pc).isdisjoint(names) for pc in both)

    def _is_decided(self, cause: Report, r: Report, blocks: Collection[tuple[int, int]]) -> bool:
        """Whether branches on the values of a report decide who comes to the place of another."""
        if cause.kind == c.RACE and r.kind not in (*_AT_BARRIERS, *_ENDS, c.INVALID, c.UNINIT):
            return False
        both = r.kind == c.RACE or (r.kind in _AT_BARRIERS and r.kind != c.EARLY_EXIT)
        at = self.flow.values.blocks
        return any(at.get(pc) in blocks for pc in ((r.pc, r.pc2) if both else (r.pc,)))


def _holds_up(r: Report, other: Report) -> bool:
    """Whether the threads that wait for an mbarrier are those that another one lacks."""
    full = r.kind == c.STANDSTILL and r.has(ALL_ARRIVED)
    return full and other.kind == c.STANDSTILL and not other.has(ALL_ARRIVED)


def _upsets(r: Report, other: Report) -> bool:
    """Whether threads wait forever in a block whose barrier they do not use as it counts."""
    wrong = r.kind == c.BARRIER_COUNT and other.kind == c.DEADLOCK
    return wrong and r.block == other.block


def _is_unset_pointer(r: Report, access: Report) -> bool:
    """Whether the pointer of an access may be what a report of its thread has without a value.

    Registers begin as 0, and memory with equal bytes. The pointer may come from another function.
    """
    if r.kind not in _UNSET or access.kind != c.INVALID or access.target.name:
        return False
    poisoned = access.address >> _POINTER_LOW == POISON * 0x0101
    own = (r.block, r.thread) == (access.block, access.thread)
    return own and (poisoned or access.address < _NULL_PAGE)


def _is_scalar(r: Report) -> bool:
    """Whether a report is about a variable of one element."""
    return r.target.space in ("shared", "global") and 0 < r.target.size <= _SCALAR_BYTES


def _ends(r: Report, trap: Report, text: Callable[[int], str]) -> bool:
    """Whether a trap is one that the compiler put behind an error that it has proven."""
    proven = trap.kind == c.TRAPPED and not _OWN_TRAP.search(text(trap.line))
    return proven and r.kind in (c.INVALID, *_UNSET)
