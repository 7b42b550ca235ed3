"""The launches of 1EdTech's certification for tools, and more: each with what must come of it.

The first tables are the rows of the LTI Advantage conformance certification guide: bad payloads,
valid launches of teachers and of students. A bad one has the reason that the answer must give; a
good one the page that it must open. `python -m tests.portal.lti` prints all of them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from joserfc import jws, jwt

from grader.portal.lti.messages import LTI, TEST_USER
from tests.portal.lti.launching import INSTITUTION, ROLE, SYSTEM, Claims, Platform, encoded
from tests.portal.made import LAB
from tests.portal.provider import signing_key

Change = Callable[[Claims], None]
Sign = Callable[[Platform, Claims], str]


def put(**values: Any) -> Change:
    """Set claims, those of LTI by their short names; None removes one."""

    def change(claims: Claims) -> None:
        for name, value in values.items():
            key = f"{LTI}{name}" if f"{LTI}{name}" in claims else name
            if value is None:
                del claims[key]
            else:
                claims[key] = value

    return change


def shifted(**seconds: int) -> Change:
    """Set times relative to now."""
    return lambda claims: put(**{k: int(time.time()) + v for k, v in seconds.items()})(claims)


def only_plain(claims: Claims) -> None:
    """Remove every claim of LTI."""
    for name in [name for name in claims if name.startswith("http")]:
        del claims[name]


def not_lti(platform: Platform, claims: Claims) -> str:
    """JSON that is no launch, signed as one."""
    names = ("iss", "aud", "exp", "iat", "nonce", "sub")
    return platform.sign({"name": "badltilaunch", **{k: claims[k] for k in names}})


def other_key(platform: Platform, claims: Claims) -> str:
    key = signing_key("other")
    return jwt.encode({"alg": "RS256", "kid": platform.key.kid}, claims, key)


def key_in_header(platform: Platform, claims: Claims) -> str:
    key = signing_key("mine", kid="mine")
    header = {"alg": "RS256", "kid": "mine", "jwk": key.as_dict(private=False)}
    return jwt.encode(header, claims, key)


def with_public_key(platform: Platform, claims: Claims) -> str:
    """The public key, which everybody has, as the key of an HMAC."""
    text = f"{encoded({'alg': 'HS256', 'kid': platform.key.kid})}.{encoded(claims)}"
    digest = hmac.digest(platform.key.as_pem(private=False), text.encode(), hashlib.sha256)
    return f"{text}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def changed(platform: Platform, claims: Claims) -> str:
    head, _, signature = platform.sign(claims).split(".")
    return f"{head}.{encoded({**claims, 'email': 'lead@example.org'})}.{signature}"


def unsigned(platform: Platform, claims: Claims) -> str:
    head = encoded({"alg": "none", "kid": platform.key.kid})
    return f"{head}.{encoded(claims)}."


BAD_PAYLOADS: Mapping[str, tuple[Sign | Change, str]] = {
    "No KID sent in JWT header": (lambda p, c: p.sign(c, kid=None), "kid-missing"),
    "Incorrect KID in JWT header": (lambda p, c: p.sign(c, kid="imstester"), "kid-unknown"),
    "Wrong LTI version": (put(version="11.3"), "version"),
    "No LTI version": (put(version=None), "version-missing"),
    "Invalid LTI message: JSON that is no launch": (not_lti, "no-lti"),
    "Missing LTI claims": (only_plain, "no-lti"),
    "Timestamps incorrect: expired": (shifted(iat=-7200, exp=-3600), "expired"),
    "Timestamps incorrect: in the future": (shifted(iat=3600, exp=7200), "future"),
    "message_type claim missing": (put(message_type=None), "message-type-missing"),
    "roles claim missing": (put(roles=None), "roles-missing"),
    "deployment_id claim missing": (put(deployment_id=None), "deployment-missing"),
    "resource_link_id claim missing": (put(resource_link={"title": "x"}), "resource-link-missing"),
    "user claim missing (anonymous launch)": (put(sub=None), "sub-missing"),
}
"""The guide's known-bad payloads."""

MORE_BAD: Mapping[str, tuple[Sign | Change, str]] = {
    "unsigned (alg none)": (unsigned, "unsigned"),
    "HS256 with the platform's public key": (with_public_key, "algorithm"),
    "signed with another key": (other_key, "signature"),
    "signed with a key in the header": (key_in_header, "kid-unknown"),
    "changed after it was signed": (changed, "signature"),
    "no JWT": (lambda p, c: "not.a.token", "no-token"),
    "no JWT: two parts": (lambda p, c: "a.b", "no-token"),
    "no JWT: empty": (lambda p, c: "", "no-token"),
    "no JWT: the header is a list": (lambda p, c: f"{encoded([1])}.W10.AA", "no-token"),
    "no JWT: too long": (lambda p, c: p.sign({**c, "x": "y" * 70_000}), "no-token"),
    "claims are no object": (lambda p, c: jws_of(p, b"[1, 2]"), "no-token"),
    "claims are nested 20,000 deep": (
        lambda p, c: jws_of(p, b"[" * 20_000 + b"]" * 20_000), "no-token"),
    "another issuer": (put(iss="https://evil.example"), "issuer"),
    "no issuer": (put(iss=None), "issuer"),
    "another audience": (put(aud="another-tool"), "audience"),
    "no audience": (put(aud=None), "audience"),
    "an audience of a list without the tool": (put(aud=["a", "b"]), "audience"),
    "several audiences without azp": (put(aud=["tool-7", "b"]), "azp"),
    "another azp": (put(azp="another-tool"), "azp"),
    "no exp": (put(exp=None), "exp-missing"),
    "no iat": (put(iat=None), "iat-missing"),
    "exp is text": (put(exp="9999999999"), "times"),
    "iat is true": (put(iat=True), "times"),
    "not valid yet (nbf)": (shifted(nbf=3600), "future"),
    "made two hours ago": (shifted(iat=-7200), "too-old"),
    "no nonce": (put(nonce=None), "nonce-missing"),
    "the nonce of another launch": (put(nonce="another"), "nonce-wrong"),
    "version is a number": (put(version=1.3), "version"),
    "version 1.3.1": (put(version="1.3.1"), "version"),
    "an unknown message type": (put(message_type="LtiSubmissionReviewRequest"), "message-type"),
    "message type is a list": (put(message_type=["LtiResourceLinkRequest"]), "message-type"),
    "another deployment": (put(deployment_id="another"), "deployment-unknown"),
    "an empty deployment": (put(deployment_id=""), "deployment-missing"),
    "deployment is a number": (put(deployment_id=1), "claim"),
    "no resource link": (put(resource_link=None), "resource-link-missing"),
    "an empty resource link ID": (put(resource_link={"id": ""}), "resource-link-missing"),
    "resource link is text": (put(resource_link="link-1"), "claim"),
    "a resource link ID of 300 characters": (put(resource_link={"id": "x" * 300}), "claim"),
    "an empty sub": (put(sub=""), "sub-missing"),
    "sub is a number": (put(sub=7), "claim"),
    "roles is text": (put(roles=ROLE + "Learner"), "roles"),
    "roles has numbers": (put(roles=[1]), "roles"),
    "no target_link_uri": (put(target_link_uri=None), "target-missing"),
    "target_link_uri of another site": (put(target_link_uri="https://evil.example/x"), "target"),
    "target_link_uri that begins alike": (
        lambda c: c.update({f"{LTI}target_link_uri":
                            c[f"{LTI}target_link_uri"].replace("/lti/launch", ".evil.example/")}),
        "target",
    ),
    "context is text": (put(context="course"), "claim"),
    "custom is a list": (put(custom=[]), "claim"),
    "the platform's test student": (put(roles=[ROLE + "Learner", TEST_USER]), "test-user"),
    "nobody of the roster": (put(sub="u9", email="nobody@example.org"), "not-in-roster"),
    "an address that is not verified": (put(sub="u8", email_verified=False), "no-email"),
    "a second account with the same address": (put(sub="u7"), "other-account"),
    "a student with an instructor's address": (
        put(sub="u6", email="lead@example.org"), "role-mismatch"),
    "a teacher elsewhere with an instructor's address": (
        put(sub="u5", email="lead@example.org",
            roles=[INSTITUTION + "Instructor", SYSTEM + "Administrator"]), "role-mismatch"),
    "names only, of an unknown account": (put(sub="u4", email=None), "no-email"),
}  # fmt: skip


def jws_of(platform: Platform, payload: bytes) -> str:
    return jws.serialize_compact({"alg": "RS256", "kid": platform.key.kid}, payload, platform.key)


def without(*names: str) -> Change:
    def change(claims: Claims) -> None:
        for name in names:
            claims.pop(name, None)
            claims.pop(f"{LTI}{name}", None)

    return change


def both(*changes: Change) -> Change:
    def change(claims: Claims) -> None:
        for one in changes:
            one(claims)

    return change


_NAMES = ("name", "given_name", "family_name")
_ROLES = {
    "teacher": ("Instructor", "Administrator"),
    "student": ("Learner", "Mentor"),
}


def valid(kind: str) -> Mapping[str, Change]:
    """The guide's valid launches of one kind of person, whose account is connected already."""
    first, second = _ROLES[kind]
    return {
        f"valid {kind} launch": put(),
        f"valid {kind} launch with multiple roles": put(roles=[ROLE + first, ROLE + second]),
        f"valid {kind} launch with a short role": put(roles=[first]),
        f"valid {kind} launch with an unknown role": put(
            roles=["http://purl.imsglobal.org/vocab/lis/v2/unknown/unknown#Unknown"]
        ),
        f"valid {kind} launch with no role": put(roles=[]),
        f"valid {kind} launch with email only": without(*_NAMES),
        f"valid {kind} launch with names only": without("email"),
        f"valid {kind} launch with no PII": without("email", *_NAMES),
        f"valid {kind} launch with email without context": both(
            without(*_NAMES), without("context")
        ),
        f"valid {kind} launch with custom, institution and system roles": put(
            roles=[ROLE + first, "urn:example:custom", INSTITUTION + "Staff", SYSTEM + "User"]
        ),
        f"valid {kind} launch with the audience as a list": put(aud=["tool-7"]),
        f"valid {kind} launch with azp": both(put(aud=["tool-7", "b"]), put(azp="tool-7")),
        f"valid {kind} launch with a clock that is 30 s fast": shifted(iat=30),
        f"valid {kind} launch with claims of others": put(
            **{"https://www.example.com/extension": {"k": json.loads("[null, 1e3]")}}
        ),
    }


GOOD: Mapping[str, tuple[str, Change, str]] = {
    **{name: ("lead", change, f"/class/{LAB}") for name, change in valid("teacher").items()},
    **{name: ("ada", change, f"/labs/{LAB}") for name, change in valid("student").items()},
}
"""By row: who launches, what is changed, and the page that opens."""
