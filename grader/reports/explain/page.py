"""The explanation of a kernel as a page, and its pictures alone, as parts of another page."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

from grader.launch import Finding
from grader.reports.explain.accesses import MAX_SIDE, Panel, panel_counts, panel_svg
from grader.reports.explain.explanation import Explanation, Line
from grader.reports.explain.requests import request_summary, request_svg
from grader.reports.finding import dim3, finding_text
from grader.reports.printable import printable

MAX_PHASES = 12
"""Maximum number of phases that are drawn: the phases of a loop look the same."""

MAX_REQUESTS = 12
"""Maximum number of requests that are drawn."""

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
COLUMNS = ("", "source", "requests", "sectors", "a request", "passes", "conflicts")


def explain_page(explanation: Explanation) -> bytes:
    """Return the page as UTF-8."""
    html = Element("html", lang="en")
    head = SubElement(html, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "title").text = printable(f"{explanation.file} in pictures")
    SubElement(head, "style").text = STYLE
    body = SubElement(html, "body")
    SubElement(body, "h1").text = printable(f"{explanation.file} in pictures")
    _paragraph(body, _subtitle(explanation))
    _findings(body, explanation.findings)
    _source(body, explanation.lines)
    _requests(body, explanation, MAX_REQUESTS)
    _phases(body, explanation, MAX_PHASES)
    return f"<!DOCTYPE html>\n{tostring(html, encoding='unicode', method='html')}\n".encode()


def _subtitle(explanation: Explanation) -> str:
    launch = f"{_blocks(explanation.grid)} of {_product(explanation.block)} threads, simulated"
    return (
        f"{explanation.lab}: {explanation.title}. Kernel {explanation.kernel} on the case"
        f" {explanation.case} ({explanation.size}), {launch}."
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
        "Counted over the whole launch. Requests: loads and stores of warps to global memory."
        " Sectors: the 32-byte pieces that they move; 4 per request when 32 threads access 32"
        " adjacent floats. Passes: wavefronts through shared memory. Conflicts: the passes that"
        " bank conflicts add.",
    )
    table = SubElement(body, "table")
    head = SubElement(SubElement(table, "thead"), "tr")
    for text in COLUMNS:
        SubElement(head, "th").text = text
    rows = SubElement(table, "tbody")
    for line in lines:
        _row(rows, line)


def _row(rows: Element, line: Line) -> None:
    bad = any(f.severity != "info" for f in line.findings)
    row = SubElement(rows, "tr", {"id": f"L{line.number}", **({"class": "bad"} if bad else {})})
    SubElement(row, "td", {"class": "n"}).text = printable(line.place)
    SubElement(row, "td", {"class": "source"}).text = printable(line.text)
    ratio = f"{line.sectors_per_request:.3g}" if line.requests else ""
    for value in (line.requests, line.sectors, ratio, line.wavefronts, line.conflicts):
        text = f"{value:,}" if isinstance(value, int) else value
        SubElement(row, "td", {"class": "n"}).text = "" if text == "0" else text
    if not line.findings:
        return
    below = SubElement(rows, "tr", {"class": "bad"} if bad else {})
    SubElement(below, "td")
    margin = SubElement(below, "td", {"class": "margin", "colspan": str(len(COLUMNS) - 1)})
    for finding in line.findings:
        text = f"{finding.kind}: {finding.message}"
        text += f" ({finding.hint})" if finding.hint else ""
        SubElement(margin, "div").text = printable(text)


def pictures(explanation: Explanation, phases: int, most: int) -> list[tuple[str, str]]:
    """Return the pictures alone, as titles and HTML, for a page that has its own style.

    Args:
        explanation: What is drawn.
        phases: Phases that are drawn.
        most: Requests that are drawn.
    """
    drawn = []
    for draw, limit in ((_requests, most), (_phases, phases)):
        body = Element("div")
        draw(body, explanation, limit)
        if len(body):
            title = body[0].text or ""
            body.remove(body[0])
            drawn.append((title, tostring(body, encoding="unicode", method="html")))
    return drawn


def _requests(body: Element, explanation: Explanation, most: int) -> None:
    """Show what one warp moves at each line that accesses global memory."""
    if not explanation.requests:
        return
    SubElement(body, "h2").text = "What one warp moves at once"
    _paragraph(
        body,
        "The lanes of a warp load or store together, and memory moves sectors of 32 bytes. A strip"
        " is a sector, named by its first element; a cell names the lane that uses it, or how many"
        " do (×32). White cells are moved but not used. The pictures show the first execution of"
        f" each line in block {dim3(explanation.shown)}.",
    )
    for request in explanation.requests[:most]:
        figure = SubElement(body, "figure")
        SubElement(figure, "figcaption", {"class": "wide"}).text = printable(
            request_summary(request)
        )
        figure.append(request_svg(request))
    if len(explanation.requests) > most:
        _paragraph(body, f"{len(explanation.requests) - most} more are not drawn.")


def _phases(body: Element, explanation: Explanation, most: int) -> None:
    phases = sorted({panel.phase for panel in explanation.panels})
    where = "between its barriers" if any(phases) else "and its accesses"
    SubElement(body, "h2").text = f"Block {dim3(explanation.shown)} {where}"
    if explanation.no_panels_reason:
        _paragraph(body, explanation.no_panels_reason)
        return
    _paragraph(
        body,
        "A cell is an element; it names the thread that accesses it (x,y), or how many do (×16)."
        " Each warp has a color. Hover over a cell to see its threads and lines.",
    )
    for phase in phases[:most]:
        if any(phases):
            SubElement(body, "h3").text = _phase_name(phase)
        held = SubElement(body, "div", {"class": "phase"})
        for panel in explanation.panels:
            if panel.phase == phase:
                _figure(held, panel, explanation)
    if len(phases) > most:
        _paragraph(body, f"{len(phases) - most} more phases are not drawn.")


def _phase_name(phase: int) -> str:
    return "Before the first barrier" if phase == 0 else f"After barrier {phase}"


def _figure(body: Element, panel: Panel, explanation: Explanation) -> None:
    figure = SubElement(body, "figure")
    (top, bottom), (left, right) = panel.rows, panel.columns
    part = f"rows {top} to {bottom}, columns {left} to {right}"
    if max(bottom - top, right - left) >= MAX_SIDE:
        part += f", of which the first {MAX_SIDE} are drawn"
    caption = SubElement(figure, "figcaption")
    SubElement(caption, "b").text = printable(f"{panel.variable}, {panel.access} ({panel.space})")
    SubElement(caption, "span").text = printable(
        f": {panel_counts(panel)}" + ("" if panel.wrapped else f"; {part}")
    )
    figure.append(panel_svg(panel, explanation.block, explanation.named))


def _paragraph(body: Element, text: str) -> None:
    SubElement(body, "p").text = printable(text)
