"""Platforms that register themselves where they are invited, and the instructors' page of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from grader.portal.lti.register import SCOPES, TOOL
from tests.portal.lti.launching import Learner, Platform, hidden, launching, reason_of
from tests.portal.made import LAB, Reply, Served


class Registrar(Platform):
    """A platform with an endpoint of dynamic registration."""

    def __init__(self, port: int, name: str = "127.0.0.1") -> None:
        super().__init__(port, name)
        self.configuration: dict[str, Any] = {
            "issuer": self.url, "authorization_endpoint": f"{self.url}/auth",
            "token_endpoint": f"{self.url}/token", "jwks_uri": f"{self.url}/keys",
            "registration_endpoint": f"{self.url}/register",
            "scopes_supported": ["openid", SCOPES[1]], "authorization_server": f"{self.url}/aud",
            "https://purl.imsglobal.org/spec/lti-platform-configuration": {
                "product_family_code": "example-lms"},
        }  # fmt: skip
        self.answer: Any = {"client_id": "tool-7", TOOL: {"deployment_id": "deployment-1"}}
        self.registered_with: list[Any] = []

    def page(self, path: str, query: str, body: str) -> tuple[int, str, str]:
        if path == "/config":
            return 200, "application/json", json.dumps(self.configuration)
        if path == "/register":
            self.registered_with.append(json.loads(body))
            return 200, "application/json", json.dumps(self.answer)
        return super().page(path, query, body)


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registrar]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr("tests.portal.lti.launching.Platform", Registrar)
    with launching() as one:
        assert isinstance(one, Registrar)
        yield one


def opened(visit: Learner, secret: str, platform: Registrar) -> Reply:
    query = urlencode({"openid_configuration": f"{platform.url}/config", "registration_token": "t"})
    return visit.get(f"/lti/register/{secret}?{query}")


def test_an_invited_platform_registers_and_launches(course: Served, platform: Registrar) -> None:
    visit, secret = Learner(course.port, platform), course.book.lti.invite("lead")
    page = opened(visit, secret, platform)
    assert page.code == 200 and "example-lms at 127.0.0.1" in page.text
    assert page.headers["Cross-Origin-Opener-Policy"] == "unsafe-none"
    assert platform.registered_with == [], "nothing happens without a click"
    assert visit.send("/lti/register", hidden(page), Origin=platform.url).code == 403
    reply = visit.send("/lti/register", hidden(page))
    assert reply.code == 200 and 'data-task="close"' in reply.text
    (asked,) = platform.registered_with
    assert asked["redirect_uris"] == [f"{course.site.url}/lti/launch"]
    assert asked["scope"] == SCOPES[1], "what the platform does not have is not asked for"
    assert asked["token_endpoint_auth_method"] == "private_key_jwt"
    kinds = [one["type"] for one in asked[TOOL]["messages"]]
    assert kinds == ["LtiResourceLinkRequest", "LtiDeepLinkingRequest"]
    (one,) = course.book.lti.registrations()
    assert (one.client_id, one.audience) == ("tool-7", f"{platform.url}/aud")
    assert Learner(course.port, platform).launch(course.site.url).to == f"/labs/{LAB}"
    assert reason_of(opened(visit, secret, platform)) == "invite"
    assert reason_of(visit.send("/lti/register", hidden(page))) == "invite"
    event = next(one for one in course.book.audit() if one.action == "lti registration")
    assert event.actor == "lead" and course.book.verify().problems == ()


WRONG: dict[str, dict[str, Any]] = {
    "another issuer": {"issuer": "https://lms.example.org"},
    "the issuer of another port": {"issuer": "http://127.0.0.1:1"},
    "no issuer": {"issuer": None},
    "issuer is a list": {"issuer": []},
    "no registration endpoint": {"registration_endpoint": None},
    "an endpoint without HTTPS": {"token_endpoint": "http://lms.example.org/token"},
    "keys without HTTPS": {"jwks_uri": "http://lms.example.org/keys"},
    "authorization is a script": {"authorization_endpoint": "javascript:alert(1)"},
}


@pytest.mark.parametrize("row", WRONG)
def test_a_configuration_that_cannot_be_used_leaves_the_invitation(
    row: str, course: Served, platform: Registrar
) -> None:
    secret = course.book.lti.invite("lead")
    platform.configuration |= WRONG[row]
    reply = opened(Learner(course.port, platform), secret, platform)
    assert (reply.code, reason_of(reply)) == (400, "configuration")
    assert course.book.lti.invited(secret) and platform.registered_with == []


@pytest.mark.parametrize("address", ["", "x", "http://lms.example.org/c", "file:///etc/passwd"])
def test_an_address_that_is_none_is_refused(
    address: str, course: Served, platform: Registrar
) -> None:
    query = urlencode({"openid_configuration": address})
    secret = course.book.lti.invite("lead")
    reply = Learner(course.port, platform).get(f"/lti/register/{secret}?{query}")
    assert (reply.code, reason_of(reply)) == (400, "configuration")


def test_nobody_registers_without_an_invitation(course: Served, platform: Registrar) -> None:
    reply = opened(Learner(course.port, platform), "guessed", platform)
    assert (reply.code, reason_of(reply), platform.asked) == (403, "invite", [])


@pytest.mark.parametrize("answer", [{}, [], {"client_id": 7}, {"client_id": "a\nb"}])
def test_an_answer_without_a_client_registers_nothing(
    answer: Any, course: Served, platform: Registrar
) -> None:
    visit, platform.answer = Learner(course.port, platform), answer
    page = opened(visit, course.book.lti.invite("lead"), platform)
    assert reason_of(visit.send("/lti/register", hidden(page))) == "registration-refused"
    assert course.book.lti.registrations() == ()


def test_the_instructors_page_registers_and_disconnects(
    course: Served, platform: Registrar
) -> None:
    lead = course.signed_in("lead@example.org")
    given = {"issuer": platform.url, "client_id": "tool-7", "auth_url": f"{platform.url}/auth",
             "token_url": f"{platform.url}/token", "jwks_url": f"{platform.url}/keys"}  # fmt: skip
    wrong = lead.post("/lti/platforms", **given | {"jwks_url": "http://lms.example.org"})
    assert wrong.code == 422 and "no address with HTTPS" in wrong.text
    assert lead.post("/lti/platforms", **given, name="Campus").code == 303
    assert reason_of(Learner(course.port, platform).launch(course.site.url)) == "deployment-unknown"
    lead.post("/lti/platforms/1/deployments", deployment="deployment-1")
    assert Learner(course.port, platform).launch(course.site.url).code == 303
    page = lead.get("/lti/platforms").text
    assert "Campus" in page and "Ada Lovelace" in page and "The first kernel" in page
    made = lead.post("/lti/invitations")
    assert f"{course.site.url}/lti/register/" in made.text
    assert "/lti/register/" not in lead.get("/lti/platforms").text
    lead.post("/lti/people/1/forget")
    assert course.book.lti.people() == ()
    lead.post("/lti/platforms/1/remove")
    assert reason_of(Learner(course.port, platform).begin(course.site.url)) == "issuer-unknown"
    for path in ("links/9", "people/9/forget", "platforms/9/remove", "platforms/9/deployments",
                 "platforms/deployments/9/remove", "platforms/-1/remove"):  # fmt: skip
        assert lead.post(f"/lti/{path}", lab=LAB, deployment="x").code == 404, path
    actors = {one.actor for one in course.book.audit() if one.action.startswith("lti")}
    assert actors <= {"lead@example.org", "grader", "Campus"}
