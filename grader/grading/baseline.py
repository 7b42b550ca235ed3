"""Measure a lab's baseline kernel, and prepare in the background what a grade needs of it.

The counters depend only on the lab's files, the case, the seed and the simulator. A digest of
these is their key in the user's cache. Where the cache cannot be read or written, or the entry is
damaged, the kernel is simulated again. What `prefetch` prepares goes into the caches, where the
checks find it; a mistake in it is reported where it is needed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from math import prod
from pathlib import Path
from threading import Lock
from typing import TypeVar

import grader
from grader import replace
from grader.checks.suite import Check
from grader.compile.cache import files_below, load, store, user_folder
from grader.compile.program import Program
from grader.compile.signature import with_lab_kernels
from grader.compile.source import compile_source
from grader.faults import LabFault, MachineFault, StudentFault
from grader.grading.cases import RunOptions
from grader.grading.run import run_all
from grader.labs.cases import array_shapes, prepare_baseline
from grader.labs.model import Case, KernelSpec, Lab
from grader.launch import Trace


@cache
def _measuring(folder: Path) -> Lock:
    """Held while a lab's baseline is measured: a second caller finds what the first measured."""
    return Lock()


def baseline_trace(lab: Lab, case: Case, options: RunOptions, cache: Path | None) -> Trace:
    """Return the simulator's counters of `baseline.cu` on one case: see `baseline_traces`."""
    return baseline_traces(lab, [case], options, cache)[case.name]


def baseline_traces(
    lab: Lab, cases: Sequence[Case], options: RunOptions, cache: Path | None
) -> Mapping[str, Trace]:
    """Return the simulator's counters of `baseline.cu` by case name.

    Args:
        lab: the lab.
        cases: cases whose dims are all known.
        options: how to run it.
        cache: the folder that caches the counters; None disables the cache.

    Raises:
        LabFault: the baseline does not compile, fails or does not end.
    """
    with _measuring(lab.folder):  # the grade needs what it has begun in the background
        program = baseline_program(lab)
        rest = _files_and_stamp(lab)
        keys = {case.name: _digest(case, options, program, rest) for case in cases}
        known = {name: load(cache, key) for name, key in keys.items()}
        missing = [case for case in cases if known[case.name] is None]
        for case, trace in _measured(lab, missing, options, program):
            known[case.name] = dict(trace.counters)
            store(cache, keys[case.name], dict(trace.counters))
    return {name: Trace("sim", counters=counters or {}) for name, counters in known.items()}


def _measured(
    lab: Lab, cases: Sequence[Case], options: RunOptions, program: Program
) -> Iterator[tuple[Case, Trace]]:
    """Simulate the baseline on these cases; only its optimized variant has counters."""
    if not cases:
        return
    launches = [prepare_baseline(lab, case, options.seed_of(case)).launch for case in cases]
    counted = replace(program, debug_ptx="")
    traces = run_all(
        counted, launches, threads=options.threads, limit=options.limit, measure="sharing"
    )
    for case, trace in zip(cases, traces, strict=True):
        if not trace.ended:
            reason = trace.errors[0].message if trace.errors else "it did not end"
            raise LabFault(f"the baseline fails on {case.name}: {reason}", where=str(lab.baseline))
        yield case, trace


def needs_baseline(lab: Lab, checks: Iterable[Check]) -> bool:
    """Return whether a check compares with the baseline: it has to, or it can and there is one."""
    options = [check.options for check in checks]
    if any(each.needs_baseline for each in options):
        return True
    return lab.baseline.is_file() and any(each.measures_work for each in options)


def cache_folder() -> Path | None:
    """Return the folder `baseline` in the user's cache; None when there is no cache folder."""
    return user_folder("baseline")


def baseline_program(lab: Lab) -> Program:
    """Compile `baseline.cu`.

    Raises:
        LabFault: the file cannot be read or does not compile.
    """
    try:
        return _compiled(lab.baseline.read_bytes(), lab.baseline.name, lab.kernels[:1])
    except OSError as error:
        what = f"cannot read the baseline: {error.strerror}"
        raise LabFault(what, where=str(lab.baseline)) from None
    except StudentFault as fault:
        what = f"the baseline does not compile: {fault.what}"
        raise LabFault(what, where=str(lab.baseline), fix=fault.fix) from None


@lru_cache(maxsize=4)
def _compiled(data: bytes, name: str, kernels: tuple[KernelSpec, ...]) -> Program:
    """Compile a baseline once for all submissions of a class."""
    return with_lab_kernels(compile_source(data, name, wanted=kernels), kernels)


def _digest(case: Case, options: RunOptions, program: Program, rest: bytes) -> str:
    digest = hashlib.sha256()
    for part in (program.ptx, case.name, repr(sorted(case.dims.items())), options.seed.hex()):
        digest.update(part.encode() + b"\0")
    digest.update(rest)
    return digest.hexdigest()


def _files_and_stamp(lab: Lab) -> bytes:
    """Return what all cases' counters depend on besides the program."""
    rest = b""
    for file in (lab.folder / "lab.yaml", lab.folder / "reference.py"):
        with suppress(OSError):
            rest += file.read_bytes() + b"\0"
    return rest + simulator_stamp().encode()


@cache
def simulator_stamp() -> str:
    """Identify this build of the simulator: version, and its files' sizes and times."""
    folder = Path(grader.__file__).parent / "simulator"
    found = ((path, os.stat(path)) for path in files_below(folder, ".py", ".so"))
    stats = [(os.path.basename(path), s.st_size, s.st_mtime_ns) for path, s in found]
    return f"{grader.__version__} {stats}"


Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def canceled_pool(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Open a pool of threads; at its end, calls that have not started are canceled.

    Threads suffice: compiling and simulating take place in child processes. Unlike
    `Executor.map`, no further call starts once the caller stops early: the gate stops at the first
    line that fails, and Ctrl-C must not wait for hundreds of mutants.
    """
    pool = ThreadPoolExecutor(jobs)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def map_parallel(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Result]]:
    """Call `work` on each item, at most `jobs` at a time, in a pool of its own.

    Yields:
        Each item with its result, in the order of the items. An exception is raised at its item.
    """
    with canceled_pool(jobs) as pool:
        futures = [(item, pool.submit(work, item)) for item in items]
        for item, result in futures:
            yield item, result.result()


def prefetch(
    executor: Executor,
    lab: Lab,
    checks: Sequence[Check],
    cases: Sequence[Case],
    options: RunOptions,
) -> None:
    """Submit to an executor the baseline work that these checks need."""
    known = [case for case in cases if not case.derived]
    if known and cache_folder() and needs_baseline(lab, checks):
        executor.submit(_measure_baseline, lab, known, options)
    if options.on == "gpu" and any(check.name == "speed" for check in checks):
        executor.submit(_compile_baseline, lab)


def largest_case(lab: Lab, cases: Sequence[Case]) -> Case | None:
    """Return the case that measurements will be taken on.

    None when that depends on the student's derived numbers.
    """
    public = [case for case in cases if case.visibility == "public"] or list(cases)
    if any(case.derived for case in public):
        return None
    names = {argument.name for argument in lab.arguments}

    def elements(case: Case) -> int:
        return sum(prod(s) for name, s in array_shapes(lab, case).items() if name in names)

    return max(public, key=elements, default=None)


def _measure_baseline(lab: Lab, cases: Sequence[Case], options: RunOptions) -> None:
    with suppress(LabFault, MachineFault):
        baseline_traces(lab, cases, options, cache_folder())


def _compile_baseline(lab: Lab) -> None:
    from grader.gpu.timing import build_baseline

    with suppress(LabFault, MachineFault, StudentFault):
        build_baseline(baseline_program(lab))
