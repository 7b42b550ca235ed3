"""python -m tests.model --count N --seed S: on how many kernels core and specification agree."""

from __future__ import annotations

import argparse
import sys

from tests.model.compare import compare
from tests.model.dense import Dense, Phases
from tests.model.kernels import Generator

MADE = {"patterns": Generator, "dense": Dense, "phases": Phases}


def main() -> int:
    """Compare generated kernels; return 1 when there is a difference."""
    options = argparse.ArgumentParser(prog="python -m tests.model")
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--kernels", choices=MADE, default="patterns", help="what is generated")
    options.add_argument("--show", action="store_true", help="print the PTX of each difference")
    given = options.parse_args()
    made = MADE[given.kernels]
    agree = racy = 0
    for seed in range(given.seed, given.seed + given.count):
        result = compare(made(seed).make())
        agree += result.agrees
        racy += bool(result.races)
        if not result.agrees:
            print(result, *([result.kernel.ptx] if given.show else []), sep="\n", flush=True)
    print(f"{agree} of {given.count} kernels: same verdict; {racy} of them race")
    return int(agree < given.count)


if __name__ == "__main__":
    sys.exit(main())
