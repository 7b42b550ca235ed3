"""Skip GPU tests on machines without one; in CI, fail every other skipped test.

Python's default searches all objects for garbage each time some hundred more were made. A run holds
those of ten thousand tests, so that collecting them took a third of the time of finding the tests.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from grader.__main__ import ALLOCATIONS

NO_GPU = "needs a GPU: there is no /dev/nvidia0"
ALLOWED_REASON = "needs a GPU"

LONGEST = (
    "simulator/test_watch.py",
    "faults/test_limits.py",
    "attacks/test_attacks.py",
    "batch/test_cluster.py",
    "reports/test_hidden_feedback.py",
    "feedback/test_fixes.py",
    "sandbox/test_template.py",
    "authoring/gate/test_cheats.py",
    "sandbox/test_call.py",
    "fuzz/test_fuzz.py",
    "test_readers.py",
)
"""The files that take longest, which are begun first: a file is the work of one process, and the
others would wait for one that began last. `test_skips` checks the names."""


gc.set_threshold(ALLOCATIONS)


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every later search for garbage."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    rank = {folder / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
    if any(Path("/dev").glob("nvidia[0-9]*")):
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason=NO_GPU))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    fail_if_skipped(report)
    return report


def fail_if_skipped(report: Any) -> None:
    """Turn a skip for any other reason than a missing GPU into a failure."""
    if os.environ.get("CI") != "true" or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if not reason.startswith(ALLOWED_REASON):
        report.outcome = "failed"
        report.longrepr = f"tests must not be skipped in CI: {reason}"
