"""A submission's text as fingerprints, by copydetect, in two views.

structure: names become one letter and comments go, so that a copy with other names is the same.
wording: the text without white space, so that what is copied, comments and all, is the same.

copydetect thins fingerprints out by Python's hashes of strings, which differ from process to
process. A window of 1 keeps every one of them, so the same class gives the same answer always.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from grader.extra import install
from grader.fault import MachineFault

LENGTH = 25
"""Characters of one fingerprint, after the view's filter: copydetect's own default, about a
statement of a kernel. What is shorter is never seen as shared."""

View = Literal["structure", "wording"]
VIEWS: tuple[View, ...] = ("structure", "wording")


@dataclass(frozen=True)
class Prints:
    """One text in one view. `places` maps a fingerprint to where it begins in the filtered text;
    `lines` has the source line, from 1, of each filtered character."""

    places: Mapping[int, tuple[int, ...]]
    lines: tuple[int, ...]

    def covered(self, hashes: Set[int]) -> tuple[range, ...]:
        """The stretches of filtered characters that these fingerprints lie on, in their order."""
        starts = sorted(at for found in hashes & self.places.keys() for at in self.places[found])
        stretches: list[range] = []
        for at in starts:
            begin = at
            if stretches and at <= stretches[-1].stop:
                begin = stretches.pop().start
            stretches.append(range(begin, at + LENGTH))
        return tuple(stretches)

    def lines_of(self, stretches: Iterable[range]) -> frozenset[int]:
        """The source lines that these filtered characters stand on."""
        return frozenset(self.lines[at] for stretch in stretches for at in stretch)


def prints(text: str, view: View) -> Prints:
    """The fingerprints of a source text. Raises MachineFault: copydetect is not installed.

    Raw strings are read as plain ones: the lexer looks for the end of each in all of the text."""
    kept = text.replace('R"', ' "') if view == "structure" else "".join(text.split())
    found = _fingerprint(kept, view)
    positions = _origins(found.offsets, len(found.filtered_code), len(text))
    if view == "wording":
        positions = [at for at, character in enumerate(text) if not character.isspace()]
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    return Prints(
        places={int(k): tuple(map(int, at)) for k, at in found.hash_idx.items()},
        lines=tuple(bisect_right(starts, at) for at in positions),
    )


def _fingerprint(text: str, view: View) -> Any:
    try:
        from copydetect import CodeFingerprint
    except ModuleNotFoundError as missing:
        raise MachineFault(
            f"submissions cannot be compared: there is no Python package {missing.name}",
            mend=install("similar"),
        ) from None
    return CodeFingerprint(
        "submission.cu",
        LENGTH,
        1,
        filter=view == "structure",
        language="cuda",
        fp=io.StringIO(text),
    )


def _origins(offsets: Any, length: int, most: int) -> list[int]:
    """Where in the text each filtered character comes from: copydetect tells how many characters
    were dropped before each place where it dropped some."""
    if not len(offsets):
        return list(range(length))
    dropped = offsets[np.clip(np.searchsorted(offsets[:, 0], range(length)), 0, len(offsets) - 1)]
    return [min(at + int(more), most - 1) for at, more in enumerate(dropped[:, 1])]
