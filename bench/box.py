"""python -m bench.box: the cost of the sandbox, against a plain start of the interpreter.

Measured from the call to the step's first instruction and to its reply, in milliseconds of wall
clock; the best of several runs.
"""

from __future__ import annotations

import argparse
import subprocess
import time

import numpy as np

from grader.sandbox.bubblewrap import python_executable
from grader.sandbox.call import describe_sandbox, run_sandboxed

STEP = "bench.boxstep:began"


def bare() -> tuple[float, float]:
    """The interpreter as a box starts it, with nothing to do."""
    begun = time.monotonic()
    subprocess.run([python_executable(), "-I", "-S", "-B", "-c", "pass"], check=True)
    ended = time.monotonic() - begun
    return ended, ended


def boxed(module: str = "", *, confine: bool = True, arrays: bool = False) -> tuple[float, float]:
    """Seconds to the first instruction after importing `module`, and to the answer."""
    begun = time.monotonic()
    given = {"x": np.zeros(1 << 18, np.float32)} if arrays else {}
    first = run_sandboxed(STEP, module, given, confine=confine).value
    return first - begun, time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=15)
    times = parser.parse_args().times
    rows = {
        "python alone": bare,
        "a child without a sandbox": lambda: boxed(confine=False),
        "a box": boxed,
        "a box that is given 1 MiB": lambda: boxed(arrays=True),
        "a box with the compiler's step": lambda: boxed("grader.compile.nvrtc"),
        "a box with the simulator": lambda: boxed("grader.simulator.simulate", arrays=True),
    }
    print(f"{describe_sandbox() or 'no sandbox'}\n{'':<34}{'first':>8}{'whole':>8}   x python")
    alone = 0.0
    for name, run in rows.items():
        run()
        best = [1e3 * min(column) for column in zip(*(run() for _ in range(times)), strict=True)]
        alone = alone or best[1]
        print(f"{name:<34}{best[0]:8.1f}{best[1]:8.1f}{best[1] / alone:8.1f}")


if __name__ == "__main__":
    main()
