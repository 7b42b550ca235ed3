"""The sentences of the simulator's findings, in compute-sanitizer's words."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from grader.compile.program import Parameter
from grader.launch import Array, Dim3, Finding, Launch, OtherAccess
from grader.simulator.core import bindings as c
from grader.simulator.diagnose.races import access_word
from grader.simulator.diagnose.reports import (
    ATOMIC,
    BAD_FREE,
    FREED,
    MISALIGNED,
    READONLY,
    STORE,
    Report,
)

# What a launch tells of a mistake that the place of an access does not show: a tile of another
# size than the block, elements that a signed type reads as negative numbers.

_UNSIGNED = {"uint8": "unsigned char", "uint16": "unsigned short"}
_SIGNED = {"uint8": frozenset({"char", "int8_t"}), "uint16": frozenset({"short", "int16_t"})}
"""The words of C types that have as many bytes as an unsigned dtype, and a sign."""


def beside_the_block(name: str, dims: tuple[int, ...], block: Dim3) -> str:
    """What is odd about a shared array of `dims` elements in a block of `block` threads: it is
    smaller every way, or the same number of times as large every way. Empty where nothing is: of
    an array or a block with one extent, a tile with a halo or with padding.
    """
    threads = tuple(reversed(block))[-len(dims) :]
    if len(dims) not in (2, 3) or min(threads) < 2:
        return ""
    smaller = all(d < t for d, t in zip(dims, threads, strict=True))
    times = {d / t for d, t in zip(dims, threads, strict=True)}
    larger = len(times) == 1 and all(k > 1 and k == int(k) for k in times)
    if not smaller and not larger:
        return ""
    said = f"`{name}` has {_by(dims)} elements, the block {_by(threads)} threads: "
    more = "" if smaller else ", or let each thread fill several elements"
    return f"{said}give the tile the block's size{more}"


def negative_elements(parameters: Iterable[Parameter], launch: Launch) -> str:
    """Which parameter's type reads elements of this launch as negative numbers that are none; empty
    where none does.
    """
    for own, array in zip(parameters, launch.args, strict=False):
        if not isinstance(array, Array) or array.data is None or array.dtype not in _UNSIGNED:
            continue
        words = set(re.findall(r"\w+", own.type))
        half = int(np.iinfo(array.dtype).max) // 2 + 1
        if words & _SIGNED[array.dtype] and "unsigned" not in words and np.any(array.data >= half):
            return (
                f"`{own.name}` is `{own.type}`, which is signed, and holds {array.dtype}: elements "
                f"from {half} on are read as negative numbers; declare it with "
                f"`{_UNSIGNED[array.dtype]}`"
            )
    return ""


def _by(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))


def memory(r: Report, *, looped: bool = False, signs: str = "") -> Finding:
    """An access that strays, or that reads what nobody wrote; `looped`: it lies in a loop; `signs`
    is what may have made its index negative.
    """
    own = access_word(r.has(STORE), r.has(ATOMIC))
    if r.kind == c.STACK:
        return Finding(
            "invalid-access",
            "error",
            "stack overflow: calls nest without end",
            space="local",
            hint="bound the recursion, or turn it into a loop",
        )
    if r.kind == c.UNINIT:
        what = f"read of {r.target.space} `{r.target.element}`, which no thread has written"
        hint = (
            f"write `{r.target.name}` before this line: load every element that is read, "
            "with a 0 where there is no data" + (r.target.remark and f"; {r.target.remark}")
            if r.target.space == "shared"
            else f"`{r.target.name}` holds garbage before the kernel writes it: "
            "assign, do not add to it"
        )
        return Finding(
            "uninitialized-read",
            "error",
            what,
            space=r.target.space,
            access="read",
            variable=r.target.name,
            hint=hint,
        )
    what, hint = _stray(r, own, looped, signs)
    return Finding(
        "invalid-access",
        "error",
        what,
        space=r.target.space,
        access=own,
        variable=r.target.name,
        hint=hint,
    )


def undefined(r: Report) -> Finding:
    """A local variable that is used before it is given a value."""
    t = r.target
    what = f"`{t.element}`" if t.name else "a local variable"
    return Finding(
        "uninitialized-read",
        "error",
        f"{what} is used before it is given a value (a local variable starts undefined)",
        space="local",
        access="read",
        variable=t.name,
        hint="give it a value on every path that leads here"
        + (f"; for instance, declare it as `{t.extent}`" if t.extent else "")
        + ("; what other threads fill has to be __shared__" if "[" in t.extent else ""),
    )


def _stray(r: Report, own: str, looped: bool, signs: str) -> tuple[str, str]:
    t = r.target
    whole = f"`{t.name}` ({t.extent})"
    if r.has(MISALIGNED):
        return (
            f"misaligned {own} of {r.bytes} bytes in {t.space} {whole if t.name else ''}".rstrip(),
            f"an access of {r.bytes} bytes needs an address that is a multiple of {r.bytes}",
        )
    if r.has(READONLY):
        return (
            f"{own} to {whole if t.name else 'memory'}, which is constant",
            "write to a pointer parameter instead",
        )
    if r.has(BAD_FREE):
        twice = r.has(FREED)
        return (
            "free of memory that was freed before"
            if twice
            else "free of a pointer not from malloc",
            "free each allocation once" if twice else "free only what malloc or new gave",
        )
    if r.has(FREED):
        return (
            f"{own} of {_plural(r.bytes, 'byte')} in memory that was freed",
            "use the pointer only until free()",
        )
    if not t.name:
        if t.space == "local":
            return (
                f"{own} of {_plural(r.bytes, 'byte')} outside the thread's local variables",
                "check the index of the local array",
            )
        if 0 <= t.offset < 4096:
            return (
                f"{own} of {_plural(r.bytes, 'byte')} through a null pointer",
                "check where the pointer comes from",
            )
        return (
            f"{own} of {_plural(r.bytes, 'byte')} at {t.offset & (1 << 64) - 1:#x}, "
            "which belongs to no buffer",
            "check where the pointer comes from: an index is added to the wrong one, or twice",
        )
    if t.dynamic and not t.size:
        return (
            f"out-of-bounds {own} of {_plural(r.bytes, 'byte')} at `{t.element}`: `{t.name}` is "
            "`extern`, and this launch gives no dynamic shared memory (0 bytes)",
            f"declare `{t.name}` with its size and without `extern`, or let the launch give bytes",
        )
    past = t.offset + r.bytes - t.size
    where = (
        f"{_plural(past, 'byte')} past the end of"
        if t.offset >= 0
        else f"{_plural(-t.offset, 'byte')} before"
    )
    return (
        f"out-of-bounds {own} of {_plural(r.bytes, 'byte')} at `{t.element}`, "
        f"{where} {t.space} {whole}",
        t.remark or _bounds(looped) + (f"; {signs}" if signs and t.offset < 0 else ""),
    )


def _bounds(looped: bool) -> str:
    loop = ", and look at the bounds of the loop" if looped else ""
    return f"compare the index with the size before this line{loop}"


def _plural(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


def barriers(r: Report) -> Finding:
    """Threads that do not meet."""
    other = OtherAccess(r.line2, r.thread2, r.block2, "wait")
    if r.kind == c.EARLY_EXIT and r.extra:
        return Finding(
            "barrier-divergence",
            "warning",
            "threads of one block come to this barrier a different number of times: some returned "
            "after fewer rounds, and it no longer waits for them",
            hint="let every thread make the same number of rounds, and put the condition around "
            "the work alone; without the return, the block would hang here",
        )
    if r.kind == c.EARLY_EXIT:
        return Finding(
            "barrier-divergence",
            "info",
            "some threads returned before this barrier; it does not wait for them",
            hint="legal, but every thread that returns must not be needed later",
        )
    if r.kind == c.WARP_MASK:
        return Finding(
            "barrier-divergence",
            "error",
            f"a thread calls this with a member mask ({r.extra:#010x}) that does not name it",
            hint="the mask must have the bit of every thread that calls",
        )
    if r.kind == c.WARP_STUCK:
        return Finding(
            "barrier-divergence",
            "error",
            "lanes named in the member mask never arrive here",
            other=other,
            access="wait",
            hint="every lane of the mask must reach the same call; take it out of the branch",
        )
    if r.kind == c.DEADLOCK:
        return Finding(
            "barrier-divergence",
            "error",
            "deadlock: threads of the block wait at barriers that the others never reach",
            other=other,
            access="wait",
            hint="take the barrier out of the branch, so that all threads of the block reach it",
        )
    return Finding(
        "barrier-divergence",
        "error",
        "threads of one block wait at different barriers",
        other=other,
        access="wait",
        hint="take __syncthreads() out of the branch or loop that only some threads take",
    )


def stops(r: Report) -> Finding:
    """The launch was aborted."""
    if r.kind in (c.TIMEOUT, c.LIMIT):
        return Finding(
            "timeout",
            "error",
            "the kernel does not end: it was still running here when its limit was up",
            hint="check that the loop's condition becomes false for every thread",
        )
    if r.kind == c.ASSERTION:
        return Finding(
            "launch-failure",
            "error",
            f"assertion {f'`{r.target.element}` ' if r.target.element else ''}failed "
            "(cudaErrorAssert)",
            hint="the launch was aborted here: find out why the condition is false",
        )
    what = {
        1: "a call through a pointer that is no function",
        2: "a switch jumps outside its table",
        3: "a barrier number or thread count that the hardware does not have",
    }.get(r.extra, "the kernel trapped")
    return Finding("launch-failure", "error", what, hint="the launch was aborted here")
