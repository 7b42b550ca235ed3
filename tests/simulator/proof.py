"""python -m tests.simulator.proof [NAME...]: traces with and without a proof are equal.

Runs kernels of tests/, the labs' solutions, incorrect variants and mutants with every block watched
in full, and again by proof (docs/simulator.md), where the only representatives are the first block,
the first three, or the usual ones: so that most blocks of small launches are reduced ones, too.
Compares all of each trace, and prints how many runs a proof ended, how many it gave up, and how
many kernels have none. The exit code is 1 if a trace differs. NAME selects kernels whose path
contains it. `--generated SEED...` runs generated kernels instead.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np

from grader.authoring.mutation.mutants import make_mutants
from grader.authoring.requirements import lab_folder
from grader.compile.program import Program
from grader.faults import Fault, LabFault
from grader.labs.cases import prepare_case
from grader.labs.model import Lab
from grader.labs.reading import list_labs, load_lab
from grader.launch import Array, Launch, Scalar, Trace
from grader.simulator.core import run
from grader.simulator.core.run import Machine
from grader.simulator.simulate import simulate
from grader.simulator.variants import Variants
from tests.command import ROOT
from tests.fuzz.corpus import read
from tests.simulator.proof_kernels import GRID, THREADS, source
from tests.trusted import compiled_here

CHOICES = (1, 3, 27)
"""How many representatives a launch has at most."""

STEPS = 200_000
MOST_THREADS = 1 << 16
EVERY = 5
"""One of so many mutants is run."""

GENERATED = 40
"""Kernels of a seed."""


def whole(trace: Trace) -> dict[str, Any]:
    """All of a trace but the time that it took; arrays as bytes."""
    plain: dict[str, Any] = {f.name: getattr(trace, f.name) for f in fields(trace)}
    del plain["seconds"]
    for name in ("outputs", "unwritten"):
        plain[name] = {k: np.asarray(v).tobytes() for k, v in plain[name].items()}
    return {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in plain.items()}


@contextmanager
def proven(representatives: int, counts: Counter[str]) -> Iterator[None]:
    """Try a proof of launches of any size, and count how each run of a variant ends."""
    attempt = Machine._attempt

    def counted(machine: Machine, *args: Any, **more: Any) -> Any:
        raw = attempt(machine, *args, **more)
        if more.get("proof") is not None:
            counts["given up" if raw is None else "proven"] += 1
            counts[f"proven by {representatives}"] += raw is not None
        elif machine.__dict__.get("proof", "") is None:
            counts["no proof"] += 1
        return raw

    with (
        patch.object(run, "LEAST_PROVEN", 0),
        patch.object(run, "REPRESENTATIVES", representatives),
        patch.object(Machine, "_attempt", counted),
    ):
        yield


def differences(
    program: Program, launches: Sequence[Launch], counts: Counter[str], **more: Any
) -> Iterator[str]:
    """What differs in the traces of launches with and without a proof."""
    decoded = Variants()
    how: dict[str, Any] = {"steps": STEPS, "decoded": decoded, "measure": "sharing", **more}
    for number, launch in enumerate(launches):
        (usual,) = simulate(program, [launch], proof=False, **how)
        wanted = whole(usual)
        for representatives in CHOICES:
            with proven(representatives, counts):
                (trace,) = simulate(program, [launch], **how)
            counts["traces"] += 1
            for name, value in whole(trace).items():
                if value != wanted[name]:
                    yield f"launch {number}, {representatives} representatives: {name}"


def launches_in(path: Path) -> list[Launch]:
    """The launch that a kernel of tests/ names, and two with larger grids."""
    spec = read(path.read_text())
    x, y, z = spec.grid
    larger = replace(spec, grid=(3 * x + 2, 2 * y, z)), replace(spec, grid=(x, y + 4, z))
    return [spec.launch(), *(s.launch(1) for s in larger)]


def corpus() -> Iterator[tuple[Path, list[Launch]]]:
    """The kernels of tests/ and their launches."""
    for folder in ("watch/*", "correct", "counters", "fuzz/kernels"):
        for path in sorted((ROOT / "tests").glob(f"{folder}/*.cu")):
            if "// launch:" in path.read_text():
                yield path, launches_in(path)


def launches_of(lab: Lab) -> list[Launch]:
    """The launches of a lab's cases, with the least right answer for a derived number."""
    answers = {d.name: d.minimum for d in lab.derivations}
    made = [prepare_case(lab, case, b"proof", answers).launch for case in lab.cases]
    return [x for x in made if np.prod(x.grid) * np.prod(x.block) <= MOST_THREADS]


def generated_launch(name: str, seed: int) -> Launch:
    """A launch of a kernel of `proof_kernels`."""
    draw, size = np.random.default_rng(seed), THREADS * GRID[0] * GRID[1]
    args = (
        Array("a", (size,), "float32", draw.uniform(-1, 1, size).astype(np.float32)),
        Array("which", (THREADS,), "int32", draw.integers(0, 64, THREADS).astype(np.int32)),
        Array("out", (size,), "float32", None, True),
        Scalar("n", int(draw.choice((8, 37, 2000))), "int32"),
        Scalar("shift", int(draw.integers(0, 9)), "int32"),
    )
    return Launch(name, GRID, (THREADS, 1, 1), args)


def generated(seed: int, number: int, counts: Counter[str]) -> Iterator[str]:
    """What differs in the traces of generated kernels."""
    program = compiled_text(source(seed, number), f"generated{seed}")
    for k in range(number):
        for text in differences(program, [generated_launch(f"k{k}", seed + k)], counts):
            yield f"generated {seed}, k{k}: {text}"


def main(names: Sequence[str]) -> int:
    """Print what differs, and the counts."""
    counts, wrong = Counter[str](), 0
    for seed in map(int, names[1:] if names[:1] == ["--generated"] else ()):
        found = [*generated(seed, GENERATED, counts)]
        print("\n".join([*found, f"generated {seed}: {dict(counts)}"]), flush=True)
        wrong += len(found)
    if names[:1] == ["--generated"]:
        return int(wrong > 0)

    def compare(what: str, program: Program, launches: Sequence[Launch]) -> int:
        counts["kernels"] += 1
        try:
            found = [*differences(program, launches, counts)]
        except LabFault:  # it lacks what the lab sets
            counts["refused"] += 1
            return 0
        for text in found:
            print(f"{what}: {text}", flush=True)
        return len(found)

    def chosen(what: object) -> bool:
        return not names or any(name in str(what) for name in names)

    for path, launches in corpus():
        if chosen(path):
            wrong += compare(str(path.relative_to(ROOT)), compiled_here(path), launches)
        if counts["kernels"] % 100 == 99:
            print(f"{path.relative_to(ROOT)}: {dict(counts)}", flush=True)
    print(f"tests: {dict(counts)}", flush=True)
    for lab in map(load_lab, list_labs()):
        folder, launches = lab_folder(lab), launches_of(lab)
        baseline = lab.folder / "baseline.cu"
        for path in (folder.solution, *folder.variants, *([baseline] if baseline.exists() else ())):
            if chosen(path):
                wrong += compare(str(path.relative_to(ROOT)), compiled_here(path), launches)
        for mutant in make_mutants(folder.solution.read_text())[::EVERY]:
            what = f"{lab.name}: {mutant.name}"
            if not chosen(what):
                continue
            try:
                program = compiled_text(mutant.source, lab.name)
            except Fault:
                continue
            wrong += compare(what, program, launches[:3])
        print(f"{lab.name}: {dict(counts)}", flush=True)
    print(f"{wrong} differences in {counts['traces']} traces")
    return int(wrong > 0)


def compiled_text(text: str, name: str) -> Program:
    """Compile a source that is no file."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.cu")
        path.write_text(text)
        return compiled_here(path, cache=None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
