"""Requests to a platform: tokens are kept and renewed, limits hold, errors have their kind."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from joserfc.jwk import RSAKey

from grader.portal.lti import client as module
from grader.portal.lti.client import Access, Client, PlatformFault
from grader.portal.lti.scores import ITEMS_KIND, ITEMS_SCOPE, RESULT_SCOPE
from tests.portal.lti.platform import CLIENT, Platform, platform
from tests.portal.provider import signing_key


class Own:
    """A platform, and a client of it with a clock of its own."""

    def __init__(self, at: Platform, key: RSAKey) -> None:
        self.at, self.ahead = at, 0.0
        self.client = Client(Access(CLIENT, at.token_url, "", key), self.time)

    def time(self) -> float:
        return datetime.now(UTC).timestamp() + self.ahead

    def read(self) -> list[object]:
        return list(self.client.pages(self.at.items_url, ITEMS_SCOPE, ITEMS_KIND))


@pytest.fixture(scope="module")
def key() -> RSAKey:
    made = signing_key("course", use="sig", alg="RS256")
    made.ensure_kid()
    return made


@pytest.fixture
def own(key: RSAKey, monkeypatch: pytest.MonkeyPatch) -> Iterator[Own]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with platform(lambda: key) as at:
        yield Own(at, key)


def test_a_token_is_kept_for_its_scope_until_shortly_before_its_end(own: Own) -> None:
    own.read()
    own.read()
    assert own.at.asked.count("token") == 1
    with pytest.raises(PlatformFault):
        own.client.get(f"{own.at.address}/course/7/items/9/results", RESULT_SCOPE, "x")
    assert own.at.asked.count("token") == 2
    assert [sorted(scopes) for scopes, _ in own.at.tokens.values()] == [
        [ITEMS_SCOPE], [RESULT_SCOPE]
    ]  # fmt: skip
    own.ahead = 3600.0 - module.EARLY_SECONDS - 1
    own.read()
    assert own.at.asked.count("token") == 2
    own.ahead += 10
    with pytest.raises(PlatformFault, match="no access token"):
        own.read()  # its assertion is from the future: this platform has its own clock
    assert own.at.asked.count("token") == 3


def test_a_token_that_the_platform_forgot_is_asked_for_again_once(own: Own) -> None:
    own.read()
    own.at.tokens.clear()
    assert own.read() == [[]]
    assert own.at.asked.count("token") == 2
    own.at.fault = lambda kind: "401" if kind == "items" else ""
    with pytest.raises(PlatformFault) as caught:
        own.read()
    assert (caught.value.status, caught.value.temporary) == (401, False)
    assert own.at.asked.count("token") == 3


@pytest.mark.parametrize(
    ("fault", "temporary", "status", "wait"),
    [
        ("500", True, 500, None), ("503", True, 503, None), ("429", True, 429, 30.0),
        ("drop", True, 0, None), ("half after", True, 0, None), ("junk after", True, 0, None),
        ("huge", True, 0, None), ("302", False, 302, None), ("404 page", False, 404, None),
    ],
)  # fmt: skip
def test_errors_have_their_kind(
    fault: str, temporary: bool, status: int, wait: float | None, own: Own
) -> None:
    own.at.fault = lambda kind: fault if kind == "items" else ""
    with pytest.raises(PlatformFault) as caught:
        own.read()
    found = caught.value
    assert (found.temporary, found.status, found.wait, found.whole) == (
        temporary, status, wait, False
    )  # fmt: skip
    assert "<" not in found.what and "\n" not in found.what


def test_waits_are_numbers_or_dates_and_have_a_limit() -> None:
    later = datetime.now(UTC) + timedelta(minutes=10)
    wait = module._wait(format_datetime(later, usegmt=True))
    assert wait is not None and 590 < wait <= 600
    assert module._wait("99999999") == module.LONGEST_WAIT
    assert [module._wait(text) for text in ("", "soon", "-5", "1e9")] == [None] * 4


def test_words_of_a_platform_have_no_token_and_no_marks() -> None:
    text = (
        b"<p>bad \x1b[1m token abc.def</p> Bearer s3cret eyJhbGciOiJSUzI1NiIs.eyJpc3MiOiJ3YXJwZ3.x"
    )
    assert module._words(text, ("abc.def",)) == "bad [1m token … Bearer … …"
    assert len(module._words(b"x " * 1000, ())) == module.MAX_WORDS


def test_next_links_are_found_in_any_form() -> None:
    for link in (
        '<http://a/2>; rel="next"', "<http://a/1>; rel=first, <http://a/2>; rel=next",
        '<http://a/2>; title="x"; REL="prev next"',
    ):  # fmt: skip
        assert module._next_of(link) == "http://a/2"
    assert module._next_of('<http://a/1>; rel="nextish", <http://a/2>; rel="prev"') == ""
