"""How grades stand at platforms: on the page Health, and in the commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.cli import lti_sync
from tests.portal.lti.synced import RealClock, Synced, synced
from tests.portal.made import LAB, served, until


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Synced]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with synced(tmp_path, clock=RealClock()) as found:
        yield found


def test_the_commands_say_what_would_be_sent_what_was_and_what_failed(
    one: Synced, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one.graded("ada", 70.0)
    one.graded("ben", 30.0)
    del one.at.members["sub-ben"]
    assert lti_sync.sync(dry_run=True, course=one.folder) == 0
    said = capfd.readouterr()
    assert f"{LAB}  link 1  ada  70 of 100  waits\n" in said.out and one.at.asked == []
    assert "2 scores would be sent" in said.err
    assert lti_sync.sync(course=one.folder) == lti_sync.PROBLEMS
    assert "1 score sent, 1 refused, 0 left" in capfd.readouterr().err
    assert lti_sync.status(course=one.folder) == lti_sync.PROBLEMS
    said = capfd.readouterr()
    assert said.out.splitlines()[:2] == [
        "! platforms refuse 1 grades", f"{LAB}  link 1: 1 sent, 0 wait, 1 failed"
    ]  # fmt: skip
    assert "User not found in course" in said.out and ", again 20" in said.out
    one.at.members["sub-ben"] = {}
    assert lti_sync.sync(course=one.folder) == 0
    assert lti_sync.sync(again=True, course=one.folder) == 0
    out = tmp_path / "out.json"
    assert lti_sync.status(course=one.folder, json=str(out)) == 0
    rows = json.loads(out.read_text())["scores"]
    assert {row["student"]: row["standing"] for row in rows} == {
        "ada": "sent", "ben": "sent", "cyd": "nothing"
    }  # fmt: skip


def test_health_shows_the_grades_of_the_own_students(
    one: Synced, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.graded("ada", 70.0)
    one.graded("cyd", 30.0)
    one.at.members.clear()
    one.sync.send()
    other = one.book.lti.new_link(1, "7", "link-2", "No grades <b>")
    one.book.lti.point(other.id, LAB, "test")
    (one.folder / "course.secret").unlink()
    with served(one.folder) as course:
        lead = course.signed_in("lead@example.org").get("/health").text
        assert "platforms refuse 2 grades" in lead and "User not found in course" in lead
        assert "No grades &lt;b&gt;" in lead and "the platform takes no grades for it" in lead
        ta = course.signed_in("ta@example.org").get("/health").text
        assert "platforms refuse 1 grades" in ta and "Cyd" not in ta
        assert course.signed_in("ada@example.org").get("/health").code == 403


def test_what_runs_beside_the_server_sends_by_itself(one: Synced) -> None:
    one.sync.start()
    try:
        one.graded("ada", 70.0)
        until(lambda: one.at.items and one.at.shown())
        one.book.override(LAB, "ada", 71.0, "lead", "look again")
        until(lambda: one.at.shown() == {"sub-ada": (71.0, 100.0)})
    finally:
        one.sync.end()
