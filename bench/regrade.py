"""python -m bench.regrade [N] [--lab LAB] [--gpu K] [--to FILE | --from FILE...]: repeated grades.

The thresholds are placed around the solution's speedup, so that it lies exactly at one of them, or
2 % above or below it. Each row is N gradings: how many fail, how many need review,
and how much the shares of the points differ.

A measurement takes seconds, so all rows share them: each measurement takes the maximum number of
pairs, and for a row it ends where that row's thresholds would have ended it. A doubtful measurement
is repeated: the next one counts. The speed check evaluates the result. --to saves the pairs of each
measurement; --from evaluates saved pairs and needs no GPU. Files of several GPUs are evaluated each
around its own speedup, and added up.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from unittest.mock import patch

from grader.checks.result import Evidence, Verdict
from grader.checks.speed import TIMED, Options, evaluate
from grader.checks.suite import plan as checks_of
from grader.compile.source import compile_source
from grader.gpu import timing as measure
from grader.gpu.devices import devices
from grader.gpu.speedup import (
    LOOK_INTERVAL,
    MIN_RATIOS,
    Pair,
    Timing,
    TimingPlan,
    estimate,
    is_settled,
)
from grader.gpu.timing import time_kernel
from grader.grading.timing import MAX_ATTEMPTS, is_doubtful, timing_plan, verifier
from grader.labs.model import Band, Case, Lab
from grader.labs.reading import load_lab

WIDE = 1.12
"""full over minimum: as narrow a band as a calibration proposes."""

ROWS: Mapping[str, tuple[float, float]] = {
    "2 % under minimum": (1 / 0.98, WIDE / 0.98),
    "at minimum": (1.0, WIDE),
    "2 % over minimum": (1 / 1.02, WIDE / 1.02),
    "2 % under full": (1 / 0.98 / WIDE, 1 / 0.98),
    "at full": (1 / WIDE, 1.0),
    "2 % over full": (1 / 1.02 / WIDE, 1 / 1.02),
}
"""Where the solution lies, and minimum and full over its speedup."""

JOBS = 3
"""Measurements at a time: one has the GPU, the others' outputs are verified."""


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


def measurements(of: Subject, count: int) -> Iterator[Timing]:
    """So many, each with as many pairs as one may have. Exits when one finds something wrong."""
    plan = replace(of.plan, least=of.plan.most, minimum=1e-3, full=2e-3)
    verify = verifier(of.lab, of.case)
    with ThreadPoolExecutor(JOBS) as pool:
        asked = [pool.submit(time_kernel, of.evidence.program, plan, verify) for _ in range(count)]
        for one in asked:
            timing = one.result()
            if timing.findings:
                sys.exit(f"bench.regrade: {timing.findings[0].message}")
            yield timing


def ended(timing: Timing, band: Band) -> Timing:
    """The part of a measurement after which these thresholds would have asked for no more."""
    for count in range(MIN_RATIOS, len(timing.pairs), LOOK_INTERVAL):
        part = replace(timing, pairs=timing.pairs[:count])
        if is_settled(part.ratios, band.minimum, band.full):
            return part
    return timing


def gradings(of: Subject, made: Sequence[Timing], band: Band) -> Iterator[Verdict]:
    """The verdict on each measurement, with those after it where it leaves a doubt."""
    lab = replace(of.lab, bands={made[0].device: band})
    parts = [ended(timing, band) for timing in made]
    for first in range(len(parts) - MAX_ATTEMPTS + 1):
        tried = parts[first : first + 1]
        while len(tried) < MAX_ATTEMPTS and is_doubtful(tried[-1], band):
            tried.append(parts[first + len(tried)])
        yield evaluate(of.options, replace(of.evidence, lab=lab, timings=tuple(tried)))


def row(name: str, seen: Sequence[Verdict]) -> str:
    ratios = [verdict.measurements["speedup"] for verdict in seen]
    shares = [verdict.share for verdict in seen]
    return (
        f"{name:<18}{sum(v.status == 'fail' for v in seen):>6}"
        f"{sum('review' in v.measurements for v in seen):>8}"
        f"{median(v.measurements['pairs'] for v in seen):>7.0f}"
        f"{min(ratios):>9.4f}{max(ratios):>9.4f}{100 * (max(shares) - min(shares)):>16.2f}"
    )


def line_of(timing: Timing) -> str:
    """One measurement's pairs as a line of JSON."""
    pairs = [(p.baseline, p.submission, p.throttled) for p in timing.pairs]
    return json.dumps({"device": timing.device, "pairs": pairs}) + "\n"


def read(file: Path) -> list[Timing]:
    held = map(json.loads, file.read_text().splitlines())
    return [Timing(tuple(Pair(*p) for p in one["pairs"]), device=one["device"]) for one in held]


def made_here(of: Subject, count: int, gpu: int, to: Path | None) -> list[Timing]:
    """New measurements on one GPU, each a line in `to` as soon as it is there."""
    made: list[Timing] = []
    with patch.object(measure, "same_model_devices", lambda: devices()[gpu : gpu + 1]):
        for timing in measurements(of, count):
            made.append(timing)
            if to:
                to.write_text("".join(map(line_of, made)))
    return made


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.regrade")
    parser.add_argument("count", nargs="?", type=int, default=100)
    parser.add_argument("--lab", default="tiled-matmul")
    parser.add_argument("--gpu", type=int, default=0, help="the number of the GPU that is used")
    parser.add_argument("--to", type=Path, help="keep the measurements in this file")
    parser.add_argument("--from", dest="files", nargs="+", type=Path, help="judge those of files")
    asked = parser.parse_args(words)
    of, began = subject(asked.lab), time.monotonic()
    if asked.files:
        sets = [read(file) for file in asked.files]
    else:
        sets = [made_here(of, asked.count + MAX_ATTEMPTS - 1, asked.gpu, asked.to)]
        print(f"{len(sets[0])} measurements took {time.monotonic() - began:.0f} s")
    speeds = [estimate([ratio for one in made for ratio in one.ratios]) for made in sets]
    for made, speed in zip(sets, speeds, strict=True):
        middles = [100 * (median(one.ratios) / speed.ratio - 1) for one in made]
        print(
            f"{of.lab.name} on {made[0].device}: speedup {speed.ratio:.4f}, one pair's sigma "
            f"{100 * speed.sigma:.2f} %; the medians of {len(made)} measurements lie "
            f"{min(middles):+.2f} % to {max(middles):+.2f} % from it"
        )
    print(f"{'it lies':<18}{'fail':>6}{'review':>8}{'pairs':>7}{'lowest':>9}{'highest':>9}"
          f"{'points apart %':>16}")  # fmt: skip
    for name, (low, high) in ROWS.items():
        seen: list[Verdict] = []
        for made, speed in zip(sets, speeds, strict=True):
            seen += gradings(of, made, Band(low * speed.ratio, high * speed.ratio))
        print(row(name, seen), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
