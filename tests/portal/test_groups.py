"""Groups and extensions on the pages, in the API and on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

from grader.gradebook.course import read_course
from tests.command import grader
from tests.portal.made import COURSE, LAB, Served, served, source, until, working

TEXT = COURSE + "    extensions:\n      - {student: cyd, due: 2027-04-05 12:00, reason: ill}\n"
TEXT += "    groups:\n      A: [ada, ben]\n"


def put(course: Served, who: str, student: str, team: str, **more: str) -> int:
    """Put a student into a group as a person does; the answer's code."""
    visit = course.signed_in(f"{who}@example.org")
    return visit.post(
        f"/class/{LAB}/groups", student=student, team=team, reason="x", **more
    ).code  # fmt: skip


def test_one_submission_is_for_all_of_the_group(tmp_path: Path) -> None:
    with served(tmp_path, text=TEXT) as course:
        course.book.apply(course.site.course, "test")
        ada, ben, cyd, ta, lead = (
            course.signed_in(f"{who}@example.org") for who in ("ada", "ben", "cyd", "ta", "lead")
        )
        where = ada.submit(source(1)).to
        number = int(where.rpartition("/")[2])
        assert ben.submit(source(1)).to == where, "the same file of another one is no new one"
        with working(course.book, course.site):
            until(lambda: course.book.grade(number))
        assert "You submit together with Ben" in ada.get(f"/labs/{LAB}").text
        shown = ben.get(f"/labs/{LAB}").text
        assert where in shown and "sent by Ada Lovelace" in shown
        for path in (where, f"{where}/source", f"{where}/events"):
            assert (ben.get(path).code, cyd.get(path).code) == (200, 404)
        asked = ben.post(f"{where}/requests", body="Why?").to
        assert ada.get(asked).code == 200 and cyd.get(asked).code == 404
        assert asked in ada.get("/requests").text
        assert f"edit={number}" in ben.get(where).text
        second = int(ben.submit(source(2)).to.rpartition("/")[2])
        assert ada.get(f"/compare?a={number}&b={second}").code == 200
        own = grader("portal", "compare", str(number), str(second), "--course", tmp_path)
        assert own.code == 0, "ada sent one and ben the other, and both count for both"
        page = lead.get(f"/class/{LAB}").text
        assert page.count("group A") == 2 and "(course.yaml)" in page
        assert put(course, "ta", "cyd", "A") == 404, "cyd is not in the TA's section"
        assert put(course, "lead", "cyd", "A") == 303
        assert cyd.get(where).code == 404, "an earlier submission does not become another's"
        assert put(course, "ta", "ben", "A", earlier="yes") == 404, "it would give cyd a grade"
        known = course.book.audit(LAB)
        for values in ({"team": "A"}, {"team": "  A "}, {"course": "yes"}):
            moved = ta.post(f"/class/{LAB}/groups", student="ben", reason="x", **values)
            assert moved.code == 404, "cyd would get what ben sends"
        assert course.book.audit(LAB) == known
        assert put(course, "lead", "cyd", "A", earlier="yes") == 303
        assert cyd.get(where).code == 200
        assert put(course, "lead", "ben", "") == 303
        assert ben.get(where).code == 200, "who leaves keeps what counted"
        entries = {one.student: one for one in course.book.entries(LAB, course=course.site.course)}
        assert entries["cyd"].submission == second and entries["cyd"].by == "ben"
        assert (entries["ben"].team, entries["cyd"].team) == ("", "A")
        assert ta.get(where).code == 200
        assert course.book.verify().problems == ()


def test_a_mate_of_another_section_is_not_shown_to_a_ta(course: Served) -> None:
    """What a sender has besides the group's submission is for the TAs of the sender alone."""
    cyd, ta = course.signed_in("cyd@example.org"), course.signed_in("ta@example.org")
    own = cyd.submit(source(1), "OWN.cu")
    for who in ("ada", "cyd"):
        assert put(course, "lead", who, "A") == 303
    shared, second = cyd.submit(source(2)), cyd.submit(source(3))
    waiting = ta.get(shared.to).text
    with working(course.book, course.site):
        until(lambda: all(one.grade for one in course.book.history(LAB, "cyd")))
    course.book.override(LAB, "cyd", 12.25, "lead@example.org", "x")
    asked = cyd.post(f"{shared.to}/requests", body="Why?").to
    numbers = [int(one.to.rpartition("/")[2]) for one in (shared, second)]
    compared = f"/compare?a={numbers[0]}&b={numbers[1]}"
    pages = [waiting, *(ta.get(path).text for path in (shared.to, second.to, asked, compared))]
    for page in pages:
        assert "OWN.cu" not in page and "12.25" not in page
        for path in re.findall(r'href="(/(?:labs|students)/[^"#]+)"', page):
            assert ta.get(path).code == 200, path
    assert "student=ada" in pages[1] and "/students/ada" in pages[3]
    assert ta.get(own.to).code == 404
    assert "12.25" in course.signed_in("lead@example.org").get(second.to).text


def test_hostile_names_of_groups(course: Served) -> None:
    text = "<script>alert(1)</script>'\""
    assert put(course, "lead", "ada", text) == 303
    lead, ada = (course.signed_in(f"{who}@example.org") for who in ("lead", "ada"))
    assert put(course, "lead", "ben", text) == 303
    for page in (
        lead.get(f"/class/{LAB}/groups"), lead.get(f"/class/{LAB}"), ada.get(f"/labs/{LAB}"),
        lead.get("/students/ada"),
    ):  # fmt: skip
        assert page.code == 200 and "<script>alert" not in page.text
        assert "&lt;script&gt;" in page.text
    for team in ("x" * 41, "a\u202eb"):
        assert put(course, "lead", "ada", team) == 422, team
    assert put(course, "lead", "nobody", "A") == 422
    visit = course.signed_in("lead@example.org")
    assert visit.post(f"/class/{LAB}/groups", student="ada", team="A", reason=" ").code == 422


def test_the_api_of_the_staff(course: Served) -> None:
    ta, lead = (course.program(f"{who}@example.org") for who in ("ta", "lead"))
    kind = {"Content_Type": "application/json"}

    def post(path: str, **values: object) -> int:
        body = json.dumps(values).encode()
        return ta.ask("POST", f"/api/v1/labs/{LAB}/{path}", body, **kind).code

    due = "2027-04-01T12:00:00"
    assert post("extensions", student="ada", due=due, reason="ill") == 201
    assert post("extensions", student="cyd", due=due, reason="ill") == 404
    assert post("extensions", student="ada", due=due, reason="") == 422
    for wrong in ("0001-01-01T00:00", "9999-12-31T23:59:59+00:00", "x", 10**20, "20270420"):
        assert post("extensions", student="ada", due=wrong, reason="ill") == 422, wrong
    (one,) = lead.get(f"/api/v1/labs/{LAB}/extensions").json
    assert one["due"].startswith("2027-04-01T10:00:00") and one["origin"] == "staff"
    assert post("extensions", student="ada", due=None, reason="well") == 201
    assert post("extensions", student="ada", due=None, reason="well") == 422
    assert post("groups", student="ada", team="A", reason="x") == 201
    assert [m["team"] for m in lead.get(f"/api/v1/labs/{LAB}/groups").json] == ["A"]
    schema = lead.get("/api/v1/openapi.json").json
    for path, verbs in schema["paths"].items():
        assert all(verb.get("tags") for verb in verbs.values()), path
    page = course.signed_in("lead@example.org")
    for wrong in ("0001-01-01T00:00", "9999-12-31T23:59"):
        values = {"student": "ada", "due": wrong, "reason": "x"}
        assert page.post(f"/class/{LAB}/extensions", **values).code == 422


def test_an_extension_for_the_whole_group(course: Served) -> None:
    assert put(course, "lead", "ada", "A") == put(course, "lead", "ben", "A") == 303
    lead = course.signed_in("lead@example.org")
    values = {"student": "ada", "due": "2027-04-01T12:00", "reason": "ill", "group": "yes"}
    assert lead.post(f"/class/{LAB}/extensions", **values).code == 303
    assert [*course.book.extensions(LAB)] == ["ada", "ben"]


def test_commands(tmp_path: Path) -> None:
    with served(tmp_path, text=TEXT) as course:
        course.book.close()
        words = ("--course", tmp_path)
        shown = grader("portal", "extensions", *words)
        assert shown.code == 0 and "cyd  2027-04-05 12:00  course.yaml: ill" in shown.out
        assert "course.yaml: vector-add ada: group A" in shown.err
        file = tmp_path / "e.csv"
        rows = f"Student,Lab,Due,Reason\nada@example.org,{LAB},2027-04-02 12:00,ill\n"
        file.write_text(rows + f"Cyd,{LAB},2027-04-09 12:00,still ill\n")
        done = grader("portal", "extensions", "--import", file, "--json", "-", *words)
        found = {one["student"]: one for one in json.loads(done.out)["extensions"]}
        assert found["cyd"]["origin"] == "staff" and found["ada"]["due"] == (
            "2027-04-02T10:00:00+00:00"
        )
        assert "2 of 2 extensions" in done.err
        again = grader("portal", "extensions", "--import", file, *words)
        assert "0 of 2 extensions" in again.err
        for bad, said in (
            (f"zoe,{LAB},2027-04-02 12:00,ill", "no student"), (f"ben,{LAB},soon,ill", "a date"),
            (f"ben,{LAB},2027-04-02 12:00,", "needs a reason"), ("ben,x,none,ill", "no lab `x`"),
            (f"ada,{LAB},none,ill", "listed twice"),
        ):  # fmt: skip
            file.write_text(f"{rows}ben,{LAB},2027-05-01 12:00,ill\n{bad}\n")
            wrong = grader("portal", "extensions", "--import", file, *words)
            text = " ".join(wrong.err.split())
            assert wrong.code == 2 and said in text and "e.csv:" in text, wrong.err
            assert "ben" not in course.book.extensions(LAB), "all of a file, or nothing"
        file.write_text(f"student,lab,due,reason\ncyd,{LAB},none,well again\n")
        assert grader("portal", "extensions", "--import", file, *words).code == 0
        assert course.book.extensions(LAB)["cyd"].origin == "course.yaml"
        (tmp_path / "course.yaml").write_text(COURSE)
        changed = grader("gradebook", "show", LAB, *words)
        assert "course.yaml: vector-add cyd: no extension" in changed.err
        assert [*course.book.extensions(LAB)] == ["ada"]
        made = grader("portal", "groups", LAB, "ada", "B", "--reason", "x", "--earlier", *words)
        assert made.code == 0 and "B  ada" in made.out, made.err
        actions = [event.action for event in course.book.audit(LAB, "cyd")]
        assert actions == [
            "extension in course.yaml", "extension", "extension removed",
            "extension in course.yaml removed",
        ]  # fmt: skip
        assert course.book.verify().problems == ()
        assert read_course(tmp_path).extensions == ()
