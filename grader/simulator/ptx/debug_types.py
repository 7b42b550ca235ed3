"""The types in the debug sections of `-G` PTX: their sizes, members and names."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from math import prod

from grader import regex
from grader.compile.program import SHAPE
from grader.simulator.ptx.debug_entries import (
    ARRAY,
    MEMBER,
    PARAMETER,
    RANGE,
    UNION,
    VARIABLE,
    Entry,
)

AGGREGATES, NAMED_TYPES = (0x02, 0x13), (0x16, 0x26, 0x35)
_SIZE, _UPPER, _COUNT, TYPE, OFFSET = 0x0B, 0x2F, 0x37, 0x49, 0x38
BLOCK, _BITS, POINTERS, _MEMBER_POINTER = 0x0B, 0x0D, (0x0F, 0x10, 0x42), 0x1F
_FUNCTION, _LINKAGE, _BASE, _BASE_TYPE, _MOST_BYTES = 0x2E, 0x2007, 0x1C, 0x24, 1 << 16
"""The largest type of which the bytes of members are told from others comes last."""
_INLINED, _ORIGIN, _SPECIFICATION = 0x1D, 0x31, 0x47
_CAST = regex(
    r"(?:\(|_cast *<)\s*(?:const |volatile |struct )*(\w+)(?: const)? *[*&]+ *(?:const)? *[)>]"
)
_STRUCT = regex(
    r"\b(?:struct|class)\b[^;{}()=]{0,60}?(?:\([^()]{0,60}\))? *(\w{1,60})\s{0,9}"
    r"(?::[^;{}]{0,99})?\{"
    r"|\}\s{0,9}(\w{1,99}) *;"
)
"""Casts to pointers and references, and the names that a source gives to structs."""
OF_MEMBER, OF_NUMBER = 1, 2
"""What a byte of an argument belongs to: see core/machine/launch.h."""
MAX_TYPE_DEPTH = 16
"""Types within types that are followed."""


class DebugTypes:
    """The types of a module.

    Attributes:
        types: the entries of the debug section by their numbers.
    """

    types: dict[int, Entry]

    @cached_property
    def shapes(self) -> dict[str, list[tuple[int, str]]]:
        """By mangled name: the types of functions' own shared variables, and their names.

        Those of several blocks that have one name differ in their symbols' ends. The sections do
        not describe them: `compile/unset.py` adds pointers to their types.
        """
        out: dict[str, list[tuple[int, str]]] = {}
        for function in (e for e in self.types.values() if e.tag == _FUNCTION):
            linkage = str(function.values.get(_LINKAGE, ""))
            own = linkage.removeprefix("_Z") if linkage[:2] == "_Z" else f"{len(linkage)}{linkage}"
            inside = list(function.children)
            for entry in inside:  # and what is appended meanwhile
                if entry.tag == BLOCK:
                    inside += entry.children
                if entry.tag == VARIABLE and entry.name.endswith(SHAPE):
                    name = entry.name.removesuffix(SHAPE)
                    pointer = self.types.get(entry.number(TYPE))
                    of = pointer.number(TYPE) if pointer else 0
                    out.setdefault(f"_ZZ{own}E{len(name)}{name}", []).append((of, name))
        return out

    def pointed_to(self, symbol: str, *called: str, source: str = "") -> list[list[int]]:
        """Of each parameter of a kernel: which bytes of what it points to belong to members.

        OF_NUMBER for those of numbers, of which the host reads all bits, OF_MEMBER for those of
        other members, and 0 for the others. Empty for one that is no pointer, or points to what has
        no size. Programs copy structs with padding to arrays of words or bytes: where the kernel
        may, these have no numbers.

        Args:
            symbol: the kernel.
            called: the functions that it may call, too.
            source: the text of the module.
        """
        names = {name.partition("@")[0] for name in (symbol, *called)}
        padded = self._uses_padding(names) or self._casts_to_padding(source)
        out = []
        for pointee in self.pointees(symbol):
            each = OF_NUMBER if self._has_numbers(pointee, padded) else OF_MEMBER
            out.append([each * own for own in self._members(pointee, 0)])
        return out

    def pointees(self, symbol: str) -> list[int]:
        """What each parameter of a kernel points to: the type, 0 of one that is no pointer."""
        functions = (e for e in self.types.values() if e.tag == _FUNCTION)
        f = next((e for e in functions if e.values.get(_LINKAGE) == symbol), None)
        parameters = (e for e in f.children if e.tag == PARAMETER) if f else ()
        types = [self._unnamed(e.number(TYPE)) for e in parameters]
        return [of.number(TYPE) if of is not None and of.tag in POINTERS else 0 for of in types]

    def _unnamed(self, number: int) -> Entry | None:
        """The type that a name, or a const or volatile one, stands for."""
        entry = self.types.get(number)
        while entry is not None and entry.tag in NAMED_TYPES:
            entry = self.types.get(entry.number(TYPE))
        return entry

    def _uses_padding(self, symbols: Collection[str]) -> bool:
        """Whether a type that functions or variables of the module use may have padding."""
        if not self.has_padding:
            return False
        functions = [e for e in self.types.values() if e.tag == _FUNCTION]
        work = [f for f in functions if f.values.get(_LINKAGE) in symbols]
        if len({f.values.get(_LINKAGE) for f in work}) < len(symbols):
            return True
        blocks = (e for e in self.types.values() if e.tag in (_FUNCTION, BLOCK, _INLINED))
        inside = {id(e) for block in blocks for e in block.children}
        work += [e for e in self.types.values() if e.tag == VARIABLE and id(e) not in inside]
        seen = set[int]()
        while work and self.padded.isdisjoint(seen):
            entry = work.pop()
            if id(entry) not in seen:
                seen.add(id(entry))
                links = (self.types.get(entry.number(x)) for x in (TYPE, _ORIGIN, _SPECIFICATION))
                work += [*entry.children, *(e for e in links if e is not None)]
        return not self.padded.isdisjoint(seen)

    def may_have_padding(self, source: str) -> bool:
        """Whether a struct of a module has padding, of which this is the text."""
        return self.has_padding or self._casts_to_padding(source)

    def _casts_to_padding(self, source: str) -> bool:
        """Whether a source casts pointers to those to a struct with padding.

        The sections of a kernel do not describe a struct that only its casts name.
        """
        names = {m[1] for m in _CAST.finditer(source)}
        own = names.intersection(m[1] or m[2] for m in _STRUCT.finditer(source)) if names else names
        known = {e.name: e for e in self.types.values() if e.tag in AGGREGATES and e.children}
        return any(name not in known or id(known[name]) in self.padded for name in own)

    def _has_numbers(self, number: int, padded: bool) -> bool:
        """Whether the host reads all numbers of a type: a number, or numbers of one size.

        Args:
            number: the type.
            padded: whether structs with padding may be copied to plain numbers.

        Of a struct with members of several sizes, some may mean nothing, and are copied with it.
        """
        sizes, entry = self._numbers(number, 0), self._unnamed(number)
        is_vector = entry is not None and entry.tag in AGGREGATES
        return len(sizes) == 1 and 0 not in sizes and (is_vector or not padded)

    def _numbers(self, number: int, depth: int) -> set[int]:
        """The sizes of the numbers that a type is made of; 0 for other scalars, and bit fields."""
        entry = self.types.get(number)
        if entry is None or depth > MAX_TYPE_DEPTH:
            return {0}
        if entry.tag in (*NAMED_TYPES, ARRAY):
            return self._numbers(entry.number(TYPE), depth + 1)
        if entry.tag not in AGGREGATES:
            return {entry.number(_SIZE) if entry.tag == _BASE_TYPE else 0}
        out = set[int]()
        for m in (m for m in entry.children if m.tag in (MEMBER, _BASE)):
            out |= {0} if m.number(_BITS) else self._numbers(m.number(TYPE), depth + 1)
        return out

    def _members(self, number: int, depth: int) -> list[bool]:
        """Which bytes of a type belong to a scalar."""
        entry, size = self.types.get(number), self.size(number, depth)
        if entry is None or depth > MAX_TYPE_DEPTH or not 0 < size <= _MOST_BYTES:
            return []
        if entry.tag in NAMED_TYPES:
            return self._members(entry.number(TYPE), depth + 1)
        if entry.tag == ARRAY:
            return self._members(entry.number(TYPE), depth + 1) * prod(extents_of(entry))
        if entry.tag not in (*AGGREGATES, UNION):
            return [True] * size
        out = [False] * size
        for m in (m for m in entry.children if m.tag in (MEMBER, _BASE)):
            inside = [] if m.number(_BITS) else self._members(m.number(TYPE), depth + 1)
            for k, own in enumerate(inside, m.number(OFFSET)):
                if k < size:
                    out[k] |= own
        return out

    @cached_property
    def padded(self) -> frozenset[int]:
        """The structs, by id, that have bytes that belong to no member."""
        structs = ((n, e) for n, e in self.types.items() if e.tag in AGGREGATES and e.children)
        large = ((n, e) for n, e in structs if e.number(_SIZE) > 1)
        return frozenset(id(e) for n, e in large if not all(self._members(n, 0)))

    @property
    def has_padding(self) -> bool:
        """Whether a struct has bytes that belong to no member."""
        return bool(self.padded)

    def scalars(self, number: int, offset: int, size: int, depth: int = 0) -> Iterator[str]:
        """The members of a type that are, or have as elements, scalars of a size at an offset."""
        entry = self.types.get(number)
        if entry is None or depth > MAX_TYPE_DEPTH:
            return
        if entry.tag in NAMED_TYPES or (entry.tag == ARRAY and entry.number(TYPE)):
            of = entry.number(TYPE)
            each = self.size(of, 0) if entry.tag == ARRAY else 0
            yield from self.scalars(of, offset % each if each else offset, size, depth + 1)
        for m in entry.children if entry.tag in (*AGGREGATES, UNION) else ():
            at, of = offset - m.number(OFFSET), m.number(TYPE)
            if m.tag != MEMBER or not 0 <= at < self.size(of, 0) or m.number(_BITS):
                continue
            while (inner := self.types.get(of)) and inner.tag in (ARRAY, *NAMED_TYPES):
                of = inner.number(TYPE)
            if inner and inner.tag not in (*AGGREGATES, UNION):
                if self.size(of, 0) == size and at % size == 0:
                    yield m.name
            else:
                yield from self.scalars(m.number(TYPE), at, size, depth + 1)

    def size(self, number: int, depth: int) -> int:
        """The bytes of a type; 0 when not known."""
        entry = self.types.get(number)
        if entry is None or depth > MAX_TYPE_DEPTH or entry.tag == _MEMBER_POINTER:
            return 0
        if entry.tag == ARRAY:
            return self.size(entry.number(TYPE), depth + 1) * prod(extents_of(entry))
        if entry.tag in POINTERS:
            return 8
        return entry.number(_SIZE) or self.size(entry.number(TYPE), depth + 1)

    def kind(self, number: int, depth: int) -> tuple[str, str]:
        """The name and the dimensions of a type."""
        entry = self.types.get(number)
        if entry is None or depth > MAX_TYPE_DEPTH:
            return "", ""
        if entry.tag == ARRAY:
            name, _ = self.kind(entry.number(TYPE), depth + 1)
            return name, "".join(f"[{n}]" for n in extents_of(entry))
        if entry.tag in POINTERS:
            name, _ = self.kind(entry.number(TYPE), depth + 1)
            return f"{name} *" if name else "", ""
        return entry.name or self.kind(entry.number(TYPE), depth + 1)[0], ""


def extents_of(array: Entry) -> list[int]:
    """The extents of an array, the outermost first."""
    ranges = [r for r in array.children if r.tag == RANGE]
    return [r.number(_COUNT) or r.number(_UPPER) + 1 for r in ranges]
