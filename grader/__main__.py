"""The entry point of `grader` and `python -m grader`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # NumPy reads this once, when it is imported. With one thread, sums of the references are the
    # same on every machine, and no thread of NumPy competes with those of the simulator.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from grader.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
