"""Skip GPU tests on machines without one; in CI, fail every other skipped test.

Python's default searches all objects for garbage each time some hundred more were made. A run holds
those of ten thousand tests, so that collecting them took a third of the time of finding the tests.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from grader.__main__ import ALLOCATIONS

NO_GPU = "needs a GPU: there is no /dev/nvidia0"
ALLOWED_REASON = "needs a GPU"

LONGEST = (
    "faults/test_limits.py",
    "attacks/test_attacks.py",
    "correct/test_correct.py",
    "compile/test_scaling.py",
    "portal/test_browser.py",
    "portal/test_editor.py",
    "portal/test_schema.py",
    "cheats/test_points_need_work.py",
    "simulator/test_watch.py",
    "sandbox/test_template.py",
    "gradebook/test_tampering.py",
    "batch/test_kill.py",
    "batch/test_cluster.py",
    "test_readers.py",
    "portal/test_hostile.py",
    "portal/test_deploy.py",
    "portal/test_killed.py",
    "reports/page/test_browser.py",
    "fuzz/test_fuzz.py",
    "feedback/test_fixes.py",
    "simulator/test_decode_scaling.py",
    "gradebook/test_book_against_model.py",
    "sandbox/test_call.py",
    "gradebook/test_killed.py",
    "cli/test_output.py",
    "cli/test_commands.py",
    "authoring/test_new_lab.py",
    "faults/test_stopped.py",
    "reports/test_hidden_feedback.py",
    "batch/test_command.py",
    "export/test_autograder.py",
    "authoring/gate/test_cheats.py",
    "authoring/mutation/test_equivalents.py",
)
"""The files that take longest, which are begun first: a file is the work of one process, and the
others would wait for one that began last. `test_skips` checks the names."""

ADDRESS = re.compile(r"<[^<>]* at 0x[0-9a-f]+>")
"""Python's name for an object that has none of its own."""


gc.set_threshold(ALLOCATIONS)
if importlib.util.find_spec("hypothesis"):  # the tests for a GPU do without it
    from hypothesis import HealthCheck, settings

    # How long an example takes says how busy the machine is.
    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")
# A shell has its background jobs ignore Ctrl-C, and with them all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every later search for garbage."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if unstable := [item.nodeid for item in items if ADDRESS.search(item.nodeid)]:
        raise pytest.UsageError(f"another name in each process: {unstable[0]}")
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
