"""What `sync` and `memory` share: errors of some kinds, in any case, fail the check."""

from __future__ import annotations

from collections.abc import Collection

from grader.check.findings import of_kinds
from grader.check.result import Evidence, Verdict


def watched(evidence: Evidence, kinds: Collection[str], clean: str) -> Verdict:
    """`fail` with the findings when any case drew an error of `kinds`, or did not run to its end
    (nothing then shows that the rest of it is sound); else `pass`, with what is worth a warning.
    """
    runs = [run for run in evidence.watched if run.launched]
    findings = of_kinds(runs, kinds)
    total = len(runs)
    struck = [r for r in runs if any(f.kind in kinds for f in r.errors)]
    if struck:
        seen = {f.kind for r in struck for f in r.errors}
        found = ", ".join(kind for kind in kinds if kind in seen)
        return Verdict("fail", f"{found} in {len(struck)} of {total} cases", findings=findings)
    stopped = sum(not run.trace.ended for run in runs)
    if stopped or not total:
        what = f"{stopped} of {total} cases did not run to the end: cannot be judged clean"
        return Verdict("fail", what, findings=findings)
    return Verdict("pass", clean, share=1.0, findings=findings)
