"""The whole site: every page of handouts/ as HTML and PDF, with its figures, in one folder."""

from __future__ import annotations

import html as markup
import pkgutil
import re
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pypandoc
import typst

from grader.authoring.handouts import figures
from grader.authoring.handouts.canvas import svg
from grader.authoring.handouts.figures.tiles import phase_table
from grader.authoring.handouts.page import Page, Sources, expand
from grader.authoring.handouts.runs import message
from grader.faults import LabFault
from grader.labs.files import write_atomically
from grader.labs.model import Lab
from grader.labs.reading import lab_roots, list_labs, load_lab

# Markdown -> HTML by pandoc, and -> PDF by pandoc and typst: two tools that are PyPI wheels.

HERE = Path(__file__).parent
MARKDOWN = "markdown-smart-tex_math_dollars-raw_tex"
LINK = re.compile(r"(\]\([a-z0-9-]+)\.md((?:#[\w-]+)?\))")


def html(page: Page, folder: Path, navigation: str = "") -> str:
    """One self-contained HTML page: style and figures (out of `folder`) inside it, no script.
    `navigation` is HTML put before it; links to other pages' .md become .html. Raises LabFault.
    """
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
    LabFault.
    """
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


INDEX = "index"
LISTED = re.compile(r"\]\(([a-z0-9-]+)\.md\)")


def source_folder() -> Path:
    """handouts/ beside the labs."""
    return lab_roots()[0].parent / "handouts"


def build_site(
    out: Path, names: Sequence[str] = (), announce: Callable[[str], None] = lambda what: None
) -> tuple[Path, ...]:
    """Write the pages `names` (all when empty) and the index to folder `out`; what was written.

    Raises LabFault: a page's directive or link does not hold; MachineFault.
    """
    order = page_order()
    written = []
    for name in names or (INDEX, *order):
        announce(name)
        page = build_page(name, out)
        write_atomically(out / f"{name}.html", html(page, out, navigation(name, order)).encode())
        write_atomically(out / f"{name}.pdf", pdf(page, out))
        written += [out / f"{name}.html", out / f"{name}.pdf"]
    return tuple(written)


def build_page(name: str, out: Path) -> Page:
    """One page of handouts/, its figures drawn into `out`/figures. Raises LabFault."""
    return _page(source_folder() / f"{name}.md", _lab(name), out)


def _page(path: Path, lab: Lab | None, out: Path) -> Page:
    (out / "figures").mkdir(parents=True, exist_ok=True)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabFault(f"cannot read the page: {error.strerror}", where=str(path)) from None
    sources = Sources(lambda figure: draw_figure(figure, out), phase_table, message)
    return expand(path.stem, text, lab, sources)


def lab_pages(lab: Lab, out: Path) -> tuple[str, bytes]:
    """The page of a lab alone, of handouts/ beside its labs/: as HTML without links to other pages'
    navigation, and as PDF; `out` is a folder for its figures. Raises LabFault.
    """
    page = _page(handout_of(lab), lab, out)
    return html(page, out), pdf(page, out)


def handout_of(lab: Lab) -> Path:
    """handouts/LAB.md beside the labs/ that the lab lies in."""
    return lab.folder.parent.parent / "handouts" / f"{lab.name}.md"


def page_order() -> tuple[str, ...]:
    """The pages that the index links to, in its order."""
    text = (source_folder() / f"{INDEX}.md").read_text(encoding="utf-8")
    return tuple(dict.fromkeys(LISTED.findall(text)))


def draw_figure(name: str, out: Path) -> str | None:
    """Write figures/NAME.svg below `out`.

    Returns its alternative text, None when the figure has no data. Raises LabFault for a name that
    no figure has.
    """
    module = figure_module(name)
    figure = getattr(module, f"draw_{name}")()
    if figure is None:
        return None
    (out / "figures").mkdir(parents=True, exist_ok=True)
    write_atomically(out / "figures" / f"{name}.svg", svg(figure))
    return str(getattr(module, f"{name.upper()}_ALT"))


def figure_module(name: str) -> ModuleType:
    """The module of the folder `figures` that has the function `draw_<name>`. Raises LabFault."""
    for info in pkgutil.iter_modules(figures.__path__):
        module = import_module(f"{figures.__name__}.{info.name}")
        if hasattr(module, f"draw_{name}"):
            return module
    raise LabFault(f"there is no figure `{name}`")


def navigation(name: str, order: Sequence[str]) -> str:
    """Links to the page before, to the index and to the page after, as HTML."""
    if name not in order:
        return ""
    at = order.index(name)
    before = _link(order[at - 1], "Previous") if at else "<span></span>"
    after = _link(order[at + 1], "Next") if at + 1 < len(order) else "<span></span>"
    pdf_link = f'<a href="{markup.escape(name)}.pdf">PDF</a>'
    middle = f'<span><a href="{INDEX}.html">All handouts</a> · {pdf_link}</span>'
    return f"<nav>{before}{middle}{after}</nav>"


def _link(name: str, text: str) -> str:
    return f'<a href="{markup.escape(name)}.html">{text}: {markup.escape(name)}</a>'


def _lab(name: str) -> Lab | None:
    return load_lab(name) if name in list_labs() else None
