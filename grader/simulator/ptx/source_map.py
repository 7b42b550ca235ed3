"""Relate PTX to the student's source: lines of instructions and names of local variables.

Lines are those of the student's file, even where a function of a header executes: in debug PTX
`atomicAdd`, `__syncwarp` and the like are functions with lines in headers. Each call of one gets a
copy whose instructions have the location of the call, so that its findings are there.

The debug sections of `-G` PTX describe the variables in local memory (`LocalVariables`). PTX writes
DWARF 2 as lists of numbers, with symbols for what the assembler fills in. A variable whose address
is taken, an array and a struct have one place in the function's frame, the `.local` variable
`__local_depot0`: `DW_OP_addr __local_depot0, DW_OP_plus_uconst 40`. What is not understood has no
name, because names serve messages only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from os.path import basename

from grader import dataclass
from grader.simulator.ptx.model import (
    Function,
    Instruction,
    Location,
    Module,
    SectionBytes,
    function_name,
)

_INTRINSICS = re.compile(r"cuda_(?:fp|bf)\d|__nv_nvrtc|sm_\d|(?:device|math|vector)_functions")
"""Headers whose functions stand for instructions; they are not code of a library."""

MAX_CALL_DEPTH = 50
MAX_COPIES = 2048
OWN = 1
"""The file number of the student's file in resolved locations."""

_NOWHERE = Location()

_WIDTHS = {1: 8, 5: 2, 6: 4, 7: 8, 11: 1, 12: 1, 14: 4, 16: 4, 17: 1, 18: 2, 19: 4, 20: 8, 23: 4}
"""Bytes of each DWARF form of a fixed size."""
_STRING, _BLOCK1, _SDATA, _UDATA, _EXPRESSION, _PRESENT = 8, 10, 13, 15, 24, 25
_ARRAY, _PARAMETER, _MEMBER, _UNION, _RANGE, _VARIABLE = 0x01, 0x05, 0x0D, 0x17, 0x21, 0x34
_AGGREGATES, _NAMED_TYPES = (0x02, 0x13), (0x16, 0x26, 0x35)
_LOCATION, _NAME, _SIZE, _UPPER = 0x02, 0x03, 0x0B, 0x2F
_COUNT, _OFFSET, _LINE, _TYPE = 0x37, 0x38, 0x3B, 0x49
_ADDRESS, _PLUS = 0x03, 0x23
_POINTERS = (0x0F, 0x10)
_MAX_TYPE_DEPTH = 16
"""Types within types that are followed."""


def with_source_lines(module: Module, kernel: str) -> dict[str, Function]:
    """The functions of a module with locations in the student's file.

    An instruction that no line of it leads to has an empty location.
    """
    own = _file_of(module.functions[kernel])
    if not own:
        return dict(module.functions)
    names = {n: basename(name) for n, name in module.files.items()}
    intrinsics = {n for n, name in names.items() if _INTRINSICS.match(name)}
    return _Relocation(module.functions, own, frozenset({own, 0} | intrinsics), names).functions


class _Relocation:
    """Moves the locations of all functions of a module into the student's file.

    Args:
        functions: the functions of the module.
        own: the number of the student's file.
        checked: the numbers of the files whose code is not a library's.
        headers: the names of the files by number.
    """

    def __init__(
        self,
        functions: dict[str, Function],
        own: int,
        checked: frozenset[int],
        headers: Mapping[int, str],
    ) -> None:
        self.own, self.checked = own, checked
        self.copies: dict[tuple[str, int, int], str] = {}
        self.from_headers = {n for n, f in functions.items() if _is_from_header(f, own)}
        self.headers = headers
        self.original = functions
        self.functions: dict[str, Function] = {}
        for name, f in functions.items():
            moved = self.moved(f, None, 0)
            if name in self.from_headers:
                moved.library = any(map(self.in_library, f.body[-1:]))
            self.functions[name] = moved

    def in_library(self, i: Instruction) -> bool:
        """Whether an instruction is code of a library."""
        return i.location.file not in self.checked

    def moved(self, f: Function, at: Location | None, depth: int, via: str = "") -> Function:
        """A copy of `f` with its instructions at lines of the student's file.

        Args:
            f: the function.
            at: the location of all its instructions; None for their own ones. `-G` code of a
                header's inlined function has no call site: see `own_lines`.
            depth: how many calls led to it.
            via: the library function that the student's line calls.
        """
        own = self.own_lines(f)
        body = []
        for i, location in zip(f.body, own, strict=True):
            location = at or location
            operands = self.targets(i, location, depth, via)
            library = self.in_library(i)
            through = via or (self.headers.get(i.location.file, "") if library else "")
            made = Instruction(i.op, operands, i.guard, location, library, through, i.used)
            body.append(made)
        return replace(f, body=body)

    def own_lines(self, f: Function) -> list[Location]:
        """The location of each instruction in the student's file.

        In `-G` PTX a header's inlined function has no call site. Its code is at the line before it,
        where the arguments are, or at the line behind it, where a branch leaves the inlined code.
        """
        own = [resolved(i.location, self.own) for i in f.body]
        behind = list(own)
        for k in range(len(own) - 2, -1, -1):
            if not own[k].line:
                leaves = own[k + 1].line and f.body[k + 1].op.startswith("bra")
                behind[k] = (
                    own[k + 1] if leaves else behind[k + 1] if not own[k + 1].line else _NOWHERE
                )
        first = last = next((at for at in own if at.line), _NOWHERE)
        for k, at in enumerate(own):
            last = at if at.line else last
            own[k] = at if at.line else behind[k] if behind[k].line else last or first
        return own

    def targets(self, i: Instruction, at: Location, depth: int, via: str) -> list[str]:
        """The operands of a call, with a function from a header replaced by its copy."""
        if not i.op.startswith("call"):
            return i.operands
        return [self.copied(o, at, depth, via) if o in self.from_headers else o for o in i.operands]

    def copied(self, name: str, at: Location, depth: int, via: str) -> str:
        """The name of the copy of a header's function for calls from one location."""
        key = (name, at.line, at.column)
        if (
            key in self.copies
            or depth >= MAX_CALL_DEPTH
            or len(self.copies) >= MAX_COPIES
            or not at.line
        ):
            return self.copies.get(key, name)
        self.copies[key] = new = f"{name}@{len(self.copies) + 1}"
        original = self.original[name]
        if not via and any(map(self.in_library, original.body)):
            via = function_name(name)
        moved = self.moved(original, at, depth + 1, via)
        self.functions[new] = replace(moved, name=new)
        return new


def is_copy(name: str) -> bool:
    """Whether a function of `with_source_lines` is a copy of a header's function for its calls."""
    return "@" in name


def resolved(location: Location, own: int) -> Location:
    """The location in the student's file that code was inlined at; empty if there is none."""
    at: Location | None = location
    while at is not None and at.file != own:
        at = at.inlined
    return Location(OWN, at.line, at.column, at.function) if at and at.line else _NOWHERE


def _is_from_header(f: Function, own: int) -> bool:
    """Whether no instruction of a device function comes from the student's file."""
    return f.has_body and not f.entry and not any(resolved(i.location, own).line for i in f.body)


def _file_of(kernel: Function) -> int:
    """The number of the file that a kernel is in; 0 when not known."""
    for i in kernel.body:
        at = i.location
        while at.inlined is not None:
            at = at.inlined
        if at.line:
            return at.file
    return 0


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
    """The local variables of a module; none when its debug sections are missing or unknown."""

    def __init__(self, sections: Mapping[str, str]) -> None:
        self.types: dict[int, _Entry] = {}
        self.variables: list[LocalVariable] = []
        try:
            entries = _entries(sections.get(".debug_info", ""), sections.get(".debug_abbrev", ""))
        except (IndexError, KeyError, ValueError):
            return
        self.types = entries.types
        for frame, offset, entry in entries.placed:
            of, line = entry.number(_TYPE), entry.number(_LINE)
            place = frame, offset, self.size(of, 0)
            self.variables.append(LocalVariable(*place, entry.name, *self.kind(of, 0), line, of))

    def at(self, frame: str, offset: int) -> LocalVariable | None:
        """The variable at a byte of a frame."""
        return next(
            (v for v in self.variables if v.frame == frame and 0 <= offset - v.offset < v.bytes),
            None,
        )

    def element(self, v: LocalVariable, offset: int) -> str:
        """The element or member at a byte of the frame, such as `acc[2]` or `p.y`."""
        return v.name + self._path(v.type, offset - v.offset, 0)

    def size(self, number: int, depth: int) -> int:
        """The bytes of a type; 0 when not known."""
        entry = self.types.get(number)
        if entry is None or depth > _MAX_TYPE_DEPTH:
            return 0
        if entry.tag == _ARRAY:
            whole = self.size(entry.number(_TYPE), depth + 1)
            for count in _counts(entry):
                whole *= count
            return whole
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
        member = members[-1]
        inner = self._path(member.number(_TYPE), offset - member.number(_OFFSET), depth + 1)
        return f".{member.name}{inner}"


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
            return self.section.number(_WIDTHS[form])
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
        section.at = end
        return (symbol, add) if symbol else add
