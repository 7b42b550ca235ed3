"""Which of the files that a student handed in to Gradescope is graded."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.export.container.run_autograder import find_submission
from grader.faults import StudentFault

LAB = "vector-add"
FOUND = [
    (["mine.cu"], "mine.cu"),
    (["deep/er/mine.cu", "notes.txt"], "deep/er/mine.cu"),
    (["a.cu", f"{LAB}.cu"], f"{LAB}.cu"),
    (["__MACOSX/._mine.cu", "mine.cu"], "mine.cu"),
]
REFUSED = [
    ([], "no .cu file"),
    (["readme.md"], "no .cu file"),
    (["a.cu", "b.cu"], "2 files that could be meant"),
    ([f"a/{LAB}.cu", f"b/{LAB}.cu"], "2 files that could be meant"),
]


def laid(folder: Path, names: list[str]) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("// kernel\n")
    return folder


@pytest.mark.parametrize(("names", "due"), FOUND, ids=range(len(FOUND)))
def test_the_file_that_counts(names: list[str], due: str, tmp_path: Path) -> None:
    assert find_submission(laid(tmp_path, names), LAB) == tmp_path / due


@pytest.mark.parametrize(("names", "why"), REFUSED, ids=range(len(REFUSED)))
def test_no_file_that_counts(names: list[str], why: str, tmp_path: Path) -> None:
    with pytest.raises(StudentFault, match=why) as told:
        find_submission(laid(tmp_path, names), LAB)
    assert told.value.findings and f"submit one file, {LAB}.cu" in told.value.fix


def test_a_linked_folder_is_not_entered(tmp_path: Path) -> None:
    laid(tmp_path / "elsewhere", ["mine.cu"])
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StudentFault, match="no .cu file"):
        find_submission(tmp_path / "submission", LAB)
