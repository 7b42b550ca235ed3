"""Requests to the services of a learning platform: access tokens, limits, and kinds of errors.

A token is asked for with a signed assertion (`private_key_jwt`, RFC 7523), for one scope, and kept
until shortly before it ends. It is sent to the origin of an address that a verified launch named,
and nowhere else: no redirect is followed, and a page that names a next page elsewhere is refused.
What a platform says is untrusted: its size, its time and its text are limited.
"""

from __future__ import annotations

import json
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPSConnection
from http.client import HTTPException as BadReply
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    Request,
    build_opener,
)

from joserfc import jwt
from joserfc.jwk import Key

from grader import dataclass, regex
from grader.gradebook.course_schema import is_private_or_https

READ_SECONDS = 10.0
"""How long one read may wait."""

REQUEST_SECONDS = 20.0
"""How long a request may take, from the first byte sent to the last one read."""

MAX_REPLY = 2 << 20
MAX_PAGES = 200
MAX_WORDS = 300
"""Characters of what a platform says that are shown."""

EARLY_SECONDS = 60.0
"""How long before its end a token is not used any more."""

TOKEN_SECONDS = 300.0
"""How long a token is used whose end the platform does not say."""

ASSERTION_SECONDS = 60
LONGEST_WAIT = 6 * 3600.0
"""The longest wait in seconds that a platform may ask for."""

_TEMPORARY = frozenset((408, 409, 425, 429))
"""Codes besides 5xx after which the same request may succeed."""

_TOKENS = regex(r"[\w-]{16,}\.[\w-]{16,}\.[\w-]+|(?<=Bearer )\S+")
_NEXT = regex(r"<([^<>]*)>\s*;([^,<]*)")
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class PlatformFault(Exception):
    """A platform did not do what it was asked.

    Attributes:
        what: What happened, with the platform's words, in one line without secrets.
        temporary: Whether the same request may succeed later.
        wait: The seconds that the platform asks to wait; None when it asks for none.
        status: The code of the answer; 0 without one.
        whole: Whether it concerns everything that is sent to the platform, not one request.
    """

    def __init__(
        self, what: str, *, temporary: bool, wait: float | None = None, status: int = 0,
        whole: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(what)
        self.what, self.temporary, self.wait = what, temporary, wait
        self.status, self.whole = status, whole


@dataclass(frozen=True)
class Access:
    """How the course proves to one platform who it is.

    Attributes:
        client_id: The course's name at the platform.
        token_url: Where access tokens are given.
        audience: What an assertion has as `aud`; "" for `token_url`.
        key: The private key, with the ID under which the course publishes it.
    """

    client_id: str
    token_url: str
    audience: str
    key: Key = field(repr=False)


@dataclass(frozen=True)
class Reply:
    """The answer to a request that succeeded: its code, its content and its `Link: rel="next"`."""

    status: int
    data: bytes = field(repr=False)
    next: str = ""

    def json(self) -> Any:
        """Return the content. Raises PlatformFault, a temporary one, for what is no JSON."""
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError):
            words = _words(self.data, ())
            raise PlatformFault(f"the answer is no JSON: {words}", temporary=True) from None


class Client:
    """The services of one platform for one course; safe to share between threads."""

    def __init__(self, access: Access, clock: Callable[[], float] = time.time) -> None:
        self._access, self._clock = access, clock
        self._tokens: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def get(self, address: str, scope: str, kind: str) -> Reply:
        """Read what is at an address; `kind` is its media type. Raises PlatformFault."""
        return self._call(scope, "GET", address, {"Accept": kind}, None)

    def post(self, address: str, scope: str, kind: str, value: Any) -> Reply:
        """Send a value as JSON of the media type `kind`. Raises PlatformFault."""
        headers = {"Content-Type": kind, "Accept": f"{kind}, application/json"}
        return self._call(scope, "POST", address, headers, json.dumps(value).encode())

    def pages(self, address: str, scope: str, kind: str) -> Iterator[Any]:
        """Yield the value of each page, from an address on. Raises PlatformFault."""
        seen = set[str]()
        while address:
            seen.add(address)
            reply = self.get(address, scope, kind)
            yield reply.json()
            following = joined(address, reply.next) if reply.next else ""
            if following and (following in seen or len(seen) >= MAX_PAGES):
                raise PlatformFault("the platform's pages have no end", temporary=False)
            address = following

    def _call(
        self, scope: str, method: str, address: str, headers: Mapping[str, str],
        body: bytes | None,
    ) -> Reply:  # fmt: skip
        """Send a request with a token; once more with a new one when the platform refuses it."""
        require_safe(address)
        token, is_kept = self._token(scope)
        try:
            return _send(method, address, _bearer(headers, token), body, (token,))
        except PlatformFault as fault:
            if fault.status != 401:
                raise
            with self._lock:
                self._tokens.pop(scope, None)
            if not is_kept:
                raise
        token, _ = self._token(scope)
        return _send(method, address, _bearer(headers, token), body, (token,))

    def _token(self, scope: str) -> tuple[str, bool]:
        """Return a token for a scope, and whether it was kept from an earlier request."""
        with self._lock:  # also while asking: one token is enough for all threads
            token, ends = self._tokens.get(scope, ("", 0.0))
            if token and self._clock() < ends:
                return token, True
            token, seconds = self._ask(scope)
            self._tokens[scope] = (token, self._clock() + max(0.0, seconds - EARLY_SECONDS))
            return token, False

    def _ask(self, scope: str) -> tuple[str, float]:
        """Ask the platform for a token; return it and how many seconds it is valid."""
        access, now = self._access, int(self._clock())
        require_safe(access.token_url)
        claims = {
            "iss": access.client_id, "sub": access.client_id,
            "aud": access.audience or access.token_url, "iat": now - 5,
            "exp": now + ASSERTION_SECONDS, "jti": secrets.token_urlsafe(16),
        }  # fmt: skip
        header = {"alg": "RS256", "typ": "JWT", "kid": access.key.kid}
        assertion = jwt.encode(header, claims, access.key)
        form = {
            "grant_type": "client_credentials", "client_assertion_type": _ASSERTION,
            "client_assertion": assertion, "scope": scope,
        }  # fmt: skip
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        try:
            reply = _send("POST", access.token_url, kind, urlencode(form).encode(), (assertion,))
            return _read_token(reply.json(), scope)
        except PlatformFault as fault:
            what = f"no access token: {fault.what}"
            raise PlatformFault(
                what, temporary=fault.temporary, wait=fault.wait, status=fault.status, whole=True
            ) from None


def _bearer(headers: Mapping[str, str], token: str) -> Mapping[str, str]:
    return {**headers, "Authorization": f"Bearer {token}"}


def _read_token(value: Any, scope: str) -> tuple[str, float]:
    """Return a token and its seconds from an answer. Raises PlatformFault."""
    token = value.get("access_token") if isinstance(value, dict) else None
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
        raise PlatformFault("the answer has no token", temporary=True)
    granted = value.get("scope")
    if isinstance(granted, str) and granted and scope not in granted.split():
        raise PlatformFault(f"the platform does not grant {scope}", temporary=False)
    seconds = value.get("expires_in", TOKEN_SECONDS)
    if isinstance(seconds, str) and seconds.isdecimal():
        seconds = float(seconds)
    is_number = isinstance(seconds, int | float) and 0 <= seconds < 1e9
    return token, float(seconds) if is_number else TOKEN_SECONDS


def origin_of(address: str) -> tuple[str, str]:
    """Return the scheme and the host with its port of an address, as they are compared."""
    parts = urlsplit(address)
    return parts.scheme.lower(), parts.netloc.lower()


def require_safe(address: str) -> str:
    """Return an address that is HTTPS, or on this machine. Raises PlatformFault."""
    if not is_private_or_https(address):
        raise PlatformFault("the platform names an address without HTTPS", temporary=False)
    return address


def joined(base: str, named: str) -> str:
    """Return the address that a platform names at another one of its own. Raises PlatformFault."""
    try:
        address = urljoin(base, named)
    except ValueError:
        raise PlatformFault("the platform names no address", temporary=False) from None
    if origin_of(require_safe(address)) != origin_of(base):
        raise PlatformFault("the platform names an address at another host", temporary=False)
    return address


class _NoRedirects(HTTPRedirectHandler):
    """A token must not go where a redirect leads."""

    def redirect_request(self, *args: object) -> None:
        return None


class _Http(HTTPHandler):
    """HTTP on connections that a deadline can end."""

    def __init__(self, opened: list[HTTPConnection]) -> None:
        super().__init__()
        self._opened = opened

    def http_open(self, request: Request) -> Any:
        """Open a request."""
        return self.do_open(self._made, request)

    def _made(self, host: str, **options: Any) -> HTTPConnection:
        self._opened.append(HTTPConnection(host, **options))
        return self._opened[-1]


class _Https(HTTPSHandler):
    """HTTPS on connections that a deadline can end."""

    def __init__(self, opened: list[HTTPConnection]) -> None:
        super().__init__()
        self._opened = opened

    def https_open(self, request: Request) -> Any:
        """Open a request."""
        return self.do_open(self._made, request)

    def _made(self, host: str, **options: Any) -> HTTPConnection:
        self._opened.append(HTTPSConnection(host, **options))
        return self._opened[-1]


@contextmanager
def _ended_in(seconds: float, opened: list[HTTPConnection]) -> Iterator[None]:
    """End the connections after that many seconds: a sender of single bytes passes other limits."""

    def end() -> None:
        for one in opened:
            if one.sock is not None:
                with suppress(OSError):
                    one.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _send(
    method: str, address: str, headers: Mapping[str, str], body: bytes | None,
    secret: tuple[str, ...],
) -> Reply:  # fmt: skip
    """Send one request; `secret` are texts that no message may repeat. Raises PlatformFault."""
    opened: list[HTTPConnection] = []
    opener = build_opener(_NoRedirects, _Http(opened), _Https(opened))
    end = time.monotonic() + REQUEST_SECONDS
    try:
        request = Request(address, body, dict(headers), method=method)
        with _ended_in(REQUEST_SECONDS, opened):
            try:
                with opener.open(request, timeout=READ_SECONDS) as reply:
                    links = ", ".join(reply.headers.get_all("Link", ()))
                    return Reply(reply.status, _read(reply, end), _next_of(links))
            except HTTPError as refused:
                with refused:
                    raise _refusal(refused, secret, end) from None
    except (OSError, BadReply, ValueError) as error:
        what = f"the platform does not answer: {type(error).__name__}"
        raise PlatformFault(what, temporary=True) from None


def _read(reply: Any, end: float) -> bytes:
    """Read an answer. Raises PlatformFault for one that is too long or too slow."""
    data = bytearray()
    while part := reply.read1(1 << 16):
        data += part
        if len(data) > MAX_REPLY or time.monotonic() > end:
            raise PlatformFault("the answer is too long or too slow", temporary=True)
    return bytes(data)


def _refusal(refused: HTTPError, secret: tuple[str, ...], end: float) -> PlatformFault:
    """Return the fault for an answer with another code than 2xx."""
    code = refused.code
    if 300 <= code < 400:
        return PlatformFault(f"{code}: the platform redirects", temporary=False, status=code)
    try:
        words = _words(_read(refused, end), secret)
    except (OSError, BadReply, PlatformFault):
        words = ""
    said = f"{code} {words or refused.reason}"
    temporary = code >= 500 or code in _TEMPORARY
    wait = _wait(refused.headers.get("Retry-After", "")) if temporary else None
    return PlatformFault(said.strip(), temporary=temporary, wait=wait, status=code)


def _wait(text: str) -> float | None:
    """Return the seconds of a Retry-After: a number or a date; None for neither."""
    if text.strip().isdecimal() and len(text) < 10:
        return min(float(text), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - datetime.now(UTC)).total_seconds()), LONGEST_WAIT)


def _words(data: bytes, secret: tuple[str, ...]) -> str:
    """Return what a platform says in one short line, without tokens, marks and control characters.

    A page is shown without its tags.
    """
    text = data.decode("utf-8", "replace")
    for one in secret:
        text = text.replace(one, "…")
    text = text[:4096]
    text = _TOKENS.sub("…", re.sub(r"<[^<>]{0,2000}>", " ", text))
    shown = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(shown.split())[:MAX_WORDS]


def _next_of(link: str) -> str:
    """Return the address of `rel="next"` in a Link header; "" for none."""
    for found in _NEXT.finditer(link[: 1 << 14]):
        if re.search(r"""\brel\s*=\s*["']?[^"';]*\bnext\b""", found[2], re.IGNORECASE):
            return found[1].strip()
    return ""
