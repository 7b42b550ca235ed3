"""python -m bench.readers: how the time of everything that reads a student's text grows.

For each reader of `tests/test_readers.py` and `tests/compile/test_scaling.py` the processor time of
a text and of one eight times as long, for every kind of text there, and the exponent of the growth.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping

from tests.compile import test_scaling
from tests.linear import LONGER, Reader, seconds
from tests.test_readers import GROUPS, YAML_READERS, YAML_TEXTS, text_of

MOST = 1.1
LONG = 160_000
"""Characters of the longer text; an answer sheet has at most 64 KiB."""

LONG_YAML = 64_000
LEAST = 0.05
"""Seconds of the longer text below which the exponent is that of constants and of noise."""

RUNS = 3
ATTEMPTS = 4
Texts = dict[str, tuple[str, str]]


def fastest(reader: Reader, text: str) -> float:
    """The least processor time of several readings."""
    return min(seconds(reader, text) for _ in range(RUNS))


def growth(reader: Reader, texts: Texts, long: int) -> tuple[float, float, str]:
    """The largest exponent over all texts, the longest time, and the text of the exponent."""
    worst, longest, of = 0.0, 0.0, ""
    for name in texts:
        long_text, short_text = (text_of(texts, name, n) for n in (long, long // LONGER))
        taken = seconds(reader, long_text)
        longest = max(longest, taken)
        if taken >= LEAST:
            worst, of = max((worst, of), (exponent(reader, long_text, short_text), name))
    return worst, longest, of


def exponent(reader: Reader, long: str, short: str) -> float:
    """The exponent for one kind of text; the least of several, as other processes disturb it."""
    least = math.inf
    for _ in range(ATTEMPTS):
        least = min(least, math.log(fastest(reader, long) / fastest(reader, short), LONGER))
        if least <= MOST:
            break
    return least


def main() -> int:
    """Print the table; 1 where an exponent is larger than the goal."""
    groups: dict[str, tuple[Mapping[str, Reader], Texts, int]] = {
        "source": (test_scaling.READERS, test_scaling.TEXTS, LONG),
        **{name: (*group, LONG) for name, group in GROUPS.items()},
        "yaml": (YAML_READERS, YAML_TEXTS, LONG_YAML),
    }
    missed = 0
    print(f"{'reader':<52} {'exponent':>8} {'seconds':>8}  text with that exponent")
    for group, (readers, texts, long) in groups.items():
        for name, reader in readers.items():
            worst, longest, of = growth(reader, texts, long)
            missed += worst > MOST
            shown = f"{worst:8.2f}" if of else f"{'-':>8}"
            print(f"{group + ' ' + name:<52} {shown} {longest:8.3f}  {of}", flush=True)
    print(f"{missed} above {MOST}; - : less than {LEAST} s for every text of {LONG} characters")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
