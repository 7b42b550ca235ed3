"""Guard bands and poison: how the bytes after two launches are read. Needs no GPU."""

from __future__ import annotations

import numpy as np
import pytest

from grader.compile.program import Kernel, Parameter
from grader.gpu.buffers import (
    GUARD,
    POISONS,
    illegal_writes,
    read_buffer,
    with_guard_bands,
    without_guard_bands,
)
from grader.launch import Array, Launch

OUT = Array("C", (4, 3), "float32", None, True)
IN = Array("A", (5,), "int32", np.arange(5, dtype=np.int32))


def launch(*arrays: Array) -> Launch:
    return Launch("k", (1, 1, 1), (1, 1, 1), arrays)


def kernel(*types: str) -> Kernel:
    return Kernel("k", "k", 1, tuple(Parameter(t, f"p{i}", 8) for i, t in enumerate(types)))


def test_a_buffer_lies_between_its_bands() -> None:
    held = with_guard_bands(0, IN, 0)
    assert held.size == 2 * GUARD + 20
    assert without_guard_bands(held).view(np.int32).tolist() == [0, 1, 2, 3, 4]
    assert set(held[:GUARD]) | set(held[-GUARD:]) == {0xC3}


@pytest.mark.parametrize("poison", POISONS)
def test_uninitialized_buffer_is_poisoned(poison: int) -> None:
    assert set(without_guard_bands(with_guard_bands(0, OUT, poison))) == {poison}


def test_an_element_is_unwritten_when_any_byte_kept_both_poisons() -> None:
    after = [with_guard_bands(0, OUT, poison) for poison in POISONS]
    for held in after:
        values = without_guard_bands(held).view(np.float32)
        values[:10] = np.arange(10)
        values[10:11].view(np.uint8)[:3] = 7
    left = read_buffer(OUT, after)
    assert left.unwritten is not None and left.repeats
    assert np.flatnonzero(left.unwritten).tolist() == [10, 11]
    assert left.value[1, 2] == 5


@pytest.mark.parametrize("byte", POISONS)
def test_a_value_that_looks_like_poison_is_written(byte: int) -> None:
    array = Array("image", (8,), "uint8", None, True)
    after = [with_guard_bands(0, array, poison) for poison in POISONS]
    for held in after:
        without_guard_bands(held)[:] = byte
    left = read_buffer(array, after)
    assert left.unwritten is not None and not left.unwritten.any()


def test_different_results_of_two_runs_are_reported() -> None:
    after = [with_guard_bands(0, OUT, poison) for poison in POISONS]
    for k, held in enumerate(after):
        without_guard_bands(held).view(np.float32)[:] = k
    left = read_buffer(OUT, after)
    assert not left.repeats
    assert left.value[0, 0] == 1


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (GUARD - 1, "the nearest 4 bytes before it"),
        (-GUARD, "the nearest directly past the end of it"),
        (-GUARD + 9, "the nearest 8 bytes past the end of it"),
    ],
)
def test_a_write_into_a_band_is_found(at: int, words: str) -> None:
    clean, struck = with_guard_bands(0, OUT, POISONS[0]), with_guard_bands(0, OUT, POISONS[1])
    struck[at] ^= 1
    (found,) = illegal_writes(launch(OUT), kernel("float*"), [[clean], [struck]])
    assert (found.kind, found.severity, found.variable) == ("invalid-access", "error", "p0")
    assert words in found.message and "4 x 3 float32" in found.message


def test_what_is_copied_from_band_to_band_is_found() -> None:
    """`out[i] = in[i]` one element too far writes the input's band over the output's."""
    first, second = with_guard_bands(0, IN, 0), with_guard_bands(1, OUT, POISONS[0])
    second[-GUARD : -GUARD + 4] = first[-GUARD : -GUARD + 4]
    (found,) = illegal_writes(launch(IN, OUT), kernel("int*", "float*"), [[first, second]])
    assert found.count == 1 and found.variable == "p1"


def test_a_changed_input_is_found_only_where_it_is_const() -> None:
    after = with_guard_bands(0, IN, 0)
    without_guard_bands(after)[2] ^= 1
    (found,) = illegal_writes(
        launch(IN), kernel("const int*"), [[with_guard_bands(0, IN, 0)], [after]]
    )
    assert "changed its input p0" in found.message
    assert not illegal_writes(launch(IN), kernel("int*"), [[with_guard_bands(0, IN, 0)], [after]])


def test_untouched_buffers_give_no_finding() -> None:
    held = [[with_guard_bands(0, IN, p), with_guard_bands(1, OUT, p)] for p in POISONS]
    assert not illegal_writes(launch(IN, OUT), kernel("const int*", "float*"), held)


def test_an_empty_array() -> None:
    empty = Array("C", (0, 7), "float32", None, True)
    left = read_buffer(empty, [with_guard_bands(0, empty, p) for p in POISONS])
    assert left.value.shape == (0, 7) and left.unwritten is not None and left.unwritten.size == 0
