"""The pages of handouts/: contents taken from the labs, valid links and figures."""

from __future__ import annotations

import re

import pytest

from grader.authoring.handouts.build import (
    INDEX,
    figure_text,
    find_figures,
    navigation,
    page_order,
    source_folder,
)
from grader.authoring.handouts.page import Page, Sources, expand, graded_table, quiz_list
from grader.authoring.requirements import lab_folder, variant_kind
from grader.faults import LabFault
from grader.labs.model import CheckSpec, Lab
from grader.labs.reading import list_labs, load_lab
from grader.launch import KINDS

LABS = list_labs()
PAGES = sorted(path.stem for path in source_folder().glob("*.md"))
SECTIONS = ("The idea", "The arithmetic", "What is graded", "How to run it", "Common mistakes",
            "Check your understanding")  # fmt: skip
FAKE_SOURCES = Sources(figure_text, lambda: "| phases |", lambda lab, variant: variant)


def text(name: str) -> str:
    return (source_folder() / f"{name}.md").read_text(encoding="utf-8")


def page(name: str) -> Page:
    return expand(name, text(name), load_lab(name) if name in LABS else None, FAKE_SOURCES)


def test_every_lab_has_a_page_and_the_index_links_to_every_page() -> None:
    assert set(LABS) <= set(page_order())
    assert sorted((INDEX, *page_order())) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_links_point_to_pages(name: str) -> None:
    targets = re.findall(r"\]\(([^)]+)\)(?!\{)", page(name).text)
    headings = {f"#{h.lower().replace(' ', '-')}" for h in re.findall(r"(?m)^#+ (.+)$", text(name))}
    assert [t for t in targets if not re.fullmatch(r"https://\S+", t)
            and t.removesuffix(".md") not in PAGES and t not in headings] == []  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_figures_have_an_alternative_text_and_a_caption(name: str) -> None:
    made = page(name)
    images = re.findall(r'!\[(.*)\]\(figures/(\w+)\.svg\)\{alt="([^"]*)"\}', made.text)
    assert len(images) == made.text.count("![") == len(made.figures)
    assert all(len(caption) > 20 and len(alt) > 60 for caption, _, alt in images)


def test_every_figure_is_on_a_page() -> None:
    assert set(find_figures()) == {name for page_name in PAGES for name in page(page_name).figures}


@pytest.mark.parametrize("name", LABS)
def test_a_labs_page_has_every_section_and_at_least_one_picture(name: str) -> None:
    heads = re.findall(r"^## (.+)$", text(name), re.MULTILINE)
    assert [head for head in heads if head in SECTIONS] == list(SECTIONS)
    assert page(name).figures
    assert f"    grader check {name} {name}.cu\n" in text(name)


@pytest.mark.parametrize("name", LABS)
def test_table_shows_the_points_of_the_lab(name: str) -> None:
    lab = load_lab(name)
    section = page(name).text.split("## What is graded")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \| (.+) \|$", section, re.MULTILINE)
    points = {check: float(number) for check, number, _ in rows}
    assert points == {check.name: check.points for check in lab.checks}
    assert f"Together {lab.max_score:g} points." in page(name).text


def test_option_without_a_description_is_reported() -> None:
    lab = load_lab("vector-add")
    check = CheckSpec("traffic", 1, {"max_colours": 3}, where="lab.yaml:9")
    unknown = Lab(lab.name, lab.title, lab.folder, lab.kernels, lab.cases, (check,))
    with pytest.raises(LabFault, match="max_colours"):
        graded_table(unknown)


@pytest.mark.parametrize("name", LABS)
def test_questions_are_listed_without_answers(name: str) -> None:
    lab = load_lab(name)
    listed = quiz_list(lab)
    assert re.findall(r"^(\d+)\. .*`(\w+)`$", listed, re.MULTILINE) == [
        (str(number), question.name) for number, question in enumerate(lab.quiz, start=1)
    ]
    answers = [q.answer for q in lab.quiz if isinstance(q.answer, str) and "*" in q.answer]
    hints = [q.hint for q in lab.quiz if q.hint]
    assert [secret for secret in (*answers, *hints) if secret in listed] == []


@pytest.mark.parametrize("name", LABS)
def test_exactly_the_kinds_of_the_incorrect_variants_are_explained(name: str) -> None:
    section = text(name).split("## Common mistakes")[1].split("## ")[0]
    explained = set(re.findall(r"^\| `([a-z-]+)`", section, re.MULTILINE))
    assert explained <= set(KINDS)
    kinds = {variant_kind(path.name) for path in lab_folder(load_lab(name)).variants}
    assert explained == kinds - {"too-slow"}


@pytest.mark.parametrize("name", LABS)
def test_messages_name_existing_variants(name: str) -> None:
    variants = {path.stem for path in lab_folder(load_lab(name)).variants}
    named = re.findall(r"^\{\{message ([a-z0-9-]+)\}\}$", text(name), re.MULTILINE)
    assert named and set(named) <= variants


@pytest.mark.parametrize("name", PAGES)
def test_nothing_hidden_is_on_a_page(name: str) -> None:
    if name not in LABS:
        return
    hidden = [case for case in load_lab(name).cases if case.visibility == "hidden"]
    assert [case.name for case in hidden if case.name in page(name).text] == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{{figure nothing: x}}", "no figure"),
        ("{{graded}}", "lab's page"),
        ("{{question}}", "lab's page"),
        ("{{ graded }}", "not a directive"),
    ],
)
def test_failing_directive_is_reported_with_its_line(line: str, message: str) -> None:
    with pytest.raises(LabFault, match=message) as caught:
        expand("page", f"# Title\n\n{line}\n", None, FAKE_SOURCES)
    assert caught.value.where.startswith("page.md:3")


def test_a_page_needs_a_title() -> None:
    with pytest.raises(LabFault, match="title"):
        expand("page", "no title\n", None, FAKE_SOURCES)


def test_figure_without_data_is_omitted() -> None:
    none = Sources(lambda name: None, lambda: "", lambda lab, variant: "")
    assert "![" not in expand("page", "# T\n\n{{figure gflops: x}}\n", None, none).text


def test_navigation_links_to_the_neighboring_pages() -> None:
    order = ("a", "b", "c")
    assert 'href="a.html"' in navigation("b", order) and 'href="c.html"' in navigation("b", order)
    assert "Previous" not in navigation("a", order) and "Next" not in navigation("c", order)
    assert navigation(INDEX, order) == ""
