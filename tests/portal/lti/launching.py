"""A learning platform on loopback that launches: it signs messages, and its pages have frames.

A test may change what it signs (`alter`), how (`signed`), and which keys it publishes.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape, unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jws

from grader.gradebook.lti import NewRegistration, Registration
from grader.portal.lti.messages import DEEP_LINKING, GRADES, LTI, MEMBERS
from tests.portal.made import LAB, Reply, Served, Visit
from tests.portal.provider import signing_key

CLIENT, DEPLOYMENT, CONTEXT = "tool-7", "deployment-1", "course-42"
ROLE = "http://purl.imsglobal.org/vocab/lis/v2/membership#"
INSTITUTION = "http://purl.imsglobal.org/vocab/lis/v2/institution/person#"
SYSTEM = "http://purl.imsglobal.org/vocab/lis/v2/system/person#"
Claims = dict[str, Any]


class Platform:
    """What the platform says and was asked.

    `claims` are a good student's launch of a link to the lab, without what each launch has anew.
    """

    def __init__(self, port: int, name: str = "127.0.0.1") -> None:
        self.url = f"http://{name}:{port}"
        self.key = signing_key("platform", kid="key-1", use="sig", alg="RS256")
        self.published: list[Any] = [dict(self.key.as_dict(private=False))]
        self.alter: Callable[[Claims], None] = lambda claims: None
        self.signed: Callable[[Claims], str] = self.sign
        self.asked: list[str] = []
        self.pages: dict[str, str] = {}
        self.launch_at, self.user, self.hold = "", "ada", False
        self.posted: list[dict[str, str]] = []

    def sign(self, claims: Claims, **header: Any) -> str:
        """The token; a header of None is left out."""
        whole = {"alg": "RS256", "kid": self.key.kid, "typ": "JWT", **header}
        whole = {name: value for name, value in whole.items() if value is not None}
        return jws.serialize_compact(whole, json.dumps(claims).encode(), self.key)

    def claims(self, nonce: str, to: str, user: str = "ada") -> Claims:
        now = int(time.time())
        role = "Instructor" if user in ("lead", "ta") else "Learner"
        return {
            "iss": self.url, "aud": CLIENT, "sub": f"user-{user}", "iat": now, "exp": now + 300,
            "nonce": nonce, "name": user.title(), "given_name": user.title(),
            "family_name": "Example", "email": f"{user}@example.org",
            f"{LTI}message_type": "LtiResourceLinkRequest", f"{LTI}version": "1.3.0",
            f"{LTI}deployment_id": DEPLOYMENT, f"{LTI}target_link_uri": to,
            f"{LTI}resource_link": {"id": "link-1", "title": "The first kernel"},
            f"{LTI}roles": [ROLE + role],
            f"{LTI}context": {"id": CONTEXT, "label": "CUDA", "title": "CUDA"},
            f"{LTI}custom": {"lab": LAB},
            f"{LTI}launch_presentation": {
                "document_target": "iframe", "return_url": f"{self.url}/back"},
            GRADES: {"scope": ["https://purl.imsglobal.org/spec/lti-ags/scope/score"],
                     "lineitems": f"{self.url}/items", "lineitem": f"{self.url}/items/1"},
            MEMBERS: {"context_memberships_url": f"{self.url}/members"},
        }  # fmt: skip

    def deep_linking(self, claims: Claims, **settings: Any) -> None:
        """Make a message one that asks for links."""
        del claims[f"{LTI}resource_link"], claims[f"{LTI}custom"]
        claims[f"{LTI}message_type"] = "LtiDeepLinkingRequest"
        claims[f"{DEEP_LINKING}deep_linking_settings"] = {
            "deep_link_return_url": f"{self.url}/links",
            "accept_types": ["link", "ltiResourceLink"],
            "accept_presentation_document_targets": ["iframe"], "data": "opaque \u00e9 data",
            **settings,
        }  # fmt: skip

    def answer_of(self, address: str, user: str = "") -> dict[str, str]:
        """Sign a user in at an address that the portal leads to; return the form for the portal."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.url}/auth?")
        fixed = {"scope": "openid", "response_type": "id_token", "response_mode": "form_post",
                 "prompt": "none", "client_id": CLIENT}  # fmt: skip
        assert {name: asked[name] for name in fixed} == fixed
        self.launch_at = asked["redirect_uri"]
        to = asked["redirect_uri"].removesuffix("/lti/launch")
        claims = self.claims(asked["nonce"], to + "/lti/launch", user or asked["login_hint"])
        self.alter(claims)
        return {"state": asked["state"], "id_token": self.signed(claims)}

    def page(self, path: str, query: str, body: str) -> tuple[int, str, str]:
        """Answer a request: status, type and text."""
        self.asked.append(path)
        if path == "/keys":
            return 200, "application/json", json.dumps({"keys": self.published})
        if path == "/auth":
            fields = self.answer_of(f"{self.url}/auth?{query}")
            hidden = "".join(
                f'<input name="{name}" value="{escape(value)}">' for name, value in fields.items()
            )
            send = "" if self.hold else "<script>document.forms[0].submit()</script>"
            form = f'<form method="post" action="{self.launch_at}">{hidden}</form>{send}'
            return 200, "text/html", form
        if path == "/links":
            self.posted.append({name: values[0] for name, values in parse_qs(body).items()})
            return 200, "text/html", "<h1>The links are added</h1>"
        if path in self.pages:
            return 200, "text/html", self.pages[path]
        return 404, "text/plain", "there is no such page"

    def registered(self, course: Served, author: str = "test") -> Registration:
        """Register the portal here, with one deployment."""
        own = NewRegistration(
            self.url, CLIENT, "Example LMS", f"{self.url}/auth", f"{self.url}/token",
            f"{self.url}/keys",
        )  # fmt: skip
        made = course.book.lti.register(own, author)
        course.book.lti.deploy(made.id, DEPLOYMENT, author)
        return made


@contextmanager
def launching(name: str = "127.0.0.1") -> Iterator[Platform]:
    """Serve a platform until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            code, kind, text = made.page(parts.path, parts.query, body)
            data = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Platform(server.server_address[1], name)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Learner(Visit):
    """A browser that follows a platform to the portal; `dest` is what it opens pages in."""

    def __init__(self, port: int, platform: Platform, dest: str = "document") -> None:
        super().__init__(port)
        self.platform, self.dest = platform, dest

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        headers.setdefault("Sec_Fetch_Dest", self.dest)
        return super().ask(method, path, body, **headers)

    def send(self, path: str, fields: Any, **headers: str) -> Reply:
        """Send a form of another page; `fields` may have a name twice."""
        kind = {"Content_Type": "application/x-www-form-urlencoded", **headers}
        body = urlencode(fields, doseq=True, errors="surrogatepass").encode()
        return self.ask("POST", path, body, **kind)

    def begin(self, url: str, user: str = "ada", method: str = "GET", **more: str) -> Reply:
        """Begin a launch as the platform does."""
        given = {"iss": self.platform.url, "login_hint": user, "client_id": CLIENT,
                 "target_link_uri": f"{url}/lti/launch", **more}  # fmt: skip
        given = {name: value for name, value in given.items() if value}
        if method == "POST":
            return self.send("/lti/login", given)
        return self.get(f"/lti/login?{urlencode(given, errors='surrogatepass')}")

    def launch(self, url: str, user: str = "ada", **more: str) -> Reply:
        """Launch, from the beginning to the portal's answer."""
        begun = self.begin(url, user, **more)
        assert begun.code in (200, 303), begun.text
        return self.send("/lti/launch", self.platform.answer_of(next_of(begun)))


def next_of(reply: Reply) -> str:
    """Where the portal leads to the platform."""
    found = re.search(r'data-to="([^"]*)"', reply.text) if reply.code == 200 else None
    return unescape(found[1]) if found else reply.to


def reason_of(reply: Reply) -> str:
    """The reason for which a launch was refused; "" for none."""
    found = re.search(r"Reason: <code>([a-z-]+)</code>", reply.text)
    return found[1] if found else ""


def hidden(reply: Reply) -> dict[str, str]:
    """The hidden fields of a page's form."""
    found = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', reply.text)
    return {name: unescape(value) for name, value in found}


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def fresh() -> str:
    return secrets.token_hex(4)
