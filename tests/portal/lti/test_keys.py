"""The course's own keys: made once, rotated, and readable by their owner only."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from grader.faults import LabFault, MachineFault
from grader.portal.lti.keys import AHEAD, FILE, KEPT, Keys

PRIVATE = {"d", "p", "q", "dp", "dq", "qi", "k"}


class Clock:
    now = datetime(2027, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def ids(keys: Keys) -> list[str]:
    return [one["kid"] for one in keys.published()["keys"]]


def test_the_first_use_makes_a_key_that_stays(tmp_path: Path) -> None:
    made = Keys(tmp_path).signing()
    assert Keys(tmp_path).signing().id == made.id == ids(Keys(tmp_path))[0]
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_a_file_that_did_not_change_is_not_read_into_keys_again(tmp_path: Path) -> None:
    first = Keys(tmp_path).signing()
    assert Keys(tmp_path).signing().key is first.key
    second = Keys(tmp_path).rotate(revoke=True)
    assert Keys(tmp_path).signing().id == second.id != first.id


def test_processes_that_start_together_have_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: Keys(tmp_path).signing().id, range(6)))
    assert len({*found}) == 1 and [path.name for path in tmp_path.iterdir()] == [FILE]


def test_only_public_parts_are_published(tmp_path: Path) -> None:
    (one,) = Keys(tmp_path).published()["keys"]
    assert not PRIVATE & set(one)
    assert (one["alg"], one["use"], one["kty"]) == ("RS256", "sig", "RSA")
    assert PRIVATE & set(json.loads((tmp_path / FILE).read_text())[0]["key"]), "the twin"


def test_a_new_key_is_published_before_it_signs_and_the_old_one_after(tmp_path: Path) -> None:
    clock = Clock()
    keys = Keys(tmp_path, clock)
    first = keys.signing().id
    second = keys.rotate().id
    clock.now += AHEAD - timedelta(seconds=1)
    assert (keys.signing().id, ids(keys)) == (first, [second, first])
    clock.now += timedelta(seconds=1)
    assert (keys.signing().id, ids(keys)) == (second, [second, first])
    clock.now += KEPT - timedelta(seconds=1)
    third = keys.rotate().id
    assert (keys.signing().id, ids(keys)) == (second, [third, second, first])
    clock.now += timedelta(seconds=2)
    assert ids(keys) == [third, second], "the time of a key counts from when the next one signed"


def test_two_new_keys_take_their_turns(tmp_path: Path) -> None:
    clock = Clock()
    keys = Keys(tmp_path, clock)
    turns = [keys.signing().id, keys.rotate().id]
    clock.now += AHEAD / 2
    turns.append(keys.rotate().id)
    signed = []
    for _ in turns:
        signed.append(keys.signing().id)
        clock.now += AHEAD / 2
    assert signed == turns and ids(keys) == turns[::-1]


def test_a_revoked_key_is_withdrawn_at_once(tmp_path: Path) -> None:
    keys = Keys(tmp_path, Clock())
    old = [keys.signing().id, keys.rotate().id]
    new = keys.rotate(revoke=True).id
    assert (keys.signing().id, ids(keys)) == (new, [new])
    assert all(one not in (tmp_path / FILE).read_text() for one in old)


def test_a_file_without_the_time_of_signing_is_read(tmp_path: Path) -> None:
    """As it was written before new keys were published ahead."""
    keys = Keys(tmp_path)
    made = keys.signing().id
    written = json.loads((tmp_path / FILE).read_text())
    del written[0]["signs"]
    (tmp_path / FILE).write_text(json.dumps(written))
    assert keys.signing().id == made


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    keys.signing()
    (tmp_path / FILE).chmod(0o640)
    with pytest.raises(LabFault, match="other users may read"):
        keys.signing()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "[1]", '[{"key": {"kty": "RSA"}}]', "\x00"])
def test_a_damaged_file_is_refused_without_its_text(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    (tmp_path / FILE).chmod(0o600)
    with pytest.raises(LabFault, match="LTI key"):
        Keys(tmp_path).signing()
    assert (tmp_path / FILE).read_text() == text


def test_a_folder_that_cannot_be_written_is_a_fault_of_the_machine(tmp_path: Path) -> None:
    with pytest.raises(MachineFault):
        Keys(tmp_path / "missing").signing()
