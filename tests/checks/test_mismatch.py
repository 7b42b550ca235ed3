"""Each pattern is recognized for the mistake that leaves it, and for no other."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from grader.checks.mismatch import Mismatch, compare, excerpt, explain
from grader.labs.model import Expected
from tests.made import a_case, right_answer

Spoil = Callable[[np.ndarray], np.ndarray]


def mismatch(spoil: Spoil, rows: int = 37, columns: int = 41, bound: float = 1e-3) -> Mismatch:
    right = right_answer(a_case(rows=rows, columns=columns))
    expected = Expected(right, np.full(right.shape, bound))
    found = compare("C", spoil(right.copy()), expected, None, (16, 16, 1))
    assert found is not None
    return found


def put(index: object, value: float) -> Spoil:
    def spoil(array: np.ndarray) -> np.ndarray:
        array[index] = value
        return array

    return spoil


def only_first_block(array: np.ndarray) -> np.ndarray:
    kept = array[:16, :16].copy()
    array[:] = -7
    array[:16, :16] = kept
    return array


PATTERNS = [
    ("last rows", put((slice(32, None), slice(None)), -1), "partial tile (rows from 32 on)"),
    ("last columns", put((slice(None), slice(32, None)), -1), "(columns from 32 on)"),
    (
        "both edges",
        lambda a: put((slice(None), slice(32, None)), -1)(put(slice(32, None), -1)(a)),
        "rows from 32 on and columns from 32 on",
    ),
    ("nan", put((3, 4), np.nan), "1 of them are NaN"),
    ("infinity", put((3, 4), np.inf), "1 of them are infinity"),
    ("zero", lambda a: a * 0, "every element is zero"),
    ("transposed", lambda a: np.ascontiguousarray(a.T).reshape(a.shape), "the transpose"),
    ("row down", lambda a: np.roll(a, 1, axis=0), "shifted by one along the rows"),
    ("column left", lambda a: np.roll(a, -1, axis=1), "shifted by one along the columns"),
    ("tile down", lambda a: np.roll(a, 16, axis=0), "shifted by one tile (16) along the rows"),
    ("doubled", lambda a: a * 2, "every element is 2 times the expected value"),
    ("a third", lambda a: a / 3, "every element is 0.333333 times"),
    ("first block", only_first_block, "only the first block's elements are right"),
    ("half", lambda a: a.astype(np.float16) * 1.0005, "each is close"),
]


@pytest.mark.parametrize(("spoil", "said"), [p[1:] for p in PATTERNS], ids=[p[0] for p in PATTERNS])
def test_pattern_is_recognized(spoil: Spoil, said: str) -> None:
    cause = explain(mismatch(spoil))
    assert cause is not None
    assert said in cause.what
    assert cause.fix


def test_one_element_beyond_the_first_block_may_be_a_block_without_its_index() -> None:
    right = np.arange(1.0, 258.0)
    blank = np.arange(257) > 255
    cause = explain(Mismatch("c", right * ~blank, right, right * 0, blank, blank, (256, 1, 1)))
    assert cause is not None and "partial tile (elements from 256 on)" in cause.what
    assert cause.fix.startswith("use blockIdx in the index")


def test_no_fix_is_about_the_grid_of_the_lab() -> None:
    cures = [explain(mismatch(spoil)) for _, spoil, _ in PATTERNS]
    assert not [cause for cause in cures if cause and re.search(r"\bgrid\b", cause.fix)]


SILENT = [
    ("one element", put((3, 4), -1.0)),
    ("last row and another", lambda a: put((0, 0), -1)(put(slice(32, None), -1)(a))),
    ("random", lambda a: np.random.default_rng(1).permuted(a)),
    ("mostly doubled", lambda a: put((0, 0), 3.0)(a * 2)),
    ("mostly transposed", lambda a: put((0, 1), 3.0)(a.T.copy().reshape(a.shape))),
]


@pytest.mark.parametrize("spoil", [s[1] for s in SILENT], ids=[s[0] for s in SILENT])
def test_no_pattern_is_guessed(spoil: Spoil) -> None:
    assert explain(mismatch(spoil)) is None


def test_whole_tiles_have_no_ragged_edge() -> None:
    cause = explain(mismatch(put(slice(16, None), -1), rows=32, columns=32))
    assert cause is None or "partial tile" not in cause.what


@pytest.mark.parametrize(
    ("actual", "bound", "right"),
    [
        (1.0, 0.0, True),
        (1.0 + 1e-7, 0.0, False),
        (1.5, 0.5, True),
        (1.5001, 0.5, False),
        (np.nan, 1e9, False),
        (np.inf, 1e9, False),
    ],
)
def test_a_bound_is_held_to_the_last_digit(actual: float, bound: float, right: bool) -> None:
    expected = Expected(np.array([1.0]), np.array([bound]))
    assert (compare("C", np.array([actual]), expected, None, (1, 1, 1)) is None) == right


def test_a_right_infinity_is_right() -> None:
    expected = Expected(np.array([np.inf]), np.array([0.0]))
    assert compare("C", np.array([np.inf]), expected, None, (1, 1, 1)) is None
    assert compare("C", np.array([-np.inf]), expected, None, (1, 1, 1)) is not None


def test_unwritten_is_wrong_even_when_the_value_fits() -> None:
    expected = Expected(np.array([1.0, 2.0]), np.zeros(2))
    found = compare("C", np.array([1.0, 2.0]), expected, np.array([False, True]), (1, 1, 1))
    assert found is not None
    assert found.count == 1


def test_any_shape_is_explained() -> None:
    for shape in [(1,), (7,), (1, 1), (1, 9), (9, 1), (2, 3, 4), (40, 2, 3)]:
        right = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
        found = compare("C", right + 5, Expected(right, np.zeros(shape)), None, (16, 16, 1))
        assert found is not None
        explain(found)
        assert "C[" in excerpt(found)


def test_an_integer_is_shown_with_all_its_digits() -> None:
    right = Expected(np.full(4, 206.0), np.zeros(4))
    found = compare("bins", np.full(4, 2779096691, np.uint32), right, None, (4, 1, 1))
    assert found is not None
    assert "2779096691" in excerpt(found) and "e+09" not in excerpt(found)


def test_an_excerpt_shows_both_sides() -> None:
    lines = excerpt(mismatch(put((slice(35, None), slice(39, None)), -1))).splitlines()
    assert lines[0] == "from C[35, 39] on:"
    assert lines[1].split() == ["expected", "actual"]
    assert len(lines) == 4
    assert lines[2].split()[2:] == ["-1", "-1"]
    assert max(map(len, lines)) <= 72


def test_a_sum_in_half_precision_is_told_by_its_size() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.uniform(-1, 1, (2, 32, 32))
    expected = Expected(a @ b, np.full((32, 32), 1e-5))
    half = np.zeros((32, 32), dtype=np.float16)
    for i in range(32):
        half = (half + np.outer(a[:, i], b[i])).astype(np.float16)
    found = compare("C", half, expected, None, (16, 16, 1))
    assert found is not None
    cause = explain(found)
    assert cause is not None
    assert "each is close" in cause.what
    short = compare("C", a[:, :31] @ b[:31], expected, None, (16, 16, 1))
    assert short is not None
    assert explain(short) is None


def test_what_was_never_written_is_no_transpose() -> None:
    right = right_answer(a_case(rows=8, columns=8))
    blank = np.ones(right.shape, dtype=np.bool_)
    found = compare("C", right * 0 - 7, Expected(right, np.zeros(right.shape)), blank, (16, 16, 1))
    assert found is not None
    cause = explain(found)
    assert cause is None or "transpose" not in cause.what


def test_a_count_that_is_off_by_one_is_no_matter_of_precision() -> None:
    right = Expected(np.full(256, 400.0), np.zeros(256))
    wrong = np.full(256, 400.0)
    wrong[7] -= 1
    counted = compare("bins", wrong.astype(np.uint32), right, None, (256, 1, 1))
    assert counted is not None
    assert explain(counted) is None
    summed = compare("bins", wrong.astype(np.float32), right, None, (256, 1, 1))
    assert summed is not None
    cause = explain(summed)
    assert cause is not None
    assert "each is close" in cause.what
