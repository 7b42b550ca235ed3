"""A scheduler and workers as processes of their own, on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.batch.worker_preload import MARK
from tests.command import ROOT
from tests.patience import until

_ADDRESS = re.compile(r"tcp://127\.0\.0\.1:\d+")
_JOINED = re.compile(r"Registered to")
GRACE = 20.0
"""Seconds for a process to end by itself before it is killed."""

_NOTHING: Mapping[str, str] = {}
_SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "5s",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
}
"""With the others, a process that waits looks at itself seldom, not a hundred times a second."""


@dataclass
class Cluster:
    """A scheduler's address, and the processes; workers are added and killed by number."""

    folder: Path
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def mark(self) -> Path:
        """Where a worker that grades slow.cu writes its process's number."""
        return self.folder / "mark"

    def add(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a worker of one thread; a nanny starts it anew when it dies."""
        own = self.folder / f"worker{len(self.workers)}"
        options = ["--nthreads", "1", "--no-dashboard", "--local-directory", str(own)]
        log = own.with_suffix(".log")
        process = _start(["worker", self.address, *options, *words], log, {MARK: str(self.mark)})
        self.workers.append(process)
        return process

    def joined(self, number: int) -> None:
        """Wait until that worker has joined."""
        wait_for(self.folder / f"worker{number}.log", _JOINED, self.workers[number])


def wait_for(log: Path, words: re.Pattern[str], process: subprocess.Popen[bytes]) -> str:
    """The words that a living process has written to its log, as soon as they are there."""

    def search() -> re.Match[str] | None:
        assert process.poll() is None, log.read_text()
        return words.search(log.read_text())

    shown = until(search)
    assert shown
    return shown[0]


@contextmanager
def cluster(folder: Path, workers: Sequence[Sequence[str]] = ()) -> Iterator[Cluster]:
    """A running cluster with a worker for each list of options; all is ended afterwards."""
    found = Cluster(folder)
    log = folder / "scheduler.log"
    words = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter"]
    found.scheduler = _start(words, log)
    try:
        found.address = wait_for(log, _ADDRESS, found.scheduler)
        for options in workers:
            found.add(*options)
        yield found
    finally:
        for process in (*found.workers, found.scheduler):
            process.terminate()
        for process in (*found.workers, found.scheduler):
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(
    words: Sequence[str], log: Path, more: Mapping[str, str] = _NOTHING
) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            cwd=ROOT,
            env={**os.environ, **_SETTINGS, **more, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
