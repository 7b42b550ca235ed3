"""Every mutant that a lab calls equivalent earns what the solution does.

A check that takes points from one is unfair. `grader labs check` finds it among all mutants; here
are those of the labs whose mutants `make test` leaves out.
"""

from __future__ import annotations

import pytest

from grader.authoring.mutation.mutants import make_mutants
from grader.authoring.mutation.report import REASONS_FILE, Reasons
from grader.authoring.mutation.study import evaluate_mutant, profile_solution
from grader.grading.pipeline import RunOptions
from grader.labs.files import read_document
from grader.labs.reading import load_lab
from tests.command import ROOT

FILES = sorted((ROOT / "solutions").glob(f"*/{REASONS_FILE}"))
LABS = [path.parent.name for path in FILES if path.parent.name != "tiled-matmul"]


@pytest.mark.parametrize("name", LABS)
def test_mutants_with_a_reason_survive(name: str) -> None:
    folder = ROOT / "solutions" / name
    source = (folder / f"{name}.cu").read_text()
    profile = profile_solution(load_lab(name), source, RunOptions("sim", threads=1))
    entries = read_document(folder / REASONS_FILE, Reasons).model.mutants
    named = {(entry.operator, entry.line, entry.change) for entry in entries}
    mutants = [m for m in make_mutants(source) if (m.operator, m.was, m.change) in named]
    assert {(m.operator, m.was, m.change) for m in mutants} == named
    outcomes = {m.name: evaluate_mutant(profile, m.source) for m in mutants}
    assert {name: v for name, v in outcomes.items() if v.outcome != "survived"} == {}
