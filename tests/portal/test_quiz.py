"""The quiz as a form, and what an open lab gives its students."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.labs.quiz import parse_answer_sheet
from grader.labs.reading import load_lab
from grader.portal.task.handouts import built_page, read_handout
from grader.portal.task.quiz import FIELD, answers_in, questions_of, sheet_of
from tests.portal.made import COURSE, LAB, Served, served, source, until, working

QUIZ = load_lab(LAB)
NAMES = [one.name for one in QUIZ.quiz]
HOSTILE = (
    '"><script>alert(1)</script>', "!!python/object/apply:os.system [id]", "&a *a",
    "x: y\nblocks: 1",
    "'\"\\", "\u2028\u0085\x00\x07\ufeff", "null", "~", "[1, 2]", "{{ 7 * 7 }}", "\U0001f980",
)  # fmt: skip


@settings(max_examples=60, derandomize=True, database=None)
@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=40) | st.sampled_from(HOSTILE)))
def test_any_answer_is_read_back_as_it_was_given(answers: dict[str, str]) -> None:
    sheet = sheet_of(QUIZ, {FIELD + name: text for name, text in answers.items()})
    clean = {
        name: text.replace("\r\n", "\n").strip().encode("utf-8", "replace").decode()
        for name, text in answers.items()
    }
    kept = {name: text for name, text in clean.items() if text}
    assert answers_in(sheet) == kept
    if sheet is not None:
        read = parse_answer_sheet(sheet)
        assert not read.problem and list(read.entries) == NAMES
        assert all(entry.is_plain for entry in read.entries.values())
        assert sheet_of(QUIZ, {FIELD + n: t for n, t in kept.items()}) == sheet, "same bytes"
    else:
        assert kept == {}


def given_in(page: str, name: str) -> str:
    """The answer that a field of the page begins with, as it stands in the HTML."""
    field = re.search(rf'name="{FIELD}{name}" value="([^"]*)"(?: maxlength)', page)
    return field[1] if field else ""


def fields(**answers: str) -> dict[str, str]:
    return {FIELD + name: text for name, text in answers.items()}


def test_answers_travel_with_the_submission(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    page = ada.get(f"/labs/{LAB}").text
    assert page.count("<fieldset") == sum(bool(one.choices) for one in QUIZ.quiz)
    for one in questions_of(QUIZ, None):
        assert f'name="{FIELD}{one.name}"' in page and one.text.split("{")[0][:20] in page
    where = f"/labs/{LAB}/submissions"
    form = ada.form_token()
    first = ada.upload(
        where, "a.cu", source(1), form=form, **fields(blocks="33", without_a_guard="c")
    )
    number = int(first.to.rpartition("/")[2])
    stored = course.book.submission(number)
    assert stored is not None and stored.data == source(1)
    assert answers_in(stored.answers) == {"blocks": "33", "without_a_guard": "c"}
    page = ada.get(f"/labs/{LAB}").text
    assert given_in(page, "blocks") == "33"
    assert re.search(r'name="quiz-without_a_guard" value="c" checked', page)
    again = ada.post(where, keep=str(number), **fields(blocks="33", without_a_guard="c"))
    assert again.to == first.to, "the same kernel with the same answers is one submission"
    other = ada.post(where, keep=str(number), **fields(blocks="34"))
    assert other.code == 303 and other.to != first.to
    second = course.book.submission(int(other.to.rpartition("/")[2]))
    assert second is not None and second.data == source(1)
    assert answers_in(second.answers) == {"blocks": "34"}
    with working(course.book, course.site):
        until(lambda: course.book.grade(number))
    assert "<dd>33</dd>" in ada.get(first.to).text
    ben = course.signed_in("ben@example.org")
    assert ben.post(where, keep=str(number), **fields(blocks="1")).code == 404


def test_hostile_answers_stay_text(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    where = f"/labs/{LAB}/submissions"
    for text in HOSTILE:
        reply = ada.post(where, source=source().decode(), **fields(blocks=text))
        assert reply.code == 303, text
        page = ada.get(f"/labs/{LAB}").text + ada.get(reply.to).text
        assert "<script>alert" not in page and "49" not in given_in(page, "blocks")
    kept = "kept <b>in</b> the form"
    refused = ada.post(where, source="", **fields(blocks=kept))
    assert refused.code == 422 and "kept &lt;b&gt;in&lt;/b&gt; the form" in refused.text
    long = ada.post(where, source=source().decode(), **fields(blocks="1" * 2001))
    assert long.code == 422 and "2001 characters" in long.text


CLOSED = COURSE.replace("    due:", "    opens: 2099-01-01 08:00\n    due:").replace(
    "2027-03-28", "2099-03-28"
)


def test_a_lab_that_is_not_open_shows_and_takes_nothing(tmp_path: Path) -> None:
    with served(tmp_path, text=CLOSED) as course:
        page = built_page(course.site.course, LAB)
        page.parent.mkdir()
        page.write_text("<body><p>CANARY</p></body>")
        ada, lead = (course.signed_in(f"{who}@example.org") for who in ("ada", "lead"))
        shown = ada.get(f"/labs/{LAB}?start=skeleton").text
        assert "opens on 2099-01-01 08:00" in shown
        for secret in ("CANARY", "<textarea", "TODO", "quiz-", "skeleton</a>"):
            assert secret not in shown
        assert ada.get(f"/labs/{LAB}/skeleton").code == 404
        assert ada.get(f"/labs/{LAB}/handout/1.svg").code == 404
        program = course.program("ada@example.org")
        assert program.get(f"/api/v1/labs/{LAB}/files").code == 404
        course.book.board.join(LAB, "ada", "Early", "test")
        board, api = f"/labs/{LAB}/board", f"/api/v1/labs/{LAB}/board"
        kind = {"Content_Type": "application/json"}
        replies = [
            ada.get(board), ada.post(board, pseudonym="Fox"), ada.post(f"{board}/leave"),
            program.get(api), program.ask("POST", api, b'{"pseudonym": "Fox"}', **kind),
            program.ask("DELETE", api),
        ]  # fmt: skip
        assert {reply.code for reply in replies} == {404}
        assert "beyond-16-bits" not in "".join(reply.text for reply in replies)
        assert course.book.board.members(LAB)["ada"].pseudonym == "Early"
        assert board not in shown and lead.get(board).code == 200
        assert ada.submit(source()).code == 422
        sent = program.upload(f"/api/v1/labs/{LAB}/submissions", "a.cu", source())
        assert sent.code == 422 and "opens on" in sent.text
        assert course.book.history(LAB, "ada") == ()
        assert "CANARY" in lead.get(f"/labs/{LAB}?student=ada").text


FIGURE = '<img class="wide" src="data:image/svg+xml;base64,PHN2Zy8+" alt="a &quot;b&quot;">'


def test_a_built_handout_is_shown_without_what_could_act(course: Served) -> None:
    page = built_page(course.site.course, LAB)
    page.parent.mkdir()
    page.write_text(
        "<html><head><style>p{}</style><script>x()</script></head><body onload='x()'>"
        f"<h1 id='submit'>T</h1><p style='color:red' onclick='x()'>one {FIGURE}</p>"
        "<script>alert(1)</script><iframe src='https://e.org'></iframe>"
        "<a href='javascript:x()'>js</a><a href='#submit'>in</a><a href='histogram.html'>h</a>"
        f"<a href='{LAB}.html'>own</a><img src='https://e.org/x.png' alt='far'>"
        "<table><tr><td style='text-align: right;'>1</td></tr></table><p>unclosed</body></html>"
    )
    ada = course.signed_in("ada@example.org")
    shown = ada.get(f"/labs/{LAB}").text
    for bad in ("alert(1)", "onclick", "onload", "javascript:", "e.org", "style=", "data:image"):
        assert bad not in shown, bad
    assert f'<a href="/labs/{LAB}">own</a>' in shown and "<a>h</a>" in shown and "far" in shown
    assert '<h2 id="handout-submit">' in shown and 'href="#handout-submit"' in shown
    figure = ada.get(f"/labs/{LAB}/handout/1.svg")
    assert figure.body == b"<svg/>" and figure.headers["Content-Type"] == "image/svg+xml"
    assert "sandbox" in figure.headers["Content-Security-Policy"]
    files = course.program("ada@example.org").get(f"/api/v1/labs/{LAB}/files").json["files"]
    assert sorted(files) == ["answers.yaml", f"{LAB}.cu", f"{LAB}.html"]
    assert ada.get(f"/labs/{LAB}/skeleton").text == QUIZ.skeleton.read_text()
    assert "start=skeleton" in shown
    assert "TODO" in ada.get(f"/labs/{LAB}?start=skeleton").text


@pytest.mark.parametrize(
    "text",
    [
        "<body><svg><script>x()</script></svg><p>a", "<body></p></p><p><b>a</p>",
        "<body><template><img src=x onerror=x()></template>", "<body><p <script>x()</script>",
        "<body><scr<script>ipt>x()</script>", "<body>&lt;script&gt;x()&lt;/script&gt;",
        "<body><a href=' javascript:x()'>a</a>", "<body><img src='data:image/svg+xml;base64,%%'>",
        "<body><form action='/sign-out'><button>x</button></form>", "<body><td id='\" onload=\"'>",
    ],
)  # fmt: skip
def test_hostile_handouts_keep_no_code(text: str) -> None:
    found = read_handout(text.encode(), LAB, [LAB])
    tags = re.findall(r"<(/?)([a-z0-9]+)([^>]*)>", found.html)
    assert not {name for _, name, _ in tags} & {"script", "svg", "template", "form", "button"}
    assert all("on" not in rest.replace("handout-", "").split("=")[0] for _, _, rest in tags)
    assert "javascript:" not in found.html
    ends = sum(bool(end) for end, _, _ in tags)
    assert ends == sum(not end and name not in ("img", "br", "hr") for end, name, _ in tags)
