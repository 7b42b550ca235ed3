"""Estimates of kernels that the model of a machine has not seen, beside their measured times.

    python -m tests.gpu.estimates MACHINE.yaml OUT.txt [LAB...]

Unseen are the kernels of the labs without a speed check, at the sizes here, with the variants that
are only slow. Neither the fit nor the choice of the model's limits knows them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from grader.authoring.machine import (
    BUDGET,
    JOBS,
    PAIRS,
    Kernel,
    lab_program,
    measured_files,
    sample_of,
    work_of,
)
from grader.checks.speed import TIMED, Options
from grader.faults import Fault
from grader.gpu.speedup import MIN_PAIRS
from grader.grading.estimate.fit import HeldBack, Sample, error_lines
from grader.grading.estimate.machine import MachineFile, read_machine
from grader.grading.estimate.model import NotEstimated, estimate, roofline
from grader.grading.timing import timing_plan
from grader.labs.model import Band, Case, Lab
from grader.labs.reading import load_lab
from tests.gpu.machine import machine

SIZES = {
    "vector-add": {"n": 1 << 25},
    "dynamic-tile": {"m": 1024, "n": 1024, "k": 1024, "tile": 32},
    "blur-median": {"width": 2048, "height": 2048},
    "constant-convolution": {"width": 4096, "height": 4096},
}
"""The timed sizes of the labs without a speed check."""


def unseen(lab: Lab) -> Iterator[Kernel]:
    """Yield the kernels of a lab that no machine file has."""
    case = Case(TIMED, SIZES[lab.name])
    options = Options(minimum=1, full=2, dims=SIZES[lab.name])
    plan = timing_plan(lab, case, options, Band(1, 2), b"")
    plan = replace(plan, budget=BUDGET, least=MIN_PAIRS, most=PAIRS)
    for name, file in measured_files(lab):
        own = replace(plan, launch=plan.baseline_launch) if file == lab.baseline else plan
        try:
            yield Kernel(lab, name, case, lab_program(lab, file), own)
        except Fault as fault:
            print(f"{lab.name} {name}: {fault}", flush=True)


def measured(labs: Sequence[Lab]) -> Iterator[Sample]:
    """Yield the kernels that compute what their lab asks, with their times and their work."""
    kernels = [kernel for lab in labs for kernel in unseen(lab)]
    with ThreadPoolExecutor(JOBS) as pool:
        works = [pool.submit(work_of, kernel) for kernel in kernels]
        for kernel, work in zip(kernels, works, strict=True):
            made = sample_of(kernel, work)
            if isinstance(made, Sample):
                yield made
            else:
                print(f"{kernel.lab.name} {kernel.name}: {made}", flush=True)


def compared(content: MachineFile, samples: Iterator[Sample]) -> Iterator[HeldBack]:
    """Yield the estimate and the roofline of each kernel."""
    for one in samples:
        try:
            made = estimate(one.work, content.machine, content.fit)
            line = roofline(one.work, content.machine)
        except NotEstimated as problem:
            print(f"{one.lab} {one.file}: {problem}", flush=True)
            continue
        row = HeldBack(one.lab, one.file, one.seconds, made.seconds, line, made.binding)
        print(row, flush=True)
        yield row


def main(file: str, out: str, *names: str) -> None:
    """Measure the kernels of all labs, or of those that are named, and write the table."""
    content = read_machine(Path(file))
    labs = [load_lab(name) for name in names or SIZES]
    rows = list(compared(content, measured(labs)))
    inside = sum(
        content.errors.low * row.predicted <= row.seconds <= content.errors.high * row.predicted
        for row in rows
    )
    head = ", ".join(f"{key} {value}" for key, value in machine().items())
    lines = [head, *list(error_lines(rows))[:-2]]
    lines.append(f"  within the range that a report shows: {inside} of {len(rows)}")
    Path(out).write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
