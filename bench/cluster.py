"""python -m bench.cluster: a Dask cluster on this machine: two workers against one, and overhead.

    python -m bench.cluster [--count N]

Scheduler and workers are separate processes; a worker has one thread, and a submission is graded
with one simulator thread. Overhead is the time of an empty task from submission to result, one at a
time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.batch import LAB, made_class
from bench.table import print_table
from grader.batch.cluster import DaskRunner, connect
from grader.batch.task import BatchOptions, Task
from grader.labs.reading import load_lab
from tests.batch.dask_cluster import Cluster, cluster

IDLE = Task(0, "nobody", "nothing.cu", b"")


def run(runner: DaskRunner, tasks: Sequence[Task], at_a_time: int) -> float:
    """Wall seconds until all have been answered, so many of them under way at a time."""
    begun = time.perf_counter()
    sent = done = 0
    while done < len(tasks):
        while sent < len(tasks) and sent - done < at_a_time:
            runner.submit(tasks[sent])
            sent += 1
        done += runner.next(1) is not None
    return time.perf_counter() - begun


def fresh(folder: Path, first: int, count: int) -> list[Task]:
    """Submissions that no cache knows."""
    files = made_class(folder, first + count)[first:]
    return [Task(n, f.stem, f.name, f.read_bytes()) for n, f in enumerate(files, start=first)]


def measured(found: Cluster, folder: Path, count: int) -> tuple[float, float, float]:
    """Seconds a task of nothing, and of `count` submissions on one worker and on two."""
    lab = load_lab(LAB)
    runner = DaskRunner(connect(found.address), lab, BatchOptions())
    run(runner, fresh(folder, 0, 2), 1)  # what a worker loads once
    one = run(runner, fresh(folder, 2, count), 1)
    idle = DaskRunner(connect(found.address), lab, BatchOptions())
    assert idle._plugin is not None
    idle._plugin.problem = "does nothing"
    idle._client.register_plugin(idle._plugin)
    overhead = run(idle, [IDLE] * 100, 1) / 100
    idle.close()
    found.add()
    runner._client.wait_for_workers(2, timeout=60)
    run(runner, fresh(folder, 2 + count, 4), 2)
    two = run(runner, fresh(folder, 6 + count, count), 2)
    runner.close()
    return overhead, one, two


def main(words: Sequence[str]) -> int:
    """Print the table; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="bench.cluster")
    parser.add_argument("--count", type=int, default=30)
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="warpgrade-bench-") as name:
        folder = Path(name) / "class"
        folder.mkdir()
        with cluster(Path(name), [()]) as found:
            overhead, one, two = measured(found, folder, asked.count)
    rows = (
        ("overhead a task", f"{1000 * overhead:.1f} ms", "20 ms", overhead <= 0.02),
        (f"{asked.count} on one worker", f"{one:.1f} s", "", True),
        (f"{asked.count} on two", f"{two:.1f} s", "", True),
        ("two beside one", f"{one / two:.2f}x", "1.7x", one / two >= 1.7),
    )
    return int(not print_table(rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
