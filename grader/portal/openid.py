"""Signing in at an OpenID Connect provider, such as a university's: authorization code with PKCE.

The visitor's browser keeps a signed cookie with what the answer must repeat: state, nonce and the
code verifier. So an answer works in the browser that asked, once, for FLOW_SECONDS. Nothing that
the answer's address says is believed: the server fetches the ID token itself and verifies it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Mapping
from http.client import HTTPException as BadReply
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, OctKey, import_key

from grader import dataclass
from grader.faults import LabFault
from grader.gradebook.course import Course
from grader.gradebook.course_schema import OpenIdSettings, is_private_or_https
from grader.gradebook.people import Identity

FLOW_SECONDS = 600.0
FETCH_SECONDS = 5.0
MAX_REPLY = 1 << 20
METADATA_SECONDS = 3600.0
"""How long the provider's addresses and keys are kept."""

NEW_KEYS_SECONDS = 30.0
"""Seconds between two looks for a key that the kept ones do not have: providers change keys."""

CLOCK_SECONDS = 60
"""How far the provider's clock may be from ours."""

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Signatures with a public key only: `none` and HMAC would make everybody a provider."""


class ProviderFault(Exception):
    """The provider does not answer, or answers with what no provider may."""


@dataclass(frozen=True)
class Flow:
    """One sign-in that is under way: what the provider's answer must fit."""

    state: str
    nonce: str
    verifier: str
    ends: float

    @classmethod
    def begin(cls) -> Flow:
        """Return a new one."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, time.time() + FLOW_SECONDS)


@dataclass(frozen=True)
class Metadata:
    """What a provider publishes about itself, and its keys."""

    addresses: Mapping[str, Any]
    keys: KeySet
    read: float


class OpenId:
    """The sign-in of one course at one provider; safe to share between threads."""

    def __init__(self, settings: OpenIdSettings, client_secret: str, key: bytes) -> None:
        self.name, self._settings, self._client_secret = settings.name, settings, client_secret
        self._key = OctKey.import_key(hmac.digest(key, b"portal sign-in", hashlib.sha256))
        self.issuer, self._lock = settings.issuer, threading.Lock()
        self._metadata: Metadata | None = None
        self._used: dict[str, float] = {}

    def answer_at(self, url: str) -> str:
        """Return the address of a server to register at the provider."""
        return f"{url}/sign-in/openid/answer"

    def begin(self, url: str) -> tuple[str, str]:
        """Return the provider's address to visit, and the cookie to keep until the answer.

        Raises:
            ProviderFault: The provider does not answer.
        """
        flow = Flow.begin()
        address = prepare_grant_uri(
            self._published().addresses["authorization_endpoint"], self._settings.client_id,
            "code", self.answer_at(url), "openid email", flow.state, nonce=flow.nonce,
            code_challenge=create_s256_code_challenge(flow.verifier), code_challenge_method="S256",
        )  # fmt: skip
        claims = {"state": flow.state, "nonce": flow.nonce, "verifier": flow.verifier}
        return address, jwt.encode({"alg": "HS256"}, {**claims, "exp": int(flow.ends)}, self._key)

    def flow(self, cookie: str, state: str) -> Flow | None:
        """Return the sign-in that an answer belongs to, and end it; None for a wrong answer."""
        try:
            claims = jwt.decode(cookie, self._key, algorithms=["HS256"]).claims
        except (JoseError, ValueError):
            return None
        flow = Flow(claims["state"], claims["nonce"], claims["verifier"], claims["exp"])
        now = time.time()
        if flow.ends < now or not hmac.compare_digest(state.encode(), flow.state.encode()):
            return None
        with self._lock:
            self._used = {used: ends for used, ends in self._used.items() if ends >= now}
            if flow.state in self._used:
                return None
            self._used[flow.state] = flow.ends
        return flow

    def identity(self, flow: Flow, code: str, url: str) -> Identity:
        """Exchange a code for the provider's word on who somebody is.

        Raises:
            ProviderFault: The provider does not answer, or its ID token is not valid.
        """
        answer = self._exchange(flow, code, url)
        claims = dict(self._verified(answer, flow.nonce))
        if "email" not in claims and isinstance(answer.get("access_token"), str):
            claims |= self._user_info(answer["access_token"], claims["sub"])
        email = claims.get("email")
        verified = claims.get("email_verified", True) in (True, "true")
        return Identity(email if isinstance(email, str) else "", verified, self.name)

    def _exchange(self, flow: Flow, code: str, url: str) -> Mapping[str, Any]:
        place = self._published().addresses
        body = prepare_token_request(
            "authorization_code", code=code, redirect_uri=self.answer_at(url),
            code_verifier=flow.verifier,
        )  # fmt: skip
        known = place.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        basic = "client_secret_basic" in known
        method = "client_secret_basic" if basic else "client_secret_post"
        if not self._client_secret:
            method = "none"
        sender = ClientAuth(self._settings.client_id, self._client_secret, method)
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        address, headers, body = sender.prepare("POST", place["token_endpoint"], headers, body)
        return fetch(address, headers, body.encode())

    def _verified(self, answer: Mapping[str, Any], nonce: str) -> Mapping[str, Any]:
        """Return the claims of the ID token. Raises ProviderFault unless all of it is right."""
        text, ours = answer.get("id_token"), self._settings
        if not isinstance(text, str):
            raise ProviderFault("the answer has no ID token")
        options = {
            "iss": {"essential": True, "value": ours.issuer},
            "aud": {"essential": True, "value": ours.client_id},
        }
        params = {"nonce": nonce, "client_id": ours.client_id}
        params["access_token"] = answer.get("access_token", "")
        try:
            token = self._decoded(text)
            CodeIDToken(token.claims, token.header, options, params).validate(leeway=CLOCK_SECONDS)
        except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ProviderFault(f"the ID token is not valid: {type(error).__name__}") from None
        return token.claims

    def _decoded(self, text: str) -> jwt.Token:
        published = self._published()
        try:
            return jwt.decode(text, published.keys, algorithms=ALGORITHMS)
        except (JoseError, ValueError):
            newer = self._published(NEW_KEYS_SECONDS)
            if newer is published:
                raise
            return jwt.decode(text, newer.keys, algorithms=ALGORITHMS)

    def _user_info(self, access_token: str, subject: str) -> Mapping[str, Any]:
        address = self._published().addresses.get("userinfo_endpoint")
        if not isinstance(address, str):
            return {}
        found = fetch(require_safe(address), {"Authorization": f"Bearer {access_token}"})
        if found.get("sub") != subject:
            raise ProviderFault("the user info is of somebody else")
        return {name: found[name] for name in ("email", "email_verified") if name in found}

    def _published(self, age: float = METADATA_SECONDS) -> Metadata:
        """Return the provider's addresses and keys, read at most `age` seconds ago."""
        with self._lock:
            kept = self._metadata
        if kept is not None and time.monotonic() - kept.read < age:
            return kept
        issuer = self._settings.issuer
        found = fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != issuer:
            raise ProviderFault("the provider names another issuer than course.yaml")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            require_safe(found.get(name))
        try:
            keys = public_keys(fetch(found["jwks_uri"]))
        except (AttributeError, TypeError, KeyError) as error:
            raise ProviderFault("the provider's keys cannot be read") from error
        new = Metadata(found, keys, time.monotonic())
        with self._lock:
            self._metadata = new
        return new


def public_keys(found: Mapping[str, Any]) -> KeySet:
    """Return the keys of a provider that can sign; others in the same list do no harm."""
    keys = []
    for one in found["keys"]:
        if one.get("kty") in ("RSA", "EC", "OKP") and one.get("use", "sig") == "sig":
            try:
                keys.append(import_key(one))
            except (JoseError, ValueError):  # a curve that this version does not know
                continue
    return KeySet(keys)


def require_safe(address: object) -> str:
    """Return an address that is HTTPS, or on this machine. Raises ProviderFault."""
    if not isinstance(address, str) or not is_private_or_https(address):
        raise ProviderFault("the provider names an address without HTTPS")
    return address


class _NoRedirects(HTTPRedirectHandler):
    """An answer from elsewhere is not the provider's."""

    def redirect_request(self, *args: object) -> None:
        return None


def fetch(
    address: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> Mapping[str, Any]:
    """Return the JSON object at an address. Raises ProviderFault."""
    request = Request(address, body, {"Accept": "application/json", **(headers or {})})
    end, data = time.monotonic() + 2 * FETCH_SECONDS, b""
    try:
        with build_opener(_NoRedirects).open(request, timeout=FETCH_SECONDS) as reply:
            while part := reply.read1(1 << 16):
                data += part
                if len(data) > MAX_REPLY or time.monotonic() > end:
                    raise ProviderFault("the provider's answer is too long or too slow")
        found = json.loads(data)
    except (OSError, BadReply, ValueError, RecursionError) as error:
        raise ProviderFault(f"the provider does not answer: {type(error).__name__}") from None
    if not isinstance(found, dict):
        raise ProviderFault("the provider's answer is no JSON object")
    return found


def openid_of(course: Course) -> OpenId | None:
    """Return the sign-in that course.yaml names. Raises LabFault without its secret."""
    settings = course.portal.oidc
    if settings is None:
        return None
    secret = ""
    if settings.secret_file:
        path = course.folder / settings.secret_file
        try:
            secret = path.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            what = "cannot read the secret of `portal: oidc`"
            raise LabFault(what, where=str(path), fix=f"write the file: {error}") from None
    return OpenId(settings, secret, course.secret)
