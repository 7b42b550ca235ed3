"""Explain the errors of the public cases: clues of the source, and a fix that is confirmed.

Most submissions that are graded in a command have no errors, so this is imported when it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from grader import regex, replace
from grader.checks.causes import Clue, Explanation, Fix
from grader.checks.result import Evidence, Result
from grader.checks.suite import Check, evaluate_all, plan
from grader.compile.dataflow import size_origins
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
from grader.feedback.fixes import MAX_TRIALS, FixSearch, errors_of
from grader.grading.cases import RunOptions
from grader.grading.pipeline import Job
from grader.grading.record import Grade
from grader.launch import Finding, Origin

MAX_SOURCE = 16 << 10
"""Bytes of a source whose fix is searched; a kernel of a course has a quarter of that."""

WRONG_BYTES = regex(r"`(\w+)` has \d+ bytes, the lab requires")
TOO_MANY = "too many initializer values"
"""The messages about a variable whose size is not the lab's, and about an array."""

NOT_EVALUATED = ("quiz", "speed")


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
    from grader.feedback import idiom_edits, index_edits, name_edits, statement_edits, value_edits
    from grader.simulator.ptx.model import function_name

    search = FixSearch(public, checks, results, replace(options, on="sim"))
    errors = errors_of(results)
    own = public.program.kernel(public.lab.kernels[0].name)
    graded = function_name(own.symbol) if own is not None else ""
    source = read_source(public.program.source, public.lab, graded)
    lines = {line for found in public.localization.lines.values() for line in found}
    modules = (statement_edits, name_edits, index_edits, value_edits, idiom_edits)
    editors = [editor for module in modules for editor in module.EDITORS]
    seen = read_evidence(errors, lines, known.clues, source)
    ranked = list_edits(source, seen, editors, MAX_TRIALS)
    found = search.fix(source, ranked, seen)
    cases = tuple(run.case.name for run in public.runs)
    made = () if found is None else (_described(public, source, found, errors),)
    leads = () if made else find_leads(source, errors, lines)
    more = (replace(lead, text=public.program.text(lead.line)) for lead in leads)
    clues = (*known.clues, *more)
    return replace(known, clues=clues, fixes=made, trials=search.trials, cases=cases)


def with_wrong_constant(graded: Grade, job: Job) -> Grade:
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
    endless = any(f.kind == "timeout" and "limit" not in f.message for f in errors)
    kind = true_kind(source, edit, kinds, endless=endless)
    more = tuple(Origin("", line) for line in edit.more)
    return Fix(kind, edit.line, program.text(edit.line), edit.name, diff, kinds, more=more)


def true_kind(source: Source, edit: Edit, kinds: Collection[str], *, endless: bool = True) -> str:
    """Return the kind of cause that is true of a confirmed edit: by what it changes, and where.

    An edit is offered for what it repairs most often. Where it repaired something else, a more
    general kind is reported.

    Args:
        source: The submission.
        edit: The confirmed edit.
        kinds: The kinds of the errors that it removes.
        endless: Whether a loop is known to be endless, or else may only take long.
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
    longer = loop is not None and not endless and is_inside(node, loop, "initializer")
    if loop is not None and "timeout" in kinds and not (longer or is_inside(node, loop, "body")):
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
