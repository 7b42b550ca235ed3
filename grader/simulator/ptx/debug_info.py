"""The debug sections of `-G` PTX: local variables, and the calls that code was inlined for.

PTX writes DWARF 2 as lists of numbers, with symbols for what the assembler fills in. A variable
whose address is taken, an array and a struct have one place in the function's frame, the `.local`
variable `__local_depot0`: `DW_OP_addr __local_depot0, DW_OP_plus_uconst 40`. An inlined call has
the labels around its code, and its file and line. What is not understood has no name and no call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod

from grader import dataclass, regex
from grader.simulator.ptx.debug_entries import (
    ARRAY,
    MEMBER,
    PARAMETER,
    UNION,
    VARIABLE,
    Entry,
    LocationLists,
    entries_of,
)
from grader.simulator.ptx.debug_types import (
    AGGREGATES,
    BLOCK,
    MAX_TYPE_DEPTH,
    NAMED_TYPES,
    OFFSET,
    POINTERS,
    TYPE,
    DebugTypes,
    extents_of,
)

_LOCATION, _SIZE, _ORIGIN, _LINE = 0x02, 0x0B, 0x31, 0x3B
_BITS_BEHIND, _BITS = 0x0C, 0x0D
_DISCRIMINATOR = regex(r"_\d$|__\d+_$")
"""What a mangled name ends with that another one of the function has before it."""
_INLINED, _LOW, _HIGH, _CALL_FILE, _CALL_LINE = 0x1D, 0x11, 0x12, 0x58, 0x59
PADDING = "padding behind "


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
        entries = entries_of(sections.get(".debug_info", ""), sections.get(".debug_abbrev", ""))
    except (IndexError, KeyError, ValueError):
        return ()
    return _call_sites(entries.types.values())


def _call_sites(entries: Iterable[Entry]) -> Sequence[CallSite]:
    inlined = (entry for entry in entries if entry.tag == _INLINED)
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
        inlined: whether it is of a function that is inlined there.
    """

    frame: str
    offset: int
    bytes: int
    name: str
    kind: str
    extent: str
    line: int
    type: int
    inlined: bool = False


Type = tuple[int, int]
"""A type: the number of its entry, and how many dimensions of an array are taken off."""


@dataclass(frozen=True)
class InnerArray:
    """An array in a variable, or the variable itself.

    Attributes:
        path: how the source writes it, such as `s.body` or `m[2]`.
        elements, stride: how many there are, and the bytes of one.
        element: the type of one.
        space: the state space of the variable.
    """

    path: str
    elements: int
    stride: int
    element: Type
    space: str = "local"


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


class LocalVariables(DebugTypes):
    """The local variables of a module; none when its debug sections are missing or unknown.

    Attributes:
        variables: the variables.
        largest: by frame and first byte, the largest variable that begins there.
    """

    def __init__(self, sections: Mapping[str, str]) -> None:
        self.types: dict[int, Entry] = {}
        self.variables: list[LocalVariable] = []
        self.largest: dict[tuple[str, int], LocalVariable] = {}
        self.placed: list[tuple[str, int, Entry]] = []
        self.places = sections.get(".debug_loc", "")
        try:
            entries = entries_of(sections.get(".debug_info", ""), sections.get(".debug_abbrev", ""))
        except (IndexError, KeyError, ValueError):
            return
        self.types, self.placed = entries.types, entries.placed
        for frame, offset, placed in entries.placed:
            entry = self.types.get(placed.number(_ORIGIN), placed)  # of an inlined function
            place, of, line = (frame, offset), entry.number(TYPE), entry.number(_LINE)
            size, (kind, extent), inlined = self.size(of, 0), self.kind(of, 0), entry is not placed
            v = LocalVariable(*place, size, entry.name, kind, extent, line, of, inlined)
            self.variables.append(v)
            if v.bytes >= self.largest.get(place, v).bytes:
                self.largest[place] = v

    @cached_property
    def of_blocks(self) -> list[BlockVariable]:
        """The variables of blocks within functions; few kernels need them."""
        lists, blocks = LocationLists(self.places), self.types.values()
        return [v for b in blocks if b.tag == BLOCK for v in self._of_block(b, lists)]

    def _of_block(self, block: Entry, lists: LocationLists) -> Iterator[BlockVariable]:
        start, end = block.values.get(_LOW), block.values.get(_HIGH)
        if not isinstance(start, str) or not isinstance(end, str):
            return
        for entry in block.children:
            place = entry.values.get(_LOCATION)
            if entry.tag == VARIABLE and isinstance(place, tuple):
                origin = self.types.get(entry.number(_ORIGIN), entry)
                yield BlockVariable(start, end, *place, self.size(origin.number(TYPE), 0))
            elif entry.tag == VARIABLE and isinstance(place, str) and not place.startswith("%"):
                yield BlockVariable(start, end, registers=lists.at(place))

    def static(self, symbol: str, size: int) -> LocalVariable | None:
        """The variable of a symbol in another space, if its type is known.

        Args:
            symbol: the symbol: of a function's own variable, its mangled name.
            size: its bytes; 0 of an `extern` array without a size.
        """
        known = self.largest.get((symbol, 0))
        if known is not None:
            return known if not size or known.bytes == size else None
        found = self.shapes.get(symbol) or self.shapes.get(_DISCRIMINATOR.sub("", symbol), [])
        fitting = {(of, name) for of, name in found if self.size(of, 0) == size}
        if len(fitting) != 1:
            return None
        of, name = fitting.pop()
        return LocalVariable(symbol, 0, size, name, *self.kind(of, 0), 0, of)

    @cached_property
    def by_frame(self) -> dict[str, list[LocalVariable]]:
        """The variables of each frame: a module has those of many functions."""
        out: dict[str, list[LocalVariable]] = {}
        for v in self.variables:
            out.setdefault(v.frame, []).append(v)
        return out

    def at(self, frame: str, offset: int) -> LocalVariable | None:
        """The variable at a byte of a frame."""
        own = (v for v in self.by_frame.get(frame, ()) if 0 <= offset - v.offset < v.bytes)
        return next(own, None)

    @cached_property
    def calls(self) -> Sequence[CallSite]:
        """The calls that code was inlined for."""
        return _call_sites(self.types.values())

    @cached_property
    def registers(self) -> list[tuple[str, str, bool]]:
        """The registers of variables: the label of their block, their names, and what they hold.

        That is whether it is a pointer of the source, or any parameter of an inlined function that
        has an address.
        """
        lists, out = LocationLists(self.places), list[tuple[str, str, bool]]()
        for around in self.types.values():
            label = around.values.get(_LOW)
            for entry in around.children if isinstance(label, str) else ():
                place = entry.values.get(_LOCATION)
                if entry.tag in (VARIABLE, PARAMETER) and isinstance(place, str):
                    of = self.types.get(entry.number(_ORIGIN), entry).number(TYPE)
                    is_given = around.tag == _INLINED and entry.tag == PARAMETER
                    has = self._holds(of, POINTERS if is_given else POINTERS[:1])
                    out += [(str(label), name, has) for _, _, name in lists.at(place)]
        return out

    def pointer_registers(self, labels: Collection[str]) -> frozenset[str]:
        """The registers that hold pointers of the source, of the function with some labels."""
        own = [(name, is_pointer) for at, name, is_pointer in self.registers if at in labels]
        others = {name for name, is_pointer in own if not is_pointer}
        return frozenset(name for name, is_pointer in own if is_pointer and name not in others)

    def pointer_places(self, frame: str) -> frozenset[int]:
        """The places in a frame of pointers, and of parameters that are any address."""
        return frozenset(
            offset
            for name, offset, placed in self.placed
            if name == frame
            and self._holds(
                self.types.get(placed.number(_ORIGIN), placed).number(TYPE),
                POINTERS if placed.tag == PARAMETER else POINTERS[:1],
            )
        )

    def _holds(self, number: int, tags: Collection[int]) -> bool:
        """Whether a type is one of these."""
        for _ in range(MAX_TYPE_DEPTH):
            entry = self.types.get(number)
            if entry is None or entry.tag not in NAMED_TYPES:
                return entry is not None and entry.tag in tags
            number = entry.number(TYPE)
        return False

    def element(self, v: LocalVariable, offset: int) -> str:
        """The element or member at a byte of the frame, such as `acc[2]` or `p.y`.

        The bytes between two members are PADDING and the first of them.
        """
        path = v.name + self._path(v.type, offset - v.offset, 0)
        return PADDING + path.rstrip("+") if path.endswith("+") else path

    def pointed_element(self, symbol: str, parameter: int, size: int, offset: int) -> str:
        """The member at a byte of what a kernel's parameter points to, such as `[3].y` or `->y`.

        Args:
            symbol: the kernel.
            parameter: the parameter's number.
            size: the bytes that it points to.
            offset: the byte.

        Empty where it points to no struct, or where there is no member.
        """
        of = self.pointees(symbol)[parameter : parameter + 1]
        each = self.size(of[0], 0) if of else 0
        index, rest = divmod(offset, each or 1)
        path = self._path(of[0], rest, 0) if each and 0 <= offset < size else ""
        if not path.startswith(".") or path.endswith("+"):
            return ""
        return f"->{path[1:]}" if size == each else f"[{index}]{path}"

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
        if entry is None or entry.tag == UNION or depth > MAX_TYPE_DEPTH:
            return None
        counts = extents_of(entry)[taken:] if entry.tag == ARRAY else []
        if counts:
            each = self.size(entry.number(TYPE), 0) * prod(counts[1:]) or 1
            row = number, taken + 1
            if offset == 0 and each == stride:
                return InnerArray(path, counts[0], each, row)
            index, rest = divmod(offset, each)
            inside = 0 <= index < counts[0]
            return self.array(row, rest, stride, f"{path}[{index}]", depth + 1) if inside else None
        if entry.tag in (*NAMED_TYPES, ARRAY):
            return self.array((entry.number(TYPE), 0), offset, stride, path, depth + 1)
        members = [m for m in entry.children if m.tag == MEMBER and m.number(OFFSET) <= offset]
        if entry.tag not in AGGREGATES or not members:
            return None
        last = members[-1]
        of, offset = (last.number(TYPE), 0), offset - last.number(OFFSET)
        return self.array(of, offset, stride, f"{path}.{last.name}", depth + 1)

    def _path(self, number: int, offset: int, depth: int) -> str:
        entry = self.types.get(number)
        if entry is None or depth > MAX_TYPE_DEPTH or entry.tag == UNION:
            return ""
        if entry.tag in NAMED_TYPES:
            return self._path(entry.number(TYPE), offset, depth + 1)
        if entry.tag == ARRAY:
            element, out = self.size(entry.number(TYPE), depth + 1), ""
            flat, rest = divmod(offset, element or 1)
            for count in reversed(extents_of(entry)):
                flat, index = divmod(flat, count or 1)
                out = f"[{index}]{out}"
            return out + self._path(entry.number(TYPE), rest, depth + 1)
        members = [m for m in entry.children if m.tag == MEMBER and m.number(OFFSET) <= offset]
        if entry.tag not in AGGREGATES or not members or members[-1].name.startswith("__"):
            return ""
        member, fields = members[-1], [m for m in members if _has_bits(m, offset)]
        named = [m.name for m in fields if m.name] or [_behind(m, entry) for m in fields[-1:]]
        if any(named):
            return "." + " or .".join(named)
        size = self.size(member.number(TYPE), depth + 1)
        if size and offset - member.number(OFFSET) >= size:
            return f".{member.name}+"
        inner = self._path(member.number(TYPE), offset - member.number(OFFSET), depth + 1)
        return f".{member.name}{inner}"


def _has_bits(member: Entry, offset: int) -> bool:
    """Whether a member is a bit-field with bits in a byte of its object."""
    bits, first = member.number(_BITS), _first_bit(member)
    return bits > 0 and first < 8 * offset + 8 and 8 * offset < first + bits


def _first_bit(member: Entry) -> int:
    unit = member.number(OFFSET) + member.number(_SIZE)
    return 8 * unit - member.number(_BITS_BEHIND) - member.number(_BITS)


def _behind(field: Entry, entry: Entry) -> str:
    """The name of the bit-field behind one without a name, with which it is loaded; or before."""
    own = [m for m in entry.children if m.tag == MEMBER and m.name and m.number(_BITS)]
    behind = [m for m in own if _first_bit(m) > _first_bit(field)] or own[-1:]
    return behind[0].name if behind else ""
