"""Pauses of threads before, behind and between the accesses that others may notice.

A thread that pauses lets all others run until they are done, wait, or change no memory any more
(`run_others` of core/machine/launch.c). One pause shows what is wrong where one thread is between
two accesses while others do all they do. Two more kinds are for what that does not show:

- a pause that ends while another thread is in the middle of what it does: a reader of a record
  that is replaced, and replaced again, finds it half written, or not there yet;
- two pauses of a thread, before it enters a critical section and in it. With old values, a thread
  that lacks a fence enters too, and both are there at once.

Fences are places of pauses, too: which one of two comes first decides what their threads know.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import product

from grader import replace
from grader.launch import Finding, Launch, Severity
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Machine, Raw
from grader.simulator.decisions import ANY_ORDER, TRIED, Decisions, between_threads, order_fix
from grader.simulator.decode.memory import WAITING, is_plain
from grader.simulator.decode.module import Image
from grader.simulator.edited_code import access_rows, ordering, with_fences
from grader.simulator.late import MOST_FENCES, moved, some_fences
from grader.simulator.order_runs import (
    LOOKS_IN_A_PAUSE,
    MOST_CHANGES,
    MOST_PAUSES,
    PAUSE_CHANGES,
    WHOLE_ORDERS,
    How,
    OneRun,
    OrderRuns,
)
from grader.simulator.pauses import (
    Access,
    Interruption,
    Place,
    Thread,
    Traces,
    backward_order,
    interruptions,
    order_for,
    some_of,
    strong_accesses,
)
from grader.simulator.schedules import (
    ABREAST,
    BY_ACCESS,
    GIVE_UP,
    ORDER_KINDS,
    PATIENT,
    output_difference,
    with_steady_outputs,
)

LONG_LOOK_STEPS = 1 << 23
"""The warp instructions of all runs together in which waits give up after many looks."""

MOST_WRONG = 4
"""The wrong runs that are made again with another memory order."""

FENCES = ("fence", "membar")
"""How the names of fences begin."""

MOST_RESTORED = 3
"""How often a list's head may be what it was, each time with another pause that ends then."""

MOST_PAUSED = 32
"""The fences before which a thread pauses, at most."""

MOST_READS = 6
"""The reads before which a thread pauses while others do a part of what they do."""

MOST_BEHIND = 6
"""The accesses behind which a thread pauses again, by the place of its first pause."""

MOST_SHORT = 40
"""The runs in which a thread pauses before a fence until another one executes one, at most."""

MORE_ORDERS = tuple(s for s in range(9, 104) if s % ORDER_KINDS not in (ABREAST, PATIENT))
"""Orders with short turns that are run with old values, where pauses show nothing."""


_IN_ONE_SECTION = (
    "Other threads write the value between line {0}, which reads it, and line {1}, which writes it:"
    " hold the lock from line {0} to line {1}, or read the value again under the second lock."
)


class Pauses:
    """The pauses of a launch's threads.

    Args:
        traces: of the usual order, of all threads abreast, and of the order backwards.
        machine: the code.
        launch: the launch.
    """

    def __init__(self, traces: Traces, machine: Machine, launch: Launch) -> None:
        self.traces, self.machine, self.launch = traces, machine, launch
        self.function = machine.module.functions[machine.image.functions[0].name]
        self.backward = How(backward_order(launch), whole_turns=True)

    def before(self, pc: int) -> How:
        """A pause before an instruction, in an order in which other threads can run then."""
        schedule = order_for(self.traces, pc, self.launch)
        return How(schedule, pause=pc, whole_turns=bool(schedule))

    def at(self, pc: int) -> list[How]:
        """This pause, and one abreast where no thread that runs before others comes there."""
        usual, abreast = (any(a.pc == pc for a in trace) for trace in self.traces[:2])
        more = [How(ABREAST, pause=pc)] if abreast and not usual else []
        return [self.before(pc), *more]

    def from_both_ends(self, pcs: Sequence[int]) -> list[How]:
        """The pauses of the first and of the last thread that comes to some instructions."""
        hows = dict.fromkeys(how for pc in pcs for how in self.at(pc))
        usual, _, backward = ({a.pc: a.thread for a in reversed(trace)} for trace in self.traces)
        last = {pc for pc, thread in backward.items() if thread != usual.get(pc)}
        return list(
            hows | dict.fromkeys(replace(self.backward, pause=pc) for pc in pcs if pc in last)
        )

    def in_the_middle(self, pcs: Sequence[int]) -> Iterator[How]:
        """Pauses before reads and atomics that end when others have changed memory a few times."""
        insns, ops = self.machine.arrays.insns, self.machine.image.ops
        waits = {int(pc) for pc in insns["pc"][insns["flag"] & WAITING != 0]}
        own = [pc for pc in pcs if not ops[pc].startswith("st.") and pc not in waits]
        tried = some_of(own, self.machine.image, MOST_READS)
        code = moved(self.machine, self.function.name, ends=pcs) if tried else None
        for changes, how in product(range(1, MOST_CHANGES), self.from_both_ends(tried)):
            yield replace(how, pause_changes=changes, machine=code)

    def of_old_values(self, wanted: Sequence[int], *, few: bool) -> list[How]:
        """Pauses in which loads may give old values.

        Args:
            wanted: the accesses before which threads pause.
            few: whether there are few steps, so that many runs can be made.
        """
        hows = [self.before(pc) for pc in some_of(wanted, self.machine.image, MOST_PAUSES)]
        short = [replace(how, pause_changes=n) for n in PAUSE_CHANGES for how in hows]
        return [*hows, *(short if few else ())]

    def more_of_old_values(self, wanted: Sequence[int]) -> list[How]:
        """The pauses of other threads, and before fences."""
        tried = some_of(wanted, self.machine.image, MOST_PAUSES)
        known = {self.before(pc) for pc in tried}
        fences = [fence for _, fence, _ in self._fences(MOST_FENCES)]
        ends = [*self.from_both_ends(tried), *(how for pc in fences for how in self._ends(pc))]
        return [how for how in dict.fromkeys(ends) if how not in known]

    def twice(self, how: How, loads: Iterable[int], wanted: Sequence[int]) -> Iterator[How]:
        """A run in which a load gave an old value, with another pause behind it."""
        first = min(loads)
        for pc in [pc for pc in wanted if pc >= first][:MOST_BEHIND]:
            yield replace(how, pause_behind=pc)

    def more(self) -> Iterator[How]:
        """Runs with a pause before a fence, or before and behind it, and with short turns.

        Of code in which blocks end behind fences.
        """
        some = self._fences(MOST_FENCES)
        for changes, (_, fence, _) in product(PAUSE_CHANGES, self._fences(MOST_PAUSED)):
            yield replace(self.before(fence), pause_changes=changes)
        for (first, fence, last), (_, until, _) in product(some, some):
            if first < fence < last:
                yield replace(self.before(first), pause_until=until, pause_behind=last)
        yield from map(How, MORE_ORDERS)

    def around_fences(self, wanted: Sequence[int]) -> list[How]:
        """Pauses before a fence, until another thread may have entered, and behind an access.

        Of code in which blocks end behind fences.
        """
        fences, long, short = self._fences(MOST_FENCES), list[How](), list[How]()
        for first, fence, last in fences:
            behind = [pc for pc in wanted if pc > fence][:MOST_BEHIND]
            known = [pc for pc in (first, last) if pc in wanted]
            own = self.before(known[0] if known else fence)
            long += [replace(own, pause=first, pause_behind=then) for then in behind]
            ends = product((first, fence), (until for _, until, _ in fences), behind)
            short += [
                replace(own, pause=pc, pause_until=until, pause_behind=then)
                for pc, until, then in ends
            ]
        short = [*dict.fromkeys(short)]
        return long + short[:: -(-len(short) // MOST_SHORT) or 1]

    def between_sections(self, runs: OrderRuns) -> tuple[Raw, Interruption, str] | None:
        """A plain write that another thread's write makes wrong, which came behind a read.

        Locks order the accesses, so that they do not race; the thread has none for a while between.
        Outputs count that are the same in all orders without an interruption.

        Returns a run with a pause before the thread takes the lock again, the write, and what then
        is wrong.
        """
        image = self.machine.image
        if runs.timed or not any(op.startswith("st.") and is_plain(op) for op in image.ops):
            return None
        usual = runs.run_if_any(How(traced=c.PLAIN_TOO))
        found = _split_updates(strong_accesses(usual.raw, image), image) if usual else {}
        whole = [How(s, whole_turns=True) for s in WHOLE_ORDERS if found and runs.affords(1)]
        same = [runs.usual, *(runs.run(how).raw for how in whole)]
        steady = with_steady_outputs(self.launch, same if all(x.ended for x in same) else [])
        for (read, write), (take, skips) in [*found.items()][:MOST_PAUSES]:
            plain = replace(self.before(take), traced=c.PLAIN_TOO)
            hows = (
                replace(plain, pause_skips=skips),
                *(replace(plain, pause=x) for x in (read, write + 1)),
            )
            wrong = list[tuple[Raw, Interruption, str]]()
            for run in map(runs.run_if_any, hows):
                if run is None or run.errors or not run.raw.ended:
                    return None
                what = output_difference(runs.usual, run.raw, steady, runs.names)
                lost = interruptions(run.raw, image, possible=True)
                one = next((x for x in lost if x.write == write), None)
                if what and one is None:
                    break  # it depends on the order without an interruption, too
                lines = (image.locations[pc].line for pc in (read, write))
                fix = _IN_ONE_SECTION.format(*lines)
                wrong += [(run.raw, replace(one, fix=fix), what)] if one and what else []
            else:
                if wrong:
                    return wrong[0]
        return None

    def _fences(self, most: int) -> list[tuple[int, int, int]]:
        return some_fences(self.function, self.machine.image, most)

    def _ends(self, pc: int) -> list[How]:
        """The pauses before an instruction in the usual order and backwards."""
        return [How(pause=pc), replace(self.backward, pause=pc)]


def _split_updates(trace: Sequence[Access], image: Image) -> dict[tuple[int, int], tuple[int, int]]:
    """The plain reads and writes of one place with an atomic between them, all of one thread.

    That atomic takes a lock or draws a number, and others also write the place, or read it there:
    where the thread has no lock in between, they may write it then.

    Returns by read and write the atomic, and how often its thread has come to it before the read.
    """
    others: dict[tuple[Place, int], set[Thread]] = {}
    for a in trace:
        if a.reads or a.changes:
            others.setdefault((a.place, a.pc if a.reads else -1), set()).add(a.thread)
    taken: dict[Thread, list[int]] = {}
    known: dict[tuple[Thread, Place], tuple[int, int]] = {}
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for a in trace:
        key, own = (a.thread, a.place), taken.setdefault(a.thread, [])
        if a.takes:
            own.append(a.pc)
        elif a.reads:
            known[key] = a.pc, len(own)
        elif key in known and image.ops[a.pc].startswith("st."):
            read, count = known.pop(key)
            users = others[a.place, read] | others.get((a.place, -1), set())
            if count < len(own) and users - {a.thread}:
                found.setdefault((read, a.pc), (own[count], own[:count].count(own[count])))
    return found


def pauses_before(pcs: Sequence[int], image: Image, timed: bool) -> list[tuple[int, How]]:
    """The pauses before some writes: long, and before a compare-and-swap short ones too.

    Of a list, all other threads together seldom restore what one has read. So a swap to a value
    that was loaded meanwhile, as the next element, also comes when its place is restored.
    """
    decisions = Decisions(image)
    swaps = [pc for pc in pcs if ".cas." in image.ops[pc]]
    short = {pc: (True, False) if pc in swaps else (False,) for pc in pcs}
    plain = [How(pause=pc, short_pause=x, hurries=timed) for pc in pcs for x in short[pc]]
    lists = [pc for pc in swaps if decisions.is_of_list(pc)]
    again = [How(pause=pc, restored=n) for n in range(1, MOST_RESTORED + 1) for pc in lists]
    chosen = plain[:MOST_PAUSES] + again[:MOST_PAUSES]
    return [(how.pause, how) for how in chosen if how.pause is not None]


def old_value(
    runs: OrderRuns,
    machine: Machine,
    run: OneRun,
    wrong: Sequence[tuple[How, OneRun]],
    what: str,
    *,
    certain: bool,
) -> Finding:
    """The finding of a read of an old value, with the order that an access lacks, as runs show.

    Args:
        runs: the runs of the launch.
        machine: the optimized variant.
        run: a run with such a read.
        wrong: the runs with such reads, and how they were made.
        what: what is wrong with the old value.
        certain: whether it is an error.
    """

    def is_right(change: Callable[[Machine], Machine | None], place: int | None = None) -> bool:
        for how, _ in wrong[:MOST_WRONG]:
            code = change(how.machine or machine)  # its blocks may end where a thread is awaited
            if code is None or not runs.affords(1):
                return False
            one = runs.run(replace(how.behind(place), machine=code))
            if runs.is_wrong(one) if one.reads else one.errors or not one.raw.ended:
                return False
        return True

    def with_orders(waits: Collection[int], signals: Collection[int]) -> bool:
        return is_right(lambda code: ordering(code, access_rows(code), waits, signals))

    read, old = run.reads[0], run.raw.reports[run.raw.reports["kind"] == c.OLD_VALUE][0]
    at = int(old["pc"])
    fix = order_fix(machine, with_orders)
    fenced = _is_fenced(machine.image, at)
    if not (fix or fenced) and is_right(lambda code: with_fences(code, [at]), at):
        fix = f"Put `__threadfence();` before the read in line {read.line}: {ANY_ORDER} {TRIED}"
    missed = int(old["pc2"])
    behind = not fix and _fenced_too_late(machine.image, at, missed)
    if behind and is_right(lambda code: with_fences(code, [missed + 1]), missed + 1):
        fix = f"Put `__threadfence();` behind the write in line {behind}: {ANY_ORDER} {TRIED}"
    fix = fix or between_threads(machine, at, missed) or read.hint
    message = f"{read.message}; with the old value, {what}"
    severity: Severity = read.severity if certain else "warning"
    return replace(read, message=message, severity=severity, hint=fix)


def _fenced_too_late(image: Image, read: int, write: int) -> int:
    """The line of a write, if another one and then a fence follow before a read; else 0."""
    heads = [image.ops[pc].partition(".")[0] for pc in range(write + 1, read)]
    fence = next((k for k, head in enumerate(heads) if head in FENCES), 0)
    stores = {"st", "atom", "red"}.intersection(heads[:fence])
    return image.locations[write].line if stores else 0


def _is_fenced(image: Image, read: int) -> bool:
    """Whether a fence is just before a read: another one between the two orders no more."""
    kinds = ((op.partition(".")[0], op) for op in reversed(image.ops[:read]))
    last = next((op for head, op in kinds if head in ("ld", "st", "atom", "red", *FENCES)), "")
    return last.startswith(("membar", "fence.sc"))


def given_up(runs: OrderRuns, image: Image, pauses: Sequence[How]) -> tuple[Finding, ...]:
    """The first wrong accesses of runs in which waits give up after many looks.

    What such a run leaves, and how it ends, may be right: it has waited for as long as it should.

    Args:
        runs: the runs of the launch.
        image: the code that runs.
        pauses: runs in which a thread pauses, who may have what others wait for.
    """
    limited, looks, left = runs.limited, runs.looks, LONG_LOOK_STEPS
    if looks <= LOOKS_IN_A_PAUSE or runs.timed:
        return ()
    for how in (*map(How, GIVE_UP), *pauses[:MOST_PAUSES]):
        if left < looks:
            break
        how = replace(how, limited=frozenset(limited), long_looks=2 * looks)
        run = runs.runs.one(left, how)
        left -= run.raw.steps
        wrong = tuple(f for f in run.errors if f.kind in BY_ACCESS)
        if wrong and not runs.harmless:
            return _with_wait(wrong, image, [*limited])
    return ()


def _with_wait(
    found: tuple[Finding, ...], image: Image, limited: Sequence[int]
) -> tuple[Finding, ...]:
    """Findings of a run in which waits gave up, of races with the only line that waits so.

    Of a lock that is given up, the finding itself says so.
    """
    lines = {image.locations[pc].line for pc in limited}
    swaps = any({"cas", "exch"} & {*image.ops[pc].split(".")} for pc in limited)
    if swaps or len(lines) > 1:
        return found
    hint = (
        "The loop around line {} may end before what it waits for, and line {} is executed all the "
        "same. Execute it only where the wait has succeeded."
    )
    where = max(lines)
    return tuple(
        replace(f, hint=hint.format(where, f.line)) if f.kind == "race" and f.line else f
        for f in found
    )
