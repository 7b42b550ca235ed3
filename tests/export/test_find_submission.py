"""Which of the files that a student submits to Gradescope is graded."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.export.container.run_autograder import find_submission
from grader.faults import StudentFault
from grader.labs.reading import load_lab
from grader.submissions.sources import Wanted

LAB = load_lab("vector-add")
KERNEL = "__global__ void vector_add(float* a) {}\n"
NOTEBOOK = '{"cells": [{"cell_type": "code", "source": ["%%cuda\\n", "__global__ void k() {}"]}]}'
ACCEPTED = [
    (["mine.cu"], "mine.cu"),
    (["deep/er/mine.cu", "notes.txt"], "mine.cu"),
    (["a.cu", f"{LAB.name}.cu"], f"{LAB.name}.cu"),
    (["__MACOSX/._mine.cu", "mine.cu"], "mine.cu"),
    (["hw.ipynb"], "hw.ipynb[cell 1]"),
    (["kernel.txt", "report.md"], "kernel.txt"),
]
REFUSED = [
    ([], "no .cu file"),
    (["readme.md"], "no .cu file"),
    (["a.cu", "b.cu"], "2 parts have a CUDA kernel, .*: a.cu, b.cu"),
    ([f"a/{LAB.name}.cu", f"b/{LAB.name}.cu"], "2 parts have a CUDA kernel"),
]


def made_folder(folder: Path, names: list[str]) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        own = f"{KERNEL}// {name}\n"
        (folder / name).write_text(NOTEBOOK if name.endswith(".ipynb") else own)
    return folder


@pytest.mark.parametrize(("names", "expected"), ACCEPTED, ids=range(len(ACCEPTED)))
def test_the_lab_s_file_or_the_only_one_is_graded(
    names: list[str], expected: str, tmp_path: Path
) -> None:
    found = find_submission(made_folder(tmp_path, names), LAB)
    assert found.submission(Wanted.by(LAB)).name == expected


@pytest.mark.parametrize(("names", "why"), REFUSED, ids=range(len(REFUSED)))
def test_no_file_or_several_are_rejected(names: list[str], why: str, tmp_path: Path) -> None:
    found = find_submission(made_folder(tmp_path, names), LAB)
    with pytest.raises(StudentFault, match=why) as raised:
        found.submission(Wanted.by(LAB))
    assert raised.value.findings


def test_a_linked_folder_is_not_entered(tmp_path: Path) -> None:
    made_folder(tmp_path / "elsewhere", ["mine.cu"])
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StudentFault, match="no .cu file"):
        find_submission(tmp_path / "submission", LAB).submission(Wanted.by(LAB))
