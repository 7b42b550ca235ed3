"""Parse PTX text into a Module of functions, variables and instructions.

Source: PTX ISA, "Syntax", "Directives" and "Instructions". The parser knows the grammar, not the
meaning of an instruction. Anything else is a PtxError that names the statement.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache

from grader import dataclass, regex, replace
from grader.simulator.ptx.model import (
    TYPE_BYTES,
    Function,
    Instruction,
    Location,
    Module,
    PtxError,
    Variable,
)
from grader.simulator.ptx.operands import (
    Vectors,
    assembly_barriers,
    element,
    operands_of,
    plain_operands,
    scalar_moves,
    variable,
    without_comments,
)

# No group of alternatives is repeated by `*+` here: Python 3.11.2 then misses a match.
_TOP = regex(
    r"\s*+(?:(?P<section>\.section\b[^{]*\{)"
    r"|(?P<line>\.(?:version|target|address_size|file)\b[^\n]*)"
    r"|(?P<function>(?:\.(?:visible|weak|extern)\s*+)*\.(?:entry|func)\b)"
    r"|(?P<statement>[^;{}=]*+=\s*\{[^;]*+;|[^;{}]*+(?:\{[^;{}]*+\})?+[^;{}]*+;))"
)

_STATEMENT = regex(
    r"\s*+(?:(?P<loc>\.loc\b[^\n;]*|\.file\b[^\n;]*(?=\n))"
    r"|(?P<label>[$%A-Za-z_][\w$]*)\s*:(?!:)"
    r"|(?P<text>\.[^;{}=]*+=\s*\{[^;]*+|(?!\{)(?:[^;{}]++|\{[^;{}]*+\})*+);"
    r"|(?P<brace>[{}]))"
)

_REG = regex(r"\.reg\s*(?:\.v([24])\s*)?\.(\w+)\b\s*(\S.*)$", re.S)

_RANGE = regex(r"([$%\w]+)<(\d+)>")

_INSTRUCTION = regex(r"(?:@\s*(!?)\s*([$%\w]+)\s+)?([a-z_][\w:]*(?:\s*+\.[\w:]+)*)\s*(.*)$", re.S)

MAX_INLINED = 64
"""The most calls within calls that a location follows."""

_LOC = regex(
    r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?function_name\s+([$\w]+)(?:\s*\+\s*\d+)?"
    r"\s*,?\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?"
)

_USED = regex(r'\.pragma\s*"used_bytes_mask\s+(0[xX][0-9a-fA-F]+|\d+)"')

_FILE = regex(r'\.file\s+(\d+)\s+"([^"]*)"')

_HEAD = regex(
    r"\s*+(?:\.(?:visible|weak|extern)\s*+)*\.(?P<kind>entry|func)\s*(?:\.noreturn\s*)?"
    r"(?:\((?P<results>[^()]*)\)\s*)?(?P<name>[$%\w]+)\s*(?:\((?P<parameters>[^()]*)\))?",
    re.S,
)

_NAME = regex(r"(?<![\w$%.])[$%A-Za-z_][$%\w]*")
"""A name, but no digits of a number, and no element of a vector."""

_CACHED = ("ld", "st", "atom", "red")
_INDEXED = regex(r"[\w$]\[")  # an element of an array, such as a[2]

_LIMIT = regex(
    r"\.(maxntid|reqntid|minnctapersm|maxnreg|maxnctapersm|reqnctapercluster)\s+([\d,\s]+)"
)

MAX_TEXT = 32 << 20
"""The largest PTX text, in characters."""

MAX_REGISTERS = 1 << 16
"""The most registers of a function."""

SECTIONS = frozenset((".debug_info", ".debug_abbrev", ".debug_loc", ".debug_str"))


def parse(text: str) -> Module:
    """Parse PTX text into a Module. Raises PtxError."""
    if len(text) > MAX_TEXT:
        raise PtxError(f"more than {MAX_TEXT >> 20} MiB of PTX")
    try:
        return _module(without_comments(assembly_barriers(text)))
    except (ValueError, IndexError, OverflowError) as error:
        raise PtxError(f"cannot parse {error}") from error


def _module(text: str) -> Module:
    module, at = Module(), 0
    while True:
        match = _TOP.match(text, at)
        if match is None:
            if text[at:].strip():
                raise PtxError(f"cannot parse {text[at:].strip()[:60]!r}")
            return module
        at = match.end()
        if match["section"]:
            start, at = at, _skip_section(text, at)
            if (name := match["section"].split()[1]) in SECTIONS:
                module.sections[name] = text[start : at - 1]
        elif match["line"]:
            _module_line(module, match["line"])
        elif match["function"]:
            at = _function(module, text, match.start("function"))
        elif not match["statement"].lstrip().startswith((".alias", ".pragma", ".callprototype")):
            module.variables.append(variable(match["statement"].rstrip(";").strip()))


def _skip_section(text: str, at: int) -> int:
    depth = 1
    while depth:
        opening, closing = text.find("{", at), text.find("}", at)
        if closing < 0:
            raise PtxError("a .section is not closed")
        depth += 1 if 0 <= opening < closing else -1
        at = (opening if 0 <= opening < closing else closing) + 1
    return at


def _module_line(module: Module, line: str) -> None:
    if (match := _FILE.match(line)) is not None:
        module.files[int(match[1])] = match[2]
    elif line.startswith(".target"):
        module.target = line.split()[1].rstrip(",")


def _variables(text: str | None) -> list[Variable]:
    return [variable(part) for part in (text or "").split(",") if part.strip()]


def _function(module: Module, text: str, at: int) -> int:
    head = _HEAD.match(text, at)
    if head is None:
        raise PtxError(f"cannot parse {text[at : at + 60].strip()!r}")
    function = Function(
        head["name"],
        head["kind"] == "entry",
        _variables(head["parameters"]),
        _variables(head["results"]),
    )
    at = head.end()
    brace, semicolon = text.find("{", at), text.find(";", at)
    if brace < 0 and semicolon < 0:
        raise PtxError(f"the declaration of {function.name} has no end")
    if brace < 0 or 0 <= semicolon < brace:
        function.has_body = False
        module.functions.setdefault(function.name, function)
        return semicolon + 1
    for name, numbers in _LIMIT.findall(text[at:brace]):
        function.limits[name] = [int(n) for n in numbers.replace(",", " ").split()]
    at = _Body(function, module.variables).read(text, brace + 1)
    module.functions[function.name] = function
    return at


@dataclass
class _Scope:
    """A block in braces.

    Attributes:
        number: its number in the function.
        names: what it declares.
        labels: the unique name of each label.
        branches: where a branch names a label, as a list and a place in it. A label may follow the
            branch, so the names are resolved at the end of the block.
    """

    number: int = 0
    names: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    branches: list[tuple[list[str], int]] = field(default_factory=list)

    def close(self, outer: list[tuple[list[str], int]]) -> list[tuple[list[str], int]]:
        """Resolve the branches to its labels; return the others with those of the outer block."""
        left = []
        for names, at in self.branches:
            if (label := self.labels.get(names[at])) is None:
                left.append((names, at))
            else:
                names[at] = label
        more, fewer = (left, outer) if len(left) > len(outer) else (outer, left)
        more += fewer
        return more


class _Body:
    """Parses the body of a function; names of an inner scope in braces become unique."""

    def __init__(self, function: Function, variables: list[Variable]) -> None:
        self.function, self.globals, self.vectors = function, variables, Vectors()
        self.location = Location()
        self.sites: dict[Location, tuple[Location, int]] = {}
        self.used: int | None = None
        self.scopes = [_Scope()]
        self.unique: dict[str, list[str]] = {}
        self.count = 0

    def read(self, text: str, at: int) -> int:
        """Parse the statements from `at` on; return the offset behind the closing brace."""
        try:
            return self._statements(text, at)
        except PtxError as error:
            error.line = error.line or self.line
            raise

    def _statements(self, text: str, at: int) -> int:
        """Parse the statements; a PtxError may have no line."""
        match_at = _STATEMENT.match
        while True:
            match = match_at(text, at)
            if match is None:
                raise PtxError(f"cannot parse {text[at : at + 60].strip()!r}")
            at = match.end()
            kind = match.lastgroup
            if kind == "text":
                self.statement(match["text"].strip())
            elif kind == "loc":
                self.moved_to(match["loc"])
            elif kind == "label":
                self.label(match["label"])
            elif match["brace"] == "{":
                self.count += 1
                self.scopes.append(_Scope(self.count))
            else:
                closed = self.scopes.pop()
                for name in closed.names:
                    self.unique[name].pop()
                if not self.scopes:
                    return at
                self.scopes[-1].branches = closed.close(self.scopes[-1].branches)

    @property
    def line(self) -> int:
        """The line of the statement, or of the outermost call that it is inlined for."""
        at = self.location
        while at.inlined is not None:
            at = at.inlined
        return at.line

    def inlined(self, at: Location) -> Location:
        """The location with those that lead to it: each call site is a location before it."""
        known, depth = self.sites.get(at.inlined, (at.inlined, 0)) if at.inlined else (None, 0)
        if depth < MAX_INLINED:
            at = replace(at, inlined=known)
        self.sites[Location(at.file, at.line, at.column)] = at, depth + 1
        return at

    def moved_to(self, text: str) -> None:
        """Enter a .loc directive; a .file directive of inline assembly changes nothing."""
        if text.startswith(".loc"):
            self.location = self.inlined(_location(text))
            self.function.line = self.function.line or self.location.line

    def label(self, name: str) -> None:
        """Enter a label of the next instruction."""
        unique = self.scopes[-1].labels[name] = self.declare(name)
        self.function.labels[unique] = len(self.function.body)

    def declare(self, name: str) -> str:
        """Make a name of an inner scope unique in the function."""
        if len(self.scopes) == 1:
            return name
        new = f"{name}@{self.scopes[-1].number}"
        self.unique.setdefault(name, []).append(new)
        self.scopes[-1].names.append(name)
        return new

    def resolve(self, operand: str) -> str:
        """Replace the names that inner scopes declare by their unique names."""
        if len(self.scopes) == 1:
            return operand
        return _NAME.sub(self._innermost, operand)

    def _innermost(self, name: re.Match[str]) -> str:
        declared = self.unique.get(name[0])
        return declared[-1] if declared else name[0]

    def statement(self, text: str) -> None:
        """Parse a directive or an instruction."""
        if not text:
            return
        if text[0] == ".":
            self.directive(text)
            return
        if (parts := _instruction(text)) is None:
            raise PtxError(f"cannot parse {text[:60]!r}")
        op, operands, guard, indexes = parts
        names = [*operands]
        if len(self.scopes) > 1:
            branches = bool(names) and op.startswith(("bra", "brx"))
            kept = names.pop() if branches else ""
            names = list(map(self.resolve, names))
            guard = (self.resolve(guard[0]), guard[1]) if guard else None
            if branches:
                self.scopes[-1].branches.append((names, len(names)))
                names.append(kept)
        if self.vectors.elements:
            names = list(map(self.vectors.expanded, names))
        if indexes:
            names = [self.indexed(op, name) for name in names]
        wide = op.startswith("mov.v") or (self.vectors.elements and op.endswith(".b128"))
        for own, given in scalar_moves(op, names) if wide else ((op, names),):
            made = Instruction(own, given, guard, self.location, used=self.used)
            self.function.body.append(made)
        self.used = None

    def indexed(self, op: str, operand: str) -> str:
        """The address of an element of an array: `a[2]` is a+8 where elements have 4 bytes."""
        if (found := element(operand)) is None:
            return operand
        name, index = found
        known = [v.element for v in (*self.function.variables, *self.globals) if v.name == name]
        if not known:
            raise PtxError(f"there is no array {name}")
        address = f"{name}+{index * known[0]}"
        return address if op.startswith("mov") else f"[{address}]"

    def directive(self, text: str) -> None:
        """Parse a directive of a function's body."""
        function = self.function
        if (match := _REG.match(text)) is not None:
            self.registers(match[2], match[3], int(match[1] or 1))
        elif text.startswith(".branchtargets"):
            targets = function.tables[self.last_label()] = [t.strip() for t in text[14:].split(",")]
            self.scopes[-1].branches += ((targets, k) for k in range(len(targets)))
        elif text.startswith((".callprototype", ".calltargets")):
            function.prototypes[self.last_label()] = text
        elif (used := _USED.match(text)) is not None:
            self.used = int(used[1], 0)
        elif not text.startswith((".pragma", ".callsites")):
            var = variable(text)
            function.variables.append(replace(var, name=self.declare(var.name)))

    def last_label(self) -> str:
        """The label that names a table or a prototype."""
        if not self.function.labels:
            raise PtxError("a table without a label")
        return next(reversed(self.function.labels))

    def registers(self, kind: str, names: str, count: int) -> None:
        """Enter the registers of a `.reg` directive, or its vectors of `count` elements."""
        if kind not in TYPE_BYTES:
            raise PtxError(f"unknown register type .{kind}")
        kind, count = ("b64", 2) if kind == "b128" else (kind, count)
        for name in (n.strip() for n in names.split(",")):
            declared = [name]
            if (ranged := _RANGE.match(name)) is not None:
                if int(ranged[2]) > MAX_REGISTERS:
                    raise PtxError(f"more than {MAX_REGISTERS} registers")
                declared = [f"{ranged[1]}{k}" for k in range(int(ranged[2]))]
            unique = list(map(self.declare, declared))
            if count > 1:
                unique = [e for vector in unique for e in self.vectors.declare(vector, count)]
            self.function.registers.update(dict.fromkeys(unique, kind))
        if len(self.function.registers) > MAX_REGISTERS:
            raise PtxError(f"more than {MAX_REGISTERS} registers")


@lru_cache(maxsize=1 << 13)  # most instructions of an edited source are those of the others
def _instruction(text: str) -> tuple[str, tuple[str, ...], tuple[str, bool] | None, bool] | None:
    """The opcode, operands and guard, and whether an operand is an element; None for other text."""
    match = _INSTRUCTION.match(text)
    if match is None:
        return None
    negated, guard, op, rest = match.groups()
    operands = tuple(operands_of(rest)) if rest else ()
    op = "".join(op.split())
    if not op.startswith("call"):
        op, operands = plain_operands(op, operands)
    if op.startswith(_CACHED) and ".L2::cache_hint" in op:  # a policy changes no result
        op, operands = op.replace(".L2::cache_hint", ""), operands[:-1]
    indexes = _INDEXED.search(text) is not None
    return op, operands, (guard, negated == "!") if guard else None, indexes


@lru_cache(maxsize=1 << 12)
def _location(text: str) -> Location:
    match = _LOC.match(text)
    if match is None:
        return Location()
    inlined = Location(int(match[5]), int(match[6]), int(match[7])) if match[5] else None
    return Location(int(match[1]), int(match[2]), int(match[3]), match[4] or "", inlined)
