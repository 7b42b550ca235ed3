"""A lab's case made ready to run: sizes worked out, inputs drawn, the right answer known."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.faults import LabFault
from grader.labs.expressions import evaluate_expression, evaluate_integer
from grader.labs.model import ArgumentSpec, Case, Geometry, Lab, PreparedCase
from grader.labs.reference import load_reference, make_expected, make_inputs
from grader.launch import Argument, Array, Dim3, Launch, Scalar

MAX_BYTES = 2**31
"""No array of a case may be larger."""

_NONE: Mapping[str, int] = MappingProxyType({})


def prepare_case(
    lab: Lab, case: Case, seed: bytes, derived: Mapping[str, int] = _NONE
) -> PreparedCase:
    """The launch of `case` with fresh inputs, and what it must leave behind, in float64.

    `seed` with the lab's and the case's name decides the inputs. `derived` has the student's
    answers by derivation name. Raises LabFault.
    """
    return _prepare(lab, case, lab.geometry, seed, derived)


def prepare_baseline(
    lab: Lab, case: Case, seed: bytes, derived: Mapping[str, int] = _NONE
) -> PreparedCase:
    """The same case for baseline.cu, whose kernel has the same signature."""
    return _prepare(lab, case, lab.baseline_geometry or lab.geometry, seed, derived)


def prepare_launches(lab: Lab, case: Case, seed: bytes) -> tuple[Launch, Launch]:
    """The launch of a case whose dims are all known, and the baseline's of the same inputs; the
    right answer is not worked out. Raises LabFault."""
    shapes = array_shapes(lab, case)
    with load_reference(lab.folder / "reference.py") as reference:
        given = make_inputs(lab, case, shapes, case_generator(seed, lab.name, case.name), reference)
    own = _launch(lab, case, lab.geometry, shapes, given)
    return own, _launch(lab, case, lab.baseline_geometry or lab.geometry, shapes, given)


def case_generator(seed: bytes, lab: str, case: str) -> np.random.Generator:
    """The random generator of one case: HMAC-SHA256 of the seed over both names."""
    digest = hmac.new(seed, f"{lab}\0{case}".encode(), hashlib.sha256).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


def launch_shape(lab: Lab, case: Case, geometry: Geometry) -> tuple[Dim3, Dim3, int]:
    """Grid, block and dynamic shared bytes of a case whose dims are all known."""
    key = "launch.grid"
    try:
        grid = _dim3(geometry.grid, case.dims)
        key = "launch.block"
        block = _dim3(geometry.block, case.dims)
        key = "launch.shared"
        return grid, block, evaluate_integer(geometry.shared, case.dims)
    except LabFault as fault:
        raise _at(lab, case, key, fault) from None


def array_shapes(lab: Lab, case: Case) -> dict[str, tuple[int, ...]]:
    """The shape of every array argument and global variable of a case whose dims are all known."""
    arrays = (*(a for a in lab.arguments if a.role != "value"), *lab.globals)
    return {a.name: _shape(lab, case, a) for a in arrays}


def _prepare(
    lab: Lab, case: Case, geometry: Geometry, seed: bytes, derived: Mapping[str, int]
) -> PreparedCase:
    lacking = [name for name in case.derived.values() if name not in derived]
    if lacking:
        what = f"case {case.name} needs the answer of {lacking[0]}"
        raise LabFault(what, where=lab.place("derive"))
    case = case.resolved(derived)
    shapes = array_shapes(lab, case)
    with load_reference(lab.folder / "reference.py") as reference:
        given = make_inputs(lab, case, shapes, case_generator(seed, lab.name, case.name), reference)
        expected = make_expected(lab, case, shapes, given, reference)
    launch = _launch(lab, case, geometry, shapes, given)
    indices = {a.name: index for index, a in enumerate(launch.args)}
    return PreparedCase(case, launch, {indices[name]: e for name, e in expected.items()})


def _launch(
    lab: Lab,
    case: Case,
    geometry: Geometry,
    shapes: Mapping[str, tuple[int, ...]],
    given: Mapping[str, NDArray[Any]],
) -> Launch:
    args = tuple(_argument(lab, case, a, shapes, given) for a in lab.arguments)
    grid, block, shared = launch_shape(lab, case, geometry)
    variables = {v.name: given[v.name] for v in lab.globals}
    return Launch(lab.kernels[0].name, grid, block, args, shared, variables, case.name)


def _dim3(axes: Sequence[str | int], dims: Mapping[str, int]) -> Dim3:
    x, y, z = ([evaluate_integer(axis, dims, least=1) for axis in axes] + [1, 1])[:3]
    return x, y, z


def _shape(lab: Lab, case: Case, spec: ArgumentSpec) -> tuple[int, ...]:
    try:
        shape = tuple(evaluate_integer(axis, case.dims) for axis in spec.shape)
    except LabFault as fault:
        raise _at(lab, case, f"arguments.{spec.name}.shape", fault) from None
    size = prod(shape) * np.dtype(spec.dtype).itemsize
    if size > MAX_BYTES:
        raise LabFault(
            f"case {case.name}: {spec.name} would take {size} bytes, at most {MAX_BYTES} are given",
            where=lab.place(f"arguments.{spec.name}.shape"),
        )
    return shape


def _argument(
    lab: Lab,
    case: Case,
    spec: ArgumentSpec,
    shapes: Mapping[str, tuple[int, ...]],
    given: Mapping[str, NDArray[Any]],
) -> Argument:
    if spec.role == "value":
        return _scalar(lab, case, spec)
    data = given.get(spec.name)
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
        raise _at(lab, case, f"arguments.{spec.name}.value", fault) from None
    return Scalar(spec.name, value, spec.dtype)


def _at(lab: Lab, case: Case, key: str, fault: LabFault) -> LabFault:
    return LabFault(f"{fault.what} (case {case.name})", where=lab.place(key), fix=fault.fix)
