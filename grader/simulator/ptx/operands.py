"""Split the operands of a PTX instruction, and write their constant expressions as numbers.

What follows the parser finds plain operands only: a name, a number, `[base+number]`, `{a, b}`, or
`(a, b)` of a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from grader.simulator.ptx.constants import NotConstant, bits_of, evaluate
from grader.simulator.ptx.model import PtxError

_OPERAND = re.compile(r"\s*+(\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,{}\[\]()]+)\s*(?:,|$)")
_PLAIN = re.compile(
    r"!?\s*[$%A-Za-z_][$%\w]*(?:\s*\|\s*[$%A-Za-z_][$%\w]*)?|-?(?:0|[1-9]\d*)|0[xX][0-9a-fA-F]+"
    r"|0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}"
    r"|\[\s*[$%A-Za-z_][$%\w]*\s*(?:\+\s*-?(?:0|[1-9]\d*)\s*)?\]"
)
"""What needs no change, which most operands are."""

_ADDRESS = re.compile(r"\[\s*([$%A-Za-z_][$%\w.]*)\s*([+-])([^\[\],{}]+)\]", re.S)
_SUM = re.compile(r"([$%A-Za-z_][$%\w]*)\s*([+-])(.+)", re.S)
_ELEMENT = re.compile(r"([$%A-Za-z_][$%\w@]*)\s*\[([^\[\]]+)\]", re.S)
_SPECIAL = re.compile(r"%(n?tid|n?ctaid|n?clusterid|cluster_n?ctaid)\s*\.\s*([xyzwrgba])")
_COMPONENT = re.compile(r"([$%\w@]+)\s*\.\s*([xyzwrgba])\b")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}

_AXES = {"x": "x", "y": "y", "z": "z", "w": "w", "r": "x", "g": "y", "b": "z", "a": "w"}
"""The elements of vectors by their names."""

_SPECIAL_VECTOR = re.compile(r"%(?:n?tid|n?ctaid|n?clusterid|cluster_n?ctaid)")
"""The special registers that are vectors; their fourth element is 0."""


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
