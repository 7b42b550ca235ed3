"""What the student called things: variables behind symbols, elements behind byte offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from grader.expression import evaluate
from grader.fault import LabFault

_LENGTH = re.compile(r"\d+")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n/]+)", re.M)
_CONSTANT = re.compile(r"\b(?:const|constexpr|enum)\b[^;={]*?\b(\w+)\s*=\s*([^;,}]+)")
_DIMS = r"(?:\s*\[[^\]]*\])"
_DECLARED = re.compile(
    r"(?P<shared>__shared__\s+(?:\w+\s+){0,3}?)?(?P<type>[\w:]+(?:\s*\*)?)\s+(?:__align__\s*\([^)]*\)\s*)?"
    rf"(?P<list>\w+{_DIMS}*(?:\s*,\s*\w+{_DIMS}*)*)\s*[;,=]"
)
_ONE = re.compile(rf"(\w+)({_DIMS}*)")
TYPE_SIZES = {
    "char": 1,
    "int8_t": 1,
    "uint8_t": 1,
    "bool": 1,
    "short": 2,
    "half": 2,
    "int": 4,
    "unsigned": 4,
    "float": 4,
    "long": 8,
    "double": 8,
    "float2": 8,
    "int2": 8,
    "float4": 16,
    "int4": 16,
    "uint32_t": 4,
    "int32_t": 4,
    "uint64_t": 8,
    "int64_t": 8,
    "size_t": 8,
    "uchar": 1,
    "uint": 4,
}


def plain_name(symbol: str) -> str:
    """A variable's own name: `_ZZ6matmulE2As` is As, `_ZN2ns1xE` is x."""
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


@dataclass(frozen=True)
class Shape:
    """A variable's extent: `dims` of elements of `element` bytes."""

    dims: tuple[int, ...]
    element: int

    def index(self, offset: int) -> str:
        """`[1][3]`, the element that a byte offset lies in; the first index may run over."""
        flat, out = offset // self.element, []
        for size in reversed(self.dims[1:]):
            flat, at = divmod(flat, max(size, 1))
            out.append(at)
        return "".join(f"[{k}]" for k in (flat, *reversed(out)))


def declared_shape(source: str, name: str, size: int) -> Shape | None:
    """The shape that the source declares for an array of `size` bytes; None when it cannot be
    read off with certainty (the product of its dimensions must give exactly that size)."""
    constants = _constants(source)
    for declared in _declarations(source, name):
        dims = [_number(d, constants) for d in declared.dims]
        known = [d for d in dims if d is not None and d > 0]
        if not known or len(known) != len(dims):
            continue
        count = prod(known)
        if size and size % count == 0 and size // count in (1, 2, 4, 8, 16):
            return Shape(tuple(known), size // count)
    return None


def element_bytes(source: str, name: str) -> int:
    """Bytes of an element of the array that the source declares by this name; 0 if unknown."""
    for declared in _declarations(source, name):
        if declared.dims:
            return TYPE_SIZES.get(declared.type.split("::")[-1].strip(), 0)
    return 0


def is_one(source: str, name: str) -> bool:
    """Whether the source declares a shared variable of this name that is no array."""
    held = list(_declarations(source, name))
    return any(d.shared for d in held) and not any(d.dims for d in held)


@dataclass(frozen=True)
class _Declaration:
    type: str
    dims: tuple[str, ...]
    shared: bool


def _declarations(source: str, name: str) -> Iterator[_Declaration]:
    """What looks like a declaration of `name`, alone or among others of one type."""
    for match in _DECLARED.finditer(source):
        for own, dims in _ONE.findall(match["list"]):
            if own == name:
                lengths = tuple(re.findall(r"\[([^\]]*)\]", dims))
                yield _Declaration(match["type"], lengths, bool(match["shared"]))


def _constants(source: str) -> dict[str, int | float]:
    out: dict[str, int | float] = {}
    for pattern in (_DEFINE, _CONSTANT):
        for name, text in pattern.findall(source):
            if (value := _number(text, out)) is not None:
                out.setdefault(name, value)
    return out


def _number(text: str, constants: dict[str, int | float]) -> int | None:
    cleaned = re.sub(r"(?<=\d)[uUlL]+\b", "", text.strip().rstrip(";")).replace("/", "//")
    try:
        value = evaluate(cleaned, constants)
    except (LabFault, ArithmeticError, ValueError, TypeError):
        return None
    return int(value) if value == int(value) else None
