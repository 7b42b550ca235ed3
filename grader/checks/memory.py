"""The memory check: out-of-bounds accesses and reads of uninitialized memory."""

from __future__ import annotations

from grader import dataclass
from grader.checks.findings import evaluate_findings
from grader.checks.result import CheckOptions, Dependency, Evidence, Verdict

KINDS = ("invalid-access", "uninitialized-read")
DEPENDS: Dependency | None = Dependency("output", "one", runs_anyway=True)


@dataclass(frozen=True)
class Options(CheckOptions):
    """The memory check takes no options."""


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """Every access stays inside its buffer, and nothing is read before it is written."""
    return evaluate_findings(evidence, KINDS, "no access out of bounds, no uninitialized read")
