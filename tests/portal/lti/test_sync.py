"""Grades go to a platform by themselves: exactly, once, and no fault sends a 0."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from grader.gradebook.lti_items import LtiItems
from grader.gradebook.policy import Release
from grader.portal.lti import client
from grader.portal.lti.scores import CANVAS_SUBMISSION
from tests.portal.lti.platform import FAULTS, SCOPES, Item, moment
from tests.portal.lti.synced import MOST, NOON, Synced, synced
from tests.portal.made import COURSE, LAB


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Synced]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with synced(tmp_path) as found:
        yield found


def times(one: Synced, user: str) -> list[str]:
    return [message["timestamp"] for _, message in one.at.history if message["userId"] == user]


def test_a_score_is_sent_once_with_what_platforms_want(one: Synced) -> None:
    one.graded("ada", 70.0)
    assert one.sync.send().sent == 1
    assert one.at.shown() == {"sub-ada": (70.0, 100.0)}
    message = one.at.history[0][1]
    assert (message["activityProgress"], message["gradingProgress"]) == ("Completed", "FullyGraded")
    assert moment(message[CANVAS_SUBMISSION]["submitted_at"]) == one.clock.now
    assert message[CANVAS_SUBMISSION]["new_submission"] is True
    assert message["timestamp"].endswith("Z")
    assert (one.sync.send().sent, len(one.at.history), one.at.wrong) == (0, 1, [])
    item = one.at.items[0].value
    assert (item["scoreMaximum"], item["label"]) == (100, "Vector add")
    lines = [event for event in one.book.audit(LAB, "ada") if event.action == "lti score"]
    assert [line.after for line in lines] == [{"points": 70.0, "most": 100.0}]
    assert one.book.verify().problems == ()


def test_corrections_have_later_times_and_no_new_submission(one: Synced) -> None:
    one.graded("ada", 70.0)
    one.sync.send()
    for points in (80.0, 0.0, 80.0):
        one.book.override(LAB, "ada", points, "lead", "look again")
        assert one.sync.send().sent == 1
        assert one.at.shown()["sub-ada"] == (points, 100.0)
    stamps = [moment(text) for text in times(one, "sub-ada")]
    assert all(b - a >= timedelta(seconds=1) for a, b in itertools.pairwise(stamps))
    assert [m[CANVAS_SUBMISSION]["new_submission"] for _, m in one.at.history] == [True] + 3 * [
        False
    ]


def test_machine_faults_and_waiting_work_send_nothing(one: Synced) -> None:
    stored = one.submit("ada", 0)
    one.fail(stored)
    one.submit("ben", 0)
    assert (one.sync.send().sent, one.at.history) == (0, [])
    one.grade(stored, 60.0)
    one.settle()
    assert one.at.shown() == {"sub-ada": (60.0, 100.0)}
    again = one.submit("ada", 1)  # the last counts: it waits, then a machine fails
    one.settle()
    one.fail(again)
    one.settle()
    assert one.at.shown() == {"sub-ada": (60.0, 100.0)}
    assert len(one.at.history) == 1


def test_points_that_staff_take_back_are_removed(one: Synced) -> None:
    one.book.override(LAB, "ben", 55.0, "lead", "oral exam")
    one.settle()
    assert one.at.shown() == {"sub-ben": (55.0, MOST)}
    one.book.override(LAB, "ben", None, "lead", "mistake")
    one.settle()
    assert one.at.shown() == {}
    one.submit("cyd", 0)
    one.book.override(LAB, "cyd", 5.0, "lead", "oral exam")
    one.settle()
    one.book.override(LAB, "cyd", None, "lead", "mistake")  # her submission still waits
    one.settle()
    assert one.at.shown() == {}
    assert all(m.get("scoreGiven") != 0 for _, m in one.at.history)


def test_held_grades_are_sent_at_their_release_and_removed_when_held_again(one: Synced) -> None:
    one.book.teaching.set_release(LAB, Release(held=True), "lead", "")
    one.graded("ada", 70.0)
    one.settle()
    assert one.at.history == []
    before, _ = one.scores.news(None)
    one.book.teaching.set_release(LAB, Release(one.clock.now + timedelta(hours=1)), "lead", "")
    one.settle()
    assert one.at.history == []
    one.clock.now += timedelta(hours=2)
    assert one.scores.news(before)[1] is None
    one.settle()
    assert one.at.shown() == {"sub-ada": (70.0, 100.0)}
    one.book.teaching.set_release(LAB, Release(held=True), "lead", "")
    one.settle()
    assert one.at.shown() == {}


def test_every_member_of_a_group_gets_the_score(one: Synced) -> None:
    for who in ("ada", "ben"):
        one.book.groups.put(LAB, who, "one", "lead", "together")
    one.graded("ada", 40.0)
    one.settle()
    assert one.at.shown() == {"sub-ada": (40.0, 100.0), "sub-ben": (40.0, 100.0)}


def test_course_points_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    text = COURSE.replace("    due:", "    points: 20\n    due:")
    with synced(tmp_path, text) as one:
        one.graded("ada", 40.0, most=80.0)
        one.settle()
        assert one.at.shown() == {"sub-ada": (10.0, 20.0)}


@pytest.mark.parametrize("kind", ["token", "items", "make", "score", "results"])
@pytest.mark.parametrize("fault", FAULTS)
def test_after_any_fault_the_score_is_right_once(
    kind: str, fault: str, one: Synced
) -> None:  # fmt: skip
    left = [2]

    def spoilt(asked: str) -> str:
        if asked != kind or not left[0]:
            return ""
        left[0] -= 1
        return fault

    one.at.fault = spoilt
    for who, points in (("ada", 70.0), ("ben", 0.0), ("cyd", 12.5)):
        one.graded(who, points)
    one.settle()
    assert one.at.shown() == {
        "sub-ada": (70.0, 100.0), "sub-ben": (0.0, 100.0), "sub-cyd": (12.5, 100.0)
    }  # fmt: skip
    assert len(one.at.items) == 1
    for user in one.at.members:
        stamps = [moment(text) for text in times(one, user)]
        assert stamps == sorted(set(stamps))
    assert {m["scoreGiven"] for _, m in one.at.history if m["userId"] != "sub-ben"} == {70.0, 12.5}
    assert one.book.verify().problems == ()


@pytest.mark.parametrize("filters", [True, False])
@pytest.mark.parametrize("keeps_link", [True, False])
def test_line_items_are_single_whatever_the_platform_keeps(
    filters: bool, keeps_link: bool, one: Synced
) -> None:
    one.at.filters, one.at.keeps_link = filters, keeps_link
    for number in range(5):
        one.at.items.append(item(number, f"other-{number}"))
    one.at.fault = first("make", "drop after")
    one.graded("ada", 70.0)
    one.settle()
    one.scores.again()
    one.settle()
    assert len(one.at.items) == 6
    assert one.at.shown(5) == {"sub-ada": (70.0, 100.0)}


def first(kind: str, fault: str) -> Callable[[str], str]:
    """Spoil the first request of a kind."""
    left = [fault]
    return lambda asked: left.pop() if asked == kind and left else ""


def item(number: int, resource: str) -> Item:
    return Item(number, {"label": "x", "scoreMaximum": 10, "resourceId": resource, "tag": "t"})


def test_the_line_item_of_the_platform_is_used(one: Synced) -> None:
    one.at.items.append(item(0, "their-own"))
    named = f"{one.at.address}/course/7/items/0/item?type=3"
    one.book.lti.note_services(one.link, named, "", "", ())
    one.graded("ada", 70.0)
    one.settle()
    assert one.at.shown(0) == {"sub-ada": (70.0, 100.0)}
    assert "items" not in one.at.asked and "make" not in one.at.asked


def test_a_line_item_that_was_deleted_is_made_again_with_all_scores(one: Synced) -> None:
    one.graded("ada", 70.0)
    one.graded("ben", 30.0)
    one.settle()
    one.at.items.clear()
    one.book.override(LAB, "ada", 71.0, "lead", "more")
    one.settle()
    assert one.at.shown() == {"sub-ada": (71.0, 100.0), "sub-ben": (30.0, 100.0)}
    assert len(one.at.items) == 1


def test_what_a_platform_refuses_is_shown_with_its_words_and_waits(one: Synced) -> None:
    del one.at.members["sub-ada"]
    one.graded("ada", 70.0)
    one.graded("ben", 30.0)
    report = one.sync.send()
    assert (report.sent, report.failed) == (1, 1)
    line = next(one for one in one.scores.lines() if one.student == "ada")
    assert line.standing == "failed" and not line.due
    assert line.error == '422 {"error": "User not found in course or is not a student"}'
    asked = len(one.at.asked)
    one.sync.send()
    assert len(one.at.asked) == asked
    one.at.members["sub-ada"] = {}
    assert one.scores.again(LAB) == 1
    one.sync.send()
    assert one.at.shown() == {"sub-ada": (70.0, 100.0), "sub-ben": (30.0, 100.0)}


def test_a_platform_that_shows_another_score_is_reported(one: Synced) -> None:
    shown = one.at.results
    one.at.results = lambda number, address: (  # type: ignore[method-assign]
        [{"userId": "sub-ada", "resultScore": 5, "resultMaximum": 100}], ""
    )  # fmt: skip
    one.graded("ada", 70.0)
    for _ in range(5):
        one.sync.send()
        one.clock.now += timedelta(hours=1)
    line = next(one for one in one.scores.lines() if one.student == "ada")
    assert (line.standing, line.error) == ("failed", "the platform shows 5 of 100")
    assert len(one.at.history) == 3
    one.at.results = shown  # type: ignore[method-assign]
    one.settle()


def test_a_busy_platform_is_left_in_peace_as_long_as_it_asks(one: Synced) -> None:
    one.at.fault = first("score", "429")
    one.graded("ada", 70.0)
    one.graded("ben", 30.0)
    one.sync.send()
    assert one.at.asked.count("score") == 1
    one.clock.now += timedelta(seconds=29)
    one.sync.send()
    assert one.at.asked.count("score") == 1
    one.clock.now += timedelta(seconds=1)
    assert one.sync.send().sent == 2


def test_two_processes_send_each_score_once(one: Synced) -> None:
    one.graded("ada", 70.0)
    lines = one.scores.lines()
    one.sync._open()
    due = next(line for line in lines if line.due)
    item = f"{one.at.address}/x"
    first = one.scores.claim(due, item, "a/b/c/1/2/lti")
    assert first is not None
    assert one.scores.claim(due, item, "d/e/f/1/2/lti") is None
    one.clock.now += timedelta(minutes=4)  # the first one is too late
    second = one.scores.claim(due, item, "d/e/f/1/2/lti")
    assert second is not None and second.stamp > first.stamp
    assert not one.scores.accepted(first, "a")


def test_a_stopped_process_sends_nothing_when_it_goes_on(one: Synced) -> None:
    one.graded("ada", 70.0)
    claim = one.scores.claim

    def late(*words: object) -> object:
        found = claim(*words)  # type: ignore[arg-type]
        one.clock.now += timedelta(minutes=10)
        return found

    one.sync.scores.claim = late  # type: ignore[method-assign,assignment]
    one.sync.send()
    assert one.at.history == []
    one.restarted().send()
    one.settle()
    assert one.at.shown() == {"sub-ada": (70.0, 100.0)}


def test_no_error_repeats_a_secret(one: Synced) -> None:
    one.registration = one.book.lti.register(
        type(one.registration)(
            one.at.address, "warpgrade-client", "P", "x", one.at.token_url, "x", "another audience"
        ),
        "test",
    )  # fmt: skip
    one.graded("ada", 70.0)
    one.sync.send()
    text = " ".join([*one.said, *(line.error for line in one.scores.lines())])
    assert "invalid_client" in " ".join(one.at.wrong) and "eyJ" in " ".join(one.at.wrong)
    text += " ".join(LtiItems(one.book.database).errors().values())
    assert "no access token: 401" in text and "eyJ" not in text


def test_a_slow_platform_is_given_up(one: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "READ_SECONDS", 0.2)
    one.at.fault = first("score", "slow")
    one.graded("ada", 70.0)
    assert one.sync.send().sent == 0
    monkeypatch.undo()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    one.settle()
    assert one.at.shown() == {"sub-ada": (70.0, 100.0)}


@pytest.mark.parametrize("address", ["http://[bad", "ftp://x/items", "http://example.org/i", "//"])
def test_a_link_with_a_wrong_address_stops_no_other(address: str, one: Synced) -> None:
    lti = one.book.lti
    deployed = lti.deployments(one.registration.id)[0]
    for name, item in (("a", address), ("b", "")):
        other = lti.new_link(deployed.id, "7", f"link-{name}", "Other")
        lti.point(other.id, LAB, "test")
        lti.note_services(other.id, item, address, "", SCOPES)
    one.graded("ada", 70.0)
    assert one.sync.send().sent == 1
    assert one.at.shown() == {"sub-ada": (70.0, 100.0)}
    errors = LtiItems(one.book.database).errors()
    assert {*errors.values()} == {"the platform names an address without HTTPS"}


def test_next_pages_at_another_host_get_no_token(one: Synced) -> None:
    one.at.page = 1
    one.at.items += [item(0, "x"), item(1, "y")]
    one.at.filters = False
    listed = one.at.listed
    one.at.listed = lambda rows, address: (  # type: ignore[method-assign]
        listed(rows, address)[0], "http://127.0.0.1:9/items"
    )  # fmt: skip
    one.graded("ada", 70.0)
    assert one.sync.send().sent == 0
    errors = LtiItems(one.book.database).errors()
    assert [*errors.values()] == ["the platform names an address at another host"]
    assert len(one.at.items) == 2


def test_a_look_names_those_for_whom_something_may_have_changed(one: Synced) -> None:
    looks: list[object] = []

    def look() -> object:
        nonlocal last
        last, found = one.scores.news(last)
        looks.append(found)
        return found

    last, everything = one.scores.news(None)
    assert everything is None
    assert look() == {}
    one.graded("ada", 70.0)
    assert look() == {LAB: {"ada"}}
    one.sync.send()
    assert look() == {}  # what we have sent is no news
    for who in ("ada", "ben"):
        one.book.groups.put(LAB, who, "one", "lead", "together")
    look()
    one.graded("ada", 40.0, 1)
    assert look() == {LAB: {"ada", "ben"}}
    one.book.extend(LAB, "cyd", NOON + timedelta(days=90), "lead", "ill")
    assert look() == {LAB: {"cyd"}}
    one.sync.send()
    one.at.fault = first("score", "500")
    one.book.override(LAB, "cyd", 5.0, "lead", "oral exam")
    look()
    one.sync.send()
    assert look() == {}
    one.clock.now += timedelta(seconds=6)  # the time to try again has come
    assert look() == {LAB: {"cyd"}}
    one.book.teaching.set_release(LAB, None, "lead", "")
    assert look() == {LAB: None}
    one.book.lti.forget(1, "lead")
    assert look() is None
