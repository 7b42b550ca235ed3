"""A learning platform on loopback that is as strict as any, and that fails in every way.

It has the rules of several platforms at once: Canvas's (a user of the course, both progress fields,
a newer time, when the work was submitted), Blackboard's (no time without a zone), Open edX's (whole
points of a line item). It never makes two line items one.
"""

from __future__ import annotations

import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import Key, KeySet

from grader.portal.lti.scores import CANVAS_SUBMISSION

AGS = "https://purl.imsglobal.org/spec/lti-ags/scope/"
NRPS = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
SCOPES = (AGS + "lineitem", AGS + "score", AGS + "result.readonly")
ACTIVITY = ("Initialized", "Started", "InProgress", "Submitted", "Completed")
GRADING = ("FullyGraded", "Pending", "PendingManual", "Failed", "NotReady")
CLIENT = "warpgrade-client"

FAULTS = (
    "500", "503", "429", "drop", "drop after", "junk after", "401", "huge", "302", "404 page",
    "half after",
)  # fmt: skip
"""What may go wrong with one request; `after`: when the platform has done what it was asked."""


class Refused(Exception):
    """The platform refuses a request; `code` is the answer's."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


@dataclass
class Item:
    """A line item with the newest score of each user."""

    number: int
    value: dict[str, Any]
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class Platform:
    """What the platform has, and how it behaves. A test changes the attributes.

    Attributes:
        keys: The public keys of the course.
        members: The users of the platform's course, as its membership service lists them.
        fault: What goes wrong with a request, by its kind: `token`, `items`, `make`, `score`,
            `results` or `members`; "" for nothing.
        page: How many records a page has.
        filters: Whether it looks at the parameters of a list.
        keeps_link: Whether line items keep the link that they are made for.
        history: Every score that it has stored: the line item, the message.
        kill: Ends the process that asks; the faults `kill` and `kill after` call it.
        now: The platform's clock.
    """

    address: str
    keys: Callable[[], KeySet]
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    fault: Callable[[str], str] = lambda kind: ""
    page: int = 2
    filters: bool = True
    keeps_link: bool = True
    token_seconds: float = 3600.0
    items: list[Item] = field(default_factory=list)
    history: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    tokens: dict[str, tuple[set[str], float]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    kill: Callable[[], None] = lambda: None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    @property
    def token_url(self) -> str:
        return f"{self.address}/token"

    @property
    def items_url(self) -> str:
        return f"{self.address}/course/7/items?kind=all"

    @property
    def members_url(self) -> str:
        return f"{self.address}/course/7/members"

    def shown(self, number: int = 0) -> dict[str, tuple[float, float]]:
        """What the students see at a line item: points and full marks."""
        with self.lock:
            return {
                user: (one["scoreGiven"], one["scoreMaximum"])
                for user, one in self.items[number].scores.items()
                if one.get("scoreGiven") is not None and one["gradingProgress"] == "FullyGraded"
            }

    def token(self, form: dict[str, str]) -> Any:
        """Check an assertion as RFC 7523 says, and give a token."""
        if form.get("grant_type") != "client_credentials":
            raise Refused(400, "unsupported_grant_type")
        try:
            claims = jwt.decode(form["client_assertion"], self.keys(), algorithms=["RS256"]).claims
        except (JoseError, ValueError, KeyError):
            raise Refused(401, "invalid_client") from None
        good = claims["iss"] == claims["sub"] == CLIENT and claims["aud"] == self.token_url
        if not good or not time.time() - 60 < claims["exp"] < time.time() + 600:
            raise Refused(401, f"invalid_client: {form['client_assertion']}")
        scopes = set(form["scope"].split()) & {*SCOPES, NRPS}
        token = secrets.token_urlsafe(16)
        self.tokens[token] = (scopes, time.time() + self.token_seconds)
        return {
            "access_token": token, "token_type": "Bearer", "expires_in": self.token_seconds,
            "scope": " ".join(sorted(scopes)),
        }  # fmt: skip

    def require(self, authorization: str, *scopes: str) -> None:
        found, ends = self.tokens.get(authorization.removeprefix("Bearer "), (set(), 0.0))
        if ends < time.time():
            raise Refused(401, f"no token: {authorization}")
        if not found & set(scopes):
            raise Refused(403, "insufficient_scope")

    def listed(self, rows: list[Any], address: str) -> tuple[Any, str]:
        """Return a page of a list and the address of the next one."""
        parts = urlsplit(address)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        begin = int(query.pop("page", "0")) * self.page
        more = begin + self.page < len(rows)
        following = {**query, "page": str(begin // self.page + 1)}
        link = f"{self.address}{parts.path}?{urlencode(following)}" if more else ""
        return rows[begin : begin + self.page], link

    def list_items(self, address: str) -> tuple[Any, str]:
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        rows = [self.shape(one) for one in self.items]
        names = {"resource_link_id": "resourceLinkId", "resource_id": "resourceId", "tag": "tag"}
        for name, key in names.items():
            if self.filters and name in query:
                rows = [one for one in rows if one.get(key) == query[name]]
        return self.listed(rows, address)

    def shape(self, item: Item) -> dict[str, Any]:
        """A line item as the platform shows it; its address has a query, as Moodle's have."""
        return {**item.value, "id": f"{self.address}/course/7/items/{item.number}/item?type=3"}

    def make_item(self, value: Any) -> Any:
        wanted = {"label": str, "scoreMaximum": int, "resourceId": str}
        if any(type(value.get(name)) is not kind for name, kind in wanted.items()):
            raise Refused(400, f"a line item needs {wanted}")
        if not self.keeps_link:
            value = {k: v for k, v in value.items() if k != "resourceLinkId"}
        self.items.append(Item(len(self.items), value))
        return self.shape(self.items[-1])

    def store(self, number: int, message: Any) -> None:
        """Store a score. Raises Refused for one that some platform refuses."""
        user, stamp = message.get("userId"), moment(message.get("timestamp"))
        if not isinstance(user, str) or user not in self.members:
            raise Refused(422, "User not found in course or is not a student")
        if message.get("activityProgress") not in ACTIVITY:
            raise Refused(400, "activityProgress is missing")
        if message.get("gradingProgress") not in GRADING:
            raise Refused(400, "gradingProgress is missing")
        given, most = message.get("scoreGiven"), message.get("scoreMaximum")
        if given is not None:
            if type(given) not in (int, float) or given < 0 or most is None or not most > 0:
                raise Refused(422, "scoreGiven and scoreMaximum")
            work = message.get(CANVAS_SUBMISSION, {})
            sent = work.get("submitted_at")
            if sent is not None and moment(sent) > self.now() + timedelta(minutes=1):
                raise Refused(400, "submitted_at in the future")
        item = self.items[number]
        before = item.scores.get(user)
        if before is not None and stamp <= moment(before["timestamp"]):
            raise Refused(400, "timestamp before last updated timestamp")
        item.scores[user] = message
        self.history.append((number, message))

    def results(self, number: int, address: str) -> tuple[Any, str]:
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        rows = [
            {"userId": user, "resultScore": points, "resultMaximum": most}
            for user, (points, most) in self.shown(number).items()
        ]
        if self.filters and "user_id" in query:
            rows = [one for one in rows if one["userId"] == query["user_id"]]
        return self.listed(rows, address)

    def answer(
        self, kind: str, address: str, body: bytes, bearer: str
    ) -> tuple[int, Any, str]:  # fmt: skip
        """Return the code, the value and the next page of a request."""
        if kind == "token":
            fields = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            return 200, self.token(fields), ""
        if kind == "items":
            self.require(bearer, AGS + "lineitem", AGS + "lineitem.readonly")
            return 200, *self.list_items(address)
        if kind == "make":
            self.require(bearer, AGS + "lineitem")
            return 201, self.make_item(json.loads(body)), ""
        if kind == "members":
            self.require(bearer, NRPS)
            rows, following = self.listed(list(self.members.values()), address)
            return 200, {"id": self.members_url, "context": {"id": "7"}, "members": rows}, following
        number = int(urlsplit(address).path.split("/")[4])
        if number >= len(self.items):
            raise Refused(404, "The specified resource does not exist")
        if kind == "score":
            self.require(bearer, AGS + "score")
            self.store(number, json.loads(body))
            return 200, {"resultUrl": "x"}, ""
        self.require(bearer, AGS + "result.readonly")
        return 200, *self.results(number, address)


def moment(text: Any) -> datetime:
    """Read a time. Raises Refused without a zone."""
    try:
        found = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        raise Refused(400, f"not a time: {text}") from None
    if found.tzinfo is None:
        raise Refused(400, "a time without a zone")
    return found


def kind_of(method: str, path: str) -> str:
    if path == "/token":
        return "token"
    last = path.rpartition("/")[2]
    known = {"items": "make" if method == "POST" else "items", "scores": "score"}
    return known.get(last, last)


class Handler(BaseHTTPRequestHandler):
    """One request: the platform answers, and the fault of the moment spoils it."""

    made: Platform
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = kind_of(self.command, urlsplit(self.path).path)
        with self.made.lock:
            self.made.asked.append(kind)
            fault = self.made.fault(kind)
        if fault and not fault.endswith("after"):
            self.spoil(fault)
            return
        following = ""
        with self.made.lock:
            try:
                code, value, following = self.made.answer(
                    kind, self.path, body, self.headers.get("Authorization", "")
                )
            except Refused as refused:
                code, value = refused.code, {"error": refused.why}
                self.made.wrong.append(f"{kind}: {refused.code} {refused.why}")
        if fault:
            self.spoil(fault)
            return
        self.reply(code, json.dumps(value).encode(), following)

    do_POST = do_GET

    def reply(self, code: int, data: bytes, following: str = "", **headers: str) -> None:
        self.send_response(code)
        if following:
            self.send_header("Link", f'<{self.made.address}/first>; rel="first"')
            self.send_header("Link", f'<{following}>; rel="next"')
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def spoil(self, fault: str) -> None:
        """Answer as a platform does that fails."""
        if fault.startswith("drop"):
            self.connection.shutdown(socket.SHUT_RDWR)
        elif fault.startswith("kill"):
            self.made.kill()
        elif fault == "slow":
            time.sleep(1.0)
        elif fault == "half after":
            self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: 900\r\n\r\n[{")
        elif fault == "junk after":
            self.reply(200, b"<html>Down for maintenance</html>")
        elif fault == "huge":
            self.reply(200, b" " * (3 << 20))
        elif fault == "429":
            self.reply(429, b"slow down", Retry_After="30")
        elif fault == "302":
            self.reply(302, b"", Location=f"{self.made.address}/login")
        elif fault == "404 page":
            self.reply(404, b"<html><h1>Not here</h1></html>")
        else:
            self.reply(int(fault), b"an error")

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def platform(keys: Callable[[], Key]) -> Iterator[Platform]:
    """Serve a platform until the block ends; `keys` returns the key of the course."""

    class Own(Handler):
        pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    made = Platform(
        f"http://127.0.0.1:{server.server_address[1]}", lambda: KeySet([keys()])
    )  # fmt: skip
    Own.made = made
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
