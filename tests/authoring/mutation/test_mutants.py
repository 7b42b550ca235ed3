"""Mutants of whole files: named, one edit each, no duplicates, reproducible."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.authoring.mutation.mutants import Mutant, make_mutants, operators
from grader.compile.syntax import parse

SOLUTIONS = sorted((Path(__file__).parents[3] / "solutions").glob("*/*.cu"))
LEAST_ON_AVERAGE = 25

SOURCE = """\
// 1 < 2: a comment is no code, and \u00e4 takes two bytes
#define TILE 16
__global__ void f(float* a, int n)
{
    int i = blockIdx.x * TILE + threadIdx.x;
    if (i < n) {
        a[i] = 1.0f;
    }
    __syncthreads();
}
"""


def differs(mutant: Mutant, source: str) -> str:
    """The part of the source between the common beginning and the common end."""
    old, new = source.encode(), mutant.source.encode()
    start = next(i for i in range(len(old)) if old[: i + 1] != new[: i + 1])
    back = next(i for i in range(1, len(old)) if old[-i:] != new[-i:]) - 1
    return old[start : max(start, len(old) - back)].decode(errors="replace")


def test_mutants_have_names_and_lines() -> None:
    made = make_mutants(SOURCE)
    rows = {mutant.name: (mutant.was, mutant.now) for mutant in made}
    assert rows["constant-2-1"] == ("#define TILE 16", "#define TILE 17")
    assert rows["constant-2-2"] == ("#define TILE 16", "#define TILE 15")
    assert rows["comparison-6-1"] == ("if (i < n) {", "if (i <= n) {")
    assert rows["guard-6-2"] == ("if (i < n) {", "if (false) {")
    assert rows["barrier-removed-9-1"] == ("__syncthreads();", ";")
    assert rows["barrier-moved-9-1"] == ("__syncthreads();", "")  # the edit changes several lines
    assert [mutant.line for mutant in made] == sorted(mutant.line for mutant in made)
    assert not any(mutant.line == 1 for mutant in made)


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_mutants_of_every_lab_are_distinct_and_small(path: Path) -> None:
    source = path.read_text()
    assert not parse(source).has_error
    made = make_mutants(source)
    assert made == make_mutants(source)
    assert len({mutant.source for mutant in made} | {source}) == len(made) + 1
    assert len({mutant.name for mutant in made}) == len(made)
    for mutant in made:
        assert re.fullmatch(rf"{mutant.operator}-{mutant.line}-[0-9]+", mutant.name)
        assert mutant.operator in operators()
        assert source.splitlines()[mutant.line - 1].strip() == mutant.was
        assert len(differs(mutant, source)) < 800  # one place, not the file


def test_solutions_have_enough_mutants() -> None:
    counts = [len(make_mutants(path.read_text())) for path in SOLUTIONS]
    assert sum(counts) >= LEAST_ON_AVERAGE * len(counts)
