"""Search a fix: try edits of the source on the public cases, and grade those that are right.

An edit is confirmed when the usual pipeline says so: every public case is right, no error is left
or new, and no check is lost. Trials (grader.feedback.trials) only sort out the edits that are
wrong. The limits are numbers of trials, and the order is fixed, so every machine finds the same
fix; hidden cases and the lab's solution play no part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import Any

from grader import dataclass, regex, replace
from grader.checks.causes import CORRECTNESS
from grader.checks.result import Evidence, Result, Verdict
from grader.checks.suite import Check, award, evaluate_all, evaluate_one
from grader.compile.nvrtc import installation
from grader.compile.signature import check_variable, with_lab_kernels
from grader.compile.source import compile_source, nvrtc_options
from grader.compile.syntax import Node
from grader.faults import LabFault, MachineFault, StudentFault
from grader.feedback.edits import LOOPS, Edit, Source, covering, enclosing, is_inside
from grader.feedback.evidence import Evidence as Seen
from grader.grading.cases import RunOptions, expected_answer, run_cases
from grader.grading.pipeline import exceeds_limits, work_measure
from grader.grading.run import simulator_memory
from grader.labs.cases import prepare_case
from grader.labs.model import Case, Lab, PreparedCase
from grader.launch import Finding, pack_launches
from grader.sandbox.call import KeptChild, Limits, Reply, SandboxFailure, run_sandboxed

PROCESSES = 2
ROUNDS = (24, 72, 96, 96)
"""The edits that the processes try before the search looks at what they found, in turn."""

MORE = 48
"""The further edits that are tried where all that are right so far are doubtful."""

MAX_TRIALS = sum(ROUNDS)
MAX_CONFIRMED = 8
"""The edits that are graded in full, at most."""

STEPS = 2_000_000
"""Warp instructions that a launch may execute in a trial; no lab's solution needs a third."""

ATTEMPTS = 2
"""How often a sandboxed process is started that this machine ends."""

TRIAL_SECONDS = 60.0
"""Limit of the processor time of one process, a backstop."""

MAX_CHANGE = 0.2
"""The part by which a cost that was too high before may grow with an edit."""


@dataclass
class FixSearch:
    """The search for one submission.

    Attributes:
        evidence: The public cases on the simulator.
        checks: The checks that the simulator evaluates.
        before: Their results.
        options: How cases run.
        trials: The edits that were tried so far.
        examined: The edits that were graded in full so far.
    """

    evidence: Evidence
    checks: Sequence[Check]
    before: Sequence[Result]
    options: RunOptions
    trials: int = 0
    examined: int = 0

    def fix(self, source: Source, edits: Sequence[Edit], seen: Seen) -> Edit | None:
        """Return the least doubtful edit that is confirmed.

        One that leaves nothing to improve is preferred. While only doubtful ones are right, the
        search goes on for one round more.
        """
        with KeptChild() as first, KeptChild() as second:  # they stay from round to round
            return self.search(source, edits, seen, (first, second))

    def search(
        self, source: Source, edits: Sequence[Edit], seen: Seen, children: Sequence[KeptChild]
    ) -> Edit | None:
        """Search with the children that try the edits."""
        shared = self.request()
        rest, waiting, late = iter(edits), list[Edit](), False
        for size in ROUNDS:
            chunk = tuple(islice(rest, min(size, MORE) if late else size))
            right, untried = self.tried(source, chunk, shared, children)
            waiting, rest = waiting + right, chain(untried, rest)
            doubts = [doubt(source, edit, seen) for edit in waiting]
            if waiting and (late or min(doubts) == 0):
                ranked = sorted(range(len(waiting)), key=lambda k: (doubts[k], k))
                best = self.confirmed_of(source, [waiting[k] for k in ranked])
                if best is not None:
                    return best
                waiting = []
            late = bool(waiting)
        return self.confirmed_of(source, waiting)

    def confirmed_of(self, source: Source, right: Sequence[Edit]) -> Edit | None:
        """Return the first of these edits that is confirmed in full, or else in part."""
        partial = None
        for start in range(0, len(right), PROCESSES):
            pair = right[start : start + PROCESSES]
            if self.examined >= MAX_CONFIRMED:
                break
            outcomes = self.graded([edit.applied(source.data) for edit in pair])
            self.examined += len(pair)
            if "all" in outcomes:
                return pair[outcomes.index("all")]
            if partial is None and "one" in outcomes:
                partial = pair[outcomes.index("one")]
        return partial

    def graded(self, texts: Sequence[str]) -> list[str]:
        """Grade edited sources in parallel; see `confirmed`."""
        with ThreadPoolExecutor(min(PROCESSES, self.options.parallel_jobs)) as pool:
            return list(pool.map(self.confirmed, texts))

    def request(self) -> tuple[dict[str, Any], Mapping[str, Any], Limits]:
        """Return what all trials share: the launches with their outputs, wrong ones first."""
        from grader.simulator.ptx.model import function_name  # a search is seldom needed

        ready = self.prepared()
        rows, arrays = pack_launches([case.launch for case in ready])
        for k, case in enumerate(ready):
            for index, expected in case.expected.items():
                arrays[f"{k}.value.{index}"] = expected.value
                arrays[f"{k}.bound.{index}"] = expected.bound
        compiler = installation()
        request = {
            **nvrtc_options(compiler),
            "launches": rows,
            "right": [list(case.expected) for case in ready],
            "steps": STEPS,
            "definedness": any(f.kind == "uninitialized-read" for f in errors_of(self.before)),
            "names": {k.name: function_name(k.symbol) for k in self.evidence.program.kernels},
        }
        memory = (2 << 30) + simulator_memory([c.launch for c in ready], self.evidence.program.ptx)
        limits = Limits(wall=3 * TRIAL_SECONDS, cpu=TRIAL_SECONDS, memory=memory)
        return request, arrays, limits

    def prepared(self) -> list[PreparedCase]:
        """The launches: those that fail now first, small ones first."""
        lab = self.evidence.lab
        answers = [expected_answer(d) for d in lab.derivations if d.visibility == "public"]
        wrong = {name for r in self.before for f in r.findings for name in f.cases
                 if f.severity == "error"}  # fmt: skip
        ready = {run.case.name: run.prepared for run in self.evidence.runs if run.prepared}
        missing = [run.case for run in self.evidence.runs if run.prepared is None]
        ready |= {case.case.name: case for case in _with_right_answers(lab, missing, self.options)}
        cases = [*ready.values(), *(a for a in answers if a.case.name not in ready)]
        return sorted(cases, key=lambda c: (c.case.name not in wrong, _size(c)))

    def tried(
        self, source: Source, edits: Sequence[Edit],
        shared: tuple[dict[str, Any], Mapping[str, Any], Limits], children: Sequence[KeptChild],
    ) -> tuple[list[Edit], list[Edit]]:  # fmt: skip
        """Return the edits that are right, and those that are left since others are right."""
        request, arrays, limits = shared
        parts = [edits[k :: len(children)] for k in range(len(children))]

        def outcome(part: Sequence[Edit], child: KeptChild) -> list[bool]:
            sources = [edit.applied(source.data) for edit in part]
            asked = {**request, "sources": sources}
            step = "grader.feedback.trials:run"
            reply = run_explaining(step, asked, arrays, limits, child) if part else None
            return [bool(right) for right in reply.value] if reply else []

        with ThreadPoolExecutor(min(PROCESSES, self.options.parallel_jobs)) as pool:
            outcomes = list(pool.map(outcome, parts, children))
        self.trials += sum(map(len, outcomes))
        right = {
            part[k]
            for part, found in zip(parts, outcomes, strict=False)
            for k, is_right in enumerate(found)
            if is_right
        }
        results = zip(parts, outcomes, strict=False)
        untried = {edit for part, found in results if found for edit in part[len(found) :]}
        return [e for e in edits if e in right], [e for e in edits if e in untried]

    def confirmed(self, text: str) -> str:
        """Grade an edited source: "all" when nothing is left, "one" when another cost is left."""
        lab = self.evidence.lab
        cases = [run.case for run in self.evidence.runs if run.case.name not in _calls(lab)]
        options = replace(self.options, measure=work_measure(self.checks))
        needs_all = not any(f.kind in CORRECTNESS for f in errors_of(self.before))
        try:
            file, kernels = self.evidence.program.file, lab.kernels
            program = compile_source(text.encode(), file, wanted=kernels, cache=None)
            program = with_lab_kernels(program, kernels)
            for variable in lab.globals:
                check_variable(program, variable)
            if needs_all and exceeds_limits(self.checks, program, self.evidence.largest):
                return ""
            runs = run_cases(lab, program, cases, options)
        except (StudentFault, LabFault):
            return ""
        after = evaluate_all(self.checks, replace(self.evidence, program=program, runs=runs))
        return self.compared(after)

    def compared(self, after: Sequence[Result]) -> str:
        """Compare the results of an edited source with those of the submission.

        Raises:
            MachineFault: The edited source could not be evaluated.
        """
        if failed := [result.summary for result in after if result.status == "error"]:
            raise MachineFault(failed[0], fix="Try again.")
        errors = errors_of(after)
        if any(f.kind in CORRECTNESS for f in errors):
            return ""
        if all(result.status == "pass" for result in after):
            return "" if _new_kinds(self.before, after) else "all"
        lost = any(b.status == "pass" != a.status for b, a in zip(self.before, after, strict=True))
        gone = {f.kind for f in errors_of(self.before)} - {f.kind for f in errors}
        known = self.measured()
        costs = {(f.kind, f.message.split(";")[0][:20]) for f in errors_of(known)}
        new = {(f.kind, f.message.split(";")[0][:20]) for f in errors} - costs
        worse = any(
            _is_worse(b, a) for b, a in zip(known, after, strict=True) if a.status == "fail"
        )
        return "" if lost or new or worse or not gone & CORRECTNESS else "one"

    def measured(self) -> tuple[Result, ...]:
        """What the submission costs, evaluated as if its output were right."""
        names = [run.case.name for run in self.evidence.runs]
        right = Verdict("pass", "", 1.0, cases=dict.fromkeys(names, "pass"))
        evidence = replace(self.evidence, verdicts={"output": right})
        return tuple(award(check, evaluate_one(check, evidence)) for check in self.checks)


def doubt(source: Source, edit: Edit, evidence: Seen) -> int:
    """Return how doubtful it is that an edit which is right is what the author means.

    0 stands for the inverse of a mistake, 1 for an edit that may hide one (an offset by one, a
    larger array, a change far from the findings), 2 for one against the usual order of things.
    """
    if any((clue.kind, clue.line) == (edit.kind, edit.line) for clue in evidence.clues):
        return 0
    after = edit.applied(source.data)
    usual = len(_UNUSUAL.findall(source.text)) - len(_UNUSUAL.findall(after))
    if usual:
        return 2 if usual < 0 else 0
    old = [source.data[start:end].decode(errors="replace") for start, end, _ in edit.changes]
    new = [change[2] for change in edit.changes]
    if edit.kind in ("missing-guard", "wrong-condition") and _guards_a_loop(source, edit):
        return 2
    place = covering(source.tree, *edit.changes[0][:2])
    branch = enclosing(place, "if_statement")
    if branch is not None and is_inside(place, branch, "condition") and "__sync" in branch.text:
        return 2  # the barrier has to leave the branch, whatever its condition is
    axes = {match[1] for n in new for match in _AXIS.finditer(n)}
    if edit.kind == "exchanged-axes" and not axes <= {*_AXIS.findall(source.text)}:
        return 2  # blocks and grids of this kernel have one thread along that axis
    if _selects_another_thread(source, edit):
        return 2
    if _counts_from_zero(source, edit) and (new == ["<="] or _SCALED.search("".join(new))):
        return 1
    offset = any(_OFFSET.search(n) and not _OFFSET.search(o) for o, n in zip(old, new, strict=True))
    is_limit = place.parent is not None and place.parent.kind == "argument_list"
    offset = offset and not is_limit and edit.kind != "rounded-down"
    turned = [o for o, n in zip(old, new, strict=True) if {o, n} == {"+", "-"}]
    offset = offset or bool(turned and _is_step(place))
    grown = edit.kind == "wrong-size" and any(
        _GROWN.match(n) or n.startswith(f"{o} *") for o, n in zip(old, new, strict=True)
    )
    near = evidence.near.union(*evidence.around)
    near |= {edit.line} if edit.name and edit.name in evidence.names else set()
    far = evidence.is_wrong and edit.line not in near and not any(
        first <= edit.line <= last for first, last in evidence.spans
    )  # fmt: skip
    above = place.parent
    target = edit.kind == "wrong-index" and above is not None and above.part("left") == place
    surplus = edit.kind == "surplus-statement" or (
        edit.kind == "wrong-index" and _CALL.search("".join(old)) and not _CALL.search("".join(new))
    )
    return int(offset or grown or far or target or bool(surplus) or "-1" in new)


_BUILT_IN = regex(r"\b(?:threadIdx|blockIdx)\b")
_AXIS = regex(r"(?:threadIdx|blockIdx|blockDim|gridDim)\.([xyz])")
_CALL = regex(r"\w\(")
_SCALED = regex(r"\w \* |Dim\b")
_OFFSET = regex(r"[+-] 1\)?$")
_GROWN = regex(r"2 \* | \+ [12]$|.* \+ [12]$")
_X = r"(?:(?:threadIdx|blockIdx)\.x|\b(?:[tbgl]?x|col\w*|\w+_x|\w+_col))\b"
_Y = r"(?:(?:threadIdx|blockIdx)\.y|\b(?:[tbgl]?y|row\w*|\w+_y|\w+_row))\b"
_UNUSUAL = regex(
    rf"\w+\[[^\[\]]*{_X}[^\[\]]*\]\[[^\[\]]*{_Y}[^\[\]]*\]"
    rf"|\[\(?[^\[\]]*{_X}[^\[\]*]* \* [^\[\]+]* \+ [^\[\]]*{_Y}[^\[\]]*\]"
    r"|\b(?:row|y|ty|\w+_y)\b\s*=[^;]*\bthreadIdx\.x|\b(?:col|x|tx|\w+_x)\b\s*=[^;]*\bthreadIdx\.y"
)
"""Matches an index whose row is made of x, or whose column is made of y."""


def _selects_another_thread(source: Source, edit: Edit) -> bool:
    """Return whether an edit changes the number in `threadIdx.x == 0`: no thread may have it."""
    start, end, new = edit.changes[0]
    above = covering(source.tree, start, end).parent
    sign = above.part("operator") if above is not None else None
    is_choice = sign is not None and sign.text in ("==", "!=")
    return is_choice and above is not None and bool(_BUILT_IN.search(above.text)) and new != "0"


def _counts_from_zero(source: Source, edit: Edit) -> bool:
    """Return whether an edit is in the head of a loop from 0: `i < n; ++i` is usual there."""
    node = covering(source.tree, *edit.changes[0][:2])
    loop = enclosing(node, "for_statement")
    start = loop.part("initializer") if loop is not None else None
    if loop is None or start is None or is_inside(node, loop, "body"):
        return False
    return bool(re.search(r"=\s*0\s*;?$", start.text))


def _is_step(sign: Node) -> bool:
    """Return whether an operator adds or subtracts one."""
    right = sign.parent.part("right") if sign.parent is not None else None
    return right is not None and right.text == "1"


def _guards_a_loop(source: Source, edit: Edit) -> bool:
    """Return whether an edit adds a comparison to the condition of a loop."""
    start, end, new = edit.changes[0]
    node = covering(source.tree, start, end)
    loop = enclosing(node, *LOOPS)
    return loop is not None and "&&" in new and is_inside(node, loop, "condition")


def run_explaining(
    step: str, request: Any, arrays: Mapping[str, Any], limits: Limits,
    kept: KeptChild | None = None,
) -> Reply | None:  # fmt: skip
    """Run a step that only explains a grade; None where it reaches a limit: no grade depends on it.

    A fault of this machine may pass, so there are ATTEMPTS. A limit that was reached does not: an
    edit may be one that the compiler cannot bear.

    Raises:
        MachineFault: This machine failed each time.
    """
    failures: list[MachineFault] = []
    while len(failures) < ATTEMPTS:
        try:
            return run_sandboxed(step, request, arrays, limits=limits, kept=kept)
        except SandboxFailure as failure:
            if failure.caused_by_child or failure.signal:
                return None
            failures.append(MachineFault(failure.detail, fix="Try again."))
        except MachineFault as failure:
            failures.append(failure)
    raise failures[-1]


def errors_of(results: Sequence[Result]) -> list[Finding]:
    """Return the findings of results that are errors."""
    return [f for r in results for f in r.findings if f.severity == "error"]


def _is_worse(before: Result, after: Result) -> bool:
    """Return whether an edit adds to a cost that is too high: it makes another mistake."""
    pairs = ((n, before.measurements.get(n, v), v) for n, v in after.measurements.items())
    return any((b - a if "occupancy" in n else a - b) > MAX_CHANGE * max(a, b) for n, b, a in pairs)


def _new_kinds(before: Sequence[Result], after: Sequence[Result]) -> set[str]:
    """Return the kinds of warnings that an edit adds."""
    found = [{f.kind for r in rs for f in r.findings if f.severity != "info"}
             for rs in (before, after)]  # fmt: skip
    return found[1] - found[0]


def _calls(lab: Lab) -> set[str]:
    return {derivation.call for derivation in lab.derivations}


def _with_right_answers(
    lab: Lab, cases: Sequence[Case], options: RunOptions
) -> tuple[PreparedCase, ...]:
    """Prepare the cases that a wrong derived number kept from running, with the right number."""
    known = [case for case in cases if case.name not in _calls(lab)]
    answers = {d.name: d.minimum for d in lab.derivations}
    return tuple(prepare_case(lab, case, options.seed_of(case), answers) for case in known)


def _size(case: PreparedCase) -> int:
    grid, block = case.launch.grid, case.launch.block
    return grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]
