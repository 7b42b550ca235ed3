"""Expressions of lab specs: their values, and what is refused."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.faults import LabFault
from grader.labs import expressions
from grader.labs.expressions import evaluate_expression, evaluate_integer

DIMS = {"m": 37, "n": 41, "tile": 16}

VALUES = [
    ("n", 41),
    (7, 7),
    (" ceil_div(n, tile) ", 3),
    ("ceil_div(32, tile)", 2),
    ("2 * tile * tile * 4", 2048),
    ("-m + n", 4),
    ("n // 2 % 7", 6),
    ("2 ** 10", 1024),
    ("1.15 / tile", 0.071875),
    ("min(m, n, tile)", 16),
    ("max(m, n)", 41),
    ("abs(m - n)", 4),
    ("isqrt(1024)", 32),
    ("m if m > n else n", 41),
    ("tile == 16", True),
    ("tile != 16", False),
    ("tile if tile <= 16 else 1 // 0", 16),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_expression_has_its_value(text: str | int, value: float) -> None:
    assert evaluate_expression(text, DIMS) == value


REFUSED = [
    ("nn", "unknown name `nn`", "did you mean `n`?"),
    ("ceildiv(n, 2)", "unknown function `ceildiv`", "did you mean `ceil_div`?"),
    ("ceil_div(n)", "`ceil_div` takes 2 arguments", ""),
    ("n // 0", "division by zero", ""),
    ("1 / 0.0", "division by zero", ""),
    ("n +", "not an arithmetic expression", "ceil_div(n, 16)"),
    ("", "not an arithmetic expression", ""),
    ("n; n", "not an arithmetic expression", ""),
    ("__import__('os').system('true')", "is not allowed", "use numbers"),
    ("__import__('os')", "unknown function `__import__`", ""),
    ("n.real", "is not allowed", ""),
    ("'n'", "is not allowed", ""),
    ("[n][0]", "is not allowed", ""),
    ("(lambda: 1)()", "is not allowed", ""),
    ("1 < n < 3", "is not allowed", ""),
    ("n and m", "is not allowed", ""),
    ("min(*[1, 2], 3)", "is not allowed", ""),
    ("max(m, n, key=abs)", "is not allowed", ""),
    ("9 ** 9 ** 9", "an exponent must be from 0 to 64", ""),
    ("2 ** -1", "an exponent must be from 0 to 64", ""),
    ("2 ** 64", "too large", ""),
    ("1e308 * 10", "too large", ""),
    ("isqrt(-1)", "nonnegative", ""),
    ("isqrt(1.5)", "whole number", ""),
    ("+".join(["1"] * 90), "nested too deeply", ""),
    ("1" * 201, "more than the limit of 200", ""),
    ("(" * 150 + "1" + ")" * 10, "not an arithmetic expression", ""),
]


@pytest.mark.parametrize(("text", "what", "fix"), REFUSED)
def test_invalid_expression_is_a_fault(text: str, what: str, fix: str) -> None:
    with pytest.raises(LabFault) as caught:
        evaluate_expression(text, DIMS)
    assert what in caught.value.what
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("n / 2", "is 20.5, not a whole number"),
        ("n > 2", "not a whole number"),
        ("n - 41", "is 0 with m=37, n=41, tile=16; it must be at least 1"),
        ("m - n", "is -4"),
    ],
)
def test_value_that_is_not_a_count_is_a_fault(text: str, what: str) -> None:
    with pytest.raises(LabFault) as caught:
        evaluate_integer(text, DIMS, least=1)
    assert what in caught.value.what


def test_count_is_a_whole_number() -> None:
    assert evaluate_integer("ceil_div(n, 16)", DIMS, least=1) == 3
    assert evaluate_integer("n - 41", DIMS) == 0


@given(st.integers(0, 10**6), st.integers(1, 10**4))
def test_ceil_div_covers_exactly(n: int, tile: int) -> None:
    assert evaluate_expression("ceil_div(n, tile)", {"n": n, "tile": tile}) == math.ceil(n / tile)


@given(st.text(max_size=40))
def test_any_text_gives_a_number_or_a_fault(text: str) -> None:
    try:
        assert isinstance(evaluate_expression(text, DIMS), int | float)
    except LabFault as fault:
        assert fault.what


def test_one_thread_at_a_time_makes_a_syntax_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython 3.11 counts the depth of syntax trees for all threads together."""
    busy, alone = Lock(), list[bool]()

    def slow(*how: Any) -> Any:
        alone.append(busy.acquire(blocking=False))
        time.sleep(0.01)
        if alone[-1]:
            busy.release()
        return compile(*how)

    monkeypatch.setattr(expressions, "compile", slow, raising=False)
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda k: evaluate_integer(f"{k} + {k}", {}), range(8)))
    assert values == list(range(0, 16, 2)) and alone == [True] * 8
