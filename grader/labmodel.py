"""The shape of lab.yaml as pydantic models: the source of both its checking and its JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, model_validator

Expression = Annotated[
    StrictInt | str, Field(description="a number, or arithmetic over the case's dims")
]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Label = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)]
Dtype = Literal["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                "float16", "float32", "float64"]  # fmt: skip


class Strict(BaseModel):
    """Unknown keys are refused: a misspelt option must not be a silent default."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)


class Parameter(Strict):
    """One kernel parameter: its C type, such as `const float*`, and its name."""

    name: Identifier
    type: str


class Kernel(Strict):
    """A kernel that the student writes; parameters in the order of its signature."""

    name: Identifier
    parameters: tuple[Parameter, ...] = Field(min_length=1)


class Argument(Strict):
    """What a parameter is given: one of `in`, `inout`, `out` (an array's dtype, with its shape)
    or `value` (an expression, with its dtype)."""

    in_: Dtype | None = Field(None, alias="in", description="dtype of an array that is read")
    inout: Dtype | None = Field(None, description="dtype of an array that is read and written")
    out: Dtype | None = Field(None, description="dtype of an array that starts uninitialised")
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
            raise ValueError("an array needs `shape`; its dtype stands after its role")
        return self


class Variable(Strict):
    """A `__constant__` or `__device__` array that the student's file declares and the grader sets
    before each launch, to what reference.py's inputs() gives under its name."""

    dtype: Dtype
    shape: tuple[Annotated[StrictInt, Field(gt=0)], ...] = Field(min_length=1)


Axes = Annotated[tuple[Expression, ...], Field(min_length=1, max_length=3)]


class Launch(Strict):
    """Blocks, threads of a block (x first), and dynamic shared memory in bytes."""

    grid: Axes
    block: Axes
    shared: Expression = 0


class Baseline(Strict):
    """How baseline.cu is launched where that differs from the student's kernel."""

    launch: Launch


class Answer(Strict):
    """One question to a derivation's kernel, and the range of right answers."""

    given: dict[Identifier, StrictInt]
    minimum: StrictInt
    maximum: StrictInt


class Derive(Strict):
    """A number that the student's code works out: `kernel` runs with one thread for every one of
    `answers` and writes the int `output`. A case uses an answer by its name as a dim's value."""

    kernel: Kernel
    output: Identifier
    rule: str = ""
    answers: dict[Identifier, Answer] = Field(min_length=1)


class Case(Strict):
    """One size. A dim is a number, or the name of one of `derive.answers`."""

    name: Label
    dims: dict[Identifier, StrictInt | str] = Field(min_length=1)
    kind: str = Field("random", description="which inputs reference.py is to make")
    visibility: Literal["public", "hidden"] = "public"


class Check(BaseModel):
    """One graded aspect; what else it takes is up to the check of that name."""

    model_config = ConfigDict(extra="allow", frozen=True)
    points: float = Field(gt=0)

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.__pydantic_extra__ or {})


class LabModel(Strict):
    """lab.yaml: what a student writes, how it is launched, on which cases, and for what points."""

    title: str = Field(min_length=1, max_length=80)
    kernel: Kernel
    arguments: dict[Identifier, Argument]
    globals: dict[Identifier, Variable] = Field(default_factory=dict)
    launch: Launch
    baseline: Baseline | None = None
    derive: Derive | None = None
    cases: tuple[Case, ...] = Field(min_length=1)
    checks: dict[Identifier, Check] = Field(min_length=1)
