"""Accesses whose own expression indexes a part of a variable: a row of an array, a member's array.

`t[r][c]` with a `c` behind the row is an access to the next row, which no check of the variable's
bounds finds. C++ does not define it, but programs use the rows of an array as one flat array on
purpose. So it counts only where three things agree: how the address is computed (the variable's
place, plus indices times sizes), the types of the debug sections, and the line, which must index
that part and must not take its address, other than for an atomic.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from grader import dataclass, regex, replace
from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.library_calls import memcpy_lines
from grader.simulator.decode.memory import SPACES
from grader.simulator.decode.operands import address_or_none, vector
from grader.simulator.ptx.debug_info import InnerArray, LocalVariable, LocalVariables
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction, Module

_NAME = regex(r"[$%A-Za-z_][$%\w@]*")
_NUMBER, _SIGNED = regex(r"\d{1,9}"), regex(r"-?\d{1,9}")
_ATOMIC_FUNCTION = regex(r"_Z\d+atomic[A-Za-z]+(?:_block|_system)?PV?([a-z])")
_BYTES = {"t": 2, "i": 4, "j": 4, "f": 4, "l": 8, "m": 8, "x": 8, "y": 8, "d": 8}
"""The sizes of types by their letters in a mangled name."""
_ATOMIC_CALL = regex(r"\batomic\w*\s*\(\s*\(*\s*&[\w.>\[\]()\s-]*$")
_ADDRESS = regex(r"(?<!&)&[\w.>\[\]()\s-]*$")
_TYPE = regex(r"(?<![\w.])(?!(?:return|else|do|throw|case|goto)\b)[A-Za-z_]\w*\s+$")
_NO_CODE = regex(r'"(?:[^"\\]|\\.)*"|//.*|/\*.*?(?:\*/|$)')
_ATOMIC, _STORE = 16, 64  # in the flag of a check, as in a report
_MOST_ADDED = 16
"""What an address is followed through at most."""
_MOST_LINES, _MOST_LETTERS = 8, 1000
"""The lines of a statement, and the letters of one, that are searched for its indices."""
_MOST_USES = 32
"""Of an array in a statement: where it has more, nothing is known."""


@dataclass(frozen=True)
class Indexing:
    """An index of an array that is a member of a variable, or a row.

    Attributes:
        register: the index in bytes, of 64 bits.
        add: what is added to it.
        bytes: what is accessed there.
        array: the array.
        flag: of the check.
    """

    register: str
    add: int
    bytes: int
    array: InnerArray
    flag: int


@dataclass(frozen=True)
class _Access:
    """An access by the register with its address.

    Attributes:
        by: the instruction that the check runs before.
        base: the register.
        add: what is added to it.
        bytes: what is accessed.
        flag: of the check.
    """

    by: Instruction
    base: str
    add: int
    bytes: int
    flag: int


class Statics:
    """The variables of a module with places of their own, by their symbols.

    Attributes:
        known: what the debug sections say.
        lines: the source.
    """

    def __init__(self, module: Module, known: LocalVariables) -> None:
        self.known, self.lines = known, module.source.split("\n") if module.source else []
        own = (v for f in module.functions.values() for v in f.variables if v.space == "shared")
        self.symbols = {v.name: v for v in (*module.variables, *own) if v.space in SPACES}
        self.found: dict[str, tuple[LocalVariable, str] | None] = {}
        self.uses: dict[tuple[int, str, bool], bool] = {}

    @cached_property
    def memcpy_lines(self) -> frozenset[int]:
        """The lines of the source that call `memcpy`."""
        return memcpy_lines(self.lines)

    def at(self, symbol: str) -> tuple[LocalVariable, str] | None:
        """The variable of a symbol and its space; None where it is not known, or has no parts.

        One without a size, as `extern __shared__ float rows[][8]`, has any.
        """
        if symbol not in self.found:
            v = self.symbols.get(symbol)
            known = self.known.static(symbol, v.bytes) if v is not None else None
            if known is not None and v is not None:
                known = replace(known, bytes=1 << 40) if v.extern else known
                self.found[symbol] = known, "constant" if v.space == "const" else v.space
            else:
                self.found[symbol] = None
        return self.found[symbol]

    def indexes(self, line: int, path: str, *, atomic: bool) -> bool:
        """Whether the statement that begins in a line indexes a part of a variable: see below."""
        key = line, path, atomic
        if key not in self.uses:
            self.uses[key] = _indexes(self.statement(line), path, atomic=atomic)
        return self.uses[key]

    def names_member(self, line: int, names: Iterable[str]) -> bool:
        """Whether the statement that begins in a line has one of some members of an object."""
        found = [name for name in names if name]
        text = self.statement(line) if found else ""
        return any(re.search(rf"(?:\.|->)\s*{name}\b", text) for name in found)

    def statement(self, line: int) -> str:
        """The text from a line's first letter to the end of its statement."""
        text = ""
        for row in self.lines[max(line - 1, 0) : line - 1 + _MOST_LINES]:
            text += f"{_NO_CODE.sub(' ', row[:_MOST_LETTERS])} "
            if ";" in row or "{" in row:
                break
        return text


def indexings(
    f: Function, own: Mapping[int, LocalVariable], statics: Statics
) -> Iterator[tuple[int, list[Indexing]]]:
    """By id, the accesses of a function whose own expression indexes a part of a variable.

    Args:
        f: the function.
        own: its numbered variables by their first bytes.
        statics: the variables of the module.
    """
    if not statics.lines:
        return
    written = defaultdict(list)
    for i in f.body:
        for name in targets(i):
            written[name].append(i)
    once = {name: by[0] for name, by in written.items() if len(by) == 1 and by[0].guard is None}
    for x in _accesses(f):
        root, added = _added(once, x)
        place = own.get(int(root)) if _NUMBER.fullmatch(root) else None
        variable = (place, "local") if place is not None else statics.at(root)
        if variable is None or not added:
            continue
        v, space = variable
        strides = [(more, _stride(once, more)) for more in added]
        found = list(_indexed(v, strides, x, statics.known))
        line, atomic = x.by.location.line, bool(x.flag & _ATOMIC)
        found = [
            replace(one, array=replace(one.array, space=space))
            for one in found
            if statics.indexes(line, one.array.path, atomic=atomic)
        ]
        if found:
            yield id(x.by), found


def _accesses(f: Function) -> Iterator[_Access]:
    """The loads and stores of a function, and the atomics that are functions of a header."""
    given: dict[str, Instruction] = {}
    for i in f.body:
        parts = i.op.split(".")
        if parts[0] == "call":
            name = next(filter(None, map(_ATOMIC_FUNCTION.match, i.operands)), None)
            argument = _NAME.search(i.operands[-1])
            first = given.get(argument[0]) if name and argument else None
            if name and first and (size := _BYTES.get(name[1])):
                yield _Access(first, first.operands[1], 0, size, _ATOMIC)
            given.clear()
        elif parts[0] in ("ld", "st") and len(i.operands) == 2:
            store = parts[0] == "st"
            values, where = i.operands[:: -1 if store else 1]
            base, add = address_or_none(where)
            if "param" in parts:
                given |= {base: i} if store else {}
                continue
            size = TYPE_BYTES.get(parts[-1], 0) * len(vector(values))
            yield _Access(i, base, add, size, _STORE * store)


def _added(once: Mapping[str, Instruction], x: _Access) -> tuple[str, list[str]]:
    """What an address is computed of: a place in the frame, or a symbol, and what is added to it.

    Returns: the place, the symbol, or an empty text for any other address, as that of a pointer
    that another line has made; registers and numbers.
    """
    added: list[str] = []
    name, line, others = x.base, x.by.location.line, 0
    while (by := once.get(name)) is not None and by.op in ("add.u64", "add.s64"):
        if len(by.operands) != 3 or len(added) == _MOST_ADDED:
            return "", []
        _, name, more = by.operands
        others += by.location.line != line and name != "%SP"
        added.append(more)
    if others:
        return "", []
    if name == "%SP" and added:
        return (added[-1], added[-2::-1]) if _NUMBER.fullmatch(added[-1]) else ("", [])
    if by is None or not by.op.startswith("cvta.") or by.op.startswith("cvta.to"):
        return "", []
    symbol = once.get(by.operands[1])
    is_symbol = symbol is not None and symbol.op == "mov.u64"
    return (symbol.operands[1], added[::-1]) if symbol and is_symbol else ("", [])


def _stride(once: Mapping[str, Instruction], name: str) -> int:
    """The bytes that an index is multiplied by where it is made; 0 when not known."""
    by = once.get(name)
    if by and by.op in ("add.s64", "add.u64", "sub.s64") and _SIGNED.fullmatch(by.operands[-1]):
        by = once.get(by.operands[1])
    head, factor = (by.op.split(".")[0], by.operands[-1]) if by else ("", "")
    if head in ("cvt", "and"):
        return 1
    if head not in ("shl", "mul") or not _NUMBER.fullmatch(factor):
        return 0
    return 1 << min(int(factor), 30) if head == "shl" else int(factor)


def _indexed(
    v: LocalVariable, added: Sequence[tuple[str, int]], x: _Access, variables: LocalVariables
) -> Iterator[Indexing]:
    """The indices of parts of a variable.

    Args:
        v: the variable.
        added: what is added to its address, in turn: numbers, and registers with their strides.
        x: the access.
        variables: the local variables of the module.
    """
    of, offset, path = (v.type, 0), 0, v.name
    found: list[tuple[str, InnerArray]] = []
    for more, stride in added:
        if _SIGNED.fullmatch(more):
            offset += int(more)
        elif stride and (array := variables.array(of, offset, stride, path)) is not None:
            of, offset, path = array.element, 0, f"{array.path}[...]"
            found.append((more, array))
        else:
            return
    if not found or not 0 <= offset + x.add <= found[-1][1].stride - x.bytes:
        return  # an element of a pointer
    for k, (register, array) in enumerate(found, 1):
        is_last = k == len(found)
        size = array.elements * array.stride
        if array.path != v.name and 0 < size < v.bytes:
            yield Indexing(register, offset + x.add if is_last else 0, x.bytes, array, x.flag)


def _indexes(text: str, path: str, *, atomic: bool) -> bool:
    """Whether a statement indexes an array of a variable, and takes no address of an element.

    A statement that also names the array in another way may access it so. The initializer of an
    array, in the statement that declares it, is written as it lies in memory.

    Args:
        text: the statement.
        path: the array, such as `s.body` or `m[...]`.
        atomic: whether an atomic takes its address.
    """
    *_, (name, rows) = re.findall(r"(\w+)((?:\[[^]]*\])*)", path)
    uses = list(islice(re.finditer(rf"(?<!\w){name}(?!\w)\s*", text), _MOST_USES + 1))
    for match in uses:
        before, (count, behind) = text[: match.start()], _indices(text[match.end() :])
        passed = _ATOMIC_CALL.search(before) and behind in (",", ")")
        fits = passed if atomic else not (_ADDRESS.search(before) or _TYPE.search(before))
        if not fits or count <= rows.count("["):
            return False
    return 0 < len(uses) <= _MOST_USES


def _indices(text: str) -> tuple[int, str]:
    """How many indices in brackets a text begins with, and the letter behind them."""
    count = depth = 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        count += letter == "]" and depth == 0
        if depth == 0 and letter not in "] ":
            return count, letter
    return count, ""
