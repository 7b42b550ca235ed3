"""Inject faults into grading and report the violations: python -m tests.faults --count 300."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.injection import (
    CALLS,
    COMMANDS,
    SIGNALED,
    SIGNALS,
    SUBMISSIONS,
    Injection,
    Result,
    Workplace,
    strace_problem,
)

WHENS = (1, 2, 3, 4, 5, 7, 9, 12, 16, 22, 30, 45, 70, 110, 180, 300)


def injections(count: int, seed: int) -> Iterator[Injection]:
    """Yield faults: every call with every error before any pair comes again, in random order."""
    choose = random.Random(seed)
    pairs = [(call, fault) for call, faults in CALLS.items() for fault in faults]
    pairs += [(call, number) for call in SIGNALED for number in SIGNALS]
    made: set[Injection] = set()
    while len(made) < count:
        for call, fault in choose.sample(pairs, len(pairs)):
            command, submission = choose.choice(COMMANDS), choose.choice(list(SUBMISSIONS))
            one = Injection(command, submission, call, fault, choose.choice(WHENS))
            if one not in made and len(made) < count:
                made.add(one)
                yield one


def table(results: Sequence[Result]) -> str:
    """Return the number of runs by call and fault, and how they ended."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for result in results:
        row = rows.setdefault((result.injection.call, result.injection.fault), Counter())
        row["runs"] += 1
        row["violation" if result.violations else result.outcome] += 1
    columns = ("runs", "same", "error", "killed", "violation")
    lines = [f"{'call':14} {'fault':8} " + " ".join(f"{c:>9}" for c in columns)]
    for (call, fault), row in sorted(rows.items()):
        lines.append(f"{call:14} {fault:8} " + " ".join(f"{row[c]:9}" for c in columns))
    total = sum(rows.values(), Counter())
    lines.append(f"{'all':14} {'':8} " + " ".join(f"{total[c]:9}" for c in columns))
    return "\n".join(lines)


def run(count: int, seed: int, jobs: int, folder: Path) -> list[Result]:
    """Run so many injections; print each violation when it is found."""
    place, lock = Workplace(folder), threading.Lock()

    def one(numbered: tuple[int, Injection]) -> Result:
        number, injection = numbered
        result = place.run(injection, f"run-{number}")
        with lock:
            for violation in result.violations:
                print(f"{injection}\n  {violation}\n  {result.text.strip()[-3000:]}", flush=True)
        return result

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, enumerate(injections(count, seed))))


def main() -> int:
    """Run the command; 1 when a rule is broken, 2 when faults cannot be injected here."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="injections")
    parser.add_argument("--seed", type=int, default=1, help="of their order")
    parser.add_argument("--jobs", type=int, default=2, help="injections at a time")
    options = parser.parse_args()
    if problem := strace_problem():
        print(problem, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="warpgrade-faults-") as folder:
        results = run(options.count, options.seed, options.jobs, Path(folder))
    print(table(results))
    return int(any(result.violations for result in results))


if __name__ == "__main__":
    sys.exit(main())
