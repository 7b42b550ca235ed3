"""Which pairs of a class share what nobody else would have written.

Everybody's solution of a small lab has the same shape, because the lab leads there. What counts as
evidence is what is left when that is taken away: the skeleton, the baseline and the solution, and
whatever more than a few of the class have in common. So two honest solutions are alike in much and
share little evidence, and of a submission that has little of its own nothing can be said.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from grader.faults import MachineFault, install_command

# A submission's text as fingerprints, by copydetect, in two views.
#
# structure: names become one letter and comments go, so that a copy with other names is the same.
# wording: the text without white space, so that what is copied, comments and all, is the same.
#
# copydetect thins fingerprints out by Python's hashes of strings, which differ from process to
# process. A window of 1 keeps every one of them, so the same class gives the same answer always.

FINGERPRINT_LENGTH = 25
"""Characters of one fingerprint, after the view's filter: copydetect's own default, about a
statement of a kernel. What is shorter is never seen as shared."""

View = Literal["structure", "wording"]
VIEWS: tuple[View, ...] = ("structure", "wording")


@dataclass(frozen=True)
class Fingerprints:
    """One text in one view. `places` maps a fingerprint to where it begins in the filtered text;
    `lines` has the source line, from 1, of each filtered character.
    """

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
            stretches.append(range(begin, at + FINGERPRINT_LENGTH))
        return tuple(stretches)

    def lines_of(self, stretches: Iterable[range]) -> frozenset[int]:
        """The source lines that these filtered characters stand on."""
        return frozenset(self.lines[at] for stretch in stretches for at in stretch)


def fingerprints(text: str, view: View) -> Fingerprints:
    """The fingerprints of a source text. Raises MachineFault: copydetect is not installed.

    Raw strings are read as plain ones: the lexer looks for the end of each in all of the text.
    """
    kept = text.replace('R"', ' "') if view == "structure" else "".join(text.split())
    found = _fingerprint(kept, view)
    positions = _source_positions(found.offsets, len(found.filtered_code), len(text))
    if view == "wording":
        positions = [at for at, character in enumerate(text) if not character.isspace()]
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    return Fingerprints(
        places={int(k): tuple(map(int, at)) for k, at in found.hash_idx.items()},
        lines=tuple(bisect_right(starts, at) for at in positions),
    )


def _fingerprint(text: str, view: View) -> Any:
    try:
        from copydetect import CodeFingerprint
    except ModuleNotFoundError as missing:
        raise MachineFault(
            f"submissions cannot be compared: there is no Python package {missing.name}",
            fix=install_command("similar"),
        ) from None
    return CodeFingerprint(
        "submission.cu",
        FINGERPRINT_LENGTH,
        1,
        filter=view == "structure",
        language="cuda",
        fp=io.StringIO(text),
    )


def _source_positions(offsets: Any, length: int, most: int) -> list[int]:
    """Where in the text each filtered character comes from: copydetect tells how many characters
    were dropped before each place where it dropped some.
    """
    if not len(offsets):
        return list(range(length))
    dropped = offsets[np.clip(np.searchsorted(offsets[:, 0], range(length)), 0, len(offsets) - 1)]
    return [min(at + int(more), most - 1) for at, more in enumerate(dropped[:, 1])]


MIN_EVIDENCE: Mapping[View, int] = {"structure": 80, "wording": 120}
"""Characters of evidence that a pair must share, about three statements: two people who close the
same gap in their own way come to fewer."""

THRESHOLDS: Mapping[View, float] = {"structure": 0.9, "wording": 0.5}
"""The share of one side's evidence that the other must have. Structure says nothing of names, so
nearly all of it has to be shared; the same names, comments and layout of half of it are enough."""

COMMON_COUNT = 3
COMMON_SHARE = 0.1
"""What more than FEW, and more than this share of the class, have in common is no evidence."""

SMALL_CLASS = 10
SMALL_CLASS_THRESHOLDS: Mapping[View, float] = {"wording": 1.0}
"""In a smaller class what is usual cannot be told: people who learn from one teacher choose the
same names. There only texts are told of which one is wholly in the other."""


@dataclass(frozen=True)
class Match:
    """What two submissions share in one view: characters of evidence, the part of the evidence of
    the one who has more of it in common, and the source lines on either side.
    """

    shared: int = 0
    share: float = 0.0
    first: frozenset[int] = frozenset()
    second: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Pair:
    """Two submissions by their names, in alphabetical order, what they share by view, and the
    views that are the `reasons` why a person should look at the two.
    """

    first: str
    second: str
    matches: Mapping[View, Match]
    reasons: tuple[View, ...]

    @property
    def weight(self) -> tuple[float, int]:
        """What sorts pairs: the largest share of those that are reasons, then the amount."""
        found = [self.matches[view] for view in self.reasons]
        return max(m.share for m in found), max(m.shared for m in found)


@dataclass(frozen=True)
class SimilarityReport:
    """What was found in a class. `pairs` are those to look at, the most alike first; `thin` names
    the submissions that have too little of their own to say anything about.
    """

    submissions: int
    pairs: tuple[Pair, ...]
    thin: tuple[str, ...]


def compare(texts: Mapping[str, str], known: Iterable[str]) -> SimilarityReport:
    """The pairs of the class's `texts`, by name, to look at; `known` are texts that all of them had
    or were led to. Raises MachineFault: copydetect is not installed.
    """
    led = tuple(known)
    own = {view: _evidence(texts, led, view) for view in VIEWS}
    alike = THRESHOLDS if len(texts) >= SMALL_CLASS else SMALL_CLASS_THRESHOLDS
    pairs = (_pair(a, b, own, alike) for a, b in _candidates(own))
    found = sorted((pair for pair in pairs if pair.reasons), key=lambda p: (p.first, p.second))
    found.sort(key=lambda pair: pair.weight, reverse=True)
    thin = (n for n in sorted(texts) if all(_amount(own[v][n]) < MIN_EVIDENCE[v] for v in VIEWS))
    return SimilarityReport(len(texts), tuple(found), tuple(thin))


def _evidence(
    texts: Mapping[str, str], known: Sequence[str], view: View
) -> dict[str, Fingerprints]:
    """Each text's evidence: what is neither known nor common."""
    every = {name: fingerprints(text, view) for name, text in texts.items()}
    led = {found for text in known for found in fingerprints(text, view).places}
    held = Counter(found for one in every.values() for found in one.places)
    most = max(COMMON_COUNT, int(COMMON_SHARE * len(texts)))
    return {
        name: Fingerprints(
            {k: at for k, at in one.places.items() if k not in led and held[k] <= most}, one.lines
        )
        for name, one in every.items()
    }


def _candidates(own: Mapping[View, Mapping[str, Fingerprints]]) -> list[tuple[str, str]]:
    """The pairs that share any evidence at all."""
    together: set[tuple[str, str]] = set()
    for view in own.values():
        holders: dict[int, list[str]] = {}
        for name in sorted(view):
            for found in view[name].places:
                holders.setdefault(found, []).append(name)
        for names in holders.values():
            together.update(combinations(names, 2))
    return sorted(together)


def _pair(
    first: str,
    second: str,
    own: Mapping[View, Mapping[str, Fingerprints]],
    alike: Mapping[View, float],
) -> Pair:
    matches = {view: _match(own[view][first], own[view][second]) for view in VIEWS}
    reasons = tuple(
        view
        for view, due in alike.items()
        if matches[view].shared >= MIN_EVIDENCE[view] and matches[view].share >= due
    )
    return Pair(first, second, matches, reasons)


def _match(first: Fingerprints, second: Fingerprints) -> Match:
    both = first.places.keys() & second.places.keys()
    if not both:
        return Match()
    sides = [(_length(one.covered(both)), _amount(one)) for one in (first, second)]
    return Match(
        shared=min(shared for shared, _ in sides),
        share=max(shared / whole for shared, whole in sides),
        first=first.lines_of(first.covered(both)),
        second=second.lines_of(second.covered(both)),
    )


def _amount(one: Fingerprints) -> int:
    """The characters of evidence in all."""
    return _length(one.covered(one.places.keys()))


def _length(stretches: Iterable[range]) -> int:
    return sum(map(len, stretches))
