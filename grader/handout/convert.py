"""Markdown -> HTML by pandoc, and -> PDF by pandoc and typst: two tools that are PyPI wheels."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pypandoc
import typst

from grader.fault import LabFault
from grader.handout.page import Page

HERE = Path(__file__).parent
MARKDOWN = "markdown-smart-tex_math_dollars-raw_tex"
LINK = re.compile(r"(\]\([a-z0-9-]+)\.md((?:#[\w-]+)?\))")


def html(page: Page, folder: Path, navigation: str = "") -> str:
    """One self-contained HTML page: style and figures (out of `folder`) inside it, no script.
    `navigation` is HTML put before it; links to other pages' .md become .html. Raises LabFault."""
    arguments = [
        "--standalone",
        "--embed-resources",
        "--columns=1000",
        f"--css={HERE / 'page.css'}",
        f"--resource-path={folder}",
        f"--metadata=pagetitle={page.title}",
        "--metadata=lang=en",
        "--fail-if-warnings",
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as before:
        before.write(navigation)
        before.flush()
        return _pandoc(page, "html5", "html", [*arguments, f"--include-before-body={before.name}"])


def pdf(page: Page, folder: Path) -> bytes:
    """The page as PDF, A4, with its figures out of `folder`; the same bytes every time. Raises
    LabFault."""
    body = _pandoc(page, "typst", "pdf", ["--columns=1000"])
    for name, alt in page.figures.items():
        place = f'image("figures/{name}.svg"'
        body = body.replace(place, f'{place}, alt: "{alt}"')
    head = (HERE / "page.typ").read_text(encoding="utf-8").replace("TITLE", _quoted(page.title))
    with tempfile.NamedTemporaryFile("w", suffix=".typ", dir=folder, encoding="utf-8") as file:
        file.write(head + body)
        file.flush()
        try:
            made: bytes = typst.compile(file.name, root=str(folder))
        except typst.TypstError as error:
            raise LabFault(f"typst: {error}", where=f"{page.name}.md") from None
    return made


def _pandoc(page: Page, to: str, suffix: str, arguments: list[str]) -> str:
    text = LINK.sub(rf"\1.{suffix}\2", page.text)
    try:
        return str(pypandoc.convert_text(text, to, format=MARKDOWN, extra_args=arguments))
    except RuntimeError as error:
        raise LabFault(f"pandoc: {error}", where=f"{page.name}.md") from None


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
