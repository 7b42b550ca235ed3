"""Search the line at fault: rerun a kernel with one small change of its PTX after another.

Most changes make a launch no better, and a few repair the cheapest wrong launch. Those that repair
all other launches too, and break none, are on the line at fault: only that line is reported. A
kernel with two mistakes has no such line. The limits are numbers of trials and of instructions,
never seconds, so that every machine reports the same. `run` is the entry point of the sandbox.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache, cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, replace
from grader.feedback.ptx_edits import Change, insert_slots, line_at, list_changes
from grader.launch import Array, Arrays, Launch, unpack_launches
from grader.simulator.core import bindings as c
from grader.simulator.core.bindings import Core, core
from grader.simulator.core.encode import encode_insn
from grader.simulator.core.memory import Buffer, Loaded
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.decode.instructions import NotSimulated
from grader.simulator.decode.module import Image, decode, decode_instruction
from grader.simulator.decode.operands import OperandError
from grader.simulator.diagnose.races import index_of
from grader.simulator.exchange import LastStore
from grader.simulator.ptx.model import Function, Module, PtxError
from grader.simulator.ptx.parser import parse
from grader.simulator.ptx.source_map import with_source_lines

MAX_LINES = 3
"""The most lines that are reported, as of other origins."""

MAX_TRIALS = 1500
MAX_STEPS = 30_000_000
"""The most changes that are tried, and warp instructions that are run, in total."""

MAX_CANDIDATES = 50_000
"""The most changes of a kernel that are considered."""

MAX_CASE_STEPS = 3_000_000
"""A launch of more steps in one block is left out."""

MAX_STORES = 1 << 19
"""The most stores of a launch that are recorded; more stores localize none."""

GROWTH, MARGIN = 2, 200_000
"""A trial may take this many times the steps of the wrong launch, and this many more."""

CHUNK = 32
"""The changes that are tried before the limits are checked."""

FIRST = 64
"""The wrong elements that are looked at first."""

MAX_STORED = 6
"""The wrong launches whose first wrong element is traced to its store."""

Row = tuple[int, tuple[int, ...]]
"""The index of one of the core's instructions, and its replacement."""


@dataclass(frozen=True)
class Patch:
    """A change of the core's arrays: instructions, and the blocks whose guard is negated."""

    instructions: Sequence[Row]
    negated: Sequence[int]


class PatchableKernel:
    """A kernel that is decoded once and runs with one change after another.

    Raises NotSimulated and PtxError as decoding does.
    """

    def __init__(self, module: Module, kernel: str, core: Core) -> None:
        own = with_source_lines(module, kernel)
        functions = {n: insert_slots(f) if f.has_body else f for n, f in own.items()}
        module = replace(module, functions=functions)
        self.core = core
        self.image = decode(module, kernel, core.known, passes=False)
        self.machine = Machine(module, self.image)
        self.functions: list[Function] = [functions[f.name] for f in self.image.functions]
        self.number = {f.name: k for k, f in enumerate(self.functions)}
        self.first = [self.image.owner.index(k) for k in range(len(self.functions))]
        self.rows: dict[int, list[int]] = defaultdict(list)
        for at, pc in enumerate(self.machine.arrays.insns["pc"].tolist()):
            self.rows[pc].append(at)
        blocks = self.machine.arrays.blocks
        self.ends = {int(pc): at for at, pc in enumerate(blocks["pc"]) if blocks["guard"][at]}

    def counters(self, change: Change) -> Iterator[int]:
        """The program counters of the instructions that a change replaces."""
        return (self.first[self.number[change.function]] + at for at, _ in change.edits)

    def patch(self, change: Change) -> Patch | None:
        """Decode a change; None when the core has no such instruction."""
        operands = self.image.functions[self.number[change.function]].operands
        rows: list[Row] = []
        negated = []
        for pc, (_, i) in zip(self.counters(change), change.edits, strict=True):
            if i.op.startswith("bra"):
                negated.append(self.ends.get(pc, -1))
                continue
            try:
                insns = decode_instruction(i, operands, self.core.known, pc)
            except (NotSimulated, OperandError, ValueError, IndexError, KeyError, TypeError):
                return None
            if len(insns) != len(self.rows[pc]):
                return None
            changed = (encode_insn(insn, self.core) for insn in insns)
            rows += zip(self.rows[pc], changed, strict=True)
        return None if -1 in negated else Patch(rows, negated)


@dataclass(frozen=True)
class ExpectedRun:
    """A launch with its correct outputs: by argument, values and allowed absolute errors."""

    launch: Launch
    outputs: Mapping[int, tuple[NDArray[np.float64], NDArray[np.float64]]]


@dataclass(frozen=True)
class BaselineRun:
    """A run of the unchanged kernel; `raw` has its stores."""

    expected: ExpectedRun
    raw: Raw
    is_right: bool

    @cached_property
    def limits(self) -> Limits:
        """What a trial may take."""
        return Limits(GROWTH * self.raw.steps + MARGIN, stop_at_error=True)

    @cached_property
    def first_wrong(self) -> Mapping[int, NDArray[np.intp]]:
        """By argument, the first of its wrong elements, which are wrong after most trials too."""
        wrong = wrong_elements(self.raw, self.expected)
        return {n: np.flatnonzero(elements)[:FIRST] for n, elements in wrong.items()}

    def is_repaired(self, raw: Raw) -> bool:
        """Whether a trial makes it right."""
        return not are_wrong(raw, self.expected, self.first_wrong) and is_right(raw, self.expected)


class RepeatedRun:
    """A launch that runs many times in the same memory, while its machine's code is changed.

    To allocate and to describe the memory anew takes most runs of a search longer than the core.
    """

    def __init__(self, machine: Machine, launch: Launch, limits: Limits, memory: Loaded) -> None:
        self.machine, self.terms = machine, (launch, limits, False, memory)
        self._prepare()

    def _prepare(self) -> None:
        self.prepared = self.machine.prepared(*self.terms, ordered=True, leaps=True)
        places = (x for b in self.prepared.buffers for x in (b.data, b.hot, b.cell))
        self._starts = [(place, place.copy()) for place in places]

    def run(self) -> Raw:
        """Run it; the result is void when it runs again. Raises as `Machine.run` does."""
        p = self.prepared
        for place, start in self._starts:
            np.copyto(place, start)
        p.table["written"], p.results.visits[:] = 0, 0
        n = c.CLaunch.from_buffer_copy(p.terms)
        status = self.machine.core.run(n)
        if self.machine.wrote_input(p):
            self._prepare()
            return self.run()
        return self.machine.run(*self.terms) if status == c.AGAIN else p.result(n, status)


def outputs_of(raw: Raw, expected: ExpectedRun) -> Iterator[tuple[int, Buffer, NDArray[Any]]]:
    """Each output with a right value: its argument, its buffer, and the elements in it."""
    for b in raw.buffers:
        if b.argument is not None and b.argument in expected.outputs:
            array = expected.launch.args[b.argument]
            assert isinstance(array, Array)
            yield b.argument, b, b.data.view(array.dtype)


def out_of_bound(
    got: NDArray[Any], value: NDArray[np.float64], bound: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """A mask of the elements that differ by more than their bound."""
    got = got.astype(np.float64)
    with np.errstate(all="ignore"):
        fine: NDArray[np.bool_] = (np.abs(got - value) <= bound) | (got == value)
    return ~fine


def are_wrong(raw: Raw, expected: ExpectedRun, elements: Mapping[int, NDArray[np.intp]]) -> bool:
    """Whether one of these elements of the outputs, by argument, is out of its bound."""
    for argument, _, got in outputs_of(raw, expected):
        at = elements[argument]
        value, bound = (part.reshape(-1)[at] for part in expected.outputs[argument])
        if out_of_bound(got[at], value, bound).any():
            return True
    return False


def wrong_elements(raw: Raw, expected: ExpectedRun) -> dict[int, NDArray[np.bool_]]:
    """By argument, a mask of the elements that are out of their bound or were never written."""
    found = {}
    for argument, b, got in outputs_of(raw, expected):
        value, bound = (part.reshape(-1) for part in expected.outputs[argument])
        found[argument] = out_of_bound(got, value, bound)
        if not b.initialized and got.size:
            blank = b.unwritten(raw.global_shift).reshape(got.size, -1)
            found[argument] |= blank.any(axis=1)
    return found


def is_right(raw: Raw, expected: ExpectedRun) -> bool:
    """Whether a run ended without an error and with the correct outputs."""
    if not raw.ended or any(int(kind) != c.EARLY_EXIT for kind in raw.reports["kind"]):
        return False
    return not any(elements.any() for elements in wrong_elements(raw, expected).values())


class Search:
    """The search in one kernel; `baseline` has its wrong launches first, the cheapest first."""

    def __init__(
        self, kernel: PatchableKernel, launches: Sequence[ExpectedRun], threads: int
    ) -> None:
        self.kernel, self.threads = kernel, threads
        runs = (self.run_unchanged(launch) for launch in launches)
        self.runs = [r for r in runs if r is not None]
        self.baseline = sorted(self.runs, key=lambda r: (r.is_right, r.raw.steps))

    def run_unchanged(self, expected: ExpectedRun) -> BaselineRun | None:
        """Run a launch without a change; None when it takes too long."""
        limits = Limits(MAX_CASE_STEPS, trace=MAX_STORES, only_stores=True)
        raw = self.kernel.machine.run(expected.launch, limits, False)
        too_long = any(int(kind) in (c.TIMEOUT, c.LIMIT) for kind in raw.reports["kind"])
        if too_long or raw.accesses is None:
            return None
        kept = raw.accesses.copy()  # frees the rest of its buffer
        return BaselineRun(expected, replace(raw, accesses=kept), is_right(raw, expected))

    def lines(self) -> tuple[int, ...]:
        """The lines of the changes that make every launch right.

        Lines with the most such changes come first; none when the kernel is right already.
        """
        if not self.baseline or self.baseline[0].is_right:
            return ()
        candidates = sorted(self.candidates(), key=lambda change: change.rank)
        repaired: Counter[int] = Counter()
        spent = rank = 0
        for start in range(0, min(len(candidates), MAX_TRIALS), CHUNK):
            chunk = candidates[start : start + CHUNK]
            if spent > MAX_STEPS or (repaired and chunk[0].rank > rank):
                break
            for change, (repairs, steps) in zip(chunk, self.try_changes(chunk), strict=True):
                spent += steps
                if repairs:
                    repaired[change.line] += 1
                    rank = change.rank
        return tuple(line for line, _ in repaired.most_common(MAX_LINES))

    def candidates(self) -> list[Change]:
        """The changes of instructions that the cheapest wrong launch executed."""
        arrays, reached = self.kernel.machine.arrays, set()
        for number in np.flatnonzero(self.baseline[0].raw.visits[: len(arrays.blocks)]):
            block = arrays.blocks[number]
            reached.update(arrays.insns["pc"][block["first"] : block["end"]].tolist())
            reached.add(int(block["pc"]))
        made = (change for f in self.kernel.functions for change in list_changes(f))
        every = islice(made, MAX_CANDIDATES)
        return [x for x in every if not reached.isdisjoint(self.kernel.counters(x))]

    def try_changes(self, chunk: Sequence[Change]) -> list[tuple[bool, int]]:
        """Whether each change makes every launch right, and the steps that it took."""
        patches = [self.kernel.patch(change) for change in chunk]
        found: list[tuple[bool, int]] = [(False, 0)] * len(patches)

        def try_some(first: int) -> None:
            trials = Trials(self.kernel.machine, self.baseline)
            for number in range(first, len(patches), self.threads):
                if (patch := patches[number]) is not None:
                    found[number] = trials.trial(patch)

        if self.threads == 1:
            try_some(0)
            return found
        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(try_some, range(self.threads)))
        return found


class Trials:
    """Trials in one thread, with code of its own; of one chunk: later patches may add constants."""

    def __init__(self, machine: Machine, baseline: Sequence[BaselineRun]) -> None:
        own = machine.arrays
        self.machine = machine.with_code(own.insns.copy(), own.blocks.copy())
        self.baseline, self.launches = baseline, cache(self._launch)

    def _launch(self, number: int) -> RepeatedRun:
        run = self.baseline[number]
        memory = self.machine.loader.load(run.expected.launch)
        return RepeatedRun(self.machine, run.expected.launch, run.limits, memory)

    def trial(self, patch: Patch) -> tuple[bool, int]:
        """Whether all launches are right with one change, and the steps until one is not."""
        arrays, spent = self.machine.arrays, 0
        rows, negated = [at for at, _ in patch.instructions], list(patch.negated)
        unchanged = arrays.insns[rows]
        for at, row in patch.instructions:
            arrays.insns[at] = row
        arrays.blocks["negate"][negated] ^= 1
        try:
            for number, run in enumerate(self.baseline):
                raw = self.launches(number).run()
                spent += raw.steps
                if not run.is_repaired(raw):
                    return False, spent
            return True, spent
        finally:
            arrays.insns[rows] = unchanged
            arrays.blocks["negate"][negated] ^= 1


def find_first_stores(image: Image, run: BaselineRun) -> dict[int, LastStore]:
    """By argument, the last store to its first wrong element; none if it was never written."""
    expected, raw, rows = run.expected, run.raw, run.raw.accesses
    if rows is None or raw.traced > MAX_STORES:
        return {}
    stores = {}
    wrong = {
        index: elements
        for index, elements in wrong_elements(raw, expected).items()
        if elements.any()
    }
    for number, b in enumerate(raw.buffers):
        if b.argument is None or b.argument not in wrong:
            continue
        array = expected.launch.args[b.argument]
        assert isinstance(array, Array)
        first, size = int(np.argmax(wrong[b.argument])), np.dtype(array.dtype).itemsize
        at = rows["at"].astype(np.int64)
        inside = (at < (first + 1) * size) & (at + rows["bytes"] > first * size)
        hits = np.flatnonzero(inside & (rows["buffer"] == number))
        if hits.size:
            last = rows[hits[-1]]
            line = line_at(image.locations[int(last["pc"])])
            block = index_of(int(last["block"]), expected.launch.grid)
            thread = index_of(int(last["thread"]), expected.launch.block)
            stores[b.argument] = LastStore(first, line, block, thread)
    return stores


def run(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[dict[str, Any], Arrays]:
    """Search a request's kernel: the lines at fault, and the store of each first wrong element."""
    expected = []
    for k, launch in enumerate(unpack_launches(request["launches"], arrays)):
        indices = request["right"][k]
        outputs = {i: (arrays[f"{k}.value.{i}"], arrays[f"{k}.bound.{i}"]) for i in indices}
        expected.append(ExpectedRun(launch, outputs))
    try:
        kernel = PatchableKernel(parse(request["ptx"]), request["kernel"], core())
        search = Search(kernel, expected, request["threads"])
        lines = search.lines()
        wrong = [run for run in search.runs if not run.is_right][:MAX_STORED]
        stored = [
            [run.expected.launch.name, index, asdict(store)]
            for run in wrong
            for index, store in find_first_stores(kernel.image, run).items()
        ]
    except (NotSimulated, PtxError):  # every case was run before, and reported it
        return {"lines": [], "stored": []}, {}
    return {"lines": list(lines), "stored": stored}, {}
