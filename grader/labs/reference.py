"""A lab's reference.py: loaded from its path, called, and its answers checked.

It is the lab author's own code and is trusted; what it gets wrong is said with file and line.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
import numpy as np
from numpy.typing import NDArray
from grader.faults import LabFault
from grader.labs.model import ArgumentSpec, Case, Expected, Lab
from grader.within import Overdue, within

Shapes = Mapping[str, tuple[int, ...]]

SECONDS = 60.0
"""How long one call of the reference may take; those of good labs are done in one second."""


class Endless(LabFault):
    """The reference did not come to an end: nothing else of the lab can be worked out."""


def load_reference(path: Path) -> ModuleType:
    """The module at `path`, outside sys.modules and without a bytecode file beside it.

    Raises LabFault: it is missing, is not Python, raises, or lacks one of its two functions.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise LabFault(
            f"cannot read the reference: {error.strerror}",
            where=str(path),
            fix="a lab needs a reference.py that defines inputs() and expected()",
        ) from None
    module = ModuleType("reference")
    module.__file__ = str(path)
    try:
        code = compile(source, str(path), "exec")
    except SyntaxError as error:
        raise LabFault(f"not valid Python: {error.msg}", where=f"{path}:{error.lineno}") from None
    _call(path, exec, code, module.__dict__)
    for name in ("inputs", "expected"):
        if not callable(getattr(module, name, None)):
            raise LabFault(f"defines no function {name}()", where=str(path))
    return module


def make_inputs(
    lab: Lab, case: Case, shapes: Shapes, rng: np.random.Generator, module: ModuleType
) -> dict[str, NDArray[Any]]:
    """The arrays that a case's kernel is given, by argument's or variable's name, in C order."""
    path = lab.folder / "reference.py"
    wanted = {a.name: a for a in (*lab.arguments, *lab.globals) if a.role in ("in", "inout")}
    made = _call(path, module.inputs, dict(case.dims), rng, case.kind)
    where = f"{path}: inputs() for case {case.name}"
    _same_names(where, made, tuple(wanted))
    return {
        name: _checked_input(f"{where}: {name}", made[name], spec, shapes[name])
        for name, spec in wanted.items()
    }


def make_expected(
    lab: Lab, case: Case, shapes: Shapes, inputs: Mapping[str, NDArray[Any]], module: ModuleType
) -> dict[str, Expected]:
    """The right answer of every output, by argument name."""
    path = lab.folder / "reference.py"
    wanted = tuple(a.name for a in lab.arguments if a.role in ("out", "inout"))
    copies = {name: array.copy() for name, array in inputs.items()}
    made = _call(path, module.expected, dict(case.dims), copies)
    where = f"{path}: expected() for case {case.name}"
    _same_names(where, made, wanted)
    return {n: _checked_expected(f"{where}: {n}", made[n], shapes[n]) for n in wanted}


def make_verdict(
    lab: Lab,
    case: Case,
    inputs: Mapping[str, NDArray[Any]],
    outputs: Mapping[str, NDArray[Any]],
    rng: np.random.Generator,
    module: ModuleType,
) -> str:
    """What the reference's verify() says of a timed launch's outputs: empty when right."""
    path = lab.folder / "reference.py"
    said = _call(path, module.verify, dict(case.dims), dict(inputs), dict(outputs), rng)
    if not isinstance(said, str):
        where = f"{path}: verify() for case {case.name}"
        raise LabFault(f"must return a text, not {type(said).__name__}", where=where)
    return said


def _call(path: Path, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns; LabFault when it raises, Endless when it does not end."""
    try:
        return within(SECONDS, lambda: function(*arguments))
    except Overdue as overdue:
        lines = [frame.lineno for frame in overdue.stack if frame.filename == str(path)]
        raise Endless(
            f"the reference was still running here after {SECONDS:g} s",
            where=f"{path}:{lines[-1]}" if lines else str(path),
            fix="let every loop end; inputs() and expected() run once a case, so keep them fast",
        ) from None
    except Exception as error:
        raise _raised(path, error) from error


def _raised(path: Path, error: Exception) -> LabFault:
    """The fault for an exception out of the reference, at its own innermost line."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    where = f"{path}:{lines[-1]}" if lines else str(path)
    return LabFault(f"the reference raised {text}", where=where)


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
