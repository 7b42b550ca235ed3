"""Prepare a lab's cases: evaluate sizes, generate inputs, compute the expected outputs."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import replace
from grader.faults import LabFault
from grader.labs.expressions import evaluate_expression, evaluate_integer
from grader.labs.model import ArgumentSpec, Case, Derivation, Geometry, Lab, PreparedCase
from grader.labs.reference import load_reference, make_expected, make_inputs
from grader.labs.reference_child import Draw
from grader.launch import Argument, Array, Dim3, Launch, Scalar

MAX_BYTES = 2**31
"""The largest array of a case in bytes."""

DRAWN_CASE = "drawn-size"
"""The name of the case whose size the course's secret draws."""

MAX_DRAWS = 100

_NONE: Mapping[str, int] = MappingProxyType({})


def prepare_case(
    lab: Lab, case: Case, seed: bytes, derived: Mapping[str, int] = _NONE
) -> PreparedCase:
    """Return the launch of a case with its inputs, and the expected outputs in float64.

    Args:
        lab: The lab.
        case: One of its cases.
        seed: Determines the inputs, together with the names of the lab and the case.
        derived: The student's answers by derivation name.

    Raises:
        LabFault: The lab cannot provide them, or an answer is missing.
    """
    return _prepare(lab, case, lab.geometry, seed, derived)


def prepare_baseline(
    lab: Lab, case: Case, seed: bytes, derived: Mapping[str, int] = _NONE
) -> PreparedCase:
    """Return the same case for baseline.cu, whose kernel has the same signature."""
    return _prepare(lab, case, lab.baseline_geometry or lab.geometry, seed, derived)


def prepare_launches(lab: Lab, case: Case, seed: bytes) -> tuple[Launch, Launch]:
    """Return the launch of a case and the baseline's, with the same inputs.

    All dims of the case must be known. The expected outputs are not computed.

    Raises:
        LabFault: The lab cannot provide the inputs.
    """
    shapes = array_shapes(lab, case)
    draw = case_draw(seed, lab.name, case.name)
    with load_reference(lab.folder / "reference.py") as reference:
        inputs = make_inputs(lab, case, shapes, draw, reference)
    student = _launch(lab, case, lab.geometry, shapes, inputs)
    return student, _launch(lab, case, lab.baseline_geometry or lab.geometry, shapes, inputs)


def case_draw(seed: bytes, lab: str, case: str) -> Draw:
    """Return what seeds the generator of one case: HMAC-SHA256 of the seed over both names."""
    digest = hmac.new(seed, f"{lab}\0{case}".encode(), hashlib.sha256).digest()
    return Draw(int.from_bytes(digest, "little"))


def drawn_cases(lab: Lab, seed: bytes) -> tuple[Case, ...]:
    """Return the hidden case whose size the seed draws; none when the lab draws no size.

    Each dim is drawn by itself. A size that another case has is drawn again, as long as there are
    others: a kernel that knows the sizes of the lab does not know this one.
    """
    if not lab.drawn:
        return ()
    generator = case_draw(seed, lab.name, DRAWN_CASE).generator()
    known = [dict(case.dims) for case in lab.cases]
    dims: dict[str, int] = {}
    for _ in range(MAX_DRAWS):
        dims = {
            name: int(generator.choice(range(span.least, span.most + 1, span.step)))
            for name, span in lab.drawn.items()
        }
        if dims not in known:
            break
    return (Case(DRAWN_CASE, dims, visibility="hidden"),)


def launch_shape(lab: Lab, case: Case, geometry: Geometry) -> tuple[Dim3, Dim3, int]:
    """Return grid, block and dynamic shared bytes of a case whose dims are all known."""
    key = "launch.grid"
    try:
        grid = _dim3(geometry.grid, case.dims)
        key = "launch.block"
        block = _dim3(geometry.block, case.dims)
        key = "launch.shared"
        return grid, block, evaluate_integer(geometry.shared, case.dims)
    except LabFault as fault:
        raise _fault_in_case(lab, case, key, fault) from None


def array_shapes(lab: Lab, case: Case) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array argument and global variable by name.

    All dims of the case must be known.
    """
    arrays = (*(a for a in lab.arguments if a.role != "value"), *lab.globals)
    return {a.name: _shape(lab, case, a) for a in arrays}


def _prepare(
    lab: Lab, case: Case, geometry: Geometry, seed: bytes, derived: Mapping[str, int]
) -> PreparedCase:
    missing = [name for name in case.derived.values() if name not in derived]
    if missing:
        what = f"case {case.name} needs the answer of {missing[0]}"
        raise LabFault(what, where=lab.location("derive"))
    case = case.resolved(derived)
    shapes = array_shapes(lab, case)
    draw = case_draw(seed, lab.name, case.name)
    with load_reference(lab.folder / "reference.py") as reference:
        inputs = make_inputs(lab, case, shapes, draw, reference)
        expected = make_expected(lab, case, shapes, inputs, reference)
    launch = _launch(lab, case, geometry, shapes, inputs)
    indices = {a.name: index for index, a in enumerate(launch.args)}
    return PreparedCase(case, launch, {indices[name]: e for name, e in expected.items()})


def _launch(
    lab: Lab,
    case: Case,
    geometry: Geometry,
    shapes: Mapping[str, tuple[int, ...]],
    inputs: Mapping[str, NDArray[Any]],
) -> Launch:
    args = tuple(_argument(lab, case, a, shapes, inputs) for a in lab.arguments)
    grid, block, shared = launch_shape(lab, case, geometry)
    variables = {v.name: inputs[v.name] for v in lab.globals}
    own = Launch(lab.kernels[0].name, grid, block, args, shared, variables, case.name)
    return replace(own, cooperative=geometry.cooperative, large_shared=geometry.large_shared)


def _dim3(axes: Sequence[str | int], dims: Mapping[str, int]) -> Dim3:
    x, y, z = ([evaluate_integer(axis, dims, least=1) for axis in axes] + [1, 1])[:3]
    return x, y, z


def _shape(lab: Lab, case: Case, spec: ArgumentSpec) -> tuple[int, ...]:
    try:
        shape = tuple(evaluate_integer(axis, case.dims) for axis in spec.shape)
    except LabFault as fault:
        raise _fault_in_case(lab, case, f"arguments.{spec.name}.shape", fault) from None
    size = prod(shape) * np.dtype(spec.dtype).itemsize
    if size > MAX_BYTES:
        raise LabFault(
            f"case {case.name}: {spec.name} takes {size} bytes, more than the limit of {MAX_BYTES}",
            where=lab.location(f"arguments.{spec.name}.shape"),
        )
    return shape


def _argument(
    lab: Lab,
    case: Case,
    spec: ArgumentSpec,
    shapes: Mapping[str, tuple[int, ...]],
    inputs: Mapping[str, NDArray[Any]],
) -> Argument:
    if spec.role == "value":
        return _scalar(lab, case, spec)
    data = inputs.get(spec.name)
    return Array(spec.name, shapes[spec.name], spec.dtype, data, read_back=spec.role != "in")


def _scalar(lab: Lab, case: Case, spec: ArgumentSpec) -> Scalar:
    try:
        value = evaluate_expression(spec.value, case.dims)
        if np.issubdtype(np.dtype(spec.dtype), np.integer):
            limits = np.iinfo(spec.dtype)
            value = evaluate_integer(spec.value, case.dims, least=int(limits.min))
            if value > limits.max:
                raise LabFault(f"`{spec.value}` is {value}, too large for {spec.dtype}")
    except LabFault as fault:
        raise _fault_in_case(lab, case, f"arguments.{spec.name}.value", fault) from None
    return Scalar(spec.name, value, spec.dtype)


def _fault_in_case(lab: Lab, case: Case, key: str, fault: LabFault) -> LabFault:
    return LabFault(f"{fault.what} (case {case.name})", where=lab.location(key), fix=fault.fix)


def hidden_answers(cases: Iterable[Any]) -> set[str]:
    """Return the derived answers that only hidden cases use; `cases` as in lab.yaml or in Lab."""
    used: dict[str, set[str]] = {"public": set(), "hidden": set()}
    for case in cases:
        values = (*getattr(case, "derived", {}).values(), *case.dims.values())
        used[case.visibility] |= {value for value in values if isinstance(value, str)}
    return used["hidden"] - used["public"]


def with_visibility(
    derivations: Sequence[Derivation], cases: Iterable[Any]
) -> tuple[Derivation, ...]:
    """Return the derivations, those that only hidden cases use as hidden ones."""
    hidden = hidden_answers(cases)
    return tuple(replace(d, visibility="hidden") if d.name in hidden else d for d in derivations)
