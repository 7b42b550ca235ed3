"""The parts of a PTX module: functions, instructions, variables and their source locations."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from dataclasses import field

import numpy as np

from grader import dataclass, regex
from grader.compile.program import Subscript


class PtxError(Exception):
    """The text is not valid PTX.

    Attributes:
        line: the line of the source that it belongs to; 0 when not known.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class TooLarge(PtxError):
    """A function's local variables exceed the local memory of a thread."""

    def __init__(self, needed: int, limit: int, line: int) -> None:
        super().__init__(f"local variables take {needed} bytes; a thread has {limit} bytes", line)


@dataclass(frozen=True, slots=True)
class Location:
    """The source location of an instruction.

    Attributes:
        file: the number of the file in the module.
        line: the line, 1-based; 0 when not known.
        column: the column.
        function: the symbol of the inlined function that the instruction is from.
        inlined: the call site of that function.
    """

    file: int = 0
    line: int = 0
    column: int = 0
    function: str = ""
    inlined: Location | None = None


FRAME = ("%SP", "%SPL")
"""The registers with the address of a function's stack frame."""


def _root_line(at: Location) -> int:
    """The line of the first file that a location is in, or that calls what it was inlined from."""
    while at.file != 1 and at.inlined is not None:
        at = at.inlined
    return at.line


def root_lines(places: Iterable[Location]) -> Iterator[int]:
    """The line of each location, as `_root_line` has it; where it has none, the one before."""
    last = 0
    for at in places:
        last = _root_line(at) or last
        yield last


@dataclass(slots=True)
class Instruction:
    """A PTX instruction.

    Attributes:
        op: the opcode with its modifiers, such as "ld.global.f32".
        operands: the operands as text.
        guard: the guard predicate and whether it is negated, such as ("%p1", False).
        location: where it comes from.
        library: whether it is code of a library: see source_map.py.
        via: the library's function, or header, through which the location reaches it; empty for
            code of the file itself.
        used: the bytes that the program uses of what it loads, as a mask; None where the compiler
            does not say: all of them.
        stops: whether a basic block ends behind it, where another thread may run.
    """

    op: str
    operands: list[str]
    guard: tuple[str, bool] | None
    location: Location
    library: bool = False
    via: str = ""
    used: int | None = None
    stops: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a state space.

    Attributes:
        name: its symbol.
        space: its state space: global, const, shared, local or param.
        align: its alignment in bytes.
        bytes: its size; 0 for an `extern` array without a size.
        extern: whether it is an `extern` array without a size.
        init: its initial bytes.
        element: the size of an element of an array, without `.v2` or `.v4`.
        relocations: (offset, symbol, addend) of each address among them.
    """

    name: str
    space: str
    align: int
    bytes: int
    extern: bool = False
    init: builtins.bytes = b""
    relocations: tuple[tuple[int, str, int], ...] = ()
    element: int = 0


@dataclass
class Function:
    """A kernel (`entry`) or device function; `labels` map to indices of `body`."""

    name: str
    entry: bool
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)
    prototypes: dict[str, str] = field(default_factory=dict)
    has_body: bool = True
    line: int = 0
    limits: dict[str, list[int]] = field(default_factory=dict)
    library: bool = False


@dataclass
class Module:
    """A parsed PTX module.

    Attributes:
        sections: the text of its debug sections by name.
        subscripts: what the compiler said of the source: see `Subscript`.
        source: the source that it was compiled from, where that is known.
    """

    files: dict[int, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    target: str = ""
    sections: dict[str, str] = field(default_factory=dict)
    subscripts: tuple[Subscript, ...] = ()
    source: str = ""


_NUMBERS = regex(r"[0-9,]*+")
_SIZES = {".b8": 1, ".b16": 2, ".b32": 4, ".b64": 8}
_BYTE_LINE, _JOIN = "\n.b8 ", "|"


class SectionBytes:
    """The bytes of a section, and the symbols in it by their offset."""

    def __init__(self, text: str) -> None:
        self.at = 0
        self.symbols: dict[int, str] = {}
        numbers, size = list[str](), 0
        for line in text.replace(_BYTE_LINE, _JOIN).split("\n"):
            first, _, following = line.partition(_JOIN)
            directive, _, values = first.strip().partition(" ")
            for width, items in (
                (_SIZES.get(directive, 0), values),
                (1, following.replace(_JOIN, ",")),
            ):
                if not width or not items:
                    continue
                if width > 1 or not _NUMBERS.fullmatch(items) or ",," in f",{items},":
                    items = self._bytes(items, width, size)
                numbers.append(items)
                size += items.count(",") + 1
        self.data = (
            np.fromstring(",".join(numbers), np.uint8, sep=",").tobytes() if numbers else b""
        )

    def _bytes(self, items: str, width: int, at: int) -> str:
        """The bytes of numbers and symbols of a width, which begin at an offset."""
        data = bytearray()
        for item in map(str.strip, items.split(",")):
            if not item.isdecimal() and not item.removeprefix("-").isdecimal():
                self.symbols[at + len(data)] = item
                item = "0"
            data += (int(item) % (1 << 8 * width)).to_bytes(width, "little")
        return ",".join(map(str, data))

    def number(self, size: int) -> int:
        """Read an unsigned number of `size` bytes."""
        self.at += size
        if self.at > len(self.data):
            raise IndexError("the section ends early")
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def leb(self) -> int:
        """Read an unsigned LEB128 number."""
        out = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            out |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return out


STRONG_READS = frozenset(("volatile", "relaxed", "acquire", "mmio"))
"""The parts of an opcode that make a load strong: it may read what another thread is writing."""

TYPE_BYTES = {
    "b8": 1,
    "u8": 1,
    "s8": 1,
    "b16": 2,
    "u16": 2,
    "s16": 2,
    "f16": 2,
    "bf16": 2,
    "b32": 4,
    "u32": 4,
    "s32": 4,
    "f32": 4,
    "u16x2": 4,
    "s16x2": 4,
    "f16x2": 4,
    "bf16x2": 4,
    "b64": 8,
    "u64": 8,
    "s64": 8,
    "f64": 8,
    "b128": 16,
    "pred": 0,
}


_LENGTH = regex(r"\d{1,9}")
"""A length in a mangled name. A student's own name may have thousands of digits, which Python
refuses to read as one number."""


def is_load(i: Instruction) -> bool:
    """Whether an instruction reads memory, other than a parameter."""
    head, *parts = i.op.split(".")
    return head in ("ld", "ldu", "atom") and "param" not in parts


def plain_name(symbol: str) -> str:
    """The name of a variable in the source: `_ZZ6matmulE2As` is As, `_ZN2ns1xE` is x."""
    if not symbol.startswith("_Z"):
        return symbol
    at, name = 0, symbol
    while (match := _LENGTH.search(symbol, at)) is not None:
        length, start = int(match[0]), match.end()
        fits = start + length <= len(symbol) and symbol[start : start + length].isidentifier()
        if fits and length:
            name, at = symbol[start : start + length], start + length
        else:
            at = match.end()
    return name


def function_name(symbol: str) -> str:
    """The name of a function in the source: `_ZN2ns4swapIiEEvRT_S2_` is swap.

    A lambda, and what else is local to a function, has the name of that function.
    """
    while symbol.startswith("_ZZ"):
        symbol = symbol.replace("_ZZ", "_Z", 1)
    nested = symbol.startswith("_ZN")
    name, at, depth = symbol, 2 + symbol.startswith(("_ZN", "_ZL")), 0
    if not symbol.startswith("_Z"):
        return symbol
    while at < len(symbol):
        if (match := _LENGTH.match(symbol, at)) is not None:
            at = match.end() + int(match[0])
            name = name if depth else symbol[match.end() : at]
            if not nested:  # what follows are types, of arguments
                break
        elif symbol[at] == "L":  # a literal among the arguments of a template
            at = symbol.find("E", at) % len(symbol) + 1
        elif depth or symbol[at] in "IKVrO":
            depth += (symbol[at] in "IN") - (symbol[at] == "E")
            at += 1
        else:
            break
    return name
