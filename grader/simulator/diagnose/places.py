"""Where a missing barrier fits: all threads of a block must reach it.

The lines of the two accesses of a race say where it is missing. Between them may be the border of
a branch, or both may be in a branch or a loop that only some threads enter. The syntax tree shows
that; names serve for what differs among threads.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from grader import dataclass, regex, replace

if TYPE_CHECKING:
    from grader.compile.syntax import Node, Tree

_VARYING = regex(
    r"\bthreadIdx\b|\batomic\w*|thread_rank|thread_index|laneid|activemask|\bfetch_\w+|\bclock\w*"
)
"""What has another value in each thread."""
_WAITS = regex(r"\b(?:while|do)\b|\bfor\s*\(\s*;|\w*wait\w*\s*\(|__sync\w+|\bsync\s*\(|\bbar\.")
LOOPS = ("for_statement", "while_statement", "do_statement")
_FUNCTIONS = ("function_definition", "lambda_expression")
_MAX_CALLS = 4
"""Calls within calls that are followed."""

Access = Literal["read", "write", "atomic"]
Kind = Literal[
    "between", "condition", "branches", "waiting", "phases", "library", "branch", "loop", "caller",
    "unknown", "skipped",
]  # fmt: skip


@dataclass(frozen=True)
class Gap:
    """Two lines with a barrier missing between them.

    Attributes:
        first: the line that runs first.
        then: the line that runs after it.
        forward: whether the second access follows in the code, not in the loop's next iteration.
        named: whether the kernel has barriers for some threads of a block.
        both: whether, of one not `forward`, the second line also runs before the first; of
            `branches`, whether a barrier is missing behind them, too.
        kind: what is between the lines or around them: `condition`, the first is the condition of
            a branch with the second; `branches`, each is in another branch, and `waiting`, the
            first of them waits in its branch; `branch`, `loop` and `caller`, only some threads
            enter what is around both; `phases`, code with mbarriers has `branches` or `waiting`;
            `unknown`, the places that were tried leave the race; `skipped`, the `if` in `line`
            leaves out a barrier at times: `within` has that one's line, and the last of the `if`.
        line: the line of that branch or loop.
        apart: the last line of the statement with the first line, and the first line of that with
            the second, as statements of the innermost block around both, or of their `branches`;
            zeros if there is none.
        within: the same of the second line and the first, of one that is `both`; of `branches`, the
            first and last line of the statement that they are of.
        block: the number of that innermost block in the syntax tree; -1 if there is none.
        inner: of a `condition`, whether only some threads come to it.
        head: of one not `forward`, whether the first line is the condition of the loop.
        grid: whether threads of other blocks conflict in the two lines, too.
        in_line: of one not `forward` with one line, whether its loop is in that line alone.
        split: of one not `forward` with one line, whether a barrier is missing in the line, too.
        test: of one `skipped`, the condition.
        chosen: whether memory chooses the element, and atomics in the two lines end the race.
    """

    first: int
    then: int
    forward: bool
    named: bool = False
    both: bool = False
    kind: Kind = "between"
    line: int = 0
    apart: tuple[int, int] = (0, 0)
    within: tuple[int, int] = (0, 0)
    block: int = -1
    inner: bool = False
    head: bool = False
    grid: bool = False
    in_line: bool = False
    split: bool = False
    test: str = ""
    chosen: bool = False


class Branches:
    """The branches and loops of a source that only some threads of a block may enter."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self._varying = tree, dict[int, frozenset[str]]()
        self._placed: dict[tuple[Gap, str, bool], Gap] = {}

    def placed(self, gap: Gap, name: str, *, library: bool) -> Gap:
        """The gap with what is between its lines or around them.

        Args:
            gap: the gap.
            name: the variable that both lines access.
            library: whether both accesses are in a library's code.
        """
        key = gap, name, library
        if key not in self._placed:
            self._placed[key] = self._place(gap, name, library=library)
        return self._placed[key]

    def _place(self, gap: Gap, name: str, *, library: bool) -> Gap:
        pairs = [(a, b) for a in self._uses(gap.first, name) for b in self._uses(gap.then, name)]
        if not pairs:
            return gap
        (a, b), back = pairs[0], not gap.forward
        within = _statements(b, a)[:2] if gap.both else (0, 0)
        behind, before, block = _statements(a, b, name if back else None)
        gap = replace(gap, apart=(behind, before), within=within, block=block)
        gap = replace(gap, head=back and not gap.both and _is_in_the_condition(a, b))
        if back and gap.first == gap.then:
            gap = replace(gap, in_line=any(_loops_in_its_line(one) for one, _ in pairs))
        if gap.named:
            return gap
        loops = [node for node, _ in _upward(pairs[0][0]) if node.kind in LOOPS]
        if library and gap.first == gap.then and not loops:
            return replace(gap, kind="library", line=gap.first)
        for a, b in pairs:
            if (between := self._between(gap, a, b)) is not None:
                return between
        if not gap.forward:
            return gap
        return self._around(gap, *pairs[0])

    def end_of_round(self, gap: Gap, name: str, outer: int = 0) -> Gap:
        """The end of the round of a loop around both lines, which access a variable.

        Args:
            gap: the lines.
            name: the variable.
            outer: the loops around both that are inside of this one.
        """
        lines, end = (gap.first, gap.then), Gap(gap.first, gap.then, False, gap.named)
        first, then = (next(iter(self._uses(line, name)), None) for line in lines)
        if first is None or then is None:
            return end
        behind, before, block = _statements(first, then, name, outer)
        alone = gap.first == gap.then and _loops_in_its_line(first)
        return replace(end, apart=(behind, before), block=block, in_line=alone)

    def around(self, line: int, name: str = "__syncthreads") -> Iterator[tuple[int, int]]:
        """The first and last lines of the `if` statements around a barrier of a line in its loop.

        Inner ones come first. The barrier has a `name`.
        """
        node = next(iter(self._uses(line, name)), None)
        for above, child in _upward(node) if node else ():
            if above.kind in LOOPS and _part(child) == "body":
                return
            if above.kind == "if_statement" and _part(child) != "condition":
                yield above.line, above.last_line

    def condition(self, first: int, last: int) -> str:
        """The condition of the `if` statement from one line to another; `if` if not known."""
        every = self.tree.walk("if_statement")
        found = [x.field("condition") for x in every if (x.line, x.last_line) == (first, last)]
        return " ".join(found[0].text[1:-1].split()) if len(found) == 1 else "if"

    def entered_by_some(self, line: int) -> tuple[Kind, int, int] | None:
        """The outermost branch or loop of some threads around a barrier, with its lines."""
        node = next(iter(self._uses(line, "__syncthreads")), None)
        inside = [x for x, child in _upward(node) if self._chooses(x, child)] if node else []
        return (_kind(inside[-1]), inside[-1].line, inside[-1].last_line) if inside else None

    def statement(self, line: int, other: int) -> tuple[int, int] | None:
        """The first and last line of the statement that a line is in, among those of one block.

        It is the innermost block that is also around another line of the function; without one (0),
        the function's body. None where the two are in one statement.
        """
        node = next(iter(self._uses(line, "")), None)
        leaf = next(iter(self._uses(other, "")), None) if other else None
        if node is None or (other and leaf is None):
            return None
        above = {up.index for up in leaf.ancestors} if leaf else set()
        blocks = [up for up, _ in _upward(node) if up.kind == "compound_statement"]
        around = [up for up in blocks if up.index in above] if leaf else blocks[-1:]
        if not around:
            return None
        own = _child(around[0], node)
        apart = leaf is None or _child(around[0], leaf).index != own.index
        return (own.line, own.last_line) if apart else None

    def _uses(self, line: int, name: str) -> list[Node]:
        """The names of a variable in a line; where it has none, the line's first word."""
        lines = self.tree.lines
        first, end = bisect_left(lines, line), bisect_left(lines, line + 1)
        leaves = [leaf for leaf in self.tree.between(first, end) if leaf.line == line]
        named = [leaf for leaf in leaves if leaf.text == name and "identifier" in leaf.kind]
        return named or [leaf for leaf in leaves if self.tree.named[leaf.index]][:1]

    def _between(self, gap: Gap, a: Node, b: Node) -> Gap | None:
        """The gap between two nodes if a barrier there would be in one branch only."""
        above = {node.index for node in a.ancestors}
        common = next((node for node in b.ancestors if node.index in above), None)
        if common is None:
            return None
        first, then = _child(common, a), _child(common, b)
        if common.kind == "if_statement":
            if gap.forward and _part(first) == "condition" != _part(then):
                inner = self._around(gap, a, a).kind != "between"
                return replace(gap, kind="condition", line=common.line, inner=inner)
        elif not (first.kind == then.kind == "case_statement" and first.index != then.index):
            return None
        if "condition" in (_part(first), _part(then)) or first.index == then.index:
            return None
        uneven = any(map(self._is_left_early, _upward(common)))
        kind: Kind = "waiting" if uneven or _WAITS.search(first.text) else "branches"
        sides = first.last_line - (first.last_line == then.line), then.line
        sides = sides if first.line <= sides[0] else (0, 0)
        whole = common.line, common.last_line
        return replace(gap, kind=kind, line=common.line, apart=sides, within=whole, both=False)

    def _is_left_early(self, around: tuple[Node, Node]) -> bool:
        """Whether some threads may leave a loop in another round than others.

        Args:
            around: a node, with the child that is looked at.
        """
        loop, child = around
        if loop.kind not in LOOPS or _part(child) != "body":
            return False
        leaves = child.walk("break_statement", "return_statement")
        return self._chooses(loop, child) or any(
            self._chooses(up, inner)
            for node in leaves
            for up, inner in _upward(node)
            if up.index > loop.index
        )

    def _around(self, gap: Gap, a: Node, b: Node) -> Gap:
        """The gap with the outermost branch or loop around it that only some threads enter."""
        above = {node.index for node in a.ancestors}
        both = next((node for node in b.ancestors if node.index in above), None)
        inside = [node for node, child in _upward(both or b) if self._chooses(node, child)]
        if inside:
            return replace(gap, kind=_kind(inside[-1]), line=inside[-1].line)
        if (call := self._call_of_some(both or b, _MAX_CALLS)) is not None:
            return replace(gap, kind="caller", line=call.line)
        return gap

    def _chooses(self, node: Node, child: Node) -> bool:
        """Whether only some threads enter a part of a branch or a loop."""
        if node.kind not in (*LOOPS, "if_statement", "switch_statement"):
            return False
        condition = node.part("condition")
        return condition is not None and child.index != condition.index and self._varies(condition)

    def _call_of_some(self, node: Node, depth: int) -> Node | None:
        """The branch or loop of a caller that only some threads enter."""
        function = next((a for a in node.ancestors if a.kind == "function_definition"), None)
        declarator = function and function.part("declarator")
        name = declarator and declarator.part("declarator")
        if function is None or name is None or not depth or "__global__" in function.first_line():
            return None
        for call in self.tree.walk("call_expression"):
            callee = call.part("function")
            if callee is None or re.split(r"\W", callee.text)[-1] != name.text:
                continue
            found = [above for above, child in _upward(call) if self._chooses(above, child)]
            outer = found[-1] if found else self._call_of_some(call, depth - 1)
            if outer is not None:
                return outer
        return None

    def _varies(self, node: Node) -> bool:
        """Whether a condition may differ among the threads of a block."""
        around = next((up for up in node.ancestors if up.kind == "function_definition"), None)
        if around is not None and around.index not in self._varying:
            self._varying[around.index] = self._varying_in(around)
        known = self._varying[around.index] if around else frozenset[str]()
        return bool(_VARYING.search(node.text)) or not known.isdisjoint(_names(node))

    def _varying_in(self, function: Node) -> frozenset[str]:
        """The names of a function's variables that are made of what differs among threads."""
        pairs = [
            (next(_names(left), ""), right)
            for node in function.walk("init_declarator", "assignment_expression")
            if (left := node.part("declarator") or node.part("left")) is not None
            if (right := node.part("value") or node.part("right")) is not None
        ]
        found = {name for name, right in pairs if _VARYING.search(right.text)}
        sources = [(name, set(_names(right))) for name, right in pairs if name not in found]
        before = -1
        while before != len(found):
            before = len(found)
            found |= {name for name, used in sources if not found.isdisjoint(used)}
        return frozenset(found)


def _names(node: Node) -> Iterator[str]:
    return (inner.text for inner in node.walk("identifier"))


def _upward(node: Node) -> Iterator[tuple[Node, Node]]:
    """The nodes around a node in its function, each with the child that the node is in."""
    child = node
    for above in node.ancestors:
        if above.kind in _FUNCTIONS:
            return
        yield above, child
        child = above


def _statements(
    first: Node, then: Node, name: str | None = None, outer: int = 0
) -> tuple[int, int, int]:
    """The last line of the statement with a node, and the first line of that with another one.

    The third number is that of the block.

    Both are statements of the innermost block around the two. With a variable's name, they are of
    the body of the innermost loop, or one around `outer` others, and the first is the last one that
    uses it in the same round. The second node may be in the head of that loop.
    Zeros where there is no such block, or where the two are one statement in one round.
    """
    above = {node.index for node in first.ancestors}
    around = [node for node in then.ancestors if node.index in above]
    head = name is not None and not outer and bool(around) and _is_tested(around[0], first, then)
    if name is not None:
        bodies = [n for n, up in pairwise(around) if up.kind in LOOPS and _part(n) == "body"]
        around = [_child(around[0], first)] if head else bodies[outer:]
    if around and name is None and around[0].kind in LOOPS[:2]:
        body = _child(around[0], then)
        tested = _part(_child(around[0], first)) == "condition"
        return _before(body, _child(body, then)) if tested else (0, 0, -1)
    if not around or around[0].kind != "compound_statement":
        return 0, 0, -1
    block = around[0].index
    a, b = _child(around[0], first), then if head else _child(around[0], then)
    if name is None:
        return (a.last_line, b.line, block) if a.last_line < b.line else (0, 0, -1)
    for later in around[0].named:
        if later.index > a.index and (_WAITS.search(later.text) or later.index == b.index):
            break
        a = later if later.index > a.index and name in _names(later) else a
    return a.last_line, b.line, block


def _is_tested(loop: Node, first: Node, then: Node) -> bool:
    """Whether a loop's body has a node, and the condition before the next round another one."""
    body, head = _child(loop, first), _child(loop, then)
    return loop.kind in LOOPS[:2] and _part(body) == "body" and _part(head) == "condition"


def _before(body: Node, statement: Node) -> tuple[int, int, int]:
    """What `_statements` tells of the head of a loop and a statement of the loop's body."""
    if body.kind != "compound_statement":
        return 0, 0, -1
    ends = [body.line, *(x.last_line for x in body.named if x.index < statement.index)]
    return (ends[-1], statement.line, body.index) if ends[-1] < statement.line else (0, 0, -1)


def _loops_in_its_line(node: Node) -> bool:
    """Whether the loop around a node is in one line. In a kernel, one not seen is a macro's."""
    kinds = (*LOOPS, "function_definition")
    around = next((above for above in node.ancestors if above.kind in kinds), None)
    if around is None or around.kind in LOOPS:
        return around is not None and around.line == around.last_line
    return "__global__" in around.text


def _is_in_the_condition(node: Node, other: Node) -> bool:
    """Whether a node is in the condition of the innermost loop whose body has another one."""
    loop = next((up for up, child in _upward(other) if up.kind in LOOPS), None)
    condition = loop and loop.part("condition")
    return condition is not None and any(
        above.index == condition.index for above in (node, *node.ancestors)
    )


def _child(common: Node, node: Node) -> Node:
    """The child of a node around another that this one is in."""
    inner = node
    for above in node.ancestors:
        if above.index == common.index:
            break
        inner = above
    return inner


def _part(node: Node) -> str | None:
    return node.tree.names[node.index]


def _kind(node: Node) -> Kind:
    return "loop" if node.kind in LOOPS else "branch"


def access_word(store: bool, atomic: bool) -> Access:
    """The word for an access in messages."""
    return "atomic" if atomic else "write" if store else "read"
