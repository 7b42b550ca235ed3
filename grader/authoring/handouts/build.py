"""Build the site: every page of `handouts/` as HTML and PDF, with its figures, in one folder.

Pandoc converts Markdown to HTML. For PDF, pandoc converts it to Typst, and Typst makes the PDF.
Both tools are PyPI wheels.
"""

from __future__ import annotations

import html as markup
import pkgutil
import re
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pypandoc
import typst

from grader import regex
from grader.authoring.handouts import figures
from grader.authoring.handouts.figures import stack, svg
from grader.authoring.handouts.figures.tiles import phase_table
from grader.authoring.handouts.page import Page, Sources, expand
from grader.authoring.handouts.runs import message
from grader.faults import Fault, LabFault
from grader.labs.files import write_atomically
from grader.labs.model import Lab
from grader.labs.reading import lab_roots, list_labs, load_lab

HERE = Path(__file__).parent
MARKDOWN = "markdown-smart-tex_math_dollars-raw_tex"
LINK = regex(r"(\]\([a-z0-9-]+)\.md((?:#[\w-]+)?\))")
INDEX = "index"
INDEX_LINK = regex(r"\]\(([a-z0-9-]+)\.md\)")
FIGURE_PREFIX = "draw_"
NARROW = "-narrow"
"""The end of the name of a figure for a phone, whose axes are stacked."""

IMAGE = regex(r'^!\[(.*)\]\(figures/(\w+)\.svg\)\{alt="(.*)"\}$', re.MULTILINE)
BOTH = """<figure>
<img class="wide" src="figures/{name}.svg" alt="{alt}"><img class="narrow"
 src="figures/{name}-narrow.svg" alt="{alt}">
<figcaption>{caption}</figcaption>
</figure>"""


def html(page: Page, folder: Path, navigation: str = "", *, phones: bool = True) -> str:
    """Convert a page to one self-contained HTML file, without scripts.

    Args:
        page: The page; its links to `.md` pages become links to `.html`.
        folder: The folder of its figures, which are embedded.
        navigation: HTML to put before the page.
        phones: Whether to embed each figure a second time, for narrow screens.

    Raises:
        LabFault: Pandoc rejects the page.
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
        arguments.append(f"--include-before-body={before.name}")
        return _pandoc(page, "html5", "html", arguments, phones=phones)


def pdf(page: Page, folder: Path) -> bytes:
    """Convert a page to PDF on A4, with its figures from `folder`.

    Equal pages give equal bytes. Raises LabFault when pandoc or Typst rejects the page.
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
            document: bytes = typst.compile(file.name, root=str(folder))
        except typst.TypstError as error:
            raise LabFault(f"typst: {error}", where=f"{page.name}.md") from None
    return document


def _pandoc(page: Page, to: str, suffix: str, arguments: list[str], *, phones: bool = False) -> str:
    text = LINK.sub(rf"\1.{suffix}\2", page.text)
    if phones:
        text = IMAGE.sub(lambda m: BOTH.format(name=m[2], alt=m[3], caption=m[1]), text)
    try:
        return str(pypandoc.convert_text(text, to, format=MARKDOWN, extra_args=arguments))
    except RuntimeError as error:
        raise LabFault(f"pandoc: {error}", where=f"{page.name}.md") from None


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def source_folder() -> Path:
    """Return the folder `handouts/`, next to `labs/`."""
    return lab_roots()[0].parent / "handouts"


def build_site(
    out: Path, names: Sequence[str] = (), announce: Callable[[str], None] = lambda what: None
) -> tuple[Path, ...]:
    """Write pages to the folder `out`, and return the paths of the files.

    Args:
        out: The folder; created when missing.
        names: The pages, without `.md`; the index and all pages when empty.
        announce: Called with the name of each page before it is built.

    Raises:
        LabFault: A directive or a link of a page is invalid.
        MachineFault: A file cannot be written.
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
    """Read one page of `handouts/` and draw its figures into `out`/figures; raises LabFault."""
    return _page(source_folder() / f"{name}.md", _lab(name), out)


def _page(path: Path, lab: Lab | None, out: Path) -> Page:
    (out / "figures").mkdir(parents=True, exist_ok=True)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabFault(f"cannot read the page: {error.strerror}", where=str(path)) from None
    sources = Sources(lambda figure: draw_figure(figure, out), phase_table, message)
    return expand(path.stem, text, lab, sources)


def lab_page(lab: Lab, out: Path) -> str:
    """Return the page of one lab as HTML without navigation and without the figures for phones.

    Raises LabFault.
    """
    return html(_page(handout_of(lab), lab, out), out, phones=False)


def lab_pages(lab: Lab, out: Path) -> tuple[str, bytes]:
    """Return the page of one lab as HTML without navigation, and as PDF.

    The page is read from the `handouts/` of the lab's course; its figures are drawn into the folder
    `out`. Raises LabFault.
    """
    page = _page(handout_of(lab), lab, out)
    return html(page, out), pdf(page, out)


def lab_html(lab: Lab, out: Path) -> str:
    """Return the page of one lab as HTML without navigation, as `lab_pages`."""
    return html(_page(handout_of(lab), lab, out), out)


def handout_of(lab: Lab) -> Path:
    """Return the path of `handouts/LAB.md` in the lab's course."""
    return lab.handout


def page_order() -> tuple[str, ...]:
    """Return the pages that the index links to, in the order of the links."""
    text = (source_folder() / f"{INDEX}.md").read_text(encoding="utf-8")
    return tuple(dict.fromkeys(INDEX_LINK.findall(text)))


def draw_figure(name: str, out: Path) -> str | None:
    """Write figures/NAME.svg below `out`, and the same figure for a phone.

    Returns:
        The alternative text of the figure; None when the figure has no data.

    Raises:
        LabFault: There is no figure of that name.
    """
    alternative_text = figure_text(name)
    figure = getattr(find_figures()[name], FIGURE_PREFIX + name)()
    if figure is None:
        return None
    (out / "figures").mkdir(parents=True, exist_ok=True)
    write_atomically(out / "figures" / f"{name}.svg", svg(figure))
    stack(figure)
    write_atomically(out / "figures" / f"{name}{NARROW}.svg", svg(figure))
    return alternative_text


def figure_text(name: str) -> str:
    """Return the alternative text of a figure. Raises LabFault when there is no such figure."""
    module = find_figures().get(name)
    if module is None:
        raise LabFault(f"there is no figure `{name}`", fix=f"use {', '.join(find_figures())}")
    return str(getattr(module, f"{name.upper()}_ALT"))


def find_figures() -> Mapping[str, ModuleType]:
    """Find the module of every figure, by the name of the figure: `halo` for `draw_halo`."""
    names = (info.name for info in pkgutil.iter_modules(figures.__path__))
    modules = [import_module(f"{figures.__name__}.{name}") for name in names]
    return {
        name.removeprefix(FIGURE_PREFIX): module
        for module in modules
        for name in vars(module)
        if name.startswith(FIGURE_PREFIX)
    }


def navigation(name: str, order: Sequence[str]) -> str:
    """Return links to the previous page, the index and the next page, as HTML."""
    if name not in order:
        return ""
    at = order.index(name)
    previous = _link(order[at - 1], "Previous") if at else "<span></span>"
    following = _link(order[at + 1], "Next") if at + 1 < len(order) else "<span></span>"
    pdf_link = f'<a href="{markup.escape(name)}.pdf">PDF</a>'
    middle = f'<span><a href="{INDEX}.html">All handouts</a> · {pdf_link}</span>'
    return f"<nav>{previous}{middle}{following}</nav>"


def _link(name: str, text: str) -> str:
    return f'<a href="{markup.escape(name)}.html">{text}: {markup.escape(name)}</a>'


def _lab(name: str) -> Lab | None:
    return load_lab(name) if name in list_labs() else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the handouts as HTML and PDF, and return the exit code."""
    parser = ArgumentParser(
        prog="python -m grader.authoring.handouts.build",
        description="Build the handouts as HTML and PDF pages.",
    )
    parser.add_argument(
        "pages", nargs="*", metavar="PAGE", help="pages to build, without .md (default: all pages)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/handouts"), metavar="DIR",
        help="folder to write the files to (default: build/handouts)",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    try:
        written = build_site(
            options.out, options.pages, lambda page: print(f"  {page}", flush=True)
        )
    except Fault as fault:
        print(fault, file=sys.stderr)
        return fault.exit_code
    print(f"wrote {len(written)} files; open {options.out / INDEX}.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
