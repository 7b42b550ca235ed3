"""What the grader really says to a wrong kernel of the solutions' folder."""

from __future__ import annotations

import re
from dataclasses import replace

from grader.fault import LabFault
from grader.gate.lab import lab_folder, wrong_twin_kind
from grader.grade import grade
from grader.lab import Lab
from grader.launch import Finding
from grader.report.finding import finding_text, in_order
from grader.submission import read_submission

WIDTH = 84
AT_FAULT = re.compile(r"(look at line \d+), `.*`:")
"""How a hint repeats the line at fault."""


def message(lab: Lab, twin: str) -> str:
    """The finding that `solutions/<lab>/wrong/<twin>.cu` draws, as a student reads it, without the
    lines of source: they are nearly a solution's. Raises LabFault."""
    path = lab_folder(lab).solutions / "wrong" / f"{twin}.cu"
    made = grade(lab, read_submission(path))
    kind = wrong_twin_kind(path.name)
    drawn = [f for check in made.checks for f in check.findings if f.kind == kind]
    if not drawn:
        raise LabFault(f"the wrong twin draws no {kind}", where=str(path))
    return finding_text(_bare(in_order(drawn)[0], f"{lab.name}.cu"), WIDTH).plain


def _bare(finding: Finding, file: str) -> Finding:
    other = replace(finding.other, text="") if finding.other else None
    hint = AT_FAULT.sub(r"\1:", finding.hint)
    return replace(finding, text="", column=0, file=file, other=other, hint=hint)
