"""What binds a launch to the browser that began it, without anything kept on the server.

A launch begins with a random proof. Its digest is in `state`, which the portal signs and the
platform repeats; the proof itself stays in the browser: in a cookie or, where a frame gets none, in
the platform's own frame (LTI Client Side postMessages, LTI postMessage Storage). So `state` counts
only together with what the browser kept. The nonce of the same launch is used once (gradebook).

Pages that the portal answers a launch with may have to work in a frame without any cookie, too.
Their forms carry a sealed text that says who sends them and for what.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from grader import dataclass
from grader.portal.lti.refusals import Refused

FLOW_SECONDS = 600
PAGE_SECONDS = 3600
"""How long a page with a choice of labs can be sent."""


class Sealed:
    """Texts that only this course can have written, each of a kind and for a time."""

    def __init__(self, secret: bytes) -> None:
        self._key = OctKey.import_key(hmac.digest(secret, b"portal lti", hashlib.sha256))

    def seal(self, kind: str, values: Mapping[str, Any], seconds: float) -> str:
        """Return a text with these values."""
        text = json.dumps(dict(values))  # ASCII: a platform's text may be no Unicode
        claims = {"is": kind, "of": text, "exp": int(time.time() + seconds)}
        return jwt.encode({"alg": "HS256"}, claims, self._key)

    def opened(self, kind: str, token: str) -> Mapping[str, Any] | None:
        """Return the values of a text of that kind; None when it is not, or too old."""
        try:
            claims = jwt.decode(token, self._key, algorithms=["HS256"]).claims
        except (JoseError, ValueError):
            return None
        if claims.get("is") != kind or claims["exp"] < time.time():
            return None
        values: Mapping[str, Any] = json.loads(claims["of"])
        return values


@dataclass(frozen=True)
class Flow:
    """A launch that is under way.

    Attributes:
        registration: The number of the registration for which it was begun.
        storage: The name of the platform's frame that keeps the proof; "" when it offers none.
    """

    registration: int
    nonce: str
    storage: str
    digest: str
    state: str

    @property
    def id(self) -> str:
        """A name for the proof where it is kept, of several launches in one browser."""
        return _sha256(self.state)[:16]

    @property
    def cookie(self) -> str:
        """The name of the cookie with the proof."""
        return f"warpgrade-lti-{self.id}"

    def is_proven(self, proof: str) -> bool:
        """Whether this is what the browser that began the launch has kept."""
        return bool(proof) and hmac.compare_digest(_sha256(proof), self.digest)


def begin(sealed: Sealed, registration: int, storage: str) -> tuple[Flow, str]:
    """Return a new launch, and the proof that the browser has to keep."""
    nonce, proof = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    values = {"r": registration, "n": nonce, "s": storage, "d": _sha256(proof)}
    return _flow(values, sealed.seal("state", values, FLOW_SECONDS)), proof


def flow_of(sealed: Sealed, state: str) -> Flow:
    """Return the launch that a state belongs to. Raises Refused."""
    if not state:
        raise Refused("state-missing")
    values = sealed.opened("state", state)
    if values is None:
        raise Refused("state-unknown")
    return _flow(values, state)


def _flow(values: Mapping[str, Any], state: str) -> Flow:
    return Flow(values["r"], values["n"], values["s"], values["d"], state)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
