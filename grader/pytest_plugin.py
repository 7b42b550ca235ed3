"""A lab's checks as pytest items: `pytest --lab tiled-matmul --submission mine.cu`.

Each check is an item, `mine.cu::sync`; the file is graded once, when its first item runs, on
the public cases, as `grader check` does. A check that fails, fails with its findings; one that
waits for another or cannot be judged here is skipped, with the reason; what this machine failed is
an error. Without `--lab` the plugin adds nothing.
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
"""The lab of `--lab` and the names of its checks."""


class CheckFailed(Exception):
    """A check that the submission does not pass; its text is what pytest shows."""


class CheckBroken(Exception):
    """A check that this machine could not make."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("warpgrade", "CUDA labs")
    group.addoption("--lab", metavar="LAB", help="grade --submission as this lab asks")
    group.addoption(
        "--submission", metavar="FILE.cu", action="append", default=[],
        help="the file to grade; may be given again",
    )  # fmt: skip
    group.addoption("--lab-course", metavar="DIR", type=Path, help="a folder with labs/ of its own")
    group.addoption(
        "--lab-on", choices=("sim", "gpu", "auto"), default="auto", help="what runs the kernel"
    )


def pytest_configure(config: pytest.Config) -> None:
    """With a lab and no other file named, the submissions are all there is to collect."""
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
        raise pytest.UsageError(f"--submission: there is no file {missing[0]}")
    try:
        config.stash[PLANNED] = _planned(config)
    except Fault as fault:
        raise pytest.UsageError(f"--lab: {fault}") from None
    named = config.args if config.getoption("file_or_dir") else []
    config.args = [*named, *map(os.path.abspath, submissions)]


def _planned(config: pytest.Config) -> tuple[Lab, tuple[str, ...]]:
    """The lab that was named, and its checks. Raises Fault."""
    from grader.checks.suite import plan
    from grader.labs.reading import lab_roots, load_lab

    lab = load_lab(config.getoption("lab"), lab_roots(config.getoption("lab_course")))
    return lab, ("compile", *(check.name for check in plan(lab)))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> LabFile | None:
    """The submission, when it is one of those that were named."""
    config = parent.config
    if not config.getoption("lab"):
        return None
    if str(file_path) not in map(os.path.abspath, config.getoption("submission")):
        return None
    file: LabFile = LabFile.from_parent(parent, path=file_path)
    return file


class LabFile(pytest.File):
    """One submission; its items are the checks of the lab."""

    _grade: Grade | None = None

    def collect(self) -> Iterator[pytest.Item]:
        self.lab, names = self.config.stash[PLANNED]
        for name in names:
            yield CheckItem.from_parent(self, name=name)

    def grade(self) -> Grade:
        """The file's grade, made once. Raises Fault."""
        if self._grade is None:
            from grader.cli.check import grade_file
            from grader.cli.options import Backend, resolved
            from grader.grading.cases import RunOptions

            how = RunOptions(resolved(Backend(self.config.getoption("lab_on"))))
            self._grade = grade_file(self.lab, self.path, how, quiet=True)
        return self._grade


class CheckItem(pytest.Item):
    """One check of one submission."""

    parent: LabFile

    def setup(self) -> None:
        """Grade, and stop here where this machine failed: pytest then says error, not failed."""
        from grader.faults import Fault

        try:
            check = self._check(self.parent.grade())
        except Fault as fault:
            raise CheckBroken(str(fault)) from None
        if check.status == "error":
            raise CheckBroken(check.summary)

    def runtest(self) -> None:
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
        """What was found, without a traceback of ours."""
        if isinstance(excinfo.value, CheckFailed | CheckBroken):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the first finding is, once it is known."""
        grade = self.parent._grade
        found = self._check(grade).findings if grade else ()
        line = next((f.line for f in found if f.severity == "error" and f.line), 0)
        return self.path, line - 1 if line else None, f"{self.parent.lab.name}: {self.name}"
