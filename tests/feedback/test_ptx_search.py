"""Kernels with one mistake each: the search reports the line at fault and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from grader.compile.source import compile_source
from grader.feedback import ptx_search as search
from grader.feedback.grade import search_fault_lines
from grader.feedback.ptx_search import ExpectedRun, PatchableKernel, Search, find_first_stores
from grader.launch import Argument, Array, Launch, Scalar
from grader.simulator.core.bindings import core
from grader.simulator.exchange import LastStore
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


def expected_run(m: int, n: int, k: int) -> ExpectedRun:
    draw = np.random.default_rng(m * n * k)
    a, b = (draw.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    args: tuple[Argument, ...] = (
        Array("A", a.shape, "float32", a), Array("B", b.shape, "float32", b),
        Array("C", (m, n), "float32", read_back=True),
        *(Scalar(name, size, "int32") for name, size in (("m", m), ("n", n), ("k", k))),
    )  # fmt: skip
    right = (a.astype(np.float64) @ b, np.zeros((m, n)))
    launch = Launch("matmul", ((n + 3) // 4, (m + 3) // 4, 1), (4, 4, 1), args, name=f"{m}x{n}x{k}")
    return ExpectedRun(launch, {2: right})


def search_in(source: str, threads: int = 1) -> Search:
    program = compile_source(source.encode(), "matmul.cu")
    kernel = PatchableKernel(parse(program.debug_ptx), "matmul", core())
    return Search(kernel, [expected_run(*size) for size in SIZES], threads)


def changed(old: str, new: str) -> tuple[str, int]:
    """The kernel with a mistake, and its line."""
    assert KERNEL.count(old) == 1, old
    source = KERNEL.replace(old, new)
    rows = zip(KERNEL.splitlines(), source.splitlines(), strict=True)
    return source, next(at for at, (a, b) in enumerate(rows, 1) if a != b)


@pytest.mark.parametrize(("old", "new"), MISTAKES, ids=[new for _, new in MISTAKES])
def test_line_of_a_single_mistake_is_reported(old: str, new: str) -> None:
    source, line = changed(old, new)
    lines = search_in(source).lines()
    assert any(abs(at - line) <= 1 for at in lines)
    assert len(lines) <= 2  # of a tile that is stored transposed, the loads may be too


def test_correct_kernel_has_no_line_at_fault() -> None:
    assert search_in(KERNEL).lines() == ()


def test_two_mistakes_have_no_line_at_fault() -> None:
    source, _ = changed("sum = 0.0f", "sum = 1.0f")
    assert search_in(source.replace("= sum;", "= 2.0f * sum;")).lines() == ()


def test_missing_barrier_has_no_line_at_fault() -> None:
    source = KERNEL.replace("        __syncthreads();\n    }\n    if", "    }\n    if")
    assert source != KERNEL
    assert search_in(source).lines() == ()


def test_result_does_not_depend_on_the_number_of_threads() -> None:
    source, _ = changed("a_col = phase * TILE + tx", "a_col = phase + TILE + tx")
    assert search_in(source, threads=1).lines() == search_in(source, threads=3).lines() != ()


def test_search_stops_at_its_step_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = changed("= sum;", "= sum + 1.0f;")
    monkeypatch.setattr(search, "MAX_STEPS", 0)
    monkeypatch.setattr(search, "CHUNK", 1)
    assert search_in(source).lines() == ()


def test_store_of_the_first_wrong_element_is_found() -> None:
    source, line = changed("= sum;", "= sum + (blockIdx.x == 1 ? 1.0f : 0.0f);")
    found = search_in(source)
    stored: Mapping[int, LastStore] = find_first_stores(found.kernel.image, found.baseline[0])
    assert found.baseline[0].expected.launch.name == "5x7x9"
    assert stored == {2: LastStore(4, line, (1, 0, 0), (0, 0, 0))}


def test_no_store_is_reported_when_too_many_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = changed("= sum;", "= sum + 1.0f;")
    monkeypatch.setattr(search, "MAX_STORES", 4 * 4 - 1)
    found = search_in(source)
    assert {r.raw.traced for r in found.baseline} == {m * n for m, n, _ in SIZES}
    assert not any(find_first_stores(found.kernel.image, ran) for ran in found.baseline)


def test_an_element_that_was_never_written_has_no_store() -> None:
    found = search_in(changed("row < m && col < n)", "row < m && col < n && row)")[0])
    assert find_first_stores(found.kernel.image, found.baseline[0]) == {}


def test_search_in_the_sandbox() -> None:
    source, line = changed("int phase = 0", "int phase = 1")
    program = compile_source(source.encode(), "matmul.cu")
    kernel = program.kernel("matmul")
    assert kernel is not None
    runs = [expected_run(*size) for size in SIZES]
    localization = search_fault_lines(program, kernel, [(r.launch, r.outputs) for r in runs], 1)
    assert set(localization.lines) == {d.launch.name for d in runs}
    assert all(lines == (line,) or lines == (line - 1,) for lines in localization.lines.values())
    assert {name for name, _ in localization.stored} == set(localization.lines)
