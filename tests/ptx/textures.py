"""Fetches of every shape, type, address mode and filter, and what CUDA's guide says that they give.

The model is the section "Texture Fetching" of the CUDA C++ Programming Guide: the address modes are
applied to coordinates, as that section does it, and the linear filter takes its texels at the
centers of neighboring cells. `fetches.cu` has the kernels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.launch import Array, Launch, Texture

SOURCE = Path(__file__).parent / "fetches.cu"
COUNT = 128
"""Fetches of a case: one thread each."""

EXTENTS = {1: (24,), 2: (12, 16), 3: (5, 6, 8)}
"""The shapes of arrays by their dimensions, z first."""

LAYERS = 3


@dataclass(frozen=True)
class Fetches:
    """A texture and the places where it is read."""

    number: int
    dims: int
    texture: Texture
    dtype: str

    def __str__(self) -> str:
        t = self.texture
        words = [f"{self.dims}d", self.dtype, f"x{t.channels}", t.memory, t.address[0]]
        words += [
            w for w in ("layered", "interpolated", "normalized", "read_float") if getattr(t, w)
        ]
        return "-".join(words)

    @property
    def texels(self) -> NDArray[Any]:
        """The array."""
        rng = np.random.default_rng(self.number)
        shape = (LAYERS,) * self.texture.layered + EXTENTS[self.dims]
        shape += (self.texture.channels,) * (self.texture.channels > 1)
        if self.dtype.startswith("float"):
            return np.asarray(rng.integers(-999, 999, shape) / 8, self.dtype)
        limits = np.iinfo(self.dtype)
        return rng.integers(limits.min, limits.max, shape, self.dtype, endpoint=True)

    @property
    def places(self) -> NDArray[np.float32]:
        """The coordinates x, y, z of each fetch, and its layer.

        They are multiples of 1/256 of a texel, and not at the border of two texels, from two
        extents before the texture to two behind it.
        """
        rng = np.random.default_rng(self.number + 1000)
        at = np.zeros((COUNT, 4), np.float32)
        for axis, extent in enumerate(reversed(EXTENTS[self.dims])):
            cells = rng.integers(-2 * extent, 3 * extent, COUNT)
            parts = rng.integers(4, 252, COUNT) if self.texture.memory != "linear" else 0
            place = cells + np.asarray(parts) / 256
            at[:, axis] = place / extent if self.texture.normalized else place
        at[:, 3] = rng.integers(0, LAYERS, COUNT)
        return at

    @property
    def kind(self) -> str:
        """The kind of the result: float, int or uint."""
        whole = not self.dtype.startswith("float") and not self.texture.read_float
        return {"i": "int", "u": "uint"}[self.dtype[0]] if whole else "float"

    @property
    def kernel(self) -> str:
        shape = f"a{self.dims}" if self.texture.layered else f"d{self.dims}"
        return f"{'fetch' if self.texture.memory == 'linear' else shape}_{self.kind}"

    @property
    def launch(self) -> Launch:
        result = {"float": "float32", "int": "int32", "uint": "uint32"}[self.kind]
        args = (
            self.texture,
            Array("at", (COUNT, 4), "float32", self.places),
            Array("y", (COUNT, 4), result, None, True),
            Array("t", self.texels.shape, self.dtype, self.texels),
        )
        return Launch(self.kernel, (4, 1, 1), (COUNT // 4, 1, 1), args, hidden=1)

    def expected(self) -> NDArray[Any]:
        """What the guide says: the channels that the texels have."""
        return np.array([self.fetched(*map(float, at)) for at in self.places])

    def fetched(self, x: float, y: float, z: float, layer: float) -> NDArray[Any]:
        """One fetch."""
        values = self.values()
        values = values[int(layer)] if self.texture.layered else values
        at = (x, y, z)[: self.dims]
        extents = EXTENTS[self.dims][::-1]
        if not self.texture.interpolated:
            return self.nearest(values, at)
        total = np.zeros(self.texture.channels)
        parts = [self.cells(c, n) for c, n in zip(at, extents, strict=True)]
        for corner in itertools.product(*parts):
            weight = math.prod(w for _, w in corner)
            centers = [
                (cell + 0.5) / n if self.texture.normalized else cell + 0.5
                for (cell, _), n in zip(corner, extents, strict=True)
            ]
            if weight:
                total += weight * self.nearest(values, tuple(centers))
        return total.astype(np.float32)

    def cells(self, x: float, extent: int) -> tuple[tuple[int, float], tuple[int, float]]:
        """The two cells of the linear filter in one dimension, each with its weight."""
        place = (x * extent if self.texture.normalized else x) - 0.5
        first = math.floor(place)
        weight = round((place - first) * 256) / 256
        return (first, 1 - weight), (first + 1, weight)

    def nearest(self, values: NDArray[Any], at: tuple[float, ...]) -> NDArray[Any]:
        """The texel at a place, by the address mode."""
        extents = EXTENTS[self.dims][::-1]
        modes = self.texture.address
        cells = [self.cell(x, n, m) for x, n, m in zip(at, extents, modes, strict=False)]
        if None in cells:
            return np.zeros(self.texture.channels, values.dtype)
        return np.asarray(values[tuple(reversed(cells))])

    def cell(self, x: float, extent: int, mode: str) -> int | None:
        """The number of the texel at a coordinate; None beyond the border."""
        mode = "border" if self.texture.memory == "linear" else mode
        if mode == "wrap":
            x -= math.floor(x)
        elif mode == "mirror":
            x = x - math.floor(x) if math.floor(x) % 2 == 0 else 1 - (x - math.floor(x))
        place = math.floor(x * extent if self.texture.normalized else x)
        if mode == "border":
            return place if 0 <= place < extent else None
        return min(max(place, 0), extent - 1)

    def values(self) -> NDArray[Any]:
        """The texels as a fetch returns them, with an axis for the channels."""
        texels = self.texels if self.texture.channels > 1 else self.texels[..., np.newaxis]
        if not self.texture.read_float or self.dtype.startswith("float"):
            return texels.astype(np.float64) if self.kind == "float" else texels
        most = np.float32(np.iinfo(self.dtype).max)
        return np.maximum(texels.astype(np.float32) / most, -1).astype(np.float64)

    def bound(self) -> float:
        """How far a GPU's result may be: see texture.c; 0 for a point fetch.

        The quotient of an integer that becomes a fraction may be rounded otherwise.
        """
        if not self.texture.interpolated:
            whole = self.dtype.startswith("float") or not self.texture.read_float
            return 0.0 if whole else 2.0**-23
        values = self.values()
        spread = values.max() - min(values.min(), 0 if "border" in self.texture.address else np.inf)
        return float(self.dims * spread / 256 + np.abs(values).max() / 2**15)


def _textures() -> Iterator[tuple[int, str, Texture]]:
    """Textures of every shape, type, mode and filter, not of every combination."""
    whole = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
    channels = itertools.cycle((1, 2, 4))
    for dtype in (*whole, "float16", "float32"):
        for dims in (1, 2, 3):
            yield dims, dtype, Texture("t", 3, channels=next(channels))
        yield 1, dtype, Texture("t", 3, memory="linear", channels=next(channels))
    for dims, layered in ((1, False), (2, False), (3, False), (1, True), (2, True)):
        for mode, normalized in (
            ("clamp", False), ("border", False), ("clamp", True), ("border", True),
            ("wrap", True), ("mirror", True),
        ):  # fmt: skip
            for dtype, interpolated in (("float32", False), ("float32", True), ("uint8", True)):
                sampling = {"interpolated": interpolated, "normalized": normalized}
                texture = Texture("t", 3, channels=next(channels), layered=layered, **sampling)
                modes = (mode,) * 3 if dims < 3 else (mode, "clamp", mode)
                as_float = dtype == "uint8"
                yield dims, dtype, replace(texture, address=modes, read_float=as_float)
    for dtype in ("int8", "int16", "uint16"):
        yield 2, dtype, Texture("t", 3, read_float=True)
        yield 2, dtype, Texture("t", 3, channels=4, read_float=True, interpolated=True)
    yield 2, "float16", Texture("t", 3, channels=4, interpolated=True)
    yield 2, "float32", Texture("t", 3, memory="pitch", interpolated=True)
    yield 2, "uint8", Texture("t", 3, memory="pitch", channels=4)
    yield 1, "uint8", Texture("t", 3, memory="linear", read_float=True)


CASES = [Fetches(n, dims, texture, dtype) for n, (dims, dtype, texture) in enumerate(_textures())]
