"""The corpus: PTX with the launch that it is run with, as JSON in the first line.

`python -m tests.fuzz.corpus` compiles kernels/*.cu again; hand-written PTX is in the same folder.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.launch import Argument, Array, Dim3, Launch, Packed, Scalar, Texture
from tests.ptx import FAMILIES
from tests.ptx.case import Case, dtype, module_text

HERE = Path(__file__).parent
CORPUS, KERNELS = HERE / "corpus", HERE / "kernels"


@dataclass(frozen=True)
class Spec:
    """A launch as the corpus writes it. An argument is a whole number (an int32), null (a null
    pointer), [dtype, elements] with "out" (uninitialized, read back), "inout" (read back) or "zero"
    (all 0, read back) behind it, and behind that the number of elements that have values at first;
    or a structure {"struct": [arguments], "align": bytes}; or an object {"texture": [dtype, shape]}
    or {"surface": [dtype, shape]} with fields of grader.launch.Texture.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    args: tuple[Any, ...]
    shared: int = 0

    def header(self) -> str:
        row = {"kernel": self.kernel, "grid": self.grid, "block": self.block}
        return "// launch: " + json.dumps(row | {"shared": self.shared, "args": self.args})

    def launch(self, seed: int = 0) -> Launch:
        """The launch, its arrays filled at random."""
        rng = np.random.default_rng(seed)
        hidden: list[Array] = []
        args = [_argument(f"p{k}", a, rng, hidden, len(self.args)) for k, a in enumerate(self.args)]
        every = (*args, *hidden)
        return Launch(self.kernel, self.grid, self.block, every, self.shared, hidden=len(hidden))


@dataclass(frozen=True)
class Entry:
    """One file of the corpus."""

    name: str
    text: str
    spec: Spec


def _argument(
    name: str, a: Any, rng: np.random.Generator, hidden: list[Array], parameters: int
) -> Argument:
    """An argument; the arrays that a structure points to are appended to `hidden`."""
    if a is None:
        return Packed(name, bytes(8), 8)
    if isinstance(a, dict) and "struct" not in a:
        return _object(name, dict(a), rng, hidden, parameters)
    if isinstance(a, dict):
        return _structure(name, a, rng, hidden, parameters)
    if not isinstance(a, (list, tuple)):
        return Scalar(name, a, "int32")
    dtype, count, role = a[0], a[1], a[2] if len(a) > 2 else "in"
    kind = np.dtype(dtype).kind
    whole: NDArray[Any] = rng.integers(0, 100, (count,))
    data: NDArray[Any] = rng.normal(0, 9, (count,)) if kind == "f" else whole
    if role == "zero":
        data = np.zeros(count)
    held = None if role == "out" else data.astype(dtype)
    mask = np.arange(count) < a[3] if len(a) > 3 else None
    return Array(name, (count,), dtype, held, role != "in", mask)


def _object(
    name: str, a: dict[str, Any], rng: np.random.Generator, hidden: list[Array], parameters: int
) -> Texture:
    """A texture or surface object; its array is appended to `hidden`."""
    surface = "surface" in a
    dtype, shape = a.pop("surface" if surface else "texture")
    texels = rng.integers(0, 100, shape).astype(dtype)
    hidden.append(Array(name, tuple(shape), dtype, texels, surface))
    a["address"] = tuple(a.get("address", ("clamp",) * 3))
    return Texture(name, parameters + len(hidden) - 1, surface, **a)


def _structure(
    name: str, a: Any, rng: np.random.Generator, hidden: list[Array], parameters: int
) -> Packed:
    """A structure by value: numbers are int32, arrays and null are pointers."""
    data, align, pointers = b"", a.get("align", 4), []
    for k, member in enumerate(a["struct"]):
        one = _argument(f"{name}.{k}", member, rng, hidden, parameters)
        size = 4 if isinstance(one, Scalar) else 8
        data += bytes(-len(data) % size)
        align = max(align, size)
        if isinstance(one, Array):
            hidden.append(one)
            pointers.append((len(data), parameters + len(hidden) - 1))
        value = one.value if isinstance(one, Scalar) else 0
        data += int(value).to_bytes(size, "little", signed=True)
    return Packed(name, data + bytes(-len(data) % align), align, tuple(pointers))


def read(text: str) -> Spec:
    """The launch in the first line of a kernel or of PTX."""
    first = text.split("\n", 1)[0]
    row = json.loads(first.removeprefix("// launch: "))
    g, b = row["grid"], row["block"]
    return Spec(
        row["kernel"],
        (g[0], g[1], g[2]),
        (b[0], b[1], b[2]),
        tuple(row["args"]),
        row.get("shared", 0),
    )


def entries() -> list[Entry]:
    """The whole corpus, by name."""
    entries = []
    for path in sorted(CORPUS.glob("*.ptx")):
        text = path.read_text()
        entries.append(Entry(path.stem, text, read(text)))
    return entries


def instructions() -> list[Entry]:
    """A small kernel for every instruction of tests/ptx."""
    entries = []
    for family in FAMILIES:
        cases: list[Case] = import_module(f"tests.ptx.{family}").CASES
        for number, c in enumerate(cases):
            kinds = (c.result, *c.operands)
            args = tuple(
                [dtype(k), 64, "out"] if n == 0 else [dtype(k), 64] for n, k in enumerate(kinds)
            )
            spec = Spec("k0", (1, 1, 1), (64, 1, 1), args)
            entries.append(Entry(f"{family}-{number}", module_text([c]), spec))
    return entries


def compile_all() -> None:
    """kernels/*.cu as debug and optimised PTX, without debug sections."""
    from grader.compile.source import compile_source

    for path in sorted(KERNELS.glob("*.cu")):
        source = path.read_text()
        program = compile_source(source.encode(), path.name)
        header = read(source).header()
        for kind, ptx in (("debug", program.debug_ptx), ("fast", program.ptx)):
            lean = re.sub(r"\t?\.section\s+\.debug\w+\s*\{[^}]*\}", "", ptx)
            lean = re.sub(r"(?m)^\s*(//.*)?\n", "", lean)
            (CORPUS / f"{path.stem}.{kind}.ptx").write_text(f"{header}\n{lean}")


if __name__ == "__main__":
    compile_all()
