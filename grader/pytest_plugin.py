"""The checks of a lab as pytest items: `pytest --lab tiled-matmul --submission mine.cu`.

Each check is an item, such as `mine.cu::sync`. The file is graded once on the public cases, as
`grader check` does, when its first item runs. A failed check fails with its findings. A check that
is not evaluated is skipped, with the reason. A system error is an error of the item. Without
`--lab`, the plugin adds nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from grader.checks.result import Result
    from grader.grading.record import Grade
    from grader.labs.model import Lab

SKIPPED = ("blocked", "unjudged")
PLANNED = pytest.StashKey["tuple[Lab, tuple[str, ...]]"]()
"""The lab of `--lab`, and the names of its checks."""


class CheckFailed(Exception):
    """The submission fails a check; pytest shows the message."""


class CheckBroken(Exception):
    """A system error prevented a check."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("warpgrade", "CUDA labs")
    group.addoption("--lab", metavar="LAB", help="grade the submissions with the checks of LAB")
    group.addoption(
        "--submission", metavar="FILE.cu", action="append", default=[],
        help="a file to grade; repeatable",
    )  # fmt: skip
    group.addoption(
        "--lab-course", metavar="DIR", type=Path, help="use the labs of this folder's labs/"
    )
    group.addoption(
        "--lab-on", choices=("sim", "gpu", "auto"), default="auto",
        help="where the kernel runs: the CPU simulator or a GPU",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Validate the options, and collect the submissions besides the files that are named.

    Raises UsageError for invalid options.
    """
    from grader.faults import Fault

    submissions = config.getoption("submission")
    if not config.getoption("lab"):
        if submissions:
            raise pytest.UsageError("--submission needs --lab LAB")
        return
    if not submissions:
        raise pytest.UsageError("--lab needs --submission FILE.cu")
    missing = [name for name in submissions if not Path(name).is_file()]
    if missing:
        raise pytest.UsageError(f"--submission: the file {missing[0]} does not exist")
    try:
        config.stash[PLANNED] = _planned(config)
    except Fault as fault:
        raise pytest.UsageError(f"--lab: {fault}") from None
    named = config.args if config.getoption("file_or_dir") else []
    config.args = [*named, *map(os.path.abspath, submissions)]


def _planned(config: pytest.Config) -> tuple[Lab, tuple[str, ...]]:
    """Return the lab of `--lab` and the names of its checks; raises Fault."""
    from grader.checks.suite import plan
    from grader.labs.reading import lab_roots, load_lab

    lab = load_lab(config.getoption("lab"), lab_roots(config.getoption("lab_course")))
    return lab, ("compile", *(check.name for check in plan(lab)))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> LabFile | None:
    """Collect a file when it is one of the submissions."""
    config = parent.config
    if not config.getoption("lab"):
        return None
    if str(file_path) not in map(os.path.abspath, config.getoption("submission")):
        return None
    file: LabFile = LabFile.from_parent(parent, path=file_path)
    return file


class LabFile(pytest.File):
    """One submission, whose items are the checks of the lab."""

    _grade: Grade | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item for each check of the lab."""
        self.lab, names = self.config.stash[PLANNED]
        for name in names:
            yield CheckItem.from_parent(self, name=name)

    def grade(self) -> Grade:
        """Return the grade of the file, which is graded once; raises Fault."""
        if self._grade is None:
            from grader.cli.check import grade_file
            from grader.cli.terminal import Backend, resolved
            from grader.grading.cases import RunOptions

            how = RunOptions(resolved(Backend(self.config.getoption("lab_on"))))
            self._grade = grade_file(self.lab, self.path, how, quiet=True)
        return self._grade


class CheckItem(pytest.Item):
    """One check of one submission."""

    parent: LabFile

    def setup(self) -> None:
        """Grade the file; after a system error, pytest reports an error, not a failure."""
        from grader.faults import Fault

        try:
            check = self._check(self.parent.grade())
        except Fault as fault:
            raise CheckBroken(str(fault)) from None
        if check.status == "error":
            raise CheckBroken(check.summary)

    def runtest(self) -> None:
        """Record measurements and points, and fail or skip as the check did."""
        from grader.export.fields import check_text

        check = self._check(self.parent.grade())
        for name, value in check.measurements.items():
            self.user_properties.append((name, value))
        self.user_properties.append(("points", check.points))
        self.user_properties.append(("max_points", check.max_points))
        if check.status in SKIPPED:
            pytest.skip(check.summary)
        if check.status == "fail":
            raise CheckFailed(check_text(check))

    def _check(self, grade: Grade) -> Result:
        return next(check for check in grade.checks if check.name == self.name)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the findings of a check, without a Python traceback."""
        if isinstance(excinfo.value, CheckFailed | CheckBroken):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the location of the first error, once the file has been graded."""
        grade = self.parent._grade
        found = self._check(grade).findings if grade else ()
        line = next((f.line for f in found if f.severity == "error" and f.line), 0)
        return self.path, line - 1 if line else None, f"{self.parent.lab.name}: {self.name}"
