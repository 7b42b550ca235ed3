"""A pytest plugin: the processor time of the tests, by folder and file.

    python -m pytest -p tests.processor_time -n 4 --dist loadfile

Children that nobody waits for, or that are waited for in another PID namespace, are in no process's
own account (getrusage). So each test process enters a control group of its own, which counts all
that is started in it, of any user. It needs root, or a control group that is delegated.

What runs while no test does (a server that ends late) counts for the next test of its process;
finding the tests has a row of its own.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
MOST_FILES = 40
"""The files that the table names."""

PLACES = (("/sys/fs/cgroup/cpuacct", "cpuacct.usage"), ("/sys/fs/cgroup", "cpu.stat"))
"""Where control groups count processor time: version 1, and version 2."""


class Account:
    """The control group of this process and of all that it starts."""

    def __init__(self, name: str) -> None:
        """Make it and enter it.

        Raises:
            OSError: The machine does not allow it.
        """
        root, self._usage = next(place for place in PLACES if Path(*place).exists())
        self._folder = Path(root, f"warpgrade-tests-{os.getpid()}-{name}")
        self._folder.mkdir()
        (self._folder / "cgroup.procs").write_text(str(os.getpid()))
        self._root, self._before = Path(root), 0.0

    def since_last(self) -> float:
        """Return the seconds of processor time that were used since the last call."""
        text = (self._folder / self._usage).read_text()
        rows = dict(line.split() for line in text.splitlines() if " " in line)
        now = int(rows["usage_usec"]) / 1e6 if rows else int(text) / 1e9
        used, self._before = now - self._before, now
        return used

    def leave(self) -> None:
        """Remove the group; one in which something still runs stays until the machine restarts."""
        (self._root / "cgroup.procs").write_text(str(os.getpid()))
        with suppress(OSError):
            self._folder.rmdir()


class InProcess:
    """Measure the tests of one process."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._account = Account(getattr(config, "workerinput", {}).get("workerid", "main"))
        self.finding = 0.0

    def pytest_collection_finish(self) -> None:
        self.finding = self._account.since_last()
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["finding"] = self.finding

    def pytest_unconfigure(self) -> None:
        self._account.leave()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report = yield
        report.processor_time = self._account.since_last()
        return report


class Table:
    """Collect what the processes measured, and print it."""

    def __init__(self) -> None:
        self._tests: dict[str, float] = defaultdict(float)
        self._finding: list[float] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._tests[report.nodeid] += report.processor_time

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._finding.append(node.workeroutput.get("finding", 0.0))

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        own = config.pluginmanager.get_plugin("processor-time")
        finding = [*self._finding, *([own.finding] if own else [])]
        write = terminalreporter.write_line
        terminalreporter.section("processor time")
        files: dict[str, list[float]] = defaultdict(list)
        folders: dict[str, list[float]] = defaultdict(list)
        for name, seconds in self._tests.items():
            file = name.partition("::")[0].removeprefix("tests/")
            files[file].append(seconds)
            folders[file.rpartition("/")[0].partition("/")[0] or "."].append(seconds)
        total = sum(self._tests.values()) + sum(finding)
        write(f"{total:8.1f} s  everything")
        write(f"{sum(finding):8.1f} s  finding the tests, in {len(finding)} processes")
        for group, most in ((folders, len(folders)), (files, MOST_FILES)):
            write("")
            for name, times in sorted(group.items(), key=lambda row: -sum(row[1]))[:most]:
                write(f"{sum(times):8.1f} s  {len(times):5} tests  {name}")
        if path := config.getoption("processor_times"):
            Path(path).write_text(json.dumps(self._tests))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processor-times", metavar="FILE", help="write each test's seconds as JSON")


def pytest_configure(config: pytest.Config) -> None:
    is_controller = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if not is_controller:
        config.pluginmanager.register(InProcess(config), "processor-time")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Table(), "processor-time-table")
