"""The report of a class, written: index.html and a page a student beside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from grader.faults import LabFault
from grader.labs.files import write_atomically
from grader.labs.model import Lab
from grader.reports.page.classes import ClassView, class_view
from grader.reports.page.row import ReportRow, for_student, page_names
from grader.reports.page.student import StudentView, student_view
from grader.reports.printable import printable
from grader.reports.text import STATUS_WORDS

# The pages as HTML: templates filled with values, every one of which is escaped.
#
# A page asks for nothing: its style and its script are in it, and its Content-Security-Policy
# allows these two, by their digests, and no more. Values come from students: what reorders or hides
# text is written out (clean.py), and what is left is escaped by the template engine.


@dataclass(frozen=True)
class Links:
    """Where a student's page leads: the index, the pages before and after it or ""."""

    index: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Templates:
    """The templates, ready to be filled."""

    environment: Environment
    style: str
    script: str

    def index(self, lab_name: str, title: str, view: ClassView) -> bytes:
        """The class's page as UTF-8."""
        lab = {"name": lab_name, "title": title}
        return self._filled("index.html", self.script, lab=lab, view=view)

    def student(self, view: StudentView, links: Links | None = None) -> bytes:
        """A student's page as UTF-8; without links it stands alone."""
        words = {status: word.lower() for status, (word, _) in STATUS_WORDS.items()}
        return self._filled("student.html", "", view=view, links=links, words=words)

    def _filled(self, name: str, script: str, **values: Any) -> bytes:
        text = self.environment.get_template(name).render(
            policy=content_security_policy(self.style, script),
            style=Markup(self.style),
            script=Markup(script),
            **values,
        )
        return text.encode("utf-8", "replace")


def load_templates() -> Templates:
    """The templates of this package."""
    environment = Environment(
        loader=PackageLoader("grader.reports.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _with_code
    folder = files("grader.reports.page") / "templates"
    style, script = ((folder / name).read_text("utf-8") for name in ("page.css", "sort.js"))
    return Templates(environment, style, script)


def _with_code(text: str) -> Markup:
    """A message whose words between backticks are set as code."""
    parts = printable(text).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if k % 2 else part for k, part in enumerate(parts)
    )


def content_security_policy(style: str, script: str) -> str:
    """The Content-Security-Policy of a page that has this style and this script, or none."""
    allowed = [
        f"style-src {_digest(style)}",
        *([f"script-src {_digest(script)}"] if script else []),
    ]
    return "; ".join(["default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"])


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _printable_value(value: Any) -> Any:
    """A text as one line without control characters; what is markup already stays."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


INDEX = "index.html"
STUDENTS = "students"


def write_class_report(
    folder: Path, lab: Lab, rows: Sequence[ReportRow], *, for_students: bool = False
) -> Path:
    """Write the report below `folder`, which is made where it is missing; the file to open.

    `for_students` writes pages that their students may read, redacted, and no index, which would
    tell each of them the others' grades: the folder of the pages is returned. Raises LabFault
    where the folder cannot be written, MachineFault where the disk is full.
    """
    names = [f"{name}.html" for name in page_names(rows)]
    make_folder(folder / STUDENTS)
    written = load_templates()
    if for_students:
        for row, name in zip(rows, names, strict=True):
            write_atomically(folder / STUDENTS / name, student_page(row, for_students=True))
        return folder / STUDENTS
    for k, (row, name) in enumerate(zip(rows, names, strict=True)):
        links = Links(f"../{INDEX}", *(_at(names, place) for place in (k - 1, k + 1)))
        write_atomically(folder / STUDENTS / name, written.student(student_view(row), links))
    index = class_view(rows, [f"{STUDENTS}/{name}" for name in names])
    write_atomically(folder / INDEX, written.index(lab.name, lab.title, index))
    return folder / INDEX


def student_page(row: ReportRow, *, for_students: bool = False) -> bytes:
    """One student's page on its own, as UTF-8; redacted `for_students`."""
    if for_students:
        return load_templates().student(student_view(for_student(row), with_seed=False))
    return load_templates().student(student_view(row))


def make_folder(folder: Path) -> None:
    """Make a folder and those above it. Raises LabFault where that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot make the folder: {error.strerror}"
        raise LabFault(what, where=str(folder), fix="name another folder for --html") from None


def _at(names: Sequence[str], place: int) -> str:
    return names[place] if 0 <= place < len(names) else ""
