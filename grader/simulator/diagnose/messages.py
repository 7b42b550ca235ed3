"""The texts of the simulator's findings, except those of races that the core shows.

Kinds and terms are compute-sanitizer's. Each message states what is wrong, without a place, which
the Finding has in its fields; each hint is a fix in the imperative.
"""

from __future__ import annotations

from grader.launch import Finding, OtherAccess, Severity
from grader.simulator.core import bindings as c
from grader.simulator.diagnose.confirmation import LAMBDA
from grader.simulator.diagnose.mbarriers import first_value_hint
from grader.simulator.diagnose.places import access_word
from grader.simulator.diagnose.races import (
    ATOMIC,
    BAD_FREE,
    FAILED_SWAP,
    FOREIGN_LOCAL,
    FOREIGN_SHARED,
    FREED,
    INNER_ARRAY,
    KNOWN_OUTSIDE,
    LATE,
    MISALIGNED,
    NO_EFFECT,
    NOT_GLOBAL,
    ODD_SIZE,
    OF_BLOCK,
    OTHER_ATOMIC,
    OTHER_STORE,
    READONLY,
    RESTORED,
    STORE,
    Report,
)
from grader.simulator.ptx.debug_info import PADDING

_MOST_NEGATIVE = 1 << 20
"""An index that is further below 0 is no small difference of unsigned numbers."""
_NULL_PAGE = 4096
"""Bytes: an address below this is an element of a null pointer."""
_IN_REGISTERS = (
    "C++ does not define what follows. Optimized code has the variable in registers or at another "
    "address, and gives no error; code compiled with -G does."
)


def memory_finding(
    r: Report, op: str, *, in_loop: bool = False, sign_hint: str = "", unoptimized: bool = False
) -> Finding:
    """The finding of an invalid access or of a read of uninitialized memory.

    Args:
        r: the report.
        op: the opcode of the access.
        in_loop: whether the access is in a loop.
        sign_hint: what may have made its index negative; empty if nothing is known.
        unoptimized: whether it is one of the debug variant, which has all variables in memory.
    """
    if r.kind == c.STACK:
        return Finding(
            "invalid-access",
            "error",
            "stack overflow: the recursion is too deep",
            space="local",
            hint="Limit the depth of the recursion, or replace it with a loop.",
        )
    if r.kind == c.UNINIT:
        return _uninitialized(r, op)
    own = access_word(r.has(STORE), r.has(ATOMIC))
    if r.has(KNOWN_OUTSIDE):
        what, hint = _known_outside(r, own)
    else:
        what, hint = _invalid(r, own, in_loop, sign_hint)
    of_debug_build = unoptimized and r.has(MISALIGNED) and r.target.space == "local"
    hint += f" {_IN_REGISTERS}" * of_debug_build
    return Finding(
        "invalid-access",
        "info" if r.has(INNER_ARRAY) else "warning" if of_debug_build else "error",
        what,
        space=r.target.space,
        access=own,
        variable=r.target.name,
        hint=hint,
    )


def _uninitialized(r: Report, op: str) -> Finding:
    t = r.target
    if t.space == "shared":
        hint = first_value_hint(t.name, op) or (
            f"Write `{t.name}` before this line: load every element that is read, and store 0 "
            "where there is no data."
        )
        hint += f" {t.size_hint}" if t.size_hint else ""
    else:
        hint = f"`{t.name}` starts uninitialized. Assign to it before you read it or add to it."
    why = f"read of {t.space} `{t.element}`, which no thread has written"
    return _unset_finding(r, why, t.space, hint)


def _unset_finding(r: Report, why: str, space: str, hint: str) -> Finding:
    """The finding of an uninitialized read, a warning where no output depends on its value."""
    unused, name = r.has(NO_EFFECT), r.target.name
    why += "; no output depends on its value" * unused
    severity: Severity = "warning" if unused else "error"
    kind, access = "uninitialized-read", "read"
    return Finding(kind, severity, why, space=space, access=access, variable=name, hint=hint)


def old_value_finding(r: Report) -> Finding:
    """The finding of a load that another thread's write need not precede, or of a late access."""
    other = access_word(r.has(OTHER_STORE), r.has(OTHER_ATOMIC))
    own = access_word(r.has(STORE), r.has(ATOMIC))
    element = f"{r.target.space} `{r.target.element}`"
    what = (
        f"this {own} of {element} may take effect after the {other} of line {r.line2}, which no "
        "fence orders behind it"
        if r.has(LATE)
        else f"this read of {element} may miss the write of line {r.line2}, which no fence orders "
        "before it"
    )
    first, then = (r.line, r.line2) if r.has(LATE) else (r.line2, r.line)
    where = f"after line {first} and before line {then}"
    where = "between the two accesses" if first == then else where
    return Finding(
        "race",
        "error",
        what,
        space=r.target.space,
        access=own,
        variable=r.target.name,
        other=OtherAccess(r.line2, r.thread2, r.block2, other),
        hint=f"Put `__threadfence();` {where}. Relaxed and "
        "volatile accesses to different addresses become visible in any order. Where a flag tells "
        "that data is ready, `memory_order_release` for its store and `memory_order_acquire` for "
        "its load do the same; between a store and a load that follows it only a fence or "
        "`memory_order_seq_cst` does.",
    )


def lost_update_finding(r: Report) -> Finding:
    """The finding of a read and a write that another thread's write comes between."""
    what = "another thread writes it between this thread's read and write"
    why = "even if each is atomic" if r.has(ATOMIC) else "and volatile does not change that"
    fix = "Use one atomic, such as atomicAdd or atomicMax, or lock both by one atomicCAS."
    fix = f"A read and a write are two steps, {why}. {fix}"
    if r.has(FAILED_SWAP):
        what = "atomicCAS changes nothing where another thread has written since this thread's read"
        fix = "Repeat it until it returns the value that you passed, or use one other atomic."
    if r.has(RESTORED):
        what = "atomicCAS finds the value that this thread read, but others changed it in between"
        fix = (
            "Keep a counter beside the value, in one word that atomicCAS swaps, and count changes."
        )
    return Finding(
        "lost-update",
        "error",
        f"updates of {r.target.space} `{r.target.element}` are lost: {what}",
        space=r.target.space,
        access="write",
        variable=r.target.name,
        other=OtherAccess(
            r.line2, r.thread2, r.block2, access_word(r.has(OTHER_STORE), r.has(OTHER_ATOMIC))
        ),
        hint=fix,
    )


def swap_fix(name: str, first: int, then: int, *, same: bool, computed: bool) -> str:
    """The fix of a read and a write that a branch on its value leads to.

    Args:
        name: the variable.
        first: the line of the read.
        then: that of the write.
        same: whether each thread writes the same value.
        computed: whether a thread writes what it makes of the value.
    """
    return (
        f"Line {first} reads `{name}`, and line {then} writes it where that value allows it: two "
        "steps, and another thread may come between. Write it by one atomicCAS that expects the "
        f"value of line {first}{', or by atomicExch' * same}, and go on only where that returns "
        f"this value{'; else read again' * computed}."
    )


def undefined_finding(r: Report) -> Finding:
    """The finding of a local variable, or a function's result, that is used and has no value."""
    t = r.target
    why = f"local variable {f'`{t.element}` ' if t.name else ''}is used before it has a value"
    hint = "Give it a value on every path to this line."
    hint += f" For example, declare it as `{t.extent}`." if t.extent else ""
    hint += " Declare it __shared__ if other threads fill it." if "] =" in t.extent else ""
    hint += f" {t.size_hint}" if t.size_hint else ""
    if t.element.startswith(PADDING):
        why = f"the {PADDING}`{t.element.removeprefix(PADDING)}` is used, and has no value"
        hint = f"Use the members, not the bytes between them, or fill `{t.name}` with memset first."
    if t.space == "member":
        why = f"member `{t.element}` of what `{t.name}` returns is used before it has a value"
        hint = f"Give it a value on every path through `{t.name}`."
    if t.space == "result":
        why, hint = _undefined_result(t.element, own=bool(t.extent))
    return _unset_finding(r, why, "local", hint)


def _ended(r: Report, own: str, bytes_: str) -> tuple[str, str]:
    """The message and the hint of an access to a local variable or object that has ended."""
    access = f"{own} of {bytes_} through a pointer or reference to"
    if not r.target.name:
        return (
            f"{access} a temporary object after the statement that made it has ended",
            "Keep the object in a variable, or copy its value: a temporary object exists only "
            "until its statement ends. A reference that is bound to the object itself, not to what "
            "a function returned, keeps it.",
        )
    name = f"`{r.target.name}`"
    return (
        f"{access} local variable {name} after the block that declares {name} has ended",
        f"Declare {name} before the block, or copy its value: a variable of a block, and of "
        "each round of a loop, exists only until the block or the round ends.",
    )


def _undefined_result(name: str, *, own: bool) -> tuple[str, str]:
    """The message and the hint of a function's result; `own`: of one in the source."""
    if name.startswith("__shfl"):
        return (
            f"`{name}` returns the value of a lane whose variable has none",
            f"Give the variable that is passed to `{name}` a value on every path before the call, "
            "in every lane that is read.",
        )
    function = "the lambda" if name == LAMBDA else f"`{name}`"
    if name.startswith("%"):  # the register with an address
        own, function = True, "the function that a pointer leads to"
    why = f"the result of {function} is used, and was never given a value"
    if own:
        hint = f"Return a value on every path through {function}"
        return why, f"{hint}, and assign to what it returns (a variable, a member) before."
    return why, (
        f"Give all arguments of {function} a value before the call, and use its result only in "
        "threads that it returns one to."
    )


def _odd_size(r: Report, whole: str, bytes_: str) -> tuple[str, str]:
    """The message and the fix of an asynchronous copy of a size that it does not have."""
    t = r.target
    if not r.has(STORE):
        return (
            f"an asynchronous copy from {t.space} {whole} has a source size of {bytes_}, which is "
            "more than it copies",
            "Pass a source size (src-size of cp.async) from 0 to the size of the copy: what "
            "the source lacks is filled with zeros.",
        )
    return (
        f"a bulk copy of {bytes_} to {t.space} {whole}: it copies a multiple of 16 bytes only",
        "Copy a multiple of 16 bytes, and the rest with ordinary loads and stores.",
    )


def _wrong_memory(r: Report, own: str, bytes_: str) -> tuple[str, str] | None:
    """The message and the hint of an access to memory that it does not reach, or that is gone."""
    t = r.target
    if r.has(FOREIGN_LOCAL):
        return (
            f"{own} of {bytes_} through a pointer to a local variable of another thread",
            "Pass the value, or put the variable into shared or global memory. Each thread has its "
            "own local memory: through this pointer it accesses its own, not the other thread's.",
        )
    if r.has(FOREIGN_SHARED):
        variable = f"the shared variable `{t.name}`" if t.name else "shared memory"
        return (
            f"{own} of {bytes_} through a pointer to {variable} of another block",
            "Pass the value through global memory. Each block has its own shared memory: through "
            "this pointer it accesses its own, not the other block's.",
        )
    if r.has(NOT_GLOBAL) and r.has(ATOMIC):
        return (
            f"{own} of {bytes_} on {f'local variable `{t.name}`' if t.name else 'local memory'}: "
            "atomics need an address in global or shared memory",
            "Use an ordinary assignment: no other thread accesses a local variable. Declare it "
            "__shared__ if the threads of the block share it.",
        )
    if r.has(NOT_GLOBAL):
        return (
            f"{own} of {bytes_} of {t.space} {f'`{t.name}`' if t.name else 'memory'} by an "
            "instruction for global memory",
            f"Use {f'`{t.name}`' if t.name else 'the variable'} without `__ldg` or an asynchronous "
            "copy: both read from addresses in global memory only.",
        )
    if r.has(FREED) and r.has(OF_BLOCK) and t.space == "local":
        return _ended(r, own, bytes_)
    if r.has(FREED) and t.space == "local":
        variable = f"local variable `{t.name}`" if t.name else "a local variable"
        return (
            f"{own} of {bytes_} through a pointer to {variable} of a function that has returned",
            "Return the value, or let the caller pass a place for it: a local variable exists only "
            "until its function returns.",
        )
    return None


def _invalid(r: Report, own: str, in_loop: bool, sign_hint: str) -> tuple[str, str]:
    """The message and the hint of an invalid access."""
    t, bytes_ = r.target, _plural(r.bytes, "byte")
    whole = f"`{t.name}` ({t.extent})" if t.name else ""
    if wrong := _wrong_memory(r, own, bytes_):
        return wrong
    if r.has(ODD_SIZE):
        return _odd_size(r, whole, bytes_)
    if r.has(MISALIGNED) and (t.name or t.space in ("local", "shared")):
        declared = f" `__align__({r.bytes})` makes a variable begin at one." * (t.space == "local")
        return (
            f"misaligned {own} of {bytes_} in {t.space} {whole or 'memory'}",
            f"The address of an access of {bytes_} must be a multiple of {r.bytes}.{declared}",
        )
    if r.has(READONLY):
        return (
            f"{own} to {whole or 'memory'}, which is constant",
            "Write to a pointer parameter instead.",
        )
    if r.has(BAD_FREE):
        if r.has(FREED):
            before = f"free of memory that line {r.line2} has freed before"
            return before, "Free each allocation once, in one thread."
        return (
            "free of a pointer that malloc did not return",
            "Free only pointers that malloc or new returned.",
        )
    if r.has(FREED):
        return (
            f"{own} of {bytes_} in memory that line {r.line2} frees",
            f"Use the memory only before line {r.line2} frees it. Where other threads use it, too, "
            "let that line wait for them, as at a barrier.",
        )
    if not t.name:
        return _unknown_memory(r, own)
    if t.dynamic and not t.size:
        return (
            f"out-of-bounds {own} of {bytes_} at `{t.element}`: `{t.name}` is `extern`, and this "
            "launch provides 0 bytes of dynamic shared memory",
            f"Declare `{t.name}` with its size and without `extern`, or launch the kernel with "
            "dynamic shared memory.",
        )
    past = t.offset + r.bytes - t.size
    where = f"{_plural(past, 'byte')} past the end of"
    if t.offset < 0:
        where = f"{_plural(-t.offset, 'byte')} before"
    bounds = "Compare the index with the size before this line."
    bounds += " Check the bounds of the loop." if in_loop else ""
    bounds += f" {sign_hint}" if sign_hint and t.offset < 0 else ""
    bounds += _wrapped(t.offset // max(r.bytes, 1))
    what = f"out-of-bounds {own} of {bytes_} at `{t.element}`, {where} {t.space} {whole}"
    return what, t.size_hint or bounds


def _wrapped(index: int) -> str:
    """What makes an index huge that is a negative number of 32 bits; empty for any other."""
    negative = index - (1 << 32)
    if not -_MOST_NEGATIVE <= negative < 0:
        return ""
    return (
        f" The index is {negative} in an unsigned type, which has no negative numbers: use a "
        "signed type, or compare before you subtract."
    )


def _known_outside(r: Report, own: str) -> tuple[str, str]:
    """The message and the hint of a constant subscript."""
    t = r.target
    place = f"`{t.element}`" if t.element else "a constant subscript"
    why = f", which is not in {t.space} `{t.name}` ({t.extent})" if t.extent else ""
    if r.has(INNER_ARRAY):
        why = ", which leaves a row or a member of the variable" if t.element else ""
    what = f"out-of-bounds {own} of {_plural(r.bytes, 'byte')} at {place}{why}"
    return what, "Correct the constant subscript, or make the array larger."


def _unknown_memory(r: Report, own: str) -> tuple[str, str]:
    """The message and the hint of an access that is in no variable."""
    offset, what = r.target.offset, f"{own} of {_plural(r.bytes, 'byte')}"
    if r.target.space == "local":
        return f"{what} outside the thread's local variables", "Check the index of the local array."
    if 0 <= offset < _NULL_PAGE:
        return f"{what} through a null pointer", "Check where the pointer gets its value."
    return (
        f"{what} at {offset & (1 << 64) - 1:#x}, which belongs to no buffer",
        "Check how the address is computed: an index may be added twice, or to the wrong pointer.",
    )


def _plural(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
