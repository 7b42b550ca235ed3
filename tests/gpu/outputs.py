"""What a GPU computes in the kernels of tests/counters: the readings beside them keep it.

    python -m tests.gpu.outputs OUT.npz [--new]

With --new only the kernels whose counters no reading has yet. Arrays are named "kernel.argument";
the PTX that runs is the very PTX that the simulator runs.
"""

from __future__ import annotations

import sys

import numpy as np

from grader.launch import Array
from tests.fuzz.corpus import read
from tests.gpu.counters import KERNELS, unread
from tests.gpu.instructions import text
from tests.gpu.kernel import compiled, launched
from tests.gpu.machine import machine


def main(out: str, *words: str) -> None:
    """Run each kernel once and keep what it leaves in the arrays that are read back."""
    import pycuda.driver as cuda

    asked = unread() if "--new" in words else KERNELS
    held = {"machine": text(machine())}
    cuda.init()
    context = cuda.Device(0).make_context()
    try:
        for path in asked:
            launch, program = read(path.read_text()).launch(), compiled(path, "ptx")
            after = launched(cuda, program["ptx"], program["symbol"], launch)
            for k, value in after.items():
                argument = launch.args[k]
                if isinstance(argument, Array) and argument.read_back:
                    held[f"{path.stem}.{k}"] = value
    finally:
        context.pop()
    np.savez_compressed(out, **held)
    print(f"{len(held) - 1} arrays of {len(asked)} kernels")


if __name__ == "__main__":
    main(*sys.argv[1:])
