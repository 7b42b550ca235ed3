"""Kernels that look like the work, and honest ones that look unusual: the points of each.

The first line of a file in `work/` is `// <lab>: <points> points`. Behind it, `, with drawn sizes`
has these graded too, which may be larger than all cases together. The gate makes further cheats by
program: see tests/authoring/gate/test_cheats.py.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.feedback.grade import grade
from grader.grading.record import dumps
from grader.labs.reading import load_lab
from grader.reports.redact import redact
from grader.submissions.files import read_submission

FILES = sorted((Path(__file__).parent / "work").glob("*.cu"))
HEAD = re.compile(r"// ([a-z-]+): ([\d.]+) points(, with drawn sizes)?\n")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_points_need_the_work(file: Path) -> None:
    head = HEAD.match(file.read_text())
    assert head, "the first line is `// <lab>: <points> points`"
    lab = load_lab(head[1])
    lab = lab if head[3] else replace(lab, drawn={})
    graded = grade(lab, read_submission(file), visibility="all", threads=1)
    checks = {check.name: (check.status, check.summary) for check in graded.checks}
    assert checks["output"][0] == "pass", checks
    assert graded.score.points == float(head[2]), checks
    assert not any(check.status == "error" for check in graded.checks)
    judged = {check.name for check in graded.checks if check.status == "unjudged"}
    assert judged <= {"speed", "quiz"}


def test_a_table_of_public_answers_fails_hidden_cases_and_is_not_told_them() -> None:
    file = read_submission(Path(__file__).parent / "derived" / "tile_widths_from_a_table.cu")
    lab = load_lab("dynamic-tile")
    hidden = [d for d in lab.derivations if d.visibility == "hidden"]
    public, whole = (grade(lab, file, visibility=v, threads=1) for v in ("public", "all"))
    assert public.score.points == 100
    assert whole.score.points < 90
    told = dumps(public.to_json()) + dumps(redact(whole).to_json())
    assert len(hidden) == 2 and not any(d.call in told for d in hidden)
    assert all(d.call in dumps(whole.to_json()) for d in hidden)
