"""A platform made of `lti1p3platform`, a library for platforms that others wrote, on loopback.

The library signs launches, gives tokens, checks them and serves line items, scores, results and
members. What it leaves to a platform is here: where things are stored, and HTTP.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from lti1p3platform.exceptions import LineItemNotFoundException
from lti1p3platform.ltiplatform import LTI1P3PlatformConfAbstract
from lti1p3platform.membership import Context
from lti1p3platform.message_launch import LTIAdvantageMessageLaunchAbstract
from lti1p3platform.oidc_login import OIDCLoginAbstract
from lti1p3platform.registration import Registration
from lti1p3platform.request import Request
from lti1p3platform.response import Response, generate_next_link
from lti1p3platform.score import UpdateScoreStatus
from lti1p3platform.service_connector import AssignmentsGradesService, NamesRoleProvisioningService

CLIENT, DEPLOYMENT, CONTEXT, RESOURCE = "client-9", "deployed", "course-9", "placement-1"
MEMBERSHIP = "http://purl.imsglobal.org/vocab/lis/v2/membership#"
PAGE = 2


class Asked(Request):
    """A request as the library takes it."""

    def build_metadata(self, request: Any) -> Any:
        return request


class Platform(LTI1P3PlatformConfAbstract):
    """What the platform stores; `tool` is the address of the portal."""

    def init_platform_config(self, address: str, tool: str) -> None:
        self.address, self.tool = address, tool
        self.items: dict[str, dict[str, Any]] = {}
        self.scores: dict[tuple[str, str], dict[str, Any]] = {}
        self.links: list[Any] = []
        self.asked: list[str] = []
        self.lock = threading.RLock()
        self.people = {
            who: {"user_id": f"u-{who}", "email": f"{who}@example.org", "name": who.title(),
                  "roles": [MEMBERSHIP + role]}
            for who, role in (("ada", "Learner"), ("ben", "Learner"), ("lead", "Instructor"))
        }  # fmt: skip
        key = rsa.generate_private_key(65537, 2048)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()  # fmt: skip
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        one = Registration().set_iss(address).set_client_id(CLIENT).set_deployment_id(DEPLOYMENT)
        one.set_launch_url(f"{tool}/lti/launch").set_deeplink_launch_url(f"{tool}/lti/launch")
        one.set_oidc_login_url(f"{tool}/lti/login").set_tool_key_set_url(f"{tool}/lti/keys")
        one.set_platform_private_key(private).set_platform_public_key(public.decode())
        self._registration = one

    def get_registration_by_params(self, **kwargs: Any) -> Registration:
        return self._registration


class Login(OIDCLoginAbstract):
    def set_lti_message_hint(self, **kwargs: Any) -> None:
        self._lti_message_hint = kwargs["hint"]

    def get_redirect(self, url: str) -> str:
        return url


class Launch(LTIAdvantageMessageLaunchAbstract):
    """A launch of a user; the hint `deep` makes it a deep linking request."""

    def prepare_launch(self, preflight_response: Any) -> None:
        platform: Any = self._platform_config
        who = preflight_response["login_hint"]
        one = platform.people[who]
        self.set_user_data(one["user_id"], one["roles"], one["name"], one["email"], who)
        self.set_launch_context_claim(CONTEXT, context_title="CUDA")
        if preflight_response["lti_message_hint"] == "deep":
            self.set_dl(f"{platform.address}/links", accept_types={"ltiResourceLink"})
        else:
            self.set_resource_link_claim(RESOURCE, title="Vector add")
            self.set_custom_parameters_claim({"lab": preflight_response["lti_message_hint"]})
            self.set_ags(f"{platform.address}/items")
            self.set_nrps(f"{platform.address}/members")

    def render_launch_form(self, launch_data: dict[str, Any], **kwargs: Any) -> Any:
        return launch_data


class Grades(AssignmentsGradesService):
    """Line items and scores, with pages."""

    platform_config: Platform

    def find_lineitems(self, page: Any = 1, limit: Any = None, **only: Any) -> Any:
        names = {"resource_link_id": "resourceLinkId", "tag": "tag"}
        only.pop("resource_id", None)  # this platform looks at the others alone
        rows = [
            item for item in self.platform_config.items.values()
            if all(item.get(names[name]) == value for name, value in only.items() if value)
        ]  # fmt: skip
        begin = (int(page) - 1) * PAGE
        return {"content": rows[begin : begin + PAGE], "has_next": begin + PAGE < len(rows)}

    def find_lineitem(self, line_item_id: str) -> Any:
        if line_item_id not in self.platform_config.items:
            raise LineItemNotFoundException
        return self.platform_config.items[line_item_id]

    def create_lineitem(self, creation_data: Any) -> Any:
        number = str(len(self.platform_config.items) + 1)
        made = {**creation_data, "id": f"{self.platform_config.address}/items/{number}"}
        self.platform_config.items[number] = made
        return made

    def update_lineitem(self, update_data: Any) -> Any:
        raise LineItemNotFoundException

    def delete_lineitem(self, line_item_id: str) -> None:
        del self.platform_config.items[line_item_id]

    def update_score(self, line_item_id: str, score: Any) -> UpdateScoreStatus:
        self.find_lineitem(line_item_id)
        key = (line_item_id, score["userId"])
        old, stamp = self.platform_config.scores.get(key), _moment(score)
        if old is not None and stamp <= _moment(old):
            return UpdateScoreStatus.OLD_TIMESTAMP
        self.platform_config.scores[key] = score
        return UpdateScoreStatus.CREATED if old is None else UpdateScoreStatus.SUCCESS

    def get_results(self, line_item_id: str, page: Any = 1, limit: Any = None,
                    user_id: Any = None) -> Any:  # fmt: skip
        most = self.find_lineitem(line_item_id)["scoreMaximum"]
        rows = [
            {"userId": user, "resultScore": one["scoreGiven"] / one["scoreMaximum"] * most,
             "resultMaximum": most}
            for (item, user), one in self.platform_config.scores.items()
            if item == line_item_id and user_id in (None, user) and "scoreGiven" in one
        ]  # fmt: skip
        return {"content": rows, "has_next": False}


def _moment(score: Any) -> datetime:
    return datetime.fromisoformat(score["timestamp"])


class Members(NamesRoleProvisioningService):
    platform_config: Platform

    def get_context_by_id(self) -> Context:
        return Context(CONTEXT, "CUDA", "CUDA")

    def get_member_data_page(self, page: Any = 1, limit: Any = None, **only: Any) -> Any:
        rows = [dict(one) for one in self.platform_config.people.values()]
        begin = (int(page) - 1) * PAGE
        return {"content": rows[begin : begin + PAGE], "has_next": begin + PAGE < len(rows)}


def answer(made: Platform, asked: dict[str, Any]) -> tuple[Response, str]:
    """Return the library's answer to a request, and the address of the next page."""
    path, request = asked["path"], Asked(asked)
    if path == "/token":
        return Response(made.get_access_token(asked["form_data"]), 200, ""), ""
    if path == "/jwks":
        return Response(made.get_jwks(), 200, ""), ""
    if path == "/auth":
        return Response(Launch(request, made).lti_launch(), 200, ""), ""
    if path == "/links":
        made.links += made.validate_deeplinking_resp(asked["form_data"])
        return Response({}, 200, ""), ""
    if path == "/members":
        asked["get_data"].setdefault("limit", str(PAGE))
        service: Any = Members(request, made, f"{made.address}/members")
        found = _numbered(service, service.handle_get_members)
        return found, (found.result or {}).pop("next", "")
    grades: Any = Grades(request, made, f"{made.address}/items")
    number = path.split("/")[2] if path.count("/") > 1 else ""
    name = path.rpartition("/")[2]
    calls = {"scores": grades.handle_update_score, "results": grades.handle_get_results}
    if name in calls:
        found = _numbered(grades, lambda: calls[name](number))
    elif asked["method"] == "POST":
        found = _numbered(grades, grades.handle_create_lineitem)
    else:
        found = _numbered(grades, grades.handle_get_lineitems)
    if isinstance(found.result, dict) and "content" in found.result:
        return Response(found.result["content"], 200, ""), found.result.get("next", "")
    return found, ""


def _numbered(service: Any, call: Any) -> Response:
    """Call the library; its pages are counted with numbers."""
    data = service.request.get_data
    if "page" in data:
        data["page"] = int(data["page"])
    found: Response = service.handle_resp(call)
    return found


@contextmanager
def library_platform(tool: str) -> Iterator[Platform]:
    """Serve the platform until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            kind = self.headers.get("Content-Type", "")
            asked = {
                "method": self.command, "path": parts.path, "content_type": kind,
                "get_data": {k: v[0] for k, v in parse_qs(parts.query).items()},
                "form_data": {k: v[0] for k, v in parse_qs(body).items()} if "form" in kind else {},
                "headers": self.headers, "json": json.loads(body) if "json" in kind else None,
            }  # fmt: skip
            with made.lock:
                made.asked.append(f"{self.command} {parts.path}")
                found, following = answer(made, asked)
            data = json.dumps(found.result if found.code < 400 else found.message).encode()
            self.send_response(found.code)
            if following:
                self.send_header("Link", generate_next_link(following))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Platform(address=f"http://127.0.0.1:{server.server_address[1]}", tool=tool)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def begun(made: Platform, user: str, hint: str) -> str:
    """Begin a launch; return the address at the portal."""
    login = Login(None, made)
    login.set_lti_message_hint(hint=hint)
    return str(login.initiate_login(user))


def hidden(page: str, name: str) -> str:
    """The value of a hidden field of a page."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None, page
    return found[1]
