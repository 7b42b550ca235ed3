"""Timed outputs are verified at full size: right ones pass, incorrect variants fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.faults import LabFault
from grader.gpu.buffers import draw_moves, new_input
from grader.grading.timing import describe_difference, verifier
from grader.labs.cases import prepare_case
from grader.labs.model import Case, Expected, Lab
from grader.labs.reading import list_labs, load_lab
from grader.launch import Array

SMALL = {
    "boundary-matmul": {"m": 37, "n": 29, "k": 31},
    "coalescing": {"m": 37, "n": 29, "k": 30},
    "histogram": {"n": 4097, "blocks": 3},
    "occupancy": {"n": 70000, "block": 64},
    "sgemm-ladder": {"m": 128, "n": 128, "k": 64},
    "tiled-matmul": {"n": 48},
}
TIMED = sorted(
    name for name in list_labs() if any(c.name == "speed" for c in load_lab(name).checks)
)

Arrays = dict[str, np.ndarray[Any, Any]]


def timed(name: str) -> tuple[Lab, Case, Arrays, Arrays]:
    """A lab, its speed check's case made small, fresh inputs, and the outputs they should give."""
    lab = load_lab(name)
    kind = next(c for c in lab.checks if c.name == "speed").options.get("kind", "random")
    case = Case("timed", SMALL[name], kind)
    prepared = prepare_case(lab, case, b"seed")
    inputs: Arrays = dict(prepared.launch.globals)
    for array in prepared.launch.args:
        if isinstance(array, Array) and array.data is not None:
            moved = draw_moves(array.shape, b"seed", 3, array.name)
            inputs[array.name] = new_input(array.data, moved)
    return lab, case, inputs, outputs_of(lab, case, inputs)


def outputs_of(lab: Lab, case: Case, inputs: Arrays) -> Arrays:
    from grader.labs.cases import array_shapes
    from grader.labs.reference import load_reference, make_expected

    with load_reference(lab.folder / "reference.py") as reference:
        due = make_expected(lab, case, array_shapes(lab, case), inputs, reference)
    dtypes = {a.name: a.dtype for a in lab.arguments}
    for right in due.values():
        assert not right.bound.any(), "fresh inputs must keep the exact result that `kind` promises"
    return {name: right.value.astype(dtypes[name]) for name, right in due.items()}


def test_every_timed_lab_is_here() -> None:
    assert set(SMALL) == set(TIMED)


@pytest.mark.parametrize("name", TIMED)
def test_a_right_output_passes(name: str) -> None:
    lab, case, inputs, outputs = timed(name)
    assert verifier(lab, case)(inputs, outputs) == ""


def last_wrong(array: np.ndarray[Any, Any]) -> None:
    array.reshape(-1)[-1] += 1


def first_wrong(array: np.ndarray[Any, Any]) -> None:
    array.reshape(-1)[0] += 1


def swapped(array: np.ndarray[Any, Any]) -> None:
    flat = array.reshape(-1)
    other = int(np.flatnonzero(flat != flat[0])[0])
    flat[[0, other]] = flat[[other, 0]]


def poisoned(array: np.ndarray[Any, Any]) -> None:
    array.reshape(-1).view(np.uint8)[-8:] = 0xFF


@pytest.mark.parametrize("spoil", [last_wrong, first_wrong, swapped, poisoned])
@pytest.mark.parametrize("name", TIMED)
def test_a_wrong_output_is_told(name: str, spoil: Callable[[Any], None]) -> None:
    lab, case, inputs, outputs = timed(name)
    for array in outputs.values():
        spoil(array)
    assert verifier(lab, case)(inputs, outputs) != ""


@pytest.mark.parametrize("name", TIMED)
def test_another_launch_s_output_is_told(name: str) -> None:
    """What a kernel that copies its previous answer would leave."""
    lab, case, inputs, outputs = timed(name)
    array = next(iter(n for n in inputs if n not in ("mask", "bins")))
    inputs[array] = new_input(inputs[array], draw_moves(inputs[array].shape, b"seed", 5, array))
    assert verifier(lab, case)(inputs, outputs) != ""


@pytest.mark.parametrize("name", ["tiled-matmul", "sgemm-ladder", "boundary-matmul"])
@pytest.mark.parametrize("which", ["A", "B", "AB"])
@pytest.mark.parametrize("bits", [10, 11])
def test_inputs_rounded_to_fewer_bits_are_told(name: str, which: str, bits: int) -> None:
    """float16 and TF32 keep 11 significant bits: 10 after the point."""
    lab, case, inputs, _ = timed(name)
    given = {n: rounded(a, bits) if n in which else a for n, a in inputs.items()}
    product = given["A"].astype(np.float64) @ given["B"].astype(np.float64)
    assert verifier(lab, case)(inputs, {"C": product.astype(np.float32)}) != ""


def rounded(array: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    mantissa, exponent = np.frexp(array)
    return np.ldexp(np.rint(mantissa * 2.0**bits) / 2.0**bits, exponent).astype(np.float32)


def lab_with(tmp_path: Path, verify: str) -> Lab:
    text = (load_lab("vector-add").folder / "reference.py").read_text()
    (tmp_path / "reference.py").write_text(text + verify)
    return replace(load_lab("vector-add"), folder=tmp_path)


def test_without_verify_expected_decides(tmp_path: Path) -> None:
    lab, case = lab_with(tmp_path, ""), Case("timed", {"n": 3})
    inputs = {"a": np.float32([1, 2, 3]), "b": np.float32([1, 1, 1])}
    verify = verifier(lab, case)
    assert verify(inputs, {"c": np.float32([2, 3, 4])}) == ""
    said = verify(inputs, {"c": np.float32([2, 3, np.nan])})
    assert said == "1 of 3 elements of c, the first c[2] = nan, expected 4"


def test_a_verify_that_answers_nothing_is_the_lab_s_fault(tmp_path: Path) -> None:
    lab = lab_with(tmp_path, "\ndef verify(dims, inputs, outputs, rng):\n    return None\n")
    with pytest.raises(LabFault, match="must return a text"):
        verifier(lab, Case("timed", {"n": 1}))({}, {})


TOLD = [
    ("float32", [1, np.inf, -np.inf], [1, np.inf, -np.inf], 0),
    ("float32", [1, np.inf, -np.inf], [1, np.inf, np.inf], 1),
    ("float32", [1, np.inf, 3], [1, 2, 3], 1),
    ("float32", [np.nan, 2, 3], [1, 2, 3], 1),
    ("uint8", [255, 0, 1], [255, 0, 2], 1),
    ("int8", [-128, 0, 1], [-128, 0, 1], 0),
    ("bool", [True, False, True], [1, 0, 0], 1),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("dtype", "got", "right", "wrong"), TOLD)
def test_an_output_of_any_type_is_told_from_a_wrong_one(
    dtype: str, got: list[float], right: list[float], wrong: int
) -> None:
    due = Expected(np.array(right, np.float64), np.zeros(3))
    said = describe_difference("y", np.array(got, dtype), due)
    assert said.startswith(f"{wrong} of 3 elements of y, ") if wrong else said == ""
