"""A Story as one self-contained HTML page: no script, no network, everything from the student
escaped.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

from grader.launch import Finding
from grader.reports.clean import clean
from grader.reports.explain.accesses import MOST, Panel, counts, panel_svg
from grader.reports.explain.requests import request_svg, said
from grader.reports.explain.story import Line, Story
from grader.reports.finding import dim3, finding_text

PHASES = 12
"""Phases that are drawn, at most: those of a loop look alike."""

LINES = 12
"""Requests that are drawn, at most."""

STYLE = """
body { font: 16px/1.45 system-ui, "DejaVu Sans", sans-serif; color: #222; margin: 1.5rem auto;
       max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1rem; margin-bottom: .2rem; }
pre, td.source { font: 13px/1.4 "DejaVu Sans Mono", Consolas, monospace; white-space: pre-wrap; }
pre.finding { background: #fff4e5; border-left: 3px solid #d55e00; padding: .5rem .7rem; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th { text-align: left; vertical-align: bottom; border-bottom: 1px solid #222; }
td, th { padding: .1rem .5rem; vertical-align: top; } td.n { text-align: right; }
tr.bad td { background: #fff4e5; }
td.source { min-width: 11rem; } td.margin { color: #8a3a00; padding-bottom: .4rem; }
td.margin div { max-width: calc(100vw - 6rem); }
div.phase { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
figure { margin: .4rem 0; overflow-x: auto; max-width: 100%; } figcaption { max-width: 30rem; }
 figcaption { font-size: 13px; } figcaption.wide { max-width: none; }
"""
HEADS = ("", "source", "requests", "sectors", "a request", "passes", "conflicts")


def explain_page(story: Story) -> bytes:
    """The page as UTF-8."""
    html = Element("html", lang="en")
    head = SubElement(html, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "title").text = clean(f"{story.file} in pictures")
    SubElement(head, "style").text = STYLE
    body = SubElement(html, "body")
    SubElement(body, "h1").text = clean(f"{story.file} in pictures")
    _paragraph(body, _what(story))
    _findings(body, story.findings)
    _source(body, story.lines)
    _requests(body, story)
    _phases(body, story)
    return f"<!DOCTYPE html>\n{tostring(html, encoding='unicode', method='html')}\n".encode()


def _what(story: Story) -> str:
    return (
        f"{story.lab}: {story.title}. Kernel {story.kernel} on the case {story.case}"
        f" ({story.size}), {_blocks(story.grid)} of {_product(story.block)} threads,"
        " simulated."
    )


def _blocks(grid: tuple[int, int, int]) -> str:
    return "1 block" if grid == (1, 1, 1) else f"{_product(grid)} blocks"


def _product(dims: tuple[int, int, int]) -> str:
    used = max((axis + 1 for axis in range(3) if dims[axis] > 1), default=1)
    return " x ".join(str(v) for v in dims[:used])


def _findings(body: Element, findings: tuple[Finding, ...]) -> None:
    for finding in findings:
        SubElement(body, "pre", {"class": "finding"}).text = finding_text(finding, 96).plain


def _source(body: Element, lines: tuple[Line, ...]) -> None:
    SubElement(body, "h2").text = "What each line costs"
    _paragraph(
        body,
        "Counted over the whole launch. Requests: loads and stores of warps to global memory;"
        " sectors: pieces of 32 bytes that they move, 4 a request when 32 threads touch 32"
        " neighbouring floats. Passes: through shared memory; conflicts: passes that only the"
        " banks make necessary.",
    )
    table = SubElement(body, "table")
    head = SubElement(SubElement(table, "thead"), "tr")
    for text in HEADS:
        SubElement(head, "th").text = text
    rows = SubElement(table, "tbody")
    for line in lines:
        _row(rows, line)


def _row(rows: Element, line: Line) -> None:
    bad = any(f.severity != "info" for f in line.findings)
    row = SubElement(rows, "tr", {"id": f"L{line.number}", **({"class": "bad"} if bad else {})})
    SubElement(row, "td", {"class": "n"}).text = str(line.number)
    SubElement(row, "td", {"class": "source"}).text = clean(line.text)
    ratio = f"{line.sectors_per_request:.3g}" if line.requests else ""
    for value in (line.requests, line.sectors, ratio, line.wavefronts, line.conflicts):
        text = f"{value:,}" if isinstance(value, int) else value
        SubElement(row, "td", {"class": "n"}).text = "" if text == "0" else text
    if not line.findings:
        return
    below = SubElement(rows, "tr", {"class": "bad"} if bad else {})
    SubElement(below, "td")
    margin = SubElement(below, "td", {"class": "margin", "colspan": str(len(HEADS) - 1)})
    for finding in line.findings:
        said = f"{finding.kind}: {finding.message}"
        said += f" ({finding.hint})" if finding.hint else ""
        SubElement(margin, "div").text = clean(said)


def _requests(body: Element, story: Story) -> None:
    """What one warp moves at each line that touches global memory."""
    if not story.requests:
        return
    SubElement(body, "h2").text = "What one warp moves at once"
    _paragraph(
        body,
        "The lanes of a warp load or store together, and memory moves in sectors of 32 bytes: a"
        " strip is a sector, named by its first element, and a cell says which lane wants it, or"
        " how many do (×32). White cells move for nothing. Shown is the first time that a line is"
        f" run in block {dim3(story.shown)}.",
    )
    for request in story.requests[:LINES]:
        figure = SubElement(body, "figure")
        SubElement(figure, "figcaption", {"class": "wide"}).text = clean(said(request))
        figure.append(request_svg(request))
    if len(story.requests) > LINES:
        _paragraph(body, f"{len(story.requests) - LINES} more are not drawn.")


def _phases(body: Element, story: Story) -> None:
    phases = sorted({panel.phase for panel in story.panels})
    where = "between its barriers" if any(phases) else "and its accesses"
    SubElement(body, "h2").text = f"Block {dim3(story.shown)} {where}"
    if story.lacking:
        _paragraph(body, story.lacking)
        return
    _paragraph(
        body,
        "A cell is an element, and says which thread touches it (x,y), or how many do (×16)."
        " Each warp has a colour; hover over a cell to see threads and lines.",
    )
    for phase in phases[:PHASES]:
        if any(phases):
            SubElement(body, "h3").text = _named(phase)
        held = SubElement(body, "div", {"class": "phase"})
        for panel in story.panels:
            if panel.phase == phase:
                _figure(held, panel, story)
    if len(phases) > PHASES:
        _paragraph(body, f"{len(phases) - PHASES} more phases are not drawn.")


def _named(phase: int) -> str:
    return "Before the first barrier" if phase == 0 else f"After barrier {phase}"


def _figure(body: Element, panel: Panel, story: Story) -> None:
    figure = SubElement(body, "figure")
    (top, bottom), (left, right) = panel.rows, panel.columns
    part = f"rows {top} to {bottom}, columns {left} to {right}"
    if max(bottom - top, right - left) >= MOST:
        part += f", of which the first {MOST} are drawn"
    caption = SubElement(figure, "figcaption")
    SubElement(caption, "b").text = clean(f"{panel.variable}, {panel.access} ({panel.space})")
    SubElement(caption, "span").text = clean(
        f": {counts(panel)}" + ("" if panel.wrapped else f"; {part}")
    )
    figure.append(panel_svg(panel, story.block))


def _paragraph(body: Element, text: str) -> None:
    SubElement(body, "p").text = clean(text)
