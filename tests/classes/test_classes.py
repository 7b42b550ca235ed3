"""Every submission of the sample class gets what `expected.yaml` says."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from grader.cli.check import grade_file
from grader.grading.cases import RunOptions
from grader.grading.record import Grade
from grader.labs.reading import load_lab
from tests.classes.demo import FOLDER, LAB

EXPECTED: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "expected.yaml").read_text())


def test_every_submission_is_expected() -> None:
    assert [path.stem for path in sorted(FOLDER.glob("*.cu"))] == list(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_submission(name: str) -> None:
    due = EXPECTED[name]
    made = grade_file(
        load_lab(LAB), FOLDER / f"{name}.cu", RunOptions(threads=1, limit=20), quiet=True
    )
    kinds = errors(made)
    assert list(kinds) == due["kinds"]
    assert made.exit_code == due["exit"]
    assert made.score.points == due["points"]
    if "line" in due:
        assert due["line"] in kinds[due["kinds"][0]]


def errors(made: Grade) -> dict[str, list[int]]:
    """The lines of the errors that are told, by kind; causes before consequences."""
    shown: dict[str, list[int]] = {}
    for check in made.checks:
        for finding in check.findings:
            if finding.severity == "error":
                shown.setdefault(finding.kind, []).append(finding.line)
    return dict(sorted(shown.items()))
