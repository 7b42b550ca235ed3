"""A handout's Markdown with its directives carried out.

A directive is a line of its own:

    {{figure NAME: caption}}    the figure of grader/handout/figures/NAME.py; nothing without data
    {{phases}}                  the table of phases of the 4 x 4 product
    {{graded}}                  what the lab is graded on
    {{quiz}}                    the lab's questions
    {{message TWIN}}            what the grader says to the wrong twin TWIN
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.faults import LabFault
from grader.labs.model import CheckSpec, Lab
from grader.labs.quiz import choice_texts, question_text

# What a lab is graded on, in a table made from lab.yaml, so that a page cannot say otherwise.

Words = Callable[[Lab, CheckSpec], list[str]]

SHARED = {
    "none": "no shared memory",
    "static": "a static shared array is used",
    "dynamic": "dynamic shared memory is used, and no static",
    "any": "shared memory is used",
}
SILENT = ("dims", "kind", "budget", "fixed", "flop", "bytes", "cublas", "full")
"""Options that say how something is measured, not what is asked."""


def graded_table(lab: Lab) -> str:
    """One row a check: its points and what it asks, as a Markdown table. Raises LabFault for an
    option that there are no words for.
    """
    rows = ["| check | points | what it asks |", "| --- | ---: | --- |"]
    for check in lab.checks:
        asks = "; ".join(requirements(lab, check))
        rows.append(f"| {check.name} | {check.points:g} | {asks} |")
    return "\n".join([*rows, "", _total(lab)])


def _total(lab: Lab) -> str:
    hidden = sum(case.visibility == "hidden" for case in lab.cases)
    said = f"Together {lab.max_score:g} points."
    if hidden:
        said += f" The instructor's grading has {hidden} hidden cases more, of other sizes."
    if any(check.name == "speed" for check in lab.checks):
        said += " Without a GPU speed is not judged, and the grade says so."
    return said


def requirements(lab: Lab, check: CheckSpec) -> list[str]:
    """What one check asks, a clause each."""
    general: Mapping[str, Words] = {
        "output": _output,
        "sync": lambda *_: ["no race, no barrier that part of a block misses"],
        "memory": lambda *_: [
            "no access out of bounds or misaligned, nothing read that was never written"
        ],
        "quiz": _quiz,
    }
    said = general[check.name](lab, check) if check.name in general else []
    said += [_option(lab, check, name, value) for name, value in _telling(check).items()]
    if not said:
        raise LabFault(f"no words for the check `{check.name}`", where=check.where)
    return said


def _telling(check: CheckSpec) -> dict[str, Any]:
    return {name: value for name, value in check.options.items() if name not in SILENT}


def _output(lab: Lab, check: CheckSpec) -> list[str]:
    public = [case.name for case in lab.cases if case.visibility == "public"]
    return [f"the right answer in every case: {', '.join(public)}"]


def _quiz(lab: Lab, check: CheckSpec) -> list[str]:
    return [f"the {len(lab.quiz)} questions below, answered in `answers.yaml`"]


def _option(lab: Lab, check: CheckSpec, name: str, value: Any) -> str:
    words: Mapping[str, Callable[[Any], str]] = {
        "max_global_bytes_ratio": lambda v: (
            f"at most {_shown(v)} of the bytes that the baseline loads from global memory"
        ),
        "max_sectors_per_request": lambda v: (
            f"at most {v:g} sectors of 32 bytes for a request of a warp"
        ),
        "min_bytes_per_sector": lambda v: f"at least {v:g} of a sector's 32 bytes used",
        "max_global_atomics": lambda v: f"at most {_shown(v)} atomics on global memory",
        "shared": lambda v: SHARED[v],
        "max_registers": lambda v: f"at most {v} registers a thread",
        "max_static_shared_bytes": lambda v: f"at most {v:,} static shared bytes a block",
        "no_spills": lambda v: "no local memory" if v else "local memory is allowed",
        "constant": lambda v: (
            "constant memory is really read" if v else "no constant memory needed"
        ),
        "min_occupancy": lambda v: f"theoretical occupancy at least {100 * v:g} %",
        "minimum": lambda v: _speed(lab, v, check.options["full"]),
    }
    if name not in words:
        where = f"{check.where}.{name}"
        raise LabFault(f"no words for the option `{name}` of `{check.name}`", where=where)
    return words[name](value)


def _shown(value: float | str) -> str:
    return f"`{value}`" if isinstance(value, str) else f"{value:g}"


def _speed(lab: Lab, minimum: float, full: float) -> str:
    said = (
        f"on a GPU: {minimum:g} times the baseline's speed for the first point,"
        f" {full:g} times for all"
    )
    for device, band in lab.bands.items():
        said += f"; on an {device}: {band.minimum:g} and {band.full:g}"
    return said


# A lab's questions as a page shows them: texts and choices, never an answer.


def quiz_list(lab: Lab) -> str:
    """A numbered Markdown list, each question with the name it has in answers.yaml. Raises
    LabFault for a question whose numbers do not work out.
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
    told = (
        "Write your answers into `answers.yaml` beside your `.cu`, one line a question, by the name"
        " that stands after it. Arithmetic such as `2 * 16 * 16` is an answer too. `grader check`"
        " then tells which are right; where you have the lab from a zip of your course, only that"
        " their form is, for the answers are not in it."
    )
    return "\n\n".join([*blocks, told])


DIRECTIVE = re.compile(r"^\{\{(\w+)(?: ([a-z0-9_-]+))?(?:: (.*))?\}\}$")
TITLE = re.compile(r"\A# (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Sources:
    """Where the parts of a page come from that have to be run: `figure` gives a figure's alt text
    by name, None when it has no data; `phases` the table; `message` what a twin draws.
    """

    figure: Callable[[str], str | None]
    phases: Callable[[], str]
    message: Callable[[Lab, str], str]


@dataclass(frozen=True)
class Page:
    """A page of Markdown without directives; `figures` are its alt texts by name."""

    name: str
    title: str
    text: str
    figures: Mapping[str, str] = field(default_factory=dict)


def expand(name: str, text: str, lab: Lab | None, sources: Sources) -> Page:
    """The page `name`. Raises LabFault with its line for a directive that cannot be carried out."""
    figures: dict[str, str] = {}
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = DIRECTIVE.match(line)
        if line.startswith("{{") and match is None:
            raise LabFault("not a directive", where=f"{name}.md:{number}", fix=line)
        try:
            lines.append(_carried_out(match, lab, sources, figures) if match else line)
        except LabFault as fault:
            where = f"{name}.md:{number}" + (f": {fault.where}" if fault.where else "")
            raise LabFault(fault.what, where=where, fix=fault.fix) from fault
    title = TITLE.search(text)
    if title is None:
        raise LabFault("does not start with a title", where=f"{name}.md:1", fix="# Title")
    return Page(name, title.group(1), "\n".join(lines) + "\n", figures)


def _carried_out(
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
        raise LabFault(f"`{word}` is for a lab's page", fix="name the page as the lab")
    if word == "graded":
        return graded_table(lab)
    if word == "quiz":
        return quiz_list(lab)
    if word == "message":
        return "\n".join(f"    {line}" for line in sources.message(lab, name).splitlines())
    raise LabFault(f"there is no directive `{word}`", fix="figure, phases, graded, quiz, message")
