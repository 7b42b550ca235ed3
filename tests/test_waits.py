"""No test gives up after a short time: on a busy machine anything may take a minute.

A wait for another process or thread ends with a condition, or fails after `PATIENCE`; a wait that
is the subject of a test has a name that says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
WAITS = ("communicate", "join", "result", "wait")
"""Calls whose argument is a number of seconds."""


def short_waits(tree: ast.AST) -> Iterator[int]:
    """Yield the lines where a wait ends after a literal number of seconds."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr=name), args=[ast.Constant(value=int() | float())]
            ):
                if name in WAITS:
                    yield node.lineno
            case ast.keyword("timeout", ast.Constant(int() | float())):
                yield node.lineno
            case ast.BinOp(left=ast.Call(func=ast.Attribute(attr="monotonic")), op=ast.Add()):
                if isinstance(node.right, ast.Constant):
                    yield node.lineno


@pytest.mark.parametrize(
    "text",
    ["process.wait(10)", "run(words, timeout=1.5)", "end = time.monotonic() + 5"],
)
def test_a_short_wait_is_found(text: str) -> None:
    assert list(short_waits(ast.parse(text))) == [1]


@pytest.mark.parametrize(
    "text",
    ["process.wait(PATIENCE)", "run(words, timeout=None)", '", ".join(names)', "two.wait()"],
)
def test_a_patient_wait_is_not(text: str) -> None:
    assert list(short_waits(ast.parse(text))) == []


def test_no_wait_is_short() -> None:
    """The tests of `tests/gpu` have the machine for themselves."""
    files = [path for path in TESTS.rglob("*.py") if "gpu" not in path.parts]
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in files
        for line in short_waits(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []
