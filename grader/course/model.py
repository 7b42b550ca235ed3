"""The shape of course.yaml as pydantic models."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator, Field, StrictInt, field_validator, model_validator

from grader.course.policy import Span, read_span
from grader.labfile.model import Label, Strict

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?) *%", re.ASCII)


def read_share(value: Any) -> float:
    """`10%` as 0.1. Raises ValueError."""
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if found is None or float(found[1]) > 100:
        raise ValueError(f"write a share as `10%`, of 100 % at most, not `{value}`")
    return float(found[1]) / 100


def read_moment(value: Any) -> datetime:
    """A date with its time; without an offset it is local. Raises ValueError."""
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
    return value.replace(microsecond=0)


def read_length(value: Any) -> tuple[str, Span]:
    """A length of time as it was written, and what it means. Raises ValueError."""
    text = str(value).strip()
    return text, read_span(text)


def read_cut_off(value: Any) -> datetime | Span:
    """A moment, or how long after the deadline. Raises ValueError."""
    if isinstance(value, str) and not value[:4].isdigit():
        return read_span(value.strip())
    return read_moment(value)


Share = Annotated[float, BeforeValidator(read_share)]
Moment = Annotated[datetime, BeforeValidator(read_moment)]
Length = Annotated[tuple[str, Span], BeforeValidator(read_length)]


class LateRule(Strict):
    """One of `grace`, `penalty` (with `per`, and `at_most`) and `cut_off`."""

    grace: Length | None = Field(None, description="so long nothing is lost: 15 minutes")
    penalty: Share | None = Field(None, description="the share of the earned points lost: 10%")
    per: Literal["hour", "day"] | None = Field(None, description="each one begun costs `penalty`")
    at_most: Share | None = Field(None, description="what lateness may cost in all: 50%")
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
    """`none` is no rule at all. Raises ValueError for a rule given twice."""
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
        raise ValueError(f"`{twice}` stands here twice")
    return value


Late = Annotated[tuple[LateRule, ...], BeforeValidator(read_rules)]


class CourseLab(Strict):
    """When a lab is due and how it counts. What is not said here is as the course says."""

    due: Moment | None = Field(None, description="2027-03-28 23:59, in the course's time zone")
    late: Late | None = Field(None, description="none, or rules instead of the course's")
    attempts: Annotated[StrictInt, Field(ge=1)] | None = Field(
        None, description="how many submissions count; all when not given"
    )
    counts: Literal["best", "last"] | None = Field(None, description="which submission counts")
    points: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None, description="what full marks are worth; the lab's own points when not given"
    )


class CourseModel(Strict):
    """course.yaml: a course's name, time zone, roster, secret, and its labs' deadlines."""

    name: str = Field(min_length=1, max_length=120)
    timezone: str = Field(description="an IANA name, such as Europe/Berlin")
    roster: str = Field("", description="a CSV file beside course.yaml")
    secret: str = Field("course.secret", min_length=1, description="the file of the secret")
    database: str = Field("", description="a URL or a file; course.db when not given")
    late: Late = ()
    attempts: Annotated[StrictInt, Field(ge=1)] | None = None
    counts: Literal["best", "last"] = "last"
    labs: dict[Label, CourseLab] = Field(default_factory=dict)

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
