"""Read the entries of DWARF 2 in PTX: numbers, with symbols for what the assembler fills in."""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache

from grader import dataclass
from grader.simulator.ptx.model import SectionBytes

_WIDTHS = {1: 8, 5: 2, 6: 4, 7: 8, 11: 1, 12: 1, 14: 4, 16: 4, 17: 1, 18: 2, 19: 4, 20: 8, 23: 4}
"""Bytes of each DWARF form of a fixed size."""
_STRING, _BLOCK1, _SDATA, _UDATA, _EXPRESSION, _PRESENT = 8, 10, 13, 15, 24, 25
ARRAY, PARAMETER, MEMBER, UNION, RANGE, VARIABLE = 0x01, 0x05, 0x0D, 0x17, 0x21, 0x34
_LOCATION, _NAME = 0x02, 0x03
_ADDRESS, _PLUS, _REGISTER = 0x03, 0x23, 0x90


@dataclass(slots=True)
class Entry:
    """A DWARF entry with its attributes' values."""

    tag: int
    values: dict[int, int | str | tuple[str, int]] = field(default_factory=dict)
    children: list[Entry] = field(default_factory=list)

    def number(self, attribute: int) -> int:
        """An attribute's value; 0 where that is no number."""
        value = self.values.get(attribute, 0)
        return value if isinstance(value, int) else 0

    @property
    def name(self) -> str:
        """Its name in the source, if any."""
        return str(self.values.get(_NAME, ""))


Attribute = tuple[int, int, int]
"""An attribute of entries, the bytes of its value, or 0 for no fixed size, and its form."""


def _abbreviations(text: str) -> dict[int, tuple[int, bool, list[Attribute]]]:
    """By abbreviation code: tag, whether entries have children, and their attributes."""
    section = SectionBytes(text)
    out = {}
    while section.at < len(section.data) and (code := section.leb()):
        tag, children = section.leb(), bool(section.number(1))
        plan = []
        while True:
            attribute, form = section.leb(), section.leb()
            if (attribute, form) == (0, 0):
                break
            plan.append((attribute, _WIDTHS.get(form, 0), form))
        out[code] = tag, children, plan
    return out


def entries_of(info: str, abbreviations: str) -> EntryReader:
    """Read the entries of a debug section. Raises IndexError, KeyError or ValueError."""
    return _entries_of(info, abbreviations) if info else EntryReader("", {})


@lru_cache(maxsize=1)  # trials decode a dozen kernels of one module; optimized code has no entries
def _entries_of(info: str, abbreviations: str) -> EntryReader:
    reader = EntryReader(info, {})
    reader.read(_abbreviations(abbreviations))
    return reader


class EntryReader:
    """Reads the entries of the first unit: types by offset, and variables with a place."""

    def __init__(self, text: str, types: dict[int, Entry]) -> None:
        self.section, self.types = SectionBytes(text), types
        self.placed: list[tuple[str, int, Entry]] = []

    def read(self, abbreviations: dict[int, tuple[int, bool, list[Attribute]]]) -> None:
        """Read the unit into `types` and `placed`. Raises IndexError, KeyError or ValueError."""
        section = self.section
        if not section.data:
            return
        end = section.number(4) + 4
        section.number(2 + 4 + 1)
        parents: list[Entry] = []
        while section.at < min(end, len(section.data)):
            start = section.at
            code = section.leb()
            if code == 0:
                if parents:
                    parents.pop()
                continue
            tag, children, plan = abbreviations[code]
            entry = Entry(tag, self.values(plan))
            self.types[start] = entry
            if parents:
                parents[-1].children.append(entry)
            if children:
                parents.append(entry)
            place = entry.values.get(_LOCATION)
            if tag in (VARIABLE, PARAMETER) and isinstance(place, tuple):
                self.placed.append((*place, entry))

    def values(self, plan: list[Attribute]) -> dict[int, int | str | tuple[str, int]]:
        """Read the values of an entry's attributes.

        A library's headers have tens of thousands of them. Raises as `value` does.
        """
        section, out = self.section, dict[int, int | str | tuple[str, int]]()
        data, symbols, at = section.data, section.symbols, section.at
        for attribute, width, form in plan:
            if width:
                number = int.from_bytes(data[at : at + width], "little")
                out[attribute] = number or symbols.get(at) or 0
                at += width
            elif form == _STRING:
                end = data.index(0, at)
                out[attribute], at = data[at:end].decode(), end + 1
            else:
                section.at = at
                out[attribute] = self.value(form)
                at = section.at
        if at > len(data):
            raise IndexError("the section ends early")
        section.at = at
        return out

    def value(self, form: int) -> int | str | tuple[str, int]:
        """Read any other value, of no fixed size. Raises KeyError for an unknown form."""
        if form in (_SDATA, _UDATA):
            return self.section.leb()
        if form == _PRESENT:
            return 1
        if form not in (_BLOCK1, _EXPRESSION):
            raise KeyError(form)
        size = self.section.number(1) if form == _BLOCK1 else self.section.leb()
        return self.place(self.section.at + size)

    def place(self, end: int) -> int | str | tuple[str, int]:
        """Read a location: a member's offset, or a variable's frame and offset, or register."""
        section = self.section
        first = section.number(1) if section.at < end else 0
        symbol = ""
        if first == _ADDRESS:
            symbol = section.symbols.get(section.at, "")
            section.number(8)
            first = section.number(1) if section.at < end else 0
        if first == _REGISTER and section.at < end:
            return register_name(section.leb())
        add = section.leb() if first == _PLUS and section.at < end else 0
        whole, section.at = section.at == end, end
        return (symbol, add) if symbol and whole else add


def register_name(number: int) -> str:
    """The name of a register, whose letters are its number."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big").decode("ascii", "replace")


class LocationLists:
    """The section with the places of variables that change them."""

    def __init__(self, text: str) -> None:
        self.section = SectionBytes(text)

    def at(self, place: str) -> tuple[tuple[str, str, str], ...]:
        """The registers of a list, each with the labels between which it counts.

        A place that is a register itself has it always.
        """
        if place.startswith("%"):
            return (("", "", place),)
        section, out = self.section, list[tuple[str, str, str]]()
        section.at = int(place.partition("+")[2] or 0)
        while start := section.symbols.get(section.at):
            end = section.symbols.get(section.at + 8, "")
            section.at += 16
            behind = section.number(2) + section.at
            if section.number(1) == _REGISTER:
                out.append((start, end, register_name(section.leb())))
            section.at = behind
        return tuple(out)
