"""What the author's gate makes of grades; `make labs` runs it on every lab."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.cases import How
from grader.gate.lab import Fails, lab_folder, thin_margin, twin_draws
from grader.labfile.spec import load_lab
from tests.made import a_grade, a_result

MARGINS = [
    (15, {"speedup": 1.52, "speedup_low": 1.5, "minimum": 1.25}, ""),
    (15, {"speedup": 1.44, "speedup_low": 1.4375, "minimum": 1.25}, ""),
    (
        15,
        {"speedup": 1.44, "speedup_low": 1.43, "minimum": 1.25},
        "less than 15 % above the minimum",
    ),
    (14.9, {"speedup": 1.52, "speedup_low": 1.5, "minimum": 1.25}, "no more than 54.9 of 55"),
    (15, {}, ""),
]


@pytest.mark.parametrize(("points", "measured", "said"), MARGINS)
def test_a_solution_passes_with_a_margin(
    points: float, measured: dict[str, float], said: str
) -> None:
    speed = a_result("speed", "pass", points, measurements=measured)
    thin = thin_margin(a_grade(a_result("output", "pass", 40, 40), speed))
    assert said in thin
    assert bool(said) == bool(thin)


def test_a_slow_twin_waits_for_a_gpu(tmp_path: Path) -> None:
    folder = replace(lab_folder(load_lab("vector-add")), solutions=tmp_path)
    slow = tmp_path / "too-slow-one-thread.cu"
    assert "only a GPU" in twin_draws(folder, slow, How("sim"))
    right = tmp_path / "race-none-at-all.cu"
    right.write_text(load_lab("vector-add").solution.read_text())
    with pytest.raises(Fails, match="draws"):
        twin_draws(folder, right, How("sim"))
