"""Signing in at a real OpenID Connect provider, and what a wrong one or an attacker may try."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from grader.faults import LabFault
from grader.gradebook.course import read_course
from grader.portal import openid
from tests.portal.made import COURSE, Reply, Served, Visit, served, write_course
from tests.portal.provider import CLIENT, SECRET, Provider, provider, signing_key

Claims = dict[str, Any]


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with provider() as one:
        yield one


@pytest.fixture
def course(own: Provider, tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "oidc.secret").write_text(SECRET + "\n")
    settings = f"{{issuer: '{own.issuer}', client_id: {CLIENT}, secret_file: oidc.secret, name: U}}"
    with served(tmp_path, text=f"{COURSE}portal:\n  oidc: {settings}\n") as one:
        yield one


def begin(visit: Visit) -> str:
    """Begin; return the provider's address."""
    assert '<a class="button" href="/sign-in/openid">' in visit.get("/sign-in").text
    reply = visit.get("/sign-in/openid")
    assert reply.code == 303, reply.text
    return reply.to


def answer(visit: Visit, address: str) -> Reply:
    """Open the address that the provider leads to."""
    parts = urlsplit(address)
    assert parts.path == "/sign-in/openid/answer"
    reply = visit.get(f"{parts.path}?{parts.query}")
    found = [value for value in reply.headers.get_all("Set-Cookie", []) if "warpgrade=" in value]
    visit.cookie = found[0].partition(";")[0] if found else ""
    return reply


def signed_in(visit: Visit) -> bool:
    return visit.get("/").code == 200


def test_it_signs_in_whom_the_roster_has(course: Served, own: Provider) -> None:
    course.site.url = "https://cuda.example.org"
    for email, name in (("ADA@example.org", "Ada Lovelace"), ("lead@example.org", "lead")):
        visit, own.user["email"] = Visit(course.port), email
        reply = answer(visit, own.authorize(begin(visit)))
        assert (reply.code, reply.to) == (303, "/")
        cookies = reply.headers.get_all("Set-Cookie", [])
        assert all("HttpOnly" in one and "Secure" in one for one in cookies if "wg" in one)
        assert name in visit.get("/").text
    assert own.asked.count("/keys") == 1, "addresses and keys are kept"


def test_answers_of_others_and_old_ones_are_refused(course: Served, own: Provider) -> None:
    victim, attacker = Visit(course.port), Visit(course.port)
    mine = own.authorize(begin(attacker))
    flow = attacker.cookie
    begin(victim)
    assert answer(victim, mine).code == 403, "a state of another browser"
    assert answer(Visit(course.port), mine).code == 403, "no cookie"
    begin(victim)
    assert answer(victim, mine.replace("state=", "state=x")).code == 403
    assert answer(victim, "/sign-in/openid/answer").code == 403
    assert own.codes, "no code was exchanged"
    attacker.cookie = flow
    assert answer(attacker, mine + "&iss=https://evil.example").code == 403, "mixed-up providers"
    attacker.cookie = flow
    again = own.authorize(begin(attacker))
    flow = attacker.cookie
    assert answer(attacker, again).code == 303
    replay = Visit(course.port)
    replay.cookie = flow
    own.codes["new"] = {}
    assert answer(replay, again).code == 403, "a state works once"
    assert not signed_in(replay) and not signed_in(victim)


def test_a_cookie_of_ones_own_making_is_refused(course: Served, own: Provider) -> None:
    visit = Visit(course.port)
    place = own.authorize(begin(visit))
    state = parse_qs(urlsplit(place).query)["state"][0]
    claims = {"state": state, "nonce": "n", "verifier": "v", "exp": int(time.time()) + 99}
    none = encoded({"alg": "none"}) + "." + encoded(claims) + "."
    forged = jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(b"k" * 32))
    for cookie in (none, forged, "", "x", "é", "." * 9):
        visit.cookie = f"warpgrade-sign-in={cookie.encode().decode('latin-1')}"
        assert answer(visit, place).code == 403


def test_a_sign_in_ends_after_its_time(
    course: Served, own: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openid, "FLOW_SECONDS", -1.0)
    visit = Visit(course.port)
    address = begin(visit)
    assert visit.cookie
    assert answer(visit, own.authorize(address)).code == 403


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def with_public_key(own: Provider, claims: Claims) -> str:
    """The public key, which everybody has, as the key of an HMAC."""
    public = OctKey.import_key(own.key.as_pem(private=False))
    return jwt.encode({"alg": "HS256", "kid": "1"}, claims, public)


def own_key(own: Provider, claims: Claims, **header: Any) -> str:
    key = signing_key("another", kid="1")
    if header:
        header = {"jwk": key.as_dict(private=False)}
    return jwt.encode({"alg": "RS256", "kid": "1", **header}, claims, key)


def unsigned(own: Provider, claims: Claims) -> str:
    return f"{encoded({'alg': 'none'})}.{encoded(claims)}."


def changed(own: Provider, claims: Claims) -> str:
    head, _, signature = own.sign(claims).split(".")
    return f"{head}.{encoded({**claims, 'email': 'lead@example.org'})}.{signature}"


NOW = int(time.time())
WRONG: dict[str, Claims] = {
    "nonce": {"nonce": "other"},
    "no nonce": {"nonce": None},
    "audience": {"aud": "other"},
    "no audience": {"aud": None},
    "audiences without azp": {"aud": [CLIENT, "other"]},
    "azp": {"azp": "other"},
    "issuer": {"iss": "https://evil.example"},
    "issuer as a list": {"iss": ["https://evil.example"]},
    "no issuer": {"iss": None},
    "expired": {"exp": NOW - 3600},
    "no expiry": {"exp": None},
    "expiry as text": {"exp": "9999999999"},
    "not yet": {"nbf": NOW + 3600},
    "from the future": {"iat": NOW + 3600},
    "no subject": {"sub": None},
    "access token": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
}
SIGNERS: dict[str, Callable[[Provider, Claims], str]] = {
    "none": unsigned,
    "HS256 with the public key": with_public_key,
    "another key": own_key,
    "a key in the header": lambda own, claims: own_key(own, claims, jwk=True),
    "changed": changed,
    "text": lambda own, claims: "a.b.c",
    "nothing": lambda own, claims: "",
    "a number": lambda own, claims: 7,  # type: ignore[return-value]
    "no object": lambda own, claims: ".".join((encoded({"alg": "RS256"}), "W10", "AA")),
}


def test_wrong_tokens_sign_nobody_in(
    course: Served, own: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    def altered(change: Claims) -> Callable[[Claims], None]:
        def alter(claims: Claims) -> None:
            claims.update(change)
            for name in [name for name, value in claims.items() if value is None]:
                del claims[name]

        return alter

    for name, change in WRONG.items():
        visit, own.alter = Visit(course.port), altered(change)
        reply = answer(visit, own.authorize(begin(visit)))
        assert (reply.code, signed_in(visit)) == (502, False), name
    own.alter = lambda claims: None
    for name, sign in SIGNERS.items():
        own.signed = lambda claims, sign=sign: sign(own, claims)  # type: ignore[misc]
        visit = Visit(course.port)
        reply = answer(visit, own.authorize(begin(visit)))
        assert (reply.code, signed_in(visit)) == (502, False), name
    said = capsys.readouterr().err
    assert "the ID token is not valid" in said and SECRET not in said and "eyJ" not in said
    own.signed = own.sign
    visit = Visit(course.port)
    assert answer(visit, own.authorize(begin(visit))).code == 303, "the right one still works"


UNWANTED: dict[str, Claims] = {
    "not verified": {"email_verified": False},
    "not verified, as text": {"email_verified": "false"},
    "verified is null": {"email_verified": None},
    "unknown": {"email": "nobody@example.org"},
    "empty": {"email": ""},
    "no text": {"email": ["ada@example.org"]},
    "looks like it": {"email": "ada@example.org\n"[:-1] + ".evil.example"},
    "markup": {"email": "<script>alert(1)</script>@x"},
    "wildcard": {"email": "%"},
    "two": {"email": "ada@example.org,ben@example.org"},
    "zero byte": {"email": "ada@example.org\0"},
    "lone surrogate": {"email": "\ud800@example.org"},
}


def test_only_confirmed_addresses_of_the_course_sign_in(course: Served, own: Provider) -> None:
    for name, change in UNWANTED.items():
        visit, own.user = Visit(course.port), {"sub": "u1", "email": "ada@example.org", **change}
        reply = answer(visit, own.authorize(begin(visit)))
        assert (reply.code, signed_in(visit)) == (403, False), name
        assert "<script>alert" not in reply.text
    assert len(course.site.people.staff()) == 3, "nobody was registered"


def test_no_address_leads_elsewhere(course: Served, own: Provider) -> None:
    visit = Visit(course.port)
    for query in ("next", "url", "redirect_uri", "return_to"):
        sent = visit.get(f"/sign-in/openid?{query}=https://evil.example").to
        assert sent.startswith(own.issuer) and "evil" not in sent
    reply = answer(
        visit, own.authorize(sent) + "&next=//evil.example&redirect=https://evil.example"
    )
    assert (reply.code, reply.to) == (303, "/")


def test_an_ended_sign_in_says_so_without_the_providers_text(course: Served, own: Provider) -> None:
    visit = Visit(course.port)
    state = parse_qs(urlsplit(begin(visit)).query)["state"][0]
    reply = answer(visit, f"/sign-in/openid/answer?state={state}&error=<b>&error_description=<i>")
    assert reply.code == 403 and "<b>" not in reply.text and "did not sign you in" in reply.text


def test_new_keys_and_the_user_info_are_fetched(
    course: Served, own: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit = Visit(course.port)
    own.metadata["userinfo_endpoint"] = f"{own.issuer}/user"
    begin(visit)
    own.key = signing_key("new", kid="2")
    own.published = [{"kty": "new", "kid": "9"}, own.key.as_dict(private=False)]
    own.user = {"sub": "u1"}
    own.user_info = {"sub": "u1", "email": "ada@example.org", "email_verified": True}
    monkeypatch.setattr(openid, "NEW_KEYS_SECONDS", 0.0)
    assert answer(visit, own.authorize(begin(visit))).code == 303
    for wrong in ({"sub": "u2"}, {"sub": None}, {"email_verified": False}):
        visit = Visit(course.port)
        own.user_info = {"sub": "u1", "email": "ada@example.org", **wrong}
        assert answer(visit, own.authorize(begin(visit))).code in (403, 502)
        assert not signed_in(visit)


PUBLISHED: dict[str, Claims] = {
    "another issuer": {"issuer": "https://evil.example"},
    "without HTTPS": {"token_endpoint": "http://evil.example/token"},
    "a file": {"jwks_uri": "file:///etc/passwd"},
    "nothing there": {"jwks_uri": None},
    "no keys": {"jwks_uri": "ISSUER/nothing"},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_broken_provider_is_said_and_the_link_still_works(
    name: str, course: Served, own: Provider
) -> None:
    change = {k: v and v.replace("ISSUER", own.issuer) for k, v in PUBLISHED[name].items()}
    own.metadata |= change
    visit = Visit(course.port)
    reply = visit.get("/sign-in/openid")
    assert reply.code == 502 and "ask for a link" in reply.text
    assert visit.post("/sign-in", email="ada@example.org").code == 200
    assert course.link("ada@example.org")


def test_without_the_setting_there_is_no_such_page(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        visit = Visit(one.port)
        assert visit.get("/sign-in/openid").code == 404
        assert visit.get("/sign-in/openid/answer?state=x&code=y").code == 404
        assert "openid" not in visit.get("/sign-in").text


@pytest.mark.parametrize("issuer", ["http://login.example.org", "ftp://x", "login", "https://x?y"])
def test_an_issuer_without_https_is_refused(issuer: str, tmp_path: Path) -> None:
    setting = f"{COURSE}portal:\n  oidc: {{issuer: '{issuer}', client_id: x}}\n"
    write_course(tmp_path, setting)
    with pytest.raises(LabFault, match="issuer"):
        read_course(tmp_path)


def test_a_missing_secret_is_said_before_serving(tmp_path: Path) -> None:
    setting = (
        f"{COURSE}portal: {{oidc: {{issuer: 'https://x', client_id: x, secret_file: none.txt}}}}\n"
    )
    write_course(tmp_path, setting)
    with pytest.raises(LabFault, match="cannot read the secret"):
        openid.openid_of(read_course(tmp_path))
