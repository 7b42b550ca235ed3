"""What is known before edits are tried, and the order of the edits that follows from it.

Clues are facts of the source alone that explain wrong results: `=` in a condition, a forgotten
call. Each is something that no correct kernel of a course does, and that the findings of a run show
only through its consequences. `find_clues` reads the syntax tree; whether a clue explains anything
is decided with the findings (grader.checks.causes).

`list_edits` ranks the edits by the findings of the run: edits whose kind explains the findings come
first, and of these the edits at the lines that the findings name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from grader import dataclass, regex
from grader.checks.causes import CORRECTNESS, Clue, cause_kinds
from grader.compile.dataflow import (
    CONSTANTS,
    guard_origin,
    read_dataflow,
    store_origin,
    value_origin,
)
from grader.compile.functions import (
    Function,
    base_of,
    empty_bodies,
    functions,
    indices_of,
    lines_across_calls,
    nodes_of,
    parameters,
    thread_names,
)
from grader.compile.preprocessor import code
from grader.compile.program import Program
from grader.compile.signature import wrong_order
from grader.compile.syntax import Node, Tree, parse
from grader.feedback.edits import (
    Edit,
    Editor,
    Source,
    enclosing,
    is_degenerate,
    is_readable,
)
from grader.labs.model import Lab
from grader.launch import OUTPUT_KINDS, Finding

BARRIERS = ("__syncthreads", "__syncwarp", "__threadfence", "__threadfence_block")
GENERIC = ("wrong-number", "wrong-operator", "wrong-variable", "wrong-condition", "wrong-type")
"""The kinds of edits that can repair many kinds of errors, and that come behind others."""

SPECIFIC = ("weak-barrier", "barrier-not-called", "not-accumulated", "not-shared", "missing-fences",
            "repeated-component", "wrong-order", "exchanged-components")  # fmt: skip
"""The kinds of edits of a text that a right kernel hardly has."""

POINTLESS = "pointless comparison"
"""Part of the compiler's warning about a comparison that always, or never, holds."""

UNSTORED = "uninitialized-read"
FAR = 4
"""How far a line is from the findings that no value or condition connects with them."""

RINGS = 4
"""How many steps of the data flow count as near."""

PROVEN = 3
"""How much earlier edits of the one line are tried where a small change repairs the output."""

ALIKE = 3
"""How many edits of one kind at one place have the same rank."""

MAX_OF_A_KIND = 1500
"""The edits of one editor that are considered."""

MAX_CLUES = 8
"""The most clues of one source: more say that the text is not a program of a course."""

_CONDITIONAL = ("if_statement", "while_statement", "do_statement", "for_statement")
_COMPARES = ("==", "!=", "<", ">", "<=", ">=")
_THREAD = regex(r"\bthreadIdx\b")


def find_clues(program: Program, lab: Lab) -> tuple[Clue, ...]:
    """Find the clues of a source, those that say most first."""
    tree = parse(code(program.source))
    if not is_readable(tree):
        return ()
    kernels = [f for f in functions(tree) if "__global__" in f.head and f.defined]
    permuted = wrong_order(program, lab.kernels)
    found = [
        *(Clue("wrong-order", f.line, f.message.rpartition(": ")[2]) for f in permuted),
        *_assignments(tree),
        *_empty_bodies(tree),
        *_barriers_without_a_call(tree),
        *_constant_conditions(tree, {w.line for w in program.warnings if POINTLESS in w.message}),
        *(clue for kernel in kernels for clue in _private_arrays(tree, kernel)),
        *(clue for kernel in kernels for clue in _early_exits(tree, kernel)),
        *(clue for kernel in kernels for clue in _unused_sizes(tree, kernel)),
    ]
    return tuple(
        Clue(clue.kind, clue.line, clue.name, program.text(clue.line)) for clue in found[:MAX_CLUES]
    )


def find_leads(
    source: Source, errors: Sequence[Finding], lines: Collection[int]
) -> tuple[Clue, ...]:
    """Lead from the effect of a mistake to the line that a tutor looks at, without a fix.

    Args:
        source: The submission.
        errors: The errors of the public cases.
        lines: The lines where one small change makes every public case right.
    """
    kinds = {f.kind for f in errors}
    first = next((f for f in errors if f.kind in CORRECTNESS), None)
    if len(lines) == 1 and ("invalid-access" in kinds or "race" not in kinds):
        return tuple(Clue("line-at-fault", line) for line in lines)
    if first is None or not kinds & CORRECTNESS <= OUTPUT_KINDS | {UNSTORED}:
        return ()
    unset = next((f for f in errors if f.kind == UNSTORED), None)
    if unset is not None:
        store = store_origin(source.tree, {unset.variable} - {""})
        return (Clue("incomplete-store", store.line, unset.variable),) if store else ()
    if first.kind == "unwritten-output":
        store = store_origin(source.tree, {first.variable} - {""})
        guard = guard_origin(source.tree, max(first.line, store.line if store else 0))
        return (Clue("selecting-condition", guard.line),) if guard else ()
    value = value_origin(source.tree, first.line)
    return (Clue("wrong-value", value.line, value.name),) if value else ()


def _assignments(tree: Tree) -> Iterator[Clue]:
    """`if (row = m)`: an assignment whose value is the condition."""
    for statement in tree.walk(*_CONDITIONAL, "conditional_expression"):
        condition = statement.part("condition")
        for node in condition.walk("assignment_expression") if condition else ():
            sign = node.part("operator")
            if sign is not None and sign.text == "=" and not _is_compared(node):
                left = node.field("left")
                yield Clue("assignment-in-condition", node.line, left.first_line())


def _is_compared(node: Node) -> bool:
    """Return whether the value of an assignment in parentheses is compared, as idiom has it."""
    outer = node.parent
    above = outer.parent if outer is not None else None
    if outer is None or above is None or outer.kind != "parenthesized_expression":
        return False
    sign = above.part("operator") if above.kind == "binary_expression" else None
    return sign is not None and sign.text in _COMPARES


def _constant_conditions(tree: Tree, pointless: Collection[int]) -> Iterator[Clue]:
    """`if (true)`, or a comparison that always holds, around what changes a value or ends early.

    One part of several conditions, or output for debugging, does no harm.
    """
    for statement in tree.walk(*_CONDITIONAL, "conditional_expression"):
        condition = statement.part("condition")
        inner = condition and (condition.part("value") or condition)
        if inner is None or inner.line != statement.line:
            continue
        is_loop = statement.kind in ("while_statement", "do_statement", "for_statement")
        known = inner.text in CONSTANTS and not is_loop
        alone = inner.line in pointless and re.search(r"&&|\|\|", inner.text) is None
        if (known or alone) and ("atomic" in statement.text or any(statement.walk(*_EFFECTS))):
            yield Clue("constant-condition", statement.line, "if")


_EFFECTS = ("assignment_expression", "update_expression", "return_statement", "break_statement",
            "continue_statement", "conditional_expression")  # fmt: skip


def _barriers_without_a_call(tree: Tree) -> Iterator[Clue]:
    """`__syncthreads;`: a statement that is only the name of a barrier."""
    for statement in tree.walk("expression_statement"):
        inner = statement.named
        if len(inner) == 1 and inner[0].kind == "identifier" and inner[0].text in BARRIERS:
            yield Clue("barrier-not-called", statement.line, inner[0].text)


def _empty_bodies(tree: Tree) -> Iterator[Clue]:
    """`if (i < n);`, and a loop that ends so before a block."""
    for statement, word, _ in empty_bodies(tree):
        yield Clue("empty-body", statement.line, word)


def _early_exits(tree: Tree, kernel: Function) -> Iterator[Clue]:
    """`if (row >= m) return;` before a barrier of the same kernel."""
    calls = list(nodes_of(tree, kernel, "call_expression"))
    last = max((c.start for c in calls if c.text.startswith("__syncthreads")), default=-1)
    for statement in nodes_of(tree, kernel, "return_statement"):
        guard = next((a for a in statement.ancestors if a.kind == "if_statement"), None)
        if guard is not None and statement.start < last:
            yield Clue("early-exit", guard.line)


def _unused_sizes(tree: Tree, kernel: Function) -> Iterator[Clue]:
    """The parameters passed by value, where the body names none of them."""
    used = {node.text for node in nodes_of(tree, kernel, "identifier")}
    own = parameters(kernel.declarator) if kernel.declarator else ()
    sizes = [name for kind, name in own if name and not kind.endswith("*")]
    if used.isdisjoint(sizes):
        yield from (Clue("unused-size", kernel.line, name) for name in sizes)


def _private_arrays(tree: Tree, kernel: Function) -> Iterator[Clue]:
    """An array of each thread alone whose elements are indexed by the thread's own index."""
    own = thread_names(tree, kernel)
    indexed = {
        base_of(node).text
        for node in nodes_of(tree, kernel, "subscript_expression")
        if any(_THREAD.search(i.text) or i.text in own for i in indices_of(node))
    }
    for declaration in nodes_of(tree, kernel, "declaration"):
        words = {child.text for child in declaration.children}
        if words & {"__shared__", "extern", "static", "const", "constexpr"}:
            continue
        for array in declaration.walk("array_declarator"):
            name = array.part("declarator")
            if name is not None and name.kind == "identifier" and name.text in indexed:
                yield Clue("not-shared", declaration.line, name.text)


@dataclass(frozen=True)
class Evidence:
    """What the edits are ranked by.

    Attributes:
        kinds: The kinds of the errors.
        near: The lines that errors name, and those where a change of the PTX repairs the output.
        around: The lines that these depend on, those that those depend on, and so on.
        spans: The first and last line of each hazard.
        clues: Facts of the source.
        proven: The line where a change of the PTX repairs the output, if it is the only one.
        names: The variables that errors name.
    """

    kinds: frozenset[str]
    near: frozenset[int]
    around: tuple[frozenset[int], ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    clues: tuple[Clue, ...] = ()
    proven: int = 0
    names: frozenset[str] = frozenset()

    @property
    def is_wrong(self) -> bool:
        """Whether the results are wrong; otherwise a right kernel costs too much."""
        return not self.kinds.isdisjoint(CORRECTNESS)


def read_evidence(
    findings: Iterable[Finding], lines: Iterable[int], clues: Sequence[Clue], source: Source
) -> Evidence:
    """Collect what edits are ranked by: the findings, the lines at fault, what those depend on."""
    errors, given = [f for f in findings if f.severity == "error"], {*lines}
    proven = given.pop() if len(given) == 1 else 0
    both = [(f.other.line if f.other else f.line, f.line) for f in errors]
    near = {line for pair in both for line in pair} | {*lines} | {clue.line for clue in clues}
    near |= _conditions_of_stores(source, {f.variable for f in errors if f.kind == UNSTORED} - {""})
    flow = read_dataflow(source.text)
    around = {origin.line for f in errors for origin in f.origins}
    around |= {origin.line for line in near - {0} for origin in flow.reaching(line)}
    exits = (enclosing(node, "if_statement") for node in source.tree.walk("return_statement"))
    around |= {guard.line for guard in exits if guard is not None}
    around |= _calls_across(source, near | around) | _counts_of(source, near)
    rings = [around - {0}]
    while len(rings) < RINGS:
        lines = {origin.line for line in rings[-1] for origin in flow.reaching(line)}
        rings.append((lines | _calls_across(source, rings[-1])) - {0}.union(*rings))
    races = [pair for pair, f in zip(both, errors, strict=True) if f.kind == "race"]
    spans = tuple(span for pair in races for span in flow.ordering(*pair))
    return Evidence(
        frozenset(f.kind for f in errors), frozenset(near - {0}),
        tuple(map(frozenset, rings)), spans, tuple(clues), proven,
        frozenset(f.variable for f in errors if f.kind == UNSTORED),
    )  # fmt: skip


def _calls_across(source: Source, lines: set[int]) -> set[int]:
    """Return the lines of functions that these lines call, and those that call the lines' ones."""
    return lines_across_calls(source.tree, [kernel.function for kernel in source.kernels], lines)


def _conditions_of_stores(source: Source, names: set[str]) -> set[int]:
    """Return the lines of the conditions and loops that decide which elements are stored."""
    found = set()
    for kernel in source.kernels if names else ():
        for store in kernel.walk("assignment_expression"):
            if base_of(store.field("left")).text in names:
                heads = (a for a in store.ancestors if a.kind in _CONDITIONAL)
                found |= {head.line for head in heads}
    return found


def _counts_of(source: Source, lines: set[int]) -> set[int]:
    """Return the lines that count a name of these lines, and the conditions of the counting."""
    rows = source.text.splitlines()
    names = {word for k in lines if 0 < k <= len(rows) for word in re.findall(r"\w+", rows[k - 1])}
    found = set()
    for kernel in source.kernels:
        for update in kernel.walk("update_expression"):
            counted = update.part("argument")
            if counted is not None and counted.text in names:
                heads = (a for a in update.ancestors if a.kind in _CONDITIONAL)
                found |= {update.line, *(head.line for head in heads)}
    return found


def list_edits(
    source: Source, evidence: Evidence, editors: Sequence[Editor], most: int
) -> tuple[Edit, ...]:
    """Return at most `most` edits of a source without duplicates, those to try first in front.

    Of many edits of one kind at one place, the later ones come behind those of other places.
    """
    seen = {source.data.decode(errors="replace")}
    ranked = sorted(
        (_rank(edit, evidence), len(edit.changes), edit.line, edit.changes, number, edit)
        for number, edit in enumerate(
            edit
            for editor in editors
            for edit in _offered(editor, source)
            if evidence.is_wrong or _explains(edit, evidence)
        )
    )
    alike: Counter[tuple[str, tuple[int, ...]]] = Counter()
    spread = []
    for rank, _, _, _, _, edit in ranked:
        same = (edit.kind, tuple(start for start, _, _ in edit.changes))
        spread.append((rank + alike[same] // ALIKE, edit))
        alike[same] += 1
    kept: list[Edit] = []
    for _, edit in sorted(spread, key=lambda row: row[0]):
        if len(kept) == most:
            break
        text = edit.applied(source.data)
        if text not in seen and not is_degenerate(source, edit):
            seen.add(text)
            kept.append(edit)
    return tuple(kept)


def _offered(editor: Editor, source: Source) -> Iterator[Edit]:
    try:
        yield from islice(editor(source), MAX_OF_A_KIND)
    except ValueError:  # a node without the part that the grammar promises: the text is wrong
        return


def _rank(edit: Edit, evidence: Evidence) -> int:
    """Return how late an edit is tried: by its kind, its distance to the findings, its cost."""
    if any((clue.kind, clue.line) == (edit.kind, edit.line) for clue in evidence.clues):
        return edit.cost - len(cause_kinds())
    cost = 0 if _orders_every_race(edit, evidence) else edit.cost
    small = cost <= 0 or edit.kind in GENERIC  # as the change of the PTX is
    rank = 3 * cost + _prior(edit, evidence) - PROVEN * (small and edit.line == evidence.proven)
    is_near = edit.line in evidence.near or (edit.name and edit.name in evidence.names)
    if is_near or any(a <= edit.line <= b for a, b in evidence.spans):
        return rank
    rings = (ring for ring, lines in enumerate(evidence.around, start=1) if edit.line in lines)
    return rank + next(rings, FAR)


def _orders_every_race(edit: Edit, evidence: Evidence) -> bool:
    """Return whether each race has one of the two barriers that an edit adds between its lines."""
    if edit.kind != "missing-barriers":
        return False
    lines = (edit.line, *edit.more)
    return all(any(a <= line <= b for line in lines) for a, b in evidence.spans)


def _prior(edit: Edit, evidence: Evidence) -> int:
    """Return how unlikely the kind of an edit is, given the kinds of the errors."""
    known = cause_kinds()[edit.kind].evidence
    if not evidence.is_wrong:  # an edit that keeps the results and the cost is soon found
        return min(known.index(kind) for kind in evidence.kinds if kind in known)
    if not _explains(edit, evidence):
        return 3
    return int(edit.kind in GENERIC) - int(edit.kind in SPECIFIC)


def _explains(edit: Edit, evidence: Evidence) -> bool:
    return any(kind in evidence.kinds for kind in cause_kinds()[edit.kind].evidence)
