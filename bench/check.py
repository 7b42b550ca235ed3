"""python -m bench.check: the command `grader check --on sim`: cold and warm cache, start, memory.

Wall time of the whole command, the best of several runs. "Cold" is the first check of a lab, which
measures its baseline and its quiz, too; "changed" is the next one, of a file that was edited.
Memory is the peak of the command and its children together, sampled.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from bench.table import print_table

ROOT = Path(__file__).parent.parent
LAB = "tiled-matmul"
FILE = ROOT / "solutions" / LAB / f"{LAB}.cu"
PAGE = os.sysconf("SC_PAGE_SIZE")


def command(*words: str, cache: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": cache, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


def timed(*words: str, cache: str, expected: int = 0) -> float:
    """Wall seconds of one command."""
    begun = time.perf_counter()
    code = command(*words, cache=cache).wait()
    if code != expected:
        sys.exit(f"bench.check: {' '.join(words)} ended with {code}")
    return time.perf_counter() - begun


def peak(*words: str, cache: str) -> float:
    """MiB that one command and its children hold together, at most; shared pages by their share."""
    process = command(*words, cache=cache)
    most = 0
    while process.poll() is None:
        most = max(most, sum(proportional(pid) for pid in tree(process.pid)))
        time.sleep(0.005)
    return most / 1024


def tree(root: int) -> list[int]:
    """A process and all below it, without what ends meanwhile."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        with suppress(OSError):
            for listed in Path(f"/proc/{pid}/task").glob("*/children"):
                waiting += map(int, listed.read_text().split())
    return found


def proportional(pid: int) -> int:
    """KiB of a process, shared pages divided among those that share them; its whole resident size
    where that may not be read; 0 when it is gone.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    except (OSError, StopIteration):
        pass
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE // 1024
    except (OSError, IndexError):
        return 0


def main(times: int = 5) -> None:
    """Print the table."""
    on = ("--on", "sim")
    check = ("-m", "grader", "check", LAB, str(FILE), *on)
    cold, changed = [], []
    for number in range(times):
        with tempfile.TemporaryDirectory() as empty:
            cold.append(timed(*check, cache=empty))
            edited = Path(empty) / FILE.name
            loop = f"n / TILE && n != {7 + 16 * number};"  # other code, the same outputs
            edited.write_text(FILE.read_text().replace("n / TILE;", loop))
            changed.append(timed("-m", "grader", "check", LAB, str(edited), *on, cache=empty))
    with tempfile.TemporaryDirectory() as cache:
        timed(*check, cache=cache)
        warm = min(timed(*check, cache=cache) for _ in range(times))
        memory = peak(*check, cache=cache)
        start = min(timed("-m", "grader", "--help", cache=cache) for _ in range(times))
        bare = min(timed("-c", "pass", cache=cache) for _ in range(times))
    rows = (
        ("check, cold cache", f"{min(cold):.2f} s", "0.9 s", min(cold) <= 0.9),
        ("check, changed file", f"{min(changed):.2f} s", "0.9 s", min(changed) <= 0.9),
        ("check, warm cache", f"{warm:.2f} s", "0.3 s", warm <= 0.3),
        ("cold / warm", f"{min(cold) / warm:.2f}x", "", True),
        ("grader --help", f"{start:.2f} s", "0.3 s", start <= 0.3),
        ("python alone", f"{bare:.2f} s", "", True),
        ("peak memory, warm", f"{memory:.0f} MiB", "400 MiB", memory <= 400),
    )
    print(f"{'what':<24} {'measured':>10}   goal")
    print_table(rows)


if __name__ == "__main__":
    main()
