"""Write the report of a class: index.html and one page per student.

A page loads nothing: it contains its style and its script, and its Content-Security-Policy allows
only these two, by their digests. Values come from students: characters that reorder or hide text
are escaped (`printable`), and the template engine escapes the rest.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from types import CodeType
from typing import Any

from jinja2 import BytecodeCache, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from grader import dataclass
from grader.faults import LabFault
from grader.grading.record import HiddenFeedback
from grader.labs.files import write_atomically
from grader.labs.model import Lab
from grader.reports.classes import ReportRow, for_student, page_names
from grader.reports.page.classes import ClassView, class_view
from grader.reports.page.student import StudentView, student_view
from grader.reports.printable import printable
from grader.reports.text import STATUS_WORDS

INDEX = "index.html"
STUDENTS = "students"


@dataclass(frozen=True)
class Links:
    """The links of a student's page: the index, the previous and the next page or ""."""

    index: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Templates:
    """The loaded templates, with the style and the script of their pages."""

    environment: Environment
    style: str
    script: str

    def index(self, lab_name: str, title: str, view: ClassView) -> bytes:
        """Return the class's page as UTF-8."""
        lab = {"name": lab_name, "title": title}
        return self._filled("index.html", self.script, lab=lab, view=view)

    def student(self, view: StudentView, links: Links | None = None) -> bytes:
        """Return a student's page as UTF-8; without links it stands alone."""
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


class _Compiled(BytecodeCache):
    """What the templates of this process were compiled to, by name and source.

    Each report and each cell of a notebook has an engine of its own, and to compile its templates
    took most of the time of a page.
    """

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, CodeType]] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give a template what an equal one was compiled to."""
        checksum, code = self._made.get(bucket.key, ("", None))
        bucket.code = code if checksum == bucket.checksum else None

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what a template was compiled to."""
        assert bucket.code is not None
        self._made[bucket.key] = bucket.checksum, bucket.code


_COMPILED = _Compiled()


def load_templates() -> Templates:
    """Load the templates of this package."""
    environment = page_environment("grader.reports.page")
    folder = files("grader.reports.page") / "templates"
    style, script = ((folder / name).read_text("utf-8") for name in ("page.css", "sort.js"))
    return Templates(environment, style, script)


def page_environment(*packages: str) -> Environment:
    """Return the template engine of pages; an earlier package's template hides a later one's."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable_value,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_COMPILED,
    )
    environment.filters["code"] = _with_code
    return environment


def _with_code(text: str) -> Markup:
    """Return a message with the words between backticks as `<code>`."""
    parts = printable(text).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if k % 2 else part for k, part in enumerate(parts)
    )


def content_security_policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy of a page with this style and this script ("": none)."""
    allowed = [
        f"style-src {_digest(style)}",
        *([f"script-src {_digest(script)}"] if script else []),
    ]
    return "; ".join(["default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"])


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _printable_value(value: Any) -> Any:
    """Return text as one line without control characters; markup is unchanged."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def write_class_report(
    folder: Path, lab: Lab, rows: Sequence[ReportRow], *, for_students: bool = False,
    feedback: HiddenFeedback = "score", missing: Sequence[str] = (),
) -> Path:  # fmt: skip
    """Write the report below `folder` and return the file to open.

    Args:
        folder: Created when it does not exist.
        lab: The lab.
        rows: One row per student.
        for_students: Write redacted pages and no index, which would show each student the others'
            grades; return the folder of the pages.
        feedback: What students read about hidden cases.
        missing: The students without a grade, for the index.

    Raises:
        LabFault: The folder cannot be written.
        MachineFault: The disk is full.
    """
    names = [f"{name}.html" for name in page_names(rows)]
    make_folder(folder / STUDENTS)
    templates = load_templates()
    if for_students:
        for row, name in zip(rows, names, strict=True):
            page = student_page(row, for_students=True, feedback=feedback)
            write_atomically(folder / STUDENTS / name, page)
        return folder / STUDENTS
    for k, (row, name) in enumerate(zip(rows, names, strict=True)):
        links = Links(f"../{INDEX}", *(_at(names, place) for place in (k - 1, k + 1)))
        write_atomically(folder / STUDENTS / name, templates.student(student_view(row), links))
    index = class_view(rows, [f"{STUDENTS}/{name}" for name in names], missing)
    write_atomically(folder / INDEX, templates.index(lab.name, lab.title, index))
    return folder / INDEX


def student_page(
    row: ReportRow, *, for_students: bool = False, feedback: HiddenFeedback = "score"
) -> bytes:
    """Return one student's page as UTF-8, without links; redacted `for_students`."""
    if for_students:
        return load_templates().student(student_view(for_student(row, feedback), with_seed=False))
    return load_templates().student(student_view(row))


def make_folder(folder: Path) -> None:
    """Create a folder and its parents. Raises LabFault when that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot make the folder: {error.strerror}"
        raise LabFault(what, where=str(folder), fix="Choose another folder for --html.") from None


def _at(names: Sequence[str], place: int) -> str:
    return names[place] if 0 <= place < len(names) else ""
