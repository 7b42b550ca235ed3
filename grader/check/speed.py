"""The speed check: how much faster than the lab's baseline kernel, on a GPU."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from grader.check.result import CheckOptions, Dependency, Evidence, Verdict

DEPENDS: Dependency | None = Dependency("output", "all")
ONLY_ON = "gpu"


class Options(CheckOptions):
    """`minimum` is the speedup over the baseline that earns the first point, `full` the one that
    earns all; `dims` the size that is timed, `kind` its inputs."""

    minimum: float = Field(gt=0)
    full: float = Field(gt=0)
    dims: dict[str, int] = Field(default_factory=dict)
    kind: str = "random"

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.full < self.minimum:
            raise ValueError(f"full ({self.full:g}) must not be below minimum ({self.minimum:g})")
        return self


def judge(options: Options, evidence: Evidence) -> Verdict:
    """The kernel is faster than the baseline."""
    return Verdict("unjudged", "this version does not time kernels yet")
