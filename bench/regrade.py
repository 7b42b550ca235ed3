"""python -m bench.regrade [N [LAB [ROW]...]]: one file graded N times for speed on this GPU.

The thresholds are put around the solution's own speedup, so that it lies exactly at one of them, or
2 % above or below it. Each row has N gradings by the product's own code: how many fail, how many
are for a person to look at, and how far the shares of the points lie apart.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from grader.check.result import Evidence, Verdict
from grader.check.speed import TIMED, Options, judge
from grader.check.suite import plan as checks_of
from grader.compile.source import compile_source
from grader.lab import Band, Case, Lab
from grader.labfile.spec import load_lab
from grader.run import time_kernel
from grader.speed.speedup import estimate
from grader.speed.timing import TimingPlan
from grader.speed.verifier import verifier
from grader.timed import timing_plan, timings

WIDE = 1.12
"""full over minimum, as in most labs."""

ROWS: Mapping[str, tuple[float, float]] = {
    "minimum-under": (1 / 0.98, WIDE / 0.98),
    "minimum": (1.0, WIDE),
    "minimum-over": (1 / 1.02, WIDE / 1.02),
    "full-under": (1 / 0.98 / WIDE, 1 / 0.98),
    "full": (1 / WIDE, 1.0),
    "full-over": (1 / 1.02 / WIDE, 1 / 1.02),
}
"""Where the solution lies, and minimum and full over its speedup."""


@dataclass(frozen=True)
class Subject:
    """A lab's solution, compiled, and how it is timed."""

    lab: Lab
    options: Options
    case: Case
    evidence: Evidence
    plan: TimingPlan


def subject(name: str) -> Subject:
    lab = load_lab(name)
    options = next(c.options for c in checks_of(lab) if isinstance(c.options, Options))
    case = Case(TIMED, options.dims, options.kind)
    program = compile_source(lab.solution.read_bytes(), lab.solution.name)
    plan = timing_plan(lab, case, options, Band(options.minimum, options.full), b"")
    return Subject(lab, options, case, Evidence(lab, program, (), "gpu"), plan)


def gradings(of: Subject, device: str, band: Band, count: int) -> Iterator[Verdict]:
    """So many gradings with these thresholds."""
    lab = replace(of.lab, bands={device: band})
    plan = replace(of.plan, minimum=band.minimum, full=band.full)
    for _ in range(count):
        evidence = replace(of.evidence, lab=lab)
        yield judge(of.options, replace(evidence, timings=timings(evidence, of.case, plan)))


def row(name: str, seen: list[Verdict], seconds: float) -> str:
    ratios = [verdict.measurements["speedup"] for verdict in seen]
    shares = [verdict.share for verdict in seen]
    counts = f"{sum(v.status == 'fail' for v in seen):>6}" + (
        f"{sum('review' in v.measurements for v in seen):>8}"
    )
    return (
        f"{name:<15}{counts}{min(ratios):>9.4f}{max(ratios):>9.4f}"
        f"{100 * (max(shares) - min(shares)):>16.2f}{seconds / len(seen):>8.1f}"
    )


def main(words: list[str]) -> int:
    count = int(words[0]) if words else 100
    of = subject(words[1] if len(words) > 1 else "tiled-matmul")
    exact = replace(of.plan, least=1000, most=1000, budget=15.0)
    first = time_kernel(of.evidence.program, exact, verifier(of.lab, of.case))
    truth = estimate(first.ratios)
    print(
        f"{of.lab.name} on {first.device}: speedup {truth.ratio:.4f} ({truth.low:.4f} to "
        f"{truth.high:.4f}), one pair's sigma {100 * truth.sigma:.2f} %; {count} gradings a row"
    )
    print(
        f"{'it lies at':<15}{'fail':>6}{'review':>8}{'lowest':>9}{'highest':>9}"
        f"{'points apart %':>16}{'s each':>8}"
    )
    for name in words[2:] or ROWS:
        low, high = (edge * truth.ratio for edge in ROWS[name])
        began = time.monotonic()
        seen = list(gradings(of, first.device, Band(low, high), count))
        print(row(name, seen, time.monotonic() - began), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
