"""What a GPU gives for every instruction of tests/ptx, as tests/ptx/truth/<family>.npz keeps it.

    python -m tests.gpu.instructions FOLDER

A result is kept under a digest of its kernel's PTX and inputs, so that it is never compared with
that of another instruction. An array "machine" says in JSON where it was read, and "refused" names
the cases whose PTX the driver does not take.
"""

from __future__ import annotations

import hashlib
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.launch import Array, Launch
from tests.gpu.kernel import launched
from tests.gpu.machine import machine
from tests.ptx import FAMILIES
from tests.ptx.case import COUNT, Case, dtype, inputs, module_text

BLOCKS = 4


def cases(family: str) -> list[Case]:
    found: list[Case] = import_module(f"tests.ptx.{family}").CASES
    return found


def key(c: Case, number: int) -> str:
    """The digest of a case's PTX and inputs."""
    digest = hashlib.sha256(module_text([c]).encode())
    for array in inputs(c, number):
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def launch(c: Case, number: int) -> Launch:
    given = inputs(c, number)
    arrays = [
        Array(n, (COUNT,), dtype(kind), value)
        for n, kind, value in zip("abce", c.operands, given, strict=False)
    ]
    out = Array("d", (COUNT,), dtype(c.result), np.zeros(COUNT, dtype(c.result)), True)
    return Launch("k0", (BLOCKS, 1, 1), (COUNT // BLOCKS, 1, 1), (out, *arrays))


def results(cuda: Any, family: str) -> dict[str, NDArray[Any]]:
    """Each case's results by its key, and which were refused."""
    found: dict[str, NDArray[Any]] = {}
    refused = {}
    for number, c in enumerate(cases(family)):
        try:
            after = launched(cuda, module_text([c]), "k0", launch(c, number))
            found[key(c, number)] = after[0]
        except cuda.Error as error:
            refused[key(c, number)] = f"{c.name}: {error}"
    print(f"{family}: {len(found)} of {len(found) + len(refused)} cases ran")
    print(*refused.values(), sep="\n")
    return found | {"refused": text(refused)}


def text(value: Any) -> NDArray[np.uint8]:
    """JSON as an array of bytes, for an .npz."""
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def main(folder: str) -> None:
    """Run all families and write a file each."""
    import pycuda.driver as cuda

    cuda.init()
    context = cuda.Device(0).make_context()
    try:
        for family in FAMILIES:
            held = results(cuda, family) | {"machine": text(machine())}
            np.savez_compressed(Path(folder) / f"{family}.npz", **held)
    finally:
        context.pop()


if __name__ == "__main__":
    main(*sys.argv[1:])
