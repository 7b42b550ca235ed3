"""All mutants of one lab tried, several at a time, and their verdicts remembered by content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
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


@dataclass(frozen=True)
class Begun:
    """A lab's mutants before they are tried: the verdicts that are remembered, by mutant's name,
    and what the others will be held against; None when there are no others."""

    lab: Lab
    solution: Path
    mutants: tuple[Mutant, ...]
    cache: Cache
    known: Mapping[str, Verdict]
    standard: Standard | None


def study(
    lab: Lab, solution: Path, how: How, announce: Callable[[str], None] = lambda what: None
) -> Reasoned:
    """Every mutant of the solution with its verdict, and with the reasons that its author gives.
    Raises LabFault and MachineFault."""
    return finish(begin(lab, solution, how), how, announce)


def begin(lab: Lab, solution: Path, how: How) -> Begun:
    """The mutants made, and the solution measured if one of them is new. Raises LabFault and
    MachineFault."""
    source = _read(solution)
    mutants = tuple(make_mutants(source))
    cache = Cache(verdicts_folder(), stamp_of(lab, source, how))
    recalled = ((mutant, cache.load(mutant)) for mutant in mutants)
    known = {mutant.name: verdict for mutant, verdict in recalled if verdict is not None}
    standard = set_standard(lab, source, how) if len(known) < len(mutants) else None
    return Begun(lab, solution, mutants, cache, known, standard)


def finish(begun: Begun, how: How, announce: Callable[[str], None] = lambda what: None) -> Reasoned:
    """The new mutants tried: `how.threads` at a time (None: one a core), each on one thread of
    the simulator. Raises LabFault and MachineFault."""
    known = dict(begun.known)
    if begun.standard is not None:
        fresh = [mutant for mutant in begun.mutants if mutant.name not in known]
        tries = abreast(partial(_met, begun.standard), fresh, how.at_a_time)
        for number, (mutant, verdict) in enumerate(tries, 1):
            announce(f"{begun.lab.name}: mutant {number} of {len(fresh)}")
            begun.cache.keep(mutant, verdict)
            known[mutant.name] = verdict
    tried = [Tried(mutant, known[mutant.name]) for mutant in begun.mutants]
    return apply_reasons(begun.solution.parent / FILE, tried)


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
