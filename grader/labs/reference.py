"""Load a lab's reference.py, call its functions, and check what they return.

It is the lab author's code and trusted, so it runs without a sandbox, but in a process of its own
that can be stopped (`grader.labs.reference_process`). Its mistakes are reported with file and line.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.faults import CHECK_RESOURCES, LabFault, MachineFault, file_fault
from grader.labs.model import ArgumentSpec, Case, Expected, Lab
from grader.labs.reference_child import SERVING_FAILED, Call, Draw, Load, Made, Returned
from grader.labs.reference_process import CallTimeout, Process, ProcessEnded, pool

Shapes = Mapping[str, tuple[int, ...]]

SECONDS = 60.0
"""Time limit of one call of the reference; calls of correct labs take about one second."""


class ReferenceTimeout(LabFault):
    """A call of the reference did not return in time: the rest of the lab cannot be computed."""


@dataclass(frozen=True)
class Reference:
    """A loaded reference.py: the functions that it defines, and the process that calls them."""

    path: Path
    functions: tuple[str, ...]
    process: Process

    def call(self, function: str, *arguments: Any) -> Any:
        """Call one of its functions.

        Args:
            function: Its name.
            arguments: Its arguments, of which it gets copies.

        Returns:
            Its result.

        Raises:
            LabFault: It raised an exception or ended the process.
            ReferenceTimeout: It did not return in time.
            MachineFault: The process was killed.
        """
        return _ask(self.path, self.process, Call(function, arguments))


def prepare_processes(count: int = 1) -> None:
    """Start the processes that so many callers of `load_reference` need at a time, unless they run.

    Call this before other threads start: a process is then forked, which takes 4 ms instead of 140.
    When one cannot be started, `load_reference` raises the fault.
    """
    with suppress(MachineFault):
        pool().prepare(count)


@contextmanager
def load_reference(path: Path) -> Iterator[Reference]:
    """Load the module at `path` into a process that serves only this caller.

    Every load executes the source again, so that no state of the module passes from one case to the
    next. No bytecode file is written.

    Raises:
        LabFault: It is missing, is not Python, raises, or lacks one of its two functions.
        ReferenceTimeout: It does not return in time.
        MachineFault: No process could be started, or it was killed.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise file_fault(
            error,
            f"cannot read the reference: {error.strerror}",
            where=str(path),
            fix="a lab needs a reference.py that defines inputs() and expected()",
        ) from None
    with pool().acquire() as process:
        functions = _ask(path, process, Load(str(path), source))
        for name in ("inputs", "expected"):
            if name not in functions:
                raise LabFault(f"defines no function {name}()", where=str(path))
        yield Reference(path, functions, process)


def make_inputs(
    lab: Lab, case: Case, shapes: Shapes, draw: Draw, reference: Reference
) -> dict[str, NDArray[Any]]:
    """Make the input arrays of a case by name of argument or variable, in C order."""
    required = {a.name: a for a in (*lab.arguments, *lab.globals) if a.role in ("in", "inout")}
    made = reference.call("inputs", dict(case.dims), draw, case.kind)
    where = f"{reference.path}: inputs() for case {case.name}"
    _check_names(where, made, tuple(required))
    return {
        name: _checked_input(f"{where}: {name}", made[name], spec, shapes[name])
        for name, spec in required.items()
    }


def make_expected(
    lab: Lab,
    case: Case,
    shapes: Shapes,
    inputs: Mapping[str, NDArray[Any] | Made],
    reference: Reference,
) -> dict[str, Expected]:
    """Compute the expected value of every output, by argument name."""
    required = tuple(a.name for a in lab.arguments if a.role in ("out", "inout"))
    made = reference.call("expected", dict(case.dims), dict(inputs))
    where = f"{reference.path}: expected() for case {case.name}"
    _check_names(where, made, required)
    return {n: _checked_expected(f"{where}: {n}", made[n], shapes[n]) for n in required}


def verify_outputs(
    lab: Lab,
    case: Case,
    inputs: Mapping[str, NDArray[Any] | Made],
    outputs: Mapping[str, NDArray[Any]],
    rng: np.random.Generator,
    reference: Reference,
) -> str:
    """Check a timed launch's outputs with the reference's verify().

    Returns:
        What is wrong; empty when the outputs are right.
    """
    problem = reference.call("verify", dict(case.dims), dict(inputs), dict(outputs), rng)
    if not isinstance(problem, str):
        where = f"{reference.path}: verify() for case {case.name}"
        raise LabFault(f"must return a text, not {type(problem).__name__}", where=where)
    return problem


def _ask(path: Path, process: Process, request: Load | Call) -> Any:
    """Send a request to the process and return the result; raise the fault that it causes."""
    try:
        reply = process.ask(str(path), request, SECONDS)
    except CallTimeout as timeout:
        raise ReferenceTimeout(
            f"the reference was still running here after {SECONDS:g} s",
            where=_place(path, timeout.line),
            fix="let every loop end, and keep inputs() and expected() fast: they run once a case",
        ) from None
    except ProcessEnded as ended:
        raise _process_fault(path, ended) from None
    if isinstance(reply, Returned):
        return reply.value
    if reply.is_system_error:
        raise MachineFault(reply.what, where=_place(path, reply.line), fix=CHECK_RESOURCES)
    raise LabFault(reply.what, where=_place(path, reply.line))


def _process_fault(path: Path, ended: ProcessEnded) -> LabFault | MachineFault:
    """The fault for a process that ended: an exit is the reference's, a signal the machine's."""
    where = _place(path, ended.line)
    if ended.code == SERVING_FAILED:
        what = "the process that runs the reference failed"
        return MachineFault(what, where=where, fix=CHECK_RESOURCES)
    if ended.code >= 0:
        what = f"the reference ended its process with exit code {ended.code}"
        return LabFault(what, where=where, fix="return from the function; do not call os._exit()")
    name = signal.Signals(-ended.code).name
    what = f"the process that ran the reference was ended by {name}"
    return MachineFault(what, where=where, fix="check the free memory of this machine")


def _place(path: Path, line: int | None) -> str:
    return f"{path}:{line}" if line else str(path)


def _check_names(where: str, made: Any, required: tuple[str, ...]) -> None:
    if not isinstance(made, Mapping):
        raise LabFault("must return a dict of arrays by argument name", where=where)
    missing = [name for name in required if name not in made]
    extra = [str(name) for name in made if name not in required]
    if missing or extra:
        what = f"returned no {', '.join(missing)}" if missing else f"returned {', '.join(extra)}"
        names = ", ".join(required) or "nothing"
        raise LabFault(what, where=where, fix=f"return {names}, as lab.yaml declares")


def _checked_input(
    where: str, made: Any, spec: ArgumentSpec, shape: tuple[int, ...]
) -> NDArray[Any]:
    if not isinstance(made, np.ndarray):
        raise LabFault(f"is a {type(made).__name__}, not a NumPy array", where=where)
    if made.shape != shape or made.dtype != np.dtype(spec.dtype):
        raise LabFault(
            f"is {made.dtype} {made.shape}, lab.yaml says {spec.dtype} {shape}", where=where
        )
    return np.ascontiguousarray(made)


def _checked_expected(where: str, made: Any, shape: tuple[int, ...]) -> Expected:
    if not isinstance(made, Expected):
        raise LabFault(
            f"is a {type(made).__name__}",
            where=where,
            fix="return an Expected(value, bound) of grader.labs.model, or use "
            "grader.labs.tolerance",
        )
    value = np.asarray(made.value, dtype=np.float64)
    bound = np.asarray(made.bound, dtype=np.float64)
    for part, array in (("value", value), ("bound", bound)):
        if array.shape not in (shape, ()):  # a number counts for every element
            raise LabFault(f"its {part} has shape {array.shape}, not {shape}", where=where)
    value, bound = (np.broadcast_to(array, shape).copy() for array in (value, bound))
    if not (np.all(np.isfinite(bound)) and np.all(bound >= 0)):
        raise LabFault("its bound must be finite and not negative everywhere", where=where)
    return Expected(value, bound)
