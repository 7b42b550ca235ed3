"""Thresholds that were measured with other files are reported by `labs check`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.authoring.requirements import (
    RequirementNotMet,
    lab_folder,
    outdated_thresholds,
    thresholds_are_current,
)
from grader.labs.files import file_digest
from grader.labs.model import Lab
from grader.labs.reading import load_lab
from grader.labs.thresholds import THRESHOLDS_FILE, DeviceThresholds, thresholds_text

NAME = "tiled-matmul"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A copy of the lab with thresholds of two devices; only one records the measured files."""
    source = load_lab(NAME)
    shutil.copytree(source.folder, tmp_path / "labs" / NAME)
    shutil.copytree(source.solution.parent, tmp_path / "solutions" / NAME)
    of = {file.name: file_digest(file) for file in (source.baseline, source.solution)}
    known = DeviceThresholds(minimum=1.1, full=1.4, sha256=of)
    text = thresholds_text(NAME, {"H100": known, "T4": DeviceThresholds(minimum=2, full=3)})
    (tmp_path / "labs" / NAME / THRESHOLDS_FILE).write_text(text)
    return load_lab(NAME, (tmp_path / "labs",))


def test_thresholds_of_the_current_files_hold(lab: Lab) -> None:
    assert thresholds_are_current(lab_folder(lab)) == "measured on H100, T4"


def test_another_baseline_makes_thresholds_outdated(lab: Lab) -> None:
    lab.baseline.write_text("// another")
    (message,) = outdated_thresholds(lab)
    assert "H100" in message and f"calibrate {NAME} --write" in message
    with pytest.raises(RequirementNotMet, match="another baseline.cu"):
        thresholds_are_current(lab_folder(lab))


def test_another_solution_is_reported_without_failing(lab: Lab) -> None:
    lab.solution.write_text("// another")
    message = thresholds_are_current(lab_folder(lab))
    assert "; with another solution on H100" in message
