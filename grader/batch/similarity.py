"""Find pairs of submissions that share code which other students would not write.

All solutions of a small lab have the same shape, because the lab leads to it. So evidence is the
code that is not in the skeleton, the baseline or the solution, and that only a few submissions of
the class have in common. Two honest solutions are similar but share little evidence. A submission
with little code of its own cannot be compared.

copydetect computes fingerprints of a submission's text in two views. Structure: names become one
letter and comments are removed, so that a copy with other names is equal. Wording: the text without
white space, so that a copy with its comments is equal.

copydetect thins out fingerprints by Python's string hashes, which differ from process to process. A
window of 1 keeps all of them, so that the same class always gives the same result.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import combinations
from typing import Any, Literal

import numpy as np

from grader import dataclass, regex
from grader.faults import MachineFault, install_command

View = Literal["structure", "wording"]
VIEWS: tuple[View, ...] = ("structure", "wording")

FINGERPRINT_LENGTH = 25
"""Characters of one fingerprint in a view: copydetect's default, about one statement of a kernel.
Shorter matches are not detected."""

MIN_EVIDENCE: Mapping[View, int] = {"structure": 80, "wording": 120}
"""Characters of evidence that a pair must share, about three statements. Two students who fill the
same gap independently share less."""

THRESHOLDS: Mapping[View, float] = {"structure": 0.9, "wording": 0.5}
"""The share of one side's evidence that the other must have. Structure ignores names, so nearly all
of it must be shared; for wording, half of it is enough."""

COMMON_COUNT = 3
COMMON_SHARE = 0.1
"""Code that more than COMMON_COUNT submissions, and more than this share of the class, have in
common is no evidence."""

SMALL_CLASS = 10
SMALL_CLASS_THRESHOLDS: Mapping[View, float] = {"wording": 1.0}
"""A smaller class does not show which code is common: students of one teacher choose the same
names. There only submissions of which one contains the other are reported."""


_LONG_BLANK = regex(r"\s{9,}")


@dataclass(frozen=True)
class Fingerprints:
    """The fingerprints of one text in one view.

    `places` maps a fingerprint to its positions in the filtered text; `lines` has the source line,
    from 1, of each filtered character.
    """

    places: Mapping[int, tuple[int, ...]]
    lines: tuple[int, ...]

    def covered(self, hashes: Set[int]) -> tuple[range, ...]:
        """Return the ranges of filtered characters that these fingerprints cover, in order."""
        starts = sorted(at for key in hashes & self.places.keys() for at in self.places[key])
        stretches: list[range] = []
        for at in starts:
            begin = at
            if stretches and at <= stretches[-1].stop:
                begin = stretches.pop().start
            stretches.append(range(begin, at + FINGERPRINT_LENGTH))
        return tuple(stretches)

    def lines_of(self, stretches: Iterable[range]) -> frozenset[int]:
        """Return the source lines of these filtered characters."""
        return frozenset(self.lines[at] for stretch in stretches for at in stretch)


def fingerprints(text: str, view: View) -> Fingerprints:
    """Return the fingerprints of a source text.

    Raw strings are read as plain ones, because the lexer searches the whole text for their ends,
    and long blanks as short ones, because it tries a blank's every end.

    Raises:
        MachineFault: copydetect is not installed.
    """
    if view == "structure":
        kept, source = _with_short_blanks(text.replace('R"', ' "'))
        result = _fingerprint(kept, view)
        found = _source_positions(result.offsets, len(result.filtered_code), len(kept))
        positions = [source[at] for at in found]
    else:
        result = _fingerprint("".join(text.split()), view)
        positions = [at for at, character in enumerate(text) if not character.isspace()]
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    return Fingerprints(
        places={int(k): tuple(map(int, at)) for k, at in result.hash_idx.items()},
        lines=tuple(bisect_right(starts, at) for at in positions),
    )


def _with_short_blanks(text: str) -> tuple[str, list[int]]:
    """Return the text with each long blank as one character, and each character's position."""
    parts: list[str] = []
    source: list[int] = []
    at = 0
    for blank in _LONG_BLANK.finditer(text):
        parts += [text[at : blank.start()], "\n" if "\n" in blank[0] else " "]
        source += range(at, blank.start() + 1)
        at = blank.end()
    return "".join([*parts, text[at:]]), [*source, *range(at, len(text))]


def _fingerprint(text: str, view: View) -> Any:
    try:
        from copydetect import CodeFingerprint
    except ModuleNotFoundError as missing:
        raise MachineFault(
            f"cannot compare submissions: the Python package {missing.name} is missing",
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
    """Return the position in the text of each filtered character.

    copydetect reports how many characters it dropped before each place where it dropped some.
    """
    if not len(offsets):
        return list(range(length))
    dropped = offsets[np.clip(np.searchsorted(offsets[:, 0], range(length)), 0, len(offsets) - 1)]
    return [min(at + int(more), most - 1) for at, more in enumerate(dropped[:, 1])]


@dataclass(frozen=True)
class Match:
    """What two submissions share in one view.

    `shared` counts characters of evidence, `share` is the larger of the two sides' shares, `first`
    and `second` are the source lines.
    """

    shared: int = 0
    share: float = 0.0
    first: frozenset[int] = frozenset()
    second: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Pair:
    """Two submissions by name, in alphabetical order, and what they share in each view.

    `reasons` are the views in which the pair needs review.
    """

    first: str
    second: str
    matches: Mapping[View, Match]
    reasons: tuple[View, ...]

    @property
    def weight(self) -> tuple[float, int]:
        """The sort key of pairs: the largest share among the reasons, then the amount."""
        matches = [self.matches[view] for view in self.reasons]
        return max(m.share for m in matches), max(m.shared for m in matches)


@dataclass(frozen=True)
class SimilarityReport:
    """The result for a class.

    `pairs` need review, the most similar first; `thin` names the submissions with too little code
    of their own to compare.
    """

    submissions: int
    pairs: tuple[Pair, ...]
    thin: tuple[str, ...]


def compare(
    texts: Mapping[str, str], known: Iterable[str],
    together: Collection[frozenset[str]] = frozenset(),
) -> SimilarityReport:  # fmt: skip
    """Compare the submissions of a class.

    Args:
        texts: The submissions by name.
        known: Texts that all students had or were led to: skeleton, baseline and solution.
        together: Pairs of names that may share code: they are no pairs of the report, and what a
            group shares counts once for how common it is.

    Raises:
        MachineFault: copydetect is not installed.
    """
    given = tuple(known)
    group = _groups(texts, together)
    own = {view: _evidence(texts, given, view, group) for view in VIEWS}
    thresholds = THRESHOLDS if len(texts) >= SMALL_CLASS else SMALL_CLASS_THRESHOLDS
    found = (pair for pair in _candidates(own) if frozenset(pair) not in together)
    candidates = (_pair(a, b, own, thresholds) for a, b in found)
    pairs = sorted((pair for pair in candidates if pair.reasons), key=lambda p: (p.first, p.second))
    pairs.sort(key=lambda pair: pair.weight, reverse=True)
    thin = (n for n in sorted(texts) if all(_amount(own[v][n]) < MIN_EVIDENCE[v] for v in VIEWS))
    return SimilarityReport(len(texts), tuple(pairs), tuple(thin))


def _groups(
    texts: Mapping[str, str], together: Collection[frozenset[str]]
) -> Mapping[str, str]:  # fmt: skip
    """Return for each name the first of those with whom it shares code, also through others."""
    first = {name: name for name in texts}
    for _ in texts:
        before = dict(first)
        for pair in together:
            known = [first[name] for name in pair if name in first]
            first |= {name: min(known) for name in pair if name in first}
        if first == before:
            break
    return first


def _evidence(
    texts: Mapping[str, str], known: Sequence[str], view: View, group: Mapping[str, str]
) -> dict[str, Fingerprints]:
    """Return each text's evidence: the fingerprints that are neither known nor common."""
    every = {name: fingerprints(text, view) for name, text in texts.items()}
    given = {key for text in known for key in fingerprints(text, view).places}
    holders = {(key, group[name]) for name, one in every.items() for key in one.places}
    held = Counter(key for key, _ in holders)
    most = max(COMMON_COUNT, int(COMMON_SHARE * len(texts)))
    return {
        name: Fingerprints(
            {k: at for k, at in one.places.items() if k not in given and held[k] <= most}, one.lines
        )
        for name, one in every.items()
    }


def _candidates(own: Mapping[View, Mapping[str, Fingerprints]]) -> list[tuple[str, str]]:
    """Return the pairs that share any evidence."""
    together: set[tuple[str, str]] = set()
    for view in own.values():
        holders: dict[int, list[str]] = {}
        for name in sorted(view):
            for key in view[name].places:
                holders.setdefault(key, []).append(name)
        for names in holders.values():
            together.update(combinations(names, 2))
    return sorted(together)


def _pair(
    first: str,
    second: str,
    own: Mapping[View, Mapping[str, Fingerprints]],
    thresholds: Mapping[View, float],
) -> Pair:
    matches = {view: _match(own[view][first], own[view][second]) for view in VIEWS}
    reasons = tuple(
        view
        for view, threshold in thresholds.items()
        if matches[view].shared >= MIN_EVIDENCE[view] and matches[view].share >= threshold
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
    """Return the characters of evidence in total."""
    return _length(one.covered(one.places.keys()))


def _length(stretches: Iterable[range]) -> int:
    return sum(map(len, stretches))
