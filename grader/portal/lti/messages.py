"""The messages of a platform: ID tokens, each verified or refused for a reason of its own.

A message is a JWT that the platform signs (LTI 1.3 Core, 5.1; the 1EdTech Security Framework, 5.1).
Nothing of it is believed before its signature, issuer, audience, times and nonce are right. What is
optional there may be missing here; what is there must have its type.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from joserfc import jwt
from joserfc.errors import BadSignatureError, JoseError

from grader import dataclass
from grader.gradebook.course_schema import is_private_or_https
from grader.gradebook.lti import Registration
from grader.portal.lti.platform_keys import ALGORITHMS, PlatformKeys
from grader.portal.lti.refusals import Refused

LTI = "https://purl.imsglobal.org/spec/lti/claim/"
DEEP_LINKING = "https://purl.imsglobal.org/spec/lti-dl/claim/"
GRADES = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
MEMBERS = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"

VERSION = "1.3.0"
RESOURCE_LINK, DEEP_LINK = "LtiResourceLinkRequest", "LtiDeepLinkingRequest"

SKEW_SECONDS = 60
"""How far the platform's clock may be from ours."""

MAX_AGE_SECONDS = 3600
MAX_TOKEN = 1 << 16
MAX_ID = 255
"""Characters of an ID, as the specification limits `sub` and `resource_link.id`."""

_CONTEXT = "http://purl.imsglobal.org/vocab/lis/v2/membership"
_STAFF = ("Instructor", "ContentDeveloper", "Administrator")
TEST_USER = "http://purl.imsglobal.org/vocab/lti/system/person#TestUser"


@dataclass(frozen=True)
class Message:
    """A verified message.

    Attributes:
        roles: As the platform writes them; they never give a right.
        email: "" unless the platform sends one and does not call it unverified.
        context: The ID of the platform's course; "" for none.
        lab: The lab that the link names in its custom fields or its address; "" for none.
        settings: Of a deep linking request, what the platform accepts.
        origin: The web origin of the platform's page around this launch; "" when it names none.
    """

    registration: Registration
    kind: str
    deployment: str
    sub: str
    roles: tuple[str, ...]
    email: str
    target: str
    context: str = ""
    resource: str = ""
    title: str = ""
    lab: str = ""
    line_item: str = ""
    line_items: str = ""
    members_url: str = ""
    scopes: tuple[str, ...] = ()
    origin: str = ""
    settings: Mapping[str, Any] | None = None

    @property
    def is_staff(self) -> bool:
        """Whether the platform says that this person teaches in this course of the platform.

        Roles in the institution or the system do not count, nor those that nobody knows.
        """
        full = {f"{_CONTEXT}#{name}" for name in _STAFF}
        return any(
            role in full or role in _STAFF or role.startswith(f"{_CONTEXT}/Instructor#")
            for role in self.roles
        )

    @property
    def is_test(self) -> bool:
        """Whether this is the platform's test student, who is no person."""
        return TEST_USER in self.roles


def read_message(
    token: str, registration: Registration, nonce: str, url: str, keys: PlatformKeys, now: datetime
) -> Message:  # fmt: skip
    """Return a message that is right in every respect but that its nonce may have been used.

    Args:
        token: The ID token.
        registration: The client for which the launch was begun.
        nonce: The nonce with which it was begun.
        url: The address of the portal, without a slash at its end.
        keys: Where the platform's keys come from.
        now: The time.

    Raises:
        Refused: It is not.
    """
    claims = _signed(token, registration, keys)
    _require_parties(claims, registration)
    _require_times(claims, now.timestamp())
    given = claims.get("nonce")
    if not isinstance(given, str) or not given:
        raise Refused("nonce-missing")
    if given != nonce:
        raise Refused("nonce-wrong")
    return _message(claims, registration, url)


def _signed(text: str, registration: Registration, keys: PlatformKeys) -> dict[str, Any]:
    """Return the claims of a token with a good signature. Raises Refused."""
    header = _header(text)
    if header.get("alg") not in ALGORITHMS:
        raise Refused("unsigned" if header.get("alg") in ("none", None) else "algorithm")
    kid = header.get("kid")
    if not isinstance(kid, str) or not kid:
        raise Refused("kid-missing")
    key = keys.find(registration.jwks_url, kid)
    try:
        found = jwt.decode(text, key, algorithms=[str(header["alg"])]).claims
    except BadSignatureError:
        raise Refused("signature") from None
    except (JoseError, ValueError, TypeError, RecursionError):
        raise Refused("no-token") from None
    return found


def _header(text: str) -> dict[str, Any]:
    """Return the header of a token in compact form. Raises Refused."""
    parts = text.split(".")
    if len(parts) != 3 or len(text) > MAX_TOKEN or not text.isascii():
        raise Refused("no-token")
    try:
        found = json.loads(base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)))
    except (ValueError, RecursionError):
        raise Refused("no-token") from None
    if not isinstance(found, dict):
        raise Refused("no-token")
    return found


def _require_parties(claims: Mapping[str, Any], registration: Registration) -> None:
    if claims.get("iss") != registration.issuer:
        raise Refused("issuer")
    audience = claims.get("aud")
    several = audience if isinstance(audience, list) else [audience]
    if registration.client_id not in several:
        raise Refused("audience")
    given = claims.get("azp")
    if given is not None and given != registration.client_id or given is None and len(several) > 1:
        raise Refused("azp")


def _require_times(claims: Mapping[str, Any], now: float) -> None:
    times = {name: claims.get(name) for name in ("exp", "iat", "nbf")}
    for name in ("exp", "iat"):
        if times[name] is None:
            raise Refused(f"{name}-missing")
    numbers = {name: _number(value) for name, value in times.items() if value is not None}
    if numbers["exp"] <= now - SKEW_SECONDS:
        raise Refused("expired")
    if max(numbers["iat"], numbers.get("nbf", 0.0)) > now + SKEW_SECONDS:
        raise Refused("future")
    if numbers["iat"] < now - MAX_AGE_SECONDS:
        raise Refused("too-old")


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e15:
        raise Refused("times")
    if not math.isfinite(value):
        raise Refused("times")
    return float(value)


def _message(claims: Mapping[str, Any], registration: Registration, url: str) -> Message:
    """Return what verified claims say. Raises Refused."""
    if not any(str(name).startswith(LTI) for name in claims):
        raise Refused("no-lti")
    version, kind = claims.get(f"{LTI}version"), claims.get(f"{LTI}message_type")
    if version is None:
        raise Refused("version-missing")
    if version != VERSION:
        raise Refused("version")
    if kind is None:
        raise Refused("message-type-missing")
    if kind not in (RESOURCE_LINK, DEEP_LINK):
        raise Refused("message-type")
    deployment = _id(claims.get(f"{LTI}deployment_id"), "deployment")
    sub = _id(claims.get("sub"), "sub")
    roles = claims.get(f"{LTI}roles")
    if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
        raise Refused("roles-missing" if roles is None else "roles")
    resource = _object(claims, f"{LTI}resource_link")
    named = ""
    if kind == RESOURCE_LINK:
        named = _id(resource.get("id"), "resource-link")
    target = claims.get(f"{LTI}target_link_uri")
    if not isinstance(target, str) or not is_ours(target, url):
        raise Refused("target-missing" if target is None else "target")
    context = _object(claims, f"{LTI}context")
    settings = _object(claims, f"{DEEP_LINKING}deep_linking_settings")
    verified = claims.get("email_verified", True) in (True, "true")
    return Message(
        registration, kind, deployment, sub, tuple(roles),
        _text(claims, "email") if verified else "", target,
        context=_id(context["id"], "context") if context.get("id") is not None else "",
        resource=named, title=_text(resource, "title")[:MAX_ID], lab=_lab(claims, target, url),
        settings=settings if kind == DEEP_LINK else None, origin=_origin(claims),
        **_services(claims),
    )  # fmt: skip


def is_ours(target: str, url: str) -> bool:
    """Whether an address is one of the portal at `url`."""
    return target == url or target.startswith(f"{url}/")


def _lab(claims: Mapping[str, Any], target: str, url: str) -> str:
    lab = _text(_object(claims, f"{LTI}custom"), "lab")
    start = f"{url}/labs/"
    return lab or (target.removeprefix(start) if target.startswith(start) else "")


def _services(claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return the addresses that scores and members are at, those without HTTPS left out."""
    grades, members = _object(claims, GRADES), _object(claims, MEMBERS)
    scopes = grades.get("scope")
    return {
        "line_item": _address(grades, "lineitem"),
        "line_items": _address(grades, "lineitems"),
        "members_url": _address(members, "context_memberships_url"),
        "scopes": tuple(one for one in scopes if isinstance(one, str))
        if isinstance(scopes, list) else (),
    }  # fmt: skip


def _origin(claims: Mapping[str, Any]) -> str:
    """Return the origin of the page that the platform wants to be led back to."""
    return origin_of(_address(_object(claims, f"{LTI}launch_presentation"), "return_url"))


def origin_of(address: str) -> str:
    """Return the web origin of an address that may be in a header; "" for none."""
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    host = parts.hostname or ""
    plain = host.isascii() and all(one.isalnum() or one in ".-" for one in host)
    return f"{parts.scheme}://{host}{port}" if host and plain else ""


def origins_of(registrations: Iterable[Registration]) -> tuple[str, ...]:
    """Return the web origins of platforms that are in use: their addresses', and further ones."""
    found = set[str]()
    for one in registrations:
        if one.active:
            found |= {origin_of(each) for each in (one.issuer, one.auth_url, *one.origins)}
    return tuple(sorted(found - {""}))


def _object(claims: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = claims.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise Refused("claim", f"`{name.rpartition('/')[2]}` is no object")
    return found


def _text(values: Mapping[str, Any], name: str) -> str:
    found = values.get(name)
    return found if isinstance(found, str) else ""


def _address(values: Mapping[str, Any], name: str) -> str:
    found = _text(values, name)
    return found if is_private_or_https(found) else ""


def _id(value: object, name: str) -> str:
    """Return an ID: text that is neither empty nor long. Raises Refused."""
    if value is None or value == "":
        raise Refused(f"{name}-missing")
    if not isinstance(value, str) or len(value) > MAX_ID:
        raise Refused("claim", f"the ID of `{name}` is no text of at most {MAX_ID} characters")
    return value
