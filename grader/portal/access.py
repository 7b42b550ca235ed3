"""Who may do what: one table, which every route of the server asks.

A right says for whose things a role may use a route: `own`, those of students in the TA's own
sections (`section`), or `all`. A route without a row is refused when the application is made. The
scope that a token needs follows from the right.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from grader.gradebook.people import Person, Role

Right = Literal["own", "section", "all"]
Scope = Literal["read", "submit", "teach"]
_OWN: Mapping[Role, Right] = {"student": "own"}
_READ: Mapping[Role, Right] = {
    "student": "own", "ta": "section", "instructor": "all", "observer": "all",
}  # fmt: skip
_STAFF: Mapping[Role, Right] = {"ta": "section", "instructor": "all", "observer": "all"}
_TEACH: Mapping[Role, Right] = {"ta": "section", "instructor": "all"}
_TALK: Mapping[Role, Right] = {"student": "own", "ta": "section", "instructor": "all"}
_LEAD: Mapping[Role, Right] = {"instructor": "all"}
_OVERSEE: Mapping[Role, Right] = {"instructor": "all", "observer": "all"}
_EVERYBODY: Mapping[Role, Right] = {
    "student": "own", "ta": "own", "instructor": "own", "observer": "own",
}  # fmt: skip

ANYONE: frozenset[str] = frozenset(
    ("sign_in", "send_link", "confirm_link", "use_link", "begin_openid", "end_openid")
    + ("static", "favicon", "healthy", "openapi")
    + ("lti_keys", "lti_login", "lti_login_form", "lti_kept", "lti_launch", "lti_proof")
    + ("lti_enter", "lti_choose", "lti_point", "lti_register", "lti_registered")
)
"""The routes that need no sign-in. Those of LTI take what a platform or the course has signed."""

RULES: Mapping[str, Mapping[Role, Right]] = MappingProxyType(
    {
        "home": _EVERYBODY,
        "sign_out": _EVERYBODY,
        "account": _EVERYBODY,
        "new_token": _EVERYBODY,
        "revoke_token": _EVERYBODY,
        "lab": _READ,
        "submit": _OWN,
        "submission": _READ,
        "submission_source": _READ,
        "submission_events": _READ,
        "compare": _READ,
        "class_page": _STAFF,
        "student_page": _STAFF,
        "similar": _STAFF,
        "similar_pair": _STAFF,
        "extend": _TEACH,
        "skeleton": _EVERYBODY,
        "handout_figure": _EVERYBODY,
        "api_files": _EVERYBODY,
        "groups": _STAFF,
        "set_group": _TEACH,
        "queue": _STAFF,
        "health": _STAFF,
        "retry": _TEACH,
        "audit": _LEAD,
        "requests": _READ,
        "request_page": _READ,
        "ask": _OWN,
        "reply": _TALK,
        "close_request": _TEACH,
        "comment": _TEACH,
        "remove_comment": _TEACH,
        "release": _LEAD,
        "points": _TEACH,
        "choose": _OWN,
        "view_as": _TEACH,
        "end_view": _EVERYBODY,
        "regrades": _OVERSEE,
        "regrade_page": _OVERSEE,
        "start_regrade": _LEAD,
        "decide_regrade": _LEAD,
        "retry_regrade": _LEAD,
        "api_compare": _READ,
        "board": _EVERYBODY,
        "join_board": _OWN,
        "leave_board": _OWN,
        "moderate_entry": _TEACH,
        "api_board": _EVERYBODY,
        "api_join_board": _OWN,
        "api_leave_board": _OWN,
        "api_me": _EVERYBODY,
        "api_labs": _EVERYBODY,
        "api_submit": _OWN,
        "api_submissions": _OWN,
        "api_submission": _READ,
        "api_events": _READ,
        "api_requests": _READ,
        "api_ask": _OWN,
        "api_health": _STAFF,
        "api_retry": _TEACH,
        "api_similar": _STAFF,
        "api_extensions": _STAFF,
        "api_extend": _TEACH,
        "api_groups": _STAFF,
        "api_set_group": _TEACH,
        "lti_platforms": _LEAD,
        "lti_add": _LEAD,
        "lti_remove": _LEAD,
        "lti_deploy": _LEAD,
        "lti_undeploy": _LEAD,
        "lti_invite": _LEAD,
        "lti_repoint": _LEAD,
        "lti_forget": _LEAD,
    }
)
"""By route: each role that may use it, and for whose things."""


def right_of(person: Person, route: str) -> Right | None:
    """Return what a person may use a route for; None for nothing."""
    return RULES[route].get(person.role)


def scope_of(right: Right, *, changes: bool) -> Scope:
    """Return the scope that a token needs for a route which its person may use with this right.

    What changes the things of others needs `teach`, also where a student may use the same route.
    """
    if not changes:
        return "read"
    return "submit" if right == "own" else "teach"


def may_see(person: Person, right: Right, student: str, section: str) -> bool:
    """Whether a right covers the things of a student in a section ("" for none)."""
    if right == "own":
        return bool(person.student) and person.student == student
    return right == "all" or not person.sections or section in person.sections
