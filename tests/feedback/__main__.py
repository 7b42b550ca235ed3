"""`python -m tests.feedback`: what reports say of known mistakes.

Grades every mistake of `mistakes/*.yaml`, prints those whose first cause is wrong, then how often
it is right, how many causes are shown, how often a fix is confirmed, and how many of these fixes do
not hold in all cases. Ends with 1 when a goal is missed.

With `--mutants`, the mutants of the labs' solutions and the labs' incorrect variants in place of
those mistakes. Those with full points in the public cases, which are right or wrong in hidden cases
alone, have no error to report, so they count apart.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from statistics import median

from tests.feedback.mistakes import (
    Outcome,
    examine,
    read_mistakes,
    read_mutants,
    read_variants,
)

RIGHT, CONFIRMED, SHOWN, MOST_SHOWN = 0.95, 0.80, 1, 3


def main() -> int:
    """Examine the mistakes whose lab or name contains a word of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only mistakes whose lab/name contains one")
    parser.add_argument("--jobs", type=int, default=2, help="mistakes graded at the same time")
    parser.add_argument("--all", action="store_true", help="print the right ones too")
    parser.add_argument("--mutants", action="store_true", help="mutants and incorrect variants")
    parser.add_argument("--diffs", action="store_true", help="print the fixes that undo no mistake")
    parser.add_argument("--sample", type=int, help="so many of them, drawn with the seed 15")
    options = parser.parse_args()
    known = (*read_mutants(), *read_variants()) if options.mutants else tuple(read_mistakes())
    chosen = [
        mistake
        for mistake in known
        if not options.words
        or any(word in f"{mistake.lab}/{mistake.name}" for word in options.words)
    ]
    if options.sample and options.sample < len(chosen):
        chosen = Random(15).sample(chosen, options.sample)
    outcomes = []
    threads = 1 if options.jobs > 1 else None
    with ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(partial(examine, threads=threads), chosen):
            outcomes.append(outcome)
            if options.all or not outcome.is_right or not outcome.fix or not outcome.fix_holds:
                print(describe(outcome), flush=True)
            if options.diffs and outcome.fix and outcome.mistake.right and not outcome.is_undone:
                print(f"{outcome.mistake.lab}/{outcome.mistake.name}: {outcome.fix.kind}")
                print(outcome.fix.diff, flush=True)
    return report(outcomes)


def describe(outcome: Outcome) -> str:
    """One line of an outcome."""
    mistake, first, fix = outcome.mistake, outcome.first, outcome.fix
    words = [
        "right" if outcome.is_right else "WRONG" if first else "no error",
        "no fix" if fix is None else "fix" if outcome.fix_holds else "WRONG FIX",
        f"{mistake.lab}/{mistake.name}:",
        f"{first.kind} in line {first.line}" if first else "nothing",
    ]
    if first and not outcome.is_right:
        lines = ", ".join(map(str, sorted(mistake.lines)))
        words.append(f"for {' or '.join(sorted(mistake.causes)) or 'any'} in line {lines}")
    trials, seconds = outcome.graded.explanation.trials, outcome.graded.provenance.seconds
    return " ".join(words) + f" ({outcome.shown} shown, {trials} trials, {seconds:.1f} s)"


def report(every: Sequence[Outcome]) -> int:
    """Print the summary; 1 when a goal is missed."""
    outcomes = [o for o in every if o.first is not None]
    if len(outcomes) < len(every):
        print(f"{len(every) - len(outcomes)} without an error in a public case")
    count = max(1, len(outcomes))
    right = sum(o.is_right for o in outcomes) / count
    confirmed = sum(o.fix is not None for o in outcomes) / count
    wrong = sum(not o.fix_holds for o in outcomes)
    shown = [min(o.shown, 99) for o in outcomes]
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(u.ru_utime + u.ru_stime for u in used)
    print(f"{len(outcomes)} mistakes, {seconds / count:.2f} s of processor time each")
    print(f"cause first and right  {right:.1%}  (goal {RIGHT:.0%})")
    print(f"findings shown         median {median(shown):g}, most {max(shown)}  (goal 1 and 3)")
    print(f"confirmed fixes        {confirmed:.1%}  (goal {CONFIRMED:.0%})")
    undone = [o.is_undone for o in outcomes if o.fix is not None and o.mistake.right]
    print(f"fixes that undo it     {sum(undone) / max(1, len(undone)):.1%}")
    print(f"wrong fixes reported   {wrong}  (goal 0)")
    missed = right < RIGHT or confirmed < CONFIRMED or wrong
    return int(bool(missed) or median(shown) > SHOWN or max(shown) > MOST_SHOWN)


if __name__ == "__main__":
    raise SystemExit(main())
