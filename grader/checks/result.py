"""The values that checks receive and return: CaseRun, Evidence, Verdict, Result. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, field
from math import prod
from types import MappingProxyType
from typing import Any, Literal

from grader import dataclass, replace
from grader.checks.causes import Explanation
from grader.compile.program import Program
from grader.gpu.speedup import Timing
from grader.labs.cases import launch_shape
from grader.labs.model import Case, Lab, PreparedCase, Visibility
from grader.labs.quiz import QuizAttempt
from grader.launch import Finding, Trace
from grader.simulator.exchange import Localization

Status = Literal["pass", "fail", "blocked", "unjudged", "error"]

_EMPTY: Mapping[str, Any] = MappingProxyType({})


def limited(default: Any = MISSING, **bounds: float | bool) -> Any:
    """Return the field of an option with the bounds `gt`, `ge`, `le` and `allow_inf_nan`."""
    return field(default=default, metadata=bounds)


@dataclass(frozen=True)
class CheckOptions:
    """Base of every check's options, which `suite.read_options` validates."""

    @property
    def needs_baseline(self) -> bool:
        """Whether this check needs the counters of the lab's baseline kernel."""
        return False

    @property
    def measures_work(self) -> bool:
        """Whether this check needs what the simulator measures of the threads' work."""
        return False

    @property
    def measures_sharing(self) -> bool:
        """Whether this check needs to know how data went through shared memory."""
        return False

    @property
    def problem(self) -> str:
        """Why options that are valid one by one cannot be used together; empty if they can."""
        return ""


@dataclass(frozen=True)
class MeasuredOptions(CheckOptions):
    """Options of every measured check.

    Attributes:
        max_thread_work: the instructions of the busiest thread over those of the baseline's, at
            most, for the same number of threads; null: not evaluated.
    """

    max_thread_work: float | None = limited(8.0, gt=0)

    @property
    def measures_work(self) -> bool:
        """Whether the check needs what the simulator measures of the threads' work."""
        return self.max_thread_work is not None


@dataclass(frozen=True)
class Dependency:
    """What must hold before a check may give points.

    Attributes:
        on: the other check's name.
        need: "one" right case, or "all".
        runs_anyway: evaluate the check even when the dependency fails, to report its findings. A
            pass then becomes `blocked`: a kernel that does nothing earns nothing.
    """

    on: str
    need: Literal["one", "all"] = "one"
    runs_anyway: bool = False


@dataclass(frozen=True)
class CaseRun:
    """One case and the traces of its launch.

    Attributes:
        case: the case.
        prepared: its launch and expected outputs; None when the student's derived number is wrong.
        trace: the simulator's, which decides synchronization, memory and traffic on every machine.
        launched: False for a case that depends on a wrong derived number; its trace repeats the
            derivation's errors.
        device: the GPU's trace when the case ran there too.
    """

    case: Case
    prepared: PreparedCase | None
    trace: Trace
    launched: bool = True
    device: Trace | None = None

    @property
    def computed(self) -> Trace:
        """The trace whose outputs count: the GPU's where there is one."""
        return self.device or self.trace

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of both backends.

        Of the GPU's, only kinds that the simulator did not detect: the simulator names lines and
        threads.
        """
        kinds = {f.kind for f in self.trace.findings}
        on_gpu = self.device.findings if self.device else ()
        return self.trace.findings + tuple(f for f in on_gpu if f.kind not in kinds)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of severity "error"."""
        return tuple(f for f in self.findings if f.severity == "error")

    @property
    def threads(self) -> int:
        """The number of threads of the launch, 0 when nothing was launched."""
        launch = self.prepared.launch if self.prepared else None
        return prod(launch.grid) * prod(launch.block) if launch else 0


@dataclass(frozen=True)
class Verdict:
    """What one check decided.

    Attributes:
        status: the outcome.
        summary: one line for the student.
        share: the part of the check's points that is earned, 0 to 1.
        findings: what the check reports.
        measurements: numbers in the unit that their name states.
        cases: the status of each case by name, where the check evaluates case by case.
        measured_on: the case that measurements and summary describe.
    """

    status: Status
    summary: str
    share: float = 0.0
    findings: tuple[Finding, ...] = ()
    measurements: Mapping[str, float] = field(default_factory=lambda: _EMPTY)
    cases: Mapping[str, Status] = field(default_factory=lambda: _EMPTY)
    measured_on: str = ""


@dataclass(frozen=True)
class Result:
    """A verdict with its points, as a grade records it.

    `public` is what the check decides from the public cases alone, where hidden ones counted too:
    all that a student may read (grader.reports.redact). None where nothing is hidden, or nothing
    can be decided without the hidden cases.
    """

    name: str
    status: Status
    points: float
    max_points: float
    summary: str
    findings: tuple[Finding, ...] = ()
    measurements: Mapping[str, float] = field(default_factory=lambda: _EMPTY)
    visibility: Visibility = "public"
    cases: Mapping[str, Status] = field(default_factory=lambda: _EMPTY)
    measured_on: str = ""
    public: Verdict | None = None


@dataclass(frozen=True)
class Evidence:
    """All that a check may use.

    Attributes:
        lab: the lab.
        program: the compiled submission.
        runs: the derivations and cases.
        backend: the backend that the grade is for.
        baseline: the counters of the lab's baseline kernel by case name.
        verdicts: the verdicts of the checks that this one depends on.
        timings: the speed measurements in order; the last one counts.
        timing_error: why there are no timings.
        sampled: the timed launch at its full size on the simulator, of which a few blocks ran.
        quiz: the student's answers with the expected ones.
        localization: which thread stored a wrong element, and the fault lines.
        explanation: what explains the findings, from the source and the public cases alone.
    """

    lab: Lab
    program: Program
    runs: tuple[CaseRun, ...]
    backend: Literal["sim", "gpu"] = "sim"
    baseline: Mapping[str, Trace] = field(default_factory=lambda: _EMPTY)
    verdicts: Mapping[str, Verdict] = field(default_factory=lambda: _EMPTY)
    timings: tuple[Timing, ...] = ()
    timing_error: str = ""
    sampled: tuple[CaseRun, ...] = ()
    quiz: QuizAttempt | None = None
    localization: Localization = Localization()
    explanation: Explanation = Explanation()

    @property
    def all_runs(self) -> tuple[CaseRun, ...]:
        """Every run whose findings count: the cases and the sampled timed launch."""
        return (*self.runs, *self.sampled)

    @property
    def public(self) -> Evidence:
        """The same evidence without the hidden cases."""
        runs = tuple(run for run in self.runs if run.case.visibility == "public")
        names = {run.case.name for run in runs}
        stored = {key: s for key, s in self.localization.stored.items() if key[0] in names}
        lines = {name: at for name, at in self.localization.lines.items() if name in names}
        return replace(
            self,
            runs=runs,
            baseline={name: trace for name, trace in self.baseline.items() if name in names},
            verdicts={},
            sampled=tuple(run for run in self.sampled if run.case.visibility == "public"),
            localization=Localization(lines, stored),
        )

    @property
    def extents(self) -> frozenset[int]:
        """The block extents of all launches, without 1."""
        launches = [run.prepared.launch for run in self.runs if run.prepared]
        return frozenset(n for launch in launches for n in launch.block) - {1}

    @property
    def largest(self) -> CaseRun | None:
        """The case that measurements are taken on.

        The public case with the most array elements, the first of equals; a hidden one only when
        no case is public.
        """
        return largest_run(self.runs, self.lab.kernels[0].name)

    @property
    def has_right_case(self) -> bool:
        """Whether the graded kernel (not a derivation's) produces the right output in any case."""
        kernel = self.lab.kernels[0].name
        return any(
            run.prepared is not None
            and run.prepared.launch.kernel == kernel
            and self.is_right(run.case.name)
            for run in self.runs
        )

    @property
    def measured(self) -> tuple[CaseRun, ...]:
        """Every case of the graded kernel, launched or not: what measured checks are out of."""
        kernel = self.lab.kernels[0].name
        return tuple(
            run
            for run in self.runs
            if not run.launched or (run.prepared and run.prepared.launch.kernel == kernel)
        )

    def is_sound(self, run: CaseRun) -> bool:
        """Return whether a case ran to its end with the right output: it can be measured."""
        ended = run.launched and run.prepared is not None and run.trace.ended and run.computed.ended
        return ended and self.is_right(run.case.name)

    @property
    def sound_traces(self) -> list[Trace]:
        """The traces of the cases that can be measured."""
        return [run.trace for run in self.measured if self.is_sound(run)]

    def baseline_threads(self, run: CaseRun) -> int:
        """Return the number of threads of the baseline's launch in a case."""
        if self.lab.baseline_geometry is None or run.prepared is None:
            return run.threads
        grid, block, _ = launch_shape(self.lab, run.prepared.case, self.lab.baseline_geometry)
        return prod(grid) * prod(block)

    def is_right(self, case: str) -> bool:
        """Return whether a case's output is right; True when the lab has no output check."""
        verdict = self.verdicts.get("output")
        return verdict is None or verdict.cases.get(case) == "pass"


def array_elements(prepared: PreparedCase) -> int:
    """Return the number of array elements of a case's launch: its size as one number."""
    shapes = [getattr(argument, "shape", (0,)) for argument in prepared.launch.args]
    total = 0
    for shape in shapes:
        count = 1
        for extent in shape:
            count *= extent
        total += count
    return total


def largest_run(runs: tuple[CaseRun, ...], kernel: str) -> CaseRun | None:
    """Return the largest case that launched `kernel`, a public one if any; None without one."""
    ready = [
        (array_elements(r.prepared), r)
        for r in runs
        if r.prepared and r.prepared.launch.kernel == kernel
    ]
    public = [pair for pair in ready if pair[1].case.visibility == "public"]
    return max(public or ready, key=lambda pair: pair[0], default=(0, None))[1]
