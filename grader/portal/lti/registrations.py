"""What a registration at a platform must be, whoever writes it."""

from __future__ import annotations

from grader.faults import LabFault
from grader.gradebook.course_schema import is_private_or_https
from grader.gradebook.lti import MAX_ORIGINS, NewRegistration
from grader.portal.lti.messages import origin_of

MAX_TEXT = 2000


def checked(new: NewRegistration) -> NewRegistration:
    """Return a registration that can be used.

    Raises:
        LabFault: A text is missing or too long, an address is not encrypted, or an origin is none.
    """
    for name, value in vars(new).items():
        if isinstance(value, str) and (len(value) > MAX_TEXT or not value.isprintable()):
            raise LabFault(f"`{name}` is no line of at most {MAX_TEXT} characters")
    for name in ("issuer", "client_id", "name"):
        if not getattr(new, name):
            raise LabFault(f"`{name}` is empty", fix="copy it from the platform")
    for name in ("auth_url", "token_url", "jwks_url"):
        address = getattr(new, name)
        if not is_private_or_https(address) or not origin_of(address) or "#" in address:
            what = f"`{address}` is no address with HTTPS"
            raise LabFault(what, where=name, fix="copy it from the platform, with https://")
    for origin in new.origins:
        if origin_of(origin) != origin or not is_private_or_https(origin):
            raise LabFault(f"`{origin}` is no origin", fix="write it as https://lms.example.org")
    if len(new.origins) > MAX_ORIGINS:
        raise LabFault(f"a platform has at most {MAX_ORIGINS} origins")
    return new
