"""Try whether lost updates have an effect, and find those of lanes in lock step.

Some programs may lose updates. A path to a root may be shortened less than it could be, a bound
that is improved until nothing changes is improved once more, and a hint where to search need not
be the newest one. Nothing in the code tells these from a counter that loses what it counts. The
outputs do: they are the same where each thread's read and write are one step.

Lanes in lock step all read a place before one of them writes it. So a claim in two steps
(`if (*taken == 0) *taken = 1`) lets several lanes in, in every order of blocks and warps, and no
order shows what is right. Where lanes run one after the other, each has written before the next one
reads. What such runs agree on is right, whichever lane comes first. An element of an output that is
another one in lock step has lost an update, if it is right as soon as the lanes run one after the
other from that read to that write alone: how often a lane tries again is up to the order, too. Not
so if it is right though all lanes read before one goes on: then other accesses on the way decide.

Lanes in lock step also arrive all at once, so that who waits for too few of them has waited for
all. `found_between_lanes` runs other threads when some lanes of an instruction have arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice, product

from grader import replace
from grader.launch import Array, Finding, Launch
from grader.simulator.core.bindings import LOST_UPDATE
from grader.simulator.core.run import Machine, Raw
from grader.simulator.decode.blocks import successors
from grader.simulator.decode.dataflow import access_head, sources
from grader.simulator.decode.module import Image
from grader.simulator.decode.operands import address_or_none
from grader.simulator.decode.sync import Values
from grader.simulator.diagnose.branching import block_of
from grader.simulator.diagnose.race_messages import NOT_AWAITED
from grader.simulator.edited_code import function_of
from grader.simulator.interleavings import Pauses
from grader.simulator.late import moved
from grader.simulator.order_runs import LANE_ORDERS, How, OneRun, OrderRuns
from grader.simulator.pauses import (
    MOST_TRACED,
    Access,
    Interruption,
    Place,
    Thread,
    Traces,
    are_drawn_by_lanes,
    changed_by_lanes,
    interruptions,
    some_of,
    strong_accesses,
    writes_after_reads,
)
from grader.simulator.ptx.flow import reached
from grader.simulator.schedules import (
    ABREAST,
    BY_ACCESS,
    lasting_difference,
    same_outputs,
    trees,
    with_steady_outputs,
    without_outputs,
)

MOST_PAUSES = 8
"""The writes before which a thread pauses, so that it loses what all others write."""

MOST_LOSS_STEPS = 1 << 23
"""The warp instructions that all these runs may take."""

LOSS_RUNS = 30
"""How many runs there are, at most."""

IN_STEP = (How(ABREAST), How(first_wins=True), How(ABREAST, first_wins=True))
"""Runs in which several threads read a place before one of them writes it."""

ONE_BY_ONE = tuple(
    How(s, whole_turns=True, lane_order=o) for s, o in product((0, 1, 2), LANE_ORDERS)
)
"""Runs in which threads run one after the other, each until it waits or ends."""

MOST_SPLIT = 2
"""The instructions between whose lanes other threads run, at most."""

_ONE_BY_ONE_HINT = (
    "The lanes of a warp may execute line {} one after the other, and what waits for them goes on "
    "after some of these. Wait until all have executed it."
)

MOST_PAIRS = 4
"""The pairs of a read and a write that are tried."""

Run = Callable[[How], OneRun]


def may_be_right(runs: OrderRuns, errors: Sequence[Finding], machine: Machine) -> bool:
    """Whether there are no errors but lost updates that have no effect.

    Args:
        runs: the runs of the launch; what is found out is kept there.
        errors: the errors.
        machine: the code that runs.
    """
    forests = {runs.names[k] for k in runs.forests}
    kinds = {f.kind for f in errors if not (f.variable in forests and NOT_AWAITED in f.message)}
    if kinds != {"lost-update"}:
        return not kinds
    if not runs.harmless:
        runs.left += min(LOSS_RUNS * runs.steps, MOST_LOSS_STEPS)
        lost = {f.variable for f in errors}
        places = {k for k, name in enumerate(runs.names) if name in lost}
        trials = LossTrials(runs.usual, machine, runs.launch, runs.run_if_any, places)
        runs.harmless, runs.forests = trials.have_no_effect(), trials.forests
    return runs.harmless


def read_back(launch: Launch) -> list[int]:
    """The numbers of the arguments that are read back."""
    return [k for k, x in enumerate(launch.args) if isinstance(x, Array) and x.read_back]


class LossTrials:
    """Runs of a launch that show whether its lost updates have an effect.

    Args:
        usual: the usual order.
        machine: the code that runs.
        launch: the launch.
        run: runs it; None where no steps are left.
        places: the arguments of which updates are lost.
    """

    def __init__(
        self,
        usual: Raw,
        machine: Machine,
        launch: Launch,
        run: Callable[[How], OneRun | None],
        places: Collection[int],
    ) -> None:
        self.usual, self.machine, self.launch, self.run = usual, machine, launch, run
        self.image, self.steady, self.places = machine.image, launch, places
        self.values: dict[str, Values] = {}
        self.forests = frozenset[int]()

    def have_no_effect(self) -> bool:
        """Whether no output differs between runs that lose nothing and runs that lose updates."""
        if not read_back(self.launch):
            return False
        apart = [self.right(replace(how, traced=True)) for how in ONE_BY_ONE]
        whole = [raw for raw in apart if raw and raw.traced <= MOST_TRACED and not self.loses(raw)]
        if len(whole) < len(apart):
            return False
        if not all(same_outputs(self.usual, raw, self.launch) for raw in whole):
            if not any(map(self.shortens, range(len(self.image.ops)))):
                return False
            self.steady = with_steady_outputs(self.launch, whole)
            judged = self.judged(self.usual)
            if not read_back(judged):
                return False
            if not all(self.agrees(raw, judged) for raw in whole):
                return False
        runs = [self.same(replace(how, traced=True)) for how in (How(), *IN_STEP)]
        traces = [strong_accesses(raw, self.image) for raw in runs if raw is not None]
        if None in runs:
            return False
        writes = some_of(writes_after_reads(traces), self.image, MOST_PAUSES)
        if not all(self.same(how) is not None for how in self.in_short_turns(writes)):
            return False
        pauses = Pauses(traces, self.machine, self.launch)
        return all(
            self.same(replace(pauses.before(pc), short_pause=short)) is not None
            for pc in writes
            for short in ((False, True) if ".cas." in self.image.ops[pc] else (False,))
        )

    def in_short_turns(self, writes: Sequence[int]) -> list[How]:
        """Runs abreast in which turns end behind each fence, with a pause before each write, too.

        Several threads are then where a lock that they took in two steps should let in one.
        """
        code = moved(self.machine, self.machine.image.functions[0].name)
        if code is None or not any(i.stops for i in code.image.instructions):
            return []
        return [How(ABREAST, pause=pc, machine=code) for pc in (None, *writes)]

    def right(self, how: How) -> Raw | None:
        """A run that ends without another error; None where that is not so."""
        one = self.run(how)
        if one is None or not one.raw.ended or any(f.kind != "lost-update" for f in one.errors):
            return None
        return one.raw

    def same(self, how: How) -> Raw | None:
        """Such a run, with the usual outputs."""
        raw = self.right(how)
        return raw if raw and self.agrees(raw, self.judged(raw)) else None

    def agrees(self, raw: Raw, judged: Launch) -> bool:
        """Whether a run leaves the usual outputs that are judged, and the trees of a forest."""
        forests = self.forests.intersection(read_back(judged)) if judged is not self.launch else ()
        known = [(trees(self.usual, k), trees(raw, k)) for k in forests]
        same = same_outputs(self.usual, raw, without_outputs(judged, forests))
        return same and all(own == other is not None for own, other in known)

    def judged(self, raw: Raw) -> Launch:
        """The launch with the outputs that a run must leave as the usual one does.

        A path that is shortened less than it could be may leave another forest, as orders do. So
        where no other updates are lost, the forest does not count. Where it is all that is left,
        its trees do.
        """
        lost = raw.reports[raw.reports["kind"] == LOST_UPDATE]
        if not all(map(self.shortens, lost["pc"].tolist())):
            return self.launch
        others = without_outputs(self.steady, self.places)
        left = read_back(others)
        vary = [k for k in read_back(self.launch) if k not in (*left, *self.places)]
        self.forests = frozenset(read_back(self.launch)) - frozenset(left)
        return others if left else without_outputs(self.launch, vary)

    def shortens(self, write: int) -> bool:
        """Whether an instruction of the kernel stores what a load gave, whose place a load chose.

        So a path to a root is shortened: `p[x] = p[p[x]]`.
        """
        found = function_of(self.machine, write)
        if found is None or access_head((body := found[0].body)[at := found[1]]) != "st":
            return False
        values = self.values.setdefault(found[0].name, Values(found[0]))
        loads = _made_by(values, at, body[at].operands[1:], copies=True)
        if not loads or -1 in loads:
            return False
        bases = [(k, address_or_none(body[k].operands[1])[0]) for k in loads]
        return all(base and _made_by(values, k, [base], copies=False) - {-1} for k, base in bases)

    def loses(self, raw: Raw) -> bool:
        """Whether a thread writes a place that another one wrote since it read there."""
        last: dict[Place, Access] = {}
        known: dict[tuple[Thread, Place], Access | None] = {}
        for a in strong_accesses(raw, self.image):
            key, newest = (a.thread, a.place), last.get(a.place)
            writes = a.overwrites and not self.image.ops[a.pc].startswith("red.")
            if writes and key in known and known[key] is not newest:
                return True
            if a.reads or a.takes:
                known[key] = newest
            if a.changes:
                last[a.place] = a
                known.update({key: a} if key in known else {})
        return False


def _made_by(values: Values, user: int, names: Sequence[str], *, copies: bool) -> set[int]:
    """The loads of shared or global memory that give what an instruction uses.

    Args:
        values: what a function's registers have.
        user: the instruction.
        names: the registers.
        copies: whether only copies of what is loaded count; else -1 stands for all else.
    """
    work, known, found = (
        [(user, str(name)) for name in names],
        set[tuple[int, str]](),
        set[int](),
    )
    while work:
        at, name = work.pop()
        makers = values.makers.get(name, [])
        stops = {k for k in makers if values.f.body[k].guard is None}
        for k in reached([at], stops, values.before).intersection(makers):
            i = values.f.body[k]
            head = access_head(i)
            if head == "ld" and not {"param", "const"} & {*i.op.split(".")}:
                found.add(k)
            elif head in ("ld", "atom") or (copies and head != "mov"):
                found.add(-1)
            else:
                new = {(k, x) for x in sources(i)} - known
                known |= new
                work += new
    return found


def lost_in_lock_step(
    usual: Raw, image: Image, run: Run, launch: Launch, names: tuple[str, ...]
) -> tuple[Interruption, str] | None:
    """A write that another lane's write makes wrong, and what follows from it.

    Args:
        usual: the usual order of the variant whose code runs, traced.
        image: its code.
        run: runs it.
        launch: the launch.
        names: the names of the kernel's parameters.

    Returns None where there is no such write, or nothing that all runs agree on differs.
    """
    found = list(islice(_pairs(usual, image), MOST_PAIRS)) if usual.ended else []

    def runs(hows: Iterable[How]) -> Iterator[Raw]:
        """Those of some runs that show anything: none behind one that does not end or fails."""
        for how in hows:
            one = run(how)
            if not one.raw.ended or one.errors:
                return
            yield one.raw

    apart = list[Raw]()
    for raw in runs(ONE_BY_ONE) if found else ():
        apart.append(raw)
        if not lasting_difference(apart, usual, launch, names):
            return None
    known = (apart, usual, launch, names)
    for one in found if len(apart) == len(ONE_BY_ONE) else ():
        lone = between(image, one.read, one.write)
        again = list(runs(How(whole_turns=True, lane_order=o, lone=lone) for o in LANE_ORDERS))
        if len(again) < len(LANE_ORDERS) or not lasting_difference(*known, again):
            continue
        late = between(image, one.read, one.write, behind=True)
        hows = (How(whole_turns=True, lane_order=o, lone=late) for o in LANE_ORDERS if late)
        stale = list(runs(hows))
        if what := lasting_difference(*known, again, stale):
            return one, what
    return None


def found_between_lanes(
    runs: OrderRuns, image: Image, traces: Traces, pause: Callable[[int], How]
) -> tuple[Finding, ...]:
    """The first wrong accesses of runs in which some lanes have changed a place, and others not.

    In lock step all lanes of an atomic arrive at once: who waits for too few of them, or for the
    bit of another lane, has waited for all.

    Args:
        runs: the runs of the launch.
        image: the code that runs.
        traces: of runs of that code.
        pause: the pause before an instruction.
    """
    if runs.timed:
        return ()
    lanes = changed_by_lanes(traces)
    for how in ONE_BY_ONE[: len(LANE_ORDERS)] if are_drawn_by_lanes(traces, image) else ():
        run = runs.run_if_any(how)
        if run is None:
            return ()
        if wrong := [f for f in run.errors if f.kind in BY_ACCESS]:
            return tuple(wrong)
        runs.keep(run.raw)
    for pc, order in product([*lanes][:MOST_SPLIT], LANE_ORDERS):
        for skips in {1, lanes[pc] - 1}:
            how = replace(pause(pc), lane_order=order, pause_skips=skips)
            run = runs.run_if_any(how)
            if run is None:
                return ()
            if wrong := [f for f in run.errors if f.kind in BY_ACCESS]:
                hint = _ONE_BY_ONE_HINT.format(image.locations[pc].line)
                return tuple(replace(f, hint=hint) if f.kind == "race" else f for f in wrong)
            if runs.is_wrong(run) and not runs.is_wrong(runs.run(replace(how, pause=None))):
                runs.keep(run.raw)
    return ()


def _pairs(usual: Raw, image: Image) -> Iterator[Interruption]:
    """The first interruption by a lane of the same warp for each read and write."""
    known = set[tuple[int, int]]()
    for one in interruptions(usual, image, in_warp=True, possible=True):
        if (one.read, one.write) not in known:
            known.add((one.read, one.write))
            yield one


def between(image: Image, read: int, write: int, *, behind: bool = False) -> tuple[int, ...]:
    """The numbers of the basic blocks on the ways from a read to a write of one function.

    Args:
        image: the code.
        read: the program counter of the read.
        write: that of the write.
        behind: whether to leave out the block of the read; none where the write is in it, too.
    """
    where = block_of(image.functions)
    (number, first), (_, last) = where[read], where[write]
    after = {k: successors(b) for k, b in enumerate(image.functions[number].blocks)}
    before = {at: [k for k, then in after.items() if at in then] for at in after}
    then = {*after[first]} | reached(after[first], {first}, after)
    ahead = {*before[last]} | reached(before[last], {first}, before)
    ways = set[int]() if first == last and read < write else then & ahead
    ways = (ways | {first, last}) - ({first} if behind else set[int]())
    start = sum(len(f.blocks) for f in image.functions[:number])
    return tuple(sorted(start + k for k in ways if not behind or first != last))
