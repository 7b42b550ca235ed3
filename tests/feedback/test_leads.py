"""Clues of a source, and leads from the effect of a mistake to its line."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from grader.authoring.mutation.study import submission_of
from grader.compile.signature import with_lab_kernels
from grader.compile.source import compile_source
from grader.feedback.edits import read_source
from grader.feedback.evidence import find_clues, find_leads
from grader.feedback.grade import grade
from grader.labs.reading import load_lab
from grader.launch import Finding
from tests.feedback.mistakes import solution_of
from tests.feedback.test_edits import HEAD, HOSTILE


def clues_of(source: str, lab: str) -> list[tuple[str, int]]:
    """The clues of a source, which is compiled as a submission is."""
    held = load_lab(lab)
    program = with_lab_kernels(compile_source(source.encode(), "a.cu"), held.kernels)
    return [(clue.kind, clue.line) for clue in find_clues(program, held)]


def test_an_empty_body_and_the_order_of_parameters_are_clues() -> None:
    text = solution_of(load_lab("vector-add"))
    inputs = "const float* a, const float* b"
    ordered = text.replace(f"{inputs}, float* c", f"float* c, {inputs}")
    assert clues_of(text, "vector-add") == []
    assert clues_of(ordered, "vector-add") == [("wrong-order", 6)]
    assert clues_of(text.replace("if (i < n)", "if (i < n);"), "vector-add") == [("empty-body", 9)]
    waits = text.replace("    if (i < n)", "    while (i < 0);\n    if (i < n)")
    assert clues_of(waits, "vector-add") == []


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ('if (0) printf("%d", n);', []),
        ('if (0) { printf("%d", n); }', []),
        ("while (1) { if (i > n) break; ++i; }", []),
        ("do { ++i; } while (0);", []),
        ("if (1) { ++i; }", ["constant-condition"]),
        ("C[i] = 0 ? 1 : 2;", ["constant-condition"]),
        ("unsigned u = n;\n    if (u >= 0) { ++i; }", ["constant-condition"]),
        ("unsigned u = n;\n    if (u >= 0 && u < n) { ++i; }", []),
    ],
)
def test_a_constant_condition_that_decides_nothing_is_no_clue(text: str, kinds: list[str]) -> None:
    """A pointless part of a condition, output for debugging and endless loops are usual."""
    kernel = f"{HEAD}    int i = threadIdx.x;\n    {text}\n    C[i] = A[i] + n;\n}}\n"
    program = compile_source(f'#include <cstdio>\nextern "C" {kernel}'.encode(), "a.cu")
    clues = find_clues(program, load_lab("tiled-matmul"))
    assert [clue.kind for clue in clues if clue.kind == "constant-condition"] == kinds


FLAT = Finding("wrong-output", "error", "2 elements are wrong", line=12, variable="C")
LEADS = """\
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ float tile[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n) return;
    float* part = tile;
    part[threadIdx.x] = A[i];
    float sum = 0.0f, copy = 0.0f;
    for (int k = 0; k < n; ++k) {
        sum += A[k] * B[k];
    }
    copy = sum;
    C[i] = (float)copy;
    C[i] = A[i] * 2.0f;
}
"""


@pytest.mark.parametrize(
    ("kind", "line", "lines", "expected"),
    [
        ("wrong-output", 13, (), [("wrong-value", 10, "sum")]),
        ("wrong-output", 14, (), []),
        ("wrong-output", 14, (4,), [("line-at-fault", 4, "")]),
        ("wrong-output", 14, (4, 5), []),
        ("unwritten-output", 13, (), [("selecting-condition", 5, "")]),
        ("unwritten-output", 1, (), [("selecting-condition", 5, "")]),
        ("uninitialized-read", 10, (), [("incomplete-store", 7, "tile")]),
        ("race", 13, (4,), []),
        ("invalid-access", 13, (4,), [("line-at-fault", 4, "")]),
        ("invalid-access", 13, (), []),
    ],
)
def test_an_effect_without_a_fix_leads_to_a_line(
    kind: str, line: int, lines: tuple[int, ...], expected: list[tuple[str, int, str]]
) -> None:
    variable = "tile" if kind == "uninitialized-read" else "C"
    finding = replace(FLAT, kind=kind, line=line, variable=variable)
    leads = find_leads(read_source(LEADS, load_lab("tiled-matmul")), [finding], lines)
    assert [(lead.kind, lead.line, lead.name) for lead in leads] == expected


def test_leads_of_broken_texts_are_found_in_bounded_time() -> None:
    lab = load_lab("tiled-matmul")
    for opened, closed in HOSTILE.values():
        source = read_source(HEAD + opened * 900 + closed * 900 + "}", lab)
        started = time.process_time()
        for kind in ("wrong-output", "unwritten-output", "uninitialized-read"):
            find_leads(source, [replace(FLAT, kind=kind, line=2, variable="A")], ())
        assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("lab", "old", "new", "line"),
    [
        ("constant-convolution", "#define RADIUS 2", "#define RADIUS 3", 7),
        ("constant-convolution", "mask[SIDE][SIDE]", "mask[SIDE]", 0),
        ("constant-convolution", "mask[SIDE][SIDE]", "mask[SIDE][5 - 1]", 0),
        ("sgemm-ladder", "#define MINE 8", "#define MINE 7", 9),
    ],
)
def test_sizes_that_do_not_compile_lead_to_their_constant(
    lab: str, old: str, new: str, line: int
) -> None:
    held = load_lab(lab)
    made = grade(held, submission_of(held, solution_of(held).replace(old, new)), threads=1)
    assert made.score.points == 0
    first = made.causes[0]
    assert (first.line if first.kind == "wrong-constant" else 0) == line
