"""Split the operands of an instruction and the initial values of a variable.

Source: PTX ISA, "Instruction Operands", "Variables", "Array Declarations" and "Initializers".
Constant expressions become numbers.

What follows the parser finds plain operands only: a name, a number, `[base+number]`, `{a, b}`, or
`(a, b)` of a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import prod

from grader import regex
from grader.simulator.ptx.constants import NotConstant, bits_of, evaluate, float_bits
from grader.simulator.ptx.model import TYPE_BYTES, PtxError, Variable

_COMMENT = regex(r'//[^\n]*|/\*.*?(?:\*/|\Z)|("[^"\n]*")', re.S)
_SECTION = "\n\t.section"
_ASSEMBLY = regex(r"// (begin|end) inline asm\b")
_BAR = regex(r"(?<![\w$%.])bar\.(?!warp\b)")
_OPERAND = regex(r"\s*+(\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,{}\[\]()]+)\s*(?:,|$)")
_PLAIN = regex(
    r"!?\s*[$%A-Za-z_][$%\w]*(?:\s*\|\s*[$%A-Za-z_][$%\w]*)?|-?(?:0|[1-9]\d*)|0[xX][0-9a-fA-F]+"
    r"|0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}"
    r"|\[\s*[$%A-Za-z_][$%\w]*\s*(?:\+\s*-?(?:0|[1-9]\d*)\s*)?\]"
)
"""What needs no change, which most operands are."""

_ADDRESS = regex(r"\[\s*([$%A-Za-z_][$%\w.]*)\s*([+-])([^\[\],{}]+)\]", re.S)
_SUM = regex(r"([$%A-Za-z_][$%\w]*)\s*([+-])(.+)", re.S)
_ELEMENT = regex(r"([$%A-Za-z_][$%\w@]*)\s*\[([^\[\]]+)\]", re.S)
_SPECIAL = regex(r"%(n?tid|n?ctaid|n?clusterid|cluster_n?ctaid)\s*\.\s*([xyzwrgba])")
_COMPONENT = regex(r"([$%\w@]+)\s*\.\s*([xyzwrgba])\b")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}

_AXES = {"x": "x", "y": "y", "z": "z", "w": "w", "r": "x", "g": "y", "b": "z", "a": "w"}
"""The elements of vectors by their names."""

_SPECIAL_VECTOR = regex(r"%(?:n?tid|n?ctaid|n?clusterid|cluster_n?ctaid)")
"""The special registers that are vectors; their fourth element is 0."""


def assembly_barriers(text: str) -> str:
    """Write each `bar` of inline assembly as `barrier.aligned`, which PTX defines it to be.

    So `bar` is left for CUDA's functions alone, as __syncthreads(), whose rule is stricter: all
    threads of the block execute one call, not those of a warp.
    """
    parts = _ASSEMBLY.split(text)
    for at in range(2, len(parts), 2):
        if parts[at - 1] == "begin":
            parts[at] = _BAR.sub("barrier.aligned.", parts[at])
    return "".join(parts[::2])


def without_comments(text: str) -> str:
    """The text with a space for each comment; debug sections, most of a long text, have none."""
    parts = [text] if "/*" in text else text.split(_SECTION)
    for k, part in enumerate(parts):
        if "//" in part or "/*" in part:
            parts[k] = _COMMENT.sub(lambda m: m.group(1) or " ", part)
    return _SECTION.join(parts)


def operands_of(text: str) -> Iterator[str]:
    """Split operands at commas; vectors, addresses and lists in brackets stay whole."""
    at = 0
    while at < len(text):
        match = _OPERAND.match(text, at)
        if match is None:
            yield from _split(text, at)
            return
        yield match[1].strip()
        at = match.end()


def _split(text: str, at: int) -> Iterator[str]:
    """Split operands that have brackets inside or beside them."""
    open_, start = [], at
    for k in range(at, len(text)):
        if (close := _BRACKETS.get(text[k])) is not None:
            open_.append(close)
        elif text[k] in ")]}" and (not open_ or open_.pop() != text[k]):
            break
        elif text[k] == "," and not open_:
            if not text[start:k].strip():
                break
            yield text[start:k].strip()
            start = k + 1
    else:
        if not open_ and text[start:].strip():
            yield text[start:].strip()
            return
    raise PtxError(f"cannot parse the operands {text[:60]!r}")


@lru_cache(maxsize=1 << 13)
def folded(operand: str) -> str:
    """Replace the constant expressions of an operand by their values.

    A floating-point value is written as 0d and the bits of a double.
    """
    if _PLAIN.fullmatch(operand) and operand != "WARP_SZ":
        return operand
    if operand.startswith("{") and operand.endswith("}"):
        return "{" + ", ".join(folded(x) for x in operands_of(operand[1:-1].strip())) + "}"
    if (special := _SPECIAL.fullmatch(operand)) is not None:
        return _special(special[1], _AXES[special[2]])
    if (address := _ADDRESS.fullmatch(operand)) is not None:
        return f"[{_sum(*address.groups()) or operand[1:-1]}]"
    if operand.startswith("[") and operand.endswith("]"):
        inside = operand[1:-1]
        parts = map(folded, operands_of(inside)) if "," in inside else (number_or(inside),)
        return f"[{', '.join(parts)}]"
    if (added := _SUM.fullmatch(operand)) is not None:
        return _sum(*added.groups()) or number_or(operand)
    return number_or(operand)


VIDEO = regex(r"v(?:(?:add|sub|absdiff|min|max|set)[24]?|avrg[24]|shl|shr|mad)\.")
"""The opcodes of the video instructions."""

_SELECTED = regex(r"(-?)\s*([$%\w]+)(?:\s*\.\s*([bh]\d+))?")


def plain_operands(op: str, operands: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The opcode and operands with constant expressions replaced by their values.

    What a video instruction selects of its operands, and the signs before them, become modifiers:
    `vadd.u32.u32.u32 d, a.b0, b.h1` is `vadd.u32.u32.u32.a_b0.b_h1 d, a, b`.
    """
    operands = tuple(map(folded, operands))
    if not VIDEO.match(op):
        return op, operands
    names = []
    for own, text in zip("dabc", operands, strict=False):
        match = _SELECTED.fullmatch(text)
        if match is None:
            raise PtxError(f"{op} of {text[:40]!r}")
        negative, name, part = match.groups()
        names.append(negative + name if name.isdigit() else name)
        op += f".{own}_negated" if negative and not name.isdigit() else ""
        op += f".{own}_{part}" if part else ""
    return op, (*names, *operands[4:])


def _special(name: str, axis: str) -> str:
    """An element of a special register, in clusters of one block each; the fourth one is 0."""
    if name.startswith("cluster_") or axis == "w":
        return "1" if name == "cluster_nctaid" and axis != "w" else "0"
    return f"%{name.replace('clusterid', 'ctaid')}.{axis}"


def _sum(name: str, sign: str, text: str) -> str:
    """A name and the value of the expression behind it; empty where that is not constant.

    `a-4+8` is the sum of a and -4+8.
    """
    try:
        value = evaluate(text if sign == "+" else f"-{text}").value
    except NotConstant:
        return ""
    if isinstance(value, float) or name == "WARP_SZ":
        return ""
    return f"{name}{value - (value >> 63 << 64) if value > 0 else value:+d}"


def number_or(text: str) -> str:
    """The value of a constant expression; any other text as it is."""
    try:
        value = evaluate(text).value
    except NotConstant:
        return text
    return str(value) if isinstance(value, int) else f"0d{bits_of(value, 8):016X}"


def element(operand: str) -> tuple[str, int] | None:
    """The array and the index of the operand `array[index]`; None for any other one."""
    match = _ELEMENT.fullmatch(operand)
    if match is None:
        return None
    try:
        return match[1], int(evaluate(match[2]).value)
    except NotConstant as error:
        raise PtxError(f"the element {operand[:40]!r} of an array has no constant index") from error


class Vectors:
    """The vector registers of a function; each element is a register of its own.

    Attributes:
        elements: the registers of each vector.
    """

    def __init__(self) -> None:
        self.elements: dict[str, tuple[str, ...]] = {}

    def declare(self, name: str, count: int) -> tuple[str, ...]:
        """Enter a vector register of 2 or 4 elements; return their names."""
        self.elements[name] = tuple(f"{name}@{axis}" for axis in "xyzw"[:count])
        return self.elements[name]

    def expanded(self, operand: str) -> str:
        """The operand with the names of elements: `q.y` is q@y, and `q` is `{q@x, q@y}`."""
        if (whole := self.elements.get(operand)) is not None:
            return "{" + ", ".join(whole) + "}"
        return _COMPONENT.sub(self._component, operand)

    def _component(self, match: re.Match[str]) -> str:
        names = self.elements.get(match[1], ())
        at = "xyzw".index(_AXES[match[2]])
        return names[at] if at < len(names) else match[0]


def scalar_moves(op: str, operands: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The moves of the elements of `mov.v2`, `mov.v4` or `mov.b128`; any other one as it is.

    A value of 128 bits is a vector of two. Raises PtxError where an element would be read after it
    is written.
    """
    parts = op.split(".")
    if parts[-1] == "b128" and parts[0] in ("ld", "st", "mov"):
        parts[-1:] = ["v2", "b64"]
    if len(parts) != 3 or parts[0] != "mov" or len(operands) != 2:
        yield ".".join(parts), operands
        return
    to, given = operands
    if _SPECIAL_VECTOR.fullmatch(given):
        given = ", ".join(_special(given[1:], axis) for axis in "xyzw")
    sides = [list(operands_of(text.strip("{}").strip())) for text in (to, given)]
    pairs = list(zip(*sides, strict=True))
    for k, (d, _) in enumerate(pairs):
        if d in (a for _, a in pairs[k + 1 :]):
            raise PtxError(f"{op} {to}, {given}: elements that change places")
        if d != "_":
            yield f"mov.{parts[2]}", list(pairs[k])


MAX_VARIABLE = 1 << 30
"""The largest size of a variable, in bytes; no kernel of a course has a larger one."""

ALIGNMENTS = frozenset(1 << k for k in range(17))

_MOST_KNOWN = 512
"""The length from which on a declaration, with its initial values, is not kept."""

_VARIABLE = regex(
    r"(?P<extern>\.extern\s*)?(?:\.(?:visible|weak|common)\s*)*\.(?P<space>global|const|shared|local|param)\s*"
    r"(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(?P<align>\d+)\s*)?(?:\.(?P<vector>v[248])\s*)?\.(?P<type>\w+)\b\s*"
    r"(?:\.ptr\b(?:\s*\.(?!align)\w+)?(?:\s*\.align\s+\d+)?\s+)?"
    r"(?P<name>[$%\w]+)\s*(?P<dims>(?:\[[^\]]*\]\s*)*)(?:=\s*(?P<init>.*))?$",
    re.S,
)


def variable(text: str) -> Variable:
    """Parse the declaration of a variable with its initial bytes. Raises PtxError."""
    return _known_variable(text) if len(text) < _MOST_KNOWN else _variable(text)


def _variable(text: str) -> Variable:
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


_known_variable = lru_cache(maxsize=1 << 12)(_variable)
"""Both builds of a program declare the thousand constants of a library's headers."""


def _extent(text: str) -> int:
    """The elements of a dimension; 0 where the declaration does not say."""
    try:
        return int(evaluate(text).value) if text.strip() else 0
    except OverflowError as error:
        raise PtxError(f"an array of {text.strip()[:40]} elements") from error


Relocations = tuple[tuple[int, str, int], ...]
_SYMBOL = regex(r"(?:generic\()?\s*([$%A-Za-z_][$\w]*)\)?\s*(?:\+\s*(\d+))?")


def _initial(text: str, element: int) -> tuple[bytes, Relocations]:
    """The bytes of initial values, and the addresses among them."""
    out, relocations = bytearray(), []
    for part in filter(None, (p.strip() for p in text.strip(" \t\n{}").split(","))):
        symbol = None if part[0].isdigit() or part == "WARP_SZ" else _SYMBOL.match(part)
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
