"""Edits of a source: made in bounded time of any text, ranked by the findings, all different."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from grader.checks.causes import cause_kinds
from grader.compile.syntax import MAX_PIECE
from grader.feedback.edits import Edit, diff_of, is_degenerate, negated, read_source
from grader.feedback.evidence import Evidence, find_clues, list_edits
from grader.feedback.explanation import true_kind
from grader.feedback.fixes import MAX_TRIALS, doubt
from grader.feedback.idiom_edits import EDITORS as IDIOM_EDITORS
from grader.feedback.index_edits import EDITORS as INDEX_EDITORS
from grader.feedback.name_edits import EDITORS as NAME_EDITORS
from grader.feedback.statement_edits import EDITORS as STATEMENT_EDITORS
from grader.feedback.value_edits import EDITORS as VALUE_EDITORS
from grader.labs.reading import load_lab
from grader.simulator.simulate import simulate
from tests.feedback.mistakes import patched, solution_of
from tests.fuzz.corpus import read
from tests.made import a_program
from tests.simulator.test_watch import WATCH
from tests.trusted import compiled_here

EDITORS = (
    *STATEMENT_EDITORS,
    *NAME_EDITORS,
    *INDEX_EDITORS,
    *VALUE_EDITORS,
    *IDIOM_EDITORS,
)
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
    find_clues(replace(a_program(), source=text), load_lab("tiled-matmul"))
    assert time.process_time() - started < 5


def test_edits_differ_and_name_a_known_kind() -> None:
    lab = load_lab("tiled-matmul")
    source = read_source(solution_of(lab), lab)
    edits = list_edits(source, RACE, EDITORS, 10_000)
    texts = [edit.applied(source.data) for edit in edits]
    assert len(set(texts)) == len(texts) and source.text not in texts
    assert {edit.kind for edit in edits} <= set(cause_kinds())
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
        find_clues(replace(a_program(), source=broken), load_lab("tiled-matmul"))


KERNEL = """\
#define TILE 16
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ float As[TILE][TILE];
    extern __shared__ float Ds[];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * TILE + tx + 1;
    int phases = (n + TILE - 1) / TILE - 1;
    float sum = 0.0f;
    for (int p = 0; p < phases; ++p) {
        As[ty][tx] = A[ty * n + p * TILE + tx];
        __syncthreads();
        if (threadIdx.x == 0 && p >= 0) { sum += As[tx][ty] * 2.0f; }
    }
    if (col < n && ty < n) { C[ty * n + col] = sum; }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "degenerate"),
    [
        ("tx + 1", "tx * 1", True),
        ("tx + 1", "tx + 1 - 1", True),
        ("tx + 1", "(tx + 1) * 1", True),
        ("tx + 1", "tx - 1", False),
        ("(n + TILE - 1) / TILE - 1", "((n + TILE - 1) / TILE + 1) - 1", True),
        ("(n + TILE - 1) / TILE - 1", "(n + 16 - 1) / 16", False),
        ("threadIdx.x == 0", "threadIdx.x == -1", True),
        ("threadIdx.x == 0", "threadIdx.x >= 0", True),
        ("threadIdx.x == 0", "threadIdx.x == 1", False),
        ("p >= 0", "p >= 1", False),
        ("int p = 0", "int p = 0 - 1", True),
        ("int p = 0", "int p = -1", False),
        ("p < phases", "p < p", True),
        ("(col < n && ty < n)", "(col < n && col < n)", True),
        ("(col < n && ty < n)", "(ty < n && ty <= n)", True),
        ("(col < n && ty < n)", "(1)", True),
        ("(col < n && ty < n)", "(col < n || ty < n)", False),
        ("p * TILE + tx", "p * TILE / TILE + tx", True),
        ("p * TILE + tx", "(0 * TILE + tx)", True),
        ("sum = 0.0f", "sum = 1.0f", False),
    ],
)
def test_an_edit_that_nobody_means_is_recognized(old: str, new: str, degenerate: bool) -> None:
    source = read_source(KERNEL, load_lab("tiled-matmul"))
    start = KERNEL.index(old)
    assert is_degenerate(source, Edit("", 1, ((start, start + len(old), new),))) is degenerate


@pytest.mark.parametrize(
    ("kind", "old", "new", "true"),
    [
        ("wrong-number", "p < phases", "p < (phases - 1)", "wrong-condition"),
        ("wrong-number", "2.0f", "1.0f", "wrong-number"),
        ("wrong-index", "As[tx][ty] *", "As[ty][tx] *", "wrong-expression"),
        ("wrong-index", "tx + 1", "tx", "wrong-index"),
        ("wrong-index", "(n + TILE - 1) / TILE - 1", "n / TILE", "wrong-expression"),
        ("wrong-initial-value", "2.0f", "1.0f", "wrong-number"),
        ("wrong-initial-value", "0.0f", "1.0f", "wrong-initial-value"),
        ("exchanged-axes", "threadIdx.x,", "threadIdx.y,", "wrong-axis"),
        ("overlapping-arrays", "tx + 1", "tx * tx", "wrong-index"),
        (
            "overlapping-arrays",
            "extern __shared__ float Ds[];",
            "float* Ds = &As[0][0];",
            "overlapping-arrays",
        ),
        ("missing-guard", "p < phases", "p < phases && p < n", "wrong-condition"),
        ("rounded-down", "tx + 1", "(tx + 1 + TILE - 1) / TILE", "wrong-index"),
    ],
)
def test_the_kind_of_a_fix_is_true_of_its_edit(kind: str, old: str, new: str, true: str) -> None:
    source = read_source(KERNEL, load_lab("tiled-matmul"))
    start = KERNEL.index(old)
    edit = Edit(kind, 1, ((start, start + len(old), new),))
    assert true_kind(source, edit, {"wrong-output"}) == true


UNDONE = {
    "row * (n + 1)": "row * n + 1",
    "row - 1 / TILE": "(row - 1) / TILE",
    "row * n + 1": "row * (n + 1)",
    "n - row": "row - n",
    "f(row - n, col - n)": "f(row + n, col + n)",
    "row < n ? row : n": "row > n ? row : n",
    "B[n - i]; break": "B[n - i]; continue",
    "s[0] = 1; s[n] = s[0]": "s[n] = s[0]; s[0] = 1",
    "C[row] = s[n]": "if (s[n]) atomicAdd(&C[row], s[n])",
    "v.x = 1;\n        s[n] = v.y": "v.y = 1;\n        s[n] = v.x",
    "A[row * n + col]": "A[row * n + (i + col)]",
    "sum += a[i][row] * b[col][i]": "sum += a[row][i] * b[i][col]",
    "while (row * row < n)": "while ((row + 1) * (row + 1) < n)",
    "f(i * TILE, i + col)": "f(i * TILE, (i * TILE) + col)",
    "for (int p = 0; p < n; p += TILE) f(p * TILE + col, row + p * TILE)": "for (int p = 0; p < n; "
    "p += TILE) f(p + col, row + p)",
    "extern __shared__ float s[]; extern __shared__ float t[]": "extern __shared__ float s[]; "
    "float* t = s + TILE * TILE",
    "f(i / 16, i % 18)": "f(i / 18, i % 18)",
    "f(i / TILE, i % n)": "f(i / TILE, i % TILE)",
    "f(row, n, i); f(col, n, i)": "f(n, row, i); f(n, col, i)",
    "f(n - 1, row); f(i - 1, row)": "f(i - 1, row); f(n - 1, row)",
    "s[0] = A[(row + TILE) * n + col]": "s[0] = A[(row + TILE) * n + (col + TILE)]",
    "++A": "A += n",
    "B += TILE": "B += TILE * n",
    "B += i + TILE": "B += (i + TILE) * n",
    "if (row > 0 && col > 0 && row < n) f(row)": "if (row >= 0 && col >= 0 && row < n) f(row)",
    "f(2 * n * n <= max_bytes)": "f(2 * n * n * (int)sizeof(float) <= max_bytes)",
    "if (i < n) s[0] = ((float4*)A)[i].x": "if (i + 3 < n) s[0] = ((float4*)A)[i].x",
}  # fmt: skip
"""Mistakes, and what undoes them."""


@pytest.mark.parametrize("mistake", UNDONE)
def test_a_mistake_is_undone_by_one_edit(mistake: str) -> None:
    text = f"""#define TILE 16
__global__ void matmul(const float* A, const float* B, float* C, int n) {{
    int row = threadIdx.y, col = threadIdx.x;
    float4 v;
    for (int i = 0; i < n; ++i) {{
        {mistake};
    }}
}}
"""
    source = read_source(text, load_lab("tiled-matmul"))
    wrong = Evidence(frozenset({"wrong-output", "race"}), frozenset({6}))
    texts = {edit.applied(source.data) for edit in list_edits(source, wrong, EDITORS, 10_000)}
    assert text.replace(mistake, UNDONE[mistake]) in texts


@pytest.mark.parametrize(
    ("kind", "old", "new", "doubtful"),
    [
        ("wrong-index", "As[tx][ty] *", "As[ty][tx] *", 0),
        ("wrong-index", "As[ty][tx] =", "As[tx][ty] =", 2),
        ("wrong-condition", "p < phases", "p < phases && p < n", 2),
        ("wrong-number", "p < phases", "p < (phases - 1)", 1),
        ("wrong-condition", "p < phases", "p <= phases", 0),
    ],
)
def test_an_edit_against_the_usual_order_is_doubtful(
    kind: str, old: str, new: str, doubtful: int
) -> None:
    source = read_source(KERNEL, load_lab("tiled-matmul"))
    start = KERNEL.index(old)
    line = KERNEL[:start].count("\n") + 1
    seen = Evidence(frozenset({"wrong-output"}), frozenset({line}))
    assert doubt(source, Edit(kind, line, ((start, start + len(old), new),)), seen) == doubtful


def _first(source: str, lab: str, kinds: set[str], lines: set[int], new: str) -> int:
    """The place of the first edit that makes a text, among those to try."""
    read = read_source(source, load_lab(lab))
    seen = Evidence(frozenset(kinds), frozenset(lines))
    edits = list_edits(read, seen, EDITORS, MAX_TRIALS)
    return next((k for k, edit in enumerate(edits) if new in edit.applied(read.data)), MAX_TRIALS)


@pytest.mark.parametrize(
    ("lab", "old", "new", "line", "kind", "most"),
    [
        ("tiled-matmul", "#define TILE 16", "#define TILE 17", 6, "invalid-access", 6),
        ("histogram", "#define BINS 256", "#define BINS 255", 6, "invalid-access", 6),
        ("sgemm-ladder", "As[step][row + 4]", "As[step][col + 4]", 43, "wrong-output", 6),
        ("sgemm-ladder", "Bs[step][col];", "Bs[step][row];", 44, "wrong-output", 6),
        ("sgemm-ladder", "As[a_col + 1][a_row]", "As[a_row + 1][a_row]", 34, "race", 6),
        ("blur-median", "max(from_y, 0)", "max(from_y, -1)", 31, "invalid-access", 48),
        ("occupancy", "% threads == 0", "% threads == -1", 35, "wrong-output", 48),
        ("histogram", "[threadIdx.x] > 0", "[threadIdx.x] > -1", 19, "wrong-output", 48),
    ],
)
def test_the_inverse_of_a_small_slip_is_tried_early(
    lab: str, old: str, new: str, line: int, kind: str, most: int
) -> None:
    source = solution_of(load_lab(lab))
    assert source.count(old) == 1
    assert _first(source.replace(old, new), lab, {kind}, {line}, old) < most


def test_the_line_that_repairs_the_output_comes_first() -> None:
    lab = load_lab("blur-median")
    source = read_source(solution_of(lab), lab)
    seen = Evidence(frozenset({"wrong-output"}), frozenset({12, 45}), proven=12)
    edits = list_edits(source, seen, EDITORS, 6)
    assert {edit.line for edit in edits} == {12}


def test_an_axis_that_a_kernel_does_not_use_is_doubtful() -> None:
    lab = load_lab("histogram")
    source = read_source(solution_of(lab), lab)
    at = source.text.index("threadIdx.x] > 0")
    seen = Evidence(frozenset({"wrong-output"}), frozenset({19}))
    change = (at, at + len("threadIdx.x"), "threadIdx.y")
    assert doubt(source, Edit("exchanged-axes", 19, (change,)), seen) == 2


def test_the_last_term_of_a_declaration_is_offered_to_its_twin() -> None:
    lab = load_lab("constant-convolution")
    text = solution_of(lab).replace("x + i - RADIUS", "x + i")
    assert _first(text, lab.name, {"wrong-output"}, {23}, "x + i - RADIUS") < 24


def test_a_loop_from_zero_that_runs_once_more_is_doubtful() -> None:
    lab = load_lab("tiled-matmul")
    source = read_source(solution_of(lab), lab)
    at = source.text.index("< n / TILE")
    seen = Evidence(frozenset({"wrong-output"}), frozenset({19}))
    assert doubt(source, Edit("wrong-condition", 19, ((at, at + 1, "<="),)), seen) == 1
    assert doubt(source, Edit("wrong-condition", 19, ((at, at + 1, ">"),)), seen) == 0


def test_many_edits_of_one_place_do_not_hide_those_of_others() -> None:
    lab = load_lab("sgemm-ladder")
    source = read_source(solution_of(lab), lab)
    near = frozenset(range(30, 63))
    edits = list_edits(source, Evidence(frozenset({"wrong-output"}), near), EDITORS, 96)
    kinds = [(edit.kind, edit.line) for edit in edits]
    assert len({line for _, line in kinds}) > 15


@pytest.mark.parametrize(
    ("lab", "old", "constant", "new"),
    [
        ("constant-convolution", "x >= width || y >= height", "true", "!(y < height && x < width)"),
        ("dynamic-tile", "(row < m && a_col < k)", "false", "row < m && a_col < k"),
        ("histogram", "own[threadIdx.x] > 0", "true", "own[threadIdx.x] != 0"),
        ("vector-add", "i < n", "1", "i < n"),
    ],
)
def test_a_constant_condition_is_a_clue_with_a_condition_to_try(
    lab: str, old: str, constant: str, new: str
) -> None:
    held = load_lab(lab)
    text = solution_of(held)
    line = text[: text.index(old)].count("\n") + 1
    text = text.replace(old, constant, 1)
    clues = find_clues(replace(a_program(), source=text), held)
    assert (clues[0].kind, clues[0].line) == ("constant-condition", line)
    source, kinds = read_source(text, held), frozenset({"wrong-output"})
    edits = list_edits(source, Evidence(kinds, frozenset(), clues=clues), EDITORS, 4)
    changed = [change[2] for edit in edits if edit.line == line for change in edit.changes]
    assert new in changed


def test_two_added_barriers_name_both_lines_as_data() -> None:
    lab = load_lab("tiled-matmul")
    source = read_source(solution_of(lab).replace("__syncthreads();", ""), lab)
    edits = list_edits(source, RACE, EDITORS, 10_000)
    both = [edit for edit in edits if edit.kind == "missing-barriers"]
    assert both and all(not e.name and e.line < e.more[0] for e in both)


REPAIRED = {
    "old_values/message_by_relaxed_atomics": "missing-fences",
    "old_values/both_enter": "missing-fence",
    "copies/store_without_proxy_fence": "missing-proxy-fence",
}
"""Kernels of tests/watch, and the kind of the edit that repairs them."""


@pytest.mark.parametrize("name", REPAIRED)
def test_a_fence_that_is_missing_is_among_the_edits(name: str, tmp_path: Path) -> None:
    text = (WATCH / f"{name}.cu").read_text()
    source = read_source(text, load_lab("tiled-matmul"))
    edits = [e for editor in STATEMENT_EDITORS for e in editor(source)]
    launch = read(text).launch()
    clean = []
    for edit in (e for e in edits if e.kind == REPAIRED[name]):
        path = tmp_path / "k.cu"
        path.write_text(edit.applied(source.data))
        (trace,) = simulate(compiled_here(path), [launch], steps=200_000)
        clean.append(not trace.findings)
    assert any(clean) and not all(clean), clean


def test_a_declaration_of_a_variable_without_a_value_is_no_doubtful_place() -> None:
    text = """__global__ void vector_add(const float* a, const float* b, float* c, int n) {
    float sum;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { sum += a[i] + b[i]; c[i] = sum; }
}
"""
    source = read_source(text, load_lab("vector-add"))
    kinds = frozenset({"uninitialized-read", "wrong-output"})
    seen = Evidence(kinds, frozenset({4}), names=frozenset({"sum"}))
    edits = list_edits(source, seen, EDITORS, MAX_TRIALS)
    places = {edit.applied(source.data): k for k, edit in enumerate(edits)}
    start = places[text.replace("float sum;", "float sum = 0;")]
    assert start < places[text.replace("+=", "=")]
    assert doubt(source, edits[start], seen) == 0
    assert doubt(source, edits[start], replace(seen, names=frozenset())) == 1
