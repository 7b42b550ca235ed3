"""The debug sections of `-G` PTX: local variables, and the calls that code was inlined for.

PTX writes DWARF 2 as lists of numbers, with symbols for what the assembler fills in. A variable
whose address is taken, an array and a struct have one place in the function's frame, the `.local`
variable `__local_depot0`: `DW_OP_addr __local_depot0, DW_OP_plus_uconst 40`. An inlined call has
the labels around its code, and its file and line. What is not understood has no name and no call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from math import prod

from grader import dataclass
from grader.simulator.ptx.model import SectionBytes

_WIDTHS = {1: 8, 5: 2, 6: 4, 7: 8, 11: 1, 12: 1, 14: 4, 16: 4, 17: 1, 18: 2, 19: 4, 20: 8, 23: 4}
"""Bytes of each DWARF form of a fixed size."""
_STRING, _BLOCK1, _SDATA, _UDATA, _EXPRESSION, _PRESENT = 8, 10, 13, 15, 24, 25
_ARRAY, _PARAMETER, _MEMBER, _UNION, _RANGE, _VARIABLE = 0x01, 0x05, 0x0D, 0x17, 0x21, 0x34
_AGGREGATES, _NAMED_TYPES = (0x02, 0x13), (0x16, 0x26, 0x35)
_LOCATION, _NAME, _SIZE, _UPPER = 0x02, 0x03, 0x0B, 0x2F
_ORIGIN, _COUNT, _OFFSET, _LINE, _TYPE = 0x31, 0x37, 0x38, 0x3B, 0x49
_ADDRESS, _PLUS, _REGISTER, _BLOCK, _BITS_BEHIND, _BITS = 0x03, 0x23, 0x90, 0x0B, 0x0C, 0x0D
_POINTERS, _MEMBER_POINTER = (0x0F, 0x10, 0x42), 0x1F
_INLINED, _LOW, _HIGH, _CALL_FILE, _CALL_LINE = 0x1D, 0x11, 0x12, 0x58, 0x59
PADDING = "padding behind "
_MAX_TYPE_DEPTH = 16
"""Types within types that are followed."""


@dataclass(frozen=True)
class CallSite:
    """Where a function was inlined: the labels around its code, and the call's file and line."""

    start: str
    end: str
    file: int
    line: int


def call_sites(sections: Mapping[str, str]) -> Sequence[CallSite]:
    """The calls that `-G` code was inlined for; none when its debug sections are unknown."""
    try:
        entries = _entries(sections.get(".debug_info", ""), sections.get(".debug_abbrev", ""))
    except (IndexError, KeyError, ValueError):
        return ()
    inlined = (entry for entry in entries.types.values() if entry.tag == _INLINED)
    ends = ((entry, entry.values.get(_LOW), entry.values.get(_HIGH)) for entry in inlined)
    return [
        CallSite(low, high, entry.number(_CALL_FILE), entry.number(_CALL_LINE))
        for entry, low, high in ends
        if isinstance(low, str) and isinstance(high, str)
    ]


@dataclass(frozen=True)
class LocalVariable:
    """A variable in local memory.

    Attributes:
        frame: the symbol of the function's `.local` variable.
        offset: the variable's first byte in the frame.
        bytes: its size.
        name: its name in the source.
        kind: its C++ type; of an array, the type of an element.
        extent: the dimensions of an array, such as `[2][3]`; else empty.
        line: the line that declares it.
        type: the number of its type's entry in the debug section.
    """

    frame: str
    offset: int
    bytes: int
    name: str
    kind: str
    extent: str
    line: int
    type: int


Type = tuple[int, int]
"""A type: the number of its entry, and how many dimensions of an array are taken off."""


@dataclass(frozen=True)
class InnerArray:
    """An array in a variable, or the variable itself.

    Attributes:
        path: how the source writes it, such as `s.body` or `m[2]`.
        elements, stride: how many there are, and the bytes of one.
        element: the type of one.
    """

    path: str
    elements: int
    stride: int
    element: Type


@dataclass(frozen=True)
class BlockVariable:
    """A variable of a block within a function.

    Attributes:
        start, end: the labels around the code of the block.
        frame, offset, bytes: its place in the stack frame, as of a `LocalVariable`; else empty.
        registers: the registers that have it, each with the labels between which it does.
    """

    start: str
    end: str
    frame: str = ""
    offset: int = 0
    bytes: int = 0
    registers: tuple[tuple[str, str, str], ...] = ()


@dataclass(slots=True)
class _Entry:
    """A DWARF entry with its attributes' values."""

    tag: int
    values: dict[int, int | str | tuple[str, int]] = field(default_factory=dict)
    children: list[_Entry] = field(default_factory=list)

    def number(self, attribute: int) -> int:
        value = self.values.get(attribute, 0)
        return value if isinstance(value, int) else 0

    @property
    def name(self) -> str:
        return str(self.values.get(_NAME, ""))


class LocalVariables:
    """The local variables of a module; none when its debug sections are missing or unknown.

    Attributes:
        types: the entries of the debug section by their numbers.
        variables: the variables.
        largest: by frame and first byte, the largest variable that begins there.
    """

    def __init__(self, sections: Mapping[str, str]) -> None:
        self.types: dict[int, _Entry] = {}
        self.variables: list[LocalVariable] = []
        self.largest: dict[tuple[str, int], LocalVariable] = {}
        self.places = sections.get(".debug_loc", "")
        try:
            entries = _entries(sections.get(".debug_info", ""), sections.get(".debug_abbrev", ""))
        except (IndexError, KeyError, ValueError):
            return
        self.types = entries.types
        for frame, offset, placed in entries.placed:
            entry = self.types.get(placed.number(_ORIGIN), placed)  # of an inlined function
            place, of, line = (frame, offset), entry.number(_TYPE), entry.number(_LINE)
            v = LocalVariable(*place, self.size(of, 0), entry.name, *self.kind(of, 0), line, of)
            self.variables.append(v)
            if v.bytes >= self.largest.get(place, v).bytes:
                self.largest[place] = v

    @cached_property
    def of_blocks(self) -> list[BlockVariable]:
        """The variables of blocks within functions; few kernels need them."""
        lists, blocks = _LocationLists(self.places), self.types.values()
        return [v for b in blocks if b.tag == _BLOCK for v in self._of_block(b, lists)]

    def _of_block(self, block: _Entry, lists: _LocationLists) -> Iterator[BlockVariable]:
        start, end = block.values.get(_LOW), block.values.get(_HIGH)
        if not isinstance(start, str) or not isinstance(end, str):
            return
        for entry in block.children:
            place = entry.values.get(_LOCATION)
            if entry.tag == _VARIABLE and isinstance(place, tuple):
                origin = self.types.get(entry.number(_ORIGIN), entry)
                yield BlockVariable(start, end, *place, self.size(origin.number(_TYPE), 0))
            elif entry.tag == _VARIABLE and isinstance(place, str):
                yield BlockVariable(start, end, registers=lists.at(place))

    def at(self, frame: str, offset: int) -> LocalVariable | None:
        """The variable at a byte of a frame."""
        own = (v for v in self.variables if v.frame == frame and 0 <= offset - v.offset < v.bytes)
        return next(own, None)

    def element(self, v: LocalVariable, offset: int) -> str:
        """The element or member at a byte of the frame, such as `acc[2]` or `p.y`.

        The bytes between two members are PADDING and the first of them.
        """
        path = v.name + self._path(v.type, offset - v.offset, 0)
        return PADDING + path.rstrip("+") if path.endswith("+") else path

    def array(
        self, of: Type, offset: int, stride: int, path: str, depth: int = 0
    ) -> InnerArray | None:
        """The array in an object that begins at an offset, with elements of `stride` bytes.

        Args:
            of: the object's type.
            offset: the array's first byte.
            stride: the bytes of an element.
            path: how the source writes the object.
            depth: the types around it.

        Returns None where there is none, and in unions.
        """
        number, taken = of
        entry = self.types.get(number)
        if entry is None or entry.tag == _UNION or depth > _MAX_TYPE_DEPTH:
            return None
        counts = _counts(entry)[taken:] if entry.tag == _ARRAY else []
        if counts:
            each = self.size(entry.number(_TYPE), 0) * prod(counts[1:]) or 1
            row = number, taken + 1
            if offset == 0 and each == stride:
                return InnerArray(path, counts[0], each, row)
            index, rest = divmod(offset, each)
            inside = 0 <= index < counts[0]
            return self.array(row, rest, stride, f"{path}[{index}]", depth + 1) if inside else None
        if entry.tag in (*_NAMED_TYPES, _ARRAY):
            return self.array((entry.number(_TYPE), 0), offset, stride, path, depth + 1)
        members = [m for m in entry.children if m.tag == _MEMBER and m.number(_OFFSET) <= offset]
        if entry.tag not in _AGGREGATES or not members:
            return None
        last = members[-1]
        of, offset = (last.number(_TYPE), 0), offset - last.number(_OFFSET)
        return self.array(of, offset, stride, f"{path}.{last.name}", depth + 1)

    def size(self, number: int, depth: int) -> int:
        """The bytes of a type; 0 when not known."""
        entry = self.types.get(number)
        if entry is None or depth > _MAX_TYPE_DEPTH or entry.tag == _MEMBER_POINTER:
            return 0
        if entry.tag == _ARRAY:
            return self.size(entry.number(_TYPE), depth + 1) * prod(_counts(entry))
        if entry.tag in _POINTERS:
            return 8
        return entry.number(_SIZE) or self.size(entry.number(_TYPE), depth + 1)

    def kind(self, number: int, depth: int) -> tuple[str, str]:
        """The name and the dimensions of a type."""
        entry = self.types.get(number)
        if entry is None or depth > _MAX_TYPE_DEPTH:
            return "", ""
        if entry.tag == _ARRAY:
            name, _ = self.kind(entry.number(_TYPE), depth + 1)
            return name, "".join(f"[{n}]" for n in _counts(entry))
        if entry.tag in _POINTERS:
            name, _ = self.kind(entry.number(_TYPE), depth + 1)
            return f"{name} *" if name else "", ""
        return entry.name or self.kind(entry.number(_TYPE), depth + 1)[0], ""

    def _path(self, number: int, offset: int, depth: int) -> str:
        entry = self.types.get(number)
        if entry is None or depth > _MAX_TYPE_DEPTH or entry.tag == _UNION:
            return ""
        if entry.tag in _NAMED_TYPES:
            return self._path(entry.number(_TYPE), offset, depth + 1)
        if entry.tag == _ARRAY:
            element, out = self.size(entry.number(_TYPE), depth + 1), ""
            flat, rest = divmod(offset, element or 1)
            for count in reversed(_counts(entry)):
                flat, index = divmod(flat, count or 1)
                out = f"[{index}]{out}"
            return out + self._path(entry.number(_TYPE), rest, depth + 1)
        members = [m for m in entry.children if m.tag == _MEMBER and m.number(_OFFSET) <= offset]
        if entry.tag not in _AGGREGATES or not members or members[-1].name.startswith("__"):
            return ""
        member, fields = members[-1], [m.name for m in members if _has_bits(m, offset)]
        if fields:
            return "." + " or .".join(fields)
        size = self.size(member.number(_TYPE), depth + 1)
        if size and offset - member.number(_OFFSET) >= size:
            return f".{member.name}+"
        inner = self._path(member.number(_TYPE), offset - member.number(_OFFSET), depth + 1)
        return f".{member.name}{inner}"


class _LocationLists:
    """The section with the places of variables that change them."""

    def __init__(self, text: str) -> None:
        self.section = SectionBytes(text)

    def at(self, place: str) -> tuple[tuple[str, str, str], ...]:
        """The registers of a list, each with the labels between which it counts."""
        section, out = self.section, []
        section.at = int(place.partition("+")[2] or 0)
        while start := section.symbols.get(section.at):
            end = section.symbols.get(section.at + 8, "")
            section.at += 16
            behind = section.number(2) + section.at
            if section.number(1) == _REGISTER:  # its name is the number
                name = section.leb()
                text = name.to_bytes((name.bit_length() + 7) // 8, "big").decode("ascii", "replace")
                out.append((start, end, text))
            section.at = behind
        return tuple(out)


def _has_bits(member: _Entry, offset: int) -> bool:
    """Whether a member is a bit-field with bits in a byte of its object."""
    bits, unit = member.number(_BITS), member.number(_OFFSET) + member.number(_SIZE)
    first = 8 * unit - member.number(_BITS_BEHIND) - bits
    return bits > 0 and first < 8 * offset + 8 and 8 * offset < first + bits


def _counts(array: _Entry) -> list[int]:
    ranges = [r for r in array.children if r.tag == _RANGE]
    return [r.number(_COUNT) or r.number(_UPPER) + 1 for r in ranges]


def _abbreviations(text: str) -> dict[int, tuple[int, bool, list[tuple[int, int]]]]:
    """By abbreviation code: tag, whether entries have children, attributes with their forms."""
    section = SectionBytes(text)
    out = {}
    while section.at < len(section.data) and (code := section.leb()):
        tag, children = section.leb(), bool(section.number(1))
        pairs = []
        while True:
            pair = section.leb(), section.leb()
            if pair == (0, 0):
                break
            pairs.append(pair)
        out[code] = tag, children, pairs
    return out


@lru_cache(maxsize=1)  # trials decode a dozen kernels of one module in turn
def _entries(info: str, abbreviations: str) -> _Reader:
    reader = _Reader(info, {})
    reader.read(_abbreviations(abbreviations))
    return reader


class _Reader:
    """Reads the entries of the first unit: types by offset, and variables with a place."""

    def __init__(self, text: str, types: dict[int, _Entry]) -> None:
        self.section, self.types = SectionBytes(text), types
        self.placed: list[tuple[str, int, _Entry]] = []

    def read(self, abbreviations: dict[int, tuple[int, bool, list[tuple[int, int]]]]) -> None:
        """Read the unit into `types` and `placed`. Raises IndexError, KeyError or ValueError."""
        section = self.section
        if not section.data:
            return
        end = section.number(4) + 4
        section.number(2 + 4 + 1)
        parents: list[_Entry] = []
        while section.at < min(end, len(section.data)):
            start = section.at
            code = section.leb()
            if code == 0:
                if parents:
                    parents.pop()
                continue
            tag, children, pairs = abbreviations[code]
            entry = _Entry(tag, {a: self.value(form) for a, form in pairs})
            self.types[start] = entry
            if parents:
                parents[-1].children.append(entry)
            if children:
                parents.append(entry)
            place = entry.values.get(_LOCATION)
            if tag in (_VARIABLE, _PARAMETER) and isinstance(place, tuple):
                self.placed.append((*place, entry))

    def value(self, form: int) -> int | str | tuple[str, int]:
        """Read an attribute's value. Raises KeyError for an unknown form."""
        if form in _WIDTHS:
            symbol = self.section.symbols.get(self.section.at, "")
            return self.section.number(_WIDTHS[form]) or symbol or 0
        if form == _STRING:
            return self.section.text()
        if form in (_SDATA, _UDATA):
            return self.section.leb()
        if form == _PRESENT:
            return 1
        if form not in (_BLOCK1, _EXPRESSION):
            raise KeyError(form)
        size = self.section.number(1) if form == _BLOCK1 else self.section.leb()
        return self.place(self.section.at + size)

    def place(self, end: int) -> int | str | tuple[str, int]:
        """Read a location: a member's offset, or a variable's frame and offset."""
        section = self.section
        first = section.number(1) if section.at < end else 0
        symbol = ""
        if first == _ADDRESS:
            symbol = section.symbols.get(section.at, "")
            section.number(8)
            first = section.number(1) if section.at < end else 0
        add = section.leb() if first == _PLUS and section.at < end else 0
        whole, section.at = section.at == end, end
        return (symbol, add) if symbol and whole else add
