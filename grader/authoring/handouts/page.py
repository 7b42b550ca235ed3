"""Expand the directives in the Markdown of a handout.

A directive is a line of its own:

    {{figure NAME: caption}}    the figure that `draw_NAME` draws; nothing when it has no data
    {{phases}}                  the table of phases of the 4 x 4 product
    {{graded}}                  the checks of the lab, with points and requirements
    {{quiz}}                    the questions of the lab, without answers
    {{message VARIANT}}         the finding that the grader reports for wrong/VARIANT.cu

The table of checks is made from lab.yaml, so that a page cannot contradict the lab.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from grader import dataclass, regex
from grader.faults import LabFault
from grader.labs.model import CheckSpec, Lab
from grader.labs.quiz import choice_texts, question_text

Describe = Callable[[Lab, CheckSpec], list[str]]

SHARED = {
    "none": "no shared memory",
    "static": "a static shared array is used",
    "dynamic": "dynamic shared memory is used, static is not",
    "any": "shared memory is used",
}
MEASUREMENT_OPTIONS = ("dims", "kind", "budget", "fixed", "flop", "bytes", "cublas", "full")
"""Options that define how something is measured, not what is required."""

DIRECTIVE = regex(r"^\{\{(\w+)(?: ([a-z0-9_-]+))?(?:: (.*))?\}\}$")
TITLE = regex(r"\A# (.+)$", re.MULTILINE)


def graded_table(lab: Lab) -> str:
    """Return a Markdown table with one row per check: its points and its requirements.

    Raises:
        LabFault: A check or an option has no description here.
    """
    rows = ["| check | points | requirements |", "| --- | ---: | --- |"]
    for check in lab.checks:
        clauses = "; ".join(requirements(lab, check))
        rows.append(f"| {check.name} | {check.points:g} | {clauses} |")
    return "\n".join([*rows, "", _total(lab)])


def _total(lab: Lab) -> str:
    hidden = sum(case.visibility == "hidden" for case in lab.cases) + bool(lab.drawn)
    text = f"Together {lab.max_score:g} points."
    if hidden:
        text += f" Your instructor's grading has {hidden} more cases, hidden and of other sizes."
    if any(check.name == "speed" for check in lab.checks):
        text += " Without a GPU, speed is not evaluated; the grade says so."
    return text


def requirements(lab: Lab, check: CheckSpec) -> list[str]:
    """Return the requirements of one check, one clause each."""
    general: Mapping[str, Describe] = {
        "output": _output,
        "sync": lambda *_: ["no race, no barrier that part of a block does not reach"],
        "memory": lambda *_: [
            "no access out of bounds or misaligned, no read of uninitialized memory"
        ],
        "quiz": _quiz,
    }
    clauses = general[check.name](lab, check) if check.name in general else []
    clauses += [_option(lab, check, name, value) for name, value in _required(check).items()]
    if not clauses:
        raise LabFault(f"no description of the check `{check.name}`", where=check.where)
    return clauses


def _required(check: CheckSpec) -> dict[str, Any]:
    return {name: value for name, value in check.options.items() if name not in MEASUREMENT_OPTIONS}


def _output(lab: Lab, check: CheckSpec) -> list[str]:
    public = [case.name for case in lab.cases if case.visibility == "public"]
    return [f"the correct output in every case: {', '.join(public)}"]


def _quiz(lab: Lab, check: CheckSpec) -> list[str]:
    return [f"the {len(lab.quiz)} questions below, answered in `answers.yaml`"]


def _option(lab: Lab, check: CheckSpec, name: str, value: Any) -> str:
    words: Mapping[str, Callable[[Any], str]] = {
        "max_global_bytes_ratio": lambda v: (
            f"at most {_shown(v)} of the bytes that the baseline loads from global memory"
        ),
        "whole_blocks": lambda v: "more where blocks are partly used" if v else "in every case",
        "max_thread_work": lambda v: _work(v),
        "count_exchanges": lambda v: (
            "values from shuffles, votes and matches count as loaded"
            if v
            else "values from shuffles, votes and matches do not count as loaded"
        ),
        "min_shared_ratio": lambda v: (
            f"at least {v:g} bytes read from shared memory that other threads wrote, for each byte "
            "loaded from global memory"
        ),
        "max_stored_bytes_ratio": lambda v: (
            f"at most {v:g} times the bytes that the baseline stores in global memory"
        ),
        "max_sectors_per_request": lambda v: f"at most {v:g} sectors of 32 bytes per warp request",
        "min_bytes_per_sector": lambda v: f"at least {v:g} of the 32 bytes of a sector used",
        "max_global_atomics": lambda v: f"at most {_shown(v)} atomics on global memory",
        "shared": lambda v: SHARED[v],
        "max_registers": lambda v: f"at most {v} registers per thread",
        "max_static_shared_bytes": lambda v: (
            f"at most {v:,} bytes of static shared memory per block"
        ),
        "no_spills": lambda v: "no local memory" if v else "local memory is allowed",
        "constant": lambda v: (
            "the kernel reads constant memory" if v else "no constant memory needed"
        ),
        "min_occupancy": lambda v: f"a theoretical occupancy of at least {100 * v:g} %",
        "minimum": lambda v: _speed(lab, v, check.options["full"]),
    }
    if name not in words:
        where = f"{check.where}.{name}"
        raise LabFault(f"no description of the option `{name}` of `{check.name}`", where=where)
    return words[name](value)


def _work(most: float | None) -> str:
    if most is None:
        return "any thread may do any part of the work"
    return f"at most {most:g} times the instructions of the baseline's busiest thread in a thread"


def _shown(value: float | str) -> str:
    return f"`{value}`" if isinstance(value, str) else f"{value:g}"


def _speed(lab: Lab, minimum: float, full: float) -> str:
    """Return one sentence; the thresholds of each GPU are in the instructor's thresholds.yaml."""
    own = " (a GPU that the course measured has its own numbers; the grade states them)"
    return (
        f"on a GPU: points start at {minimum:g} times the baseline's speed,"
        f" all points at {full:g} times{own if lab.bands else ''}"
    )


def quiz_list(lab: Lab) -> str:
    """Return the questions as a numbered Markdown list, without any answer.

    Each question ends with its name in `answers.yaml`. Raises LabFault for a question whose numbers
    cannot be computed.
    """
    blocks = []
    for number, question in enumerate(lab.quiz, start=1):
        unit = "" if question.unit in question.text else f" (in {question.unit})"
        lines = [f"{number}. {question_text(question, lab)}{unit} `{question.name}`"]
        lines += [
            "",
            *(f"    {letter}) {text}" for letter, text in choice_texts(question, lab).items()),
        ]
        blocks.append("\n".join(lines))
    instructions = (
        "Write your answers into `answers.yaml`, next to your `.cu` file: one line per question,"
        " with the name that follows the question. Arithmetic such as `2 * 16 * 16` is accepted."
        " `grader check` shows which answers are correct. If your course gave you the lab as a zip,"
        " it checks only their form, because the zip does not contain the answers."
    )
    return "\n\n".join([*blocks, instructions])


@dataclass(frozen=True)
class Sources:
    """The functions that compute parts of a page.

    Attributes:
        figure: Takes a figure's name; gives its alternative text, or None when it has no data.
        phases: Gives the table of phases.
        message: Takes a lab and the name of an incorrect variant; gives the finding as text.
    """

    figure: Callable[[str], str | None]
    phases: Callable[[], str]
    message: Callable[[Lab, str], str]


@dataclass(frozen=True)
class Page:
    """A page of Markdown without directives; `figures` are its alternative texts by name."""

    name: str
    title: str
    text: str
    figures: Mapping[str, str] = field(default_factory=dict)


def expand(name: str, text: str, lab: Lab | None, sources: Sources) -> Page:
    """Expand the directives of the page `name`.

    Raises:
        LabFault: A directive is invalid or fails (with its line), or the page has no title.
    """
    figures: dict[str, str] = {}
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = DIRECTIVE.match(line)
        if line.startswith("{{") and match is None:
            fix = f"write it as `{{{{NAME}}}}` or `{{{{NAME ARGUMENT}}}}`: {line}"
            raise LabFault("this is not a directive", where=f"{name}.md:{number}", fix=fix)
        try:
            lines.append(_expanded(match, lab, sources, figures) if match else line)
        except LabFault as fault:
            where = f"{name}.md:{number}" + (f": {fault.where}" if fault.where else "")
            raise LabFault(fault.what, where=where, fix=fault.fix) from fault
    title = TITLE.search(text)
    if title is None:
        fix = "start the page with a line `# Title`"
        raise LabFault("the page does not start with a title", where=f"{name}.md:1", fix=fix)
    return Page(name, title.group(1), "\n".join(lines) + "\n", figures)


def _expanded(
    match: re.Match[str], lab: Lab | None, sources: Sources, figures: dict[str, str]
) -> str:
    word, name, caption = match.group(1), match.group(2) or "", match.group(3) or ""
    if word == "figure":
        alt = sources.figure(name)
        if alt is None:
            return ""
        figures[name] = alt
        return f'![{caption}](figures/{name}.svg){{alt="{alt}"}}'
    if word == "phases":
        return sources.phases()
    if lab is None:
        raise LabFault(f"`{word}` works on a lab's page only", fix="name the page after the lab")
    if word == "graded":
        return graded_table(lab)
    if word == "quiz":
        return quiz_list(lab)
    if word == "message":
        return "\n".join(f"    {line}" for line in sources.message(lab, name).splitlines())
    fix = "use figure, phases, graded, quiz or message"
    raise LabFault(f"there is no directive `{word}`", fix=fix)
