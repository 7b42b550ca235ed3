"""The whole site: every page of handouts/ as HTML and PDF, with its figures, in one folder."""

from __future__ import annotations

import html as markup
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from grader.fault import LabFault
from grader.handout.canvas import svg
from grader.handout.convert import html, pdf
from grader.handout.messages import message
from grader.handout.page import Page, Sources, expand
from grader.handout.phases import phase_table
from grader.lab import Lab
from grader.labfile.spec import lab_roots, list_labs, load_lab
from grader.wholefile import write_whole

INDEX = "index"
LISTED = re.compile(r"\]\(([a-z0-9-]+)\.md\)")


def source_folder() -> Path:
    """handouts/ beside the labs."""
    return lab_roots()[0].parent / "handouts"


def build_site(
    out: Path, names: Sequence[str] = (), announce: Callable[[str], None] = lambda what: None
) -> tuple[Path, ...]:
    """Write the pages `names` (all when empty) and the index to folder `out`; what was written.

    Raises LabFault: a page's directive or link does not hold; MachineFault."""
    order = page_order()
    written = []
    for name in names or (INDEX, *order):
        announce(name)
        page = build_page(name, out)
        write_whole(out / f"{name}.html", html(page, out, navigation(name, order)).encode())
        write_whole(out / f"{name}.pdf", pdf(page, out))
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
    navigation, and as PDF; `out` is a folder for its figures. Raises LabFault."""
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
    """Write figures/NAME.svg below `out`; its alt text, None when it has no data. Raises
    LabFault."""
    module = figure_module(name)
    figure = module.draw()
    if figure is None:
        return None
    (out / "figures").mkdir(parents=True, exist_ok=True)
    write_whole(out / "figures" / f"{name}.svg", svg(figure))
    return str(module.ALT)


def figure_module(name: str) -> ModuleType:
    """The module that draws the figure. Raises LabFault."""
    try:
        return import_module(f"grader.handout.figures.{name}")
    except ModuleNotFoundError:
        raise LabFault(f"there is no figure `{name}`") from None


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
