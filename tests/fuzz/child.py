"""One fuzzing process: mutates and executes until its time or its inputs are up, or it dies.

The input about to run lies in the folder's `current.ptx`, so that the parent has it when this
process is killed by it; what raised is saved as it happens; `tally` counts what was done.
"""

from __future__ import annotations

import hashlib
import sys
import time
import traceback
from pathlib import Path
from random import Random

from tests.fuzz.corpus import entries, instructions, read
from tests.fuzz.execute import WAYS, any_kind, execute, use
from tests.fuzz.mutate import mutated


def loop(core_path: Path, folder: Path, seed: int, first: int, last: int, seconds: float) -> None:
    """Executes inputs first, first + 1, ... of this seed, and none from `last` on."""
    core, corpus = use(core_path), [*3 * entries(), *instructions()]
    ends = time.monotonic() + seconds
    current, tally, number, reached = folder / "current.ptx", folder / "tally", first, 0
    while number < last and time.monotonic() < ends:
        random = Random(f"{seed}.{number}")
        text, spec = mutated(random, corpus)
        threads, kind = random.choice((1, 1, 2, 3)), any_kind(random)
        body = text.split("\n", 1)[-1]
        current.write_text(f"{spec.header()}\n{body}", errors="surrogateescape")
        try:
            how = {"threads": threads, "measured": number % 4 == 0, "kind": kind}
            reached += execute(body, spec, core, **how)  # type: ignore[arg-type]
        except Exception as error:
            _save(folder, current, error)
        number += 1
        tally.write_text(f"{number} {reached}")


def _save(folder: Path, current: Path, error: Exception) -> None:
    """Keeps the smallest input for each place that raises."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{type(error).__name__}-{Path(frame.filename).stem}-{frame.lineno}"
    name = f"{place}-{hashlib.sha256(place.encode()).hexdigest()[:6]}"
    held = folder / f"{name}.ptx"
    if not held.exists() or held.stat().st_size > current.stat().st_size:
        held.write_bytes(current.read_bytes())
        (folder / f"{name}.txt").write_text("".join(traceback.format_exception(error)))


def each(core_path: Path, paths: list[Path]) -> None:
    """Executes saved inputs in all ways."""
    core = use(core_path)
    for path in paths:
        text = path.read_text(errors="surrogateescape")
        body = text.split("\n", 1)[-1]
        for threads, kind in WAYS:
            how = {"threads": threads, "measured": threads == 1, "kind": kind}
            execute(body, read(text), core, **how)  # type: ignore[arg-type]


if __name__ == "__main__":
    library, *rest = sys.argv[1:]
    if rest[0].endswith((".ptx", ".trial")):
        each(Path(library), [Path(p) for p in rest])
    else:
        where, *numbers, seconds_text = rest
        loop(Path(library), Path(where), *map(int, numbers), seconds=float(seconds_text))
