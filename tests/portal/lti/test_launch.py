"""Launches from beginning to end: what binds them to a browser, to one use, and to the roster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import OctKey

from grader.gradebook.book import open_gradebook
from grader.gradebook.lti import NewRegistration
from grader.portal.lti import flow
from grader.portal.lti.messages import GRADES
from grader.portal.lti.platform_keys import PlatformKeys
from grader.portal.lti.refusals import Refused
from grader.portal.openid import ProviderFault
from grader.portal.requests import COOKIE, FRAME_COOKIE
from tests.portal.lti.guide import put
from tests.portal.lti.launching import (
    CLIENT,
    CONTEXT,
    ROLE,
    Learner,
    Platform,
    hidden,
    launching,
    next_of,
    reason_of,
)
from tests.portal.made import LAB, Reply, Served, Visit, served
from tests.portal.provider import signing_key


@pytest.fixture
def platform(course: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with launching() as one:
        one.registered(course)
        yield one


def cookies(reply: Reply) -> str:
    return "\n".join(reply.headers.get_all("Set-Cookie", []))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_launch_begins_with_either_method(
    method: str, course: Served, platform: Platform
) -> None:
    visit = Learner(course.port, platform)
    hint = 'a "hint" & more'
    begun = visit.begin(course.site.url, method=method, lti_message_hint=hint)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(begun.to).query).items()}
    assert begun.code == 303 and asked["lti_message_hint"] == hint
    assert asked["redirect_uri"] == f"{course.site.url}/lti/launch"
    assert len(asked["nonce"]) > 30
    for mark in ("HttpOnly", "Secure", "SameSite=None", "Partitioned", "Path=/lti"):
        assert mark in cookies(begun)
    assert visit.send("/lti/launch", platform.answer_of(begun.to)).to == f"/labs/{LAB}"


BEGINNINGS: dict[str, tuple[dict[str, str], str]] = {
    "no issuer": ({"iss": ""}, "issuer-unknown"),
    "unknown issuer": ({"iss": "https://evil.example"}, "issuer-unknown"),
    "an issuer with a zero byte": ({"iss": "https://\0"}, "issuer-unknown"),
    "unknown client": ({"client_id": "another"}, "client-unknown"),
    "no login_hint": ({"login_hint": ""}, "login-hint"),
    "no target": ({"target_link_uri": ""}, "target-unknown"),
    "a target elsewhere": ({"target_link_uri": "https://evil.example/"}, "target-unknown"),
    "a target that begins alike": ({"target_link_uri": "http://127.0.0.1.evil/"}, "target-unknown"),
    "unknown deployment": ({"lti_deployment_id": "another"}, "deployment-unknown"),
    "a deployment that is no text": ({"lti_deployment_id": "<b>\ud800"}, "deployment-unknown"),
}


@pytest.mark.parametrize("row", BEGINNINGS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_wrong_beginning_is_refused(
    row: str, method: str, course: Served, platform: Platform
) -> None:
    given, reason = BEGINNINGS[row]
    visit = Learner(course.port, platform, "iframe")
    reply = visit.begin(course.site.url, user=given.get("login_hint", "ada"), method=method,
                        **{k: v for k, v in given.items() if k != "login_hint"})  # fmt: skip
    assert (reply.code, reason_of(reply)) == (400, reason)
    assert "<b>" not in reply.text and "Set-Cookie" not in reply.headers
    assert "frame-ancestors *" in reply.headers["Content-Security-Policy"], "readable in a frame"


def test_of_several_clients_the_platform_names_its_own(course: Served, platform: Platform) -> None:
    own = course.book.lti.clients_of(platform.url)[0]
    other = replace(own, client_id="tool-8", name="Other")
    values = {k: v for k, v in vars(other).items() if k not in ("id", "active")}
    course.book.lti.register(NewRegistration(**values), "test")
    visit = Learner(course.port, platform)
    assert reason_of(visit.begin(course.site.url, client_id="")) == "client-ambiguous"
    assert visit.launch(course.site.url).code == 303
    begun = visit.begin(course.site.url, client_id="tool-8")
    answer = platform.answer_of(begun.to.replace("tool-8", CLIENT))
    assert reason_of(visit.send("/lti/launch", answer)) == "audience"
    course.book.lti.remove(own.id, "test")
    assert reason_of(visit.begin(course.site.url)) == "client-unknown"


def test_a_launch_works_in_the_browser_that_began_it(course: Served, platform: Platform) -> None:
    attacker, victim = Learner(course.port, platform), Learner(course.port, platform)
    mine = platform.answer_of(attacker.begin(course.site.url, "ben").to)
    victim.begin(course.site.url)
    for fields, reason in (
        (mine, "state-mismatch"),
        (mine | {"state": mine["state"][:-3] + "xyz"}, "state-unknown"),
        (mine | {"state": "x"}, "state-unknown"),
        (mine | {"state": ""}, "state-missing"),
        ({"state": mine["state"], "error": "access_denied"}, "platform-error"),
    ):
        assert reason_of(victim.send("/lti/launch", fields)) == reason
    proofs = attacker.cookies.values()
    assert reason_of(
        victim.send("/lti/proof", mine | {"proof": [*proofs][0]}, Origin="https://evil.example")
    ) == "state-mismatch"  # fmt: skip
    assert reason_of(victim.send("/lti/proof", mine | {"proof": [*proofs][0]})) == "state-mismatch"
    assert victim.get("/").code == 303
    assert attacker.send("/lti/launch", mine).code == 303, "the right browser still may"


def test_a_launch_is_used_once_also_after_a_restart(
    course: Served, platform: Platform, tmp_path: Path
) -> None:
    visit = Learner(course.port, platform)
    answer = platform.answer_of(visit.begin(course.site.url).to)
    kept = visit.cookie
    assert visit.send("/lti/launch", answer).code == 303
    visit.cookie = kept
    assert reason_of(visit.send("/lti/launch", answer)) == "nonce-replayed"
    course.site.book = open_gradebook(course.site.course.gradebook)
    visit.cookie = kept
    assert reason_of(visit.send("/lti/launch", answer)) == "nonce-replayed"
    course.site.book.close()
    course.site.book = course.book


def test_a_launch_ends_after_its_time(
    course: Served, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "FLOW_SECONDS", -2)
    visit = Learner(course.port, platform)
    answer = platform.answer_of(visit.begin(course.site.url).to)
    assert reason_of(visit.send("/lti/launch", answer)) == "state-unknown"


def test_sealed_texts_are_of_one_kind_and_course() -> None:
    one, other = flow.Sealed(b"a" * 32), flow.Sealed(b"b" * 32)
    text = one.seal("state", {"x": 1}, 60)
    assert one.opened("state", text) == {"x": 1}
    assert (one.opened("enter", text), other.opened("state", text)) == (None, None)
    assert one.opened("state", one.seal("state", {}, -60)) is None
    for wrong in ("", "a.b.c", text + "x", "\ud800", "é"):
        assert one.opened("state", wrong) is None


def test_in_a_frame_the_session_works_where_the_platform_shows_it(
    course: Served, platform: Platform
) -> None:
    visit = Learner(course.port, platform, "iframe")
    reply = visit.launch(course.site.url)
    assert reply.code == 200 and f'data-to="/labs/{LAB}"' in reply.text
    assert set(visit.cookies) == {FRAME_COOKIE}
    for mark in ("HttpOnly", "Secure", "SameSite=None", "Partitioned"):
        assert mark in cookies(reply)
    course.site.sections_seconds = 0.0
    page = visit.get(f"/labs/{LAB}")
    policy = page.headers["Content-Security-Policy"]
    assert page.code == 200 and f"frame-ancestors {platform.url};" in policy + ";"
    assert "*" not in policy
    assert visit.get("/lti/kept").json == {"kept": True}
    assert visit.submit(b"__global__ void f() {}").code in (303, 422), "forms work there"
    assert visit.post("/account/tokens", form="x", name="x", scope="read").code == 403
    evil = visit.ask("POST", "/account/tokens", b"", Origin="https://evil.example")
    assert evil.code == 403
    assert visit.post("/sign-out").code == 303 and FRAME_COOKIE not in visit.cookies
    ended = visit.get("/")
    assert (ended.code, reason_of(ended)) == (403, "session-ended")
    usual = course.signed_in("ada@example.org").get("/")
    assert "frame-ancestors 'none'" in usual.headers["Content-Security-Policy"]


def test_where_a_frame_keeps_no_session_a_window_does_once(
    course: Served, platform: Platform
) -> None:
    frame, window = Learner(course.port, platform, "iframe"), Learner(course.port, platform)
    page = frame.launch(course.site.url)
    frame.cookie = ""
    assert frame.get("/lti/kept").json == {"kept": False}
    evil = window.send("/lti/enter", hidden(page), Origin="https://evil.example")
    assert evil.code == 403
    entered = window.send("/lti/enter", hidden(page))
    assert (entered.code, entered.to) == (303, f"/labs/{LAB}")
    assert COOKIE in window.cookies and "Ada Lovelace" in window.get("/").text
    again = Learner(course.port, platform).send("/lti/enter", hidden(page))
    assert reason_of(again) == "page-old"
    assert reason_of(window.send("/lti/enter", {"key": "x"})) == "page-old"


def test_the_newest_sign_in_counts(course: Served, platform: Platform) -> None:
    visit = Learner(course.port, platform, "iframe")
    visit.launch(course.site.url, "ben")
    person = course.site.people.find("ada@example.org")
    assert person is not None
    visit.dest = "document"
    visit.post(f"/sign-in/{course.site.people.new_link(person.who)}")
    assert FRAME_COOKIE not in visit.cookies and "Ada Lovelace" in visit.get("/").text
    visit.dest = "iframe"
    visit.launch(course.site.url, "ben")
    assert "Ben" in visit.get("/").text


def test_the_platforms_storage_takes_the_place_of_the_cookie(
    course: Served, platform: Platform
) -> None:
    visit = Learner(course.port, platform, "iframe")
    begun = visit.begin(course.site.url, lti_storage_target="_parent")
    assert begun.code == 200 and f'data-origin="{platform.url}"' in begun.text
    found = re.search(r'data-proof="([^"]+)"', begun.text)
    assert found is not None
    visit.cookie = ""
    page = visit.send("/lti/launch", platform.answer_of(next_of(begun)))
    assert page.code == 200 and 'data-task="prove"' in page.text
    fields = hidden(page) | {"proof": found[1]}
    own = f"http://127.0.0.1:{course.port}"
    wrong = visit.send("/lti/proof", fields | {"proof": "x"}, Origin=own)
    assert reason_of(wrong) == "state-mismatch"
    assert visit.send("/lti/proof", fields, Origin=own).code == 200
    assert FRAME_COOKIE in visit.cookies
    assert reason_of(visit.send("/lti/proof", fields, Origin=own)) == "nonce-replayed"


def test_without_storage_and_cookie_the_page_says_what_to_do(
    course: Served, platform: Platform
) -> None:
    visit = Learner(course.port, platform, "iframe")
    begun = visit.begin(course.site.url)
    assert 'target="_blank"' in begun.text and "Open in a new window" in begun.text
    visit.cookie = ""
    reply = visit.send("/lti/launch", platform.answer_of(next_of(begun)))
    assert reason_of(reply) == "state-mismatch" and "in a new window" in reply.text
    found = re.search(r'href="(/lti/login[^"]+)" target="_blank"', begun.text)
    assert found is not None
    again = Learner(course.port, platform).get(unescape(found[1]))
    assert again.code == 303, "the button begins anew"


def test_roles_of_the_platform_give_nothing(course: Served, platform: Platform) -> None:
    roles = [ROLE + "Instructor", ROLE + "Administrator"]
    platform.alter = put(roles=roles)
    visit = Learner(course.port, platform)
    assert visit.launch(course.site.url).to == f"/labs/{LAB}"
    assert visit.get(f"/class/{LAB}").code == 403 and visit.get("/audit").code == 403


def test_an_account_is_one_person_whatever_its_address_is_later(
    course: Served, platform: Platform
) -> None:
    visit = Learner(course.port, platform)
    assert visit.launch(course.site.url).code == 303
    platform.alter = put(email="ben@example.org", name="Ben")
    assert visit.launch(course.site.url).code == 303
    assert "Ada Lovelace" in visit.get("/").text
    left = [one for one in course.site.course.students if one.id != "ada"]
    course.book.enroll(left, "test")
    assert reason_of(visit.launch(course.site.url)) == "left"
    events = [event for event in course.book.audit() if event.action == "lti person"]
    assert len(events) == 1 and course.book.verify().problems == ()


def test_a_link_keeps_what_the_platform_names(course: Served, platform: Platform) -> None:
    visit = Learner(course.port, platform)
    assert visit.launch(course.site.url).code == 303
    (link,) = course.book.lti.links(LAB)
    assert (link.context, link.resource, link.title) == (CONTEXT, "link-1", "The first kernel")
    assert link.line_item == f"{platform.url}/items/1" and link.scopes[0].endswith("scope/score")
    assert link.members_url == f"{platform.url}/members"
    platform.alter = put(custom={"lab": "another"})
    assert visit.launch(course.site.url).to == f"/labs/{LAB}", "an unknown lab changes nothing"
    assert course.book.lti.links(LAB) == (link,)


def test_addresses_without_https_are_not_kept(course: Served, platform: Platform) -> None:
    platform.alter = lambda claims: claims.update(
        {GRADES: {"lineitem": "http://lms.example.org/1", "lineitems": 7, "scope": "all"}}
    )
    assert Learner(course.port, platform).launch(course.site.url).code == 303
    (link,) = course.book.lti.links(LAB)
    assert (link.line_item, link.line_items, link.scopes) == ("", "", ())


def test_a_link_without_a_lab_asks_the_instructor(course: Served, platform: Platform) -> None:
    platform.alter = put(custom=None)
    student, lead = (Learner(course.port, platform, "iframe") for _ in range(2))
    assert reason_of(student.launch(course.site.url)) == "no-lab"
    assert reason_of(Learner(course.port, platform).launch(course.site.url, "ta")) == "no-lab"
    page = lead.launch(course.site.url, "lead")
    assert page.code == 200 and "The first kernel" in page.text
    lead.cookie = ""  # a frame may keep none
    fields = hidden(page) | {"lab": LAB}
    assert reason_of(lead.send("/lti/point", fields | {"lab": "x"})) == "lab-unknown"
    evil = lead.send("/lti/point", fields, Origin="https://evil.example")
    assert evil.code == 403
    assert f'data-to="/class/{LAB}"' in lead.send("/lti/point", fields).text
    assert reason_of(lead.send("/lti/point", fields)) == "page-old"
    assert Learner(course.port, platform).launch(course.site.url).to == f"/labs/{LAB}"
    (event,) = [one for one in course.book.audit(LAB) if one.action == "lti link"]
    assert event.actor == "lead@example.org"


def test_an_address_of_a_lab_leads_there(course: Served, platform: Platform) -> None:
    place = f"{course.site.url}/labs/{LAB}"
    platform.alter = put(custom=None, target_link_uri=place)
    visit = Learner(course.port, platform)
    reply = visit.launch(course.site.url, target_link_uri=place)
    assert (reply.code, reply.to) == (303, f"/labs/{LAB}")


def test_the_platforms_keys_are_fetched_again_when_one_is_new(
    course: Served, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.portal.lti.platform_keys.NEW_KEYS_SECONDS", 0.0)
    visit = Learner(course.port, platform)
    for _ in range(3):
        assert visit.launch(course.site.url).code == 303
    assert platform.asked.count("/keys") == 1
    platform.key = signing_key("second", kid="key-2", use="sig", alg="RS256")
    assert reason_of(visit.launch(course.site.url)) == "kid-unknown"
    platform.published.append(platform.key.as_dict(private=False))
    assert visit.launch(course.site.url).code == 303
    assert platform.asked.count("/keys") == 3


def test_keys_that_cannot_be_read_are_the_platforms_fault(
    course: Served, platform: Platform
) -> None:
    platform.published = [None, 7, {}, {"kty": "RSA"}, {"kty": "RSA", "kid": "key-1", "n": "!"}]
    assert reason_of(Learner(course.port, platform).launch(course.site.url)) == "kid-unknown"
    own = course.book.lti.clients_of(platform.url)[0]
    assert own.jwks_url.endswith("/keys")


class Asked:
    """Answers with a set of keys, and counts."""

    def __init__(self, *keys: Any) -> None:
        self.keys, self.count, self.now = [*keys], 0, 0.0

    def __call__(self, address: str) -> dict[str, Any]:
        self.count += 1
        if not self.keys:
            raise ProviderFault("the provider does not answer")
        return {"keys": self.keys}


def test_unknown_keys_make_the_server_ask_seldom() -> None:
    key = signing_key("a", kid="a")
    asked = Asked(key.as_dict(private=False))
    keys = PlatformKeys(asked, lambda: asked.now)
    assert keys.find("https://k", "a").kid == "a"
    for number in range(50):
        with pytest.raises(Refused, match="kid-unknown"):
            keys.find("https://k", f"x{number}")
    assert asked.count == 1
    asked.now = 11.0
    with pytest.raises(Refused):
        keys.find("https://k", "x")
    assert asked.count == 2
    asked.keys = []
    assert keys.find("https://k", "a").kid == "a", "a known key needs no platform"
    asked.now = 9999.0
    with pytest.raises(Refused, match="keys-unreachable"):
        keys.find("https://k", "a")
    with pytest.raises(Refused, match="keys-unreachable"):
        keys.find("http://lms.example.org/keys", "a")


def test_private_weak_and_other_keys_are_left_out() -> None:
    good = signing_key("good", kid="good")
    shared = OctKey.import_key(b"k" * 32, {"kid": "oct"}).as_dict(private=True)
    small = {"kty": "RSA", "kid": "small", "n": "AQAB" * 30, "e": "AQAB"}
    whole = dict(good.as_dict(private=True)) | {"kid": "private"}
    other = dict(good.as_dict(private=False)) | {"kid": "enc", "use": "enc"}
    keys = PlatformKeys(Asked(shared, small, whole, other, good.as_dict(private=False)))
    assert keys.find("https://k", "good").kid == "good"
    for kid in ("oct", "small", "private", "enc"):
        with pytest.raises(Refused, match="kid-unknown"):
            keys.find("https://k", kid)


def test_the_courses_keys_are_published(course: Served) -> None:
    visit = Visit(course.port)
    first = visit.get("/lti/keys").json["keys"]
    course.site.lti_keys.rotate()
    second = visit.get("/lti/keys").json["keys"]
    assert [one["kid"] for one in second][1:] == [one["kid"] for one in first]
    assert all("d" not in one for one in second)


def test_under_another_address_pages_lead_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with served(tmp_path) as course, launching() as platform:
        course.site.url = "https://cuda.example.org"
        platform.registered(course)
        visit = Learner(course.port, platform)
        assert visit.launch(course.site.url).code == 303
        assert reason_of(visit.begin("http://127.0.0.1")) == "target-unknown"
