"""Search a fix: try edits of the source on the public cases, and grade those that are right.

An edit is confirmed when the usual pipeline says so: every public case is right, no error is left
or new, and no check is lost. Trials (grader.feedback.trials) only sort out the edits that are
wrong. The limits are numbers of trials, and the order is fixed, so every machine finds the same
fix; hidden cases and the lab's solution play no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from typing import Any

from grader import dataclass
from grader.checks.causes import CORRECTNESS, Explanation, Fix
from grader.checks.result import Evidence, Result, Verdict
from grader.checks.suite import Check, award, evaluate_all, evaluate_one, plan
from grader.compile.nvrtc import installation
from grader.compile.signature import check_variable, with_lab_kernels
from grader.compile.source import compile_source, nvrtc_options
from grader.faults import LabFault, MachineFault, StudentFault
from grader.feedback.clues import find_clues
from grader.feedback.edits import Edit, Source, diff_of, list_edits, read_evidence, read_source
from grader.feedback.name_edits import EDITORS as NAME_EDITORS
from grader.feedback.statement_edits import EDITORS as STATEMENT_EDITORS
from grader.feedback.value_edits import EDITORS as VALUE_EDITORS
from grader.grading.cases import RunOptions, expected_answer, run_cases
from grader.grading.pipeline import work_measure
from grader.grading.run import simulator_memory
from grader.labs.cases import prepare_case
from grader.labs.model import Case, Lab, PreparedCase
from grader.launch import Finding, pack_launches
from grader.sandbox.call import Limits, Reply, SandboxFailure, run_sandboxed
from grader.simulator.ptx.model import function_name

MAX_SOURCE = 16 << 10
"""Bytes of a source whose fix is searched; a kernel of a course has a quarter of that."""

PROCESSES = 2
ROUNDS = (24, 72, 96, 192)
"""The edits that the processes try before the search looks at what they found, in turn."""

MAX_TRIALS = sum(ROUNDS)
MAX_CONFIRMED = 8
"""The edits that are graded in full, at most."""

STEPS = 2_000_000
"""Warp instructions that a launch may execute in a trial; no lab's solution needs a third."""

TRIAL_SECONDS = 60.0
"""Limit of the processor time of one process, a backstop."""

MAX_CHANGE = 0.2
"""The part by which a cost that was too high before may differ after an edit."""

NOT_EVALUATED = ("quiz", "speed")


def explain(evidence: Evidence, options: RunOptions, *, fixes: bool) -> Explanation:
    """Return what explains the errors of the public cases: clues, and a fix if there is one.

    Raises MachineFault.
    """
    public = _on_simulator(evidence.public)
    checks = tuple(c for c in plan(evidence.lab) if c.name not in NOT_EVALUATED)
    results = evaluate_all(checks, public)
    errors = _errors(results)
    hints = evidence.lab.hints
    if not errors or len(evidence.program.source.encode()) > MAX_SOURCE:
        return Explanation(hints=hints)
    clues = find_clues(evidence.program)
    known = Explanation(clues, hints=hints)
    if not fixes:
        return known
    search = _Search(public, checks, results, replace(options, on="sim"))
    own = evidence.program.kernel(evidence.lab.kernels[0].name)
    graded = function_name(own.symbol) if own is not None else ""
    source = read_source(evidence.program.source, evidence.lab, graded)
    lines = {line for found in evidence.localization.lines.values() for line in found}
    editors = (*STATEMENT_EDITORS, *NAME_EDITORS, *VALUE_EDITORS)
    seen = read_evidence(errors, lines, clues, source.text)
    ranked = list_edits(source, seen, editors, MAX_TRIALS)
    found = search.fix(source, ranked)
    cases = tuple(run.case.name for run in public.runs)
    made = () if found is None else (search.described(source, found, errors),)
    return replace(known, fixes=made, trials=search.trials, cases=cases)


def _on_simulator(evidence: Evidence) -> Evidence:
    """Return the evidence of the simulator alone: trials do not run on a GPU."""
    runs = tuple(replace(run, device=None) for run in evidence.runs)
    return replace(evidence, runs=runs, backend="sim")


@dataclass
class _Search:
    """The search for one submission.

    Attributes:
        evidence: The public cases on the simulator.
        checks: The checks that the simulator evaluates.
        before: Their results.
        options: How cases run.
        trials: The edits that were tried so far.
    """

    evidence: Evidence
    checks: Sequence[Check]
    before: Sequence[Result]
    options: RunOptions
    trials: int = 0

    def fix(self, source: Source, edits: Sequence[Edit]) -> Edit | None:
        """Return the first confirmed edit; one that leaves nothing to improve is preferred."""
        request, arrays, limits = self.request()
        graded, partial = 0, None
        rest = iter(edits)
        for size in ROUNDS:
            chunk = tuple(islice(rest, size))
            right = list(self.tried(source, chunk, request, arrays, limits))
            for start in range(0, len(right), PROCESSES):
                pair = right[start : start + PROCESSES]
                outcomes = self.graded([edit.applied(source.data) for edit in pair])
                if "all" in outcomes:
                    return pair[outcomes.index("all")]
                if partial is None and "one" in outcomes:
                    partial = pair[outcomes.index("one")]
                graded += len(pair)
                if graded >= MAX_CONFIRMED:
                    return partial
            if partial is not None:
                return partial
        return None

    def graded(self, texts: Sequence[str]) -> list[str]:
        """Grade edited sources in parallel; see `confirmed`."""
        with ThreadPoolExecutor(min(PROCESSES, self.options.parallel_jobs)) as pool:
            return list(pool.map(self.confirmed, texts))

    def request(self) -> tuple[dict[str, Any], Mapping[str, Any], Limits]:
        """Return what all trials share: the launches with their outputs, wrong ones first."""
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
            "definedness": any(f.kind == "uninitialized-read" for f in _errors(self.before)),
            "names": {k.name: function_name(k.symbol) for k in self.evidence.program.kernels},
        }
        memory = (2 << 30) + simulator_memory([c.launch for c in ready], self.evidence.program.ptx)
        limits = Limits(wall=3 * TRIAL_SECONDS, cpu=TRIAL_SECONDS, memory=memory)
        return request, arrays, limits

    def prepared(self) -> list[PreparedCase]:
        """The launches: those that fail now first, small ones first."""
        lab = self.evidence.lab
        answers = [expected_answer(d) for d in lab.derivations]
        wrong = {name for r in self.before for f in r.findings for name in f.cases
                 if f.severity == "error"}  # fmt: skip
        ready = {run.case.name: run.prepared for run in self.evidence.runs if run.prepared}
        missing = [run.case for run in self.evidence.runs if run.prepared is None]
        ready |= {case.case.name: case for case in _with_right_answers(lab, missing, self.options)}
        cases = [*ready.values(), *(a for a in answers if a.case.name not in ready)]
        return sorted(cases, key=lambda c: (c.case.name not in wrong, _size(c)))

    def tried(
        self, source: Source, edits: Sequence[Edit], request: dict[str, Any],
        arrays: Mapping[str, Any], limits: Limits,
    ) -> Iterator[Edit]:  # fmt: skip
        """Yield the edits that are right in a trial, in their order."""
        parts = [edits[k::PROCESSES] for k in range(PROCESSES)]

        def outcome(part: Sequence[Edit]) -> list[bool]:
            sources = [edit.applied(source.data) for edit in part]
            asked = {**request, "sources": sources}
            reply = run_explaining("grader.feedback.trials:run", asked, arrays, limits)
            return [bool(right) for right in reply.value] if reply else []

        with ThreadPoolExecutor(min(PROCESSES, self.options.parallel_jobs)) as pool:
            outcomes = list(pool.map(outcome, [part for part in parts if part]))
        self.trials += sum(map(len, outcomes))
        right = {
            part[k]
            for part, found in zip(parts, outcomes, strict=False)
            for k, is_right in enumerate(found)
            if is_right
        }
        yield from (edit for edit in edits if edit in right)

    def confirmed(self, text: str) -> str:
        """Grade an edited source: "all" when nothing is left, "one" when another cost is left."""
        lab = self.evidence.lab
        cases = [run.case for run in self.evidence.runs if run.case.name not in _calls(lab)]
        options = replace(self.options, measure=work_measure(self.checks))
        try:
            file, kernels = self.evidence.program.file, lab.kernels
            program = compile_source(text.encode(), file, wanted=kernels, cache=None)
            program = with_lab_kernels(program, kernels)
            for variable in lab.globals:
                check_variable(program, variable)
            runs = run_cases(lab, program, cases, options)
        except (StudentFault, LabFault):
            return ""
        after = evaluate_all(self.checks, replace(self.evidence, program=program, runs=runs))
        return self.compared(after)

    def compared(self, after: Sequence[Result]) -> str:
        """Compare the results of an edited source with those of the submission."""
        errors = _errors(after)
        if any(f.kind in CORRECTNESS for f in errors):
            return ""
        if all(result.status == "pass" for result in after):
            return "" if _new_kinds(self.before, after) else "all"
        lost = any(b.status == "pass" != a.status for b, a in zip(self.before, after, strict=True))
        gone = {f.kind for f in _errors(self.before)} - {f.kind for f in errors}
        known = self.measured()
        costs = {(f.kind, f.message.split(";")[0][:20]) for f in _errors(known)}
        new = {(f.kind, f.message.split(";")[0][:20]) for f in errors} - costs
        worse = any(_differs(b, a) for b, a in zip(known, after, strict=True) if a.status == "fail")
        return "" if lost or new or worse or not gone & CORRECTNESS else "one"

    def measured(self) -> tuple[Result, ...]:
        """What the submission costs, evaluated as if its output were right."""
        names = [run.case.name for run in self.evidence.runs]
        right = Verdict("pass", "", 1.0, cases=dict.fromkeys(names, "pass"))
        evidence = replace(self.evidence, verdicts={"output": right})
        return tuple(award(check, evaluate_one(check, evidence)) for check in self.checks)

    def described(self, source: Source, edit: Edit, errors: Sequence[Finding]) -> Fix:
        """Return a confirmed edit as the lab shows it."""
        program, hints = self.evidence.program, self.evidence.lab.hints
        diff = diff_of(source, edit, program.file) if hints == "fix" else ""
        kinds = tuple(dict.fromkeys(f.kind for f in errors))
        return Fix(edit.kind, edit.line, program.text(edit.line), edit.name, diff, kinds)


def run_explaining(
    step: str, request: Any, arrays: Mapping[str, Any], limits: Limits
) -> Reply | None:
    """Run a step that only explains a grade; None where it fails, since no grade depends on it.

    A fault of this machine may pass, so it is tried twice. A limit that was reached does not: an
    edit may be one that the compiler cannot bear.
    """
    for _ in range(2):
        try:
            return run_sandboxed(step, request, arrays, limits=limits)
        except SandboxFailure as failure:
            if failure.caused_by_child or failure.reason == "timeout":
                break
        except MachineFault:
            continue
    return None


def _errors(results: Sequence[Result]) -> list[Finding]:
    return [f for r in results for f in r.findings if f.severity == "error"]


def _differs(before: Result, after: Result) -> bool:
    """Return whether an edit changes a cost that is too high: it is no edit of another mistake."""
    pairs = ((before.measurements.get(n, v), v) for n, v in after.measurements.items())
    return any(abs(a - b) > MAX_CHANGE * max(abs(a), abs(b)) for b, a in pairs)


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
