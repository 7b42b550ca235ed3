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

from grader.fault import LabFault
from grader.handout.graded import graded_table
from grader.handout.questions import quiz_list
from grader.lab import Lab

DIRECTIVE = re.compile(r"^\{\{(\w+)(?: ([a-z0-9_-]+))?(?:: (.*))?\}\}$")
TITLE = re.compile(r"\A# (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Sources:
    """Where the parts of a page come from that have to be run: `figure` gives a figure's alt text
    by name, None when it has no data; `phases` the table; `message` what a twin draws."""

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
            raise LabFault("not a directive", where=f"{name}.md:{number}", mend=line)
        try:
            lines.append(_carried_out(match, lab, sources, figures) if match else line)
        except LabFault as fault:
            where = f"{name}.md:{number}" + (f": {fault.where}" if fault.where else "")
            raise LabFault(fault.what, where=where, mend=fault.mend) from fault
    title = TITLE.search(text)
    if title is None:
        raise LabFault("does not start with a title", where=f"{name}.md:1", mend="# Title")
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
        raise LabFault(f"`{word}` is for a lab's page", mend="name the page as the lab")
    if word == "graded":
        return graded_table(lab)
    if word == "quiz":
        return quiz_list(lab)
    if word == "message":
        return "\n".join(f"    {line}" for line in sources.message(lab, name).splitlines())
    raise LabFault(f"there is no directive `{word}`", mend="figure, phases, graded, quiz, message")
