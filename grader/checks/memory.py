"""The memory check: accesses outside of buffers and reads of what was never written."""

from __future__ import annotations

from grader.checks.findings import watched
from grader.checks.result import CheckOptions, Dependency, Evidence, Verdict

KINDS = ("invalid-access", "uninitialized-read")
DEPENDS: Dependency | None = Dependency("output", "one", runs_anyway=True)


class Options(CheckOptions):
    """The memory check takes no options."""


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """Every access stays inside its buffer, and nothing is read before it is written."""
    return watched(evidence, KINDS, "no access out of bounds, no uninitialized read")
