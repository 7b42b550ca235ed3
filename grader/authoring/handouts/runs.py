"""Runs behind the handouts: traces for figures, GPU measurements, example messages.

Figures launch the labs' kernels, or those in `kernels/`, on small inputs on the simulator. Figures
of speed read `handouts/data/ladder.json`, which `python -m bench.ladder` writes on a GPU: rates are
in FLOP/s, bandwidth is in bytes per second, `sizes` are n of an n x n x n product. For each lab
with a speed check, `labs` has the work of one launch of its solution (FLOP and bytes, from
lab.yaml) and its time in seconds. `message` gives the finding that the grader reports for an
incorrect variant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader import regex, replace
from grader.authoring.requirements import lab_folder, variant_kind
from grader.checks.causes import sort_findings
from grader.compile.source import compile_source
from grader.faults import LabFault
from grader.feedback.grade import grade
from grader.grading.run import run_all
from grader.labs.model import Lab
from grader.labs.reading import lab_roots, load_lab
from grader.launch import Argument, Array, Finding, Launch, Scalar, Trace
from grader.reports.finding import finding_text
from grader.submissions.files import read_submission

KERNELS = Path(__file__).parent / "kernels"
"""The folder of kernels that only figures use."""

CUBLAS = "cuBLAS"
"""The name of cuBLAS among the rungs of `ladder.json`."""

MESSAGE_WIDTH = 84
"""Columns of a message on a page."""

QUOTED_LINE = regex(r"(Look at line \d+), `.*`:")
"""The part of a hint that quotes the faulty line."""


def solution(lab: str, **constants: int) -> str:
    """Return a lab's solution with some `#define`d constants changed, for example TILE=2.

    Raises:
        LabFault: There is no such lab or constant, or the solution is missing.
    """
    path = load_lab(lab).solution
    return with_constants(_text(path), path, constants)


def baseline(lab: str) -> str:
    """Return the text of a lab's baseline; raises LabFault."""
    return _text(load_lab(lab).baseline)


def figure_kernel(name: str) -> str:
    """Return the text of a kernel that only a figure uses."""
    return _text(KERNELS / f"{name}.cu")


def with_constants(text: str, path: Path, constants: Mapping[str, int]) -> str:
    """Return the text with the value of each constant's `#define` changed.

    Raises:
        LabFault: A constant does not have exactly one `#define`.
    """
    for name, value in constants.items():
        text, count = re.subn(rf"(?m)^(#define {name}) \d+$", rf"\1 {value}", text)
        if count != 1:
            what = f"found {count} lines `#define {name} ...`, expected one"
            raise LabFault(what, where=str(path))
    return text


def run_traced(source: str, launch: Launch, *, table: bool = True) -> Trace:
    """Return the trace of one launch, with its access table.

    Raises:
        LabFault: The launch has a finding; figures show correct kernels only.
    """
    program = compile_source(source.encode(), "figure.cu")
    (trace,) = run_all(program, [launch], table=table, threads=1)
    if trace.errors or not trace.ended:
        raise LabFault(f"the kernel {launch.kernel} of a figure: {trace.errors[0].message}")
    return trace


def numbers(*shape: int) -> NDArray[np.float32]:
    """Return an array of small whole numbers; no figure depends on the values."""
    return (np.arange(int(np.prod(shape)), dtype=np.float32) % 61).reshape(shape)


def matrices(m: int, n: int, k: int) -> tuple[Argument, ...]:
    """Return the arguments A (m x k), B (k x n) and C (m x n) of a product."""
    a, b = numbers(m, k), numbers(k, n)
    return (
        Array("A", a.shape, "float32", a),
        Array("B", b.shape, "float32", b),
        Array("C", (m, n), "float32", None, True),
    )


def int_argument(name: str, value: int) -> Scalar:
    """Return an int argument."""
    return Scalar(name, value, "int32")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabFault(f"cannot read the file: {error.strerror}", where=str(path)) from None


class Work(BaseModel):
    """The work and the time of one launch of a lab's solution."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    flop: float = Field(gt=0)
    bytes: float = Field(gt=0)
    seconds: float = Field(gt=0)


class Measured(BaseModel):
    """The contents of `ladder.json`."""

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
        """The device, the driver and the date of the measurement, in one line."""
        return f"{self.device}, driver {self.driver}, {self.date}"


def data_file() -> Path:
    """Return the path of `ladder.json`."""
    return lab_roots()[0].parent / "handouts" / "data" / "ladder.json"


def read_measured() -> Measured | None:
    """Read `ladder.json`; None when the file is missing. Raises LabFault for an invalid file."""
    path = data_file()
    if not path.is_file():
        return None
    try:
        return Measured.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        fix = "run `python -m bench.ladder` again on a GPU"
        raise LabFault(f"{place}: {first['msg']}", where=str(path), fix=fix) from None


def message(lab: Lab, variant: str) -> str:
    """Return the finding for `solutions/<lab>/wrong/<variant>.cu` as a student reads it.

    Lines of source are left out, because most of them are lines of the solution. Raises LabFault.
    """
    path = lab_folder(lab).solutions / "wrong" / f"{variant}.cu"
    graded = grade(lab, read_submission(path))
    kind = variant_kind(path.name)
    findings = [f for check in graded.checks for f in check.findings if f.kind == kind]
    if not findings:
        raise LabFault(f"this incorrect variant has no finding of kind {kind}", where=str(path))
    return finding_text(
        _without_source(sort_findings(findings)[0], f"{lab.name}.cu"), MESSAGE_WIDTH
    ).plain


def _without_source(finding: Finding, file: str) -> Finding:
    other = finding.other
    if other is not None:
        other = replace(other, text="", calls=tuple(replace(call, text="") for call in other.calls))
    calls = tuple(replace(call, text="") for call in finding.calls)
    hint = QUOTED_LINE.sub(r"\1:", finding.hint)
    return replace(finding, text="", column=0, file=file, other=other, hint=hint, calls=calls)
