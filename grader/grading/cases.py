"""Run a lab's cases with a compiled program: Program -> CaseRuns.

A lab may ask the student to compute launch parameters in a kernel of their own (a derivation, for
example `choose_tile`). Derivations run first; the cases that depend on them use their answers.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from grader import dataclass, replace
from grader.checks.result import CaseRun
from grader.compile.program import Program
from grader.grading.run import run_all
from grader.labs.cases import drawn_cases, prepare_case
from grader.labs.model import Case, Derivation, Expected, Lab, PreparedCase
from grader.launch import Array, Finding, Launch, Trace, WorkMeasure
from grader.sandbox.call import KeptChild

if TYPE_CHECKING:
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from grader.gpu.process import ReadyChildren

Backend = Literal["sim", "gpu"]

MAX_STEPS = 20_000_000
"""Warp instructions that a block may execute in the simulator: hundreds of times what the
solutions need. Unlike a limit in seconds, it gives the same verdict on every machine."""

KEPT_BYTES = 32 << 20
"""The size of the prepared cases that are kept for the next submission to a lab."""


class _KeptCases:
    """The cases that were prepared last: the inputs of all submissions to a lab are the same."""

    def __init__(self) -> None:
        self._lock, self._bytes = Lock(), 0
        self._known: OrderedDict[object, tuple[Lab, PreparedCase, int]] = OrderedDict()

    def get(self, lab: Lab, case: Case, seed: bytes, answers: Mapping[str, int]) -> PreparedCase:
        """Return `prepare_case` of these; its arrays are read-only. Raises LabFault."""
        source = b""
        with suppress(OSError):  # `prepare_case` reports it
            source = (lab.folder / "reference.py").read_bytes()
        derived = tuple(answers.get(name) for name in sorted(case.derived.values()))
        # `lab` is kept with the entry, so that no other one gets its id.
        key = id(lab), case.name, tuple(sorted(case.dims.items())), case.kind, seed, derived, source
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key][1]
        prepared, size = _kept(prepare_case(lab, case, seed, answers))
        with self._lock:
            if size <= KEPT_BYTES and key not in self._known:
                self._known[key] = lab, prepared, size
                self._bytes += size
            while self._bytes > KEPT_BYTES:
                self._bytes -= self._known.popitem(last=False)[1][2]
        return prepared


def _kept(prepared: PreparedCase) -> tuple[PreparedCase, int]:
    """The case with read-only arrays of its own, and their bytes.

    Those that the reference's process gave hold a descriptor each.
    """
    size = 0

    def own(array: NDArray[Any]) -> NDArray[Any]:
        nonlocal size
        copy = array.copy()
        copy.flags.writeable = False
        size += copy.nbytes
        return copy

    launch = prepared.launch
    args = tuple(
        replace(a, data=own(a.data)) if isinstance(a, Array) and a.data is not None else a
        for a in launch.args
    )
    variables = {name: own(array) for name, array in launch.globals.items()}
    expected = {k: Expected(own(e.value), own(e.bound)) for k, e in prepared.expected.items()}
    launch = replace(launch, args=args, globals=variables)
    return PreparedCase(prepared.case, launch, expected), size


_KEPT = _KeptCases()


@dataclass(frozen=True)
class RunOptions:
    """How to run cases.

    Attributes:
        on: the backend. With "gpu", cases run on the simulator too: it evaluates synchronization,
            memory and traffic on every machine.
        seed: the seed of the hidden cases' inputs and of the timed launch; see `seed_of`.
        threads: the simulator's threads; None for all cores.
        limit: seconds that one launch may take.
        steps: warp instructions that a block may execute in the simulator.
        measure: what the simulator measures of the threads' work.
        ready: children that run launches on a GPU, started before they are needed.
        timed: the launches to time, which are prepared meanwhile (grader.grading.timing).
    """

    on: Backend = "sim"
    seed: bytes = b""
    threads: int | None = None
    limit: float = 20.0
    steps: int = MAX_STEPS
    measure: WorkMeasure = "nothing"
    ready: ReadyChildren | None = field(default=None, compare=False, repr=False)
    timed: Future[tuple[Launch, Launch]] | None = field(default=None, compare=False, repr=False)

    def seed_of(self, case: Case) -> bytes:
        """Return the seed of one case's inputs.

        The inputs of a public case are the same in every course: what a student reads about it
        then depends on no secret, and `grader check` repeats it.
        """
        return self.seed if case.visibility == "hidden" else b""

    @property
    def parallel_jobs(self) -> int:
        """How many submissions to grade in parallel, each with one thread of the simulator.

        Launches on a GPU take turns by its lock; the rest of the work runs in parallel. One more
        than the machine has cores: between its child processes, each leaves a core idle.
        """
        return self.threads or (os.cpu_count() or 1) + 1


def select_cases(
    lab: Lab, visibility: Literal["public", "all"], seed: bytes = b""
) -> tuple[Case, ...]:
    """Select the cases to grade: the public ones, or all and the one whose size the seed draws."""
    if visibility == "public":
        return tuple(case for case in lab.cases if case.visibility == "public")
    return (*lab.cases, *drawn_cases(lab, seed))


def run_cases(
    lab: Lab, program: Program, cases: Sequence[Case], options: RunOptions
) -> tuple[CaseRun, ...]:
    """Launch every derivation and every case.

    A case that depends on a wrong derived number is not launched; its trace repeats the error.

    Returns:
        One CaseRun for each derivation, then one for each case, in the lab's order.

    Raises:
        LabFault: the lab's reference or a launch is broken.
        MachineFault: a backend fails.
    """
    with KeptChild() as kept:
        hidden = any(case.visibility == "hidden" for case in cases)
        derived = run_derivations(lab, program, options, kept, hidden=hidden)
        ready = {p.case.name: p for p in prepare_cases(lab, cases, options, derived)}
        launched: dict[str, CaseRun] = {}
        for visibility in ("public", "hidden"):
            group = [p for p in ready.values() if p.case.visibility == visibility]
            launched |= {run.case.name: run for run in _launch(program, group, options, kept)}
    derivations = {name: run for name, (run, _) in derived.items()}
    return (
        *derivations.values(),
        *(launched.get(case.name) or _not_launched(case, derivations) for case in cases),
    )


def _launch(
    program: Program, ready: Sequence[PreparedCase], options: RunOptions, kept: KeptChild
) -> Iterator[CaseRun]:
    """Launch prepared cases in one process of each backend.

    Public and hidden cases never share a process on a GPU: a launch that leaves something in its
    memory would tell a public case of a hidden one. On the simulator, a process may get the hidden
    cases once the traces of the public ones are final.
    """
    launches = [prepared.launch for prepared in ready]
    with ThreadPoolExecutor(max_workers=1) as executor:  # the GPU and the simulator run in parallel
        device = executor.submit(run_on_gpu, program, launches, options)
        traces = run_all(
            program, launches, threads=options.threads, limit=options.limit, steps=options.steps,
            measure=options.measure, kept=kept,
        )  # fmt: skip
    on_gpu = device.result() or (None,) * len(launches)
    for prepared, trace, other in zip(ready, traces, on_gpu, strict=True):
        yield CaseRun(prepared.case, prepared, trace, device=other)


def prepare_cases(
    lab: Lab,
    cases: Sequence[Case],
    options: RunOptions,
    derived: Mapping[str, tuple[CaseRun, int | None]],
) -> tuple[PreparedCase, ...]:
    """Prepare the cases whose derived numbers are all right; skip the others.

    Args:
        lab: the lab.
        cases: the cases to prepare.
        options: the seed of the inputs.
        derived: the result of run_derivations.

    Raises:
        LabFault: the lab's reference or a launch is broken.
    """
    answers = {name: answer for name, (_, answer) in derived.items() if answer is not None}
    return tuple(
        _KEPT.get(lab, case, options.seed_of(case), answers)
        for case in cases
        if all(name in answers for name in case.derived.values())
    )


def run_on_gpu(
    program: Program, launches: Sequence[Launch], options: RunOptions
) -> tuple[Trace, ...]:
    """Run the launches on a GPU if `options` ask for one; otherwise return no traces."""
    if options.on != "gpu":
        return ()
    return run_all(program, launches, on="gpu", limit=options.limit, ready=options.ready)


def run_derivations(
    lab: Lab,
    program: Program,
    options: RunOptions,
    kept: KeptChild | None = None,
    *,
    hidden: bool = True,
) -> Mapping[str, tuple[CaseRun, int | None]]:
    """Run derivations: by name, the run and the answer of each (None when it is wrong).

    Those that only hidden cases use are left out unless `hidden`.
    """
    asked = [d for d in lab.derivations if hidden or d.visibility == "public"]
    if not asked:
        return {}
    launches = [derivation.launch for derivation in asked]
    traces = run_all(
        program, launches, threads=options.threads, limit=options.limit, steps=options.steps,
        kept=kept,
    )  # fmt: skip
    return {
        derivation.name: evaluate_answer(derivation, trace, program)
        for derivation, trace in zip(asked, traces, strict=True)
    }


def evaluate_answer(
    derivation: Derivation, trace: Trace, program: Program
) -> tuple[CaseRun, int | None]:
    """Evaluate one derivation: its run as a case, and its answer (None when it is wrong)."""
    case = Case(derivation.call, {}, visibility=derivation.visibility)
    index = derivation.output_index
    if not trace.ended or index not in trace.outputs:
        return CaseRun(case, None, replace(trace, ended=False)), None
    answer = int(trace.outputs[index].reshape(-1)[0])
    unwritten = bool(np.any(trace.unwritten.get(index, False)))
    problem = derivation.problem(answer)
    if unwritten:
        problem = f"{derivation.call} never writes {derivation.output}"
    if not problem:
        return CaseRun(case, expected_answer(derivation), trace), answer
    kernel = program.kernel(derivation.kernel.name)
    finding = Finding(
        "unwritten-output" if unwritten else "wrong-output",
        "error",
        problem,
        variable=derivation.output,
        hint=f"Compute {derivation.call} by hand and compare each step with the kernel.",
    )
    placed = program.at(finding, kernel.line if kernel else 0)
    return CaseRun(case, None, replace(trace, findings=(*trace.findings, placed))), None


def expected_answer(derivation: Derivation) -> PreparedCase:
    """Return a derivation as a prepared case: every value from minimum to maximum is right."""
    span = np.array([derivation.minimum, derivation.maximum], dtype=np.float64)
    expected = Expected(span.mean(keepdims=True), np.ptp(span, keepdims=True) / 2)
    case = Case(derivation.call, {}, visibility=derivation.visibility)
    return PreparedCase(case, derivation.launch, {derivation.output_index: expected})


def _not_launched(case: Case, derivations: Mapping[str, CaseRun]) -> CaseRun:
    """Return the run of a case that was not launched, with its derivation's errors."""
    sources = (derivations[name] for name in case.derived.values())
    wrong = next(run.trace for run in sources if run.prepared is None)
    return CaseRun(case, None, Trace(wrong.backend, wrong.errors, ended=False), launched=False)
