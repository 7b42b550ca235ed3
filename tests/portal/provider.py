"""A small OpenID Connect provider on loopback, with keys of its own, that can be told to lie."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import RSAKey

CLIENT, SECRET = "warpgrade", "provider-client-secret"


@cache
def signing_key(name: str, **fields: str) -> RSAKey:
    """Return the key of that name, for all tests: to make one takes 0.1 s of processor time."""
    return RSAKey.generate_key(2048, dict(fields))


class Provider:
    """What the provider says, and what it was asked. A test changes the attributes.

    `claims` are the last ID token's own; `alter` may change claims; `signed` makes the token.
    """

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}"
        self.key = signing_key("provider", kid="1", use="sig", alg="RS256")
        self.published: list[Any] = [self.key.as_dict(private=False)]
        self.metadata: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
        }
        self.user: dict[str, Any] = {"sub": "u1", "email": "ada@example.org"}
        self.user_info: dict[str, Any] = {}
        self.alter: Callable[[dict[str, Any]], None] = lambda claims: None
        self.signed: Callable[[dict[str, Any]], str] = self.sign
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []

    def sign(self, claims: dict[str, Any]) -> str:
        header = {"alg": "RS256", "kid": self.key.kid}
        return jws.serialize_compact(header, json.dumps(claims).encode(), self.key)

    def authorize(self, address: str) -> str:
        """Sign the user in at an address of the portal's making; return where that leads."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert asked["code_challenge_method"] == "S256" and "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'state': asked['state'], 'code': code})}"

    def token(self, fields: dict[str, str], authorization: str) -> tuple[int, Any]:
        """Exchange a code, once, for the client that began and has the verifier."""
        asked = self.codes.pop(fields.get("code", ""), None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        proof = hashlib.sha256(fields.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(proof).decode().rstrip("=")
        good = asked is not None and authorization == f"Basic {basic}"
        good = good and asked["code_challenge"] == challenge
        if not good or asked["redirect_uri"] != fields["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 60, **self.user}
        claims["nonce"] = asked["nonce"]
        self.alter(claims)
        answer = {"access_token": "access", "token_type": "Bearer", "id_token": self.signed(claims)}
        return 200, answer

    def answer(self, path: str, body: str, authorization: str) -> tuple[int, Any]:
        self.asked.append(path)
        if path == "/.well-known/openid-configuration":
            return 200, self.metadata
        if path == "/keys":
            return 200, {"keys": self.published}
        if path == "/token":
            fields = {name: values[0] for name, values in parse_qs(body).items()}
            return self.token(fields, authorization)
        if path == "/user" and authorization == "Bearer access":
            return 200, self.user_info
        return 404, {}


@contextmanager
def provider() -> Iterator[Provider]:
    """Serve a provider until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length).decode()
            code, value = made.answer(self.path, body, self.headers.get("Authorization", ""))
            data = json.dumps(value).encode()
            self.send_response(code)
            if code == 302:
                self.send_header("Location", value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Provider(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
