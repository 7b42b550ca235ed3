"""Our own kernels, launched small, for the figures: source, launch -> Trace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grader.compile.source import compile_source
from grader.fault import LabFault
from grader.labfile.spec import load_lab
from grader.launch import Argument, Array, Launch, Scalar, Trace
from grader.run import run_all

KERNELS = Path(__file__).parent / "kernels"


def solution(lab: str, **constants: int) -> str:
    """A lab's solution with some of its `#define`d constants set anew, for example TILE=2.

    Raises LabFault when there is no such lab or constant, or the solution is not here."""
    path = load_lab(lab).solution
    return with_constants(_text(path), path, constants)


def baseline(lab: str) -> str:
    """A lab's baseline. Raises LabFault."""
    return _text(load_lab(lab).baseline)


def own(name: str) -> str:
    """A kernel that is here for a figure only."""
    return _text(KERNELS / f"{name}.cu")


def with_constants(text: str, path: Path, constants: Mapping[str, int]) -> str:
    """The text with each constant's one `#define` changed. Raises LabFault."""
    for name, value in constants.items():
        text, found = re.subn(rf"(?m)^(#define {name}) \d+$", rf"\1 {value}", text)
        if found != 1:
            raise LabFault(f"{found} lines `#define {name} ...`, one is due", where=str(path))
    return text


def ran(source: str, launch: Launch, *, table: bool = True) -> Trace:
    """The trace of one launch, with its access table. Raises LabFault when it finds anything: a
    figure shows a sound kernel."""
    program = compile_source(source.encode(), "figure.cu")
    (trace,) = run_all(program, [launch], table=table, threads=1)
    if trace.errors or not trace.ended:
        raise LabFault(f"the figure's kernel {launch.kernel}: {trace.errors[0].message}")
    return trace


def numbers(*shape: int) -> NDArray[np.float32]:
    """Small whole numbers, all different enough; what they are makes no difference to a figure."""
    return (np.arange(int(np.prod(shape)), dtype=np.float32) % 61).reshape(shape)


def matrices(m: int, n: int, k: int) -> tuple[Argument, ...]:
    """A, B and C of a product."""
    a, b = numbers(m, k), numbers(k, n)
    return (
        Array("A", a.shape, "float32", a),
        Array("B", b.shape, "float32", b),
        Array("C", (m, n), "float32", None, True),
    )


def whole(name: str, value: int) -> Scalar:
    """An int argument."""
    return Scalar(name, value, "int32")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabFault(f"cannot read it: {error.strerror}", where=str(path)) from None
