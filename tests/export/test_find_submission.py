"""Which of the files that a student submits to Gradescope is graded."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.export.container.run_autograder import find_submission
from grader.faults import StudentFault

LAB = "vector-add"
ACCEPTED = [
    (["mine.cu"], "mine.cu"),
    (["deep/er/mine.cu", "notes.txt"], "deep/er/mine.cu"),
    (["a.cu", f"{LAB}.cu"], f"{LAB}.cu"),
    (["__MACOSX/._mine.cu", "mine.cu"], "mine.cu"),
]
REFUSED = [
    ([], "no .cu file"),
    (["readme.md"], "no .cu file"),
    (["a.cu", "b.cu"], "2 .cu files that could be graded"),
    ([f"a/{LAB}.cu", f"b/{LAB}.cu"], "2 .cu files that could be graded"),
]


def made_folder(folder: Path, names: list[str]) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("// kernel\n")
    return folder


@pytest.mark.parametrize(("names", "expected"), ACCEPTED, ids=range(len(ACCEPTED)))
def test_the_lab_s_file_or_the_only_one_is_graded(
    names: list[str], expected: str, tmp_path: Path
) -> None:
    assert find_submission(made_folder(tmp_path, names), LAB) == tmp_path / expected


@pytest.mark.parametrize(("names", "why"), REFUSED, ids=range(len(REFUSED)))
def test_no_file_or_several_are_rejected(names: list[str], why: str, tmp_path: Path) -> None:
    with pytest.raises(StudentFault, match=why) as raised:
        find_submission(made_folder(tmp_path, names), LAB)
    assert raised.value.findings and f"Submit one file, {LAB}.cu" in raised.value.fix


def test_a_linked_folder_is_not_entered(tmp_path: Path) -> None:
    made_folder(tmp_path / "elsewhere", ["mine.cu"])
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StudentFault, match="no .cu file"):
        find_submission(tmp_path / "submission", LAB)
