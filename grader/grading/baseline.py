"""Simulate a lab's baseline kernel on one case and cache its counters.

The counters depend only on the lab's files, the case, the seed and the simulator. A digest of
these names the cache file in the user's cache folder. Where the cache cannot be read or written,
the kernel is simulated again.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

import grader
from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.faults import LabFault, StudentFault
from grader.grading.cases import RunOptions
from grader.grading.run import run_all
from grader.labs.cases import prepare_baseline
from grader.labs.model import Case, Lab
from grader.launch import Trace


def baseline_trace(lab: Lab, case: Case, options: RunOptions, cache: Path | None) -> Trace:
    """Return the simulator's counters of `baseline.cu` on one case.

    Args:
        lab: the lab.
        case: a case whose dims are all known.
        options: how to run it.
        cache: the folder that caches the counters; None disables the cache.

    Raises:
        LabFault: the baseline does not compile, fails or does not end.
    """
    program = baseline_program(lab)
    file = cache / f"{_digest(lab, case, options, program)}.json" if cache else None
    counters = _load_counters(file) if file else None
    if counters is not None:
        return Trace("sim", counters=counters)
    launch = prepare_baseline(lab, case, options.seed).launch
    (trace,) = run_all(program, [launch], threads=options.threads, limit=options.limit)
    if not trace.ended:
        reason = trace.errors[0].message if trace.errors else "it did not end"
        raise LabFault(f"the baseline fails on {case.name}: {reason}", where=str(lab.baseline))
    if file:
        _store_counters(file, trace)
    return trace


def cache_folder() -> Path | None:
    """Return warpgrade/baseline in $XDG_CACHE_HOME or ~/.cache; None without a home folder."""
    root = os.environ.get("XDG_CACHE_HOME") or (
        f"{os.environ['HOME']}/.cache" if os.environ.get("HOME") else ""
    )
    return Path(root) / "warpgrade" / "baseline" if root else None


def baseline_program(lab: Lab) -> Program:
    """Compile `baseline.cu`.

    Raises:
        LabFault: the file cannot be read or does not compile.
    """
    try:
        return compile_source(lab.baseline.read_bytes(), lab.baseline.name)
    except OSError as error:
        what = f"cannot read the baseline: {error.strerror}"
        raise LabFault(what, where=str(lab.baseline)) from None
    except StudentFault as fault:
        what = f"the baseline does not compile: {fault.what}"
        raise LabFault(what, where=str(lab.baseline), fix=fault.fix) from None


def _digest(lab: Lab, case: Case, options: RunOptions, program: Program) -> str:
    digest = hashlib.sha256()
    for part in (program.ptx, case.name, repr(sorted(case.dims.items())), options.seed.hex()):
        digest.update(part.encode() + b"\0")
    for file in (lab.folder / "lab.yaml", lab.folder / "reference.py"):
        with suppress(OSError):
            digest.update(file.read_bytes() + b"\0")
    digest.update(simulator_stamp().encode())
    return digest.hexdigest()


def simulator_stamp() -> str:
    """Identify this build of the simulator: version, and its files' sizes and times."""
    folder = Path(grader.__file__).parent / "simulator"
    stats = [
        (f.name, s.st_size, s.st_mtime_ns)
        for f in sorted((*folder.rglob("*.py"), *folder.rglob("*.so")))
        for s in [f.stat()]
    ]
    return f"{grader.__version__} {stats}"


def _load_counters(file: Path) -> dict[str, float] | None:
    try:
        counters = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(counters, dict):
        return None
    return {str(name): float(v) for name, v in counters.items() if isinstance(v, int | float)}


def _store_counters(file: Path, trace: Trace) -> None:
    """Write a temporary file and rename it, so that no reader gets a partial file."""
    part = file.with_suffix(f".{os.getpid()}.part")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(dict(trace.counters)))
        part.replace(file)
