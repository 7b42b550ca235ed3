"""Edits of a source: made in bounded time of any text, ranked by the findings, all different."""

from __future__ import annotations

import time
from dataclasses import replace
from random import Random

import pytest

from grader.checks.causes import CAUSE_KINDS
from grader.compile.syntax import MAX_PIECE
from grader.feedback.clues import find_clues
from grader.feedback.edits import Evidence, diff_of, list_edits, negated, read_source
from grader.feedback.fixes import MAX_TRIALS
from grader.feedback.name_edits import EDITORS as NAME_EDITORS
from grader.feedback.statement_edits import EDITORS as STATEMENT_EDITORS
from grader.feedback.value_edits import EDITORS as VALUE_EDITORS
from grader.labs.reading import load_lab
from tests.feedback.mistakes import patched, solution_of
from tests.made import a_program

EDITORS = (*STATEMENT_EDITORS, *NAME_EDITORS, *VALUE_EDITORS)
RACE = Evidence(frozenset({"race"}), frozenset({20}), frozenset())
HEAD = "__global__ void matmul(const float* A, const float* B, float* C, int n) {\n"
HOSTILE = {
    "parentheses": ("(", ")"),
    "braces": ("{", "}"),
    "conditions": ("if (n = 1) {", "}"),
    "questions": ("n ? 1 : ", "0"),
    "subscripts": ("A[", "]"),
    "sums": ("A[n * 3 + 1] + ", "1"),
    "indices": ("threadIdx.x + blockIdx.y + ", "1"),
    "barriers": ("__syncthreads();", ""),
    "returns": ("if (n) return;", ""),
    "names": ("int a = n; ", ""),
}


@pytest.mark.parametrize("shape", HOSTILE)
def test_edits_of_any_text_are_made_in_bounded_time(shape: str) -> None:
    opened, closed = HOSTILE[shape]
    count = (MAX_PIECE - 100) // len(opened + closed)
    text = f"{HEAD}{opened * count}{closed * count}}}\n"
    started = time.process_time()
    source = read_source(text, load_lab("tiled-matmul"))
    list_edits(source, RACE, EDITORS, MAX_TRIALS)
    find_clues(replace(a_program(), source=text))
    assert time.process_time() - started < 5


def test_edits_differ_and_name_a_known_kind() -> None:
    lab = load_lab("tiled-matmul")
    source = read_source(solution_of(lab), lab)
    edits = list_edits(source, RACE, EDITORS, 10_000)
    texts = [edit.applied(source.data) for edit in edits]
    assert len(set(texts)) == len(texts) and source.text not in texts
    assert {edit.kind for edit in edits} <= set(CAUSE_KINDS)
    assert edits[0].kind in ("missing-barrier", "weak-barrier", "divergent-barrier")
    for edit in edits[::40]:
        assert patched(source.text, diff_of(source, edit, "a.cu")) == edit.applied(source.data)


def test_a_negated_condition_stays_a_comparison() -> None:
    assert negated("row >= m || col >= n") == "row < m && col < n"
    assert negated("row >= m && col >= n") == "!(row >= m && col >= n)"
    assert negated("is_done(row)") == "!(is_done(row))"


def test_broken_texts_have_edits_or_none() -> None:
    """A text that the grammar does not recognize must not end the grading."""
    random = Random(15)
    lab = load_lab("boundary-matmul")
    text = solution_of(lab)
    for _ in range(60):
        start, size = random.randrange(len(text)), random.randrange(1, 12)
        other = random.choice(("", "(", "}", ";", "if", "=", "[", "&&", "for (", "__shared__"))
        broken = text[:start] + other + text[start + size :]
        source = read_source(broken, lab)
        list_edits(source, RACE, EDITORS, 50)
        find_clues(replace(a_program(), source=broken))
