"""A platform registers the portal by itself (LTI Dynamic Registration 1.0), where it is invited.

An instructor makes an address that works once, for a day, and gives it to the platform, which opens
it with its own configuration's address. The page names the platform; a click registers. The
configuration must be at the host of the issuer that it names: nobody registers as somebody else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from grader.faults import LabFault
from grader.gradebook.lti import NewRegistration
from grader.portal.lti.entering import (
    ANYWHERE,
    NO_STORE,
    Given,
    Sent,
    page_values,
    sealed_of,
)
from grader.portal.lti.flow import PAGE_SECONDS
from grader.portal.lti.messages import DEEP_LINK, RESOURCE_LINK, origin_of
from grader.portal.lti.refusals import Refused, shown
from grader.portal.lti.registrations import checked
from grader.portal.openid import ProviderFault, fetch, require_safe
from grader.portal.requests import address_of, allow_frames, limits_of, site_of
from grader.portal.site import Site

router = APIRouter(include_in_schema=False)

TOOL = "https://purl.imsglobal.org/spec/lti-tool-configuration"
PLATFORM = "https://purl.imsglobal.org/spec/lti-platform-configuration"
SCOPES = (
    "https://purl.imsglobal.org/spec/lti-ags/scope/lineitem",
    "https://purl.imsglobal.org/spec/lti-ags/scope/score",
    "https://purl.imsglobal.org/spec/lti-ags/scope/result.readonly",
    "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly",
)
"""What the portal asks platforms for."""

WITH_OPENER = NO_STORE | {"Cross-Origin-Opener-Policy": "unsafe-none"}
"""The platform's window, which has opened the page, is told when it may be closed."""


@router.get("/lti/register/{secret}", name="lti_register")
def show(
    request: Request, secret: str, openid_configuration: Given = "", registration_token: Given = ""
) -> Response:
    """Show which platform would be registered."""
    site = site_of(request)
    limits_of(request).spend(("launch", address_of(request)))
    if not site.lti.invited(secret):
        raise Refused("invite")
    if not openid_configuration:
        raise Refused("configuration", "Open this address in the platform.")
    found = _configuration(openid_configuration)
    values = {"secret": secret, "at": openid_configuration, "token": registration_token}
    key = sealed_of(site).seal("register", values, PAGE_SECONDS)
    allow_frames(request, ANYWHERE)
    page = site.page(
        "lti_register.html",
        me=None,
        key=key,
        platform=_name(found),
        issuer=found["issuer"],
        made=None,
    )
    return HTMLResponse(page, headers=WITH_OPENER)


@router.post("/lti/register", name="lti_registered")
def register(request: Request, key: Sent = "") -> Response:
    """Register the portal at the platform, and the platform here."""
    site = site_of(request)
    values = page_values(request, "register", key)
    found = _configuration(values["at"])
    author = site.lti.use_invite(values["secret"])
    if not author:
        raise Refused("invite")
    new, deployment = _registered(site, found, values["token"])
    made = site.lti.register(new, author)
    if deployment:
        site.lti.deploy(made.id, deployment, author)
    allow_frames(request, ANYWHERE)
    page = site.page(
        "lti_register.html", me=None, platform=made.name, issuer=made.issuer, made=made,
        deployment=deployment,
    )  # fmt: skip
    return HTMLResponse(page, headers=WITH_OPENER)


def _configuration(address: str) -> Mapping[str, Any]:
    """Return what a platform publishes about itself. Raises Refused."""
    try:
        found = fetch(require_safe(address))
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            require_safe(found.get(name))
        require_safe(found.get("registration_endpoint"))
        issuer = require_safe(found.get("issuer"))
    except (ProviderFault, UnicodeError) as error:
        raise Refused("configuration", _sentence(error)) from None
    if origin_of(issuer) != origin_of(address):
        what = f"It is at {urlsplit(address).hostname}, but names the issuer {issuer}."
        raise Refused("configuration", what)
    return found


def _name(found: Mapping[str, Any]) -> str:
    """Return a platform's name for people: its product and host."""
    more = found.get(PLATFORM)
    product = more.get("product_family_code") if isinstance(more, dict) else None
    host = urlsplit(str(found["issuer"])).hostname or ""
    return shown(f"{product} at {host}" if isinstance(product, str) and product else host)


def _sentence(error: Exception) -> str:
    text = str(error) if isinstance(error, ProviderFault) else "an address cannot be read"
    return f"{text[:1].upper()}{text[1:]}."


def _registered(site: Site, found: Mapping[str, Any], token: str) -> tuple[NewRegistration, str]:
    """Register the portal at a platform; return what was agreed, and the deployment if any.

    Raises:
        Refused: The platform does not do so, or answers with what cannot be used.
    """
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        body = json.dumps(tool_configuration(site, found.get("scopes_supported"))).encode()
        answer = fetch(found["registration_endpoint"], headers, body)
    except (ProviderFault, ValueError) as error:
        what = f"{_sentence(error)} Make a new address."
        raise Refused("registration-refused", what) from None
    client, more = answer.get("client_id"), answer.get(TOOL)
    deployment = more.get("deployment_id") if isinstance(more, dict) else None
    audience = found.get("authorization_server")
    try:
        new = checked(
            NewRegistration(
                found["issuer"], client if isinstance(client, str) else "", _name(found),
                found["authorization_endpoint"], found["token_endpoint"], found["jwks_uri"],
                audience if isinstance(audience, str) else "",
            )
        )  # fmt: skip
    except LabFault as fault:
        raise Refused("registration-refused", fault.what) from None
    return new, deployment if isinstance(deployment, str) else ""


def tool_configuration(site: Site, supported: object = None) -> dict[str, Any]:
    """Return what the portal asks a platform to register."""
    known = supported if isinstance(supported, list) else None
    launch = f"{site.url}/lti/launch"
    return {
        "application_type": "web",
        "response_types": ["id_token"],
        "grant_types": ["implicit", "client_credentials"],
        "initiate_login_uri": f"{site.url}/lti/login",
        "redirect_uris": [launch],
        "client_name": site.course.name,
        "jwks_uri": f"{site.url}/lti/keys",
        "logo_uri": f"{site.url}/static/icon.svg",
        "token_endpoint_auth_method": "private_key_jwt",
        "scope": " ".join(one for one in SCOPES if known is None or one in known),
        TOOL: {
            "domain": urlsplit(site.url).netloc,
            "description": f"CUDA labs of {site.course.name}",
            "target_link_uri": launch,
            "claims": ["iss", "sub", "name", "email"],
            "messages": [
                {"type": RESOURCE_LINK, "target_link_uri": launch},
                {"type": DEEP_LINK, "target_link_uri": launch, "label": "Add labs"},
            ],
        },
    }
