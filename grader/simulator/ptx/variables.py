"""Parse the declarations of variables, with their initial values.

Source: PTX ISA, "Variables", "Array Declarations" and "Initializers".
"""

from __future__ import annotations

import re
from math import prod

from grader.simulator.ptx.constants import bits_of, evaluate, float_bits
from grader.simulator.ptx.model import TYPE_BYTES, PtxError, Variable
from grader.simulator.ptx.operands import operands_of

MAX_VARIABLE = 1 << 30
"""The largest size of a variable, in bytes; no kernel of a course has a larger one."""

ALIGNMENTS = frozenset(1 << k for k in range(17))

_VARIABLE = re.compile(
    r"(?P<extern>\.extern\s*)?(?:\.(?:visible|weak|common)\s*)*\.(?P<space>global|const|shared|local|param)\s*"
    r"(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(?P<align>\d+)\s*)?(?:\.(?P<vector>v[248])\s*)?\.(?P<type>\w+)\b\s*"
    r"(?:\.ptr\b(?:\s*\.(?!align)\w+)?(?:\s*\.align\s+\d+)?\s+)?"
    r"(?P<name>[$%\w]+)\s*(?P<dims>(?:\[[^\]]*\]\s*)*)(?:=\s*(?P<init>.*))?$",
    re.S,
)


def variable(text: str) -> Variable:
    """Parse the declaration of a variable with its initial bytes. Raises PtxError."""
    match = _VARIABLE.match(text.strip())
    if match is None or match["type"] not in TYPE_BYTES:
        raise PtxError(f"cannot parse {text.strip()[:60]!r}")
    element = TYPE_BYTES[match["type"]] * int((match["vector"] or "v1")[1:])
    dims = [_extent(dim) for dim in re.findall(r"\[([^\]]*)\]", match["dims"])]
    values, each = match["init"] or "", TYPE_BYTES[match["type"]]
    init, relocations = _nested(values, each, dims) if "{" in values[1:] else _initial(values, each)
    if dims and not dims[0] and init:
        dims[0] = -(-len(init) // (prod(dims[1:]) * element or 1))
    count = prod(dims)
    align = int(match["align"] or element or 1)
    if not 0 <= count * element <= MAX_VARIABLE or align not in ALIGNMENTS:
        raise PtxError(f"{match['name']} has {count * element} bytes with an alignment of {align}")
    if len(init) > count * element:
        raise PtxError(f"the initializer of {match['name']} is longer than the variable")
    return Variable(
        match["name"],
        match["space"],
        align,
        element * count,
        bool(match["extern"]) and not element * count,
        init,
        relocations,
        each,
    )


def _extent(text: str) -> int:
    """The elements of a dimension; 0 where the declaration does not say."""
    return int(evaluate(text).value) if text.strip() else 0


Relocations = tuple[tuple[int, str, int], ...]
_ADDRESS = re.compile(r"(?:generic\()?\s*([$%A-Za-z_][$\w]*)\)?\s*(?:\+\s*(\d+))?")


def _initial(text: str, element: int) -> tuple[bytes, Relocations]:
    """The bytes of initial values, and the addresses among them."""
    out, relocations = bytearray(), []
    for part in filter(None, (p.strip() for p in text.strip(" \t\n{}").split(","))):
        symbol = None if part[0].isdigit() or part == "WARP_SZ" else _ADDRESS.match(part)
        if symbol is not None:
            relocations.append((len(out), symbol[1], int(symbol[2] or 0)))
            out += bytes(element)
        else:
            out += (_bits(part, element) & ((1 << 8 * element) - 1)).to_bytes(element, "little")
    return bytes(out), tuple(relocations)


def _bits(text: str, element: int) -> int:
    """The bits of an initial value. Raises ValueError."""
    if text.isdecimal() and text[0] != "0":
        return int(text)
    if (exact := float_bits(text, element)) is not None:
        return exact
    value = evaluate(text).value
    return value if isinstance(value, int) else bits_of(value, element)


def _nested(text: str, element: int, dims: list[int]) -> tuple[bytes, Relocations]:
    """The bytes of initial values in nested braces; what a row leaves out is 0."""
    text = text.strip()
    rows = [part.strip() for part in operands_of(text[1:-1].strip())] if text[:1] == "{" else []
    if not rows or not rows[0].startswith("{"):
        return _initial(text, element)
    relocations: list[tuple[int, str, int]] = []
    out, each = bytearray(), prod(dims[1:]) * element
    for row in rows:
        init, addresses = _nested(row, element, dims[1:])
        relocations += ((len(out) + at, name, add) for at, name, add in addresses)
        out += init.ljust(each, b"\0")
    return bytes(out), tuple(relocations)
