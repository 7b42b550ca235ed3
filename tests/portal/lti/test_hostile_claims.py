"""Whatever JSON is in a claim, signed by a platform: an answer in words, and no error of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from joserfc import jws

from grader.portal.lti.messages import DEEP_LINKING, GRADES, LTI, MEMBERS
from tests.portal.lti.launching import Learner, Platform, encoded, hidden, launching
from tests.portal.made import LAB, Served

NAMES = (
    "iss", "aud", "azp", "sub", "exp", "iat", "nbf", "email", "email_verified", "name", "nonce",
    *(f"{LTI}{name}" for name in (
        "version", "message_type", "deployment_id", "target_link_uri", "resource_link", "roles",
        "context", "custom", "launch_presentation", "lis", "tool_platform")),
    GRADES, MEMBERS, f"{DEEP_LINKING}deep_linking_settings",
)  # fmt: skip
TEXT = st.text(st.characters(), max_size=12)
ODD = st.sampled_from(
    ["\0", "\ud800", "<script>alert(1)</script>", "https://evil.example", "é" * 300, 1e308, -1,
     10**400, float("nan"), float("inf"), "lab\n", {"id": {"id": {}}}, [[]], {"lab": "\ud800"},
     {"id": "\0"}, {"id": "x", "title": "\ud800\0"}, {"return_url": "https://[::1"},
     {"return_url": "https://a:99999999/"}, {"lineitem": "https://\ud800"}]
)  # fmt: skip
JSON = ODD | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda one: st.lists(one, max_size=3) | st.dictionaries(TEXT, one, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def platform(shared: Served) -> Iterator[Platform]:
    with pytest.MonkeyPatch.context() as patch, launching() as one:
        patch.setenv("no_proxy", "127.0.0.1")
        shared.site.say = lambda text: None  # type: ignore[method-assign]
        one.registered(shared)
        yield one


SOME = settings(
    max_examples=150, database=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@SOME
@given(changes=st.dictionaries(st.sampled_from(NAMES), JSON, min_size=1, max_size=3))
def test_any_claim_is_answered(shared: Served, platform: Platform, changes: dict[str, Any]) -> None:
    platform.alter = lambda claims: claims.update(changes)
    reply = Learner(shared.port, platform).launch(shared.site.url)
    assert reply.code in (200, 303) or 400 <= reply.code < 500, ascii(changes)
    assert "<script>alert" not in reply.text


@SOME
@given(value=JSON)
def test_any_deep_linking_setting_is_answered(
    shared: Served, platform: Platform, value: Any
) -> None:
    given_settings = value if isinstance(value, dict) else {"data": value, "accept_multiple": value}
    platform.alter = lambda claims: platform.deep_linking(claims, **_texts(given_settings))
    visit = Learner(shared.port, platform)
    reply = visit.launch(shared.site.url, "lead")
    if reply.code == 200:
        reply = visit.send("/lti/choose", hidden(reply) | {"lab": LAB})
        assert reply.code == 200 and 'name="JWT"' in reply.text, ascii(value)
    assert reply.code == 200 or 400 <= reply.code < 500, ascii(value)


def _texts(values: dict[Any, Any]) -> dict[str, Any]:
    return {str(name): one for name, one in values.items()}


@SOME
@given(body=st.binary(max_size=60), header=JSON)
def test_any_token_is_answered(
    shared: Served, platform: Platform, body: bytes, header: Any
) -> None:
    def signed(claims: dict[str, Any]) -> str:
        whole = jws.serialize_compact({"alg": "RS256", "kid": "key-1"}, body, platform.key)
        extra = header if isinstance(header, dict) else {"crit": header}
        try:
            text = json.dumps({"alg": "RS256", "kid": "key-1", **extra})
        except TypeError:
            return whole
        return ".".join((encoded(json.loads(text)), *whole.split(".")[1:]))

    platform.alter, platform.signed = lambda claims: None, signed
    try:
        reply = Learner(shared.port, platform).launch(shared.site.url)
    finally:
        platform.signed = platform.sign
    assert 400 <= reply.code < 500


@SOME
@given(
    fields=st.dictionaries(
        st.sampled_from(("iss", "login_hint", "target_link_uri", "lti_message_hint", "client_id",
                         "lti_deployment_id", "lti_storage_target", "state", "id_token", "proof",
                         "key", "lab")), TEXT, max_size=6),
    path=st.sampled_from(("/lti/login", "/lti/launch", "/lti/proof", "/lti/enter", "/lti/choose",
                          "/lti/point")),
)  # fmt: skip
def test_any_form_is_answered(
    shared: Served, platform: Platform, fields: dict[str, str], path: str
) -> None:
    visit = Learner(shared.port, platform)
    own = f"http://127.0.0.1:{shared.port}"
    assert 400 <= visit.send(path, fields, Origin=own).code < 500
