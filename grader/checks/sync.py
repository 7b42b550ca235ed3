"""The sync check: data races and divergent barriers."""

from __future__ import annotations

from grader import dataclass
from grader.checks.findings import evaluate_findings
from grader.checks.result import CheckOptions, Dependency, Evidence, Verdict

KINDS = ("race", "lost-update", "barrier-divergence")
DEPENDS: Dependency | None = Dependency("output", "one", runs_anyway=True)


@dataclass(frozen=True)
class Options(CheckOptions):
    """The sync check takes no options."""


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """Every access to shared data is ordered, and every barrier is reached by all threads."""
    return evaluate_findings(evidence, KINDS, "no race, no divergent barrier")
