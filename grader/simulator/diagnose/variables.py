"""Names of local variables: which variable holds a byte of local memory or a register.

Two sources tell. The debug sections of `-G` PTX describe the variables in local memory
(`LocalVariables`): PTX writes DWARF 2 as lists of numbers, with symbols for what the assembler
fills in. A variable whose address is taken, an array and a struct have one place in the function's
frame, the `.local` variable `__local_depot0`: `DW_OP_addr __local_depot0, DW_OP_plus_uconst 40`.
A variable in a register is read off the source (`used_local`), where the line uses a single
variable that fits.

Both serve messages only: what they do not understand has no name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_ITEM = re.compile(r"\.b(8|16|32|64)\s+([^\n]*)")
_WIDTHS = {1: 8, 5: 2, 6: 4, 7: 8, 11: 1, 12: 1, 14: 4, 16: 4, 17: 1, 18: 2, 19: 4, 20: 8, 23: 4}
"""Bytes of each DWARF form of a fixed size."""
_STRING, _BLOCK1, _SDATA, _UDATA, _EXPRESSION, _PRESENT = 8, 10, 13, 15, 24, 25
_ARRAY, _PARAMETER, _MEMBER, _UNION, _RANGE, _VARIABLE = 0x01, 0x05, 0x0D, 0x17, 0x21, 0x34
_AGGREGATES, _NAMED_TYPES = (0x02, 0x13), (0x16, 0x26, 0x35)
_LOCATION, _NAME, _SIZE, _UPPER = 0x02, 0x03, 0x0B, 0x2F
_COUNT, _OFFSET, _LINE, _TYPE = 0x37, 0x38, 0x3B, 0x49
_ADDRESS, _PLUS = 0x03, 0x23
_POINTERS = (0x0F, 0x10)
_MAX_DEPTH = 16
"""Types within types that are followed."""


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
            entries = _Reader(sections.get(".debug_info", ""), self.types)
            entries.read(_abbreviations(sections.get(".debug_abbrev", "")))
        except (IndexError, KeyError, ValueError):
            return
        for frame, offset, entry in entries.placed:
            of, size = entry.number(_TYPE), self.size(entry.number(_TYPE), 0)
            self.variables.append(
                LocalVariable(
                    frame, offset, size, entry.name, *self.kind(of, 0), entry.number(_LINE), of
                )
            )

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
        if entry is None or depth > _MAX_DEPTH:
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
        if entry is None or depth > _MAX_DEPTH:
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
        if entry is None or depth > _MAX_DEPTH or entry.tag == _UNION:
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


class _Bytes:
    """The bytes of a section, and the symbols in it by their offset."""

    def __init__(self, text: str) -> None:
        self.at, self.data = 0, bytearray()
        self.symbols: dict[int, str] = {}
        for bits, values in _ITEM.findall(text):
            for value in map(str.strip, values.split(",")):
                if not re.fullmatch(r"-?\d+", value):
                    self.symbols[len(self.data)] = value
                    value = "0"
                size = int(bits) // 8
                self.data += (int(value) % (1 << 8 * size)).to_bytes(size, "little")

    def number(self, size: int) -> int:
        """Read an unsigned number of `size` bytes."""
        self.at += size
        if self.at > len(self.data):
            raise IndexError("the section ends early")
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def leb(self) -> int:
        """Read an unsigned LEB128 number."""
        out = shift = 0
        while True:
            byte = self.number(1)
            out |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return out

    def text(self) -> str:
        """Read a string that ends with a zero byte."""
        end = self.data.index(0, self.at)
        out, self.at = self.data[self.at : end].decode(), end + 1
        return out


def _abbreviations(text: str) -> dict[int, tuple[int, bool, list[tuple[int, int]]]]:
    """By abbreviation code: tag, whether entries have children, attributes with their forms."""
    section = _Bytes(text)
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


class _Reader:
    """Reads the entries of the first unit: types by offset, and variables with a place."""

    def __init__(self, text: str, types: dict[int, _Entry]) -> None:
        self.section, self.types = _Bytes(text), types
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


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
_DECLARATION = re.compile(
    r"\s*(?:register\s+|volatile\s+)*"
    r"(?P<type>(?:const\s+)?(?:(?:unsigned|signed|long|short)(?:\s+(?:unsigned|signed|long|short|int|char))*"
    r"|[A-Za-z_][\w:]*(?:<[\w\s,:]*>)?))(?P<names>\s*[\s*&]\s*\w.*)$",
    re.S,
)
_NO_TYPE = re.compile(
    r"(?:return|else|goto|case|new|delete|using|typedef|struct|class|union|enum|throw|do|extern|"
    r"static|constexpr|template|public|private|friend|typename|__\w+__)\b"
)
_DECLARED_NAME = re.compile(r"\s*(\*?)\s*([A-Za-z_]\w*)\s*$")
_ZEROS = {
    "f32": {"float": "0.0f"},
    "f64": {"double": "0.0"},
    "b32": {"int": "0", "unsigned": "0", "unsigned int": "0", "int32_t": "0", "uint32_t": "0"},
    "b64": {"long long": "0", "unsigned long long": "0", "long": "0", "unsigned long": "0"}
    | {"int64_t": "0", "uint64_t": "0", "size_t": "0"},
    "b16": {"bool": "false", "char": "0", "unsigned char": "0", "short": "0"}
    | {"unsigned short": "0", "int8_t": "0", "uint8_t": "0", "int16_t": "0", "uint16_t": "0"},
}
_REGISTER_TYPES = {name: kind for kind, names in _ZEROS.items() for name in names}
"""The type of the PTX register that holds a variable of a C++ type."""


@dataclass(frozen=True)
class UninitializedLocal:
    """A local variable that is declared without a value.

    Attributes:
        name: its name.
        type: its type as it is written; a pointer's ends with `*`.
    """

    name: str
    type: str

    @property
    def declaration(self) -> str:
        """Its declaration with a value; empty when its type is not known."""
        if self.type.endswith("*"):
            return f"{self.type}{self.name} = nullptr;"
        value = _ZEROS.get(_REGISTER_TYPES.get(self.type, ""), {}).get(self.type, "")
        return f"{self.type} {self.name} = {value};" if value else ""

    def fits(self, kind: str) -> bool:
        """Whether a PTX register of this type may hold it; small integers are widened."""
        wants = "b64" if self.type.endswith("*") else _REGISTER_TYPES.get(self.type)
        if kind[0] in "usb":
            return wants is None or wants == f"b{kind[1:]}" or (wants, kind[1:]) == ("b16", "32")
        return wants is None or wants == kind


def initialized_declaration(name: str, kind: str, extent: str, declared: str) -> str:
    """Declare a variable with a value.

    Args:
        name: the variable's name.
        kind: its C++ type.
        extent: the dimensions of an array; else empty.
        declared: the line that declares it.

    Returns an empty text when that line already gives it a value, or its type is not known.
    """
    bare = rf"(?<![&=.>])(?<![&=.>] )\b{re.escape(name)}\s*(?:\[[^\]]*\]\s*)*[;,]"
    if not kind or re.search(bare, declared) is None:
        return ""
    plain = "" if extent else UninitializedLocal(name, kind).declaration
    return plain or f"{kind} {name}{extent} = {{}};"


def used_local(source: str, line: int, kind: str) -> UninitializedLocal | None:
    """The variable without a value that `line` uses and a register of PTX type `kind` may hold.

    Returns None when no variable fits, or more than one.
    """
    text = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source)
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    start = sum(len(x) + 1 for x in lines[: line - 1])
    end = start + len(lines[line - 1])
    if not re.search(r"[;{]", lines[line - 1]) and ";" in text[end:]:
        end = text.index(";", end)
    visible = _visible(text, start, end)
    used = [v for v in visible.values() if _reads(text[start:end], v.name) and v.fits(kind)]
    return used[0] if len(used) == 1 else None


def _reads(text: str, name: str) -> bool:
    """Whether the text reads the variable; an assignment alone is no read."""
    return re.search(rf"(?<![\w.]){name}\b(?!\s*=[^=])", text) is not None


def _visible(text: str, start: int, end: int) -> dict[str, UninitializedLocal]:
    """The variables without a value that are in scope between two places of the text."""
    scopes: list[dict[str, UninitializedLocal | None]] = [{}]
    visible: dict[str, UninitializedLocal] = {}
    at = 0
    for match in re.finditer(r"[;{}]", text[:end] + ";"):
        piece, at = text[at : match.start()], match.end()
        if match[0] == ";" and len(scopes) > 1:
            scopes[-1].update(_declared(piece))
        if match.start() >= start:
            for scope in scopes:
                visible.update({name: v for name, v in scope.items() if v is not None})
        if match[0] == "{":
            scopes.append({})
        elif match[0] == "}" and len(scopes) > 1:
            scopes.pop()
    return visible


def _declared(statement: str) -> Iterator[tuple[str, UninitializedLocal]]:
    """The variables that a statement declares without a value."""
    match = _DECLARATION.match(statement)
    if match is None or _NO_TYPE.match(statement.lstrip()):
        return
    kind = " ".join(match["type"].split())
    for part in match["names"].split(","):
        if (name := _DECLARED_NAME.match(part)) is not None:
            yield name[2], UninitializedLocal(name[2], f"{kind} *" if name[1] else kind)
