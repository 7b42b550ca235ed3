"""A prepared case: geometry, inputs by seed, global variables, derived dims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.faults import LabFault
from grader.labs.cases import prepare_baseline, prepare_case
from grader.labs.reading import load_lab
from grader.launch import Array, Scalar
from tests.scalelab import REFERENCE, SPEC, write_lab


def test_prepared_case_has_the_launch_and_expected_output(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))
    prepared = prepare_case(lab, lab.cases[0], b"seed")
    launch = prepared.launch
    assert (launch.kernel, launch.name) == ("scale", "small")
    assert (launch.grid, launch.block, launch.shared) == ((2, 1, 1), (4, 1, 1), 16)
    x, y, n = launch.args
    assert isinstance(x, Array) and isinstance(y, Array)
    assert x.data is not None and x.data.dtype == np.float32 and not x.read_back
    assert y.data is None and y.read_back and y.shape == (5,)
    assert n == Scalar("n", 5, "int32")
    assert list(prepared.expected) == [1]
    assert np.array_equal(prepared.expected[1].value, 2.0 * x.data)


def test_global_variables_come_from_the_inputs(tmp_path: Path) -> None:
    spec = SPEC.replace("launch:\n", "globals:\n  mask: {dtype: float32, shape: [3]}\nlaunch:\n", 1)
    reference = REFERENCE.replace('{"x":', '{"mask": np.ones(3, np.float32), "x":')
    lab = load_lab("scale", write_lab(tmp_path, spec, reference))
    launch = prepare_case(lab, lab.cases[0], b"seed").launch
    assert {name: array.tolist() for name, array in launch.globals.items()} == {"mask": [1, 1, 1]}
    assert [a.name for a in launch.args] == ["x", "y", "n"]


GLOBALS = [
    ("x: {dtype: float32, shape: [3]}", REFERENCE, "parameter `x` as well"),
    ("mask: {dtype: float32, shape: [0]}", REFERENCE, "greater than 0"),
    ("mask: {dtype: float32, shape: [n]}", REFERENCE, "integer"),
    ("mask: {dtype: float32, shape: [3]}", REFERENCE, "returned no mask"),
]


@pytest.mark.parametrize(("line", "reference", "what"), GLOBALS)
def test_wrong_global_is_a_fault(tmp_path: Path, line: str, reference: str, what: str) -> None:
    spec = SPEC.replace("launch:\n", f"globals:\n  {line}\nlaunch:\n", 1)
    roots = write_lab(tmp_path, spec, reference)
    with pytest.raises(LabFault) as raised:
        prepare_case(lab := load_lab("scale", roots), lab.cases[0], b"seed")
    assert what in str(raised.value)


def test_baseline_has_its_own_geometry(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))
    launch = prepare_baseline(lab, lab.cases[0], b"seed").launch
    assert (launch.grid, launch.block, launch.shared) == ((1, 1, 1), (32, 1, 1), 0)


def test_inputs_depend_on_seed_and_case_only(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))

    def x(seed: bytes, name: str = "small") -> bytes:
        case = next(c for c in lab.cases if c.name == name)
        array = prepare_case(lab, case, seed, {"best": 32}).launch.args[0]
        assert isinstance(array, Array) and array.data is not None
        return array.data.tobytes()[:20]

    assert x(b"a") == x(b"a")
    assert len({x(b"a"), x(b"b"), x(b"a", "chosen")}) == 3


def test_derived_dims_come_from_the_answers(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))
    (derivation,) = lab.derivations
    assert [type(a) for a in derivation.launch.args] == [Scalar, Array]
    assert (derivation.output_index, derivation.call) == (1, "choose(64)")
    prepared = prepare_case(lab, lab.cases[1], b"seed", {"best": 48})
    assert prepared.case.dims == {"n": 100, "width": 48}
    assert (prepared.launch.grid, prepared.launch.block) == ((3, 1, 1), (48, 1, 1))
    again = prepare_baseline(lab, prepared.case, b"seed")
    assert again.case == prepared.case
    with pytest.raises(LabFault, match="needs the answer of best"):
        prepare_case(lab, lab.cases[1], b"seed")


@pytest.mark.parametrize(("answer", "right"), [(31, False), (32, True), (64, True), (65, False)])
def test_answer_outside_its_range_is_reported(tmp_path: Path, answer: int, right: bool) -> None:
    (derivation,) = load_lab("scale", write_lab(tmp_path)).derivations
    problem = derivation.problem(answer)
    if right:
        assert problem == ""
    else:
        assert problem == (
            f"choose(64) answered width = {answer}, expected 32 to 64: "
            "the most threads that a block may have"
        )
