"""python -m bench.sandbox: the cost of the sandbox, compared with a plain interpreter start.

Times are from the call to the child's first instruction and to its reply, in milliseconds of wall
clock; the best of several runs.
"""

from __future__ import annotations

import argparse
import subprocess
import time

import numpy as np

from grader.sandbox.bubblewrap import python_executable
from grader.sandbox.call import describe_sandbox, run_sandboxed

CHILD_FUNCTION = "bench.sandbox_child:start_time"


def interpreter() -> tuple[float, float]:
    """Start the interpreter as the sandbox does, with nothing to do."""
    begun = time.monotonic()
    subprocess.run([python_executable(), "-I", "-S", "-B", "-c", "pass"], check=True)
    ended = time.monotonic() - begun
    return ended, ended


def sandboxed(
    module: str = "", *, confine: bool = True, arrays: bool = False
) -> tuple[float, float]:
    """Measure the seconds to the first instruction after importing `module`, and to the reply."""
    begun = time.monotonic()
    given = {"x": np.zeros(1 << 18, np.float32)} if arrays else {}
    first = run_sandboxed(CHILD_FUNCTION, module, given, confine=confine).value
    return first - begun, time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=15)
    times = parser.parse_args().times
    rows = {
        "only Python": interpreter,
        "a child without a sandbox": lambda: sandboxed(confine=False),
        "a sandbox": sandboxed,
        "a sandbox with 1 MiB of arrays": lambda: sandboxed(arrays=True),
        "a sandbox with the compiler": lambda: sandboxed("grader.compile.nvrtc"),
        "a sandbox with the simulator": lambda: sandboxed("grader.simulator.simulate", arrays=True),
    }
    print(f"{describe_sandbox() or 'no sandbox'}\n{'':<34}{'first':>8}{'whole':>8}   x python")
    baseline = 0.0
    for name, run in rows.items():
        run()
        best = [1e3 * min(column) for column in zip(*(run() for _ in range(times)), strict=True)]
        baseline = baseline or best[1]
        print(f"{name:<34}{best[0]:8.1f}{best[1]:8.1f}{best[1] / baseline:8.1f}")


if __name__ == "__main__":
    main()
