"""All GPU tests: `make test-gpu`. The full log is kept in $OUT, or in build/.

    python -m tests.gpu [--truth FOLDER]

With --truth the ground truth is read anew: counters.json, outputs.npz, sanitizer.json and a file a
family of instructions, to be put under tests/.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from grader.gpu.device import devices

TESTS = ["-m", "pytest", "-m", "gpu", "-q", "-p", "no:cacheprovider", "tests"]


@contextmanager
def awake() -> Iterator[None]:
    """Keep the driver from shutting the GPUs down between two processes: a start takes seconds."""
    files = [os.open(device.node, os.O_RDWR | os.O_CLOEXEC) for device in devices()]
    try:
        yield
    finally:
        for file in files:
            os.close(file)


def told(command: list[str], log: TextIO) -> int:
    """Run a command of this Python; what it says goes to the terminal and to the log."""
    started = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert child.stdout is not None
    for line in child.stdout:
        print(line, end="", flush=True)
        log.write(line)
    code = child.wait()
    said = f"-- {' '.join(command[1:3])}: exit {code}, {time.perf_counter() - started:.1f} s"
    print(said, flush=True)
    log.write(said + "\n")
    return code


def main(words: list[str]) -> int:
    folder = Path(os.environ.get("OUT") or "build")
    folder.mkdir(parents=True, exist_ok=True)
    commands = [TESTS]
    if words[:1] == ["--truth"]:
        place = Path(words[1])
        place.mkdir(parents=True, exist_ok=True)
        commands = [
            ["-m", "tests.gpu.instructions", str(place)],
            ["-m", "tests.gpu.outputs", str(place / "outputs.npz")],
            ["-m", "tests.gpu.counters", str(place / "counters.json")],
            ["-m", "tests.gpu.sanitizer", str(place / "sanitizer.json")],
        ]
    with awake(), (folder / "test-gpu.log").open("w") as log:
        return max(told(command, log) for command in commands)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
