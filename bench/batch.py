"""python -m bench.batch: a class of 300 through `grader batch` on the simulator, cold, then again.

    python -m bench.batch [--count N] [--jobs J] [--keep DIR]

The class consists of the lab's solution and its incorrect variants. Each submission has a different
text, so that each is compiled and simulated. Memory is the peak of the command and all its
children, with shared pages counted proportionally.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.check import ROOT, proportional, tree
from bench.table import print_table

LAB = "tiled-matmul"
ANSWERS = ROOT / "solutions" / LAB
SAMPLE = 0.25
"""Seconds between two looks at the memory."""


def made_class(folder: Path, count: int) -> list[Path]:
    """`count` submissions that all differ: the solution and its incorrect variants
    in turn, each with a line of its own at its end.
    """
    right, wrong = ANSWERS / f"{LAB}.cu", sorted((ANSWERS / "wrong").glob("*.cu"))
    files = []
    for number in range(count):
        source = right if number % 2 == 0 else wrong[number // 2 % len(wrong)]
        files.append(folder / f"s{number:03}.cu")
        files[-1].write_text(f"{source.read_text()}// submitted by s{number:03}\n")
    return files


def batch(folder: Path, cache: Path, jobs: int, out: Path) -> tuple[float, float]:
    """Wall seconds of one run of the command, and the MiB that it held at most."""
    words = ["-m", "grader", "batch", LAB, str(folder), "--on", "sim"]
    words += ["--jobs", str(jobs)] if jobs else []
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *words, "--json", str(out)],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    most = 0
    while process.poll() is None:
        most = max(most, sum(proportional(pid) for pid in tree(process.pid)))
        time.sleep(SAMPLE)
    if process.returncode != 1:  # incorrect variants fail
        sys.exit(f"bench.batch: the command ended with {process.returncode}")
    return time.perf_counter() - begun, most / 1024


def stored(out: Path) -> list[tuple[str, float]]:
    """Who has which score by a run's JSON."""
    grades = json.loads(out.read_text())["grades"]
    return [(grade["student"], grade["score"]) for grade in grades]


def main(words: Sequence[str]) -> int:
    """Print the table; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="bench.batch")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=0, help="0: as many as the command has")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="warpgrade-bench-") as name:
        place = Path(name)
        folder = place / "class"
        folder.mkdir()
        made_class(folder, asked.count)
        cold, memory = batch(folder, place / "cache", asked.jobs, place / "first.json")
        again, _ = batch(folder, place / "cache", asked.jobs, place / "second.json")
        first, second = stored(place / "first.json"), stored(place / "second.json")
    goal = 60 * asked.count / 300
    rows = (
        (f"{asked.count} submissions, cold", f"{cold:.1f} s", f"{goal:g} s", cold <= goal),
        ("each", f"{1000 * cold / asked.count:.0f} ms", "", True),
        ("peak memory", f"{memory:.0f} MiB", "600 MiB", memory <= 600),
        ("again", f"{again:.2f} s", "3 s", again < 3),
        ("graded", f"{len(first)}", f"{asked.count}", len(first) == asked.count),
        ("the same again", f"{first == second}", "True", first == second),
    )
    return int(not print_table(rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
