"""What the grader really says to a wrong kernel of the solutions' folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.authoring.gate import lab_folder, wrong_twin_kind
from grader.compile.source import compile_source
from grader.faults import LabFault
from grader.feedback.grade import grade
from grader.grading.run import run_all
from grader.labs.model import Lab
from grader.labs.reading import lab_roots, load_lab
from grader.launch import Argument, Array, Finding, Launch, Scalar, Trace
from grader.reports.finding import finding_text, in_order
from grader.submissions.files import read_submission

# Our own kernels, launched small, for the figures: source, launch -> Trace.

KERNELS = Path(__file__).parent / "kernels"


def solution(lab: str, **constants: int) -> str:
    """A lab's solution with some of its `#define`d constants set anew, for example TILE=2.

    Raises LabFault when there is no such lab or constant, or the solution is not here.
    """
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
    figure shows a sound kernel.
    """
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


# What a GPU measured for the figures that need one: handouts/data/ladder.json.
#
# `python -m bench.ladder` writes it. Rates are in FLOP/s, bandwidth in bytes a second, sizes are n
# of an n x n x n product; `labs` has, for each lab with a speed check, what one launch of its
# solution has to do (FLOP and bytes, as its lab.yaml says) and the seconds it took.

CUBLAS = "cuBLAS"
"""Its name among the rungs."""


class Work(BaseModel):
    """One launch of a lab's solution."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    flop: float = Field(gt=0)
    bytes: float = Field(gt=0)
    seconds: float = Field(gt=0)


class Measured(BaseModel):
    """The file: who measured, and what."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    device: str
    driver: str
    date: str
    flop_rate: float = Field(gt=0)
    bandwidth: float = Field(gt=0)
    sizes: tuple[int, ...]
    rungs: Mapping[str, tuple[float, ...]]
    labs: Mapping[str, Work]

    @property
    def source(self) -> str:
        """One line that says where the numbers come from."""
        return f"{self.device}, driver {self.driver}, {self.date}"


def data_file() -> Path:
    """Where the numbers are kept."""
    return lab_roots()[0].parent / "handouts" / "data" / "ladder.json"


def measured() -> Measured | None:
    """The numbers; None when nobody has measured yet. Raises LabFault: the file is not right."""
    path = data_file()
    if not path.is_file():
        return None
    try:
        return Measured.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        fix = "measure again: python -m bench.ladder"
        raise LabFault(f"{place}: {first['msg']}", where=str(path), fix=fix) from None


WIDTH = 84
AT_FAULT = re.compile(r"(look at line \d+), `.*`:")
"""How a hint repeats the line at fault."""


def message(lab: Lab, twin: str) -> str:
    """The finding that `solutions/<lab>/wrong/<twin>.cu` draws, as a student reads it, without the
    lines of source: they are nearly a solution's. Raises LabFault.
    """
    path = lab_folder(lab).solutions / "wrong" / f"{twin}.cu"
    made = grade(lab, read_submission(path))
    kind = wrong_twin_kind(path.name)
    drawn = [f for check in made.checks for f in check.findings if f.kind == kind]
    if not drawn:
        raise LabFault(f"the wrong twin draws no {kind}", where=str(path))
    return finding_text(_bare(in_order(drawn)[0], f"{lab.name}.cu"), WIDTH).plain


def _bare(finding: Finding, file: str) -> Finding:
    other = replace(finding.other, text="") if finding.other else None
    hint = AT_FAULT.sub(r"\1:", finding.hint)
    return replace(finding, text="", column=0, file=file, other=other, hint=hint)
