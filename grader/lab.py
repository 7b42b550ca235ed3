"""What a lab is, once its folder has been read: frozen values, no I/O (`labspec.py` reads).

A lab's `reference.py` is the oracle. It defines

    inputs(dims, rng, kind) -> {argument name: array}          what the kernel is given
    expected(dims, inputs)  -> {argument name: Expected}       what it must leave behind
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grader.launch import Launch

Visibility = Literal["public", "hidden"]


@dataclass(frozen=True)
class Expected:
    """The right answer of one output: `value` and the largest error `bound` that rounding in any
    correct order explains, both float64 in the output's shape; a bound of 0 asks for equality."""

    value: NDArray[np.float64]
    bound: NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One size that a lab is graded on. `dims` are the names that its expressions may use;
    `kind` says which inputs: "random", or "integer" whose exact result float32 holds."""

    name: str
    dims: Mapping[str, int]
    kind: str = "random"
    visibility: Visibility = "public"

    @property
    def size(self) -> str:
        return " x ".join(str(v) for v in self.dims.values())


@dataclass(frozen=True)
class CheckSpec:
    """One graded aspect: `name` is a module of `grader.check`, `options` its settings."""

    name: str
    points: float
    options: Mapping[str, Any]


@dataclass(frozen=True)
class KernelSpec:
    """A kernel that the student must write; `parameters` are (C type, name) in order."""

    name: str
    parameters: tuple[tuple[str, str], ...]

    @property
    def signature(self) -> str:
        inside = ", ".join(f"{t} {n}" for t, n in self.parameters)
        return f'extern "C" __global__ void {self.name}({inside})'


@dataclass(frozen=True)
class Prepared:
    """A case made ready to run: its launch, and per output argument index the right answer."""

    case: Case
    launch: Launch
    expected: Mapping[int, Expected]


@dataclass(frozen=True)
class Lab:
    """A lab as read from its folder. `kernels[0]` is the one that is graded on every case."""

    name: str
    title: str
    folder: Path
    kernels: tuple[KernelSpec, ...]
    cases: tuple[Case, ...]
    checks: tuple[CheckSpec, ...]

    @property
    def max_score(self) -> float:
        return sum(c.points for c in self.checks)
