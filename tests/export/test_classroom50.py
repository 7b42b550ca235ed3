"""Classroom 50: what its runner accepts, and autograder.py run as its runner does.

The rules are those of the schema `classroom50/result/v1` and of the runner's own validation, as
foundation50/classroom50 has them: written down here a second time, by hand.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, model_validator

from grader.export.classroom50 import row_problem, shared, whole
from grader.export.container.classroom50 import assignment_files
from grader.export.formats import Options, scale_points
from grader.labs.reading import load_lab
from tests.command import ROOT
from tests.export.rows import (
    FAILED,
    HOSTILE,
    OPTIONS,
    PASSED,
    RUN,
    a_row,
    graded,
    hostile_rows,
    huge,
    made,
)
from tests.patience import PATIENCE

LAB = "vector-add"
Text = Annotated[str, Field(min_length=1)]
Points = Annotated[int, Field(ge=0)]
Instant = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$")]


class Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Test(Rules):
    __test__ = False
    model_config = ConfigDict(extra="allow", strict=True)
    name: Text = Field(alias="test-name")
    passed: bool
    score: Points
    most: Points = Field(alias="max-score")

    @model_validator(mode="after")
    def score_is_possible(self) -> Test:
        assert self.score <= self.most
        return self


class Result(Rules):
    schema_: Literal["classroom50/result/v1"] = Field(alias="schema")
    classroom: Text
    assignment: Text
    assignment_type: Literal["individual", "group", "team"]
    owner: Text
    submission: Annotated[str, Field(pattern="^submit/")]
    commit: Text
    release: Text
    review: Text
    datetime: Instant
    graded_at: Instant | None = None
    score: Points
    most: Points = Field(alias="max-score")
    tests: list[Test]
    submitted_by: dict[str, Any] | None = None

    @model_validator(mode="after")
    def score_is_possible(self) -> Result:
        assert self.score <= self.most
        return self


def stamped(text: str) -> Result:
    """The result with what the runner writes itself, whatever the autograder wrote there."""
    value = json.loads(text)
    value |= {"owner": "ada", "assignment_type": "individual", "datetime": "2026-11-23T02:00:00Z"}
    return Result.model_validate_json(json.dumps(value))


def result(row: Any) -> Result:
    text, left = made("classroom50", row)
    assert not left
    return stamped(text)


def test_the_runner_accepts_the_result() -> None:
    shown = result(a_row(graded()))
    assert (shown.score, shown.most, shown.classroom) == (70, 85, "gpu-101")
    assert [(test.name, test.passed, test.score) for test in shown.tests] == [
        ("compile", True, 0), ("output", True, 40), ("sync", False, 15), ("memory", False, 15),
    ]  # fmt: skip
    assert sum(test.most for test in shown.tests) == 85


@pytest.mark.parametrize("row", hostile_rows(), ids=range(len(HOSTILE)))
def test_hostile_text(row: Any) -> None:
    assert result(row).score == 70


def test_a_huge_result_is_far_from_the_collectors_limit() -> None:
    text, _ = made("classroom50", a_row(huge()))
    assert len(text) < 1_000_000


def test_a_system_error_is_no_result() -> None:
    text, left = made("classroom50", a_row(FAILED))
    assert not text and "system error" in left[0].why


def test_without_the_service_the_export_says_what_to_use() -> None:
    row = a_row(PASSED)
    for name in RUN:
        run = {key: value for key, value in RUN.items() if key != name}
        assert name in row_problem(row, Options(run=run))
    assert "classroom50-autograder" in row_problem(row, Options())


def test_full_marks_have_to_be_whole() -> None:
    row = scale_points(a_row(graded()), 12.5)
    assert "add --points 13" in row_problem(row, OPTIONS)
    assert result(scale_points(a_row(graded()), 100)).score == 82  # 82.35


def test_full_marks_mean_full_marks() -> None:
    row = a_row(graded())
    assert result(replace(row, points=84.99)).score == 84
    assert result(replace(row, points=85.0)).score == 85
    assert result(replace(row, points=90.0)).score == 85, "extra points are more than the maximum"


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 60).map(lambda x: round(x, 2))), max_size=12)
)
def test_whole_scores_add_up(checks: list[tuple[float, float]]) -> None:
    """Whatever the points: none above its maximum, and their sum is the total."""
    most = whole(sum(limit for _, limit in checks))
    limits = shared([limit for _, limit in checks], most)
    parts = [share * limit for share, limit in checks]
    total = min(whole(sum(parts)), most)
    scores = shared(parts, total, limits)
    assert sum(limits) == most and sum(scores) == total
    assert all(0 <= score <= limit for score, limit in zip(scores, limits, strict=True))
    assert all(abs(limit - exact) < 1.001 for limit, (_, exact) in zip(limits, checks, strict=True))


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has warpgrade, and takes nothing from its environment."""
    folder = tmp_path_factory.mktemp("runner") / "venv"
    venv.create(folder)
    (place,) = folder.glob("lib/python*/site-packages")
    (place / "warpgrade.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the assignment, through a tar archive as the service publishes them."""
    folder = tmp_path_factory.mktemp("bundle")
    for name, data in assignment_files(load_lab(LAB)).items():
        (folder / LAB / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / LAB / name).write_bytes(data)
    with tarfile.open(folder / f"{LAB}.tar.gz", "w:gz") as archive:
        archive.add(folder / LAB, LAB)
    shutil.rmtree(folder / LAB)
    with tarfile.open(folder / f"{LAB}.tar.gz") as archive:
        archive.extractall(folder)  # our own: 3.11.3 has no filters
    return folder / LAB


def grade(
    bundle: Path, checkout: Path, python: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run autograder.py as the service's runner does: in the checkout, with its variables."""
    shown = {"PATH": os.environ["PATH"], "HOME": str(checkout.parent), "GITHUB_ACTIONS": "true"}
    return subprocess.run(
        [sys.executable, str(bundle / "autograder.py")], cwd=checkout, text=True, timeout=PATIENCE,
        env={**shown, **RUN, "WARPGRADE_PYTHON": str(python), **more}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def test_the_bundle_has_no_secret(bundle: Path) -> None:
    files = {path.relative_to(bundle).as_posix(): path for path in bundle.rglob("*")}
    text = "".join(path.read_text() for path in files.values() if path.is_file())
    hidden = [case.name for case in load_lab(LAB).cases if case.visibility == "hidden"]
    assert hidden and not [name for name in hidden if name in text] and "drawn:" not in text
    assert not [name for name in files if "solution" in name or "wrong" in name]
    compile((bundle / "autograder.py").read_text(), "autograder.py", "exec")
    assert re.search(r"PACKAGE = 'warpgrade==\d", (bundle / "autograder.py").read_text())


def test_a_checkout_is_graded_and_takes_no_part_in_it(
    bundle: Path, python: Path, tmp_path: Path
) -> None:
    """The checkout has Python modules, a lab of the same name and a result of its own."""
    checkout = tmp_path / "checkout"
    (checkout / ".git").mkdir(parents=True)
    (checkout / ".git" / "vector-add.cu").write_text("not the submission")
    shutil.copy(ROOT / "solutions" / LAB / f"{LAB}.cu", checkout)
    for name in ("json.py", "numpy.py", "venv.py", "pip.py", "sitecustomize.py", "grader.py"):
        (checkout / name).write_text(
            f"open({str(tmp_path / 'escaped')!r}, 'w')\nraise SystemExit(7)"
        )
    own = checkout / "labs" / LAB
    own.mkdir(parents=True)
    (own / "lab.yaml").write_text("title: ours\n")
    (own / "reference.py").write_text(f"open({str(tmp_path / 'escaped')!r}, 'w')")
    outside = tmp_path / "outside"
    outside.write_text("kept")
    (checkout / "result.json").symlink_to(outside)
    done = grade(bundle, checkout, python)
    assert done.returncode == 0, done.stdout
    shown = stamped((checkout / "result.json").read_text())
    assert shown.score == shown.most == 100 and shown.assignment == "tiles"
    body = (checkout / "release-body.md").read_text()
    assert body.startswith("### vector\\-add: 100 of 100 points".replace("\\-", "-"))
    assert outside.read_text() == "kept" and not (tmp_path / "escaped").exists()


def test_work_that_is_missing_or_wrong_is_a_score(
    bundle: Path, python: Path, tmp_path: Path
) -> None:
    done = grade(bundle, tmp_path, python)
    assert done.returncode == 0, done.stdout
    shown = stamped((tmp_path / "result.json").read_text())
    assert (shown.score, shown.most) == (0, 100) and not shown.tests[0].passed
    (tmp_path / f"{LAB}.cu").write_text('extern "C" __global__ void vector_add(int* a) { }')
    assert grade(bundle, tmp_path, python).returncode == 0
    assert stamped((tmp_path / "result.json").read_text()).score == 0


def test_a_fault_of_the_machine_is_an_exit_code_and_no_result(
    bundle: Path, python: Path, tmp_path: Path
) -> None:
    shutil.copy(ROOT / "solutions" / LAB / f"{LAB}.cu", tmp_path)
    (tmp_path / "result.json").write_text('{"score": 100}')
    broken = tmp_path / "broken"
    shutil.copytree(bundle, broken)
    (broken / "warpgrade.json").write_text("{}")
    for folder, more in (
        (broken, {}),
        (bundle, {"SUBMISSION_TAG": ""}),
        (bundle, {"WARPGRADE_PYTHON": "", "RUNNER_TEMP": str(tmp_path / "nowhere")}),
    ):
        done = grade(folder, tmp_path, python, **more)
        assert done.returncode not in (0, 1) and "::error::" in done.stdout, done.stdout
    shutil.copy(bundle / "warpgrade.json", broken)
    (broken / "labs" / LAB / "reference.py").write_text("raise RuntimeError('broken')")
    (tmp_path / "result.json").unlink(missing_ok=True)
    assert grade(broken, tmp_path, python).returncode not in (0, 1)
    assert not (tmp_path / "result.json").exists()
