"""The reports of all GPU tests as one table, and the words of those that failed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Report:
    """What became of one test; `rows` is what it measured, in its own words."""

    test: str
    outcome: str
    seconds: float
    rows: tuple[str, ...]
    words: str

    @property
    def function(self) -> str:
        """The test without its parameters: "gpu/test_backend: a right kernel"."""
        place, _, name = self.test.partition("::")
        file = place.removeprefix("tests/").removesuffix(".py")
        plain = name.partition("[")[0].removeprefix("test_").replace("_", " ")
        return f"{file}: {plain}" if plain else file

    @property
    def parameters(self) -> str:
        return self.test.partition("[")[2].removesuffix("]")


def read(file: Path) -> list[Report]:
    """The reports in a file of one JSON object a line, in the tests' order."""
    lines = file.read_text().splitlines() if file.exists() else []
    reports = [_report(json.loads(line)) for line in lines]
    return sorted(reports, key=lambda report: report.test)


def _report(told: dict[str, Any]) -> Report:
    return Report(**{**told, "rows": tuple(told["rows"])})


def table(reports: Sequence[Report]) -> Iterable[str]:
    """A line a test function: how many passed, how many did not, seconds in all; then its rows."""
    functions: dict[str, list[Report]] = {}
    for report in reports:
        functions.setdefault(report.function, []).append(report)
    width = max((len(name) for name in functions), default=4)
    yield f"{'test':<{width}}  passed  failed  seconds"
    for name, group in functions.items():
        yield f"{name:<{width}}  {_counts(group)}"
        for report in group:
            yield from (f"    {_row(report, text)}" for text in report.rows)
    yield f"{'all':<{width}}  {_counts(reports)}"


def failures(reports: Iterable[Report]) -> Iterable[str]:
    """What each failed test said."""
    for report in reports:
        if report.outcome == "failed":
            yield f"==== {report.test}\n{report.words}"


def _counts(reports: Sequence[Report]) -> str:
    passed = sum(report.outcome == "passed" for report in reports)
    seconds = sum(report.seconds for report in reports)
    return f"{passed:6}  {len(reports) - passed:6}  {seconds:7.1f}"


def _row(report: Report, text: str) -> str:
    return f"{report.parameters}: {text}" if report.parameters else text
