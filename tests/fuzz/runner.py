"""Run fuzzing processes, restart those that die, and collect their defects."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.build import environment
from tests.fuzz.minimise import minimised
from tests.patience import PATIENCE

FOUND = Path(__file__).parent / "found"
ROOT = Path(__file__).parents[2]
HANG = PATIENCE
"""Seconds one input may take; the simulator's own limit is two, of processor time."""
MOST = 1 << 62


@dataclass
class Outcome:
    """What a fuzzing run did."""

    executions: int = 0
    reached: int = 0
    seconds: float = 0.0
    defects: list[str] = field(default_factory=list)

    def summary(self) -> str:
        rate = self.executions / self.seconds if self.seconds else 0
        return (
            f"{self.executions} executions ({rate:.0f} a second), {self.reached} reached the core, "
            f"{len(self.defects)} defects"
        )


@dataclass
class _Job:
    folder: Path
    seed: int
    inputs: int
    process: subprocess.Popen[bytes] | None = None
    done: int = 0
    reached: int = 0

    def read_tally(self) -> None:
        tally = self.folder / "tally"
        numbers = tally.read_text().split() if tally.exists() else []
        if len(numbers) == 2:
            self.done = int(numbers[0])

    def start(self, core: Path, seconds: float) -> None:
        (self.folder / "current.ptx").unlink(missing_ok=True)
        numbers = (self.seed, self.done, self.inputs, seconds)
        arguments = [str(core), str(self.folder), *map(str, numbers)]
        with (self.folder / "stderr").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.child", *arguments],
                env=environment(core),
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )


def fuzz(core: Path, seconds: float, seed: int, jobs: int, inputs: int = MOST) -> Outcome:
    """Fuzzes for `seconds` in `jobs` processes, with so many inputs at most in each.

    Defects are saved under found/.
    """
    outcome, started = Outcome(), time.monotonic()
    ends = started + seconds
    with tempfile.TemporaryDirectory() as place:
        running = [_Job(Path(place) / str(k), seed * 1000 + k, inputs) for k in range(jobs)]
        for job in running:
            job.folder.mkdir()
            job.start(core, seconds)
        while any(job.process for job in running):
            time.sleep(0.2)
            for job in running:
                _look_after(job, core, ends, outcome)
        for job in running:
            outcome.executions += job.done
            outcome.reached += job.reached
            outcome.defects += _raised(job.folder)
    outcome.seconds = time.monotonic() - started
    return outcome


def _look_after(job: _Job, core: Path, ends: float, outcome: Outcome) -> None:
    process, current = job.process, job.folder / "current.ptx"
    if process is None:
        return
    hangs = current.exists() and time.time() - current.stat().st_mtime > HANG
    if process.poll() is None and not hangs:
        return
    if hangs:
        process.kill()
    code = process.wait()
    job.process = None
    tally = job.folder / "tally"
    if tally.exists():
        done, reached = map(int, tally.read_text().split())
        job.done, job.reached = done, job.reached + reached
        tally.unlink()
    if code == 0 and not hangs:
        return
    outcome.defects.append(_saved(job, core, "hang" if hangs else f"crash{abs(code)}"))
    job.done += 1
    if (left := ends - time.monotonic()) > 1:
        job.start(core, left)


def _saved(job: _Job, core: Path, kind: str) -> str:
    FOUND.mkdir(exist_ok=True)
    log = (job.folder / "stderr").read_text(errors="replace")
    path = FOUND / f"{kind}-{job.seed}-{job.done}.ptx"
    if (job.folder / "current.ptx").exists():
        shutil.copy(job.folder / "current.ptx", path)
    path.with_suffix(".txt").write_text(log[-20000:])
    if kind != "hang" and path.exists():
        minimised(core, path)
    head = next((s for s in log.splitlines() if "ERROR" in s or "runtime error" in s), "died")
    return f"{path}: {head.strip()}"


def _raised(folder: Path) -> list[str]:
    FOUND.mkdir(exist_ok=True)
    out = []
    for path in sorted(folder.glob("*.txt")):
        for file in (path, path.with_suffix(".ptx")):
            shutil.copy(file, FOUND / file.name)
        out.append(f"{FOUND / path.stem}.ptx: {path.read_text().strip().splitlines()[-1]}")
    return out
