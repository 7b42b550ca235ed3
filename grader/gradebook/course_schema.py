"""The schema of course.yaml: its keys, and how their values are written."""

from __future__ import annotations

import re
from datetime import date, datetime
from ipaddress import ip_network
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, field_validator, model_validator

from grader import regex
from grader.gradebook.policy import Span, read_span
from grader.grading.record import HiddenFeedback
from grader.labs.schema import Label, Strict

YEARS = (1970, 2999)
"""The first and the last year of a deadline."""

MAX_TEAM = 40
"""Characters of a group's name."""

_PERCENT = regex(r"(\d{1,3}(?:\.\d+)?) *%", re.ASCII)


def read_share(value: Any) -> float:
    """Parse `10%` as 0.1. Raises ValueError."""
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if match is None or float(match[1]) > 100:
        raise ValueError(f"`{value}` is not a share from 0% to 100%: write it as `10%`")
    return float(match[1]) / 100


def read_moment(value: Any) -> datetime:
    """Parse a date with its time; without an offset it is local time. Raises ValueError."""
    if isinstance(value, str):
        try:
            day = len(value.strip()) <= len("2027-03-28")
            value = (date if day else datetime).fromisoformat(value.strip())
        except ValueError as error:
            raise ValueError(
                f"write a date and a time such as `2027-03-28 23:59`: {error}"
            ) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        raise ValueError(f"write the time too: `{value} 23:59`")
    if not isinstance(value, datetime):
        raise ValueError("write a date and a time such as `2027-03-28 23:59`")
    if not YEARS[0] <= value.year <= YEARS[1]:  # later ones overflow when a cut-off is added
        raise ValueError(f"the year must be from {YEARS[0]} to {YEARS[1]}")
    return value.replace(microsecond=0)


def read_length(value: Any) -> tuple[str, Span]:
    """Parse a length of time; return its text and its value. Raises ValueError."""
    text = str(value).strip()
    return text, read_span(text)


def read_cut_off(value: Any) -> datetime | Span:
    """Parse a moment, or a length of time after the deadline. Raises ValueError."""
    if isinstance(value, str) and not value[:4].isdigit():
        return read_span(value.strip())
    return read_moment(value)


def read_release(value: Any) -> Any:
    """Parse `manual`, or a moment. Raises ValueError."""
    return value if value == "manual" else read_moment(value)


Share = Annotated[float, BeforeValidator(read_share)]
Moment = Annotated[datetime, BeforeValidator(read_moment)]
Length = Annotated[tuple[str, Span], BeforeValidator(read_length)]


class Mail(Strict):
    """The server that sends the portal's links to sign in."""

    host: str = Field(min_length=1)
    sender: str = Field(min_length=3, description="course@example.org")
    port: Annotated[StrictInt, Field(ge=1, le=65535)] = 587
    user: str = ""
    password_file: str = Field("", description="a file in the folder of course.yaml")
    encrypted: bool = Field(True, description="whether to require STARTTLS")


def is_private_or_https(address: str) -> bool:
    """Whether what is sent to an address stays on this machine or is encrypted."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return False
    own = host in ("localhost", "127.0.0.1", "::1")
    return bool(host) and (parts.scheme == "https" or parts.scheme == "http" and own)


class OpenIdSettings(Strict):
    """A provider of OpenID Connect, which people sign in with."""

    issuer: str = Field(min_length=1, description="https://login.example.org")
    client_id: str = Field(min_length=1)
    secret_file: str = Field("", description="a file in the folder of course.yaml")
    name: str = Field("your organization", min_length=1, max_length=80)

    @field_validator("issuer")
    @classmethod
    def _encrypted(cls, issuer: str) -> str:
        if not is_private_or_https(issuer) or "?" in issuer or "#" in issuer:
            raise ValueError(f"`{issuer}` is no issuer: write it as https://login.example.org")
        return issuer


class PortalSettings(Strict):
    """The portal: where people find it, its mail, its sign-in and its proxies."""

    url: Annotated[str, Field(description="https://course.example.org; or the local address")] = ""
    mail: Mail | None = None
    oidc: OpenIdSettings | None = None
    proxies: Annotated[
        tuple[str, ...],
        Field(description="addresses or networks of the web servers in front: 172.31.7.0/24"),
    ] = ()

    @field_validator("proxies")
    @classmethod
    def _networks(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for one in proxies:
            try:
                network = ip_network(one)
            except ValueError as error:
                raise ValueError(f"`{one}` is no address of a proxy: {error}") from None
            if network.prefixlen == 0:
                raise ValueError("every visitor would be a proxy, and name any address")
        return proxies


class LateRule(Strict):
    """One of `grace`, `penalty` (with `per`, and `at_most`) and `cut_off`."""

    grace: Length | None = Field(None, description="no penalty for this long: 15 minutes")
    penalty: Share | None = Field(
        None, description="the share of the earned points that is lost: 10%"
    )
    per: Literal["hour", "day"] | None = Field(
        None, description="`penalty` for each hour or day begun"
    )
    at_most: Share | None = Field(None, description="the most that lateness costs: 50%")
    cut_off: Annotated[datetime | Span, BeforeValidator(read_cut_off)] | None = Field(
        None, description="nothing counts after it: 3 days after the deadline, or a date"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(x is not None for x in (self.grace, self.penalty, self.cut_off)) != 1:
            raise ValueError("a rule is exactly one of `grace`, `penalty` and `cut_off`")
        if (self.penalty is None) != (self.per is None):
            raise ValueError("a penalty needs `per: hour` or `per: day`, and nothing else has it")
        if self.at_most is not None and self.penalty is None:
            raise ValueError("only a penalty has `at_most`")
        return self


def read_rules(value: Any) -> Any:
    """Parse rules; `none` is no rule. Raises ValueError for a rule given twice."""
    if value == "none":
        return ()
    kinds = [
        kind
        for rule in (value if isinstance(value, list) else ())
        for kind in ("grace", "penalty", "cut_off")
        if isinstance(rule, dict) and kind in rule
    ]
    twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    if twice:
        raise ValueError(f"`{twice}` is given twice: remove one of them")
    return value


def read_student(value: Any) -> Any:
    """Return an ID that is written as a whole number as text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


StudentWord = Annotated[str, BeforeValidator(read_student), Field(min_length=1, max_length=200)]
Team = Annotated[str, Field(min_length=1, max_length=MAX_TEAM, pattern=r"\S")]


class LabExtension(Strict):
    """One student's own deadline in a lab."""

    student: StudentWord = Field(description="an ID, login or e-mail address of the roster")
    due: Moment = Field(description="2027-04-20 12:00, in the course's time zone")
    reason: str = Field(min_length=1, max_length=500, description="why; for the audit")


Late = Annotated[tuple[LateRule, ...], BeforeValidator(read_rules)]


class CourseLab(Strict):
    """A lab's deadline and how it counts; what is not given here is the course's."""

    opens: Moment | None = Field(
        None, description="the portal shows and takes nothing before: 2027-03-01 08:00"
    )
    due: Moment | None = Field(None, description="2027-03-28 23:59, in the course's time zone")
    late: Late | None = Field(None, description="none, or rules instead of the course's")
    attempts: Annotated[StrictInt, Field(ge=1)] | None = Field(
        None, description="how many submissions count; all when not given"
    )
    counts: Literal["best", "last", "chosen"] | None = Field(
        None, description="which submission counts"
    )
    points: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None, description="what full marks are worth; the lab's own points when not given"
    )
    hidden_feedback: HiddenFeedback | None = Field(
        None, description="what students read about hidden cases: score, kind or full"
    )
    full_feedback_from: Moment | None = Field(
        None, description="students read everything from then on: 2027-04-05 00:00"
    )
    release: Annotated[datetime | Literal["manual"], BeforeValidator(read_release)] | None = Field(
        None, description="students see no grade before: 2027-04-01 12:00; manual: until a click"
    )
    leaderboard: StrictBool | None = Field(None, description="whether the lab has a leaderboard")
    extensions: tuple[LabExtension, ...] = Field(
        (), description="students' own deadlines, each with `student`, `due` and `reason`"
    )
    groups: dict[Team, tuple[StudentWord, ...]] = Field(
        default_factory=dict, description="who submits together: the students of each group"
    )


class CourseModel(Strict):
    """course.yaml: a course's name, time zone, roster, secret, and its labs' deadlines."""

    name: str = Field(min_length=1, max_length=120)
    timezone: str = Field(description="an IANA name, such as Europe/Berlin")
    roster: str = Field("", description="a CSV file in the folder of course.yaml")
    secret: str = Field("course.secret", min_length=1, description="the file of the secret")
    database: str = Field("", description="a URL or a file; course.db when not given")
    late: Late = ()
    attempts: Annotated[StrictInt, Field(ge=1)] | None = None
    counts: Literal["best", "last", "chosen"] = "last"
    hidden_feedback: HiddenFeedback = Field(
        "score", description="what students read about hidden cases: score, kind or full"
    )
    full_feedback_from: Moment | None = Field(
        None, description="students read everything from then on: 2027-04-05 00:00"
    )
    leaderboard: StrictBool = Field(False, description="whether labs have a leaderboard")
    labs: dict[Label, CourseLab] = Field(default_factory=dict)
    portal: PortalSettings = PortalSettings()

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                f"there is no time zone `{name}`: IANA names are such as `Europe/Berlin` or `UTC`"
            ) from None
        return name
