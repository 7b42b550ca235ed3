"""Kernels with one mistake each: the line at fault is found, and nothing else is told."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from grader.compile.source import compile_source
from grader.feedback import ptx_search as search
from grader.feedback.ptx_search import Due, Patched, Search, first_stores
from grader.grading.run import search_fault_lines
from grader.launch import Array, LastStore, Launch, Scalar
from grader.simulator.core.bindings import core
from grader.simulator.ptx.parser import parse

KERNEL = """\
#define TILE 4
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    int phases = (k + TILE - 1) / TILE;
    for (int phase = 0; phase < phases; ++phase) {
        int a_col = phase * TILE + tx;
        int b_row = phase * TILE + ty;
        As[ty][tx] = (row < m && a_col < k) ? A[row * k + a_col] : 0.0f;
        Bs[ty][tx] = (b_row < k && col < n) ? B[b_row * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) {
            sum += As[ty][i] * Bs[i][tx];
        }
        __syncthreads();
    }
    if (row < m && col < n) {
        C[row * n + col] = sum;
    }
}
"""
MISTAKES = [
    ("blockIdx.y * TILE + ty", "blockIdx.x * TILE + ty"),
    ("blockIdx.x * TILE + tx", "blockIdx.x * TILE + tx + 1"),
    ("sum = 0.0f", "sum = 1.0f"),
    ("(k + TILE - 1) / TILE", "k / TILE"),
    ("int phase = 0", "int phase = 1"),
    ("a_col = phase * TILE + tx", "a_col = phase + TILE + tx"),
    ("b_row = phase * TILE + ty", "b_row = phase * TILE + tx"),
    ("row < m && a_col < k", "row < m || a_col < k"),
    ("A[row * k + a_col]", "A[row * n + a_col]"),
    ("Bs[ty][tx] =", "Bs[tx][ty] ="),
    ("i < TILE; ++i", "i < TILE - 1; ++i"),
    ("sum += As", "sum -= As"),
    ("sum += As", "sum = As"),
    ("if (row < m && col < n)", "if (row < m - 1 && col < n)"),
    ("C[row * n + col]", "C[col * n + row]"),
    ("= sum;", "= sum + 1.0f;"),
]
SIZES = ((5, 7, 9), (4, 4, 4), (9, 6, 5))


def due(m: int, n: int, k: int) -> Due:
    draw = np.random.default_rng(m * n * k)
    a, b = (draw.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    args = (
        Array("A", a.shape, "float32", a), Array("B", b.shape, "float32", b),
        Array("C", (m, n), "float32", read_back=True),
        *(Scalar(name, size, "int32") for name, size in (("m", m), ("n", n), ("k", k))),
    )  # fmt: skip
    right = (a.astype(np.float64) @ b, np.zeros((m, n)))
    launch = Launch("matmul", ((n + 3) // 4, (m + 3) // 4, 1), (4, 4, 1), args, name=f"{m}x{n}x{k}")
    return Due(launch, {2: right})


def looked(source: str, threads: int = 1) -> Search:
    program = compile_source(source.encode(), "matmul.cu")
    patched = Patched(parse(program.debug_ptx), "matmul", core())
    return Search(patched, [due(*size) for size in SIZES], threads)


def changed(old: str, new: str) -> tuple[str, int]:
    """The kernel with a mistake, and its line."""
    assert KERNEL.count(old) == 1, old
    source = KERNEL.replace(old, new)
    rows = zip(KERNEL.splitlines(), source.splitlines(), strict=True)
    return source, next(at for at, (a, b) in enumerate(rows, 1) if a != b)


@pytest.mark.parametrize(("old", "new"), MISTAKES, ids=[new for _, new in MISTAKES])
def test_one_mistake(old: str, new: str) -> None:
    source, line = changed(old, new)
    told = looked(source).lines()
    assert any(abs(at - line) <= 1 for at in told)
    assert len(told) <= 2  # of a tile that is stored transposed, the loads may be too


def test_a_right_kernel_is_not_tried() -> None:
    assert looked(KERNEL).lines() == ()


def test_of_two_mistakes_neither_is_told() -> None:
    source, _ = changed("sum = 0.0f", "sum = 1.0f")
    assert looked(source.replace("= sum;", "= 2.0f * sum;")).lines() == ()


def test_a_missing_barrier_is_no_lines_fault() -> None:
    source = KERNEL.replace("        __syncthreads();\n    }\n    if", "    }\n    if")
    assert source != KERNEL
    assert looked(source).lines() == ()


def test_the_same_for_any_number_of_threads() -> None:
    source, _ = changed("a_col = phase * TILE + tx", "a_col = phase + TILE + tx")
    assert looked(source, threads=1).lines() == looked(source, threads=3).lines() != ()


def test_it_ends_after_so_many_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = changed("= sum;", "= sum + 1.0f;")
    monkeypatch.setattr(search, "STEPS", 0)
    monkeypatch.setattr(search, "CHUNK", 1)
    assert looked(source).lines() == ()


def test_who_stored_the_first_wrong_element() -> None:
    source, line = changed("= sum;", "= sum + (blockIdx.x == 1 ? 1.0f : 0.0f);")
    found = looked(source)
    stored: Mapping[int, LastStore] = first_stores(found.patched.image, found.ran[0])
    assert found.ran[0].due.launch.name == "5x7x9"
    assert stored == {2: LastStore(4, line, (1, 0, 0), (0, 0, 0))}


def test_nobody_is_told_of_more_stores_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = changed("= sum;", "= sum + 1.0f;")
    monkeypatch.setattr(search, "MOST_STORES", 4 * 4 - 1)
    monkeypatch.setattr("grader.feedback.ptx_search.MOST_STORES", 4 * 4 - 1)
    found = looked(source)
    assert {r.raw.traced for r in found.ran} == {m * n for m, n, _ in SIZES}
    assert not any(first_stores(found.patched.image, ran) for ran in found.ran)


def test_nobody_stored_what_was_never_written() -> None:
    found = looked(changed("row < m && col < n)", "row < m && col < n && row)")[0])
    assert first_stores(found.patched.image, found.ran[0]) == {}


def test_through_the_box() -> None:
    source, line = changed("int phase = 0", "int phase = 1")
    program = compile_source(source.encode(), "matmul.cu")
    kernel = program.kernel("matmul")
    assert kernel is not None
    dues = [due(*size) for size in SIZES]
    localization = search_fault_lines(program, kernel, [(d.launch, d.right) for d in dues], 1)
    assert set(localization.lines) == {d.launch.name for d in dues}
    assert all(lines == (line,) or lines == (line - 1,) for lines in localization.lines.values())
    assert {name for name, _ in localization.stored} == set(localization.lines)
