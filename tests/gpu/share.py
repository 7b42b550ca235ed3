"""A pytest plugin: several processes share one collection, each test runs in one of them.

    python -m pytest -p tests.gpu.share --shared FOLDER ...

A process claims a test by making a file in FOLDER that was not there, so that a slow test keeps
only its own process busy. What became of each test is a line of JSON in FOLDER/reports. The GPU's
lock lies in each process' own folder for temporary files: their launches share the GPU.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from grader.gpu import devices

REPORTS = "reports"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shared", type=Path, help="the folder that the processes share")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run what nobody else runs. Fixtures end with each test: the next one here is not known."""
    folder: Path | None = session.config.getoption("--shared")
    if folder is None or session.config.option.collectonly:
        return None
    for item in session.items:
        if _claimed(folder, item.nodeid):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    return True


class Reports:
    """Writes each test's end into the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The call, or whatever kept it from being made."""
        if report.when != "call" and report.passed:
            return
        told = {
            "test": report.nodeid,
            "outcome": report.outcome,
            "seconds": report.duration,
            "rows": [text for name, text in report.user_properties if name == "row"],
            "words": "" if report.passed else report.longreprtext,
        }
        self.append(told)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be collected counts as a failed test."""
        if report.failed and _claimed(self.folder, report.nodeid):
            self.append(
                {
                    "test": report.nodeid,
                    "outcome": "failed",
                    "seconds": 0.0,
                    "rows": [],
                    "words": report.longreprtext,
                }
            )

    def append(self, told: dict[str, Any]) -> None:
        with (self.folder / REPORTS).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(json.dumps(told) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--shared")
    if folder is not None:
        config.pluginmanager.register(Reports(folder))
        devices.LOCK_FOLDER = Path(tempfile.gettempdir())


def _claimed(folder: Path, name: str) -> bool:
    """Whether this process is the first one to ask for `name`."""
    try:
        (folder / hashlib.sha256(name.encode()).hexdigest()).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
