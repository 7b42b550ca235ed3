"""What staff say and decide about grades, and what students see of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from grader.batch.task import Answer
from grader.gradebook.policy import Release
from grader.portal.app import MODULES, create_app
from tests.command import grader
from tests.portal.made import COURSE, LAB, Served, Visit, grade_json, served, source, until, working


def handed_in(course: Served, who: str = "ada", number: int = 1) -> int:
    """A graded submission: 70 of 100."""
    visit = course.signed_in(f"{who}@example.org")
    stored = int(visit.submit(source(number)).to.rpartition("/")[2])
    with working(course.book, course.site):
        until(lambda: course.book.grade(stored))
    return stored


def visits(course: Served, *names: str) -> list[Visit]:
    return [course.signed_in(f"{name}@example.org") for name in names]


def install_grade(course: Served, number: int, points: float) -> None:
    """Another grade takes the place of the one that a submission has."""
    claim = course.book.claim(number, "other key", "worker", 10)
    assert claim is not None and course.book.accept(claim, grade_json(LAB, points))


def test_a_request_is_a_thread_with_the_score_of_its_time(course: Served) -> None:
    number = handed_in(course)
    ada, ta, lead = visits(course, "ada", "ta", "lead")
    assert "Requests</a>" in ta.get("/").text
    where = ada.post(f"/submissions/{number}/requests", body="Why <b>70</b>?").to
    assert "Requests (1)" in ta.get("/").text and "Requests (1)" not in ada.get("/").text
    assert ada.post(f"/submissions/{number}/requests", body="Again!").code == 422
    assert ta.post(where + "/messages", body="Line 3.").code == 303
    install_grade(course, number, 85.0)
    page = ada.get(where).text
    assert "70 of 100" in page and "85 of 100" in page and "answered" in page
    assert "Why &lt;b&gt;70&lt;/b&gt;?" in page and "Line 3." in page
    assert "Requests (1)" not in ta.get("/").text
    assert ada.post(where + "/messages", body="I see no line 3.").code == 303
    assert "Requests (1)" in lead.get("/").text
    assert lead.post(where + "/close").code == 303
    assert ada.post(where + "/messages", body="But").code == 422
    assert [one.status for one in course.book.teaching.requests(number)] == ["closed"]
    assert ada.post(f"/submissions/{number}/requests", body="Another one").code == 303
    actions = [e.action for e in course.book.audit(LAB, "ada") if e.action.startswith("request")]
    assert actions == ["request", "request answered", "request open", "request closed", "request"]
    assert course.book.verify().problems == ()


def test_a_ta_sees_the_requests_of_the_own_sections_only(course: Served) -> None:
    number = handed_in(course, "cyd")
    (cyd, ta, lead) = visits(course, "cyd", "ta", "lead")
    where = cyd.post(f"/submissions/{number}/requests", body="Why?").to
    assert where not in ta.get("/requests").text and "Requests (1)" not in ta.get("/").text
    assert ta.get(where).code == 404 and ta.post(where + "/messages", body="x").code == 404
    assert where in lead.get("/requests").text


@pytest.mark.parametrize("body", ["", " \r\n ", "x" * 4001])
def test_a_request_needs_a_text_that_can_be_read(course: Served, body: str) -> None:
    number = handed_in(course)
    (ada,) = visits(course, "ada")
    assert ada.post(f"/submissions/{number}/requests", body=body).code == 422
    assert course.book.teaching.requests() == ()


def test_a_submission_without_a_grade_has_no_request(course: Served) -> None:
    (ada,) = visits(course, "ada")
    where = ada.submit(source()).to
    assert ada.post(where + "/requests", body="Hurry").code == 422


def test_comments_are_at_their_lines_and_can_be_removed(course: Served) -> None:
    number = handed_in(course)
    ada, ta, watch = visits(course, "ada", "ta", "watch")
    where = f"/submissions/{number}"
    assert ta.post(where + "/comments", body="<i>Nice</i>", line="3").to.endswith("#comment-1")
    assert ta.post(where + "/comments", body="In general\r\ngood").code == 303
    page = ada.get(where).text
    row = page[page.index('<tr id="L3"') :].partition("</tr>")[0]
    assert "&lt;i&gt;Nice&lt;/i&gt;" in row and 'href="#comment-1"' in row
    assert 'href="#L3"' in page and "In general\ngood" in page and "<i>Nice" not in page
    assert "Remove" not in page and "Write a comment" not in watch.get(where).text
    for line in ("99999", "-1", "x", "٣"):
        assert ta.post(where + "/comments", body="x", line=line).code == 422
    assert ta.post(where + "/comments/1/remove").code == 303
    assert "Nice" not in ada.get(where).text
    assert ta.post(where + "/comments/1/remove").code == 404
    other = handed_in(course, "ben")
    assert ta.post(f"/submissions/{other}/comments/2/remove").code == 404
    (removed,) = [e for e in course.book.audit() if e.action == "comment removed"]
    assert removed.reason == "<i>Nice</i>" and removed.before["line"] == 3
    assert course.book.verify().problems == ()


SECRETS = ("73.25", "CANARY")
"""What a student must not see while the grades are held: points, and words of the feedback."""


def walk(course: Served, number: int, second: int) -> dict[str, str]:
    """Every page and every answer of the API that a student can get, by its route."""
    (ada,) = visits(course, "ada")
    program = course.program("ada@example.org")
    values = {"name": LAB, "number": number, "secret": "x", "student": "ada", "a": number}
    values |= {"figure": "1.svg"}
    values |= {"b": second}
    found = {}
    app = create_app(course.site)
    from fastapi.routing import APIRoute

    routes = [r for module in MODULES for r in module.router.routes]
    assert app.routes
    for route in routes:
        if not isinstance(route, APIRoute) or "GET" not in (route.methods or ()):
            continue
        known = values | ({"number": 1} if route.path.startswith("/requests/") else {})
        path = re.sub(r"\{(\w+)(:\w+)?\}", lambda found, own=known: str(own[found[1]]), route.path)
        path += f"?a={number}&b={second}" if route.name in ("compare", "api_compare") else ""
        visit = program if path.startswith("/api") else ada
        found[route.name] = visit.get(path).text
    return found


def test_held_grades_are_nowhere(tmp_path: Path) -> None:
    text = COURSE.replace("    late:", "    release: manual\n    late:")
    text = text.replace("counts: last", "counts: best")
    with served(tmp_path, text=text) as course:
        assert course.site.release(LAB).held
        (ada, lead) = visits(course, "ada", "lead")
        numbers = [int(ada.submit(source(k)).to.rpartition("/")[2]) for k in (1, 2)]
        made = grade_json(LAB, 73.25)
        made["checks"][0]["summary"] = "CANARY"
        for number in numbers:
            course.book.progress.add(number, "step", step="CANARY", number=1, steps=2)
            claim = course.book.claim(number, "key", "worker", 10)
            assert claim and course.book.accept(claim, made)
        teaching = course.book.teaching
        teaching.comment(numbers[0], 0, "CANARY", "ta@example.org")
        teaching.ask(numbers[0], "hm", "ada@example.org")
        teaching.reply(1, "CANARY", "ta@example.org", staff=True)
        seen = walk(course, numbers[0], numbers[1])
        assert {name for name, page in seen.items() if any(s in page for s in SECRETS)} == set()
        assert "graded, not released yet" in seen["home"] and "counts</strong>" not in seen["lab"]
        assert "It is graded" in seen["submission"] and '"held":true' in seen["api_submission"]
        assert ada.post(f"/submissions/{numbers[1]}/requests", body="Why?").code == 422
        course.book.override(LAB, "ada", 73.25, "lead@example.org", "CANARY")
        pages = walk(course, *numbers)
        assert {name for name, page in pages.items() if any(s in page for s in SECRETS)} == set()
        assert "73.25" in lead.get(f"/class/{LAB}").text, "staff see everything"
        assert "CANARY" in lead.get(f"/submissions/{numbers[0]}").text
        assert lead.post(f"/class/{LAB}/release", when="now").code == 303
        seen = walk(course, numbers[0], numbers[1])
        told = {name for name, page in seen.items() if any(s in page for s in SECRETS)}
        assert told >= {"home", "lab", "submission", "compare", "request_page", "api_labs"}
        assert told >= {"api_submission", "api_requests", "submission_events", "api_events"}
        assert course.book.verify().problems == ()


def test_the_release_is_a_moment_a_click_or_the_course_s(course: Served) -> None:
    number = handed_in(course)
    ada, lead = visits(course, "ada", "lead")

    def shown() -> bool:
        return "70 of 100" in ada.get(f"/submissions/{number}").text

    assert shown()
    where = f"/class/{LAB}/release"
    assert lead.post(where, when="hold").code == 303 and not shown()
    assert "until they are released" in lead.get(f"/class/{LAB}").text
    assert lead.post(where, when="from", moment="2999-01-01T12:00").code == 303 and not shown()
    assert "released on 2999-01-01 12:00" in ada.get(f"/submissions/{number}").text
    assert lead.post(where, when="from", moment="2020-01-01T12:00").code == 303 and shown()
    assert lead.post(where, when="hold").code == 303 and not shown()
    assert lead.post(where, when="course").code == 303 and shown()
    for wrong in ({"when": "x"}, {"when": "from", "moment": "soon"}, {"when": "from"}):
        assert lead.post(where, **wrong).code == 422
    assert [e.action for e in course.book.audit(LAB)].count("release") == 5


def test_points_are_set_and_removed_with_a_reason(course: Served) -> None:
    handed_in(course)
    ada, ta = visits(course, "ada", "ta")
    where = f"/class/{LAB}/points"
    assert ta.post(where, student="ada", points="82.5", reason="<b>viva</b>").code == 303
    assert "82.5 points, set by ta@example.org: &lt;b&gt;viva" in ta.get("/students/ada").text
    assert "set by the staff" in ada.get("/").text and "82.5" in ada.get("/").text
    page = ada.get(f"/labs/{LAB}").text
    assert "The points were set by the staff" in page and "viva" not in page
    for wrong in ("x", "-1", "nan", "inf", "1e9", "1,5"):
        assert ta.post(where, student="ada", points=wrong, reason="x").code == 422, wrong
    assert ta.post(where, student="ada", points="1", reason=" ").code == 422
    assert ta.post(where, student="cyd", points="1", reason="x").code == 404
    assert ta.post(where, student="ada", points="", reason="done").code == 303
    assert "70 of 100" in ada.get("/").text and "set by the staff" not in ada.get("/").text
    assert ta.post(where, student="ada", points="", reason="again").code == 422
    actions = [event.action for event in course.book.audit(LAB, "ada")][-2:]
    assert actions == ["override", "override removed"]
    assert course.book.verify().problems == ()


def test_a_student_chooses_which_submission_counts(tmp_path: Path) -> None:
    text = COURSE.replace("counts: last", "counts: chosen\nattempts: 2")
    with served(tmp_path, text=text) as course:
        ada, ben = visits(course, "ada", "ben")
        numbers = [int(ada.submit(source(k)).to.rpartition("/")[2]) for k in (1, 2, 3)]

        def counting() -> int | None:
            return course.book.entry(LAB, "ada", course=course.site.course).submission

        assert counting() == numbers[1], "the last of those that may count"
        where = f"/labs/{LAB}/choice"
        assert ada.post(where, submission=str(numbers[0])).code == 303
        assert counting() == numbers[0]
        offered = ada.get(f"/labs/{LAB}").text.partition('<select id="choice"')[2]
        assert f'value="{numbers[0]}" selected' in offered
        assert f'value="{numbers[2]}"' not in offered
        assert ada.post(where, submission=str(numbers[2])).code == 422, "after the attempts"
        assert ben.post(where, submission=str(numbers[0])).code == 404
        assert ada.post(where, submission="x").code == 422 and counting() == numbers[0]
        folder = ("--course", str(course.site.course.folder))
        assert grader("portal", "choose", str(numbers[1]), *folder).code == 0
        assert counting() == numbers[1]
        assert grader("portal", "choose", str(numbers[2]), *folder).code == 2
        actions = [event.action for event in course.book.audit(LAB, "ada")]
        assert actions.count("choose") == 2 and course.book.verify().problems == ()


def test_a_choice_after_the_cut_off_does_not_count(tmp_path: Path) -> None:
    rule = "      - penalty: 10%\n        per: day\n"
    text = COURSE.replace("counts: last", "counts: chosen")
    text = text.replace(rule, rule + "      - cut_off: 1 hour\n").replace(
        "2027-03-28", "2020-03-28"
    )
    with served(tmp_path, text=text) as course:
        (ada,) = visits(course, "ada")
        number = ada.submit(source()).to.rpartition("/")[2]
        assert ada.post(f"/labs/{LAB}/choice", submission=number).code == 422
        course.book.teaching.choose(int(number), "somebody")
        assert course.book.entry(LAB, "ada", course=course.site.course).status == "refused"


def test_a_regrade_counts_only_when_it_is_adopted(course: Served) -> None:
    numbers = [handed_in(course, "ada"), handed_in(course, "cyd", 2)]
    lead, ada, ta = visits(course, "lead", "ada", "ta")
    told = course.site.progress.newest()
    where = lead.post(f"/class/{LAB}/regrades", reason="a new compiler").to
    assert lead.post(f"/class/{LAB}/regrades", reason="again").code == 422, "one at a time"
    assert "2 wait" in lead.get(where).text
    assert lead.post(where + "/decision", decision="adopt").code == 422, "not graded yet"
    with working(course.book, course.site, better):
        until(lambda: "2 graded again" in lead.get(where).text)
    page = lead.get(where).text
    assert "2 of them differ." in page and page.count('<td class="n">85</td>') == 2
    assert course.site.progress.newest() == told, "nobody who watches hears of a proposal"
    assert "70 of 100" in ada.get(f"/submissions/{numbers[0]}").text
    assert lead.post(where + "/decision", decision="adopt").code == 303
    assert "85 of 100" in ada.get(f"/submissions/{numbers[0]}").text
    assert "adopted" in lead.get(where).text and ta.get(where).code == 403
    assert lead.post(where + "/decision", decision="reject").code == 422, "it is decided"
    where = lead.post(f"/class/{LAB}/regrades", reason="one", students="ada").to
    with working(course.book, course.site):
        until(lambda: "1 graded again" in lead.get(where).text)
    assert lead.post(where + "/decision", decision="reject").code == 303
    assert [course.book.grade(number)["score"] for number in numbers] == [85, 85]  # type: ignore[index]
    assert lead.post(f"/class/{LAB}/regrades", reason="x", students="nobody").code == 422
    actions = [e.action for e in course.book.audit(LAB) if e.action.startswith("regrade")]
    assert actions == ["regrade", "regrade adopted", "regrade", "regrade rejected"]
    assert course.book.verify().problems == ()


def better(lab: Any, task: Any, options: Any, progress: Any) -> Answer:
    """Grade at once: 85 points, with a step on the way."""
    progress("run", 1, 1)
    return Answer(task.number, grade_json(lab.name, 85.0))


def test_a_new_submission_is_graded_before_those_of_a_regrade(course: Served) -> None:
    old = handed_in(course)
    course.book.teaching.start_regrade(LAB, (), "lead@example.org", "x")
    (ben,) = visits(course, "ben")
    new = int(ben.submit(source(7)).to.rpartition("/")[2])
    seen: list[int] = []

    def noted(lab: Any, task: Any, options: Any, progress: Any) -> Answer:
        seen.append(task.number)
        return better(lab, task, options, progress)

    (one,) = course.book.teaching.regrades()
    with working(course.book, course.site, noted):
        until(lambda: course.book.grade(new) and not course.book.teaching.pending(one))
    assert seen == [new, old], "the regrade has what was graded when it started"


def test_a_regrade_that_fails_keeps_the_grade(course: Served) -> None:
    number = handed_in(course)

    def failing(lab: Any, task: Any, options: Any, progress: Any) -> Answer:
        return Answer(task.number, failure="the disk is full")

    one = course.book.teaching.start_regrade(LAB, (), "lead@example.org", "x")
    with working(course.book, course.site, failing):
        until(lambda: course.book.teaching.pending(one)[0].stopped)
    (lead, ada) = visits(course, "lead", "ada")
    assert "1 could not be graded" in lead.get(f"/regrades/{one.id}").text
    assert "70 of 100" in ada.get(f"/submissions/{number}").text
    folder = ("--course", str(course.site.course.folder))
    assert "open  " in grader("portal", "regrades", *folder).out
    assert "0 wait" in grader("portal", "regrades", str(one.id), *folder).err
    assert grader("portal", "regrades", str(one.id), "--adopt", *folder).code == 0
    assert grader("portal", "regrades", str(one.id), "--reject", *folder).code == 2
    again = grader("portal", "regrade", LAB, "--student", "ada", "--reason", "x", *folder)
    assert again.code == 0 and "regrade 2" in again.err


def test_staff_see_what_a_student_sees_and_change_nothing(course: Served) -> None:
    number = handed_in(course)
    course.book.teaching.ask(number, "Why?", "ada@example.org")
    course.book.teaching.set_release(LAB, Release(held=True), "lead@example.org", "")
    ada, ta, watch = visits(course, "ada", "ta", "watch")
    assert (
        ta.post("/students/cyd/view").code == 404 and watch.post("/students/ada/view").code == 403
    )
    assert "70 of 100" in ta.get(f"/submissions/{number}").text
    form = ta.form_token()
    assert ta.post("/students/ada/view").code == 303
    before = len(course.book.audit())
    frame = re.compile(r'<nav class="site".*?<div id="content">', re.S)
    pages = ("/", f"/labs/{LAB}", f"/submissions/{number}", "/requests", "/requests/1")
    for path in pages:
        own, seen = (re.sub(r'value="\w{128}"', "", v.get(path).text) for v in (ada, ta))
        assert "You see what Ada Lovelace sees" in seen and "70 of 100" not in seen
        assert frame.sub("", seen) == frame.sub("", own), path
    for path in ("/queue", f"/class/{LAB}", "/students/ada"):
        assert ta.get(path).code == 403, path
    changes = {
        f"/submissions/{number}/requests": {"body": "x"},
        "/requests/1/messages": {"body": "x"},
        "/requests/1/close": {},
        "/account/tokens": {"name": "x", "scope": "read"},
        f"/class/{LAB}/points": {"student": "ada", "points": "1", "reason": "x"},
        "/students/ada/view": {},
    }
    for path, fields in changes.items():
        assert ta.post(path, form=form, **fields).code == 403, path
    assert ta.submit(source(5)).code == 403 and len(course.book.audit()) == before
    assert ta.post("/view/end", form=form).to == "/students/ada"
    assert "70 of 100" in ta.get(f"/submissions/{number}").text


@pytest.mark.parametrize("who", ["cyd", "nobody", "%00", "../x", "staff:1", "ada%3B%20x"])
def test_a_made_up_view_gives_no_right(course: Served, who: str) -> None:
    ta, ben = visits(course, "ta", "ben")
    for visit in (ta, ben):
        visit.cookies["warpgrade-view"] = who
        assert "You see what" not in visit.get("/").text
    assert ta.get("/queue").code == 200


def test_commands_do_what_the_pages_do(course: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    number = str(handed_in(course))
    folder = ("--course", str(course.site.course.folder))
    program = course.program("ada@example.org")
    monkeypatch.setenv("WARPGRADE_URL", f"http://127.0.0.1:{course.port}")
    monkeypatch.setenv("WARPGRADE_TOKEN", program.own["Authorization"].partition(" ")[2])
    assert "request 1" in grader("portal", "ask", number, "Why?").err
    assert grader("portal", "ask", number, "And why else?").code == 1, "there is one already"
    assert "1  open" in grader("portal", "requests", *folder).out
    assert grader("portal", "answer", "1", "Line 3.", *folder).code == 0
    shown = grader("portal", "requests", "1", *folder).out
    assert "70 of 100 points then, now 70 of 100" in shown and "  Line 3." in shown
    assert grader("portal", "close", "1", *folder).code == 0
    assert grader("portal", "close", "1", *folder).code == 2
    assert grader("portal", "answer", "9", "x", *folder).code == 2
    assert grader("portal", "comment", number, "Good.", "--line", "3", *folder).code == 0
    assert "1  line 3" in grader("portal", "comment", number, *folder).out
    assert grader("portal", "comment", number, "--remove", "1", *folder).code == 0
    assert grader("portal", "comment", number, *folder).out == ""
    assert grader("portal", "release", LAB, "hold", *folder).code == 0
    held = grader("status", number, "--watch")
    assert held.code == 0 and "not released" in held.err and "70" not in held.out + held.err
    assert grader("portal", "release", LAB, "2999-01-01 12:00", *folder).code == 0
    assert "from 2999-01-01 12:00" in grader("portal", "release", LAB, *folder).err
    assert grader("portal", "release", LAB, "soon", *folder).code == 2
    assert grader("portal", "release", LAB, "now", *folder).code == 0
    assert "70" in grader("status").out
