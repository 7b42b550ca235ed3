"""Evaluate arithmetic in lab specs: `ceil_div(n, 16)`, `2 * tile * tile * 4`, `1.15 / tile`.

The grammar is a part of Python's: numbers, the names that the caller gives, + - * / // % **,
comparisons, `a if c else b`, and the functions min, max, abs, ceil_div and isqrt. Nothing else is
evaluated, and magnitudes are limited, so that a spec can neither run code nor exhaust the machine.
"""

from __future__ import annotations

import _ast as syntax
import math
import operator
from collections.abc import Callable, Mapping
from threading import Lock

from grader.faults import LabFault, did_you_mean

Number = int | float

MAX_LENGTH = 200
MAX_DEPTH = 30
MAX_EXPONENT = 64
MAX_MAGNITUDE = 2**63

_PARSER = Lock()
"""Held while Python makes a syntax tree: CPython 3.11 counts its depth for all threads together,
and raises SystemError where two make one at the same time."""


def _ceil_div(a: Number, b: Number) -> Number:
    return -(-a // b)


def _isqrt(a: Number) -> int:
    if not isinstance(a, int):
        raise ValueError("isqrt() takes a whole number")
    return math.isqrt(a)


def _power(a: Number, b: Number) -> Number:
    if not 0 <= b <= MAX_EXPONENT:
        raise ValueError(f"an exponent must be from 0 to {MAX_EXPONENT}")
    result: Number = a**b
    return result


_BINARY: Mapping[type[syntax.AST], Callable[[Number, Number], Number]] = {
    syntax.Add: operator.add,
    syntax.Sub: operator.sub,
    syntax.Mult: operator.mul,
    syntax.Div: operator.truediv,
    syntax.FloorDiv: operator.floordiv,
    syntax.Mod: operator.mod,
    syntax.Pow: _power,
}
_COMPARE: Mapping[type[syntax.AST], Callable[[Number, Number], bool]] = {
    syntax.Lt: operator.lt,
    syntax.LtE: operator.le,
    syntax.Gt: operator.gt,
    syntax.GtE: operator.ge,
    syntax.Eq: operator.eq,
    syntax.NotEq: operator.ne,
}
_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Number]]] = {
    "min": (2, min),
    "max": (2, max),
    "abs": (1, abs),
    "ceil_div": (2, _ceil_div),
    "isqrt": (1, _isqrt),
}


def _parse(text: str) -> syntax.expr:
    if len(text) > MAX_LENGTH:
        raise LabFault(
            f"the expression has {len(text)} characters, more than the limit of {MAX_LENGTH}"
        )
    try:
        with _PARSER:
            tree = compile(text.strip(), "", "eval", syntax.PyCF_ONLY_AST)
        assert isinstance(tree, syntax.Expression)
        return tree.body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise LabFault(
            f"`{text}` is not an arithmetic expression",
            fix="write something like `ceil_div(n, 16)` or `2 * tile * tile`",
        ) from None


class _Evaluator:
    """Evaluates one expression over the values of `names`."""

    def __init__(self, text: str, names: Mapping[str, Number]) -> None:
        self.text = text
        self.names = names

    def fault(self, what: str, fix: str = "") -> LabFault:
        return LabFault(f"in `{self.text}`: {what}", fix=fix)

    def value(self, node: syntax.expr, depth: int = 0) -> Number:
        if depth > MAX_DEPTH:
            raise self.fault("it is nested too deeply")
        result = self._value(node, depth + 1)
        if abs(result) > MAX_MAGNITUDE or result != result:
            raise self.fault("its value is too large", "values are at most 2**63")
        return result

    def _value(self, node: syntax.expr, depth: int) -> Number:
        match node:
            case syntax.Constant(value=bool() | int() | float() as number):
                return number
            case syntax.Name(id=name):
                return self._name(name)
            case syntax.UnaryOp(op=syntax.USub(), operand=operand):
                return -self.value(operand, depth)
            case syntax.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self._apply(
                    _BINARY[type(op)], self.value(left, depth), self.value(right, depth)
                )
            case syntax.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return _COMPARE[type(op)](self.value(left, depth), self.value(right, depth))
            case syntax.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if self.value(test, depth) else orelse, depth)
            case syntax.Call(func=syntax.Name(id=name), args=args, keywords=[]):
                return self._call(name, args, depth)
        from ast import unparse  # takes 3 ms to import; the classes of nodes are the interpreter's

        raise self.fault(
            f"`{unparse(node)}` is not allowed",
            "use numbers, dims, + - * / // % **, one comparison, min, max, abs, ceil_div, isqrt",
        )

    def _name(self, name: str) -> Number:
        if name in self.names:
            return self.names[name]
        known = ", ".join(sorted(self.names)) or "none"
        fix = f"{did_you_mean(name, self.names)} use one of these names: {known}".lstrip()
        raise self.fault(f"unknown name `{name}`", fix)

    def _call(self, name: str, args: list[syntax.expr], depth: int) -> Number:
        if name not in _FUNCTIONS:
            fix = f"{did_you_mean(name, _FUNCTIONS)} use one of {', '.join(_FUNCTIONS)}".lstrip()
            raise self.fault(f"unknown function `{name}`", fix)
        count, function = _FUNCTIONS[name]
        if len(args) != count and not (name in ("min", "max") and len(args) > count):
            raise self.fault(f"`{name}` takes {count} argument{'s' * (count > 1)}")
        return self._apply(function, *(self.value(arg, depth) for arg in args))

    def _apply(self, function: Callable[..., Number], *values: Number) -> Number:
        try:
            return function(*values)
        except ZeroDivisionError:
            raise self.fault("division by zero") from None
        except (ValueError, OverflowError, TypeError) as error:
            raise self.fault(str(error)) from None


def evaluate_expression(text: str | Number, names: Mapping[str, Number]) -> Number:
    """Return the value of an expression over `names`; a number is its own value.

    Raises:
        LabFault: It cannot be evaluated; the fault names what may be used.
    """
    if not isinstance(text, str):
        return text
    return _Evaluator(text, names).value(_parse(text))


def evaluate_integer(text: str | Number, names: Mapping[str, Number], *, least: int = 0) -> int:
    """Return the value of an expression for a size or a count.

    Raises:
        LabFault: It cannot be evaluated, or is not a whole number of at least `least`.
    """
    value = evaluate_expression(text, names)
    if isinstance(value, bool) or not isinstance(value, int):
        raise LabFault(
            f"`{text}` is {value!r}, not a whole number", fix="use // or ceil_div() to divide"
        )
    if value < least:
        given = ", ".join(f"{name}={names[name]}" for name in sorted(names))
        raise LabFault(f"`{text}` is {value} with {given}; it must be at least {least}")
    return value
