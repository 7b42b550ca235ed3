"""`grader portal lti`: platforms are registered, keys change, and each change is on record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.course import read_course
from grader.portal.lti.keys import FILE
from tests.command import CommandResult, grader
from tests.portal.made import write_course

PLATFORM = {
    "--issuer": "https://lms.example.org", "--client-id": "7",
    "--auth-url": "https://lms.example.org/auth", "--token-url": "https://lms.example.org/token",
    "--keyset-url": "https://lms.example.org/keys",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_course(tmp_path)
    return tmp_path


@pytest.fixture
def book(folder: Path) -> Iterator[Gradebook]:
    one = open_gradebook(read_course(folder).gradebook)
    yield one
    one.close()


def lti(folder: Path, *words: str) -> CommandResult:
    return grader("portal", "lti", *words, "--course", folder)


def added(folder: Path, *words: str, **changes: str) -> CommandResult:
    given = PLATFORM | {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
    return lti(folder, "add", *(word for pair in given.items() for word in pair), *words)


def test_a_platform_is_added_and_removed(folder: Path, book: Gradebook) -> None:
    said = added(folder, "--deployment", "1", "--deployment", "2", name="Campus")
    assert said.code == 0 and "/lti/login" in said.err and "/lti/keys" in said.err
    (one,) = book.lti.registrations()
    assert (one.name, one.jwks_url) == ("Campus", PLATFORM["--keyset-url"])
    assert [each.deployment for each in book.lti.deployments(one.id)] == ["1", "2"]
    assert lti(folder, "deploy", "1", "2", "--remove").code == 0
    listed = json.loads(lti(folder, "list", "--json", "-").out)
    assert listed["platforms"][0]["deployments"] == ["1"]
    assert lti(folder, "remove", "1").code == 0
    assert book.lti.clients_of(one.issuer) == ()
    actions = [event.action for event in book.audit()]
    assert actions.count("lti registration") == 2 and actions.count("lti deployment") == 3
    assert book.verify().problems == ()


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"auth_url": "http://lms.example.org/auth"}, "no address with HTTPS"),
        ({"token_url": "ftp://lms.example.org"}, "no address with HTTPS"),
        ({"keyset_url": "https://lms.example.org;x/keys"}, "no address with HTTPS"),
        ({"issuer": ""}, "`issuer` is empty"),
        ({"client_id": "a\nb"}, "no line"),
        ({"origin": "https://lms.example.org/path"}, "no origin"),
        ({"origin": "*"}, "no origin"),
    ],
)
def test_what_cannot_be_a_platform_is_refused(
    folder: Path, book: Gradebook, changes: dict[str, str], shown: str
) -> None:
    said = added(folder, **changes)
    assert said.code == 2 and shown in said.err
    assert book.lti.registrations() == ()


@pytest.mark.parametrize(
    "words",
    [("remove", "9"), ("deploy", "9", "x"), ("people", "--remove", "9"), ("deploy", "x", "y")],
)
def test_what_does_not_exist_is_reported(folder: Path, words: tuple[str, ...]) -> None:
    assert lti(folder, *words).code == 2


def test_keys_rotate_without_showing_secrets(folder: Path, book: Gradebook) -> None:
    first = lti(folder, "keys").out
    said = lti(folder, "rotate")
    after = lti(folder, "keys").out.splitlines()
    assert len(after) == 2 and after[1].startswith(first.split()[0])
    assert after[0].split()[0] in said.err
    secret = json.loads((folder / FILE).read_text())[0]["key"]["d"]
    whole = (folder / "course.db").read_bytes()
    assert secret not in said.out + said.err + "".join(after) and secret.encode() not in whole
    assert [event.action for event in book.audit()] == ["lti key"]


def test_an_invitation_is_an_address(folder: Path, book: Gradebook) -> None:
    out = lti(folder, "invite").out.strip()
    secret = out.rpartition("/")[2]
    assert "/lti/register/" in out and book.lti.invited(secret)
    assert secret.encode() not in (folder / "course.db").read_bytes()


def test_accounts_are_listed_and_disconnected(folder: Path, book: Gradebook) -> None:
    added(folder)
    one = book.lti.know(1, "user-1", "student:ada", "test")
    assert lti(folder, "people").out == f"{one.id}  platform 1  user-1  student:ada\n"
    assert lti(folder, "people", "--remove", str(one.id)).code == 0
    assert (lti(folder, "people").out, book.lti.who(1, "user-1")) == ("", "")
