"""What a GPU test measured, as one table after all of them: `record_property("row", text)`."""

from __future__ import annotations

from typing import Any

import pytest


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table: a line a test of this folder that ran, with what it recorded."""
    rows = []
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            told = [text for name, text in report.user_properties if name == "row"]
            rows += [(report.nodeid.rpartition("::")[2], outcome, text) for text in told]
    if not rows:
        return
    terminalreporter.section("GPU")
    width = max(len(name) for name, _, _ in rows)
    for name, outcome, text in rows:
        terminalreporter.write_line(f"{name:<{width}}  {outcome:<6}  {text}")


@pytest.fixture
def row(record_property: Any) -> Any:
    """Call it with what the table is to say of this test."""
    return lambda text: record_property("row", text)
