"""`grader`, and `python -m grader`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # For NumPy, which reads it once, when it is imported: the oracles' sums are the same on every
    # machine, and no thread of it spins beside the simulator's.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from grader.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
