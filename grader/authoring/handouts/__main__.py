"""Build the handouts: python -m grader.authoring.handouts [--out DIR] [PAGE...]."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from grader.authoring.handouts.build import INDEX, build_site
from grader.faults import Fault


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the handouts as HTML and PDF, and return the exit code."""
    parser = ArgumentParser(
        prog="python -m grader.authoring.handouts",
        description="Build the handouts as HTML and PDF pages.",
    )
    parser.add_argument(
        "pages", nargs="*", metavar="PAGE", help="pages to build, without .md (default: all pages)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/handouts"), metavar="DIR",
        help="folder to write the files to (default: build/handouts)",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    try:
        written = build_site(
            options.out, options.pages, lambda page: print(f"  {page}", flush=True)
        )
    except Fault as fault:
        print(fault, file=sys.stderr)
        return fault.exit_code
    print(f"wrote {len(written)} files; open {options.out / INDEX}.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
