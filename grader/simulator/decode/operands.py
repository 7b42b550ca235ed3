"""Operands of decoded instructions: registers, special registers, and the constant bank.

A reference is a byte offset (a multiple of 4) plus the bank in its two low bits. Constants are
vectors of 32 equal lanes; those that depend on the launch (parameters, grid, addresses) remain
descriptions until `ConstantBank.fill`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, regex
from grader.simulator.ptx.constants import float_bits, integer
from grader.simulator.ptx.model import TYPE_BYTES, Function, PtxError

LANES = 32
MATRIX_BYTES = 5 * 8 * 4 * LANES
"""Scratch for matrices of 32 registers in all, an address and a value; or of 20 wide registers."""

CONSTANTS, SPECIAL = 1, 2
WARP_SPECIAL = {
    "%tid.x": 0,
    "%tid.y": 1,
    "%tid.z": 2,
    "%laneid": 3,
    "%warpid": 4,
    "%lanemask_eq": 5,
    "%lanemask_lt": 6,
    "%lanemask_le": 7,
    "%lanemask_gt": 8,
    "%lanemask_ge": 9,
    "%ctaid.x": 10,
    "%ctaid.y": 11,
    "%ctaid.z": 12,
}
"""The slots of launch.c's special registers, whose values differ by thread or block."""

LAUNCH_SPECIAL = frozenset(
    f"%{name}{axis}" for name in ("ntid", "nctaid") for axis in (".x", ".y", ".z")
) | {
    "%nwarpid",
    "%nsmid",
    "%smid",
    "%gridid",
    "%dynamic_smem_size",
    "%total_smem_size",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%envreg1",
    "%envreg2",
    "%is_explicit_cluster",
    "%cluster_nctarank",
    "%cluster_ctarank",
}
"""Special registers with one value for the whole launch."""

_INTEGER = regex(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?$")
_SYMBOL = regex(r"([$%A-Za-z_][$%\w@]*)\s*(?:([+-])\s*(\d+))?$")


class OperandError(Exception):
    """An operand that is not valid; the decoder adds the location."""


INVALID = (
    OperandError, ValueError, StopIteration, IndexError, KeyError, TypeError, OverflowError
)  # fmt: skip
"""What decoding raises on code that no assembler takes."""


@contextmanager
def refusing_invalid_code() -> Iterator[None]:
    """Raise PtxError for code that an analysis of whole functions cannot read."""
    try:
        yield
    except INVALID as error:
        raise PtxError(str(error) or "invalid operands") from error


Constant = tuple[str, int, str | int, int]
"""(what, bytes of a lane, symbol or value, addend); `what` is bits, symbol, launch or param."""


@dataclass
class ConstantBank:
    """Interned constants and the place of each in the bank; `known` maps references to them."""

    places: dict[Constant, int] = field(default_factory=dict)
    known: dict[int, Constant] = field(default_factory=dict)
    bytes: int = 0

    def place(self, constant: Constant) -> int:
        """The reference of a constant, which is added to the bank when it is new."""
        at = self.places.get(constant)
        if at is None:
            at = self.places[constant] = self.bytes
            self.known[at | CONSTANTS] = constant
            self.bytes += max(constant[1], 2) * LANES
        return at | CONSTANTS

    def fill(self, value: Callable[[Constant], int]) -> NDArray[np.uint8]:
        """The bytes of the bank, with the value of every constant in all lanes."""
        out = bytearray(self.bytes + 64)
        for constant, at in self.places.items():
            width = constant[1]
            bits = value(constant) & ((1 << 8 * width) - 1)
            out[at : at + width * LANES] = bits.to_bytes(width, "little") * LANES
        return np.frombuffer(out, np.uint8)


class RegisterFile:
    """The places of a function's registers, the widest first, so that all are aligned."""

    def __init__(self, function: Function) -> None:
        self.width: dict[str, int] = {}
        self.at: dict[str, int] = {}
        self.predicates: set[str] = set()
        end = 0
        by_width = sorted(function.registers.items(), key=lambda r: -TYPE_BYTES[r[1]])
        for name, kind in by_width:
            width = TYPE_BYTES[kind]
            if kind == "pred":
                self.predicates.add(name)
            self.width[name] = max(width, 2) if kind != "pred" else 0
            self.at[name] = end
            end += 4 if kind == "pred" else max(width, 2) * LANES
        self.carry = end
        self.scratch = end + 4
        self.sink = (end + 8 + 31) // 32 * 32
        self._matrices: int | None = None
        self.bytes = self.sink + 8 * LANES
        """The last 256 bytes are the sink `_`, unless `allocate` added registers."""

    def matrices(self) -> int:
        """The place of the scratch registers of matrix instructions, added at the first use."""
        if self._matrices is None:
            self.allocate(-self.bytes % 32)
            self._matrices = self.allocate(MATRIX_BYTES)
        return self._matrices

    def allocate(self, size: int) -> int:
        """Add a register of `size` bytes without a name; return its place."""
        at, self.bytes = self.bytes, self.bytes + size
        return at


@dataclass
class Frame:
    """A device function's parameter area: offset of each `.param` variable in a lane's bytes.

    With `shadows`, the undefined bits of each variable lie behind it, and behind these a word about
    their origin: see `shadow.py`.
    """

    places: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    shadows: bool = False

    def add(self, name: str, size: int, align: int) -> None:
        """Append a variable; `size` and `align` are in bytes."""
        self.bytes = (self.bytes + align - 1) // align * align
        self.places[name] = self.bytes
        self.sizes[name] = size
        self.bytes += self.span(size)

    def span(self, size: int) -> int:
        """The bytes of a variable of `size` bytes together with its shadow."""
        return self.origin(size) + 4 if self.shadows else size

    @staticmethod
    def shadow(size: int) -> int:
        """Where the shadow of a variable of `size` bytes begins, from the variable's start."""
        return (size + 3) // 4 * 4

    @classmethod
    def origin(cls, size: int) -> int:
        """Where the word about the origin of the undefined bits lies."""
        return 2 * cls.shadow(size)


class Operands:
    """Resolves the operands of one function."""

    def __init__(
        self,
        registers: RegisterFile,
        constants: ConstantBank,
        entry: Mapping[str, int],
        frame: Frame,
        local: Mapping[str, int] | None = None,
    ) -> None:
        self.registers = registers
        self.constants = constants
        self.entry = entry
        """Offsets of the entry's parameters, by name; empty in a device function."""
        self.frame = frame
        self.local = local or {}
        """Where a device function's `.local` variables lie in its stack frame."""

    def width(self, text: str) -> int | None:
        """The bytes of a register's lane; None when `text` is no register."""
        return self.registers.width.get(text)

    def register(self, text: str, width: int) -> int:
        """The destination register `text`, whose lane is `width` bytes."""
        at = self.registers.at.get(text)
        if at is None:
            raise OperandError(f"there is no register {text}")
        if (have := self.registers.width[text]) != max(width, 2):
            raise OperandError(f"{text} is {have} bytes wide where {width} are written")
        return at

    def predicate(self, text: str) -> int:
        """The predicate register `text`; what is written to `_` is lost."""
        if text == "_":
            return self.registers.sink
        if text not in self.registers.predicates:
            raise OperandError(f"{text} is not a predicate")
        return self.registers.at[text]

    def condition(self, text: str) -> int:
        """The source predicate `text` without its `!`: a register, or a constant such as 1."""
        text = text.lstrip("! ")
        return self.predicate(text) if text in self.registers.at else self.source(text, 0)

    def source(self, text: str, width: int) -> int:
        """The source `text` of `width` bytes: a register, a constant or an address."""
        at = self.registers.at.get(text)
        if at is not None:
            have = self.registers.width[text]
            if have != max(width, 2) and not (width == 0 and text in self.registers.predicates):
                raise OperandError(f"{text} is {have} bytes wide where {width} are read")
            return at
        if text in WARP_SPECIAL:
            if width != 4:
                raise OperandError(f"{text} read as {width} bytes")
            return WARP_SPECIAL[text] * 128 | SPECIAL
        if width == 0:
            text = "0" if text == "%is_explicit_cluster" else text
            if not _INTEGER.match(text):
                raise OperandError(f"{text} is not a predicate")
            return self.constants.place(("bits", 4, 0xFFFFFFFF if integer(text) else 0, 0))
        return self.constants.place(self.constant(text, width))

    def constant(self, text: str, width: int) -> Constant:
        """Describe a constant operand of `width` bytes."""
        if text in LAUNCH_SPECIAL:
            return ("launch", width, text, 0)
        if (bits := float_bits(text, width)) is not None:
            return ("bits", width, bits, 0)
        if _INTEGER.match(text):
            return ("bits", width, integer(text) & ((1 << 8 * max(width, 1)) - 1), 0)
        match = _SYMBOL.match(text)
        if match is None or text[0] == "%" and text[:2] != "%_":
            raise OperandError(f"cannot parse the operand {text[:40]!r}")
        add = int(match[3] or 0) * (-1 if match[2] == "-" else 1)
        if match[1] in self.local:
            raise OperandError(
                f"the address of the .local variable {match[1]} is taken without mov"
            )
        if match[1] in self.entry:
            return ("bits", width, self.entry[match[1]] + add, 0)
        return ("symbol", width, match[1], add)


@lru_cache(maxsize=1 << 12)  # decoding asks for the address of an access some ten times
def address(text: str) -> tuple[str, int]:
    """Parse `[base+offset]`; the base is a register, a symbol, or "" for a number.

    Raises OperandError or ValueError.
    """
    inside = text.strip()
    if not (inside.startswith("[") and inside.endswith("]")):
        raise OperandError(f"{text[:40]!r} is not an address")
    inside = inside[1:-1].strip()
    match = re.match(r"([$%\w@.]+)\s*(?:\+\s*(-?\w+)|-\s*(\w+))?$", inside)
    if match is None:
        raise OperandError(f"cannot parse the address {text[:40]!r}")
    if _INTEGER.match(match[1]):
        return "", wrap64(integer(match[1]))
    add = integer(match[2]) if match[2] else -integer(match[3]) if match[3] else 0
    return match[1], wrap64(add)


@lru_cache(maxsize=1 << 12)
def address_or_none(text: str) -> tuple[str, int]:
    """Parse an address as `address` does; ("", 0) for other text, which decoding reports."""
    try:
        return address(text)
    except (OperandError, ValueError):
        return "", 0


def wrap64(x: int) -> int:
    """Reduce `x` modulo 2^64 to a signed number, as address arithmetic does."""
    return (x + (1 << 63)) % (1 << 64) - (1 << 63)


def vector(text: str) -> list[str]:
    """The elements of a vector operand `{a, b}`; a scalar operand is its own element."""
    if text.startswith("{"):
        return [part.strip() for part in text[1:-1].split(",")]
    return [text]
