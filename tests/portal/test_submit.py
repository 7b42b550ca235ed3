"""Submitting, watching and seeing."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest

from grader.batch.task import Answer
from tests.portal.made import LAB, SECONDS, Served, grade_json, graded, source, until, working


def events(course: Served, who: str, number: int, after: str = "") -> list[tuple[int, str]]:
    """The events of a submission until the server ends the answer."""
    visit = course.signed_in(f"{who}@example.org")
    headers = {"Last_Event_ID": after} if after else {}
    text = visit.get(f"/submissions/{number}/events", **headers).text.replace("\r", "")
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in block.splitlines())
        if "id" in fields:
            found.append((int(fields["id"]), fields["event"]))
    return found


def test_a_submission_is_stored_watched_and_shown(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    reply = ada.submit(source())
    number = int(reply.to.rpartition("/")[2])
    stored = course.book.submission(number)
    assert stored is not None and (stored.student, stored.data) == ("ada", source())
    assert "next one to be graded" in ada.get(reply.to).text
    seen: list[tuple[int, str]] = []
    watcher = threading.Thread(target=lambda: seen.extend(events(course, "ada", number)))
    watcher.start()
    with working(course.book, course.site):
        watcher.join(SECONDS)
    assert [kind for _, kind in seen] == ["queued", "started", *["step"] * 3, "graded"]
    page = ada.get(reply.to).text
    assert "70 of 100" in page and "counts" in page
    middle = seen[2][0]
    assert events(course, "ada", number, str(middle)) == seen[3:], "a reconnect misses nothing"


def test_the_same_submission_twice_is_one(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    assert ada.submit(source()).to == ada.submit(source(), "other.cu").to
    assert ada.submit(source(2)).to != ada.submit(source()).to
    assert len(course.book.history(LAB, "ada")) == 2


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.pdf", b"%PDF-1.7 ...", "PDF"),
        ("a.cu", b"", ""),
        ("a.cu", b"\x00\x01\x02" * 50, ""),
        ("a.zip", b"PK\x03\x04broken", ""),
        ("<script>alert(1)</script>.cu", b"int main() { }", ""),
    ],
)
def test_what_check_refuses_is_refused_with_its_reason(
    course: Served, name: str, data: bytes, said: str
) -> None:
    ada = course.signed_in("ada@example.org")
    reply = ada.submit(data, name)
    if reply.code == 303:  # text that does not compile is a submission
        reply = ada.get(reply.to)
        assert course.book.history(LAB, "ada")
    else:
        assert reply.code == 422 and said in reply.text
        assert course.book.history(LAB, "ada") == ()
    assert "<script>alert" not in reply.text


def test_a_body_that_is_too_large_is_refused(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    assert ada.submit(b"x" * (10 << 20)).code == 413
    assert course.book.history(LAB, "ada") == ()


def test_submissions_are_limited_and_refused_files_are_not_counted(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    assert {ada.submit(b"").code for _ in range(35)} == {422}
    codes = [ada.submit(source(k)).code for k in range(31)]
    assert codes == [303] * 30 + [429]
    assert course.signed_in("ben@example.org").submit(source()).code == 303


def test_students_see_no_hidden_values_and_staff_do(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    reply = ada.submit(source())
    number = reply.to.rpartition("/")[2]
    with working(course.book, course.site):
        until(lambda: course.book.grade(int(number)))
    program = course.program("ada@example.org")
    assert "SECRET" not in ada.get(reply.to).text
    assert "SECRET" not in program.get(f"/api/v1/submissions/{number}").text
    assert "SECRET" in course.signed_in("lead@example.org").get(reply.to).text


def test_a_fault_of_the_machine_says_so_and_is_tried_again(course: Served) -> None:
    calls: list[int] = []

    def failing(lab: Any, task: Any, options: Any, progress: Any) -> Answer:
        calls.append(task.number)
        if len(calls) < 3:
            return Answer(task.number, failure="the disk is full")
        return graded(lab, task, options, progress)

    ada = course.signed_in("ada@example.org")
    number = int(ada.submit(source()).to.rpartition("/")[2])
    with working(course.book, course.site, failing):
        until(lambda: course.book.grade(number))
    kinds = [kind for _, kind in events(course, "ada", number)]
    assert kinds.count("fault") == 2 and kinds[-1] == "graded" and len(calls) == 3


def test_a_submission_that_always_fails_waits_for_the_staff(course: Served) -> None:
    def failing(lab: Any, task: Any, options: Any, progress: Any) -> Answer:
        return Answer(task.number, failure="the disk is full")

    ada, lead = (course.signed_in(f"{who}@example.org") for who in ("ada", "lead"))
    reply = ada.submit(source())
    number = int(reply.to.rpartition("/")[2])
    with working(course.book, course.site, failing):
        until(lambda: course.site.progress.waiting([LAB])[0].stopped)
        page = ada.get(reply.to).text
        assert "costs no points and no attempt" in page and "disk" not in page
    assert "Grade again" in lead.get("/queue").text
    assert lead.post(f"/queue/{LAB}/retry", student="ada").code == 303
    with working(course.book, course.site):
        until(lambda: course.book.grade(number))


def test_a_new_watcher_hears_what_happened_before(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    number = ada.submit(source()).to.rpartition("/")[2]
    with socket.create_connection(("127.0.0.1", course.port), SECONDS) as line:
        head = (
            f"GET /submissions/{number}/events HTTP/1.1\r\nHost: x\r\nCookie: {ada.cookie}\r\n\r\n"
        )
        line.sendall(head.encode())
        text = b""
        while b"event: queued" not in text:  # bench/portal.py measures how soon it comes
            more = line.recv(4096)
            assert more, text
            text += more


def test_two_submissions_are_compared(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    a, b = (ada.submit(source(k)).to.rpartition("/")[2] for k in (1, 2))
    with working(course.book, course.site):
        until(lambda: course.book.grade(int(b)))
    page = ada.get(f"/compare?a={b}&b={a}").text
    assert "-// 1" in page and "+// 2" in page and "70 of 100" in page
    found = course.program("ada@example.org").get(f"/api/v1/compare?a={a}&b={b}").json
    assert (found["old"], found["new"]) == (int(a), int(b))
    assert [one["state"] for one in found["findings"]] == []  # those of hidden cases are not told
    assert [(one["kind"], one["text"]) for one in found["diff"][-2:]] == [
        ("removed", "// 1"), ("added", "// 2"),
    ]  # fmt: skip
    whole = course.program("lead@example.org").get(f"/api/v1/compare?a={a}&b={b}").json
    assert [one["state"] for one in whole["findings"]] == ["remaining"]


def test_an_extension_moves_the_deadline_of_one_student(course: Served) -> None:
    lead = course.signed_in("lead@example.org")
    before = course.signed_in("ben@example.org").get(f"/labs/{LAB}").text
    sent = lead.post(
        f"/class/{LAB}/extensions", student="ada", due="2027-04-20T12:00", reason="ill"
    )
    assert sent.code == 303
    ada = course.signed_in("ada@example.org")
    assert "due 2027-04-20 12:00" in ada.get(f"/labs/{LAB}").text
    assert course.signed_in("ben@example.org").get(f"/labs/{LAB}").text.count("2027-03-28") == (
        before.count("2027-03-28")
    )
    assert lead.post(f"/class/{LAB}/extensions", student="ada", due="", reason="well").code == 303
    assert "due 2027-03-28 23:59" in ada.get(f"/labs/{LAB}").text
    actions = [event.action for event in course.book.audit(LAB, "ada")]
    assert actions == ["extension", "extension removed"]
    assert course.book.verify().problems == ()


@pytest.mark.parametrize("due", ["never", "2027-13-01T00:00", "99999999999"])
def test_a_wrong_deadline_is_refused(course: Served, due: str) -> None:
    lead = course.signed_in("lead@example.org")
    form = {"student": "ada", "due": due, "reason": "ill"}
    assert lead.post(f"/class/{LAB}/extensions", **form).code == 422


def test_the_api_takes_a_file_and_gives_the_grade(course: Served) -> None:
    program = course.program("ada@example.org")
    where = f"/api/v1/labs/{LAB}/submissions"
    state = program.upload(where, "a.cu", source()).json
    assert (state["status"], state["ahead"], state["grade"]) == ("waiting", 0, None)
    with working(course.book, course.site):
        until(lambda: course.book.grade(state["id"]))
    made = program.get(f"/api/v1/submissions/{state['id']}").json
    assert made["status"] == "graded" and made["grade"]["score"] == 70
    (lab,) = program.get("/api/v1/labs").json
    assert (lab["points"], lab["submission"]) == (70, state["id"])
    assert program.upload(where, "a.pdf", b"%PDF-1").json["detail"]
    assert json.loads(program.get("/api/v1/openapi.json").body)["openapi"]
    assert program.ask("OPTIONS", where).headers["Allow"] == "GET, POST"
    assert grade_json(LAB)["score"] == 70
