"""Why a launch is refused, in words for the person in front of the screen."""

from __future__ import annotations

from collections.abc import Mapping

from grader.gradebook.chain import storable

_SETUP = "Ask your instructor to compare the registration in the platform with the portal's."
_AGAIN = "Open the link in the platform again."

REASONS: Mapping[str, str] = {
    # the beginning of a launch
    "issuer-unknown": "No such platform is registered with this course.",
    "client-unknown": "The platform uses a client ID that is not registered with this course.",
    "client-ambiguous": "The platform has several registrations here and did not name its own"
    " (`client_id` is missing).",
    "login-hint": "The platform did not say who opens the link (`login_hint` is missing).",
    "target-unknown": "The link leads to another site than this portal.",
    # the browser
    "state-missing": f"The platform's answer does not say which launch it belongs to. {_AGAIN}",
    "state-unknown": f"This launch was not begun here, or more than 10 minutes ago. {_AGAIN}",
    "state-mismatch": "This launch was begun in another browser, or the browser did not keep the"
    " cookie of its beginning. Open the link in the platform again, in a new window.",
    "platform-error": f"The platform ended the sign-in. {_AGAIN}",
    # the token
    "no-token": f"The platform sent no valid JWT. {_SETUP}",
    "unsigned": "The platform's message is not signed.",
    "algorithm": "The platform's message has a kind of signature that is not allowed: RS256 is.",
    "kid-missing": "The platform's message does not name its key (`kid` is missing).",
    "kid-unknown": f"The platform does not publish the key that its message names. {_SETUP}",
    "keys-unreachable": "The platform's keys cannot be read now. Try again in a minute.",
    "signature": "The signature of the platform's message is wrong.",
    "issuer": "The message comes from another platform than the launch (`iss`).",
    "audience": "The message is for another tool (`aud` is not the client ID of this course).",
    "azp": "The message was given to another tool (`azp` is not the client ID of this course).",
    "exp-missing": "The message does not say until when it is valid (`exp` is missing).",
    "iat-missing": "The message does not say when it was made (`iat` is missing).",
    "times": "The times of the message are no times (`exp`, `iat` and `nbf` are seconds).",
    "expired": f"The message has expired (`exp`). {_AGAIN}",
    "future": "The message is from the future (`iat`): the platform's clock is wrong.",
    "too-old": f"The message was made more than an hour ago (`iat`). {_AGAIN}",
    "nonce-missing": "The message does not name its launch (`nonce` is missing).",
    "nonce-wrong": f"The message belongs to another launch (`nonce`). {_AGAIN}",
    "nonce-replayed": f"This launch was used before. {_AGAIN}",
    # the claims
    "no-lti": "The platform's message is no LTI message: it has none of the claims of LTI.",
    "version-missing": "The message does not say its version of LTI (`version` is missing).",
    "version": "The message has another version of LTI: this portal works with 1.3.0.",
    "message-type-missing": "The message does not say what it asks for (`message_type` is"
    " missing).",
    "message-type": "The portal does not answer this kind of message: it takes resource links and"
    " deep linking.",
    "deployment-missing": "The message names no deployment (`deployment_id` is missing).",
    "deployment-unknown": "The platform's deployment is not registered with this course.",
    "sub-missing": "The platform does not say who you are (`sub` is missing). This portal has no"
    " anonymous visitors.",
    "roles-missing": "The message has no list of roles (`roles` is missing).",
    "roles": "The roles of the message are no list of texts.",
    "resource-link-missing": "The message does not say which link was opened (`resource_link` has"
    " no `id`).",
    "context-missing": "The ID of the platform's course is empty (`context`).",
    "target-missing": "The message does not say where it leads (`target_link_uri` is missing).",
    "target": "The message leads to another site than this portal (`target_link_uri`).",
    "claim": "A claim of the message has a wrong form.",
    "settings": "The platform does not say where to return the chosen labs to"
    " (`deep_link_return_url`).",
    "accept-types": "The platform does not accept links to a tool here (`accept_types`).",
    # the person
    "test-user": "This is the platform's test student, who is not in the course. Staff see what a"
    ' student sees on the student\'s page of the portal, with "See the course as".',
    "no-email": "The platform shares no e-mail address of yours, and your account there is not"
    " connected with the course yet. Ask your instructor to have the platform share the address.",
    "not-in-roster": "You are not in the course: its roster has nobody with your e-mail address."
    " Ask your instructor.",
    "left": "You are not in the course any more. Ask your instructor.",
    "other-account": "Your account of the platform is not the one that is connected with you in the"
    " course. Ask your instructor to disconnect the other one.",
    "role-mismatch": "The course has you as staff, but in the platform you are no teacher of this"
    " course. Sign in to the portal itself.",
    "not-instructor": "Only an instructor of the course can choose labs for the platform.",
    "no-lab": "Your instructor has not chosen yet which lab this link leads to.",
    "lab-unknown": "The course does not have the lab that this link names. Ask your instructor.",
    "session-ended": "Your session has ended. Open the link in the platform again.",
    "page-old": f"This page is too old, or was used before. {_AGAIN}",
    # registration by the platform
    "invite": "This address to register the portal was used before, is too old, or is not whole."
    " Make a new one: grader portal lti invite",
    "configuration": "The platform's configuration cannot be used.",
    "registration-refused": "The platform did not register the portal.",
}
"""What each reason means; its key is in the log."""

_FORBIDDEN = (
    "test-user", "no-email", "not-in-roster", "left", "other-account", "role-mismatch",
    "not-instructor", "no-lab", "invite", "state-mismatch", "session-ended",
)  # fmt: skip


class Refused(Exception):
    """A request of a platform that is refused.

    Attributes:
        reason: A key of REASONS.
        more: What else the reader should know, such as the name of what is wrong.
    """

    def __init__(self, reason: str, more: str = "") -> None:
        super().__init__(reason)
        self.reason, self.more = reason, shown(more)

    @property
    def what(self) -> str:
        """The reason in words."""
        return REASONS[self.reason] + (f" {self.more}" if self.more else "")

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        if self.reason == "keys-unreachable":
            return 502
        return 403 if self.reason in _FORBIDDEN else 400


def shown(written: str) -> str:
    """Return what a platform has written as one short line for a page or the log."""
    line = "".join(one if one.isprintable() else " " for one in storable(written[:400]))
    return " ".join(line.split())
