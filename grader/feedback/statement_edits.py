"""Candidate edits of statements: barriers, early exits, guards, loops, the memory space of arrays.

Each function ending in `_edits` offers the edits of one kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise

from grader.compile.syntax import Node
from grader.feedback.edits import (
    LOOPS,
    SIMPLE,
    Change,
    Edit,
    Kernel,
    Source,
    enclosing,
    indent_of,
    negated,
    removed,
    replaced,
    statement_of,
    statements,
)

BARRIER = "__syncthreads();"
WEAK = ("__syncwarp", "__threadfence", "__threadfence_block")
MAX_PAIRS = 45
"""The pairs of places that get a barrier each."""

MAX_PLACES = 40
"""The places of a kernel that a barrier is put to."""


def barriers(kernel: Kernel) -> list[Node]:
    """The statements that call __syncthreads()."""
    return [
        s
        for s in kernel.walk("expression_statement")
        if s.text.replace(" ", "") == "__syncthreads();"
    ]


def _places(kernel: Kernel) -> list[tuple[int, int, Change, int]]:
    """The places for a barrier: offset, line, change and depth in loops and conditions."""
    found = []
    for block in kernel.walk("compound_statement"):
        depth = sum(above.kind in LOOPS for above in block.ancestors)
        if any(above.kind in ("if_statement", "switch_statement") for above in block.ancestors):
            continue
        for statement in statements(block):
            if statement.kind == "return_statement":
                continue
            found.append((statement.end, statement.last_line, _behind(statement, BARRIER), depth))
    return found[:MAX_PLACES]


def _behind(statement: Node, text: str) -> Change:
    return statement.end, statement.end, f"\n{indent_of(statement)}{text}"


def barrier_added_edits(source: Source) -> Iterator[Edit]:
    """A barrier behind each statement that all threads execute; then two of them."""
    for kernel in source.kernels:
        places = _places(kernel)
        for _, line, change, depth in places:
            yield Edit("missing-barrier", line, (change,), max(0, depth - 1))
        inside = [p for p in places if p[3] <= 1]
        for first, second in list(combinations(sorted(inside[-10:]), 2))[:MAX_PAIRS]:
            changes = (first[2], second[2])
            yield Edit("missing-barriers", first[1], changes, 1, more=(second[1],))


def barrier_moved_edits(source: Source) -> Iterator[Edit]:
    """Each barrier behind each other statement, or taken out."""
    for kernel in source.kernels:
        places = _places(kernel)
        for barrier in barriers(kernel):
            gone = removed(barrier)
            branch = enclosing(barrier, "if_statement")
            for at, _, change, _ in places:
                if at == barrier.end or gone[0] < change[1] and change[0] < gone[1]:
                    continue
                near = branch is not None and at in (branch.end, branch.start)
                kind = "divergent-barrier" if branch is not None else "missing-barrier"
                yield Edit(kind, barrier.line, (gone, change), 0 if near else 1)
            yield Edit("divergent-barrier", barrier.line, (gone,), 1)


def barrier_out_of_branch_edits(source: Source) -> Iterator[Edit]:
    """All barriers of a condition's branches become one barrier behind it, or before it."""
    for kernel in source.kernels:
        every = barriers(kernel)
        for branch in kernel.walk("if_statement"):
            inside = [b for b in every if branch.start <= b.start < branch.end]
            if not inside:
                continue
            gone = tuple(map(removed, inside))
            if branch.part("alternative") is None and branch.text.endswith(inside[0].text):
                yield Edit("divergent-barrier", inside[0].line, (replaced(branch, BARRIER),))
            behind = _behind(branch, BARRIER)
            before = (branch.start, branch.start, f"{BARRIER}\n{indent_of(branch)}")
            yield Edit("divergent-barrier", inside[0].line, (*gone, behind))
            yield Edit("divergent-barrier", inside[0].line, (*gone, before))
            yield from _unwrapped(kernel, branch, inside[0].line)


def _unwrapped(kernel: Kernel, branch: Node, line: int) -> Iterator[Edit]:
    """The condition around a block moves to the loads and stores inside."""
    condition, block = branch.part("condition"), branch.part("consequence")
    if condition is None or block is None or branch.part("alternative") is not None:
        return
    test = condition.text[1:-1]
    opened = (branch.start, block.start, "")
    for loads in (False, True):
        guarded = _guarded(kernel, block.start, block.end, test, loads=loads)
        yield Edit("divergent-barrier", line, (opened, *guarded), int(bool(guarded)))


def _guarded(
    kernel: Kernel, start: int, end: int, test: str, *, loads: bool, own: bool = False
) -> tuple[Change, ...]:
    """Put a condition on the stores between two offsets, and on the loads if asked.

    With `own`, each load gets the condition that its array's extents ask for.
    """
    changes: list[Change] = []
    for statement in kernel.stores:
        if start <= statement.start < end:
            changes.append((statement.start, statement.start, f"if ({test}) "))
    if loads:
        for access in _loads(kernel):
            if start <= access.start < end:
                held = next(kernel.guards(access), test) if own else test
                changes.append(replaced(access, f"(({held}) ? {access.text} : 0)"))
    return tuple(changes)


def _loads(kernel: Kernel) -> Iterator[Node]:
    """The reads of array parameters."""
    for access in kernel.walk("subscript_expression"):
        above = access.parent
        is_target = (
            above is not None
            and above.kind == "assignment_expression"
            and above.part("left") == access
        )
        if kernel.array_of(access) and not is_target:
            yield access


def early_exit_edits(source: Source) -> Iterator[Edit]:
    """An early return becomes a condition on the loads and stores that follow it."""
    for kernel in source.kernels:
        for statement in kernel.walk("if_statement"):
            body, condition = statement.part("consequence"), statement.part("condition")
            if body is None or condition is None or statement.part("alternative") is not None:
                continue
            word = body.text.strip("{} \n\t;")
            loop = enclosing(statement, *LOOPS)
            if word not in ("return", "continue") or (word == "continue" and loop is None):
                continue
            test = negated(condition.text[1:-1])
            gone = removed(statement)
            end = loop.end if loop is not None and word == "continue" else kernel.body.end
            yield Edit("early-exit", statement.line, (gone,))
            for cost, (loads, own) in enumerate(((False, False), (True, False), (True, True))):
                rest = _guarded(kernel, statement.end, end, test, loads=loads, own=own)
                yield Edit("early-exit", statement.line, (gone, *rest), min(cost, 1))


def weak_barrier_edits(source: Source) -> Iterator[Edit]:
    """A barrier of a warp, or a fence, becomes a barrier of the block; a name becomes a call."""
    for kernel in source.kernels:
        for name in kernel.walk("identifier"):
            statement = name.parent
            if statement is None or name.text not in (*WEAK, "__syncthreads"):
                continue
            if statement.kind == "expression_statement":
                yield Edit("barrier-not-called", name.line, (replaced(name, f"{name.text}()"),))
            elif statement.kind == "call_expression" and name.text in WEAK:
                yield Edit("weak-barrier", name.line, (replaced(statement, "__syncthreads()"),))


def fence_edits(source: Source) -> Iterator[Edit]:
    """A fence behind each store and each loop of a kernel that communicates between blocks."""
    if b"atomic" not in source.data and b"volatile" not in source.data:
        return
    for kernel in source.kernels:
        yield from _fences_of_a_signal(kernel)
        for block in kernel.walk("compound_statement"):
            for statement in statements(block):
                change = _behind(statement, "__threadfence();")
                yield Edit("missing-fence", statement.last_line, (change,), 2)


def _fences_of_a_signal(kernel: Kernel) -> Iterator[Edit]:
    """A fence behind a loop that waits for a lock or flag, and one before what gives or sets it."""
    for loop in kernel.walk(*LOOPS):
        condition = loop.part("condition")
        if condition is None or not re.search(r"\batomic|volatile|\.load\(", condition.text):
            continue
        for signal in kernel.walk("expression_statement"):
            outside = signal.start >= loop.end or signal.end <= loop.start
            if outside and re.match(r"atomic|[\w.\[\]]+\.store\(", signal.text):
                both = f"{{ __threadfence(); {signal.text} }}"
                before = replaced(signal, both)
                changes = _behind(loop, "__threadfence();"), before
                yield Edit("missing-fences", loop.last_line, changes)


def proxy_fence_edits(source: Source) -> Iterator[Edit]:
    """A fence of the asynchronous proxy behind each statement that all threads execute."""
    if b"async_bulk" not in source.data and b"async.bulk" not in source.data:
        return
    for kernel in source.kernels:
        for offset, line, _, depth in _places(kernel):
            fence = (offset, offset, '\nasm volatile("fence.proxy.async;" ::: "memory");')
            yield Edit("missing-proxy-fence", line, (fence,), depth)


def guard_edits(source: Source) -> Iterator[Edit]:
    """A condition on each store and load of an array parameter."""
    for kernel in source.kernels:
        for statement in kernel.stores:
            access, known = statement.named[0].field("left"), _guards_around(kernel, statement)
            for cost, test in enumerate(kernel.guards(access), start=2 * known):
                change = (statement.start, statement.start, f"if ({test}) ")
                yield Edit("missing-guard", statement.line, (change,), cost // 2)
        for access in _loads(kernel):
            whole_statement, known = statement_of(access), _guards_around(kernel, access)
            for cost, test in enumerate(kernel.guards(access), start=2 * known):
                whole = replaced(access, f"(({test}) ? {access.text} : 0)")
                yield Edit("missing-guard", access.line, (whole,), cost // 2)
                if whole_statement is not None and whole_statement.kind == SIMPLE[0]:
                    change = (whole_statement.start, whole_statement.start, f"if ({test}) ")
                    yield Edit("missing-guard", access.line, (change,), 1 + cost // 2)


def _guards_around(kernel: Kernel, access: Node) -> bool:
    """Return whether a condition decides already about an access: that one is at fault then."""
    exits = any(enclosing(r, "if_statement") for r in kernel.walk("return_statement"))
    around = enclosing(access, "if_statement", "conditional_expression") is not None
    heads = [above.part("condition") for above in access.ancestors if above.kind in LOOPS]
    index = _words(access.text) - {*kernel.sizes}
    return exits or around or any(head and index & _words(head.text) for head in heads)


def wider_guard_edits(source: Source) -> Iterator[Edit]:
    """One more comparison in each condition: a size of the array that is accessed behind it."""
    for kernel in source.kernels:
        for guard in kernel.walk("if_statement", "conditional_expression", *LOOPS):
            condition = guard.part("condition")
            if condition is None:
                continue
            inner, loops = condition.part("value") or condition, int(guard.kind in LOOPS)
            tests = dict.fromkeys(
                test.strip()
                for access in guard.walk("subscript_expression")
                for whole in kernel.guards(access)
                for test in whole.split("&&")
            )
            for access in guard.walk("subscript_expression"):
                for whole in (test for test in kernel.guards(access) if "*" not in test):
                    wider = not _words(whole) <= _words(inner.text)
                    kind = "missing-guard" if wider and not loops else "wrong-condition"
                    yield Edit(kind, inner.line, (replaced(inner, whole),), loops)
                    new = f"{_operand(inner)} && {whole}"
                    yield Edit("missing-guard", inner.line, (replaced(inner, new),), 1)
            for test in tests:
                if test not in inner.text:
                    new = f"{_operand(inner)} && {test}"
                    known = test.split()[0] in _words(inner.text) and ">=" not in test
                    cost = loops + int(known or "*" in test)  # a known one is at fault itself
                    yield Edit("missing-guard", inner.line, (replaced(inner, new),), cost)
                    if "&&" not in inner.text:
                        yield Edit("wrong-condition", inner.line, (replaced(inner, test),), 1)
            for name in kernel.variables:
                if name in inner.text:
                    new = f"{name} >= 0 && {_operand(inner)}"
                    yield Edit("missing-guard", inner.line, (replaced(inner, new),), 1)


def wider_exit_edits(source: Source) -> Iterator[Edit]:
    """One more reason to return: `|| y >= height`, for a size of an array that is accessed."""
    for kernel in source.kernels:
        accesses = [a for a in kernel.walk("subscript_expression") if kernel.array_of(a)]
        tests = dict.fromkeys(t.strip() for a in accesses for g in kernel.guards(a)
                              for t in g.split("&&") if "*" not in t)  # fmt: skip
        for guard in kernel.walk("if_statement"):
            body, condition = guard.part("consequence"), guard.part("condition")
            if body is None or condition is None or body.text.strip("{} \n\t;") != "return":
                continue
            for test in tests:
                new = f"({condition.text[1:-1]} || {negated(test)})"
                yield Edit("wrong-condition", guard.line, (replaced(condition, new),))
            stores = (store.named[0].field("left") for store in kernel.stores)
            for whole in dict.fromkeys(next(kernel.guards(store), "") for store in stores):
                if whole:
                    change = replaced(condition, f"({negated(whole)})")
                    same = _words(condition.text) <= _words(whole)  # a sign is wrong then
                    yield Edit("wrong-condition", guard.line, (change,), int(same))


def _words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text)}


def _operand(node: Node) -> str:
    return f"({node.text})" if "||" in node.text or "=" in node.text else node.text


def early_return_edits(source: Source) -> Iterator[Edit]:
    """A return of threads without an element, in a kernel that has no barrier."""
    for kernel in source.kernels:
        if b"__sync" in source.data[kernel.body.start : kernel.body.end]:
            continue
        top, exits = statements(kernel.body), list(kernel.walk("return_statement"))
        for store in kernel.stores:
            for test in kernel.guards(store.named[0].field("left")):
                names = {*re.split(r"\W+", test)}
                known = [s for s in top if s.kind == "declaration" and names & _declared(s)]
                if known:
                    change = _behind(known[-1], f"if (!({test})) return;")
                    cost = 1 + any(enclosing(r, "if_statement") for r in exits)
                    yield Edit("missing-guard", store.line, (change,), cost)


def _declared(declaration: Node) -> set[str]:
    return {node.field("declarator").text for node in declaration.walk("init_declarator")}


def statement_edits(source: Source) -> Iterator[Edit]:
    """A statement taken out, or moved behind or before the loop around it."""
    for kernel in source.kernels:
        for block in kernel.walk("compound_statement"):
            for statement in statements(block):
                if statement.kind not in ("expression_statement", "break_statement",
                                          "continue_statement", "return_statement"):  # fmt: skip
                    continue
                if statement.text.startswith("__sync"):
                    continue
                gone = removed(statement)
                yield Edit("surplus-statement", statement.line, (gone,), 1)
                loop = enclosing(statement, *LOOPS)
                if loop is not None:
                    before = (loop.start, loop.start, f"{statement.text}\n{indent_of(loop)}")
                    behind = _behind(loop, statement.text)
                    yield Edit("misplaced-statement", statement.line, (gone, before), 1)
                    yield Edit("misplaced-statement", statement.line, (gone, behind), 1)
                    yield from _reset(statement, loop)


def exchanged_statement_edits(source: Source) -> Iterator[Edit]:
    """Two statements that follow each other in the other order; `continue` for `break`."""
    for kernel in source.kernels:
        for block in kernel.walk("compound_statement"):
            for first, second in pairwise(statements(block)):
                if first.kind == second.kind == SIMPLE[0] and "__sync" not in first.text:
                    changes = replaced(first, second.text), replaced(second, first.text)
                    yield Edit("misplaced-statement", first.line, changes)
        for jump in kernel.walk("break_statement", "continue_statement"):
            other = "continue;" if jump.text.startswith("break") else "break;"
            if enclosing(jump, *LOOPS, "switch_statement") is not None:
                yield Edit("wrong-jump", jump.line, (replaced(jump, other),))


def surplus_edits(source: Source) -> Iterator[Edit]:
    """A condition taken out together with the one statement that it guards."""
    for kernel in source.kernels:
        for guard in kernel.walk("if_statement"):
            body = guard.part("consequence")
            if body is None or guard.part("alternative") is not None:
                continue
            if body.kind != "compound_statement" or len(body.named) == 1:
                yield Edit("surplus-statement", guard.line, (removed(guard),), 1)


def _reset(statement: Node, loop: Node) -> Iterator[Edit]:
    """An assignment of a constant inside a loop, which restarts a sum, taken out."""
    inner = statement.named[0] if statement.named else statement
    value = inner.part("right")
    is_constant = value is not None and value.kind == "number_literal"
    if inner.kind == "assignment_expression" and is_constant and loop.start < statement.start:
        name = inner.field("left").text
        yield Edit("misplaced-statement", statement.line, (removed(statement),), 0, name)


EDITORS = tuple(value for name, value in list(globals().items()) if name.endswith("_edits"))
"""The functions of this module that offer edits."""
