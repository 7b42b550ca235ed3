"""The texts of races: what is wrong between which accesses, and where a barrier is missing.

Where threads signal each other, the texts say which side lacks its half of the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from grader import dataclass, regex
from grader.launch import Finding, OtherAccess, Severity
from grader.simulator.diagnose.barrier_hints import (
    Meeting,
    barrier_advice,
    beside_atomic,
    meeting_hint,
    wider_scope,
)
from grader.simulator.diagnose.places import Gap, access_word
from grader.simulator.diagnose.races import (
    ACROSS_BLOCKS,
    ATOMIC,
    BLOCK_SCOPE,
    IN_FLIGHT,
    MIXED_SIZE,
    OTHER_ATOMIC,
    OTHER_STORE,
    SAME_INSTRUCTION,
    SAME_VALUE,
    STALE_CACHE,
    STORE,
    TEXTURE_CACHE,
    UNWAITED,
    WITHIN_WARP,
    Report,
    subject,
    volatile_fix,
)

NOT_AWAITED = ": volatile does not make the read wait for the write"
_HAZARDS = {"RAW": "read-after-write", "WAR": "write-after-read", "WAW": "write-after-write"}


def race_finding(
    r: Report, hazard: str, gap: Gap | None, *, strays: bool = False, waits: bool = True
) -> Finding:
    """The finding of a race.

    Args:
        r: the report; its partner is the access that the program orders first.
        hazard: RAW, WAR or WAW.
        gap: where a barrier is missing; None where no barrier can help.
        strays: whether one of the two instructions also accesses the array out of bounds.
        waits: whether blocks may wait for each other.
    """
    own = access_word(r.has(STORE), r.has(ATOMIC))
    other = access_word(r.has(OTHER_STORE), r.has(OTHER_ATOMIC))
    severity: Severity = (
        "info" if r.has(SAME_VALUE) else "warning" if r.has(SAME_INSTRUCTION) else "error"
    )
    return Finding(
        "race",
        severity,
        f"{_HAZARDS[hazard]} hazard on {r.target.space} `{r.target.element}`{_circumstance(r)}",
        space=r.target.space,
        hazard=hazard,
        access=own,
        variable=r.target.name,
        other=OtherAccess(r.line2, r.thread2, r.block2, other),
        hint=_fix(r, hazard, gap, strays, waits),
    )


def _circumstance(r: Report) -> str:
    if r.has(SAME_VALUE):
        return " (both threads write the same value)"
    if r.has(SAME_INSTRUCTION):
        return ": lanes of one warp write it in the same instruction, and any of them may win"
    if r.has(IN_FLIGHT):
        to = "to" if r.has(OTHER_STORE) else "from"
        return f": the asynchronous copy {to} it has not completed"
    if r.has(STALE_CACHE):
        reads = "a texture fetch" if r.has(TEXTURE_CACHE) else "`__ldg`"
        return f": {reads} reads through a cache that does not see what the kernel writes"
    if r.has(MIXED_SIZE):
        return ": two atomic accesses of different sizes, which are not atomic to each other"
    if r.has(UNWAITED):
        return NOT_AWAITED
    if r.has(WITHIN_WARP):
        return " within a warp (warp-level programming)"
    return " between two blocks" if r.has(ACROSS_BLOCKS) else ""


def _fix(r: Report, hazard: str, gap: Gap | None, strays: bool, waits: bool) -> str:
    across, no_barrier = r.has(ACROSS_BLOCKS), gap is None or r.has(ACROSS_BLOCKS)
    if r.has(STALE_CACHE):
        other = "through a pointer or a surface, not a texture" if r.has(TEXTURE_CACHE) else ""
        return (
            f"Read {subject(r)} {other or 'without `__ldg`'}, which is for data that no thread "
            "writes while the kernel runs."
        )
    if r.has(MIXED_SIZE):
        return (
            f"Access {subject(r)} with one type only. Atomics are atomic to each other when they "
            "access the same bytes."
        )
    if r.has(UNWAITED):
        return volatile_fix(r)
    if r.has(BLOCK_SCOPE):
        return (
            "An access or fence of a block's scope has effect within its own block only. Use the "
            "device's: __threadfence instead of __threadfence_block, thread_scope_device, or .gpu "
            "in PTX."
        )
    if hazard == "WAW" and no_barrier and r.target.size_hint:
        return r.target.size_hint
    if hazard == "WAW" and no_barrier and strays:
        return (
            f"Line {r.line} also accesses {subject(r)} out of bounds. Fix that first: guard the "
            "store, so that a thread without an element of its own does not store. An index past "
            "the end of its row reaches another thread's element; an atomic would only hide it."
        )
    if across and gap is not None and gap.grid and hazard != "WAW":
        return f"{_not_ordered(r, hazard)} {barrier_advice(gap, hazard, warp=False)}"
    return _across_blocks_fix(r, hazard, waits) if across else _within_block_fix(r, hazard, gap)


def _within_block_fix(r: Report, hazard: str, gap: Gap | None) -> str:
    """The fix of a race between two threads of a block."""
    if hazard == "WAW" and (gap is None or r.has(SAME_INSTRUCTION)):
        return (
            "Two threads write the same element. Check the index, let one thread write, "
            "or use an atomic."
        )
    if gap is None:
        return (
            "Several threads update the same element at once, and no barrier can order them. Use "
            "an atomic such as atomicAdd, or give each thread its own element."
        )
    advice = barrier_advice(gap, hazard, warp=r.has(WITHIN_WARP))
    if gap.kind == "library":
        return advice
    if gap.kind == "condition" and gap.inner and r.has(ATOMIC) != r.has(OTHER_ATOMIC):
        line = r.line if r.has(ATOMIC) else r.line2
        return (
            f"The condition of line {gap.line} reads {subject(r)} plainly, and the atomic of line "
            f"{line} may change it at any time. Test what an atomic returns: that of line {line}, "
            "or atomicAdd of 0, followed by __threadfence_block()."
        )
    if hazard != "WAW":
        return f"{_not_ordered(r, hazard)} {advice}"
    if gap.kind != "between" and r.has(ATOMIC) != r.has(OTHER_ATOMIC):
        return beside_atomic(*((r.line2, r.line) if r.has(ATOMIC) else (r.line, r.line2)))
    if gap.kind != "between":
        return f"Two threads write the same element. Check the index. {advice}"
    late = r.has(ATOMIC) and not r.has(OTHER_ATOMIC)
    late |= r.has(OTHER_ATOMIC) and not r.has(ATOMIC) and gap.first == r.line < r.line2 == gap.then
    early = f"Threads update {subject(r)} before another thread has set it. {advice}"
    if r.target.dynamic and r.pc != r.pc2:
        return _dynamic_memory_fix(r, gap, advice, early if late else "")
    if late:
        return early
    return f"Two threads write the same element. Check the index, or p{advice[1:]}"


def _dynamic_memory_fix(r: Report, gap: Gap, advice: str, early: str) -> str:
    """The fix of two writes to dynamic shared memory, in which arrays may overlap.

    `early` is that of an update before the element is set, which comes first; empty for others.
    """
    lines = f"lines {gap.first} and {gap.then}" if r.line != r.line2 else ""
    lines = lines or f"two statements of line {r.line}"
    apart = (
        "are for two arrays in it, begin the second behind the last byte of the first: an "
        "offset in bytes is an index times the size of an element."
    )
    if early:
        return f"{early} If {lines} {apart}"
    write = f"{lines[:1].upper()}{lines[1:]} write the same bytes of {subject(r)}."
    return f"{write} If they {apart} Else p{advice[1:]}"


def _across_blocks_fix(r: Report, hazard: str, waits: bool) -> str:
    """The fix of a race between two blocks."""
    atomic = r.has(ATOMIC) or r.has(OTHER_ATOMIC)
    if hazard == "RAW":
        return (
            f"A block reads {subject(r)} before another block has written it, and no barrier "
            "orders blocks. Read it in a second launch, behind grid.sync() in a cooperative "
            "launch, or after an atomic that signals the write; the writer calls __threadfence() "
            "before that atomic, and the reader after it."
            + " Put __syncthreads() between the thread that signals or waits and other threads of "
            "its block that write or read."
            * waits
            + " Where any value will do, read it with an atomic, too: atomicAdd of 0." * atomic
        )
    if atomic and hazard != "WAW":
        return (
            f"Blocks read and update {subject(r)} in no defined order, and no barrier orders "
            "blocks. Read it with an atomic too, such as atomicAdd of 0, or in a second launch."
        )
    if hazard == "WAR":
        return (
            f"Blocks write {subject(r)} while other blocks still read it, and no barrier orders "
            "blocks. Write the results to another array, or do it in a second launch, or behind "
            "grid.sync() in a cooperative launch."
            + " Where one thread waits for another block, put __syncthreads() between its wait and "
            "the accesses of other threads." * waits
        )
    return (
        f"Blocks access {subject(r)} in no defined order, and no barrier orders blocks. Let "
        "only one block write each element, or update it with an atomic such as atomicAdd."
    )


def _not_ordered(r: Report, hazard: str) -> str:
    """What goes wrong in a RAW or WAR hazard."""
    atomic = r.has(ATOMIC) or r.has(OTHER_ATOMIC)
    written, write = ("updated", "update") if atomic else ("written", "overwrite")
    if hazard == "RAW":
        return f"Threads read {subject(r)} before other threads have {written} it."
    return f"Threads {write} {subject(r)} before other threads have read it."


Pair = tuple[int, int]
"""The program counters of the accesses of a race, the earlier one second."""

_LIBRARY = regex(
    r"memory_order|[.>](?:load|store|exchange|compare_exchange_\w{4,6}|fetch_\w{2,3}|test_and_set|"
    r"clear|test|wait)\s*\("
)
"""An operation of libcu++, which takes a memory order."""
_SEVERAL = regex(r"[;}]\s*(?!else\b)[\w*(]")
"""A line with another statement."""
_LOOP, _CACHED = regex(r"\b(?:while|for|do)\b"), regex(r"\b__ld(?:c[agsv]|lu)\b")


@dataclass(frozen=True)
class Early:
    """A signal that precedes an access of its thread, which it has to follow.

    Attributes:
        line: the line of the signal.
        access: that of the access.
        first, last: the lines of the statement with the signal, or with a call that leads to it.
        behind: the last line of the statement with the access.
        fence: whether a fence has to precede the signal.
        barrier: the barrier that has to precede that, or nothing.
        arrives: whether it is an arrival at a barrier, which needs no fence.
    """

    line: int
    access: int
    first: int
    last: int
    behind: int
    fence: bool = False
    barrier: str = ""
    arrives: bool = False


@dataclass(frozen=True)
class Missing:
    """What makes the accesses of a race ordered, as trials show.

    Attributes:
        acquires: the line of a wait that has to acquire; 0 for none.
        releases: the line of a signal that has to release; 0 for none.
        widens: the lines of accesses or fences that have to be of the device's scope, not the
            block's. The race follows from that of an access.
        fences: whether these are fences, or one fence is enough at a wait or signal that has no
            memory order: it acquires and releases.
        reads, writes: the line of a plain read, and of a plain write, of what threads wait for,
            that have to be atomic; 0 for none.
        meeting: where all threads of a block have to meet for a signal or wait.
        early: a signal that has to follow an access.
    """

    acquires: int = 0
    releases: int = 0
    widens: tuple[int, ...] = ()
    fences: bool = False
    reads: int = 0
    writes: int = 0
    meeting: Meeting | None = None
    early: Early | None = None

    @property
    def is_plain(self) -> bool:
        """Whether no more is wrong than that accesses are plain."""
        ordered = self.acquires or self.releases or self.widens or self.meeting or self.early
        return bool(self.reads or self.writes) and not ordered


def order_hint(r: Report, missing: Missing, text: Callable[[int], str]) -> str:
    """The fix of a race that fences or memory orders end.

    Args:
        r: the report, with the earlier access as partner; of a meeting, that which the program
            orders first.
        missing: what was tried with success.
        text: the text of a line of the source.
    """
    if missing.widens:
        return _wider_hint(missing, text)
    if missing.meeting is not None:
        return meeting_hint(missing.meeting)
    fence = "__threadfence()" if r.has(ACROSS_BLOCKS) else "__threadfence_block()"
    if (early := missing.early) is not None:
        return _early_hint(r, early, fence)
    says, fixes = _plain_accesses(missing, text)
    if line := missing.acquires:
        same = line == r.line
        what = "a later access" if same else f"line {r.line}"
        says.append(
            f"Line {line} waits for another thread without acquire: {what} may take effect "
            "before the wait ends."
        )
        place = "the wait in " * (same or _SEVERAL.search(text(line)) is not None)
        own = "" if missing.fences else text(line)
        fixes.append(_order_fix(own, "acquire", f"{fence} after {place}line {line}", line))
    if line := missing.releases:
        same = line == r.line2
        what = "an earlier access" if same else f"line {r.line2}"
        says.append(
            f"Line {line} signals another thread without release: that thread may go on before "
            f"{what} takes effect."
        )
        place = "the signal in " * (same or _SEVERAL.search(text(line)) is not None)
        own = "" if missing.fences else text(line)
        fixes.append(_order_fix(own, "release", f"{fence} before {place}line {line}", line))
    fix = ", and ".join(fixes)
    run = "A run with atomics there" if 0 < missing.reads == missing.writes else "A run with that"
    return f"{' '.join(says)} {fix[:1].upper()}{fix[1:]}. {run} does not have this race."


def _plain_accesses(missing: Missing, text: Callable[[int], str]) -> tuple[list[str], list[str]]:
    """What is wrong with the plain accesses to what threads wait for, and the fixes."""
    says, fixes = list[str](), list[str]()
    if 0 < (line := missing.writes) == missing.reads and not _LOOP.search(text(line)):
        what = f"Line {line} tests a value by a plain read and writes it where that allows it"
        fix = f"use one atomicCAS in line {line} that expects the value tested, and go on only"
        return [f"{what}: another thread may write it between."], [f"{fix} where it succeeds"]
    if line := missing.writes:
        says.append(f"Line {line} writes plainly what other threads read or update meanwhile.")
        fixes.append(f"write it in line {line} by an atomic such as atomicExch")
    if line := missing.reads:
        loop, cached = _LOOP.search(text(line)), _CACHED.search(text(line))
        how = "waits for another thread by" if loop else "tests a value of other threads by"
        why = ", which the compiler may do only once, before the loop" * bool(loop)
        why = f": `{cached[0]}` loads from a cache, and is no atomic" if cached else why
        says.append(f"Line {line} {how} a plain read{why}.")
        fixes.append(f"read it in line {line} by atomicAdd of 0, or through a pointer to volatile")
    return says, fixes


def _wider_hint(missing: Missing, text: Callable[[int], str]) -> str:
    """The fix of a race that ends where accesses or fences have the device's scope."""
    *before, last = map(str, missing.widens)
    lines = f"Lines {', '.join(before)} and {last} order" if before else f"Line {last} orders"
    what = f"{lines} the threads of one block, and other blocks access this."
    if not missing.fences:
        return f"{what} {wider_scope(text(missing.widens[0]))} there, and this race ends too."
    own = text(missing.widens[0])
    fix = "Use the scope `.gpu`" if ".cta" in own else "Call __threadfence()"
    fix = "Use `cuda::thread_scope_device`" if "thread_scope" in own else fix
    instead = ", not __threadfence_block()" * ("__threadfence_block" in own)
    return f"{what} {fix} there{instead}. A run with that does not have this race."


def _early_hint(r: Report, early: Early, fence: str) -> str:
    """The fix of a race of an access that is behind its thread's signal."""
    calls = " and then ".join([early.barrier] * bool(early.barrier) + [fence] * early.fence)
    more = f", and call {calls} before it" if calls else ""
    return (
        f"Line {early.line} signals other threads before line {early.access} accesses "
        f"{subject(r)}: they may access it in between. Put the statement of line {early.line} "
        f"after line {early.behind}{more}. A run with that does not have this race."
    )


def by_scope(reports: Sequence[Report], missing: Mapping[Pair, Missing]) -> list[bool]:
    """By report, whether it is a race that follows from an access of a block's scope.

    Of the races of such accesses to one object, all but the first do. A race also follows where
    another variable has to be accessed by atomics.
    """
    out, known = list[bool](), set[str]()
    for r in reports:
        found = missing.get((r.pc, r.pc2))
        widens = bool(found and found.widens and not found.fences)
        lines = {found.reads, found.writes} - {0} if found else set[int]()
        widens |= bool(lines) and lines.isdisjoint((r.line, r.line2))
        out.append(widens or (r.has(BLOCK_SCOPE) and r.target.name in known))
        known |= {r.target.name} if r.has(BLOCK_SCOPE) else set()
    return out


def _order_fix(text: str, order: str, fence: str, line: int) -> str:
    return f"use memory_order_{order} in line {line}" if _LIBRARY.search(text) else f"call {fence}"
