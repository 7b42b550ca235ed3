"""The entry point of `grader` and `python -m grader`."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

MACHINE = 3

ALLOCATIONS = 100_000
"""Objects that are made between two garbage collections. Python's default, 700, collects hundreds
of times while modules are imported, where next to nothing is garbage."""


GRADING = (("check",), ("batch",), ("explain",), ("replay",), ("labs", "check"))
"""The commands that call a lab's reference."""


def main() -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(ALLOCATIONS)
    # NumPy reads this once, when it is imported. With one thread, sums of the references are the
    # same on every machine, and no thread of NumPy competes with those of the simulator.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = _run(sys.argv[1:])
    gc.freeze()  # the interpreter's end would search all objects for garbage, for 0.1 s
    sys.exit(code)


def _run(words: list[str]) -> int:
    try:
        if _grades(words):
            # Forked while this process is small: later, each page that both use would be copied.
            from grader.labs.reference import prepare_process

            prepare_process()
        from grader.cli.app import run
    except (ImportError, OSError, MemoryError) as error:
        if isinstance(error, ModuleNotFoundError):  # an incomplete installation
            raise
        what = f"grader cannot start: {type(error).__name__}: {error}\n".encode(errors="replace")
        fix = b"  check the free memory of this machine and its limits (ulimit -a)\n"
        with suppress(OSError):
            os.write(2, what + fix)
        return MACHINE
    return run(words)


def _grades(words: list[str]) -> bool:
    """Whether these words of the command line call a lab's reference, as far as can be told."""
    known = any(tuple(words[: len(command)]) == command for command in GRADING)
    return known and not {"-h", "--help"} & set(words)


if __name__ == "__main__":
    main()
