"""All GPU tests: `make test-gpu`. The full log is kept in $OUT, or in build/.

    python -m tests.gpu [--truth FOLDER | PYTEST ARGUMENTS]

Tests run in several processes, each with a lock folder of its own, so that their launches share
the GPU; then, by itself, whatever is marked `alone` because it measures time.

With --truth the ground truth is read anew: counters.json, outputs.npz, sanitizer.json and a file a
family of instructions, to be put under tests/.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO

from grader.gpu.devices import devices
from tests.gpu.share import REPORTS
from tests.gpu.table import failures, read, table

MOST = 12
"""Processes at once: each holds a context of half a gigabyte on the GPU."""

PYTEST = ["-m", "pytest", "-p", "tests.gpu.share", "-q", "-p", "no:cacheprovider"]
NOTHING_RAN = 5
STOPPED = 130


@contextmanager
def awake() -> Iterator[None]:
    """Keep the driver from shutting the GPUs down between two processes: a start takes seconds."""
    files = [os.open(device.node, os.O_RDWR | os.O_CLOEXEC) for device in devices()]
    try:
        yield
    finally:
        for file in files:
            os.close(file)


def say(text: str, log: TextIO) -> None:
    """To the terminal and to the log."""
    print(text, flush=True)
    print(text, file=log, flush=True)


def tested(words: list[str], log: TextIO) -> int:
    """Run the tests, tell how each went, and end with the table."""
    started = time.perf_counter()
    places = words or ["tests/gpu"]
    with tempfile.TemporaryDirectory(prefix="warpgrade-tests-") as name:
        shared = Path(name)
        cores = len(os.sched_getaffinity(0))
        try:
            several = min(MOST, cores - 1 or 1)
            codes = shares(shared, ["-m", "gpu and not alone", *places], several, log)
            codes += shares(shared, ["-m", "gpu and alone", *places], 1, log)
        except KeyboardInterrupt:
            say("stopped; what follows is what was done until then", log)
            codes = [STOPPED]
        reports = read(shared / REPORTS)
    log.writelines(f"{r.outcome:<8}{r.seconds:8.2f} s  {r.test}\n" for r in reports)
    for words_of_one in failures(reports):
        say(words_of_one, log)
    for line in table(reports):
        say(line, log)
    say(f"{len(reports)} tests in {time.perf_counter() - started:.0f} s; log: {log.name}", log)
    return max([0, *(code for code in codes if code != NOTHING_RAN)]) if reports else NOTHING_RAN


def shares(folder: Path, arguments: list[str], count: int, log: TextIO) -> list[int]:
    """Run the tests that `arguments` select in `count` processes; their exit codes."""
    children = []
    for number in range(count):
        own = folder / f"{arguments[1]}-{number}".replace(" ", "-")
        own.mkdir()
        command = [sys.executable, *PYTEST, "--shared", str(folder), *arguments]
        children.append(_child(command, own))
    try:
        codes = [child.wait() for child in children]
    finally:
        for child in children:
            child.terminate()
    for number, child in enumerate(children):
        text = (folder / f"{arguments[1]}-{number}".replace(" ", "-") / "said").read_text()
        log.write(f"-- {' '.join(child.args[1:])}: exit {child.returncode}\n{text}")  # type: ignore[arg-type]
        if child.returncode not in (0, 1, NOTHING_RAN):
            say(text, log)
    return codes


def _child(command: list[str], own: Path) -> subprocess.Popen[bytes]:
    """A process whose folder for temporary files, and so whose GPU locks, are its own."""
    with (own / "said").open("wb") as said:
        variables = {**os.environ, "TMPDIR": str(own)}
        return subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=variables)


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
        say(line.rstrip("\n"), log)
    code = child.wait()
    say(f"-- {' '.join(command[1:3])}: exit {code}, {time.perf_counter() - started:.1f} s", log)
    return code


def truth(place: Path, log: TextIO) -> int:
    """Read the ground truth anew into the folder `place`."""
    place.mkdir(parents=True, exist_ok=True)
    commands = [
        ["-m", "tests.gpu.instructions", str(place)],
        ["-m", "tests.gpu.outputs", str(place / "outputs.npz")],
        ["-m", "tests.gpu.counters", str(place / "counters.json")],
        ["-m", "tests.gpu.sanitizer", str(place / "sanitizer.json")],
    ]
    return max(told(command, log) for command in commands)


def interrupt(signum: int, frame: FrameType | None) -> NoReturn:
    """A time limit's SIGTERM ends the run as Ctrl-C does: with the table of what was done."""
    raise KeyboardInterrupt


def main(words: list[str]) -> int:
    signal.signal(signal.SIGTERM, interrupt)
    folder = Path(os.environ.get("OUT") or "build")
    folder.mkdir(parents=True, exist_ok=True)
    with awake(), (folder / "test-gpu.log").open("w") as log:
        return truth(Path(words[1]), log) if words[:1] == ["--truth"] else tested(words, log)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
