"""The shipped labs' references: correct outputs pass in any order of summation, wrong ones fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.authoring.new_lab import make_skeleton
from grader.checks.suite import plan
from grader.labs.cases import prepare_case
from grader.labs.expressions import evaluate_expression
from grader.labs.model import Case, Expected, Lab, PreparedCase
from grader.labs.reading import lab_roots, list_labs, load_lab
from grader.launch import KINDS, Array

SOLUTIONS = lab_roots()[0].parent / "solutions"
Floats = NDArray[np.float32]
Kernel = Callable[[Floats, Floats], Floats]


def prepared_cases() -> Iterator[tuple[Lab, Case]]:
    for name in list_labs():
        lab = load_lab(name)
        for case in lab.cases:
            yield lab, case


CASES = [pytest.param(lab, case, id=f"{lab.name}-{case.name}") for lab, case in prepared_cases()]
PRODUCTS = [p for p in CASES if {"A", "B", "C"} <= {a.name for a in p.values[0].arguments}]
WHOLE = [p for p in CASES if p.values[1].kind == "integer"]
WHOLE_PAIRS = [p for p in WHOLE if p in PRODUCTS or p.values[0].name == "vector-add"]


def ready(lab: Lab, case: Case) -> tuple[PreparedCase, list[Floats], Expected]:
    """Return the prepared case, its input arrays and its expected output."""
    prepared = prepare_case(lab, case, b"test", {d.name: d.maximum for d in lab.derivations})
    args = [a for a in prepared.launch.args if isinstance(a, Array)]
    (expected,) = prepared.expected.values()
    return prepared, [a.data for a in args if a.data is not None], expected


def accepts(expected: Expected, actual: NDArray[Any]) -> bool:
    error = np.abs(actual.astype(np.float64) - expected.value)
    return bool(np.all(error <= expected.bound))


def in_order(a: Floats, b: Floats) -> Floats:
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for i in range(a.shape[1]):
        sums += a[:, i : i + 1] * b[i : i + 1]
    return sums


def backwards(a: Floats, b: Floats) -> Floats:
    return in_order(a[:, ::-1], b[::-1])


def by_size(a: Floats, b: Floats) -> Floats:
    """Sum the largest products first, an order with large rounding errors."""
    order = np.argsort(-np.abs(a).sum(axis=0) * np.abs(b).sum(axis=1))
    return in_order(a[:, order], b[order])


def fused(a: Floats, b: Floats) -> Floats:
    """Add each product without rounding it first, as fma does."""
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for i in range(a.shape[1]):
        product = a[:, i : i + 1].astype(np.float64) * b[i : i + 1].astype(np.float64)
        sums = (sums + product).astype(np.float32)
    return sums


def library(a: Floats, b: Floats) -> Floats:
    return a @ b


def shortened(x: Floats) -> Floats:
    """Truncate to the 10 fraction bits of float16 and TF32."""
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.mark.parametrize("multiply", [in_order, backwards, by_size, fused, library])
@pytest.mark.parametrize(("lab", "case"), PRODUCTS)
def test_every_order_of_summation_is_accepted(lab: Lab, case: Case, multiply: Kernel) -> None:
    _, (a, b), expected = ready(lab, case)
    assert accepts(expected, multiply(a, b))


@pytest.mark.parametrize(("lab", "case"), PRODUCTS)
def test_small_mistakes_are_rejected(lab: Lab, case: Case) -> None:
    _, (a, b), expected = ready(lab, case)
    last = a.shape[1] - 1
    assert not accepts(expected, in_order(a[:, :last], b[:last])), "the last product left out"
    assert not accepts(expected, in_order(a, b) * np.float32(1.001))
    assert not accepts(expected, np.full_like(in_order(a, b), np.nan))
    assert not accepts(expected, in_order(shortened(a), shortened(b)))
    wrong = in_order(a, b)
    wrong[-1, -1] = 0
    assert not accepts(expected, wrong), "one element"


@pytest.mark.parametrize(("lab", "case"), WHOLE)
def test_whole_numbers_have_no_bound(lab: Lab, case: Case) -> None:
    _, given, expected = ready(lab, case)
    assert not expected.bound.any()
    assert np.array_equal(expected.value, expected.value.astype(np.float32))
    assert any(not np.array_equal(x, x.astype(np.float16).astype(np.float32)) for x in given)


@pytest.mark.parametrize(("lab", "case"), WHOLE_PAIRS)
def test_whole_numbers_are_exact_and_need_float32(lab: Lab, case: Case) -> None:
    _, (a, b), expected = ready(lab, case)
    assert not expected.bound.any()
    assert np.array_equal(expected.value, expected.value.astype(np.float32))
    assert max(np.abs(a).max(), np.abs(b).max()) <= 4097
    combine: Kernel = np.add if lab.name == "vector-add" else in_order
    assert accepts(expected, combine(a, b))
    for shorter in (shortened, lambda x: x.astype(np.float16).astype(np.float32)):
        right = combine(shorter(a), shorter(b)).astype(np.float64) == expected.value
        assert right.mean() < 0.75


def test_every_float32_lab_has_a_case_with_whole_numbers() -> None:
    """Labs without float32 are exact in every case and need none."""
    for name in list_labs():
        lab = load_lab(name)
        kinds = {(case.kind, case.visibility) for case in lab.cases}
        required = {("random", "public"), ("random", "hidden")}
        if any(a.dtype == "float32" for a in lab.arguments):
            required.add(("integer", "public"))
        else:
            assert not any(ready(lab, case)[2].bound.any() for case in lab.cases)
        assert required <= kinds


def test_expected_value_is_exact() -> None:
    lab = load_lab("boundary-matmul")
    case = next(c for c in lab.cases if c.name == "one-short-of-a-tile")
    _, (a, b), expected = ready(lab, case)
    for row, col in ((0, 0), (3, 14), (14, 14)):
        pairs = zip(a[row].tolist(), b[:, col].tolist(), strict=True)
        exact = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))
        assert abs(Fraction(float(expected.value[row, col])) - exact) < Fraction(1, 2**45)


def test_vector_addition_allows_one_rounding() -> None:
    lab = load_lab("vector-add")
    for case in lab.cases:
        _, (a, b), expected = ready(lab, case)
        assert accepts(expected, a + b)
        assert not accepts(expected, a - b)
        assert not accepts(expected, a + shortened(b))


@pytest.mark.parametrize("name", list_labs())
def test_skeleton_is_the_solution_without_its_answer(name: str) -> None:
    lab = load_lab(name)
    assert lab.solution == SOLUTIONS / name / f"{name}.cu"
    skeleton = lab.skeleton.read_text()
    assert skeleton == make_skeleton(lab.solution.read_text(), str(lab.solution))
    assert "TODO" in skeleton
    assert "SOLUTION" not in skeleton and "SKELETON" not in skeleton


@pytest.mark.parametrize("name", list_labs())
def test_incorrect_variants_are_named_after_their_finding(name: str) -> None:
    solution = load_lab(name).solution.read_text()
    variants = sorted((SOLUTIONS / name / "wrong").glob("*.cu"))
    assert len(variants) >= 8
    for variant in variants:
        assert any(variant.stem.startswith(f"{kind}-") for kind in KINDS), variant.name
        text = variant.read_text()
        assert text.startswith("// "), f"{variant.name} must say in its first line what is wrong"
        assert text != solution


@pytest.mark.parametrize("name", list_labs())
def test_points_add_up_to_a_hundred(name: str) -> None:
    assert load_lab(name).max_score == 100


@pytest.mark.parametrize("name", list_labs())
def test_every_lab_has_its_files_and_a_handout(name: str) -> None:
    lab = load_lab(name)
    handout = Path(SOLUTIONS.parent / "handouts" / f"{name}.md").read_text()
    assert lab.baseline.is_file()
    assert f"grader check {name} {name}.cu" in handout
    assert "\n{{graded}}\n" in handout and "\n{{quiz}}\n" in handout


@pytest.mark.parametrize("name", list_labs())
def test_checks_accept_the_options_of_the_labs(name: str) -> None:
    lab = load_lab(name)
    checks = plan(lab)
    assert [(c.name, c.points) for c in checks] == [(c.name, c.points) for c in lab.checks]


@pytest.mark.parametrize("name", list_labs())
def test_thresholds_are_expressions_over_every_case(name: str) -> None:
    """A limit may allow more than the baseline loads only where a tile is mostly padding."""
    lab = load_lab(name)
    for check in lab.checks:
        ratio = check.options.get("max_global_bytes_ratio")
        limits = [
            evaluate_expression(
                ratio, case.resolved({d.name: d.maximum for d in lab.derivations}).dims
            )
            for case in (lab.cases if ratio is not None else ())
        ]
        assert all(limit > 0 for limit in limits)
        assert sum(limit > 1.15 for limit in limits) <= len(limits) / 2


@pytest.mark.parametrize("name", list_labs())
def test_every_file_has_the_required_signature(name: str) -> None:
    lab = load_lab(name)
    for kernel in lab.kernels:
        for file in (lab.skeleton, lab.solution):
            assert kernel.signature in declared(file)
    assert lab.kernels[0].signature in declared(lab.baseline)


def declared(file: Path) -> str:
    """Return a file's text without comments and launch bounds, on one line."""
    text = re.sub(r"//.*|__launch_bounds__\([^)]*\)", "", file.read_text())
    return " ".join(text.split())


def shifts(x: Floats, weights: Floats) -> list[tuple[float, Floats]]:
    """Return each weight with its factor: the shifted vector or picture, zero outside."""
    if x.ndim == 1:
        count = len(x) - len(weights) + 1
        return [(w, x[j : j + count]) for j, w in enumerate(weights)]
    (rows, columns), (high, wide) = x.shape, weights.shape
    padded = np.pad(x, ((high // 2,), (wide // 2,)))
    return [(w, padded[j : j + rows, i : i + columns]) for (j, i), w in np.ndenumerate(weights)]


WINDOWS = [p for p in CASES if p.values[0].name in ("constant-convolution", "occupancy")]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("lab", "case"), WINDOWS)
def test_weighted_windows_are_accepted_in_either_order(lab: Lab, case: Case, order: int) -> None:
    prepared, (x,), expected = ready(lab, case)
    weights = prepared.launch.globals.get("mask", np.arange(1, 17, dtype=np.float32))
    terms = shifts(x, weights)[::order]
    total = np.zeros(expected.value.shape, np.float32)
    for weight, moved in terms:
        total += np.float32(weight) * moved
    largest = np.maximum.reduce([moved for _, moved in terms]) if lab.name == "occupancy" else 0
    assert accepts(expected, total - largest)
    assert not accepts(expected, (total - largest) + np.float32(0.5))
    weight, moved = next((w, m) for w, m in terms if w and m.any())
    assert not accepts(expected, total - largest - np.float32(weight) * moved), "a product missing"
