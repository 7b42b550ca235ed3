"""A lab's digest changes with the files that grades depend on, and with no others."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.labs.model import Lab
from grader.labs.reading import lab_digest, load_lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    held = load_lab("coalescing")
    folder = tmp_path / held.name
    shutil.copytree(held.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return replace(held, folder=folder)


def test_digest_does_not_depend_on_the_path(lab: Lab) -> None:
    assert lab_digest(lab) == lab_digest(load_lab("coalescing"))


@pytest.mark.parametrize(
    "name", ["lab.yaml", "reference.py", "baseline.cu", "thresholds.yaml", "quiz/new.cu", "data.py"]
)
def test_digest_changes_with_a_graded_file(name: str, lab: Lab) -> None:
    before = lab_digest(lab)
    file = lab.folder / name
    file.write_bytes((file.read_bytes() if file.exists() else b"") + b"\n")
    assert lab_digest(lab) != before


@pytest.mark.parametrize(
    "name", ["coalescing.cu", "mine.cu", "answers.yaml", ".notes", "__pycache__/reference.pyc"]
)
def test_digest_ignores_the_students_files(name: str, lab: Lab) -> None:
    before = lab_digest(lab)
    file = lab.folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"of the student\n")
    assert lab_digest(lab) == before


def test_digest_changes_when_a_byte_moves_between_files(lab: Lab) -> None:
    (lab.folder / "a.py").write_bytes(b"12")
    (lab.folder / "b.py").write_bytes(b"3")
    before = lab_digest(lab)
    (lab.folder / "a.py").write_bytes(b"1")
    (lab.folder / "b.py").write_bytes(b"23")
    assert lab_digest(lab) != before
