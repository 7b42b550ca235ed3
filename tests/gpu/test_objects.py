"""The calls that create texture and surface objects, on a driver of arrays. Needs no GPU.

Offsets and numbers are those of cuda.h of CUDA 13.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.gpu.session import TextureObjects
from grader.launch import Array, Launch, Texture

DEVICE, ARRAY = 2, 3
ARRAYS, LINEAR, PITCH = 0, 2, 3


class LogicError(Exception):
    """PyCUDA's error."""


def number(value: Any) -> int:
    return int(getattr(value, "value", value))


@dataclass
class Driver:
    """Device memory is the host's; a CUDA array is bytes without gaps."""

    arrays: dict[int, tuple[tuple[int, ...], bytearray]] = field(default_factory=dict)
    objects: dict[int, tuple[str, bytes, bytes]] = field(default_factory=dict)
    refuses: str = ""

    def cuGetErrorString(self, code: int, text: Any) -> int:  # noqa: N802
        text._obj.value = b"invalid argument"
        return 0

    def cuArray3DCreate_v2(self, made: Any, wanted: bytes) -> int:  # noqa: N802
        width, height, depth, form, channels, flags = struct.unpack_from("=QQQiII", wanted)
        texel = channels * {1: 1, 8: 1, 2: 2, 9: 2, 16: 2}.get(form, 4)
        size = width * max(height, 1) * max(depth, 1) * texel
        made._obj.value = 100 + len(self.arrays)
        self.arrays[made._obj.value] = ((width, height, depth, flags), bytearray(size))
        return 0

    def cuTexObjectCreate(self, made: Any, what: bytes, how: bytes, view: None) -> int:  # noqa: N802
        if self.refuses == "texture":
            return 1
        assert (len(what), len(how), view) == (144, 104, None)
        made._obj.value = 1000 + len(self.objects)
        self.objects[made._obj.value] = ("texture", what, how)
        return 0

    def cuSurfObjectCreate(self, made: Any, what: bytes) -> int:  # noqa: N802
        made._obj.value = 1000 + len(self.objects)
        self.objects[made._obj.value] = ("surface", what, b"")
        return 0

    def cuTexObjectDestroy(self, handle: Any) -> int:  # noqa: N802
        assert self.objects.pop(number(handle))[0] == "texture"
        return 0

    def cuSurfObjectDestroy(self, handle: Any) -> int:  # noqa: N802
        assert self.objects.pop(number(handle))[0] == "surface"
        return 0

    def cuArrayDestroy(self, array: Any) -> int:  # noqa: N802
        del self.arrays[number(array)]
        return 0

    def cuMemcpy3D_v2(self, both: bytes) -> int:  # noqa: N802
        assert len(both) == 200
        row, height, depth = struct.unpack_from("=3Q", both, 176)
        ends = [struct.unpack_from("=4Qi4x6Q", both, at) for at in (0, 88)]
        for k in range(height * depth):
            source, target = (self._place(end, k, row) for end in ends)
            ctypes.memmove(target, source, row)
        return 0

    def _place(self, end: tuple[int, ...], k: int, row: int) -> int:
        """The address of row k."""
        kind, _, device, array, _, pitch, _ = end[4:]
        if kind == DEVICE:
            return device + k * pitch
        assert kind == ARRAY
        held = self.arrays[array][1]
        assert (k + 1) * row <= len(held)
        return ctypes.addressof((ctypes.c_char * len(held)).from_buffer(held)) + k * row


class Cuda:
    """What PyCUDA has to give: memory."""

    LogicError = LogicError
    MemoryError = MemoryError

    def mem_alloc(self, size: int) -> int:
        self.held = np.zeros(size, np.uint8)
        return self.held.ctypes.data


CASES = [
    (Texture("t", 1), (6, 8), (8, 6, 0, 10)),
    (Texture("t", 1, channels=4), (2, 3, 4, 4), (4, 3, 2, 2)),
    (Texture("t", 1, layered=True), (3, 5), (5, 0, 3, 3)),
    (Texture("t", 1, layered=True, channels=2), (3, 4, 5, 2), (5, 4, 3, 3)),
    (Texture("t", 1), (9,), (9, 0, 0, 2)),
]


def made(
    monkeypatch: pytest.MonkeyPatch,
    texture: Texture,
    data: NDArray[Any],
    *more: Texture,
    refuses: str = "",
) -> tuple[Driver, Cuda, TextureObjects]:
    driver, cuda = Driver(refuses=refuses), Cuda()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    args = (texture, Array("t", data.shape, data.dtype.name, data), *more)
    launch = Launch("k", (1, 1, 1), (1, 1, 1), args, hidden=1 + len(more))
    return driver, cuda, TextureObjects(cuda, launch, {1: data.ctypes.data})


@pytest.mark.parametrize(("texture", "shape", "extents"), CASES)
def test_texels_reach_the_array_and_come_back(
    monkeypatch: pytest.MonkeyPatch, texture: Texture, shape: Any, extents: Any
) -> None:
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    other = Texture("s", 1, surface=True, channels=texture.channels, layered=texture.layered)
    driver, _, objects = made(monkeypatch, texture, data, other)
    ((sizes, held),) = driver.arrays.values()
    assert sizes == extents
    assert bytes(held) == data.tobytes()
    resources = [what for _, what, _ in driver.objects.values()]
    assert {struct.unpack_from("=i4xQ", what) for what in resources} == {(ARRAYS, 100)}
    held[:4] = np.float32(99).tobytes()
    objects.copy_back()
    assert data.reshape(-1)[0] == 99
    objects.free()
    assert not driver.arrays and not driver.objects


def test_sampling_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.zeros((4, 4), np.uint8)
    texture = Texture("t", 1, address=("wrap", "mirror", "border"), interpolated=True)
    for normalized, read_float, flags in ((True, True, 2), (True, False, 3), (False, True, 0)):
        one = Texture(**{**vars(texture), "normalized": normalized, "read_float": read_float})
        driver, _, _ = made(monkeypatch, one, data)
        ((_, _, how),) = driver.objects.values()
        assert struct.unpack_from("=3iiI", how) == (0, 2, 1, 1, flags)


def test_linear_memory_is_used_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.zeros((10, 2), np.int16)
    driver, _, _ = made(monkeypatch, Texture("t", 1, memory="linear", channels=2), data)
    ((_, what, how),) = driver.objects.values()
    assert struct.unpack_from("=i4xQiIQ", what) == (LINEAR, data.ctypes.data, 9, 2, 40)
    assert struct.unpack_from("=3iiI", how) == (1, 1, 1, 0, 1)


@pytest.mark.parametrize("width", [8, 5])
def test_rows_of_pitch_memory_are_aligned(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    data = np.arange(3 * width, dtype=np.float32).reshape(3, width)
    driver, cuda, _ = made(monkeypatch, Texture("t", 1, memory="pitch"), data)
    ((_, what, _),) = driver.objects.values()
    kind, address, form, channels, *sizes = struct.unpack_from("=i4xQiIQQQ", what)
    assert (kind, form, channels, sizes) == (PITCH, 32, 1, [width, 3, 32])
    if width == 8:
        assert address == data.ctypes.data
    else:
        assert address == cuda.held.ctypes.data
        rows = cuda.held.view(np.float32).reshape(3, 8)
        np.testing.assert_array_equal(rows[:, :5], data)


def test_refused_call_has_the_drivers_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LogicError, match="cuTexObjectCreate failed: invalid argument"):
        made(monkeypatch, Texture("t", 1), np.zeros((4, 4), np.float32), refuses="texture")
