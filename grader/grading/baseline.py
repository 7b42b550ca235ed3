"""What the lab's baseline kernel costs on one case, measured once and remembered.

The counters depend on nothing but the lab's files, the case, the seed and the simulator, so they
are kept by a digest of those in the user's cache folder. A cache that cannot be read or written
is no fault: the kernel is measured again.
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


def baseline_trace(lab: Lab, case: Case, how: RunOptions, cache: Path | None) -> Trace:
    """The simulator's counters of `baseline.cu` on a case whose dims are all known.

    `cache` is the folder to remember them in, None for no memory. Raises LabFault when the
    baseline itself is broken.
    """
    program = baseline_program(lab)
    kept = cache / f"{_digest(lab, case, how, program)}.json" if cache else None
    counters = _recall(kept) if kept else None
    if counters is not None:
        return Trace("sim", counters=counters)
    launch = prepare_baseline(lab, case, how.seed).launch
    (trace,) = run_all(program, [launch], threads=how.threads, limit=how.limit)
    if not trace.ended:
        said = trace.errors[0].message if trace.errors else "it did not end"
        raise LabFault(f"the baseline fails on {case.name}: {said}", where=str(lab.baseline))
    if kept:
        _remember(kept, trace)
    return trace


def cache_folder() -> Path | None:
    """$XDG_CACHE_HOME or ~/.cache, then warpgrade/baseline; None when there is no home."""
    root = os.environ.get("XDG_CACHE_HOME") or (
        f"{os.environ['HOME']}/.cache" if os.environ.get("HOME") else ""
    )
    return Path(root) / "warpgrade" / "baseline" if root else None


def baseline_program(lab: Lab) -> Program:
    """`baseline.cu`, compiled. Raises LabFault."""
    try:
        return compile_source(lab.baseline.read_bytes(), lab.baseline.name)
    except OSError as error:
        what = f"cannot read the baseline: {error.strerror}"
        raise LabFault(what, where=str(lab.baseline)) from None
    except StudentFault as fault:
        what = f"the baseline does not compile: {fault.what}"
        raise LabFault(what, where=str(lab.baseline), fix=fault.fix) from None


def _digest(lab: Lab, case: Case, how: RunOptions, program: Program) -> str:
    digest = hashlib.sha256()
    for part in (program.ptx, case.name, repr(sorted(case.dims.items())), how.seed.hex()):
        digest.update(part.encode() + b"\0")
    for file in (lab.folder / "lab.yaml", lab.folder / "reference.py"):
        with suppress(OSError):
            digest.update(file.read_bytes() + b"\0")
    digest.update(simulator_stamp().encode())
    return digest.hexdigest()


def simulator_stamp() -> str:
    """Changes when the simulator does: the package's version, its files' sizes and times."""
    folder = Path(grader.__file__).parent / "simulator"
    stats = [
        (f.name, s.st_size, s.st_mtime_ns)
        for f in sorted((*folder.rglob("*.py"), *folder.rglob("*.so")))
        for s in [f.stat()]
    ]
    return f"{grader.__version__} {stats}"


def _recall(file: Path) -> dict[str, float] | None:
    try:
        held = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(held, dict):
        return None
    return {str(name): float(v) for name, v in held.items() if isinstance(v, int | float)}


def _remember(file: Path, trace: Trace) -> None:
    """Write beside and rename, so that a reader never sees half a file."""
    part = file.with_suffix(f".{os.getpid()}.part")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(dict(trace.counters)))
        part.replace(file)
