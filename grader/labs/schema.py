"""The keys of lab.yaml as pydantic models, which check it and generate its JSON Schema.

The field descriptions become tooltips in editors that use the schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    field_validator,
    model_validator,
)

from grader.launch import KINDS

Expression = Annotated[
    StrictInt | str, Field(description="a number, or arithmetic over the case's dims")
]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Label = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)]
Dtype = Literal["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                "float16", "float32", "float64"]  # fmt: skip


class Strict(BaseModel):
    """Base model that refuses unknown keys, so that a misspelled one is not ignored."""

    # Deferred: one validator is made, that of the whole document, in place of one for each model.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Parameter(Strict):
    """One kernel parameter: its C type, such as `const float*`, and its name."""

    name: Identifier
    type: str


class Kernel(Strict):
    """A kernel that the student writes; parameters in the order of its signature."""

    name: Identifier
    parameters: tuple[Parameter, ...] = Field(min_length=1)


class Argument(Strict):
    """The argument for a parameter: an array or a value.

    One of `in`, `inout`, `out` (an array's dtype, with its shape) or `value` (an expression, with
    its dtype).
    """

    in_: Dtype | None = Field(None, alias="in", description="dtype of an array that is read")
    inout: Dtype | None = Field(None, description="dtype of an array that is read and written")
    out: Dtype | None = Field(None, description="dtype of an array that starts uninitialized")
    value: StrictInt | StrictFloat | str | None = Field(
        None, description="a number passed by value"
    )
    dtype: Dtype | None = Field(None, description="dtype of a value")
    shape: tuple[Expression, ...] | None = Field(None, description="elements along each axis")

    @model_validator(mode="after")
    def _one_role(self) -> Self:
        roles = [r for r in (self.in_, self.inout, self.out, self.value) if r is not None]
        if len(roles) != 1:
            raise ValueError("needs exactly one of `in`, `inout`, `out` or `value`")
        if self.value is not None and (self.dtype is None or self.shape is not None):
            raise ValueError("a value needs `dtype` and takes no `shape`")
        if self.value is None and (self.shape is None or self.dtype is not None):
            raise ValueError("an array needs `shape`, and its dtype after its role")
        return self


class Variable(Strict):
    """A `__constant__` or `__device__` array that the student's file declares.

    The grader sets it before each launch to what inputs() of reference.py returns under its name.
    """

    dtype: Dtype
    shape: tuple[Annotated[StrictInt, Field(gt=0)], ...] = Field(min_length=1)


Axes = Annotated[tuple[Expression, ...], Field(min_length=1, max_length=3)]


class Launch(Strict):
    """Blocks, threads per block (x first), and dynamic shared memory in bytes."""

    grid: Axes
    block: Axes
    shared: Expression = 0
    cooperative: bool = False
    large_shared: bool = False


class Baseline(Strict):
    """How baseline.cu is launched where that differs from the student's kernel."""

    launch: Launch


class Answer(Strict):
    """One input of a derivation's kernel, and the range of correct answers."""

    given: dict[Identifier, StrictInt]
    minimum: StrictInt
    maximum: StrictInt


class Derive(Strict):
    """A number that the student's code computes.

    `kernel` runs with one thread for each of `answers` and writes the int `output`. A case uses an
    answer by its name as the value of a dim.
    """

    kernel: Kernel
    output: Identifier
    rule: str = ""
    answers: dict[Identifier, Answer] = Field(min_length=1)


class Case(Strict):
    """One problem size. A dim is a number, or the name of one of `derive.answers`."""

    name: Label
    dims: dict[Identifier, StrictInt | str] = Field(min_length=1)
    kind: str = Field("random", description="which inputs reference.py generates")
    visibility: Literal["public", "hidden"] = "public"


class Check(BaseModel):
    """One graded aspect; the check of that name defines its further options."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)
    points: float = Field(gt=0)

    @property
    def options(self) -> dict[str, Any]:
        """All keys of the check but its points."""
        return dict(self.__pydantic_extra__ or {})


class Run(Strict):
    """A number that the simulator measures.

    `file`, in the lab's folder or its solution's, has a kernel with the lab's signature and runs on
    a public case. Exactly one of `counter`, `element`, `resource` and `finding` is read.
    """

    file: str = Field(pattern=r"^([a-z0-9_-]+/)?[a-z0-9_-]+\.cu$", max_length=120)
    case: Label | None = Field(None, description="the question's case when none is named")
    launch: Launch | None = Field(None, description="where it differs from the lab's")
    counter: str | None = Field(None, description="a metric of Nsight Compute, or of the simulator")
    element: tuple[Identifier | StrictInt, ...] | None = Field(
        None, description="an output's name and the indices: [C, 0, 5]", min_length=2
    )
    resource: Literal["registers", "static_shared_bytes", "local_bytes",
                      "theoretical_occupancy"] | None = None  # fmt: skip
    finding: str | None = Field(None, description="the number of findings of a kind: race")

    @model_validator(mode="after")
    def _one_number(self) -> Self:
        read = (self.counter, self.element, self.resource, self.finding)
        if sum(x is not None for x in read) != 1:
            raise ValueError("needs exactly one of `counter`, `element`, `resource` and `finding`")
        if self.finding is not None and self.finding not in KINDS:
            raise ValueError(f"`finding` is one of {', '.join(KINDS)}")
        kinds = [type(part) for part in self.element or ("", 0)]
        if kinds != [str] + [int] * (len(kinds) - 1):
            raise ValueError("`element` is an output's name and its indices: [C, 0, 5]")
        return self


class Choice(Strict):
    """One of several answers; the correct one is that whose `when` is true."""

    text: str = Field(min_length=1, max_length=400)
    when: str | None = Field(None, description="a comparison over the question's names")


class Question(Strict):
    """A question whose answer is computed from an expression.

    `{name}` in the text is a number of `given` or a dim of the case. A copy of a lab for students
    has no `answer` and no `when`.
    """

    text: str = Field(min_length=1, max_length=1000)
    kind: Literal["number", "choice", "text"] = Field(
        "number", description="text needs review by the instructor; it is not graded"
    )
    case: Label | None = Field(None, description="a public case, whose dims are names")
    given: dict[Identifier, StrictInt | StrictFloat | str | Run] = Field(
        default_factory=dict, description="names: numbers, expressions over earlier ones, runs"
    )
    answer: StrictInt | StrictFloat | str | None = None
    choices: tuple[Choice, ...] = Field((), max_length=9)
    unit: str = Field("", max_length=20, description="what the number counts: bytes, blocks, %")
    tolerance: float = Field(0.0, ge=0, lt=1, description="the largest relative error allowed")
    hint: str = Field("", max_length=400, description="shown with a wrong answer")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.kind != "number" and (self.answer is not None or self.unit or self.tolerance):
            raise ValueError("only a number has `answer`, `unit` and `tolerance`")
        if (self.kind == "choice") != (len(self.choices) > 1):
            raise ValueError("a choice, and nothing else, has two or more `choices`")
        if len({choice.when is None for choice in self.choices}) > 1:
            raise ValueError("either every choice has a `when`, or none has")
        return self


class LabModel(Strict):
    """lab.yaml: what students write, how it is launched, on which cases, and for which points."""

    title: str = Field(min_length=1, max_length=80)
    kernel: Kernel
    arguments: dict[Identifier, Argument]
    globals: dict[Identifier, Variable] = Field(default_factory=dict)
    launch: Launch
    baseline: Baseline | None = None
    derive: Derive | None = None
    cases: tuple[Case, ...] = Field(min_length=1)
    drawn: dict[Identifier, tuple[StrictInt, ...]] = Field(
        default_factory=dict,
        description="one more hidden case, whose size the course's secret draws: "
        "for each dim [least, most] or [least, most, step]",
    )
    checks: dict[Identifier, Check] = Field(min_length=1)
    quiz: dict[Identifier, Question] = Field(default_factory=dict, max_length=30)
    hints: Literal["cause", "place", "fix"] = Field(
        "place",
        description="what a report shows of a fix that was tried: only its cause, its place and "
        "the kind of change, or the edit as a diff",
    )

    ptx: StrictBool = Field(
        False, description="whether reports show the PTX instructions of each line of the file"
    )

    @field_validator("drawn")
    @classmethod
    def _spans(cls, drawn: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        for name, span in drawn.items():
            if len(span) not in (2, 3) or span[0] > span[1] or min(span[2:], default=1) < 1:
                raise ValueError(f"`{name}` is [least, most] or [least, most, step], step >= 1")
        return drawn
