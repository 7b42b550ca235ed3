"""`--trace`: the phase table of a 4 x 4 product with 2 x 2 tiles, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from grader.faults import LabFault
from grader.launch import Array, Launch, Scalar
from grader.simulator import counters
from grader.simulator.exchange import ROW, pack_traces, unpack_traces
from grader.simulator.simulate import simulate
from tests.trusted import compile_here

TILED = b"""\
#define TILE 2
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < n / TILE; ++t) {
        As[ty][tx] = A[row * n + t * TILE + tx];
        Bs[ty][tx] = B[(t * TILE + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
"""


def launch(n: int = 4) -> Launch:
    a = np.arange(n * n, dtype=np.float32).reshape(n, n)
    args = (
        Array("A", (n, n), "float32", a),
        Array("B", (n, n), "float32", a.T.copy()),
        Array("C", (n, n), "float32", None, True),
        Scalar("n", n, "int32"),
    )
    return Launch("matmul", (n // 2, n // 2, 1), (2, 2, 1), args)


def test_phase_table_of_a_tiled_product() -> None:
    (trace,) = simulate(compile_here(TILED, "tiled.cu"), [launch()], table=True)
    rows = trace.accesses
    assert rows is not None and rows.dtype == ROW
    block = rows[(rows["block"] == [1, 0, 0]).all(axis=1)]
    thread = block[(block["thread"] == [1, 0, 0]).all(axis=1)]
    accesses = [
        (str(r["access"]), str(r["element"]), int(r["phase"]), int(r["line"])) for r in thread
    ]
    # Block (1,0), thread (1,0): row 0, column 3; A is indexed flat, 4 elements a row.
    assert accesses == [
        ("read", "A[1]", 0, 9),
        ("write", "As[0][1]", 0, 9),
        ("read", "B[3]", 0, 10),
        ("write", "Bs[0][1]", 0, 10),
        ("read", "As[0][0]", 1, 12),
        ("read", "Bs[0][1]", 1, 12),
        ("read", "As[0][1]", 1, 12),
        ("read", "Bs[1][1]", 1, 12),
        ("read", "A[3]", 2, 9),
        ("write", "As[0][1]", 2, 9),
        ("read", "B[11]", 2, 10),
        ("write", "Bs[0][1]", 2, 10),
        ("read", "As[0][0]", 3, 12),
        ("read", "Bs[0][1]", 3, 12),
        ("read", "As[0][1]", 3, 12),
        ("read", "Bs[1][1]", 3, 12),
        ("write", "C[3]", 4, 15),
    ]
    assert len(rows) == 16 * len(accesses)


def test_access_table_survives_packing() -> None:
    (trace,) = simulate(compile_here(TILED, "tiled.cu"), [launch()], table=True)
    rows, arrays = pack_traces([trace])
    (back,) = unpack_traces(rows, arrays)
    assert back.accesses is not None and trace.accesses is not None
    assert np.array_equal(back.accesses, trace.accesses)


def test_accesses_are_recorded_only_on_request() -> None:
    (trace,) = simulate(compile_here(TILED, "tiled.cu"), [launch()])
    assert trace.accesses is None


def test_launch_with_too_many_accesses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "MAX_ACCESSES", 100)
    with pytest.raises(LabFault, match="272 accesses are too many"):
        simulate(compile_here(TILED, "tiled.cu"), [launch()], table=True)
