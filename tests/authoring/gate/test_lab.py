"""What the author's gate makes of grades; `make labs` runs it on every lab."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from grader.authoring.gate import (
    Folder,
    check_lab,
    lab_folder,
    skeleton_matches,
    solution_passes,
    thin_margin,
    twin_draws,
)
from grader.authoring.gate_lines import Ask, Fails, held
from grader.authoring.new_lab import write_new
from grader.faults import LabFault
from grader.grading.cases import RunOptions
from grader.labs.reading import load_lab
from tests.made import a_grade, a_result

REFERENCE = "labs/warp-sum/reference.py"
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
    assert "only a GPU" in twin_draws(folder, slow, RunOptions("sim"))
    right = tmp_path / "race-none-at-all.cu"
    right.write_text(load_lab("vector-add").solution.read_text())
    with pytest.raises(Fails, match="draws"):
        twin_draws(folder, right, RunOptions("sim"))


def a_new_lab(root: Path, old: str = "", new: str = "", file: str = "") -> Folder:
    """A lab that holds, with one text of one of its files replaced."""
    list(write_new(root, "warp-sum"))
    if file:
        path = root / file
        assert path.read_text().count(old) == 1
        path.write_text(path.read_text().replace(old, new))
    return lab_folder(load_lab("warp-sum", [root / "labs"]))


def test_the_command_names_the_course_where_one_is_needed(tmp_path: Path) -> None:
    folder = a_new_lab(tmp_path)
    with folder.skeleton.open("a") as file:
        file.write("// more\n")
    with pytest.raises(Fails) as caught:
        skeleton_matches(folder)
    assert f"`grader labs skeleton warp-sum --course {tmp_path}`" in str(caught.value)
    own = lab_folder(load_lab("vector-add"))
    assert own.command("skeleton") == "grader labs skeleton vector-add"


def test_a_solution_that_fails_is_told_with_the_element(tmp_path: Path) -> None:
    wrong = a_new_lab(tmp_path, "A = 3.0", "A = 4.0", REFERENCE)
    with pytest.raises(Fails, match=r"output: .*; wrong-output at line \d+: .*\[\d.*expected"):
        solution_passes(wrong, RunOptions(threads=1))


def test_a_fault_of_the_lab_is_told_with_its_mend() -> None:
    def look() -> str:
        raise LabFault("no check `outputs`", where="lab.yaml:9", fix="did you mean `output`?")

    line = held("warp-sum", Ask("quiz", look))
    assert line.seen == "lab.yaml:9: no check `outputs`: did you mean `output`?"
    assert (line.holds, line.last) == (False, False)


def test_a_reference_without_end_ends_the_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.labs.reference.SECONDS", 0.3)
    last = '    return {"z"'
    endless = a_new_lab(tmp_path, last, f"    while True: pass\n{last}", REFERENCE)
    started = time.monotonic()
    lines = list(check_lab(endless, RunOptions(threads=2)))
    assert time.monotonic() - started < 60
    assert [line.last for line in lines].count(True) == 1 and lines[-1].last
    assert "reference.py:" in lines[-1].seen and "let every loop end" in lines[-1].seen
