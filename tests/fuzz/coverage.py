"""Which lines of the core the corpus, the instruction cases and the kernels of the tests run.

The core is built with gcov; child processes, one for each processor, run everything, on one thread
and on three, and each kind of run, and tests/correct as its tests do. gcov's own summary by file is
the table.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.build import counting
from tests.fuzz.corpus import Entry, entries, instructions, read

ROOT = Path(__file__).parents[2]
LEAST = 94.0
"""Percent of the core's lines that must run."""

_SUMMARY = re.compile(r"File '[^']*core/([\w./]+)'\nLines executed:([\d.]+)% of (\d+)")


def measure() -> int:
    """Prints the table; 1 when less than LEAST percent of all lines ran."""
    with tempfile.TemporaryDirectory() as place:
        path = counting(Path(place))
        parts = len(os.sched_getaffinity(0))
        command = [sys.executable, "-m", "tests.fuzz.coverage", str(path), str(parts)]
        # gcov adds what one process counts to what others have written.
        children = [subprocess.Popen([*command, str(n)], cwd=ROOT) for n in range(parts)]
        codes = [child.wait() for child in children]
        if any(codes):
            return 1
        rows = table(Path(place))
    for name, (percent, lines) in sorted(rows.items()):
        print(f"{name:<40}{percent:7.1f} %  of {lines}")
    total = sum(lines for _, lines in rows.values())
    covered = sum(percent * lines for percent, lines in rows.values()) / total
    print(f"{'the core':<40}{covered:7.1f} %  of {total}")
    return 0 if covered >= LEAST else 1


def table(folder: Path) -> dict[str, tuple[float, int]]:
    """Percent and number of lines, by file, of a folder of gcov's data."""
    data = [str(path) for path in sorted(folder.rglob("*.gcda"))]
    command = ["gcov", "--no-output", *data]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    matches = _SUMMARY.findall(done.stdout)
    return {name: (float(percent), int(lines)) for name, percent, lines in matches}


def watched(part: slice) -> Iterator[Entry]:
    """A part of tests/watch and the fuzzer's own kernels, both variants of each."""
    from grader.compile.source import compile_source

    folders = "tests/watch/*/*.cu", "tests/fuzz/kernels/*.cu"
    for path in [path for folder in folders for path in sorted(ROOT.glob(folder))][part]:
        text = path.read_text()
        spec = read(text)
        threads = spec.block[0] * spec.block[1] * spec.block[2]
        if not 0 < threads <= 1024 or spec.grid[1] > 9 or spec.shared > 48 << 10:
            continue
        program = compile_source(text.encode(), path.name)
        yield Entry(path.stem, program.debug_ptx, spec)
        yield Entry(path.stem, program.ptx, spec)


def run(core_path: Path, part: slice) -> None:
    """Executes a part of everything on the core at `core_path`."""
    from tests.cukernel import cases
    from tests.fuzz.execute import USUAL, WAYS, execute, use

    core = use(core_path)
    for entry in (*[*entries(), *instructions()][part], *watched(part)):
        for threads, kind in WAYS:
            steps = 100_000 if kind == USUAL else 20_000
            how = {"threads": threads, "steps": steps, "measured": threads == 1, "kind": kind}
            execute(entry.text, entry.spec, core, **how)  # type: ignore[arg-type]
    for path in sorted(ROOT.glob("tests/correct/*.cu"))[part]:
        for case in cases(path):
            case.trace("optimised")


if __name__ == "__main__":
    run(Path(sys.argv[1]), slice(int(sys.argv[3]), None, int(sys.argv[2])))
