"""python -m bench.editor: from a save to the result in `grader check --watch`, of a correct kernel.

Wall time from the rename that saves the file to the line that ends the result, and the processor
time that the command uses while it waits.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from bench.check import LAB, ROOT, tree
from bench.table import print_table

SOLUTION = (ROOT / "solutions" / LAB / f"{LAB}.cu").read_text()
GOAL = 0.5
WAITING = "grader: waiting for changes of"
IDLE_SECONDS = 5.0


def save(file: Path, text: str) -> float:
    """Save as most editors do, and return the time of it."""
    other = file.with_suffix(".tmp")
    other.write_text(text)
    begun = time.perf_counter()
    other.replace(file)
    return begun


def read_result(lines: IO[str]) -> None:
    """Read up to the end of a result, which has to be a grade."""
    for line in lines:
        if "incomplete" in line:
            break
        if line.startswith(WAITING):
            return
    sys.exit("bench.editor: the command did not grade")


def processor_seconds(pid: int) -> float:
    """Seconds of processor time of a process and all below it, of those that still run."""
    total = 0
    for one in tree(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def main(times: int = 15) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.cu"
        file.write_text(SOLUTION)
        command = [sys.executable, "-m", "grader", "check", LAB, str(file), "--watch"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            read_result(process.stdout)
            seconds = []
            for number in range(times):
                begun = save(file, f"{SOLUTION}// {number} {time.time_ns()}\n")
                read_result(process.stdout)
                seconds.append(time.perf_counter() - begun)
            used = processor_seconds(process.pid)
            time.sleep(IDLE_SECONDS)
            idle = (processor_seconds(process.pid) - used) / IDLE_SECONDS
            process.terminate()
    middle, most = statistics.median(seconds), max(seconds)
    rows = (
        ("save to result, median", f"{middle:.2f} s", f"{GOAL:g} s", middle <= GOAL),
        ("save to result, slowest", f"{most:.2f} s", "", True),
        ("while it waits", f"{idle:.1%} of a core", "1 %", idle <= 0.01),
    )
    print(f"{'what':<24} {'measured':>10}   goal")
    print_table(rows)


if __name__ == "__main__":
    main()
