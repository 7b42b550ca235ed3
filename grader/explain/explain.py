"""A student's file and a lab -> a Story: compile, choose a case, launch it with a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from grader.cases import How, ready_cases, run_derivations
from grader.check.hints import line_hints
from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.explain.story import Story, tell
from grader.fault import LabFault
from grader.lab import Lab, Prepared
from grader.launch import Array
from grader.nearest import nearest
from grader.run import run_all
from grader.submission import Submission

ENOUGH = 256
"""Elements of an array that make a picture worth looking at."""


def explain(
    lab: Lab,
    submission: Submission,
    how: How,
    case: str = "",
    announce: Callable[[str, int, int], None] = lambda step, number, steps: None,
) -> Story:
    """The story of the submission on a public case: the one that is named, else the smallest that
    fills a block.

    Raises StudentFault when it does not compile or lacks the kernel, LabFault when there is no
    such case or it is too large for a table of accesses, MachineFault.
    """
    announce("compile", 1, 2)
    program = compile_source(submission.data, submission.name)
    announce("run", 2, 2)
    chosen = smallest(launchable(lab, program, how, case))
    trace = run_all(
        program,
        [chosen.launch],
        threads=how.threads,
        limit=how.limit,
        steps=how.steps,
        table=True,
    )[0]
    hints = line_hints(trace.lines, program, "warning") if trace.ended else []
    trace = replace(trace, findings=(*trace.findings, *hints))
    return tell(
        lab.name, lab.title, submission.name, program.source, chosen.launch, chosen.case.size, trace
    )


def launchable(lab: Lab, program: Program, how: How, name: str) -> tuple[Prepared, ...]:
    """The public cases that can be launched, or the one named. Raises LabFault."""
    public = [c for c in lab.cases if c.visibility == "public" and name in ("", c.name)]
    if not public:
        known = [c.name for c in lab.cases if c.visibility == "public"]
        near = nearest(name, known)
        guess = f"did you mean {near}? " if near else ""
        what = f"{lab.name} has no public case `{name}`"
        raise LabFault(what, mend=f"{guess}cases: {', '.join(known)}")
    asked = run_derivations(lab, program, how) if any(c.derived for c in public) else {}
    ready = ready_cases(lab, public, how, asked)
    if not ready:
        what = (
            f"the case {public[0].name} is launched with a number of the kernel's, which is wrong"
        )
        raise LabFault(what, mend=f"grader check {lab.name} {program.file}")
    return ready


def smallest(cases: tuple[Prepared, ...]) -> Prepared:
    """The case with the fewest array elements among those whose every array has an element for
    each thread of a block, or ENOUGH; the largest case when none has."""
    full = [c for c in cases if min(_sizes(c)) >= min(prod(c.launch.block), ENOUGH)]
    return min(full, key=_size) if full else max(cases, key=_size)


def _size(case: Prepared) -> int:
    return sum(_sizes(case))


def _sizes(case: Prepared) -> list[int]:
    return [prod(a.shape) for a in case.launch.args if isinstance(a, Array)]
