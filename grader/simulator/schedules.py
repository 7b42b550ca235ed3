"""Run a launch in other orders of its blocks and warps, or a sample of its blocks.

A kernel whose result is determined gives the same output in every order, up to the rounding of
atomic sums. An output that depends on the order is `order-dependent`: no race need be the cause, a
lock that is taken in another order may be.

What another order shows depends on the code. A lock whose result is ignored, or a flag that is read
once, can be right in the usual order only. So kernels that communicate through memory run in a few
other orders always (`ORDERS`).

A kernel may branch on its size, so that the small cases that are watched run other code than the
large one that is timed. A sample runs the blocks at the corners of the grid, and some spread evenly
between, at the full size. Each of their accesses is one that the whole launch makes too, so that a
sample reports nothing false. What depends on the missing blocks (outputs, counters, waits) is left
out.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import replace
from grader.launch import Array, Dim3, Finding, Launch, Trace
from grader.simulator.core.bindings import ANOTHER_WARP, LIMIT, TIMEOUT
from grader.simulator.core.run import Machine, Raw
from grader.simulator.decode.image import Image, draws
from grader.simulator.decode.memory import (
    HAS_CHECKS,
    HAS_ORDERS,
    HAS_TESTS,
    HAS_UPDATES,
    observes,
)

BY_ACCESS = frozenset({"race", "lost-update", "invalid-access", "uninitialized-read"})
"""The kinds of findings of a thread's accesses."""

CLOCKS = ("%clock", "%globaltimer")
"""How the names of registers begin that are clocks."""

SAMPLE_KINDS = BY_ACCESS | {"barrier-divergence"}
"""The kinds of findings that a sample of the blocks can show."""

ABORTS = frozenset({"timeout", "launch-failure"})
"""The kinds of findings that end a run, which other orders can show beside SAMPLE_KINDS."""

ROUNDING = 1e-4
"""The largest relative difference of floats that the order of atomic additions explains."""


ORDER_KINDS, ABREAST, PATIENT = 8, 6, 7
"""What an order's number modulo the first says: see core/machine/control.h."""

ORDERS = (6, 5, 8, 7, 15, 1, 2, 3, 4)
"""The other orders in which a kernel is run that waits, locks or frees. In 6 all run abreast; in 7
and 15 turns are so long that a wait for a limited time gives up."""

LONG_WAITS = (31, 23)
"""Those in which it is also run if it reads clocks: as 15 and 7, but a wait for 0.6 s gives up, and
not one for 0.3 ms alone. Only what its accesses do then counts: its end may be a watchdog's."""

GIVE_UP = (7, 15)
"""Those of ORDERS in which waits for a limited time, or number of looks, give up."""

BACKWARD = 7
"""That in which the last block and the last warp run first, and all others backwards."""

FEW_ORDERS = (5, 6, 8)
"""Those for a kernel in which atomics of several threads may interleave."""

TEST_ORDERS = (15, 7)
"""Those for a kernel that tests an mbarrier and goes on if its phase is not complete: a warp's turn
is long, and either the first or the last warp has the first one."""

ORDER_STEPS = 2_000_000
"""The most warp instructions in the usual order of a launch that is run in other orders unasked."""

ORDER_SHARE = 8
"""A run in another order may take this many times the steps of the usual one."""

ORDERS_SHARE, ORDERS_STEPS = 2, 1_000_000
"""These runs together take at most so many times the steps of the usual one, and so many more."""


def most_of_one(usual: int, of_a_block: int, launch: Launch) -> int:
    """The warp instructions of one run in another order, beside `usual` ones."""
    return min(of_a_block * prod(launch.grid), ORDER_SHARE * usual + ORDER_STEPS // 10)


def most_steps(usual: int) -> int:
    """The warp instructions of all runs in other orders, unasked, beside `usual` ones."""
    return ORDERS_SHARE * usual + ORDERS_STEPS


def chosen_orders(machines: Sequence[Machine], observed: int = 0) -> Sequence[int]:
    """Choose the other orders for a kernel.

    Args:
        machines: the variants; in the last one, if it is the optimized one, an atomic on global
            memory whose result is unused is a `red`; only there are the loops whole in which a
            library waits for an mbarrier.
        observed: of the usual run. Where plain accesses follow atomics of other warps by what
            others observed alone, these may observe nothing backwards.
    """
    if communicates(machines) or any(m.image.sync & HAS_CHECKS for m in machines):
        return ORDERS
    last = machines[-1].image
    if last.sync & HAS_TESTS:
        return TEST_ORDERS
    tells = observed & ANOTHER_WARP or (draws(last) and not reads_clocks(last))
    backward = (BACKWARD,) if tells else ()
    if updates(machines):
        return FEW_ORDERS + backward
    drawn = [op for op in last.ops if op.startswith("atom.") and ".shared." not in op]
    return (FEW_ORDERS if len(drawn) > 1 else ()) + backward


def reads_clocks(image: Image) -> bool:
    """Whether threads of a kernel read clocks, as one that waits for a limited time."""
    return any(x.startswith(CLOCKS) for i in image.instructions for x in i.operands)


def is_patient(schedule: int) -> bool:
    """Whether waits for a limited time give up in an order."""
    return schedule % ORDER_KINDS == PATIENT


def updates(machines: Sequence[Machine]) -> bool:
    """Whether a thread writes to a place what it made of what it read there, by an atomic.

    Only inlined code shows it: both variants are run in other orders.
    """
    return any(machine.image.sync & HAS_UPDATES for machine in machines)


def communicates(machines: Sequence[Machine]) -> bool:
    """Whether threads of a kernel wait for each other, lock, or free memory that others may use.

    Fences and scopes matter only where a thread uses the value of a strong load or an atomic, or
    has a fence after an atomic: it acquires what others released there in some orders alone, even
    if it ignores the value.

    Args:
        machines: as in `chosen_orders`.
    """
    images = [machine.image for machine in machines]
    if any(image.waits or "free" in image.runtime for image in images):
        return True
    orders = any(image.may_wait and image.sync & HAS_ORDERS for image in images)
    ops = images[-1].ops
    first = next((at for at, op in enumerate(ops) if op.startswith("red.")), len(ops))
    acquires = any(op.startswith(("membar", "fence")) for op in ops[first:])
    return orders and (acquires or any(map(observes, ops)))


def strong_loads(image: Image) -> frozenset[int]:
    """The program counters of the loads that may give old values."""
    if not image.exact:
        return frozenset()
    return frozenset(
        pc
        for pc, op in enumerate(image.ops)
        if op.startswith("ld.") and observes(op) and not {"local", "param"} & set(op.split("."))
    )


def sampled_blocks(grid: Dim3, count: int) -> tuple[int, ...]:
    """Choose `count` blocks of a grid, corners first.

    Returns their numbers, x fastest; empty, which means all blocks, for a `count` of 0 or of at
    least all of them.
    """
    total = prod(grid)
    if not count or total <= count:
        return ()
    x, y, _ = grid
    corners = (0, total - 1, x - 1, x * (y - 1), total - x)
    between = ((2 * k + 1) * total // (2 * count) for k in range(count))
    return tuple(dict.fromkeys((*corners, *between)))[:count]


def sample_trace(trace: Trace) -> Trace:
    """Keep what a sample can show: the findings of SAMPLE_KINDS, whether or not it ended."""
    findings = tuple(f for f in trace.findings if f.kind in SAMPLE_KINDS)
    return Trace("sim", findings, toolchain=trace.toolchain, seconds=trace.seconds)


def found_in_order(raw: Raw, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Keep the findings that a run in another order adds to those of the usual one.

    A run that reaches a limit may be slow in its order and no more, so that only a proven timeout
    counts: a loop that repeats its values, or threads that all wait for each other.

    Args:
        raw: the run, the one that did not end if there are several.
        findings: what was found in it.
    """
    limits = raw.reports["kind"] == LIMIT
    limits |= (raw.reports["kind"] == TIMEOUT) & (raw.reports["extra"] == 0)
    ends = ABORTS - {"timeout"} if limits.any() else ABORTS
    return tuple(
        replace(f, message=f"{f.message}, in another order of blocks and warps than the usual one")
        if f.kind in ends
        else f
        for f in findings
        if f.kind in SAMPLE_KINDS | ends
    )


def order_findings(
    usual: Raw, others: Iterable[Raw], launch: Launch, names: tuple[str, ...]
) -> tuple[Finding, ...]:
    """Report each output that differs between the usual order and other ones.

    Args:
        usual: the run in the usual order.
        others: the runs in other orders.
        launch: the launch.
        names: the names of the kernel's parameters.
    """
    worst: dict[int, Finding] = {}
    for other in others:
        if not (usual.ended and other.ended):
            continue
        for index, finding in _differences(usual, other, launch, names):
            old = worst.get(index)
            worst[index] = finding if old is None or finding.count > old.count else old
    return tuple(worst.values())


def _differences(
    usual: Raw, other: Raw, launch: Launch, names: tuple[str, ...]
) -> list[tuple[int, Finding]]:
    return [(k, _finding(name, a, b)) for k, name, a, b in _changed(usual, other, launch, names)]


def _changed(
    usual: Raw, other: Raw, launch: Launch, names: tuple[str, ...]
) -> Iterator[tuple[int, str, NDArray[np.generic], NDArray[np.generic]]]:
    """The outputs whose bytes differ: their numbers and names, and both contents."""
    for a, b in zip(usual.buffers, other.buffers, strict=False):
        if a.argument is None or np.array_equal(a.data, b.data):
            continue
        array = launch.args[a.argument]
        if isinstance(array, Array) and array.read_back:
            name = names[a.argument] if a.argument < len(names) else array.name
            yield a.argument, name, a.data.view(array.dtype), b.data.view(array.dtype)


def _differing(a: NDArray[np.generic], b: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which elements differ; two that are not numbers are alike."""
    differ: NDArray[np.bool_] = a != b
    if np.issubdtype(a.dtype, np.inexact):
        both_nan = np.isnan(a.astype(np.complex128)) & np.isnan(b.astype(np.complex128))
        differ &= ~both_nan
    return differ


def _finding(name: str, a: NDArray[np.generic], b: NDArray[np.generic]) -> Finding:
    differ = _differing(a, b)
    count = int(np.count_nonzero(differ))
    first = int(np.argmax(differ))
    what = (
        f"`{name}` depends on the order of blocks and warps: {count} of {a.size} elements differ "
        f"between two orders, first {name}[{first}]: {a[first]} or {b[first]}"
    )
    small = np.issubdtype(a.dtype, np.inexact) and _relative(a, b) < ROUNDING
    hint = (
        "Expect the last digits to vary: atomic additions round differently in each order."
        if small
        else "Make the result independent of which thread or block runs first."
    )
    return Finding(
        "order-dependent",
        "info" if small else "warning",
        what,
        count=count,
        space="global",
        variable=name,
        hint=hint,
    )


def _relative(a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    """The largest relative difference; infinite when an element is not finite."""
    wide = np.result_type(a.dtype, np.float64)
    x, y = a.astype(wide), b.astype(wide)
    scale = np.maximum(np.abs(x), np.abs(y))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(scale > 0, np.abs(x - y) / scale, 0.0)
    return float(np.max(ratio)) if np.all(np.isfinite(ratio)) else float("inf")


def output_difference(usual: Raw, other: Raw, launch: Launch, names: tuple[str, ...]) -> str:
    """The first element of an output that differs by more than rounding, in words, or ""."""
    return lasting_difference([usual], other, launch, names)


def lasting_difference(
    same: Sequence[Raw],
    other: Raw,
    launch: Launch,
    names: tuple[str, ...],
    again: Sequence[Raw] = (),
    stale: Sequence[Raw] = (),
) -> str:
    """As `output_difference`, of the outputs that are the same in some runs.

    Args:
        same: these runs.
        other: the run that differs.
        launch: the launch.
        names: the names of the kernel's parameters.
        again: runs that must have the same value as `same` in the element that is named.
        stale: runs that must not.
    """
    vary = {k for raw in same[1:] for k in different_outputs(same[0], raw, launch)}
    for number, name, a, b in _changed(same[0], other, launch, names):
        finding = _finding(name, a, b)
        if number in vary or not finding.count or finding.severity == "info":
            continue
        differ = _differing(a, b)
        for is_right, one in (*((True, x) for x in again), *((False, x) for x in stale)):
            for buffer in (x for x in one.buffers if x.argument == number):
                differ &= _differing(a, buffer.data.view(a.dtype)) != is_right
        if differ.any():
            at = int(np.argmax(differ))
            return f"`{name}[{at}]` is {b[at]} instead of {a[at]}"
    return ""


def different_outputs(usual: Raw, other: Raw, launch: Launch) -> dict[int, NDArray[Any]]:
    """By argument, the outputs of another run that differ by more than rounding."""
    out: dict[int, NDArray[Any]] = {}
    for index, name, a, b in _changed(usual, other, launch, ()):
        found, array = _finding(name, a, b), launch.args[index]
        if found.count and found.severity != "info" and isinstance(array, Array):
            out[index] = b.reshape(array.shape)
    return out


def with_steady_outputs(launch: Launch, runs: Sequence[Raw]) -> Launch:
    """The launch, of whose outputs only those are read back that are the same in some runs.

    Args:
        launch: the launch.
        runs: those with consistent memory that ended, the usual one first; none if too few did.
    """
    vary = {k for raw in runs[1:] for k in different_outputs(runs[0], raw, launch)}
    return without_outputs(launch, vary if runs else range(len(launch.args)))


def without_outputs(launch: Launch, numbers: Container[int]) -> Launch:
    """The launch, of whose arguments some are not read back."""
    args = (
        replace(x, read_back=False) if isinstance(x, Array) and k in numbers else x
        for k, x in enumerate(launch.args)
    )
    return replace(launch, args=tuple(args))


def same_outputs(usual: Raw, other: Raw, launch: Launch) -> bool:
    """Whether two runs leave the same bytes in each output."""
    return next(_changed(usual, other, launch, ()), None) is None


def trees(raw: Raw, array: int) -> list[int] | None:
    """By element of an array of parents, the first element of its tree; None if it has none."""
    data = next(b.data for b in raw.buffers if b.argument == array)
    at = data[: data.size // 4 * 4].view(np.int32).astype(np.int64)
    if not at.size or at.min() < 0 or at.max() >= at.size:
        return None
    for _ in range(at.size.bit_length()):
        at = at[at]
    first = np.full(at.size, at.size)
    np.minimum.at(first, at, np.arange(at.size))
    return first[at].tolist() if (at[at] == at).all() else None


def is_mixture(usual: Raw, result: Raw, more: Sequence[Raw], launch: Launch) -> bool:
    """Whether each element of a run's outputs is the usual one or that of one of more runs.

    Then it may be what one more order gives.
    """
    for number, _, a, b in _changed(usual, result, launch, ()):
        left = _differing(a, b)
        for buffer in (x for one in more for x in one.buffers if x.argument == number):
            left &= _differing(buffer.data.view(a.dtype), b)
        if left.any():
            return False
    return True
