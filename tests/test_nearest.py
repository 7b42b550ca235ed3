"""Which name a misspelled one is taken for, and when none is."""

from __future__ import annotations

import pytest

from grader.faults import closest_match, did_you_mean

NAMES = ("matmul", "matmul_tiled", "transpose", "reduce")


@pytest.mark.parametrize(
    ("name", "cutoff", "meant"),
    [
        ("matmull", 0.6, "matmul"),
        ("matmul_tile", 0.6, "matmul_tiled"),
        ("tranpose", 0.6, "transpose"),
        ("reduce", 0.6, "reduce"),
        ("redo", 0.6, "reduce"),
        ("redo", 0.9, ""),
        ("scan", 0.6, ""),
        ("", 0.6, ""),
    ],
)
def test_the_closest_match(name: str, cutoff: float, meant: str) -> None:
    assert closest_match(name, NAMES, cutoff) == meant
    assert did_you_mean(name, NAMES, cutoff) == (f"did you mean `{meant}`?" if meant else "")


def test_any_collection_will_do() -> None:
    assert closest_match("grdi", iter(["grid", "block"])) == "grid"
    assert closest_match("n", {}) == ""
