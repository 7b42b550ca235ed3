"""Launches, links, members and grades with a platform that is made of `lti1p3platform`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import pytest

from grader.cli import lti_sync
from grader.gradebook.lti import NewRegistration
from grader.portal.lti.sync import sync_for
from tests.portal.lti.library import (
    CLIENT,
    DEPLOYMENT,
    Platform,
    begun,
    hidden,
    library_platform,
)
from tests.portal.made import LAB, Reply, Served, Visit, grade_json, source


@pytest.fixture
def platform(course: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    course.site.url = f"http://127.0.0.1:{course.port}"
    with library_platform(course.site.url) as made:
        at = made.address
        new = NewRegistration(
            at, CLIENT, "A platform", f"{at}/auth", f"{at}/token", f"{at}/jwks"
        )  # fmt: skip
        course.book.lti.deploy(course.book.lti.register(new, "test").id, DEPLOYMENT, "test")
        yield made


def launch(course: Served, platform: Platform, user: str, hint: str) -> tuple[Visit, Reply]:
    """Launch as a browser does, from the platform's page to the portal's answer."""
    visit, parts = Visit(course.port), urlsplit(begun(platform, user, hint))
    led = visit.get(f"{parts.path}?{parts.query}", Sec_Fetch_Dest="document")
    assert led.code == 303 and led.to.startswith(f"{platform.address}/auth?"), led.text
    with urlopen(led.to) as answer:
        form = json.load(answer)
    assert form.pop("launch_url") == f"{course.site.url}/lti/launch"
    return visit, send(visit, "/lti/launch", form)


def send(visit: Visit, path: str, fields: dict[str, str]) -> Reply:
    kind = {"Content_Type": "application/x-www-form-urlencoded", "Sec_Fetch_Dest": "document"}
    return visit.ask("POST", path, urlencode(fields).encode(), **kind)


def grade(course: Served, who: str, points: float) -> None:
    now = course.site.now()
    stored = course.book.submit(LAB, who, "a.cu", source(), received=now)
    claim = course.book.claim(stored.id, "key", "test", 60)
    assert claim is not None and course.book.accept(claim, grade_json(LAB, points))


def test_a_student_launches_and_the_grade_comes_back(course: Served, platform: Platform) -> None:
    visit, reply = launch(course, platform, "ada", LAB)
    assert (reply.code, reply.to) == (303, f"/labs/{LAB}"), reply.text
    assert visit.get(reply.to).code == 200
    grade(course, "ada", 70.0)
    sync = sync_for(course.book, course.site.course, course.site.labs, print)
    assert sync.send().sent == 1
    assert [(key, one["scoreGiven"]) for key, one in platform.scores.items()] == [
        (("1", "u-ada"), 70.0)
    ]
    course.book.override(LAB, "ada", 75.0, "lead", "look again")
    assert sync.send().sent == 1
    assert platform.scores["1", "u-ada"]["scoreGiven"] == 75.0
    assert len(platform.items) == 1 and sync.send().sent == 0


def test_a_line_item_is_found_on_a_later_page(course: Served, platform: Platform) -> None:
    launch(course, platform, "ada", LAB)
    grade(course, "ada", 70.0)
    first = sync_for(course.book, course.site.course, course.site.labs, print)
    assert first.send().sent == 1
    made = platform.items.pop("1")
    platform.items |= {str(n): {"id": f"x{n}", "label": "x"} for n in range(2, 9)}
    platform.items["1"] = made
    with course.book.database.writing() as connection:  # what a restored backup does not know
        connection.exec_driver_sql("UPDATE lti_item SET address = ''")
    course.book.override(LAB, "ada", 71.0, "lead", "look again")
    assert sync_for(course.book, course.site.course, course.site.labs, print).send().sent == 1
    assert len(platform.items) == 8 and platform.scores["1", "u-ada"]["scoreGiven"] == 71.0


def test_an_instructor_chooses_labs(course: Served, platform: Platform) -> None:
    visit, page = launch(course, platform, "lead", "deep")
    assert page.code == 200, page.text
    back = send(visit, "/lti/choose", {"key": hidden(page.text, "key"), "lab": LAB})
    assert back.code == 200, back.text
    form = urlencode({"JWT": hidden(back.text, "JWT")}).encode()
    with urlopen(f"{platform.address}/links", form) as answer:
        assert answer.status == 200
    assert [one["custom"] for one in platform.links] == [{"lab": LAB}]


def test_members_are_read_over_all_pages(
    course: Served, platform: Platform, tmp_path: Path
) -> None:
    launch(course, platform, "ada", LAB)
    out = tmp_path / "members.json"
    lti_sync.members(course=course.site.course.folder, json=str(out), connect=True)
    found: Any = json.loads(out.read_text())
    assert [row["student"] for row in found["connected"]] == ["ada", "ben"]
    assert found["missing_there"] == ["cyd"]
