"""An instruction with its operand types and oracle, and the PTX and inputs made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ptx.soft import BF16, F16, F32, F64, Format

COUNT = 256
"""Values an instruction is tried on: one thread each."""

FORMATS: dict[str, Format] = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
Oracle = Callable[..., int | None]


@dataclass(frozen=True)
class Case:
    """`text` has %d, %a, %b, %c, %e for the operands, or is the bare operation. The oracle takes
    operands as whole numbers (signed where the type is; floats as their bits) and gives the
    result's bits, or None where PTX leaves it open. `within`: largest relative error, for
    approximations; `nan` results match any NaN.
    """

    text: str
    result: str
    operands: tuple[str, ...]
    oracle: Oracle
    within: float = 0.0
    amounts: bool = False
    """The last operands are small: shift amounts, positions, lengths."""

    @property
    def name(self) -> str:
        return self.text.split(";")[0].split(" ")[0] if " " in self.text else self.text

    def instruction(self) -> str:
        if "%d" in self.text:
            return self.text
        used = ["%d", "%a", "%b", "%c", "%e"][: 1 + len(self.operands)]
        return f"{self.text} {', '.join(used)};"


def case(text: str, types: str, oracle: Oracle, **more: Any) -> Case:
    """`types` is "u32 = u32 u32"."""
    result, _, operands = types.partition("=")
    return Case(text, result.strip(), tuple(operands.split()), oracle, **more)


def size(kind: str) -> int:
    """Bytes of a value in memory; predicates are stored as 32-bit 0 or 1."""
    return 4 if kind == "pred" else 4 if kind.endswith("x2") else BYTES[kind.lstrip("bfsu")]


def module_text(cases: Sequence[Case]) -> str:
    """One PTX module with a kernel k0, k1, ... for each case: (d, a, b, ...) are pointers."""
    return ".version 8.3\n.target sm_90\n.address_size 64\n" + "".join(
        _kernel(f"k{n}", c) for n, c in enumerate(cases)
    )


def _kernel(name: str, c: Case) -> str:
    names = "abce"[: len(c.operands)]
    lines = [f".reg .b{8 * max(size(c.result), 2)} %d;", ".reg .b64 %p<9>;", ".reg .b32 %i<3>;"]
    lines += [".reg .pred %q<4>;", ".reg .b16 %h<4>;", ".reg .b32 %w<9>;", ".reg .b64 %l<9>;"]
    lines += [f".reg .b{8 * max(size(k), 2)} %{n};" for n, k in zip(names, c.operands, strict=True)]
    lines += ["mov.u32 %i0, %ctaid.x;", "mov.u32 %i1, %ntid.x;", "mov.u32 %i2, %tid.x;"]
    lines += ["mad.lo.u32 %i0, %i0, %i1, %i2;"]
    for n, kind in zip(names, c.operands, strict=True):
        lines += [f"ld.param.u64 %p1, [{name}_{n}];"]
        lines += [f"mad.wide.u32 %p1, %i0, {size(kind)}, %p1;"]
        lines += [f"ld.global.{_memory(kind)} %{n}, [%p1];"]
    lines += [c.instruction()]
    lines += [f"ld.param.u64 %p0, [{name}_d];", f"mad.wide.u32 %p0, %i0, {size(c.result)}, %p0;"]
    lines += [f"st.global.{_memory(c.result, stores=True)} [%p0], %d;", "ret;"]
    parameters = ", ".join(f".param .u64 {name}_{n}" for n in ("d", *names))
    body = "\n\t".join(lines)
    return f".visible .entry {name}({parameters})\n{{\n\t{body}\n}}\n"


def _memory(kind: str, stores: bool = False) -> str:
    return f"{'b' if stores or kind[0] not in 'us' else kind[0]}{8 * size(kind)}"


def dtype(kind: str) -> str:
    return f"uint{8 * size(kind)}"


def inputs(c: Case, number: int) -> list[NDArray[Any]]:
    """The operands' bits: edges against each other first, then random ones."""
    rng = np.random.default_rng(number)
    out = []
    for k, kind in enumerate(c.operands):
        small = c.amounts and k > 0 and size(kind) == 4
        edges = SMALL if small else _edges(kind)
        step = 1 if k == 0 else len(_edges(c.operands[0])) if k == 1 else 7
        column = [edges[(n // step if k < 2 else n * step) % len(edges)] for n in range(COUNT)]
        bits = 8 * size(kind)
        raw = (
            rng.integers(0, 2**bits, COUNT, dtype=np.uint64, endpoint=False)
            if bits < 64
            else (rng.integers(0, 2**64, COUNT, dtype=np.uint64))
        )
        values = [int(r) for r in raw] if not small else [int(r) % 70 for r in raw]
        half = COUNT * 3 // 4
        mixed = column[:half] + [_moderate(v, kind) for v in values[half:]]
        out.append(np.array([v & (2**bits - 1) for v in mixed], dtype(kind)))
    return out


SMALL = (0, 1, 2, 5, 7, 8, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 255, 256, 0x103, 0xFFFFFFFF)


def _edges(kind: str) -> Sequence[int]:
    bits = 8 * size(kind)
    if kind in FORMATS:
        return _float_edges(FORMATS[kind])
    if kind.endswith("x2"):
        half = _float_edges(FORMATS[kind[:-2]])
        return [a | half[(5 * k + 3) % len(half)] << 16 for k, a in enumerate(half)]
    top = 1 << (bits - 1)
    return (
        0,
        1,
        2,
        3,
        top - 1,
        top,
        top + 1,
        2 * top - 1,
        2 * top - 2,
        0x55,
        10,
        2 * top // 3,
        7,
        200,
    )


def _float_edges(f: Format) -> list[int]:
    one, inf = f.bias << f.fraction, ((1 << f.exponent) - 1) << f.fraction
    least = 1 << f.fraction
    plain = [0, 1, least - 1, least, one, one + 1, one - 1, one + least // 2, inf - 1, inf]
    plain += [inf | 1 << (f.fraction - 1), one + 3 * least, one - least, one + 5 * least + 7]
    return plain + [b | 1 << (f.bits - 1) for b in plain]


def _moderate(bits: int, kind: str) -> int:
    """Random floats near 1, whose sums round; other types are left as they are."""
    f = FORMATS.get(kind)
    if f is None or bits % 5 == 0:
        return bits
    exponent = f.bias - 4 + bits % 9
    return (bits & ~(((1 << f.exponent) - 1) << f.fraction)) | exponent << f.fraction


def value(bits: int, kind: str) -> int:
    """An operand as the oracle sees it."""
    width = 8 * size(kind)
    return bits - (1 << width) if kind[0] == "s" and bits >> (width - 1) else bits
