"""Generated kernels for tests of proofs: shared and global memory, branches and loops.

What a condition, an index or a count depends on is drawn: threads, parameters, the block's number
or memory. In half of the kernels some statements run in one block only, or are left out there: so
a race, an access out of bounds, or a value that is missing may be in a single block.
"""

from __future__ import annotations

from random import Random

GRID = (7, 5, 1)
THREADS = 64

_PLACES = ("t", "t + 1", "63 - t", "t ^ 1", "t + shift")
"""Indices that no two threads share."""

_INDICES = (*_PLACES, "t * 2", "v", "t + k")
_UNPROVEN = ("t + bx", "which[t]")
"""Indices that no proof allows in shared memory."""

_COUNTS = ("3", "4", "n % 5", "t % 3 + 1", "bx / 3 + 1", "v & 3")
_CONDITIONS = ("g < n", "t < 32", "n > 9", "by > 1", "t == 5")
_TEMPLATE = """
extern "C" __global__ void NAME(float *a, const int *which, float *out, int n, int shift) {
    __shared__ float tile[64], other[64];
    int t = threadIdx.x, bx = blockIdx.x, by = blockIdx.y, g = (by * gridDim.x + bx) * 64 + t;
    int k = 0, v = t;
    float x = a[g], u;
    if (!(LEFT_OUT)) tile[t] = x;
    other[t] = 0;
    __syncthreads();
    BODY
    out[g] = x;
}
"""


class _Draw(Random):
    """Random choices; a calm kernel has nothing that only one block does."""

    calm = False


def source(seed: int, number: int) -> str:
    """The source of so many kernels, k0 and on."""
    return "".join(_kernel(_Draw(f"{seed} {k}"), f"k{k}") for k in range(number))


def _kernel(draw: _Draw, name: str) -> str:
    draw.calm = draw.random() < 0.5
    body = "\n    ".join(_statement(draw, 2) for _ in range(draw.randint(3, 7)))
    text = _TEMPLATE.replace("NAME", name).replace("LEFT_OUT", _one_block(draw))
    return text.replace("BODY", body)


def _one_block(draw: _Draw) -> str:
    """A condition that holds in one block, or in one of its threads; mostly in none."""
    if draw.calm or draw.random() < 0.7:
        return "0"
    block = f"bx == {draw.randrange(GRID[0])} && by == {draw.randrange(GRID[1])}"
    return block if draw.random() < 0.6 else f"{block} && t == {draw.randrange(THREADS)}"


def _index(draw: _Draw, usual: tuple[str, ...]) -> str:
    return f"({draw.choice(_UNPROVEN if draw.random() < 0.02 else usual)}) & 63"


def _condition(draw: _Draw) -> str:
    kind = draw.random()
    if kind < 0.3:
        return _one_block(draw)
    return "x > 0" if kind < 0.33 else draw.choice(_CONDITIONS)


def _store(draw: _Draw, *, alone: bool) -> str:
    """A store to a shared array, with barriers around it where all threads execute it."""
    to = f"{draw.choice(('tile', 'other'))}[{_index(draw, _PLACES)}] = x;"
    before = f"if (!({_one_block(draw)})) __syncthreads();"
    return f"{before} {to} __syncthreads();" if alone else ""


def _statement(draw: _Draw, depth: int, *, alone: bool = True) -> str:
    kind = draw.randrange(10 if depth else 7)
    if kind == 0:
        return _store(draw, alone=alone)
    if kind in (1, 2):
        return f"x += {draw.choice(('tile', 'other'))}[{_index(draw, _INDICES)}];"
    if kind == 3:
        far = f"({_one_block(draw)} ? 1 << 18 : 0)"
        return f"x += a[(g + {draw.randrange(64)}) % 2240 + {far}];"
    if kind == 4:
        return f"out[{_one_block(draw)} ? g ^ 64 : g] = x;"
    if kind == 5:
        return f"v = v * {draw.randint(1, 3)} + {draw.choice(('k', 'shift', 't', 't', 'n'))};"
    if kind == 6:
        return f"if (!({_one_block(draw)})) u = x; if ({_condition(draw)}) x += u;"
    together = kind != 7 or (not draw.calm and draw.random() < 0.2)
    count = range(draw.randint(1, 2))
    inner = " ".join(_statement(draw, depth - 1, alone=alone and together) for _ in count)
    if kind == 7:
        return f"if ({_condition(draw)}) {{ {inner} }}"
    many = draw.choice(_COUNTS[:3] if "__syncthreads" in inner else _COUNTS)
    return f"for (k = 0; k < {many}; ++k) {{ {inner} }}"
