"""A lab as frozen values, without I/O; `reading` makes them from the lab's folder.

A lab's `reference.py` computes the expected outputs. It defines

    inputs(dims, rng, kind) -> {argument name: array}          the kernel's inputs
    expected(dims, inputs)  -> {argument name: Expected}       the expected outputs

and may define `verify` for large outputs of timed launches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, replace
from grader.launch import Array, Launch, Scalar

Visibility = Literal["public", "hidden"]
Role = Literal["in", "inout", "out", "value"]
Hints = Literal["cause", "place", "fix"]
"""What a student reads of a fix that was tried: nothing, its place and kind, or the edit."""

BUNDLED_LABS = Path(__file__).parent / "content" / "labs"
"""The public parts of the labs in an installed package; a checkout has none."""

BASELINE_FILE = "baseline.cu"

MACHINES = "machines"
"""The folder of a course with what was measured on GPUs: grader.grading.estimate.machine."""


@dataclass(frozen=True)
class Expected:
    """The expected value of one output, and its error bound.

    Both are float64 in the output's shape. `bound` is the largest error that rounding in any
    correct order can cause; a bound of 0 requires equality.
    """

    value: NDArray[np.float64]
    bound: NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One problem size that a lab is graded on.

    Attributes:
        name: The case's name.
        dims: The names that the lab's expressions may use, with their values.
        kind: Which inputs: "random", or "integer", whose exact result float32 can represent.
        visibility: Whether students see it.
        derived: Further dims whose values the student's own code computes: dim -> derivation.
    """

    name: str
    dims: Mapping[str, int]
    kind: str = "random"
    visibility: Visibility = "public"
    derived: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> str:
        """The values of the dims: "64 x 32"."""
        return " x ".join(str(v) for v in self.dims.values())

    def resolved(self, answers: Mapping[str, int]) -> Case:
        """Return this case with its derived dims set from the answers by derivation name."""
        own = {dim: answers[name] for dim, name in self.derived.items()}
        return replace(self, dims={**self.dims, **own}, derived={})


@dataclass(frozen=True)
class Span:
    """The values that a dim may be drawn from: from `least` to `most`, in steps."""

    least: int
    most: int
    step: int = 1


@dataclass(frozen=True)
class CheckSpec:
    """One graded aspect: `name` is a module of `grader.checks`, `options` are its settings.

    `where` is "file:line" of the check and `lines` has the line of each option, for messages.
    """

    name: str
    points: float
    options: Mapping[str, Any]
    where: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Band:
    """Speedups over the baseline: points start at `minimum` and grow up to `full`."""

    minimum: float
    full: float


@dataclass(frozen=True)
class KernelSpec:
    """A kernel that the student must write; `parameters` are (C type, name) in order."""

    name: str
    parameters: tuple[tuple[str, str], ...]

    @property
    def signature(self) -> str:
        """The kernel's declaration in CUDA C++."""
        inside = ", ".join(f"{t} {n}" for t, n in self.parameters)
        return f'extern "C" __global__ void {self.name}({inside})'


@dataclass(frozen=True)
class ArgumentSpec:
    """The argument for one kernel parameter: an array of `dtype` and `shape`, or a `value`.

    Shape and value are expressions over the case's dims (see `expressions`).
    """

    name: str
    role: Role
    dtype: str
    shape: tuple[str | int, ...] = ()
    value: str | int | float = 0


@dataclass(frozen=True)
class Geometry:
    """The grid and block of a launch, 1 to 3 expressions each, and its dynamic shared bytes.

    `cooperative`: whether its blocks may wait for each other with grid.sync().
    `large_shared`: whether the kernel may have more dynamic shared memory than 48 KiB.
    """

    grid: tuple[str | int, ...]
    block: tuple[str | int, ...]
    shared: str | int = 0
    cooperative: bool = False
    large_shared: bool = False


@dataclass(frozen=True)
class Derivation:
    """A number that the student's own code computes, for example the tile width for a device.

    The kernel runs with one thread on `given`, the values of its by-value parameters by name, and
    its answer is the only element of its output `output`. An answer outside `minimum` to `maximum`
    is wrong; `rule` states the requirement in words. One that only hidden cases use is hidden too.
    """

    name: str
    kernel: KernelSpec
    given: Mapping[str, int]
    output: str
    minimum: int
    maximum: int
    rule: str = ""
    visibility: Visibility = "public"

    @property
    def launch(self) -> Launch:
        """A launch of one thread; the output is the only argument that is read back."""
        args = tuple(
            Array(name, (1,), "int32", read_back=True)
            if name == self.output
            else Scalar(name, self.given[name], "int32")
            for _, name in self.kernel.parameters
        )
        return Launch(self.kernel.name, (1, 1, 1), (1, 1, 1), args, name=self.call)

    @property
    def output_index(self) -> int:
        """The index of the output among the launch's arguments."""
        return [name for _, name in self.kernel.parameters].index(self.output)

    @property
    def call(self) -> str:
        """The call as a message shows it: `choose_tile(1024, 49152)`."""
        inside = ", ".join(str(value) for value in self.given.values())
        return f"{self.kernel.name}({inside})"

    def problem(self, answer: int) -> str:
        """Return why an answer is wrong, in one line; empty when it is correct."""
        if self.minimum <= answer <= self.maximum:
            return ""
        expected = (
            f"{self.minimum}"
            if self.minimum == self.maximum
            else f"{self.minimum} to {self.maximum}"
        )
        reason = f": {self.rule}" if self.rule else ""
        return f"{self.call} answered {self.output} = {answer}, expected {expected}{reason}"


@dataclass(frozen=True)
class Probe:
    """A number that the simulator measures: the kernel of `file` on a public case.

    `file` is in the lab's folder or in its solution's. It is launched like the lab's own kernel
    unless `geometry` is set. `source` says what is read: the counter or resource `name`, the
    element of the output `name` at `index`, or the number of findings of the kind `name`.
    """

    file: str
    case: str
    source: Literal["counter", "element", "resource", "finding"]
    name: str
    index: tuple[int, ...] = ()
    geometry: Geometry | None = None


@dataclass(frozen=True)
class Choice:
    """One choice of a question, correct when the expression `when` is true; "" is not known."""

    text: str
    when: str = ""


@dataclass(frozen=True)
class Question:
    """One question of a lab's quiz.

    Attributes:
        name: The question's key in lab.yaml and in the answer sheet.
        kind: "number", "choice" or "text"; text needs review by the instructor.
        text: The question, with `{name}` where a number is inserted.
        given: Names with numbers, expressions over earlier names and the dims of `case`, or probes.
        answer: An expression over the names; None in a copy of the lab without answers.
        choices: The choices of a question of the kind "choice".
        case: The public case whose dims the expressions may use.
        unit: What the number counts.
        tolerance: The largest relative error.
        hint: Shown with a wrong answer.
        where: "file:line" of the question.
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
        """What must be simulated before the answer is known."""
        return {name: value for name, value in self.given.items() if isinstance(value, Probe)}

    @property
    def has_key(self) -> bool:
        """Whether this copy of the lab has what it needs to compute the answer."""
        return self.answer is not None or any(choice.when for choice in self.choices)


@dataclass(frozen=True)
class PreparedCase:
    """A case that is ready to run: its launch, and the expected outputs by argument index."""

    case: Case
    launch: Launch
    expected: Mapping[int, Expected]


@dataclass(frozen=True)
class Lab:
    """A lab as read from its folder.

    Attributes:
        name: The name of its folder.
        title: One line for students.
        folder: The lab's folder.
        kernels: The first is graded on every case; the others answer `derivations`.
        cases: The sizes that it is graded on.
        checks: What it gives points for.
        arguments: In the order of the first kernel's parameters.
        globals: The `__constant__` and `__device__` arrays that are set before each launch.
        geometry: How the first kernel is launched.
        baseline_geometry: How baseline.cu is launched, where that differs.
        drawn: The spans of the dims of one more hidden case, whose size the seed draws.
        derivations: What the student's code computes for derived dims.
        bands: The speed thresholds by the name of the device that they were measured on.
        quiz: The questions in their order.
        hints: What a report shows of a fix that was tried.
        ptx: Whether reports show the PTX instructions of each line of the student's file.
        where: The path of lab.yaml, for messages.
        lines: The line of each key of lab.yaml.
    """

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
    drawn: Mapping[str, Span] = field(default_factory=dict)
    derivations: tuple[Derivation, ...] = ()
    bands: Mapping[str, Band] = field(default_factory=dict)
    quiz: tuple[Question, ...] = ()
    hints: Hints = "place"
    ptx: bool = False
    where: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)

    def case(self, name: str) -> Case | None:
        """Return the case with that name, or None."""
        return next((case for case in self.cases if case.name == name), None)

    def location(self, key: str) -> str:
        """Return the location of a key of lab.yaml: "labs/x/lab.yaml:12: launch.grid"."""
        line = self.lines.get(key)
        return f"{self.where}:{line}: {key}" if line else f"{self.where}: {key}"

    @property
    def max_score(self) -> float:
        """The sum of the points of all checks."""
        return sum(c.points for c in self.checks)

    @property
    def handout(self) -> Path:
        """The text of its handout, beside the folder of the labs; the file may be missing."""
        return self.folder.parent.parent / "handouts" / f"{self.name}.md"

    @property
    def skeleton(self) -> Path:
        """The file that students start from."""
        return self.folder / f"{self.name}.cu"

    @property
    def baseline(self) -> Path:
        """The simple kernel that traffic and speed are compared with."""
        return self.folder / BASELINE_FILE

    @property
    def is_bundled(self) -> bool:
        """Whether it is the part that the installed package has: no hidden case, no solution."""
        return self.folder.parent == BUNDLED_LABS

    @property
    def solution(self) -> Path:
        """The solution: `solutions/<lab>/<lab>.cu` next to the folder of labs."""
        return self.folder.parent.parent / "solutions" / self.name / f"{self.name}.cu"

    @property
    def machine_files(self) -> tuple[Path, ...]:
        """The GPUs that were measured, `machines/*.yaml`: the course's own, else the package's."""
        course, package = self.folder.parent.parent, BUNDLED_LABS.parent
        folders = (course, Path(__file__).parents[2], package)
        files = (tuple(sorted(folder.glob(f"{MACHINES}/*.yaml"))) for folder in folders)
        return next((found for found in files if found), ())
