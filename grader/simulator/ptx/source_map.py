"""Relate PTX to the student's source: names of variables, shapes of arrays, lines of instructions.

Names and shapes are read off the source text, for messages; what cannot be read with certainty has
none. Lines are those of the student's file, even where a function of a header executes: in debug
PTX `atomicAdd`, `__syncwarp` and the like are functions with lines in headers. Each call of one
gets a copy whose instructions have the location of the call, so that its findings are there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from os.path import basename

from grader.faults import LabFault
from grader.labs.expressions import evaluate_expression
from grader.simulator.ptx.model import Function, Instruction, Location, Module

_LENGTH = re.compile(r"\d+")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n/]+)", re.M)
_CONSTANT = re.compile(r"\b(?:const|constexpr|enum)\b[^;={]*?\b(\w+)\s*=\s*([^;,}]+)")
_DIMS = r"(?:\s*\[[^\]]*\])"
_DECLARED = re.compile(
    r"(?P<shared>__shared__\s+(?:\w+\s+){0,3}?)?(?P<type>[\w:]+(?:\s*\*)?)\s+(?:__align__\s*\([^)]*\)\s*)?"
    rf"(?P<list>\w+{_DIMS}*(?:\s*,\s*\w+{_DIMS}*)*)\s*[;,=]"
)
_ONE = re.compile(rf"(\w+)({_DIMS}*)")
TYPE_SIZES = {
    "char": 1,
    "int8_t": 1,
    "uint8_t": 1,
    "bool": 1,
    "short": 2,
    "half": 2,
    "int": 4,
    "unsigned": 4,
    "float": 4,
    "long": 8,
    "double": 8,
    "float2": 8,
    "int2": 8,
    "float4": 16,
    "int4": 16,
    "uint32_t": 4,
    "int32_t": 4,
    "uint64_t": 8,
    "int64_t": 8,
    "size_t": 8,
    "uchar": 1,
    "uint": 4,
}


def plain_name(symbol: str) -> str:
    """The name of a variable in the source: `_ZZ6matmulE2As` is As, `_ZN2ns1xE` is x."""
    if not symbol.startswith("_Z"):
        return symbol
    at, name = 0, symbol
    while (match := _LENGTH.search(symbol, at)) is not None:
        length, start = int(match[0]), match.end()
        fits = start + length <= len(symbol) and symbol[start : start + length].isidentifier()
        if fits and length:
            name, at = symbol[start : start + length], start + length
        else:
            at = match.end()
    return name


@dataclass(frozen=True)
class Shape:
    """The shape of an array: `dims` elements, slowest first, of `element` bytes each."""

    dims: tuple[int, ...]
    element: int

    def index(self, offset: int) -> str:
        """The element at a byte offset, such as `[1][3]`; the first index may be out of bounds."""
        flat, out = offset // self.element, []
        for size in reversed(self.dims[1:]):
            flat, at = divmod(flat, max(size, 1))
            out.append(at)
        return "".join(f"[{k}]" for k in (flat, *reversed(out)))


def declared_shape(source: str, name: str, size: int) -> Shape | None:
    """The shape that the source declares for an array of `size` bytes.

    Returns None when it is not certain: the product of the dimensions must give that size.
    """
    constants = _constants(source)
    for declared in _declarations(source, name):
        dims = [_number(d, constants) for d in declared.dims]
        known = [d for d in dims if d is not None and d > 0]
        if not known or len(known) != len(dims):
            continue
        count = prod(known)
        if size and size % count == 0 and size // count in (1, 2, 4, 8, 16):
            return Shape(tuple(known), size // count)
    return None


def element_bytes(source: str, name: str) -> int:
    """Bytes of an element of the array of this name; 0 if unknown."""
    for declared in _declarations(source, name):
        if declared.dims:
            return TYPE_SIZES.get(declared.type.split("::")[-1].strip(), 0)
    return 0


def is_scalar(source: str, name: str) -> bool:
    """Whether the source declares a shared variable of this name that is not an array."""
    declared = list(_declarations(source, name))
    return any(d.shared for d in declared) and not any(d.dims for d in declared)


@dataclass(frozen=True)
class _Declaration:
    type: str
    dims: tuple[str, ...]
    shared: bool


def _declarations(source: str, name: str) -> Iterator[_Declaration]:
    """The declarations of `name`, alone or in a list of one type."""
    for match in _DECLARED.finditer(source):
        for own, dims in _ONE.findall(match["list"]):
            if own == name:
                lengths = tuple(re.findall(r"\[([^\]]*)\]", dims))
                yield _Declaration(match["type"], lengths, bool(match["shared"]))


def _constants(source: str) -> dict[str, int | float]:
    """The values of the macros and constants that the source defines."""
    out: dict[str, int | float] = {}
    for pattern in (_DEFINE, _CONSTANT):
        for name, text in pattern.findall(source):
            if (value := _number(text, out)) is not None:
                out.setdefault(name, value)
    return out


def _number(text: str, constants: dict[str, int | float]) -> int | None:
    """The value of an integer constant expression; None for any other text."""
    cleaned = re.sub(r"(?<=\d)[uUlL]+\b", "", text.strip().rstrip(";")).replace("/", "//")
    try:
        value = evaluate_expression(cleaned, constants)
    except (LabFault, ArithmeticError, ValueError, TypeError):
        return None
    return int(value) if value == int(value) else None


_INTRINSICS = re.compile(r"cuda_(?:fp|bf)\d|__nv_nvrtc|sm_\d|(?:device|math|vector)_functions")
"""Headers whose functions stand for instructions; they are not code of a library."""

MAX_DEPTH = 50
MAX_COPIES = 2048
OWN = 1
"""The file number of the student's file in resolved locations."""


def with_source_lines(module: Module, kernel: str) -> dict[str, Function]:
    """The functions of a module with locations in the student's file.

    An instruction that no line of it leads to has an empty location.
    """
    own = _file_of(module.functions[kernel])
    if not own:
        return dict(module.functions)
    intrinsics = {n for n, name in module.files.items() if _INTRINSICS.match(basename(name))}
    return _Relocation(module.functions, own, frozenset({own, 0} | intrinsics)).functions


class _Relocation:
    """Moves the locations of all functions of a module into the student's file.

    Args:
        functions: the functions of the module.
        own: the number of the student's file.
        checked: the numbers of the files whose code is not a library's.
    """

    def __init__(self, functions: dict[str, Function], own: int, checked: frozenset[int]) -> None:
        self.own, self.checked = own, checked
        self.copies: dict[tuple[str, int, int], str] = {}
        self.from_headers = {n for n, f in functions.items() if _is_from_header(f, own)}
        self.original = functions
        self.functions: dict[str, Function] = {}
        for name, f in functions.items():
            self.functions[name] = (
                replace(f, library=any(map(self.in_library, f.body[-1:])))
                if name in self.from_headers
                else self.moved(f, None, 0)
            )

    def in_library(self, i: Instruction) -> bool:
        """Whether an instruction is code of a library."""
        return i.location.file not in self.checked

    def moved(self, f: Function, at: Location | None, depth: int) -> Function:
        """A copy of `f` with its instructions at `at`, or at their own lines if that is None."""
        body = []
        for i in f.body:
            location = at or resolved(i.location, self.own)
            operands = self.targets(i, location, depth)
            body.append(Instruction(i.op, operands, i.guard, location, self.in_library(i)))
        return replace(f, body=body)

    def targets(self, i: Instruction, at: Location, depth: int) -> list[str]:
        """The operands of a call, with a function from a header replaced by its copy."""
        if not i.op.startswith("call"):
            return i.operands
        return [self.copied(o, at, depth) if o in self.from_headers else o for o in i.operands]

    def copied(self, name: str, at: Location, depth: int) -> str:
        """The name of the copy of a header's function for calls from one location."""
        key = (name, at.line, at.column)
        if (
            key in self.copies
            or depth >= MAX_DEPTH
            or len(self.copies) >= MAX_COPIES
            or not at.line
        ):
            return self.copies.get(key, name)
        self.copies[key] = new = f"{name}@{len(self.copies) + 1}"
        self.functions[new] = replace(self.moved(self.original[name], at, depth + 1), name=new)
        return new


def resolved(location: Location, own: int) -> Location:
    """The location in the student's file that code was inlined at; empty if there is none."""
    at: Location | None = location
    while at is not None and at.file != own:
        at = at.inlined
    return Location(OWN, at.line, at.column, at.function) if at else Location()


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
