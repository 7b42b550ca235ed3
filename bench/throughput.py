"""python -m bench.throughput: submissions per minute on this machine's GPUs, also hostile ones.

    python -m bench.throughput [--jobs J] [--count N] [--gpus G...] [--hostile]

J processes grade N submissions of tiled-matmul with different texts, so that each is compiled and
simulated while others use the GPU. With --hostile, N honest submissions are graded alone and then
among N / 2 hostile ones of tests/: the grades must be the same. --gpus uses only the first G GPUs;
with several numbers it compares them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from grader.feedback.grade import grade
from grader.gpu import launches, timing
from grader.gpu.devices import Device, acquire_device, devices, missing_requirement
from grader.labs.reading import load_lab
from grader.submissions.files import read_submission

ROOT = Path(__file__).parent.parent
LAB = "tiled-matmul"
SOLUTION = ROOT / "solutions" / LAB / f"{LAB}.cu"
HOSTILE = ("tests/attacks/gpu", "tests/cheats/speed")
LIMIT = 2.0


@dataclass(frozen=True)
class Graded:
    """One submission's grade in short: its score and what each check said; its seconds."""

    name: str
    points: float
    checks: tuple[tuple[str, str], ...]
    seconds: float
    acquire_device: float


def graded(path: Path) -> Graded:
    """Grade one file with all cases on a GPU, and say how long it had the GPU."""
    began = time.perf_counter()
    spans: list[float] = []
    with (
        patch.object(launches, "acquire_device", watched(spans)),
        patch.object(timing, "acquire_device", watched(spans)),
    ):
        got = grade(
            load_lab(LAB), read_submission(path), on="gpu", visibility="all", threads=2, limit=LIMIT
        )
    checks = tuple((check.name, check.status) for check in got.checks)
    took = time.perf_counter() - began
    return Graded(path.stem, got.score.points, checks, took, sum(spans))


def watched(spans: list[float]) -> Any:
    """`held`, whose time from the lock to its release is added to `spans`."""

    @contextmanager
    def holding(found: Sequence[Device]) -> Iterator[Device]:
        with acquire_device(found) as device:
            began = time.perf_counter()
            try:
                yield device
            finally:
                spans.append(time.perf_counter() - began)

    return holding


def run(files: Sequence[Path], jobs: int) -> tuple[list[Graded], float]:
    """All of them, `jobs` at a time, and the wall time in seconds."""
    began = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        grades = []
        for one in pool.map(graded, files):
            grades.append(one)
            print(
                f"  {one.name:<30} {one.points:5g} points in {one.seconds:5.1f} s, "
                f"the GPU held {one.held:4.1f} s",
                flush=True,
            )
    return grades, time.perf_counter() - began


def copies(folder: Path, tag: str, count: int) -> list[Path]:
    """The solution in `count` texts that no cache knows."""
    text = SOLUTION.read_text()
    files = [folder / f"{tag}-{number:03}.cu" for number in range(count)]
    for file in files:
        file.write_text(f"{text}// {file.stem} {os.getpid()}\n")
    return files


def hostile() -> Iterator[Path]:
    """The corpus, over and over, its controls left out."""
    every = sorted(path for place in HOSTILE for path in (ROOT / place).glob("*.cu"))
    return cycle(path for path in every if path.stem not in ("honest", "wrong"))


def mixed(honest: Sequence[Path], bad: Sequence[Path]) -> list[Path]:
    """A hostile one after every second honest one."""
    found: list[Path] = []
    left = iter(bad)
    for number, path in enumerate(honest):
        found += [path, *islice(left, number % 2)]
    return [*found, *left]


def compared(folder: Path, jobs: int, count: int) -> int:
    """Honest grades without and with hostile company; how many differ."""
    files = copies(folder, "honest", count)
    alone, quiet = run(files, jobs)
    again = copies(folder, "honest", count)
    bad = list(islice(hostile(), 0, 2 * count, 4))
    together, loud = run(mixed(again, bad), jobs)
    graded = {one.name: one for one in together}
    changed = [a for a in alone if verdict(a) != verdict(graded[a.name])]
    print(f"{count} honest alone: {quiet:.1f} s, {spread(alone)}")
    print(f"with {len(bad)} hostile: {loud:.1f} s, {spread([graded[a.name] for a in alone])}")
    print(f"{len(changed)} honest grades differ")
    for one in changed:
        print(f"  {one.name}: {one.points:g}, then {graded[one.name].points:g}")
    return len(changed)


def verdict(one: Graded) -> tuple[float, tuple[tuple[str, str], ...]]:
    return one.points, one.checks


def spread(grades: Sequence[Graded]) -> str:
    points = sorted(one.points for one in grades)
    return f"points {points[0]:g} to {points[-1]:g}"


def measured(folder: Path, gpus: int, jobs: int, count: int) -> float:
    """Submissions a minute on so many GPUs."""
    grades, seconds = run(copies(folder, f"honest-{gpus}", count), jobs)
    each, holding = (median(getattr(one, what) for one in grades) for what in ("seconds", "held"))
    rate = 60 * count / seconds
    print(
        f"{count} submissions on {gpus} GPU(s) with {jobs} jobs in {seconds:.1f} s: {rate:.1f} a "
        f"minute, median {each:.1f} s each, the GPU held {holding:.1f} s, {spread(grades)}"
    )
    return rate


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.throughput")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--gpus", type=int, nargs="+", default=[len(devices())])
    parser.add_argument("--hostile", action="store_true")
    asked = parser.parse_args(words)
    if (missing := missing_requirement()) is not None:
        sys.exit(f"bench.throughput: {missing}")
    rates: list[float] = []
    with _folder() as name:
        folder = Path(name)
        graded(SOLUTION)  # what a driver and a toolkit are asked once
        for gpus in asked.gpus:
            with ExitStack() as stack:
                for other in others(gpus):
                    stack.enter_context(acquire_device([other]))
                if asked.hostile:
                    return min(compared(folder, asked.jobs, asked.count), 1)
                rates.append(measured(folder, gpus, asked.jobs, asked.count))
    for gpus, rate in zip(asked.gpus[1:], rates[1:], strict=True):
        print(f"{gpus} GPUs: {rate / rates[0]:.2f} times as many as {asked.gpus[0]}")
    return 0


def others(count: int) -> tuple[Device, ...]:
    return devices()[count:]


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="warpgrade-bench-")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
