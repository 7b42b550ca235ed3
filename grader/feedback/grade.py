"""Grade one submission and explain its errors.

The pipeline (grader.grading.pipeline) with what wraps it: the quiz is marked and the lab's baseline
is measured while the submission compiles and runs, and wrong outputs are localized.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal

from numpy.typing import NDArray

from grader import dataclass
from grader.checks.causes import Clue, Explanation, Fix
from grader.checks.mismatch import compare
from grader.checks.result import CaseRun, Evidence, Result
from grader.checks.suite import Check, evaluate_all, plan
from grader.compile.dataflow import size_origins
from grader.compile.program import Kernel, Program
from grader.compile.syntax import Node
from grader.faults import RESOURCE_ERRORS, MachineFault, system_fault
from grader.feedback.edits import (
    LOOPS,
    Edit,
    Source,
    covering,
    diff_of,
    enclosing,
    is_inside,
    read_source,
)
from grader.feedback.evidence import find_clues, find_leads, list_edits, read_evidence
from grader.feedback.fixes import MAX_TRIALS, FixSearch, errors_of, run_explaining
from grader.gpu.speedup import Timing
from grader.grading.baseline import prefetch
from grader.grading.cases import MAX_STEPS, Backend, RunOptions, expected_answer, select_cases
from grader.grading.pipeline import Job, Progress, grade_submission
from grader.grading.quiz import answer_quiz
from grader.grading.record import Grade
from grader.grading.run import ready_for, simulator_memory
from grader.grading.timing import with_launches
from grader.labs.model import Lab, PreparedCase
from grader.labs.quiz import AnswerSheet
from grader.labs.reference import prepare_processes
from grader.launch import OUTPUT_KINDS, Finding, Launch, Origin, pack_launches
from grader.sandbox.call import Limits, prepare_template
from grader.simulator.exchange import Localization, unpack_localization
from grader.simulator.ptx.model import function_name
from grader.submissions.files import Submission

SYMPTOMS = frozenset({"invalid-access", "uninitialized-read"})
"""The kinds of errors whose line may show only the effect of another line's mistake."""

MAX_THREADS = 8
"""The most trials at a time: more would take more memory for little gain."""

SEARCH_SECONDS = 30.0
"""The wall-clock limit of one search, a backstop."""

MAX_SOURCE = 16 << 10
"""Bytes of a source whose fix is searched; a kernel of a course has a quarter of that."""

WRONG_BYTES = re.compile(r"`(\w+)` has \d+ bytes, the lab requires")
TOO_MANY = "too many initializer values"
"""The messages about a variable whose size is not the lab's, and about an array."""

NOT_EVALUATED = ("quiz", "speed")

ExpectedOutputs = Mapping[int, tuple[NDArray[Any], NDArray[Any]]]
"""The correct outputs of a launch: by argument index, values and allowed absolute errors."""


@dataclass(frozen=True)
class PublicRun:
    """A run of a public case that ended, with its expected outputs."""

    run: CaseRun
    prepared: PreparedCase

    @property
    def expected(self) -> tuple[Launch, ExpectedOutputs]:
        """The launch and its correct outputs."""
        outputs = self.prepared.expected
        return self.prepared.launch, {i: (e.value, e.bound) for i, e in outputs.items()}

    @property
    def needs_search(self) -> bool:
        """Whether its output is wrong, or it has an error of SYMPTOMS."""
        launch, trace = self.prepared.launch, self.run.trace
        if any(f.kind in SYMPTOMS for f in trace.errors):
            return True
        return any(
            compare(launch.args[i].name, trace.outputs[i], e, trace.unwritten.get(i), launch.block)
            for i, e in self.prepared.expected.items()
        )


def localize_faults(evidence: Evidence, options: RunOptions) -> Evidence:
    """Add to the evidence what further runs on the simulator show."""
    try:
        localization = _search(evidence, options)
    except (MachineFault, *RESOURCE_ERRORS) as error:
        localization = Localization(failure=system_fault(error, "the search failed").what)
    return _with_store_lines(replace(evidence, localization=localization))


def _search(evidence: Evidence, options: RunOptions) -> Localization:
    """Search the lines at fault, kernel by kernel. Raises MachineFault."""
    runs = _public_runs(evidence)
    threads = min(options.threads or os.cpu_count() or 1, MAX_THREADS)
    localization = Localization()
    for name in dict.fromkeys(run.prepared.launch.kernel for run in runs):
        kernel = evidence.program.kernel(name)
        own = [run for run in runs if run.prepared.launch.kernel == name]
        if kernel and any(run.needs_search for run in own):
            expected = [run.expected for run in own]
            more = search_fault_lines(evidence.program, kernel, expected, threads)
            localization = Localization(
                {**localization.lines, **more.lines}, {**localization.stored, **more.stored}
            )
    return localization


def _public_runs(evidence: Evidence) -> list[PublicRun]:
    """The public runs that ended, including those that answer a derivation."""
    answers = {d.call: expected_answer(d) for d in evidence.lab.derivations}
    runs = [r for r in evidence.runs if r.launched and r.trace.ended]
    ready = ((run, run.prepared or answers.get(run.case.name)) for run in runs)
    return [PublicRun(r, p) for r, p in ready if p is not None and r.case.visibility == "public"]


def _with_store_lines(evidence: Evidence) -> Evidence:
    """Move wrong answers to derivations from the kernel's line to the line that stored them.

    The findings of the cases that need an answer move along.
    """
    moved: dict[Finding, Finding] = {}
    for run in evidence.runs:
        stores = [
            store
            for (name, _), store in evidence.localization.stored.items()
            if name == run.case.name
        ]
        if run.prepared is None and stores:
            wrong = [f for f in run.trace.errors if f.kind in OUTPUT_KINDS]
            moved |= {f: evidence.program.at(f, stores[0].line) for f in wrong}
    return replace(evidence, runs=tuple(_with_moved(run, moved) for run in evidence.runs))


def _with_moved(run: CaseRun, moved: Mapping[Finding, Finding]) -> CaseRun:
    findings = tuple(moved.get(f, f) for f in run.trace.findings)
    return replace(run, trace=replace(run.trace, findings=findings)) if moved else run


def search_fault_lines(
    program: Program,
    kernel: Kernel,
    expected: Sequence[tuple[Launch, ExpectedOutputs]],
    threads: int,
) -> Localization:
    """Search the line at fault in launches of one kernel that ended with a wrong output.

    Args:
        program: the compiled submission.
        kernel: the kernel that all launches run.
        expected: each launch with its correct outputs.
        threads: trials that run at a time.

    Returns an empty Localization when the search takes too long.

    Raises:
        MachineFault: this machine cannot search.
    """
    launches = [launch for launch, _ in expected]
    rows, arrays = pack_launches(launches)
    for k, (_, outputs) in enumerate(expected):
        for index, (value, bound) in outputs.items():
            arrays |= {f"{k}.value.{index}": value, f"{k}.bound.{index}": bound}
    request = {
        "ptx": program.debug_ptx,
        "kernel": kernel.symbol,
        "launches": rows,
        "right": [list(outputs) for _, outputs in expected],
        "threads": threads,
    }
    memory = threads * simulator_memory(launches, program.ptx)
    limits = Limits(wall=SEARCH_SECONDS, cpu=SEARCH_SECONDS * threads, memory=memory)
    reply = run_explaining("grader.feedback.ptx_search:run", request, arrays, limits)
    return unpack_localization(reply.value, launches) if reply else Localization()


def explain(evidence: Evidence, options: RunOptions, *, fixes: bool) -> Explanation:
    """Return what explains the errors of the public cases: clues, and a fix if there is one.

    No grade depends on it, so a fault of this machine is noted in `failure` and ends the search.
    """
    public = _on_simulator(evidence.public)
    checks = tuple(c for c in plan(evidence.lab) if c.name not in NOT_EVALUATED)
    results = evaluate_all(checks, public)
    errors = errors_of(results)
    hints = evidence.lab.hints
    if not errors or len(evidence.program.source.encode()) > MAX_SOURCE:
        return Explanation(hints=hints, failure=evidence.localization.failure)
    clues = find_clues(evidence.program, evidence.lab)
    known = Explanation(clues, hints=hints, failure=evidence.localization.failure)
    if not fixes:
        return known
    try:
        return _with_fix(known, public, checks, results, options)
    except (MachineFault, *RESOURCE_ERRORS) as error:
        return replace(known, failure=system_fault(error, "the search failed").what)


def _with_fix(
    known: Explanation,
    public: Evidence,
    checks: Sequence[Check],
    results: Sequence[Result],
    options: RunOptions,
) -> Explanation:
    """Add the confirmed fix, if there is one. Raises MachineFault."""
    from grader.feedback.index_edits import EDITORS as INDEX_EDITORS
    from grader.feedback.name_edits import EDITORS as NAME_EDITORS
    from grader.feedback.statement_edits import EDITORS as STATEMENT_EDITORS
    from grader.feedback.value_edits import EDITORS as VALUE_EDITORS

    search = FixSearch(public, checks, results, replace(options, on="sim"))
    errors = errors_of(results)
    own = public.program.kernel(public.lab.kernels[0].name)
    graded = function_name(own.symbol) if own is not None else ""
    source = read_source(public.program.source, public.lab, graded)
    lines = {line for found in public.localization.lines.values() for line in found}
    editors = (*STATEMENT_EDITORS, *NAME_EDITORS, *INDEX_EDITORS, *VALUE_EDITORS)
    seen = read_evidence(errors, lines, known.clues, source)
    ranked = list_edits(source, seen, editors, MAX_TRIALS)
    found = search.fix(source, ranked, seen)
    cases = tuple(run.case.name for run in public.runs)
    made = () if found is None else (_described(public, source, found, errors),)
    leads = () if made else find_leads(source, errors, lines)
    more = (replace(lead, text=public.program.text(lead.line)) for lead in leads)
    clues = (*known.clues, *more)
    return replace(known, clues=clues, fixes=made, trials=search.trials, cases=cases)


def _with_wrong_constant(graded: Grade, job: Job) -> Grade:
    """Lead from sizes that do not compile to the number that all of them come from."""
    text, file = job.submission.text, job.submission.name
    errors = [f for check in graded.checks for f in check.findings if f.kind == "compile-error"]
    shapes = {spec.name: len(spec.shape) for spec in job.lab.globals}
    wrong = [m[1] for f in errors if (m := WRONG_BYTES.match(f.message)) and m[1] in shapes]
    several = len(errors) > 1 and all(f.message == TOO_MANY for f in errors)
    if not (several or len(errors) == len(wrong) == 1) or any(f.file != file for f in errors):
        return graded
    roots = [size_origins(text, f.line) for f in errors]
    found = {origin for origins in roots for origin in origins}
    if len(found) != 1 or not all(roots) or (wrong and len(roots[0]) != shapes[wrong[0]]):
        return graded
    origin = found.pop()
    row = text.splitlines()[origin.line - 1].strip()
    clue = Clue("wrong-constant", origin.line, origin.name, row)
    return replace(graded, explanation=replace(graded.explanation, clues=(clue,)))


def _on_simulator(evidence: Evidence) -> Evidence:
    """Return the evidence of the simulator alone: trials do not run on a GPU."""
    runs = tuple(replace(run, device=None) for run in evidence.runs)
    return replace(evidence, runs=runs, backend="sim")


def _described(evidence: Evidence, source: Source, edit: Edit, errors: Sequence[Finding]) -> Fix:
    """Return a confirmed edit as the lab shows it."""
    program, hints = evidence.program, evidence.lab.hints
    diff = diff_of(source, edit, program.file) if hints == "fix" else ""
    kinds = tuple(dict.fromkeys(f.kind for f in errors))
    kind, more = true_kind(source, edit, kinds), tuple(Origin("", line) for line in edit.more)
    return Fix(kind, edit.line, program.text(edit.line), edit.name, diff, kinds, more=more)


def true_kind(source: Source, edit: Edit, kinds: Collection[str]) -> str:
    """Return the kind of cause that is true of a confirmed edit: by what it changes, and where.

    An edit is offered for what it repairs most often. Where it repaired something else, a more
    general kind is reported.

    Args:
        source: The submission.
        edit: The confirmed edit.
        kinds: The kinds of the errors that it removes.
    """
    start, end, new = min(edit.changes)
    node = covering(source.tree, start - (start == end and start > 0), end)
    old = source.data[start:end].decode(errors="replace")
    loop = enclosing(node, *LOOPS)
    holds = {
        "wrong-number": bool(re.fullmatch(r"[\d.]+[uUlLf]*", old)),
        "wrong-index": False,
        "wrong-initial-value": start == end or enclosing(node, "init_declarator") is not None,
        "exchanged-axes": len(edit.changes) > 1,
        "rounded-down": "/" in old and not re.search(r"\+.* - 1", old),
        "overlapping-arrays": "extern" in source.text
        and bool(re.search(r"\*|extern", _declaration_of(node))),
        "divergent-barrier": "barrier-divergence" in kinds,
        "missing-guard": not (loop is not None and is_inside(node, loop, "condition")),
    }.get(edit.kind, True)
    if loop is not None and "timeout" in kinds and not is_inside(node, loop, "body"):
        return "endless-loop"
    if edit.kind == "missing-stride" and "timeout" in kinds:
        return "endless-loop"
    if edit.kind == "weak-barrier" and "fence" in old:
        return "fence-for-barrier"
    if edit.kind == "missing-stride" and node.kind == "update_expression":
        return "wrong-loop"
    others = {"exchanged-axes": "wrong-axis", "divergent-barrier": "misplaced-barrier",
              "wrong-initial-value": "wrong-number"}  # fmt: skip
    return edit.kind if holds else others.get(edit.kind) or _kind_of_place(source, node)


_ASSIGNED = ("init_declarator", "assignment_expression")


def _declaration_of(node: Node) -> str:
    """Return the text of the declaration around a node, up to the value."""
    kinds = ("declaration", "assignment_expression")
    declaration = node if node.kind in kinds else enclosing(node, *kinds)
    return declaration.text.split("=")[0] if declaration is not None else ""


def _kind_of_place(source: Source, node: Node) -> str:
    """Return the kind of a wrong expression by what its value is used for."""
    guard = enclosing(node, "if_statement", "conditional_expression")
    loop = enclosing(node, *LOOPS)
    if any(above is not None and is_inside(node, above, "condition") for above in (guard, loop)):
        return "wrong-condition"
    if loop is not None and not is_inside(node, loop, "body"):
        return "wrong-loop"
    if enclosing(node, "array_declarator") is not None:
        return "wrong-size"
    indexing = "subscript_argument_list"
    pointer = enclosing(node, "pointer_expression")
    if node.kind in (indexing, "subscript_expression") or enclosing(node, indexing) or pointer:
        return "wrong-index"
    own, function = enclosing(node, *_ASSIGNED), enclosing(node, "function_definition")
    target = own and (own.part("declarator") or own.part("left"))
    if target is not None and target.kind == "pointer_declarator":
        return "wrong-index"
    if target is None or function is None or target.kind != "identifier":
        return "wrong-expression"
    indices = function.walk("subscript_argument_list")
    is_index = any(target.text in re.findall(r"\w+", index.text) for index in indices)
    return "wrong-index" if is_index else "wrong-expression"


def grade(
    lab: Lab, submission: Submission, *, on: Backend = "sim",
    visibility: Literal["public", "all"] = "public", seed: bytes = b"",
    threads: int | None = None, limit: float = 20.0, step_limit: int = MAX_STEPS,
    student: str = "", answers: AnswerSheet | None = None,
    recorded: Sequence[Timing] | None = None,
    fixes: bool = False,
    progress: Progress = lambda step, number, steps: None,
) -> Grade:  # fmt: skip
    """Grade one submission on one backend.

    Args:
        lab: the lab that the submission is for.
        submission: the student's file.
        on: the backend, "sim" or "gpu".
        visibility: the cases to run: the public ones, or all.
        seed: draws the inputs of the cases.
        threads: threads of the simulator; None for one a core.
        limit: seconds that one launch may take.
        step_limit: warp instructions that one block may execute on the simulator.
        student: the student's name or number, for the record.
        answers: the student's answers to the quiz; None leaves the quiz out of what is evaluated.
        recorded: timings to evaluate in place of new ones, as of a GPU.
        fixes: whether to try edits of the source, to find one that makes every public case right.
        progress: called before each step.

    What does not compile has 0 points and findings; a system error costs none. Raises LabFault.
    """
    prepare_processes()
    with ready_for(on, lab, recorded) as ready, ThreadPoolExecutor(4) as background:
        own = RunOptions(on, seed, threads, limit, step_limit, ready=ready)
        options = with_launches(own, lab, plan(lab), background)
        background.submit(prepare_template)  # it takes longer than reading the compiled program
        job = Job(lab, submission, options, visibility, student, recorded)
        quiz = background.submit(answer_quiz, lab, answers, options)
        prefetch(background, lab, plan(lab), select_cases(lab, visibility, seed), options)

        def localize(evidence: Evidence, options: RunOptions) -> Evidence:
            evidence = localize_faults(evidence, options)
            return replace(evidence, explanation=explain(evidence, options, fixes=fixes))

        graded = grade_submission(job, quiz=quiz.result, localize=localize, progress=progress)
        return _with_wrong_constant(graded, job)
