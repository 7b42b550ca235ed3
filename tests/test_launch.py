"""Launches converted to JSON and arrays and back are unchanged."""

from __future__ import annotations

import json

import numpy as np

from grader.launch import Array, Launch, Scalar, pack_launches, unpack_launches

X = np.arange(6, dtype=np.float64).reshape(2, 3)
MASK = np.ones((2, 2), np.float32)
FULL = Launch(
    "scale",
    (3, 2, 1),
    (32, 4, 1),
    (
        Array("x", (2, 3), "float32", X[:, ::-1]),
        Array("y", (2, 3), "float16", read_back=True),
        Scalar("n", 6, "int32"),
        Scalar("on", True, "bool"),
    ),
    128,
    {"mask": MASK},
    "small",
)
BARE = Launch("scale", (1, 1, 1), (1, 1, 1), (Array("x", (0,), "int8", np.zeros(0, np.int8)),))


def test_launches_are_unpacked_as_they_were_packed() -> None:
    rows, arrays = pack_launches([FULL, BARE])
    full, bare = unpack_launches(json.loads(json.dumps(rows)), arrays)
    assert (full.kernel, full.grid, full.block) == ("scale", (3, 2, 1), (32, 4, 1))
    assert (full.shared, full.name, bare.name, bare.globals) == (128, "small", "", {})
    x, y, n, on = full.args
    assert isinstance(x, Array) and x.data is not None and not x.read_back
    assert x.data.dtype == np.float32 and x.data.flags.c_contiguous
    assert np.array_equal(x.data, X[:, ::-1])
    assert (y, n, on) == FULL.args[1:] and type(on.value) is bool  # type: ignore[union-attr]
    assert np.array_equal(full.globals["mask"], MASK)
    (empty,) = bare.args
    assert isinstance(empty, Array) and empty.data is not None and empty.data.shape == (0,)


def test_launches_with_equal_names_keep_their_own_arrays() -> None:
    other = Launch("scale", (1, 1, 1), (1, 1, 1), (Array("x", (1,), "int8", np.ones(1, np.int8)),))
    rows, arrays = pack_launches([BARE, other])
    first, second = unpack_launches(rows, arrays)
    assert [a.data.size for launch in (first, second) for a in launch.args] == [0, 1]  # type: ignore[union-attr]
