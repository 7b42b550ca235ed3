"""The pages as HTML: templates filled with values, every one of which is escaped.

A page asks for nothing: its style and its script are in it, and its Content-Security-Policy allows
these two, by their digests, and no more. Values come from students: what reorders or hides text is
written out (clean.py), and what is left is escaped by the template engine.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from grader.report.clean import clean
from grader.report.page.classes import ClassView
from grader.report.page.student import StudentView
from grader.report.text import WORDS


@dataclass(frozen=True)
class Links:
    """Where a student's page leads: the index, the pages before and after it or ""."""

    index: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Pages:
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
        words = {status: word.lower() for status, (word, _) in WORDS.items()}
        return self._filled("student.html", "", view=view, links=links, words=words)

    def _filled(self, name: str, script: str, **values: Any) -> bytes:
        text = self.environment.get_template(name).render(
            policy=policy(self.style, script),
            style=Markup(self.style),
            script=Markup(script),
            **values,
        )
        return text.encode("utf-8", "replace")


def pages() -> Pages:
    """The templates of this package."""
    environment = Environment(
        loader=PackageLoader("grader.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_neutral,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _with_code
    folder = files("grader.report.page") / "templates"
    style, script = ((folder / name).read_text("utf-8") for name in ("page.css", "sort.js"))
    return Pages(environment, style, script)


def _with_code(text: str) -> Markup:
    """A message whose words between backticks are set as code."""
    parts = clean(text).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if k % 2 else part for k, part in enumerate(parts)
    )


def policy(style: str, script: str) -> str:
    """The Content-Security-Policy of a page that has this style and this script, or none."""
    allowed = [
        f"style-src {_digest(style)}",
        *([f"script-src {_digest(script)}"] if script else []),
    ]
    return "; ".join(["default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"])


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _neutral(value: Any) -> Any:
    """A text as one line without control characters; what is markup already stays."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value
