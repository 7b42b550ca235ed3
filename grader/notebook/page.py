"""A cell's grade as HTML for one output cell of a notebook.

The HTML is one section with a style of its own, whose rules all name the section: it changes
nothing else of the notebook, and nothing of it needs a script. So it survives the export to HTML.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Template
from markupsafe import Markup

from grader.grading.record import Grade
from grader.reports.classes import ReportRow
from grader.reports.explain.explanation import Explanation
from grader.reports.explain.page import pictures
from grader.reports.page.student import student_view
from grader.reports.page.write import page_environment

PHASES, REQUESTS = 2, 6
"""Phases and requests that are drawn: a notebook keeps its outputs. `grader explain` has all."""


MAX_CELLS = 1500
"""Elements of the drawn phases; with more, only the first phase is drawn. One takes 200 bytes."""


def cell_page(
    grade: Grade, source: str, explanation: Explanation | None, notes: Sequence[str]
) -> str:
    """Return the HTML of a grade, as the student may see it.

    Args:
        grade: The grade.
        source: The cell's source.
        explanation: What the pictures are made of, or None.
        notes: What is said besides.
    """
    view = student_view(ReportRow("", grade, source))
    digest = hashlib.sha256(f"{grade.provenance.started}{source}".encode("utf-8", "replace"))
    drawn = _pictures(explanation) if explanation is not None else []
    style = (files("grader.notebook") / "templates" / "cell.css").read_text("utf-8")
    return _template().render(
        view=view,
        prefix=f"wg-{digest.hexdigest()[:8]}-",
        notes=notes,
        style=Markup(style),
        pictures=[(title, Markup(markup)) for title, markup in drawn],
    )


def _pictures(explanation: Explanation) -> list[tuple[str, str]]:
    cells = sum(len(panel.cells) for panel in explanation.panels)
    return pictures(explanation, PHASES if cells <= MAX_CELLS else 1, REQUESTS)


@cache
def _template() -> Template:
    return page_environment("grader.notebook", "grader.reports.page").get_template("cell.html")
