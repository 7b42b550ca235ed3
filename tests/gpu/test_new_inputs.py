"""New inputs as NumPy makes them, which the GPU's kernel must match element by element."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from grader.gpu.buffers import PIECE_ELEMENTS, draw_moves, new_input

SHAPES = [(0,), (5, 0), (1,), (2,), (3,), (257,), (1000,), (40000,), (1, 7), (3, 9), (4, 1), (7, 5),
          (64, 48), (5, 6, 7)]  # fmt: skip


def base(shape: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.arange(prod(shape)).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_is_what_the_kernel_does(shape: tuple[int, ...]) -> None:
    moved = draw_moves(shape, b"seed", 3, "A")
    flat = base(shape).reshape(-1)
    due = [flat[int(moved.starts[i // moved.length]) + i % moved.length] for i in range(flat.size)]
    made = new_input(base(shape), moved)
    assert made.shape == shape and made.reshape(-1).tolist() == due


@pytest.mark.parametrize("shape", [s for s in SHAPES if prod(s)], ids=str)
def test_no_piece_leaves_the_array(shape: tuple[int, ...]) -> None:
    for launch in range(50):
        moved = draw_moves(shape, b"", launch, "A")
        assert int(moved.starts.max()) + moved.length <= prod(shape)


@pytest.mark.parametrize("shape", [(64, 48), (7, 5), (5, 6, 7)], ids=str)
def test_rows_move_whole_each_to_its_own_parity(shape: tuple[int, ...]) -> None:
    made = new_input(base(shape), draw_moves(shape, b"s", 1, "A")).reshape(-1, shape[-1])
    source = made[:, 0] // shape[-1]
    assert (made == source[:, None] * shape[-1] + np.arange(shape[-1])).all()
    assert (source % 2 == np.arange(len(made)) % 2).all()
    assert sorted(source) == list(range(len(made)))


def test_one_axis_array_is_resampled_not_permuted() -> None:
    data = np.random.default_rng(0).integers(0, 256, 1 << 16).astype(np.uint8)
    made = new_input(data, draw_moves(data.shape, b"s", 1, "data"))
    counts = [np.bincount(a, minlength=256) for a in (data, made)]
    assert (counts[0] != counts[1]).sum() > 200
    assert draw_moves(data.shape, b"s", 1, "data").length == PIECE_ELEMENTS


@pytest.mark.parametrize("other", [(b"t", 1, "A"), (b"s", 2, "A"), (b"s", 1, "B")], ids=str)
def test_seed_launch_and_argument_each_decide(other: tuple[bytes, int, str]) -> None:
    for shape in ((64, 48), (40000,)):
        first, second = draw_moves(shape, b"s", 1, "A"), draw_moves(shape, *other)
        assert (first.starts != second.starts).mean() > 0.9
        assert (draw_moves(shape, b"s", 1, "A").starts == first.starts).all()
