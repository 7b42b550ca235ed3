"""Relate the instructions of PTX to lines of the student's source.

Lines are those of the student's file, even where a function of a header executes: in debug PTX
`atomicAdd`, `__syncwarp` and the like are functions with lines in headers. Each call of one gets a
copy whose instructions have the location of the call, so that its findings are there.

An atomic of libcu++ on 8 or 16 bits is code that swaps the word around the object. The opcodes
`and.byte.b64`, `and.half.b64` and `and.stored.b64` stand for the AND that computes the word's
address, so that the core knows the object: core/machine/instructions/part.c.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from os.path import basename

from grader import regex, replace
from grader.simulator.ptx.call_copies import with_a_copy_for_each_call
from grader.simulator.ptx.debug_info import CallSite, call_sites
from grader.simulator.ptx.model import Function, Instruction, Location, Module, function_name

_INTRINSICS = regex(r"cuda_(?:fp|bf)\d|__nv_nvrtc|sm_\d|(?:device|math|vector)_functions")
"""Headers whose functions stand for instructions; they are not code of a library."""

_PART = regex(
    r"__cuda_atomic_(?:fetch_update|compare_exchange|load(?!I[st]))I"
    r"(?:(?P<byte>[abch])|[st])(?P<store>ZN(?:\w{0,60}\D)?19__cuda_atomic_store)?"
)
"""The functions of libcu++ that access an object of 8 or 16 bits by the word around it, in their
symbols, with the code of the object's type. A store is an update with a lambda of its own."""
_WORD_OPERATION = regex(r"and\.b64$|(ld|atom\.cas)\.(relaxed|acq|release)[\w.]+\.b32$")
_ALIGNED = ("-4", "-2")
_STRING = regex(r"^(\S+):((?:\s*\.b8 [\d,]+\s*$)+)", re.MULTILINE)

MAX_CALL_DEPTH = 50
MAX_COPIES = 2048
OWN = 1
"""The file number of the student's file in resolved locations."""

_NOWHERE = Location()


def with_source_lines(module: Module, kernel: str, *, apart: bool = False) -> dict[str, Function]:
    """The functions of a module; those that a kernel may call have locations in the student's file.

    An instruction that no line of it leads to has an empty location. The module stays as it is.

    Args:
        module: the module.
        kernel: the symbol of the kernel.
        apart: whether each call of a function has a copy of it.
    """
    functions = _with_source_lines(module, kernel)
    return with_a_copy_for_each_call(functions, kernel) if apart else functions


def _with_source_lines(module: Module, kernel: str) -> dict[str, Function]:
    reached, own = _reached(module, kernel), _file_of(module.functions[kernel])
    if not own:
        return {**module.functions, **{name: _copy(f) for name, f in reached.items()}}
    names = {n: basename(name) for n, name in module.files.items()}
    intrinsics = {n for n, name in names.items() if _INTRINSICS.match(name)}
    checked = frozenset({own, 0} | intrinsics)
    sites: Sequence[CallSite] = ()
    if any(_has_unknown_site(f, own) for f in reached.values()):
        sites = [site for site in call_sites(module.sections) if site.file == own]
    strings = module.sections.get(".debug_str", "")
    moved = _Relocation(reached, own, checked, names, sites, strings).functions
    return moved | {name: f for name, f in module.functions.items() if name not in moved}


def _reached(module: Module, kernel: str) -> dict[str, Function]:
    """The functions that a kernel may call, those that it names first: copies are limited.

    A library's file has hundreds of others. The names of functions in variables, such as tables of
    virtual functions, may be called too.
    """
    functions, order = module.functions, {kernel: module.functions[kernel]}
    work = [kernel]
    in_variables = [name for v in module.variables for _, name, _ in v.relocations]
    while work:
        named = [o for i in functions[work.pop()].body for o in i.operands]
        named += () if work else in_variables
        new = {name: functions[name] for name in named if name in functions and name not in order}
        order |= new
        work += new
    return order


def _copy(f: Function) -> Function:
    return replace(f, body=[replace(i) for i in f.body])


def _has_unknown_site(f: Function, own: int) -> bool:
    """Whether a function has code of another file, and no call of it, among the student's own."""
    lines = {bool(resolved(i.location, own).line) for i in f.body}
    return lines == {True, False}


class _Relocation:
    """Moves the locations of functions into the student's file.

    Args:
        functions: the functions that a kernel may call.
        own: the number of the student's file.
        checked: the numbers of the files whose code is not a library's.
        headers: the names of the files by number.
        sites: the calls in the student's file that code was inlined for.
        strings: the debug section with the symbols of inlined functions.
    """

    def __init__(
        self,
        functions: dict[str, Function],
        own: int,
        checked: frozenset[int],
        headers: Mapping[int, str],
        sites: Sequence[CallSite],
        strings: str,
    ) -> None:
        self.own, self.checked, self.sites, self.strings = own, checked, sites, strings
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
            at: the location of all its instructions; None for their own ones.
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
            op = self.operation(f, i) if _WORD_OPERATION.match(i.op) else i.op
            made = Instruction(op, operands, i.guard, location, library, through, i.used, i.stops)
            body.append(made)
        return replace(f, body=body)

    def operation(self, f: Function, i: Instruction) -> str:
        """The opcode of an instruction that may be one of an access to a part of a word.

        The optimizer moves the AND out of loops, and uses it for several accesses.
        """
        head, _, rest = i.op.partition(".")
        if head != "and":
            stores = i.location.inlined is not None and self.part(f, i) == "stored"
            return f"{head}.stored.{rest}" if stores else i.op
        if i.operands[-1] not in _ALIGNED:
            return i.op
        name = re.compile(rf"{re.escape(i.operands[0])}\b")
        users = (x for x in f.body if x is not i and any(map(name.search, x.operands)))
        kinds = {self.part(f, x) for x in users}
        kinds = {"byte"} if kinds == {"byte", "stored"} else kinds
        kind = kinds.pop() if len(kinds) == 1 else ""
        return f"and.{kind}.{rest}" if kind else i.op

    def part(self, f: Function, i: Instruction) -> str:
        """What code of libcu++ accesses, byte, half or stored (a byte); empty for other code.

        What acquires is no store: of an unrolled loop's copies, a location names one call alone.
        """
        symbols, at = [f.name], i.location
        while at.inlined is not None:
            symbols.append(self.symbols.get(at.function, at.function))
            at = at.inlined
        found = next(filter(None, map(_PART.search, symbols)), None)
        if found is None:
            return ""
        stores = found["store"] and not {"acquire", "acq_rel"} & set(i.op.split("."))
        return "stored" if stores else "byte" if found["byte"] else "half"

    @cached_property
    def symbols(self) -> dict[str, str]:
        """The symbols of inlined functions by their labels."""
        return {
            label: bytes(map(int, re.findall(r"\d+", text.replace(".b8", ""))[:-1])).decode()
            for label, text in _STRING.findall(self.strings)
        }

    def own_lines(self, f: Function) -> list[Location]:
        """The location of each instruction in the student's file.

        The debug sections name the calls that code of `-G` PTX was inlined for. Where they do not,
        it is at the line before it, where the arguments are, or at the line behind it, where a
        branch leaves the inlined code.
        """
        own = [resolved(i.location, self.own) for i in f.body]
        for site in reversed(self.sites):  # the innermost call first
            for k in range(f.labels.get(site.start, 0), f.labels.get(site.end, 0)):
                own[k] = own[k] if own[k].line else Location(OWN, site.line)
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
    """The location in the student's file that code was inlined at; empty if there is none.

    Where that is in a function of the student's that was inlined too, it has the location of that
    call.
    """
    at: Location | None = location
    while at is not None and at.file != own:
        at = at.inlined
    if at is None or not at.line:
        return _NOWHERE
    call = resolved(at.inlined, own) if at.inlined is not None else _NOWHERE
    return Location(OWN, at.line, at.column, at.function, call if call.line else None)


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
