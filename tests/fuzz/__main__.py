"""`python -m tests.fuzz [--seconds N] [--seed N] [--jobs N]`: exit code 1 on any defect.

`--coverage` runs the corpus and the instruction cases on a core that counts its lines.
"""

from __future__ import annotations

import argparse
import os
import time

from tests.fuzz.build import sanitised
from tests.fuzz.runner import fuzz


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--coverage", action="store_true")
    options = parser.parse_args()
    if options.coverage:
        from tests.fuzz.coverage import measure

        return measure()
    print(f"fuzzing the core under ASan and UBSan for {options.seconds:.0f} s, seed {options.seed}")
    outcome = fuzz(sanitised(), options.seconds, options.seed, options.jobs)
    for defect in outcome.defects:
        print(defect)
    print(outcome.summary())
    return 1 if outcome.defects else 0


if __name__ == "__main__":
    raise SystemExit(main())
