"""The platforms of a gradebook: who gets where is decided once, and is on record."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from grader.faults import LabFault, MachineFault
from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.database import connect
from grader.gradebook.lti import INVITE_LIFE, MAX_ORIGINS, Lti, NewRegistration

PLATFORM = NewRegistration(
    "https://lms.example.org", "client-1", "Example LMS", "https://lms.example.org/auth",
    "https://lms.example.org/token", "https://lms.example.org/keys",
)  # fmt: skip
NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)


class Clock:
    now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def book(url: str, clock: Clock) -> Iterator[Gradebook]:
    one = open_gradebook(url, clock=clock)
    yield one
    assert one.verify().problems == ()
    one.close()


@pytest.fixture
def lti(book: Gradebook) -> Lti:
    return book.lti


def test_an_issuer_may_have_several_clients(lti: Lti) -> None:
    first = lti.register(PLATFORM, "lead")
    second = lti.register(replace(PLATFORM, client_id="client-2", origins=("https://b",)), "lead")
    assert lti.clients_of(PLATFORM.issuer) == (first, second)
    assert (first.active, second.origins) == (True, ("https://b",))
    lti.remove(first.id, "lead")
    assert lti.clients_of(PLATFORM.issuer) == (second,)
    assert lti.register(PLATFORM, "lead") == first, "the same client is switched on again"
    assert lti.registration(first.id) == first and lti.registration(99) is None
    assert lti.clients_of("https://\0") == ()
    with pytest.raises(LabFault):
        lti.remove(99, "lead")


def test_equal_decisions_are_recorded_once(lti: Lti, book: Gradebook) -> None:
    one = lti.register(PLATFORM, "lead")
    lti.register(PLATFORM, "other")
    lti.deploy(one.id, "1", "lead")
    lti.deploy(one.id, "1", "lead")
    actions = [event.action for event in book.audit()]
    assert actions == ["lti registration", "lti deployment"]


def test_origins_are_limited(lti: Lti) -> None:
    one = lti.register(PLATFORM, "lead")
    for number in range(2 * MAX_ORIGINS):
        lti.add_origin(one.id, f"https://{number}.example.org")
        lti.add_origin(one.id, "https://0.example.org")
    found = lti.registration(one.id)
    assert found is not None and len(found.origins) == MAX_ORIGINS


def test_a_deployment_that_is_removed_is_not_listed(lti: Lti) -> None:
    one = lti.register(PLATFORM, "lead")
    first, second = (lti.deploy(one.id, name, "lead") for name in ("1", "2"))
    lti.remove_deployment(first.id, "lead")
    assert lti.deployments(one.id) == (second,)
    with pytest.raises(LabFault):
        lti.remove_deployment(first.id, "lead")


def test_a_nonce_is_used_once(lti: Lti, clock: Clock, url: str, book: Gradebook) -> None:
    first, other = lti.register(PLATFORM, "x"), lti.register(replace(PLATFORM, client_id="2"), "x")
    until = NOON + timedelta(minutes=10)
    assert lti.use_nonce(first.id, "n", until)
    assert not lti.use_nonce(first.id, "n", until)
    again = open_gradebook(url, clock=clock)
    assert not again.lti.use_nonce(first.id, "n", until), "of another process"
    again.close()
    assert lti.use_nonce(other.id, "n", until) and lti.use_nonce(first.id, "\ud800", until)
    clock.now = until + timedelta(seconds=1)
    assert lti.use_nonce(first.id, "n", until + timedelta(minutes=10)), "it has expired"


def at_once(*calls: Callable[[], object]) -> list[object]:
    """What each call returns, or the fault it raises, when all run at the same moment."""
    found: list[object] = [None] * len(calls)
    together = threading.Barrier(len(calls))

    def one(number: int) -> None:
        together.wait()
        try:
            found[number] = calls[number]()
        except LabFault as fault:
            found[number] = fault

    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_of_many_at_once_one_uses_a_nonce(lti: Lti) -> None:
    one, until = lti.register(PLATFORM, "x"), NOON + timedelta(minutes=10)
    found = at_once(*[lambda: lti.use_nonce(one.id, "n", until)] * 6)
    assert sorted(found) == [False] * 5 + [True]  # type: ignore[type-var]


def test_a_link_leads_to_the_lab_that_was_chosen(lti: Lti) -> None:
    one = lti.register(PLATFORM, "x")
    place = lti.deploy(one.id, "1", "x")
    made = lti.new_link(place.id, "course", "r1", "Matmul")
    assert (made.lab, made.title, made.scopes) == ("", "Matmul", ())
    assert lti.new_link(place.id, "course", "r1", "another title") == made
    assert lti.new_link(place.id, "other course", "r1", "Matmul").id != made.id
    assert lti.point(made.id, "tiled-matmul", "lead").lab == "tiled-matmul"
    lti.note_services(made.id, "https://i", "https://is", "https://m", ["b", "a", "b"])
    lti.note_services(made.id, "", "", "", ())
    found = lti.link(made.id)
    assert found is not None and found.scopes == ("a", "b")
    assert (found.line_item, found.line_items) == ("https://i", "https://is")
    assert lti.links("tiled-matmul") == (found,) and len(lti.links()) == 2
    with pytest.raises(LabFault):
        lti.point(99, "tiled-matmul", "lead")


def test_an_account_of_a_platform_is_one_person(lti: Lti) -> None:
    first, other = lti.register(PLATFORM, "x"), lti.register(replace(PLATFORM, client_id="2"), "x")
    made = lti.know(first.id, "u1", "student:ada", "grader")
    assert lti.know(first.id, "u1", "student:ada", "grader") == made
    with pytest.raises(LabFault, match="is another person"):
        lti.know(first.id, "u1", "student:ben", "grader")
    with pytest.raises(LabFault, match="another account"):
        lti.know(first.id, "u2", "student:ada", "grader")
    assert lti.know(other.id, "u1", "student:ben", "grader").who == "student:ben"
    assert (lti.who(first.id, "u1"), lti.who(first.id, "u2")) == ("student:ada", "")
    lti.forget(made.id, "lead")
    assert lti.who(first.id, "u1") == "" and lti.people(first.id) == ()
    assert lti.know(first.id, "u2", "student:ada", "lead").sub == "u2"
    assert lti.know(first.id, "u1", "student:cyd", "lead").id == made.id
    with pytest.raises(LabFault):
        lti.forget(99, "lead")


def test_of_two_accounts_at_once_one_becomes_the_person(lti: Lti) -> None:
    one = lti.register(PLATFORM, "x")
    found = at_once(*[lambda k=k: lti.know(one.id, f"u{k}", "student:ada", "g") for k in range(4)])
    assert sum(isinstance(each, LabFault) for each in found) == 3
    assert len(lti.people(one.id)) == 1


def test_an_invitation_works_once_and_in_its_time(lti: Lti, clock: Clock) -> None:
    secret, late = lti.invite("lead"), lti.invite("lead")
    assert lti.invited(secret) == "lead" and lti.invited("x") == ""
    found = at_once(*[lambda: lti.use_invite(secret)] * 4)
    assert sorted(found) == ["", "", "", "lead"]  # type: ignore[type-var]
    assert lti.use_invite("\ud800") == ""
    clock.now += INVITE_LIFE
    assert (lti.invited(late), lti.use_invite(late)) == ("", "")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE lti_registration SET jwks_url = 'https://evil.example'",
        "UPDATE lti_deployment SET active = NOT active",
        "UPDATE lti_link SET lab = 'another'",
        "UPDATE lti_person SET who = 'staff:1'",
    ],
)
def test_a_change_behind_the_grader_is_detected(url: str, statement: str) -> None:
    book = open_gradebook(url)
    one = book.lti.register(PLATFORM, "x")
    place = book.lti.deploy(one.id, "1", "x")
    book.lti.new_link(place.id, "c", "r", "t")
    book.lti.know(one.id, "u1", "student:ada", "x")
    assert book.verify().problems == ()
    database = connect(url)
    with database.writing() as connection:
        connection.execute(text(statement))
    problems = book.verify().problems
    assert len(problems) == 1 and "differs from its record" in problems[0]
    table = statement.split()[1]
    with pytest.raises(MachineFault, match="stay as they are"), database.writing() as connection:
        connection.execute(text(f"DELETE FROM {table}"))
    database.close()
    book.close()
