"""The report in text, JSON and HTML: what it marks, what it escapes, how it is worded."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from grader.batch.similarity import SimilarityReport, compare
from grader.batch.similarity_pages import (
    ADVICE,
    headline,
    similarity_json,
    similarity_pages,
    similarity_report,
)
from grader.reports.text import render
from tests.batch.disguised_copies import renamed
from tests.batch.test_similarity import CLASS, KNOWN, LAB

ATTACK = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 7 * 7 }} \u202egnp.exe"
VOID = {"meta", "link", "br", "img", "input"}


class Tags(HTMLParser):
    """Every tag and the text of a page."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.marks: dict[str, list[int]] = {}
        self.open: list[str] = []
        self._mark = ""
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self._mark = str(dict(attrs).get("class") or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, "the tags nest"

    def handle_data(self, data: str) -> None:
        if data.strip().isdigit() and self._mark:
            self.marks.setdefault(self._mark, []).append(int(data))


TEXTS = CLASS | {f"zz {ATTACK}": f"// {ATTACK}\n" + CLASS["s08"], "zren": renamed(CLASS["s09"])}


@pytest.fixture(scope="module")
def found() -> SimilarityReport:
    return compare(TEXTS, KNOWN)


@pytest.fixture(scope="module")
def pages(found: SimilarityReport) -> dict[str, bytes]:
    return dict(similarity_pages(LAB, found, TEXTS))


def test_an_index_and_a_page_a_pair(pages: dict[str, bytes], found: SimilarityReport) -> None:
    assert {(p.first, p.second[:4]) for p in found.pairs} == {("s08", "zz <"), ("s09", "zren")}
    assert set(pages) == {"index.html", "pair-1.html", "pair-2.html"}
    links = re.findall(r'href="([^"]+)"', pages["index.html"].decode())
    assert links == ["pair-1.html", "pair-2.html"]


def test_pages_are_whole_and_load_nothing(pages: dict[str, bytes]) -> None:
    for page in pages.values():
        text = page.decode()
        tags = Tags(page)
        assert not tags.open
        assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
        assert not {"script", "img", "link", "iframe"} & set(tags.tags)
        assert "{{ 7 * 7 }}" in text or ATTACK not in text
        assert "\u202e" not in text


def test_the_attack_is_shown_as_text(pages: dict[str, bytes]) -> None:
    assert "&lt;script&gt;alert(1)" in pages["index.html"].decode()


def test_shared_lines_are_marked_on_both_sides(
    pages: dict[str, bytes], found: SimilarityReport
) -> None:
    number = next(n for n, p in enumerate(found.pairs, 1) if p.first == "s09")
    match = found.pairs[number - 1].matches["structure"]
    tags = Tags(pages[f"pair-{number}.html"])
    worded = found.pairs[number - 1].matches["wording"]
    expected = sorted(match.first - worded.first) + sorted(match.second - worded.second)
    assert tags.marks["structure"] == expected and len(expected) > 10
    source = CLASS["s09"].splitlines()
    assert any("while" in source[line - 1] for line in match.first)
    assert "#define" not in "".join(source[line - 1] for line in match.first)


def test_no_text_accuses_a_student(pages: dict[str, bytes], found: SimilarityReport) -> None:
    output = (
        render(similarity_report(found))
        + pages["index.html"].decode()
        + str(similarity_json(found))
    )
    assert not re.search(r"(?i)cheat|plagiar|guilty|offen[cs]e|copied from", output)
    assert all(sentence in " ".join(output.split()) for sentence in ADVICE.split(". ")[:1])


def test_the_text_fits_its_width(found: SimilarityReport) -> None:
    lines = render(similarity_report(found)).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "2 pairs are unusually similar, of 14 submissions"


def test_the_headline_counts_the_pairs() -> None:
    assert headline(SimilarityReport(5, (), ())) == "no two of 5 submissions are unusually similar"
