"""The members of a platform's course beside the roster; scores go where people are members."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.cli import lti_sync
from grader.faults import LabFault, MachineFault
from grader.gradebook.ledger import Student
from grader.portal.lti.members import Member, compare, roster_csv
from tests.portal.lti.platform import SCOPES
from tests.portal.lti.synced import Synced, synced
from tests.portal.made import LAB

ROSTER = (
    Student("ada", "Ada", "ada@example.org"), Student("ben", "Ben", "ben@example.org"),
    Student("eve", "Eve", "same@example.org"), Student("fay", "Fay", "same@example.org"),
)  # fmt: skip


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Synced]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with synced(tmp_path) as found:
        yield found


def test_each_member_is_in_one_part() -> None:
    members = [
        Member("1", "BEN@example.org".lower()), Member("2"), Member("3", "same@example.org"),
        Member("4", "zoe@example.org"), Member("5", "ada@example.org"),
    ]  # fmt: skip
    found = compare(members, ROSTER, {"2": "ada"})
    assert [(one.sub, who) for one, who in found.connected] == [("2", "ada")]
    assert [(one.sub, who) for one, who in found.matching] == [("1", "ben")]
    assert [one.sub for one in found.missing_here] == ["3", "4", "5"]
    assert found.missing_there == ("eve", "fay")


def test_a_roster_file_has_no_formulas() -> None:
    text = roster_csv([Member("1", "a@b.c", "=cmd()", ""), Member("2", "", "Bo", "x9")])
    assert text.splitlines() == ["id,name,email", "a@b.c,'=cmd(),a@b.c", "x9,Bo,"]


def show(one: Synced, out: Path, **options: Any) -> Any:
    """What `grader portal lti members` says."""
    lti_sync.members(course=one.folder, json=str(out), **options)
    return json.loads(out.read_text())


def test_the_command_connects_by_address_only_when_asked(one: Synced, tmp_path: Path) -> None:
    number = next(p.id for p in one.book.lti.people() if p.sub == "sub-ben")
    one.book.lti.forget(number, "test")
    one.at.members["sub-x"] = {
        "user_id": "sub-x", "roles": ["Learner"], "email": "x@example.org", "name": "X\x1b[1m"
    }  # fmt: skip
    one.at.members["sub-t"] = {"user_id": "sub-t", "roles": ["Instructor"]}
    one.at.members["sub-cyd"]["status"] = "Inactive"
    found = show(one, tmp_path / "a.json")
    assert [row["student"] for row in found["matching"]] == ["ben"]
    assert [(row["sub"], row["name"]) for row in found["missing_here"]] == [("sub-x", "X [1m")]
    assert found["missing_there"] == ["cyd"]
    found = show(one, tmp_path / "b.json", connect=True, write_csv=tmp_path / "more.csv")
    assert [row["student"] for row in found["connected"]] == ["ada", "ben"]
    assert (tmp_path / "more.csv").read_text().splitlines()[
        1
    ] == "x@example.org,X [1m,x@example.org"
    assert len(one.book.students()) == 3
    with pytest.raises(LabFault, match="cannot write"):
        show(one, tmp_path / "c.json", write_csv=tmp_path / "more.csv")


def test_a_platform_without_members_is_a_fault_that_says_so(one: Synced, tmp_path: Path) -> None:
    one.at.fault = lambda kind: "500" if kind == "members" else ""
    with pytest.raises(MachineFault, match="did not list its members: 500 an error"):
        show(one, tmp_path / "a.json")
    with pytest.raises(LabFault, match="no platform lists"):
        show(one, tmp_path / "a.json", lab="other")


def test_with_two_courses_scores_go_where_people_are(one: Synced) -> None:
    lti = one.book.lti
    deployed = lti.deployments(one.registration.id)[0]
    other = lti.new_link(deployed.id, "8", "link-2", "The other course").id
    lti.point(other, LAB, "test")
    address = f"{one.at.address}/course/7"
    lti.note_services(other, "", f"{address}/items", f"{address}/members?nobody", SCOPES)
    only = {"sub-ada": one.at.members["sub-ada"]}
    everybody, listed = one.at.members, one.at.listed
    one.at.listed = lambda rows, at: listed(  # type: ignore[method-assign]
        list(only.values()) if "nobody" in at and "members" in at else rows, at
    )
    one.graded("ada", 70.0)
    one.graded("ben", 30.0)
    one.settle()
    assert len(everybody) == 3
    assert one.at.shown(0) == {"sub-ada": (70.0, 100.0), "sub-ben": (30.0, 100.0)}
    assert one.at.shown(1) == {"sub-ada": (70.0, 100.0)}
