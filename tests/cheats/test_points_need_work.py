"""Kernels that look like the work, and honest ones that look unusual: the points of each.

The first line of a file in `work/` is `// <lab>: <points> points`. The gate makes further cheats by
program: see tests/authoring/gate/test_cheats.py.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.feedback.grade import grade
from grader.labs.reading import load_lab
from grader.submissions.files import read_submission

FILES = sorted((Path(__file__).parent / "work").glob("*.cu"))
HEAD = re.compile(r"// ([a-z-]+): ([\d.]+) points\n")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_points_need_the_work(file: Path) -> None:
    head = HEAD.match(file.read_text())
    assert head, "the first line is `// <lab>: <points> points`"
    graded = grade(load_lab(head[1]), read_submission(file), visibility="all", threads=1)
    checks = {check.name: (check.status, check.summary) for check in graded.checks}
    assert checks["output"][0] == "pass", checks
    assert graded.score.points == float(head[2]), checks
    assert not any(check.status == "error" for check in graded.checks)
    judged = {check.name for check in graded.checks if check.status == "unjudged"}
    assert judged <= {"speed", "quiz"}
