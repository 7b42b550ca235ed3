"""What a check is given and what it says: frozen values, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from grader.compile.program import Program
from grader.gpu.speedup import Timing
from grader.labs.model import Case, Lab, PreparedCase, Visibility
from grader.labs.quiz import QuizAttempt
from grader.launch import Finding, Localization, Trace

Status = Literal["pass", "fail", "blocked", "unjudged", "error"]

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class CheckOptions(BaseModel):
    """Base of every check's options: a key that the check does not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def needs_baseline(self) -> bool:
        """Whether the lab's baseline kernel has to be measured for this check."""
        return False


@dataclass(frozen=True)
class Dependency:
    """What must hold before a check may give points.

    `on` is the other check's name. `need` says how much of it: "one" case right, or "all".
    A check that `runs_anyway` is judged even when the dependency fails, so that its findings are
    told; only its pass becomes `blocked`, and a kernel that does nothing earns nothing.
    """

    on: str
    need: Literal["one", "all"] = "one"
    runs_anyway: bool = False


@dataclass(frozen=True)
class CaseRun:
    """One case and what its launch did. `prepared` is None when the student's own derived number
    is wrong; `trace` says so. `launched` is False for a case that needed such a number: nothing
    ran, and its trace repeats why. `trace` is the simulator's, the judge of synchronisation, memory
    and traffic on every machine; `device` is the GPU's when the case ran there too.
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
        """What both saw; of the GPU's only the kinds that the simulator, which names lines and
        threads, did not see.
        """
        seen = {f.kind for f in self.trace.findings}
        told = self.device.findings if self.device else ()
        return self.trace.findings + tuple(f for f in told if f.kind not in seen)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of severity "error"."""
        return tuple(f for f in self.findings if f.severity == "error")


@dataclass(frozen=True)
class Verdict:
    """What one check found.

    `share` is the part of its points that is earned, from 0 to 1. `cases` maps a case's name to
    its status where the check judges case by case. `measurements` are numbers in the unit that
    their name says; `measured_on` is the case that they and the summary speak of.
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
    """A verdict with its points, as it stands in a grade."""

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


@dataclass(frozen=True)
class Evidence:
    """All that a check may look at.

    `baseline` has the traces of the lab's baseline kernel by case name; `settled` the verdicts of
    the checks that this one depends on. `timings` are the measurements of speed in their order,
    of which the last one counts; without any, `untimed` says why. `sampled` is the timed launch
    at its full size on the simulator, of which a few blocks were watched. `paper` is the quiz as
    handed in; `blame` is who stored what is wrong, and the line at fault.
    """

    lab: Lab
    program: Program
    runs: tuple[CaseRun, ...]
    backend: Literal["sim", "gpu"] = "sim"
    baseline: Mapping[str, Trace] = field(default_factory=lambda: _EMPTY)
    settled: Mapping[str, Verdict] = field(default_factory=lambda: _EMPTY)
    timings: tuple[Timing, ...] = ()
    untimed: str = ""
    sampled: tuple[CaseRun, ...] = ()
    paper: QuizAttempt | None = None
    localization: Localization = Localization()

    @property
    def watched(self) -> tuple[CaseRun, ...]:
        """Every run whose findings count."""
        return (*self.runs, *self.sampled)

    @property
    def extents(self) -> frozenset[int]:
        """How far the blocks of the launches reach along their axes; an axis of one is none."""
        launches = [run.prepared.launch for run in self.runs if run.prepared]
        return frozenset(n for launch in launches for n in launch.block) - {1}

    @property
    def largest(self) -> CaseRun | None:
        """The case that measurements are taken on: the public one with the most array elements,
        the first of equals; a hidden one only when no case is public.
        """
        return largest(self.runs, self.lab.kernels[0].name)

    @property
    def has_right_case(self) -> bool:
        """Whether the graded kernel itself (not one that answers a derivation) is right once."""
        kernel = self.lab.kernels[0].name
        return any(
            run.prepared is not None
            and run.prepared.launch.kernel == kernel
            and self.is_right(run.case.name)
            for run in self.runs
        )

    def is_right(self, case: str) -> bool:
        """Whether the output of that case is known to be right; True when nobody judged it."""
        verdict = self.settled.get("output")
        return verdict is None or verdict.cases.get(case) == "pass"


def elements(prepared: PreparedCase) -> int:
    """How many array elements the launch of a case touches: its size as one number."""
    shapes = [getattr(argument, "shape", (0,)) for argument in prepared.launch.args]
    total = 0
    for shape in shapes:
        count = 1
        for extent in shape:
            count *= extent
        total += count
    return total


def largest(runs: tuple[CaseRun, ...], kernel: str) -> CaseRun | None:
    """The largest public case of those that launched `kernel`; None when there is none."""
    ready = [
        (elements(r.prepared), r) for r in runs if r.prepared and r.prepared.launch.kernel == kernel
    ]
    public = [pair for pair in ready if pair[1].case.visibility == "public"]
    return max(public or ready, key=lambda pair: pair[0], default=(0, None))[1]
