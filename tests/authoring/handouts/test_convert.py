"""Pages as HTML and PDF: self-contained, reproducible, without external resources."""

from __future__ import annotations

import io
import re
import zlib
from pathlib import Path

import pytest
from pypdf import PdfReader

from grader.authoring.handouts.build import draw_figure, figure_text, html, pdf
from grader.authoring.handouts.page import Page
from grader.faults import LabFault

TEXT = """\
# A "title" & more

Text with $5 and `a < b`, see [the other](other-page.md) and
[a part of it](other-page.md#part).

| a | b |
| --- | ---: |
| `x` | 1 |

![What is seen.](figures/occupancy_curves.svg){alt="Curves."}

    if (i < n) { x[i] = 0; }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert draw_figure("occupancy_curves", out) == figure_text("occupancy_curves")
    return out


PAGE = Page("page", 'A "title" & more', TEXT, {"occupancy_curves": "Curves."})


def test_html_is_self_contained(folder: Path) -> None:
    made = html(PAGE, folder, '<nav><a href="other-page.html">Next</a></nav>')
    assert made == html(PAGE, folder, '<nav><a href="other-page.html">Next</a></nav>')
    assert "<script" not in made and '<link rel="stylesheet"' not in made
    links = set(re.findall(r'(?:href|src)="([^"#d][^"]*)"', made))
    assert links == {"other-page.html", "other-page.html#part"}
    assert 'alt="Curves."' in made and "data:image/svg+xml" in made
    assert re.findall(r'class="(wide|narrow)"', made) == ["wide", "narrow"]
    assert re.search(r"<figcaption>\s*What is seen.", made)
    assert "<nav>" in made and "if (i &lt; n)" in made and "$5" in made


def test_pdf_is_reproducible(folder: Path) -> None:
    made = pdf(PAGE, folder)
    assert made.startswith(b"%PDF-") and made == pdf(PAGE, folder)
    assert b"CreationDate" not in made
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", made, re.DOTALL)
    assert any(b"other-page.pdf" in part for part in (made, *map(_unpacked, streams)))


def test_message_is_not_split_between_pages(folder: Path) -> None:
    """Eight messages of eleven lines each do not fit on one page."""
    blocks = ["".join(f"    block{n} row{row}\n" for row in range(11)) for n in range(8)]
    made = pdf(Page("long", "Long", "# Long\n\n" + "\nText.\n\n".join(blocks)), folder)
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(made)).pages]
    assert len(pages) > 1
    for n in range(8):
        assert [f"block{n} row0" in page for page in pages] == [
            f"block{n} row10" in page for page in pages
        ]


def _unpacked(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:  # a font or a picture in another encoding
        return b""


def test_missing_figure_is_reported(folder: Path) -> None:
    lost = Page("page", "T", "# T\n\n![x](figures/lost.svg)\n")
    with pytest.raises(LabFault, match="pandoc"):
        html(lost, folder)
    with pytest.raises(LabFault, match="typst"):
        pdf(lost, folder)
