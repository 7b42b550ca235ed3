"""The texts of findings about mbarrier objects (cuda::barrier) that are not used as such."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from grader import regex, replace
from grader.launch import Finding, Severity
from grader.simulator.core import bindings as c
from grader.simulator.diagnose.copies import not_awaited_by
from grader.simulator.diagnose.places import LOOPS
from grader.simulator.diagnose.races import ACROSS_BLOCKS, SAME_VALUE, STORE, Report

if TYPE_CHECKING:
    from grader.compile.syntax import Node, Tree

CLEAN = "A run with that has no finding."
"""The end of a fix that a run has tried, and that is one of all findings."""

_BAD_COUNT, _SET_AGAIN, _AFTER_INVALIDATION, _NEVER_SET, _PLAIN_ACCESS = range(1, 6)
_MORE_ARRIVE, _ARRIVE_TWICE = 6, 7
"""What is wrong with the use of an mbarrier: the low bits of `extra` of its report."""
_MISUSE, _ARRIVALS_SHIFT = 255, 8
_MISUSES: dict[int, tuple[str, str, Severity]] = {
    _BAD_COUNT: (
        "is initialized with a count of {count}: a barrier counts 1 to 1,048,575 arrivals",
        "Pass the number of threads that arrive in each phase.",
        "error",
    ),
    _SET_AGAIN: (
        "is initialized again while it is a barrier",
        "Initialize it once and use its next phase, or invalidate it first (mbarrier.inval, the "
        "destructor of cuda::barrier).",
        "warning",
    ),
    _AFTER_INVALIDATION: (
        "is used as a barrier after it was invalidated",
        "Invalidate it after its last use, or initialize it again before this line.",
        "error",
    ),
    _NEVER_SET: (
        "is used as a barrier, and was never initialized as one",
        "Let one thread initialize it, with a barrier of the block behind, before it is used.",
        "error",
    ),
    _PLAIN_ACCESS: (
        "is a barrier, and its memory is {access} as data",
        "Invalidate the barrier (mbarrier.inval, the destructor of cuda::barrier) before its "
        "memory is anything else, or use other memory.",
        "warning",
    ),
    _MORE_ARRIVE: (
        "is initialized with a count of {count}, but {arrivals} threads arrive at it: a phase ends "
        "before all of them have arrived",
        "Initialize it with the number of threads that arrive in each phase: {arrivals}, if each "
        "of these does, or let no more of them arrive than it counts.",
        "error",
    ),
    _ARRIVE_TWICE: (
        "gets a second arrival in one phase here, from {arrivals} of its threads, and its count is "
        "{count}: the phase ends before all threads have arrived",
        "Let each thread wait for the end of a phase before it arrives again. Where it is to "
        "arrive several times in each phase, initialize it with the number of all arrivals of a "
        "phase.",
        "error",
    ),
}

_WAIT_NAME = regex(r"wait|try|test|parity", re.IGNORECASE)
_ASM_WAIT = regex(
    r"\bmbarrier\.(?:try|test)_wait\.parity\b[^;\]]{0,200}\](?:\s{0,20},\s*(\d)\s*[;,])?"
)
_PARITY = regex(r"[01][uU]?|true|false")

_AWAITS, _ARRIVES = regex(r"wait", re.IGNORECASE), regex(r"arrive")
_KNOWN = regex(r"wait|mbarrier\W{1,20}init|mbarrier_init|\binit\b")
_CALLS = regex(r"wait|arrive|init|expect|copy|cpy|cp_async|cvta|generic|inval", re.IGNORECASE)
"""The names of what the headers of CUDA do with an mbarrier."""
_PIPELINE, _CONSUMES = regex(r"producer_commit|consumer_release"), regex(r"consumer_wait\w*")
_NO_ARRIVAL = (
    "Line {line} waits for `{name}`, and no thread arrives at it. Let the threads arrive that "
    "others wait for, by arrive() or mbarrier.arrive, as many as its count says: behind their "
    "last access to what they hand over."
)
Deeds = frozenset[re.Pattern[str]]
"""What calls and assembly do with a variable: those of `_DEEDS` that they match."""
Use = tuple[int, Deeds | None]
"""The line of a mention of a variable, and what is done there; None where that is not known."""
_DEEDS = _AWAITS, _ARRIVES, _KNOWN
_MOST_FUNCTIONS = 200
"""Of a source whose functions are followed into each other."""
_STATEMENTS = ("declaration", "expression_statement", "compound_statement", *LOOPS)
_NOT_AWAITED = (
    "Line {line} arrives at `{name}`, and no thread waits for it. Let the threads that go on with "
    "what others hand over there wait for its phase first, by wait() or mbarrier.try_wait: before "
    "they read what was written, and before they write again what others read."
)

_FOLLOWS = (c.RACE, c.UNINIT, c.STANDSTILL, c.TIMEOUT, c.LIMIT)


def has_small_count(r: Report) -> bool:
    """Whether a report is about an mbarrier with more arrivals than a phase counts."""
    return r.kind == c.MBARRIER and r.extra & _MISUSE in (_MORE_ARRIVE, _ARRIVE_TWICE)


def follows_small_count(r: Report) -> bool:
    """Whether a report may follow from a phase that ends before all threads have arrived."""
    return r.kind in _FOLLOWS and not (r.kind == c.RACE and r.has(ACROSS_BLOCKS | SAME_VALUE))


def upsets_phases(r: Report, other: Report) -> bool:
    """Whether a report follows from another one, of which one is about a small count.

    A thread that reads a copy and never waits for it comes too early to other mbarriers as well.

    Args:
        r: the report that comes first.
        other: the one that may follow.
    """
    if has_small_count(r):
        return follows_small_count(other) and not _is_not_awaited(other, r)
    return has_small_count(other) and _is_not_awaited(r, other)


def _is_not_awaited(r: Report, count: Report) -> bool:
    """Whether a race is a read of a copy for which no thread waits, by another mbarrier."""
    offset, start = not_awaited_by(r), count.address - count.target.offset
    return offset is not None and not start <= offset < start + count.target.size


def without_idle_counts(reports: list[Report]) -> list[Report]:
    """The reports, without those of small counts where nothing follows from them.

    Threads may arrive in turns, each in other phases.
    """
    if any(map(follows_small_count, reports)):
        return reports
    return [r for r in reports if not has_small_count(r)]


def mbarrier_finding(r: Report) -> Finding:
    """The finding of an mbarrier that is not used as one, or of other memory that is."""
    what, fix, severity = _MISUSES[r.extra & _MISUSE]
    access, arrivals = "written" if r.has(STORE) else "read", r.extra >> _ARRIVALS_SHIFT
    name = f"`{r.target.element}`" if r.target.name else "this memory"
    what = f"{name} {what.format(count=f'{r.bytes:,}', access=access, arrivals=arrivals)}"
    fix = fix.format(arrivals=arrivals)
    return Finding(
        "barrier-divergence", severity, what, space="shared", variable=r.target.name, hint=fix
    )


def with_first_hints(findings: Sequence[Finding], cause: str = "") -> list[Finding]:
    """Findings of which those of endless waits do not repeat or contradict another's hint.

    Args:
        findings: the findings.
        cause: the fix of all that follows from a wrong use of an mbarrier; empty where none is.
    """
    if cause:
        kinds = {"race", "timeout", "uninitialized-read", "barrier-divergence"}
        kinds |= {"invalid-access"} if cause.endswith(CLEAN) else set()
        wrong = [f.kind in kinds and f.severity == "error" for f in findings]
        return [
            replace(f, hint=cause) if own else f for f, own in zip(findings, wrong, strict=True)
        ]
    misused = {f.variable: f.hint for f in findings if f.kind == "barrier-divergence"}
    out = list[Finding]()
    for f in findings:
        waits = f.kind == "timeout" and bool(f.variable)
        same = [x for x in out if x.hint == f.hint and x.variable not in ("", f.variable)]
        if waits and f.follows and f.variable in misused:
            out.append(replace(f, hint=misused[f.variable]))
        elif waits and same and same[0].kind == "timeout":
            hint = (
                f"Correct the wait for `{same[0].variable}` in line {same[0].line} first: threads "
                "that wait there do not come to where others need them."
            )
            out.append(replace(f, hint=hint))
        else:
            out.append(f)
    return out


def first_value_hint(name: str, op: str) -> str:
    """The fix of an atomic, or of the use of an mbarrier, in shared memory that was never written.

    Args:
        name: the variable.
        op: the opcode; the fix of other reads is empty.
    """
    if op.startswith("mbarrier"):
        return (
            f"Let one thread initialize each barrier of `{name}` (init(), mbarrier.init), and put "
            "__syncthreads() behind that, before any thread uses it."
        )
    if op.startswith(("atom", "red")):
        return (
            f"Let threads set all elements of `{name}` to their first values, such as 0, and put "
            "__syncthreads() behind that, before this line."
        )
    return ""


def never_awaited(tree: Tree, text: Sequence[str], lines: Collection[int]) -> str:
    """What is wrong with a shared variable at which threads arrive, and for which none waits.

    Args:
        tree: the source.
        text: its lines.
        lines: the numbers of those that run.

    Empty where there is none. Each mention of the variable must be in calls or assembly that show
    what they do with it.
    """
    functions = [*tree.walk("function_definition")]
    if len(functions) > _MOST_FUNCTIONS:
        return ""
    bodies = _with_callees({n.text: _text_of(f, text) for f in functions for n in _names_of(f)})
    own = [f for f in functions if any(f.line <= line <= f.last_line for line in lines)]
    for why, line, name in chain.from_iterable(_one_sided(f, text, bodies) for f in own):
        return why.format(line=line, name=name)
    return _pipeline_without_waits(own)


def _text_of(node: Node, text: Sequence[str]) -> str:
    """The lines of a node: the tree has no strings, and assembly is in these."""
    return "\n".join(text[node.line - 1 : node.last_line])


def _one_sided(
    function: Node, text: Sequence[str], bodies: Mapping[str, Deeds]
) -> Iterator[tuple[str, int, str]]:
    """The shared variables of a function at which threads only arrive, or for which they only wait.

    Each with what is wrong, and the last line that does the one or the other.

    Args:
        function: the function.
        text: the lines of the source.
        bodies: by name, what the source's functions do.
    """
    declared = (d for d in function.walk("declaration") if "__shared__" in d.text)
    shared, uses = {n.text for d in declared for n in d.walk("identifier")}, dict[str, list[Use]]()
    for name in function.walk("identifier"):
        own = next((n for n in name.ancestors if n.kind in _STATEMENTS), name)
        if name.text in shared and "__shared__" not in own.text:
            uses.setdefault(name.text, []).append((name.line, _done_with(name, text, bodies)))
    for variable, own_uses in sorted(uses.items()):
        done = [deeds for _, deeds in own_uses]
        arrive, wait = (
            [at for at, deeds in own_uses if deeds and x in deeds] for x in (_ARRIVES, _AWAITS)
        )
        if arrive and not wait and None not in done:
            yield _NOT_AWAITED, arrive[-1], variable
        if wait and not arrive and all(deeds and _KNOWN in deeds for deeds in done):
            yield _NO_ARRIVAL, wait[-1], variable


def _pipeline_without_waits(functions: Collection[Node]) -> str:
    """What is wrong with a `cuda::pipeline` of a block for one side of which no thread waits.

    Args:
        functions: the functions that run.
    """
    members = [name for f in functions for name in f.walk("field_identifier")]
    called, waits = {x.text for x in members}, [x for x in members if _CONSUMES.fullmatch(x.text)]
    shared = any("pipeline_shared_state" in f.text for f in functions)
    if not shared or not any(map(_PIPELINE.fullmatch, called)):
        return ""
    if not waits:
        return (
            "No thread calls consumer_wait(), which waits for the copies of the oldest stage. Call "
            "it before a stage is read, and consumer_release() after that."
        )
    repeats = any(up.kind in LOOPS for wait in waits for up in wait.ancestors)
    if repeats and "consumer_release" not in called:
        return (
            "No thread calls consumer_release(), and without it each consumer_wait() waits for the "
            "same stage. Call it after the last access to each stage."
        )
    if "producer_acquire" in called:
        return ""
    return (
        "No thread calls producer_acquire(), which waits until all consumers have released the "
        "stage. Call it before the copies of each stage, and producer_commit() after them."
    )


def _names_of(function: Node) -> Iterator[Node]:
    """The name of a function, where it is a plain one."""
    declarator = next(function.walk("function_declarator"), None)
    name = declarator.part("declarator") if declarator is not None else None
    if name is not None and name.kind == "identifier":
        yield name


def _deeds(text: str) -> Deeds:
    return frozenset(x for x in _DEEDS if x.search(text))


def _with_callees(bodies: Mapping[str, str]) -> dict[str, Deeds]:
    """By name, what a function does, and all that it calls, or names.

    Args:
        bodies: by name, the text of the functions.
    """
    words = {name: {*re.findall(r"\w+", body)} & bodies.keys() for name, body in bodies.items()}
    own, out = {name: _deeds(body) for name, body in bodies.items()}, dict[str, Deeds]()
    for name in bodies:
        known, work = {name}, [name]
        while work:
            more = words[work.pop()] - known
            known, work = known | more, [*work, *more]
        out[name] = frozenset(chain.from_iterable(own[one] for one in known))
    return out


def _done_with(name: Node, text: Sequence[str], bodies: Mapping[str, Deeds]) -> Deeds | None:
    """What the calls and assembly do that a mention of a variable is in.

    None where there is none, or what one does is not known.

    Args:
        name: the mention.
        text: the lines of the source.
        bodies: by name, what the source's functions do.
    """
    out = list[Deeds]()
    for node in name.ancestors:
        if node.kind in _STATEMENTS:
            break
        if node.kind == "gnu_asm_expression":
            out.append(_deeds(_text_of(node, text)))
        if node.kind == "call_expression" and (called := node.part("function")) is not None:
            if called.text not in bodies and not _CALLS.search(called.text):
                return None
            out.append(bodies[called.text] if called.text in bodies else _deeds(called.text))
    return frozenset[re.Pattern[str]]().union(*out) if out else None


def constant_parities(tree: Tree, text: Sequence[str], lines: Collection[int]) -> Iterator[str]:
    """What is wrong with waits for one parity in each round of a loop.

    Args:
        tree: the source.
        text: its lines.
        lines: the numbers of those that run.
    """
    for call in tree.walk("call_expression"):
        name, arguments = call.part("function"), call.part("arguments")
        given = arguments.named if arguments else ()
        known = name is not None and call.line in lines and len(given) > 1
        if name is None or not known or not _WAIT_NAME.search(name.text):
            continue
        if _PARITY.fullmatch(given[-1].text) and (loop := _rounds_of(call, given[0])):
            yield _constant_parity(call, loop, given[-1].text)
    for wait in tree.walk("gnu_asm_expression"):
        inputs = [x for part in wait.walk("gnu_asm_input_operand") if (x := part.part("value"))]
        runs = any(wait.line <= line <= wait.last_line for line in lines)
        found = _ASM_WAIT.search(_text_of(wait, text)) if inputs and runs else None
        parity = (found and found[1]) or inputs[-1].text if found else ""
        if _PARITY.fullmatch(parity) and (loop := _rounds_of(wait, inputs[0])):
            yield _constant_parity(wait, loop, parity)


def _constant_parity(wait: Node, loop: Node, parity: str) -> str:
    return (
        f"Line {wait.line} waits for parity {parity} in each round of the loop of line "
        f"{loop.line}. Phases have parity 0 and 1 in turn: wait for the parity of the round's "
        "phase, which changes from round to round."
    )


def _rounds_of(call: Node, barrier: Node) -> Node | None:
    """The loop around a wait, other than one that repeats it, whose rounds use one barrier."""
    if re.search(r"[\[+]", barrier.text):
        return None
    outputs = {x.text for out in call.walk("gnu_asm_output_operand") if (x := out.part("value"))}
    names = {*re.findall(r"[A-Za-z_]\w*", barrier.text)}
    for loop in call.ancestors:
        condition = loop.part("condition") if loop.kind in LOOPS else None
        repeats = condition is not None and (
            condition.start <= call.start < condition.end
            or not outputs.isdisjoint(re.findall(r"\w+", condition.text))
        )
        if loop.kind not in LOOPS or repeats:
            continue
        made = loop.walk("init_declarator", "assignment_expression")
        set_in = {(n.part("declarator") or n.part("left") or n).text for n in made}
        return loop if names.isdisjoint(set_in) else None
    return None
