"""Inject faults into grading and report the violations: python -m tests.faults --count 300."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.injection import Injection, Result, injections, table
from tests.faults.tracing import strace_problem
from tests.faults.workplace import Workplace


def run(count: int, seed: int, jobs: int, folder: Path, seconds: float) -> list[Result]:
    """Run so many injections, or as many as begin in so many seconds.

    Each violation is printed when it is found.
    """
    folder.chmod(0o755)  # sandboxed steps run as another user
    place, lock = Workplace(folder / "course"), threading.Lock()
    done: list[Result] = []
    deadline = time.monotonic() + seconds

    def one(numbered: tuple[int, Injection]) -> None:
        number, injection = numbered
        if time.monotonic() > deadline:
            return
        result = place.run(injection, f"run-{number}")
        with lock:
            done.append(result)
            for violation in result.violations:
                print(f"{injection}\n  {violation}\n  {result.text.strip()[-3000:]}", flush=True)
            if len(done) % 50 == 0:
                wrong = sum(bool(each.violations) for each in done)
                print(f"{len(done)} of {count}: {wrong} with violations", file=sys.stderr)

    try:
        print("counting the calls of each process", file=sys.stderr)
        chosen = list(injections(count, seed, place.counts(), place.submissions))
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(one, enumerate(chosen)))
        return done
    finally:
        place.close()


def main() -> int:
    """Run the command; 1 when a rule is broken, 2 when faults cannot be injected here."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="injections")
    parser.add_argument("--seed", type=int, default=1, help="of their order")
    parser.add_argument("--jobs", type=int, default=2, help="injections at a time")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no injection after")
    options = parser.parse_args()
    if problem := strace_problem():
        print(problem, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="warpgrade-faults-") as folder:
        results = run(options.count, options.seed, options.jobs, Path(folder), options.seconds)
    print(table(results))
    return int(any(result.violations for result in results))


if __name__ == "__main__":
    sys.exit(main())
