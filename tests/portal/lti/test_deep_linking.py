"""Choosing labs for links that the platform then has: the message that the portal signs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from grader.portal.lti.messages import DEEP_LINKING, LTI
from tests.portal.lti.launching import (
    CLIENT,
    DEPLOYMENT,
    Learner,
    Platform,
    hidden,
    launching,
    reason_of,
)
from tests.portal.made import COURSE, LAB, Reply, Served, served

OTHER = "tiled-matmul"
TWO_LABS = COURSE + f"  {OTHER}:\n    due: 2027-05-01 23:59\n    points: 30\n"


@pytest.fixture
def course(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, text=TWO_LABS) as one:
        yield one


@pytest.fixture
def platform(course: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with launching() as one:
        one.registered(course)
        one.alter = one.deep_linking
        yield one


def chooser(course: Served, platform: Platform, **settings: Any) -> tuple[Learner, Reply]:
    """The instructor's page, in a frame that keeps no cookie."""
    platform.alter = lambda claims: platform.deep_linking(claims, **settings)
    visit = Learner(course.port, platform, "iframe")
    page = visit.launch(course.site.url, "lead")
    visit.cookie = ""
    return visit, page


def answered(reply: Reply, course: Served) -> dict[str, Any]:
    """The claims of the answer, as a platform verifies them."""
    found = re.search(r'name="JWT" value="([^"]+)"', reply.text)
    assert found is not None, reply.text
    keys = KeySet.import_key_set(Learner(course.port, Platform(1)).get("/lti/keys").json)
    token = jwt.decode(unescape(found[1]), keys, algorithms=["RS256"])
    assert token.header["kid"] == course.site.lti_keys.signing().id
    return token.claims


def test_chosen_labs_become_links_with_scores(course: Served, platform: Platform) -> None:
    visit, page = chooser(course, platform, accept_multiple=True)
    assert 'type="checkbox"' in page.text and "frame-ancestors" in str(page.headers)
    reply = visit.send("/lti/choose", hidden(page) | {"lab": [LAB, OTHER, LAB]})
    assert reply.code == 200 and f'action="{platform.url}/links"' in reply.text
    policy = reply.headers["Content-Security-Policy"]
    assert f"form-action {platform.url} https:" in policy and "script-src 'self'" in policy
    claims = answered(reply, course)
    assert (claims["iss"], claims["aud"]) == (CLIENT, platform.url)
    assert claims["exp"] - claims["iat"] == 300 and len(claims["nonce"]) > 30
    assert claims[f"{LTI}message_type"] == "LtiDeepLinkingResponse"
    assert (claims[f"{LTI}version"], claims[f"{LTI}deployment_id"]) == ("1.3.0", DEPLOYMENT)
    assert claims[f"{DEEP_LINKING}data"] == "opaque \u00e9 data"
    first, second = claims[f"{DEEP_LINKING}content_items"]
    assert first == {
        "type": "ltiResourceLink", "title": course.site.labs[LAB].title,
        "url": f"{course.site.url}/lti/launch", "custom": {"lab": LAB},
        "lineItem": {
            "scoreMaximum": 100.0, "label": course.site.labs[LAB].title, "resourceId": LAB,
        },
    }  # fmt: skip
    assert (second["custom"], second["lineItem"]["scoreMaximum"]) == ({"lab": OTHER}, 30.0)
    assert reason_of(visit.send("/lti/choose", hidden(page) | {"lab": LAB})) == "page-old"


def test_one_lab_where_the_platform_takes_one(course: Served, platform: Platform) -> None:
    visit, page = chooser(course, platform)
    assert 'type="radio"' in page.text
    assert reason_of(visit.send("/lti/choose", hidden(page) | {"lab": [LAB, OTHER]})) == "claim"
    reply = visit.send("/lti/choose", hidden(page) | {"lab": LAB})
    assert len(answered(reply, course)[f"{DEEP_LINKING}content_items"]) == 1


def test_nothing_may_be_chosen_and_scores_left_out(course: Served, platform: Platform) -> None:
    visit, page = chooser(course, platform, data=None, accept_lineitem=False)
    reply = visit.send("/lti/choose", hidden(page) | {"lab": LAB})
    claims = answered(reply, course)
    assert f"{DEEP_LINKING}data" not in claims
    assert "lineItem" not in claims[f"{DEEP_LINKING}content_items"][0]
    visit, page = chooser(course, platform)
    reply = visit.send("/lti/choose", hidden(page) | {"cancel": "yes", "lab": LAB})
    assert answered(reply, course)[f"{DEEP_LINKING}content_items"] == []


SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "no return address": ({"deep_link_return_url": None}, "settings"),
    "a return address without HTTPS": (
        {"deep_link_return_url": "http://lms.example.org/x"}, "settings"),
    "a script as return address": ({"deep_link_return_url": "javascript:alert(1)"}, "settings"),
    "a policy in the return address": (
        {"deep_link_return_url": "https://a;script-src *"}, "settings"),
    "no links accepted": ({"accept_types": ["file"]}, "accept-types"),
    "accepted types are text": ({"accept_types": "ltiResourceLink"}, "accept-types"),
}  # fmt: skip


@pytest.mark.parametrize("row", SETTINGS)
def test_settings_that_cannot_work_are_refused(
    row: str, course: Served, platform: Platform
) -> None:
    settings, reason = SETTINGS[row]
    _, page = chooser(course, platform, **settings)
    assert (reason_of(page), page.code) == (reason, 400)


def test_only_instructors_choose(course: Served, platform: Platform) -> None:
    visit = Learner(course.port, platform, "iframe")
    for who in ("ada", "ta"):
        assert reason_of(visit.launch(course.site.url, who)) == "not-instructor"
    visit, page = chooser(course, platform)
    course.site.people.remove_staff("lead@example.org", "test")
    sent = visit.send("/lti/choose", hidden(page) | {"lab": LAB})
    assert reason_of(sent) == "not-instructor"


def test_forms_of_others_are_refused(course: Served, platform: Platform) -> None:
    visit, page = chooser(course, platform)
    fields = hidden(page) | {"lab": LAB}
    assert visit.send("/lti/choose", fields, Origin=platform.url).code == 403
    assert reason_of(visit.send("/lti/choose", fields | {"key": "x"})) == "page-old"
    assert reason_of(visit.send("/lti/point", fields)) == "page-old", "of another kind"
    assert reason_of(visit.send("/lti/choose", fields | {"lab": "x"})) == "lab-unknown"
    one = course.book.lti.clients_of(platform.url)[0]
    course.book.lti.remove(one.id, "test")
    assert reason_of(visit.send("/lti/choose", fields)) == "issuer-unknown"


def test_the_link_that_was_made_leads_to_its_lab(course: Served, platform: Platform) -> None:
    visit, page = chooser(course, platform)
    claims = answered(visit.send("/lti/choose", hidden(page) | {"lab": OTHER}), course)
    (item,) = claims[f"{DEEP_LINKING}content_items"]

    def alter(claims: dict[str, Any]) -> None:
        claims[f"{LTI}custom"] = item["custom"]
        claims[f"{LTI}resource_link"] = {"id": "new-link", "title": item["title"]}

    platform.alter = alter
    student = Learner(course.port, platform)
    reply = student.launch(course.site.url, target_link_uri=item["url"])
    assert reply.to == f"/labs/{OTHER}"
