"""Evaluate the constant expressions of PTX.

Source: PTX ISA, "Constants" and "Integer Constant Expression Evaluation". Integers have 64 bits
and are signed or unsigned; the operators and their order are those of C. Where the manual leaves
something open, the value is ptxas's: a shift count is taken modulo 64, and `a ? b : c` has the type
of the operand that it chooses.
"""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

from grader import dataclass, regex

WARP_SIZE = 32
_BITS = 1 << 64
_TOKEN = regex(
    r"\s*(?:(?P<exact>0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b)"
    r"|(?P<float>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![\w.])"
    r"|(?P<integer>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|0[0-7]*U?|[1-9]\d*U?)(?![\w.])"
    r"|(?P<size>WARP_SZ)\b|(?P<cast>\(\s*\.(?:s64|u64)\s*\))"
    r"|(?P<operator><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&^|!~?:()]))"
)
MAX_DEPTH = 64
"""The most parentheses within parentheses."""


class NotConstant(ValueError):
    """The text is not a constant expression."""


@dataclass(frozen=True)
class Constant:
    """The value of a constant expression; an integer lies in the range of its type."""

    value: int | float
    unsigned: bool = False


def _integer(value: int, *, unsigned: bool) -> Constant:
    value %= _BITS
    return Constant(value if unsigned or value < _BITS >> 1 else value - _BITS, unsigned)


def _whole(*operands: Constant) -> list[int]:
    """The operands as unsigned numbers. Raises NotConstant for one that is no integer."""
    if any(isinstance(x.value, float) for x in operands):
        raise NotConstant("an integer is needed")
    return [int(x.value) % _BITS for x in operands]


def _converted(a: Constant, b: Constant) -> tuple[int | float, int | float, bool]:
    """The operands after the usual arithmetic conversions, and whether they are unsigned."""
    if isinstance(a.value, float) != isinstance(b.value, float):
        raise NotConstant("an integer and a floating-point number")
    if isinstance(a.value, float) or not (a.unsigned or b.unsigned):
        return a.value, b.value, False
    return (*_whole(a, b), True)  # type: ignore[return-value]


def _divided(a: float, b: float) -> int | float:
    if not b:
        raise NotConstant("division by zero")
    if isinstance(a, float):
        return a / b
    return abs(a) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1)


def _arithmetic(of: Callable[[int | float, int | float], int | float]) -> _Binary:
    def evaluate(a: Constant, b: Constant) -> Constant:
        x, y, unsigned = _converted(a, b)
        value = of(x, y)
        return Constant(value) if isinstance(value, float) else _integer(value, unsigned=unsigned)

    return evaluate


def _comparison(of: Callable[[int | float, int | float], bool]) -> _Binary:
    def evaluate(a: Constant, b: Constant) -> Constant:
        x, y, _ = _converted(a, b)
        return Constant(int(of(x, y)))

    return evaluate


def _bitwise(of: Callable[[int, int], int]) -> _Binary:
    def evaluate(a: Constant, b: Constant) -> Constant:
        return _integer(of(*_whole(a, b)), unsigned=a.unsigned or b.unsigned)

    return evaluate


def _left(a: Constant, b: Constant) -> Constant:
    value, count = _whole(a, b)
    return _integer(value << count % 64, unsigned=a.unsigned)


def _right(a: Constant, b: Constant) -> Constant:
    _, count = _whole(a, b)
    return _integer(int(a.value) >> count % 64, unsigned=a.unsigned)


def _remainder(a: Constant, b: Constant) -> Constant:
    x, y = _whole(a, b)
    if not y:
        raise NotConstant("division by zero")
    return _integer(x % y, unsigned=True)


_Binary = Callable[[Constant, Constant], Constant]
_LEVELS: tuple[Mapping[str, _Binary], ...] = tuple(
    map(
        MappingProxyType,
        (
            {"||": lambda a, b: Constant(int(any(_whole(a, b))))},
            {"&&": lambda a, b: Constant(int(all(_whole(a, b))))},
            {"|": _bitwise(operator.or_)},
            {"^": _bitwise(operator.xor)},
            {"&": _bitwise(operator.and_)},
            {"==": _comparison(operator.eq), "!=": _comparison(operator.ne)},
            {
                "<": _comparison(operator.lt),
                "<=": _comparison(operator.le),
                ">": _comparison(operator.gt),
                ">=": _comparison(operator.ge),
            },
            {"<<": _left, ">>": _right},
            {"+": _arithmetic(operator.add), "-": _arithmetic(operator.sub)},
            {"*": _arithmetic(operator.mul), "/": _arithmetic(_divided), "%": _remainder},
        ),
    )
)
"""The binary operators by precedence, the weakest first."""


class _Expression:
    """The tokens of an expression, which are evaluated from left to right."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at, text = 0, text.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                raise NotConstant(text[at:])
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self.at, self.depth = 0, 0

    def evaluate(self) -> Constant:
        """The value of the whole expression."""
        value = self.chosen()
        if self.at < len(self.tokens):
            raise NotConstant(self.tokens[self.at][1])
        return value

    def next(self) -> tuple[str, str]:
        """The next token, which is taken."""
        if self.at == len(self.tokens):
            raise NotConstant("the expression has no end")
        self.at += 1
        return self.tokens[self.at - 1]

    def takes(self, *names: str) -> str:
        """The next token where it is one of some operators, which is taken; else empty."""
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind != "operator" or token not in names:
            return ""
        self.at += 1
        return token

    def chosen(self) -> Constant:
        """A conditional expression, or what is without one."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotConstant("too many parentheses")
        value = self.binary(0)
        if self.takes("?"):
            (condition,) = _whole(value)
            yes = self.chosen()
            if not self.takes(":"):
                raise NotConstant("`?` without `:`")
            no = self.chosen()
            _converted(yes, no)
            value = yes if condition else no
        self.depth -= 1
        return value

    def binary(self, level: int) -> Constant:
        """Operands with the operators of a level between them."""
        if level == len(_LEVELS):
            return self.unary()
        value = self.binary(level + 1)
        while name := self.takes(*_LEVELS[level]):
            value = _LEVELS[level][name](value, self.binary(level + 1))
        return value

    def unary(self) -> Constant:
        """An operand with the operators before it."""
        before: list[str] = []
        while name := self.takes("+", "-", "!", "~") or self.cast():
            before.append(name)
        value = self.primary()
        for name in reversed(before):
            value = _applied(name, value)
        return value

    def cast(self) -> str:
        """The next token where it is a cast, which is taken; else empty."""
        if self.at == len(self.tokens) or self.tokens[self.at][0] != "cast":
            return ""
        return self.next()[1].strip("() \t\n.")

    def primary(self) -> Constant:
        """A literal, or an expression in parentheses."""
        kind, token = self.next()
        if kind == "integer":
            number = integer(token)
            return _integer(number, unsigned=token.endswith("U") or number >= _BITS >> 1)
        if kind == "exact":
            return Constant(exact_float(token))
        if kind == "float":
            return Constant(float(token))
        if kind == "size":
            return Constant(WARP_SIZE)
        if token != "(":
            raise NotConstant(token)
        value = self.chosen()
        if not self.takes(")"):
            raise NotConstant("`(` without `)`")
        return value


def _applied(name: str, x: Constant) -> Constant:
    """The value of a unary operator or a cast."""
    if name in "+-":
        value = -x.value if name == "-" else x.value
        return Constant(value) if isinstance(value, float) else _integer(value, unsigned=x.unsigned)
    (bits,) = _whole(x)
    if name == "!":
        return Constant(int(not bits))
    return _integer(bits ^ _BITS - 1 if name == "~" else bits, unsigned=name != "s64")


@lru_cache(maxsize=1 << 12)
def evaluate(text: str) -> Constant:
    """Evaluate a constant expression. Raises NotConstant for any other text."""
    return _Expression(text).evaluate()


@lru_cache(maxsize=1 << 12)
def integer(text: str) -> int:
    """Parse a PTX integer constant; octal when it starts with 0. Raises ValueError."""
    return int(re.sub(r"^([-+]?)0(?=\d)", r"\g<1>0o", text.rstrip("U")), 0)


def exact_float(text: str) -> float:
    """The value of 0f3F800000 or 0d3FF0000000000000. Raises ValueError."""
    size = 4 if text[1] in "fF" else 8
    (value,) = struct.unpack(">f" if size == 4 else ">d", int(text[2:], 16).to_bytes(size, "big"))
    return float(value)


def float_bits(text: str, width: int = 0) -> int | None:
    """The bits of a PTX float constant such as 0f3F800000; None for any other text.

    It is converted to the `width` of the operand in bytes, where that is 4 or 8 and not its own.
    """
    if text[:2] not in ("0f", "0F", "0d", "0D"):
        return None
    own = 4 if text[1] in "fF" else 8
    if width in (own, 0) or width not in (4, 8):
        return int(text[2:], 16)
    return bits_of(exact_float(text), width)


def bits_of(value: float, width: int) -> int:
    """The bits of a number as a float of 4 bytes, rounded to nearest, or of 8."""
    try:
        return int.from_bytes(struct.pack("<f" if width == 4 else "<d", value), "little")
    except OverflowError:
        return 0x7F800000 | (value < 0) << 31
