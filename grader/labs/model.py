"""What a lab is, once its folder has been read: frozen values, no I/O (`labfile` reads).

A lab's `reference.py` is the oracle. It defines

    inputs(dims, rng, kind) -> {argument name: array}          what the kernel is given
    expected(dims, inputs)  -> {argument name: Expected}       what it must leave behind

and may define `verify` for large timed outputs (`verifier.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
import numpy as np
from numpy.typing import NDArray
from grader.launch import Array, Launch, Scalar

Visibility = Literal["public", "hidden"]
Role = Literal["in", "inout", "out", "value"]

BASELINE_FILE = "baseline.cu"


@dataclass(frozen=True)
class Expected:
    """The right answer of one output: `value` and the largest error `bound` that rounding in any
    correct order explains, both float64 in the output's shape; a bound of 0 asks for equality."""

    value: NDArray[np.float64]
    bound: NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One size that a lab is graded on. `dims` are the names that its expressions may use;
    `kind` says which inputs: "random", or "integer" whose exact result float32 holds.
    `derived` names further dims that the student's own code answers: dim -> derivation."""

    name: str
    dims: Mapping[str, int]
    kind: str = "random"
    visibility: Visibility = "public"
    derived: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> str:
        return " x ".join(str(v) for v in self.dims.values())

    def resolved(self, answers: Mapping[str, int]) -> Case:
        """This case with its derived dims set from the answers, by derivation name."""
        own = {dim: answers[name] for dim, name in self.derived.items()}
        return replace(self, dims={**self.dims, **own}, derived={})


@dataclass(frozen=True)
class CheckSpec:
    """One graded aspect: `name` is a module of `grader.checks`, `options` its settings.

    `where` is "file:line" of the check, `lines` the line of each option, for a message about one
    that does not fit."""

    name: str
    points: float
    options: Mapping[str, Any]
    where: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Band:
    """The speedups over the baseline between which points grow, `minimum` below `full`."""

    minimum: float
    full: float


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
class ArgumentSpec:
    """What one kernel parameter is given: an array of `dtype` and `shape`, or a `value`.
    Shape and value are expressions over the case's dims (`expression.py`)."""

    name: str
    role: Role
    dtype: str
    shape: tuple[str | int, ...] = ()
    value: str | int | float = 0


@dataclass(frozen=True)
class Geometry:
    """A launch's grid and block, 1 to 3 expressions each, and its dynamic shared bytes."""

    grid: tuple[str | int, ...]
    block: tuple[str | int, ...]
    shared: str | int = 0


@dataclass(frozen=True)
class Derivation:
    """A number that the student's own code works out, for example the tile width for a device.

    The kernel is run with one thread on `given`, the values of its by-value parameters by name,
    and its answer is the one element of its output `output`. An answer outside `minimum` to
    `maximum` is wrong; `rule` says in words what was asked.
    """

    name: str
    kernel: KernelSpec
    given: Mapping[str, int]
    output: str
    minimum: int
    maximum: int
    rule: str = ""

    @property
    def launch(self) -> Launch:
        """One thread that answers; the output is the only argument that is read back."""
        args = tuple(
            Array(name, (1,), "int32", read_back=True)
            if name == self.output
            else Scalar(name, self.given[name], "int32")
            for _, name in self.kernel.parameters
        )
        return Launch(self.kernel.name, (1, 1, 1), (1, 1, 1), args, name=self.call)

    @property
    def output_index(self) -> int:
        """The index of the answer among the launch's arguments."""
        return [name for _, name in self.kernel.parameters].index(self.output)

    @property
    def call(self) -> str:
        """The call as a message shows it: `choose_tile(1024, 49152)`."""
        inside = ", ".join(str(value) for value in self.given.values())
        return f"{self.kernel.name}({inside})"

    def problem(self, answer: int) -> str:
        """Why the answer is wrong, in one line; empty when it is right."""
        if self.minimum <= answer <= self.maximum:
            return ""
        due = (
            f"{self.minimum}"
            if self.minimum == self.maximum
            else f"{self.minimum} to {self.maximum}"
        )
        reason = f": {self.rule}" if self.rule else ""
        return f"{self.call} answered {self.output} = {answer}, expected {due}{reason}"


@dataclass(frozen=True)
class Probe:
    """A number that the simulator gives: the kernel of `file` (in the lab's folder, or in its
    solution's) on a public case, launched as the lab's own unless `geometry` says otherwise.
    `source` says what is read: the counter or resource `name`, the element of the output `name` at
    `index`, or how many findings of the kind `name` there are."""

    file: str
    case: str
    source: Literal["counter", "element", "resource", "finding"]
    name: str
    index: tuple[int, ...] = ()
    geometry: Geometry | None = None


@dataclass(frozen=True)
class Choice:
    """One of a question's answers, right when the expression `when` is true; "" is not known."""

    text: str
    when: str = ""


@dataclass(frozen=True)
class Question:
    """One question on a lab. `kind` is "number", "choice" or "text", which nobody judges here.

    `given` are names: numbers, expressions over earlier names and the dims of `case`, or probes;
    `answer` is an expression over them, None in a copy of the lab without the answers.
    `tolerance` is the largest relative error; `where` is "file:line".
    """

    name: str
    kind: str
    text: str
    given: Mapping[str, int | float | str | Probe] = field(default_factory=dict)
    answer: int | float | str | None = None
    choices: tuple[Choice, ...] = ()
    case: str = ""
    unit: str = ""
    tolerance: float = 0.0
    hint: str = ""
    where: str = ""

    @property
    def probes(self) -> Mapping[str, Probe]:
        """What has to be simulated before the answer is known."""
        return {name: value for name, value in self.given.items() if isinstance(value, Probe)}

    @property
    def has_key(self) -> bool:
        """Whether this copy of the lab can work the answer out."""
        return self.answer is not None or any(choice.when for choice in self.choices)


@dataclass(frozen=True)
class PreparedCase:
    """A case made ready to run: its launch, and per output argument index the right answer."""

    case: Case
    launch: Launch
    expected: Mapping[int, Expected]


@dataclass(frozen=True)
class Lab:
    """A lab as read from its folder. `kernels[0]` is the one that is graded on every case; the
    others answer `derivations`. `arguments` are in the order of `kernels[0]`'s parameters;
    `globals` are the `__constant__` and `__device__` arrays that are set before each launch;
    `bands` the thresholds of speed that were measured on a device, by the device's name; `quiz`
    the questions in their order.
    `where` is the lab.yaml as messages name it, `lines` the line of each of its keys."""

    name: str
    title: str
    folder: Path
    kernels: tuple[KernelSpec, ...]
    cases: tuple[Case, ...]
    checks: tuple[CheckSpec, ...]
    arguments: tuple[ArgumentSpec, ...] = ()
    globals: tuple[ArgumentSpec, ...] = ()
    geometry: Geometry = Geometry((1,), (1,))
    baseline_geometry: Geometry | None = None
    derivations: tuple[Derivation, ...] = ()
    bands: Mapping[str, Band] = field(default_factory=dict)
    quiz: tuple[Question, ...] = ()
    where: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)

    def case(self, name: str) -> Case | None:
        """The case of that name."""
        return next((case for case in self.cases if case.name == name), None)

    def place(self, key: str) -> str:
        """Where a key of lab.yaml stands: "labs/x/lab.yaml:12: launch.grid"."""
        line = self.lines.get(key)
        return f"{self.where}:{line}: {key}" if line else f"{self.where}: {key}"

    @property
    def max_score(self) -> float:
        return sum(c.points for c in self.checks)

    @property
    def skeleton(self) -> Path:
        """The file that the student starts from."""
        return self.folder / f"{self.name}.cu"

    @property
    def baseline(self) -> Path:
        """The straightforward kernel that traffic and speed are measured against."""
        return self.folder / BASELINE_FILE

    @property
    def solution(self) -> Path:
        """The answer: `solutions/<lab>/<lab>.cu` beside the labs' folder."""
        return self.folder.parent.parent / "solutions" / self.name / f"{self.name}.cu"
