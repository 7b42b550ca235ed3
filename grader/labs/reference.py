"""A lab's reference.py: loaded from its path, called, and its answers checked.

It is the lab author's own code and is trusted, so it runs without a sandbox, but in a process that
can be ended (`grader.labs.reference_process`). Its mistakes are reported with file and line.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.faults import LabFault, MachineFault
from grader.labs.model import ArgumentSpec, Case, Expected, Lab
from grader.labs.reference_child import Call, Load, Returned
from grader.labs.reference_process import Died, Overdue, Process, pool

Shapes = Mapping[str, tuple[int, ...]]

SECONDS = 60.0
"""How long one call of the reference may take; those of good labs are done in one second."""


class Endless(LabFault):
    """The reference did not come to an end: nothing else of the lab can be worked out."""


@dataclass(frozen=True)
class Reference:
    """A loaded reference.py: which functions it defines, and the process that calls them."""

    path: Path
    functions: tuple[str, ...]
    process: Process

    def call(self, function: str, *arguments: Any) -> Any:
        """Call one of its functions.

        Args:
            function: The name.
            arguments: What to pass. The function gets copies.

        Returns:
            What it returns.

        Raises:
            LabFault: It raised an exception or ended the process.
            Endless: It did not end in time.
            MachineFault: The process was killed.
        """
        return _ask(self.path, self.process, Call(function, arguments))


def prepare_process() -> None:
    """Start the process that the first `load_reference` will need, unless there is one.

    Call it before other threads are started: the process is forked then, which takes 4 ms, not
    140. Where none can be started, `load_reference` says so.
    """
    with suppress(MachineFault):
        pool().prepare()


@contextmanager
def load_reference(path: Path) -> Iterator[Reference]:
    """Load the module at `path` into a process that serves this caller alone.

    Every load executes the source anew, so one case cannot influence the next through the state of
    the module. No bytecode file is written beside it.

    Raises:
        LabFault: It is missing, is not Python, raises, or lacks one of its two functions.
        Endless: It does not end.
        MachineFault: No process could be started, or it was killed.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise LabFault(
            f"cannot read the reference: {error.strerror}",
            where=str(path),
            fix="a lab needs a reference.py that defines inputs() and expected()",
        ) from None
    with pool().lent() as process:
        functions = _ask(path, process, Load(str(path), source))
        for name in ("inputs", "expected"):
            if name not in functions:
                raise LabFault(f"defines no function {name}()", where=str(path))
        yield Reference(path, functions, process)


def make_inputs(
    lab: Lab, case: Case, shapes: Shapes, rng: np.random.Generator, reference: Reference
) -> dict[str, NDArray[Any]]:
    """The arrays that a case's kernel is given, by argument's or variable's name, in C order."""
    wanted = {a.name: a for a in (*lab.arguments, *lab.globals) if a.role in ("in", "inout")}
    made = reference.call("inputs", dict(case.dims), rng, case.kind)
    where = f"{reference.path}: inputs() for case {case.name}"
    _same_names(where, made, tuple(wanted))
    return {
        name: _checked_input(f"{where}: {name}", made[name], spec, shapes[name])
        for name, spec in wanted.items()
    }


def make_expected(
    lab: Lab,
    case: Case,
    shapes: Shapes,
    inputs: Mapping[str, NDArray[Any]],
    reference: Reference,
) -> dict[str, Expected]:
    """The right answer of every output, by argument name."""
    wanted = tuple(a.name for a in lab.arguments if a.role in ("out", "inout"))
    made = reference.call("expected", dict(case.dims), dict(inputs))
    where = f"{reference.path}: expected() for case {case.name}"
    _same_names(where, made, wanted)
    return {n: _checked_expected(f"{where}: {n}", made[n], shapes[n]) for n in wanted}


def make_verdict(
    lab: Lab,
    case: Case,
    inputs: Mapping[str, NDArray[Any]],
    outputs: Mapping[str, NDArray[Any]],
    rng: np.random.Generator,
    reference: Reference,
) -> str:
    """What the reference's verify() says of a timed launch's outputs: empty when right."""
    said = reference.call("verify", dict(case.dims), dict(inputs), dict(outputs), rng)
    if not isinstance(said, str):
        where = f"{reference.path}: verify() for case {case.name}"
        raise LabFault(f"must return a text, not {type(said).__name__}", where=where)
    return said


def _ask(path: Path, process: Process, request: Load | Call) -> Any:
    """What the reference answers, or the fault for what went wrong."""
    try:
        reply = process.ask(str(path), request, SECONDS)
    except Overdue as overdue:
        raise Endless(
            f"the reference was still running here after {SECONDS:g} s",
            where=_place(path, overdue.line),
            fix="let every loop end; inputs() and expected() run once a case, so keep them fast",
        ) from None
    except Died as died:
        raise _death(path, died) from None
    if isinstance(reply, Returned):
        return reply.value
    raise LabFault(reply.what, where=_place(path, reply.line))


def _death(path: Path, died: Died) -> LabFault | MachineFault:
    """Only the reference itself can have left its process; a signal has come from elsewhere."""
    where = _place(path, died.line)
    if died.code >= 0:
        what = f"the reference ended its process with exit code {died.code}"
        return LabFault(what, where=where, fix="return from the function; do not call os._exit()")
    name = signal.Signals(-died.code).name
    what = f"the process that ran the reference was ended by {name}"
    return MachineFault(what, where=where, fix="check the free memory of this machine")


def _place(path: Path, line: int | None) -> str:
    return f"{path}:{line}" if line else str(path)


def _same_names(where: str, made: Any, wanted: tuple[str, ...]) -> None:
    if not isinstance(made, Mapping):
        raise LabFault("must return a dict of arrays by argument name", where=where)
    missing = [name for name in wanted if name not in made]
    extra = [str(name) for name in made if name not in wanted]
    if missing or extra:
        what = f"returned no {', '.join(missing)}" if missing else f"returned {', '.join(extra)}"
        due = ", ".join(wanted) or "nothing"
        raise LabFault(what, where=where, fix=f"by lab.yaml it must return {due}")


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
            fix="return an Expected(value, bound) of grader.labs.model, or use grader.labs.tolerance",
        )
    value = np.asarray(made.value, dtype=np.float64)
    bound = np.asarray(made.bound, dtype=np.float64)
    for part, array in (("value", value), ("bound", bound)):
        if array.shape != shape:
            raise LabFault(f"its {part} has shape {array.shape}, not {shape}", where=where)
    if not (np.all(np.isfinite(bound)) and np.all(bound >= 0)):
        raise LabFault("its bound must be finite and not negative everywhere", where=where)
    return Expected(value, bound)
