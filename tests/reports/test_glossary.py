"""The glossary explains the kinds of findings, on pages, in the handouts and in the terminal."""

from __future__ import annotations

import pytest

from grader.launch import KINDS, Finding
from grader.reports.classes import ReportRow
from grader.reports.finding import find_term, glossary, terms_of
from grader.reports.page.write import student_page
from grader.reports.text import status_word
from tests.command import ROOT, grader
from tests.made import a_grade, a_result


def test_entries_are_whole() -> None:
    names = [term.name for term in glossary()]
    words = [word.lower() for term in glossary() for word in (term.name, *term.also)]
    assert len(words) == len(set(words))
    assert len(names) >= 20
    for term in glossary():
        assert set(term.kinds) <= set(KINDS)
        assert set(term.see) <= set(names)
        assert term.text.endswith(".")


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("race", "race"), ("hazard", "race"), ("RAW", "race"), ("lane", "lane"),
        ("bank-conflict", "bank conflict"), ("Coalescing", "coalescing"), ("SM", "multiprocessor"),
        ("barrier-divergence", "divergent barrier"), ("wavefront", "wavefront"),
        ("spill", "local memory"),
    ],
)  # fmt: skip
def test_a_term_is_found_by_its_words(word: str, name: str) -> None:
    term = find_term(word)
    assert term is not None
    assert term.name == name


def test_the_command_prints_an_entry() -> None:
    shown = grader("explain-term", "hazard")
    assert shown.code == 0
    assert shown.out.startswith("race (also: data race, hazard")
    assert max(map(len, shown.out.splitlines())) <= 80
    unknown = grader("explain-term", "racee")
    assert unknown.code == 2 and "did you mean `race`?" in unknown.err


def test_the_page_of_the_handouts_has_every_entry() -> None:
    page = (ROOT / "handouts" / "glossary.md").read_text("utf-8")
    flat = " ".join(page.split())
    for term in glossary():
        assert f"## {term.name}" in page
        assert " ".join(term.text.split()) in flat
    assert page.count("\n## ") == len(glossary())


def test_a_page_links_its_findings_to_their_terms() -> None:
    kinds = ("race", "lost-update", "wrong-output")
    findings = tuple(Finding(kind, "error", f"a {kind}", line=3) for kind in kinds)
    made = a_grade(a_result("sync", "fail", findings=findings))
    page = student_page(ReportRow("ada", made, "")).decode()
    assert page.count('id="term-race"') == 1
    assert '<a href="#term-race">race</a>' in page
    assert set(terms_of(kinds)) == {"race", "lost-update"}


@pytest.mark.parametrize(("most", "word"), [(0, "practice"), (5, "FAIL")])
def test_a_quiz_without_points_does_not_read_as_failed(most: float, word: str) -> None:
    assert status_word(a_result("quiz", "fail", most=most))[0] == word
    assert status_word(a_result("output", "fail", most=0))[0] == "FAIL"
