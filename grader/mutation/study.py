"""All mutants of one lab tried, several at a time, and their verdicts remembered by content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import grader
from grader.abreast import abreast
from grader.cases import How
from grader.compile.cache import key_of, load, store, user_folder
from grader.compile.source import toolchain
from grader.fault import LabFault
from grader.lab import Lab
from grader.mutation.edit import Mutant
from grader.mutation.make import make_mutants
from grader.mutation.reasons import FILE, Reasoned, apply_reasons
from grader.mutation.trial import Standard, set_standard, try_mutant
from grader.mutation.verdict import Tried, Verdict, from_json

CACHE_BYTES = 16 << 20
_JUDGES = ("*.py", "*.so", "compile/include/**/*")


@dataclass(frozen=True)
class Cache:
    """Where verdicts are kept (None: nowhere), and what all of one lab depend on."""

    folder: Path | None
    stamp: str

    def load(self, mutant: Mutant) -> Verdict | None:
        """The verdict on that very text, when this grader has given one before."""
        return from_json(load(self.folder, key_of(self.stamp, mutant.source)))

    def keep(self, mutant: Mutant, verdict: Verdict) -> None:
        key = key_of(self.stamp, mutant.source)
        store(self.folder, key, verdict.to_json(), CACHE_BYTES)


def study(
    lab: Lab, solution: Path, how: How, announce: Callable[[str], None] = lambda what: None
) -> Reasoned:
    """Every mutant of the solution with its verdict, and with the reasons that its author gives.

    `how.threads` mutants are tried at a time (None: one a core), each on one thread of the
    simulator. Raises LabFault and MachineFault.
    """
    source = _read(solution)
    mutants = make_mutants(source)
    cache = Cache(verdicts_folder(), stamp_of(lab, source, how))
    known: dict[str, Verdict | None] = {m.name: cache.load(m) for m in mutants}
    fresh = [mutant for mutant in mutants if known[mutant.name] is None]
    if fresh:
        standard = set_standard(lab, source, how)
        met_by = partial(_met, standard)
        for number, (mutant, verdict) in enumerate(abreast(met_by, fresh, how.at_a_time), 1):
            announce(f"{lab.name}: mutant {number} of {len(fresh)}")
            cache.keep(mutant, verdict)
            known[mutant.name] = verdict
    tried = [Tried(mutant, met) for mutant in mutants if (met := known[mutant.name])]
    return apply_reasons(solution.parent / FILE, tried)


def _met(standard: Standard, mutant: Mutant) -> Verdict:
    return try_mutant(standard, mutant.source)


def _read(solution: Path) -> str:
    try:
        return solution.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabFault(f"cannot read the solution: {error}", where=str(solution)) from None


def verdicts_folder() -> Path | None:
    """Beside the compilations in the user's cache folder; None when there is none."""
    compiled = user_folder()
    return compiled.parent / "mutants" if compiled else None


def stamp_of(lab: Lab, solution: str, how: How) -> str:
    """What a verdict depends on beside the mutant: the solution, the lab's files, the seed, every
    file of the grader, and the compiler."""
    digest = hashlib.sha256()
    package = Path(grader.__file__).parent
    files = {file for kind in _JUDGES for file in package.rglob(kind) if file.is_file()}
    for file in (*sorted(files), *sorted(f for f in lab.folder.iterdir() if f.is_file())):
        with suppress(OSError):
            digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    tools = [*toolchain().items(), np.__version__]
    return key_of(digest.hexdigest(), solution, how.seed.hex(), tools)
