"""python -m grader.authoring.handouts [--out DIR] [PAGE...]: the handouts as a site and as PDF."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from grader.authoring.handouts.build import INDEX, build_site
from grader.faults import Fault


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, and say what was written; the exit code of the fault if there is one."""
    parser = ArgumentParser(prog="python -m grader.authoring.handouts", description=main.__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="all when none is named")
    parser.add_argument("--out", type=Path, default=Path("build/handouts"), metavar="DIR")
    asked = parser.parse_args(arguments)
    try:
        written = build_site(asked.out, asked.pages, lambda page: print(f"  {page}", flush=True))
    except Fault as fault:
        print(fault, file=sys.stderr)
        return fault.exit_code
    print(f"wrote {len(written)} files; open {asked.out / INDEX}.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
