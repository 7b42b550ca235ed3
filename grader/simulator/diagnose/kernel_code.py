"""What the findings of all launches of one decoded kernel read from its code and its source.

Also hints that depend on the launch: tiles of another size than the block, signed parameters.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from grader import regex
from grader.compile.program import Parameter
from grader.launch import Array, Dim3, Launch
from grader.simulator.core import bindings as c
from grader.simulator.decode.module import Image
from grader.simulator.decode.stack import local_variables
from grader.simulator.diagnose.aborts import Writers, only_looks
from grader.simulator.diagnose.confirmation import Confirmation
from grader.simulator.diagnose.places import Branches
from grader.simulator.diagnose.races import (
    ATOMIC,
    INNER_ARRAY,
    KNOWN_OUTSIDE,
    ProgramOrder,
    Report,
    Target,
    extent_of,
)
from grader.simulator.diagnose.subscripts import indexed_variable, with_known_subscripts
from grader.simulator.diagnose.variables import (
    TYPE_SIZES,
    Shape,
    SourceVariables,
)
from grader.simulator.ptx.debug_info import PADDING, LocalVariable, LocalVariables
from grader.simulator.ptx.model import function_name, plain_name, root_lines

if TYPE_CHECKING:
    from grader.compile.syntax import Node, Tree
    from grader.simulator.diagnose.calls import Calls
    from grader.simulator.diagnose.consequences import Flow
    from grader.simulator.diagnose.two_steps import TwoSteps

RECENT = 4
"""Images and sources that are remembered: two variants of the kernels of a lab that has two."""


_TYPES = regex(r"(?:\w+\s*::\s*)*([A-Za-z_]\w*)")
"""The last word of each name in a type."""
_PLAIN = regex(
    r"const|unsigned|signed|struct|class|enum|\w*half2?|__nv_bfloat16\d?|"
    r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]"
)
_CLASSES = ("struct_specifier", "class_specifier", "union_specifier")


class Classes:
    """The classes of a source: whether `= {}` gives all members of a variable a value."""

    def __init__(self, tree: Tree) -> None:
        named = [(node.part("name"), node) for node in tree.walk(*_CLASSES) if node.part("body")]
        self.bodies = {name.text: node.field("body") for name, node in named if name is not None}
        kinds = ("enum_specifier", "type_parameter_declaration")
        words = (name for node in tree.walk(*kinds) for name in node.walk("type_identifier"))
        self.plain = {name.text for name in words}
        self.aliases = {
            name.text: kind.text
            for node in tree.walk("type_definition", "alias_declaration")
            if (kind := node.part("type")) is not None
            for name in node.walk("type_identifier")
            if not kind.start <= name.start < kind.end
        }

    def constructor_of(self, kind: str) -> str | None:
        """The class of a type, if it has a constructor, which then runs for `= {}` too.

        Returns:
            The class; empty if `= {}` gives every member a value; None if that is not known.
        """
        name = next((match[1] for match in _TYPES.finditer(kind)), "")
        if name in self.bodies and self._constructs(name):
            return name
        if "{" in kind:
            return None if "(" in kind else ""
        return "" if self._zeroed(kind, set()) else None

    def _constructs(self, name: str) -> bool:
        """Whether a class has a constructor that its text defines."""
        own = re.compile(rf"(?<![~\w]){re.escape(name)}\s*\(")
        heads = [member.text.partition("{")[0] for member in self.bodies[name].named]
        return any(own.search(head) and "default" not in head for head in heads)

    def _zeroed(self, kind: str, visited: set[str]) -> bool:
        """Whether `= {}` gives every part of a type a value."""
        for name in _TYPES.findall(kind):
            if (
                name in visited
                or name in TYPE_SIZES
                or name in self.plain
                or _PLAIN.fullmatch(name)
            ):
                continue
            visited.add(name)
            if name in self.aliases:
                if not self._zeroed(self.aliases[name], visited):
                    return False
                continue
            body = self.bodies.get(name)
            if body is None or self._constructs(name):
                return False
            parts: list[Node | None] = [m.part("type") for m in body.walk("field_declaration")]
            whole = body.parent.children if body.parent else ()
            parts += [base for c in whole if c.kind == "base_class_clause" for base in c.named]
            if not all(self._zeroed(p.text, visited) for p in parts if p is not None):
                return False
        return True


class KernelCode:
    """One image and the source that it was compiled from; each part is read when it is needed."""

    def __init__(self, image: Image, source: str) -> None:
        self.image, self.source = image, source
        self.line_of = source_lines(image)
        self._indexed: dict[int, str] = {}

    @cached_property
    def order(self) -> ProgramOrder:
        """The reachability between the instructions."""
        return ProgramOrder(self.image)

    @cached_property
    def confirmation(self) -> Confirmation:
        """Which loads have a value that the program may discard."""
        return Confirmation(self.image)

    @cached_property
    def flow(self) -> Flow:
        """Where values go."""
        from grader.simulator.diagnose.consequences import Flow

        return Flow(self.confirmation)

    @cached_property
    def calls(self) -> Calls:
        """The calls that lead to the instructions."""
        from grader.simulator.diagnose.calls import Calls

        return Calls(self.flow, self.line_of)

    @cached_property
    def two_steps(self) -> TwoSteps:
        """The updates in two steps."""
        from grader.simulator.diagnose.two_steps import TwoSteps

        return TwoSteps(self.flow, self.lines, self.variables.tree)

    @cached_property
    def locals(self) -> LocalVariables:
        """The local variables that the module's debug sections describe."""
        return local_variables(self.image.module.sections)

    @cached_property
    def classes(self) -> Classes:
        """The classes that the source defines."""
        return Classes(self.variables.tree)

    @cached_property
    def branches(self) -> Branches:
        """The branches of the source that only some threads enter."""
        return Branches(self.variables.tree)

    def returned_member(self, line: int) -> Target | None:
        """The member of a temporary object, where a line reads one of what a function returns."""
        tree = self.variables.tree
        fields = [x for x in tree.walk("field_expression") if x.line == line]
        calls = [(x, x.part("argument")) for x in fields]
        found = [
            (of.field("function").text, x.field("field").text)
            for x, of in calls
            if of is not None and of.kind == "call_expression"
        ]
        known = len(found) == 1 and self.defines(found[0][0])
        return Target("member", *found[0], "", 0, 0) if known else None

    def defines(self, name: str) -> bool:
        """Whether the source defines a function of this name."""
        from grader.compile.functions import function_line

        return bool(function_line(self.variables.tree, name))

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the source."""
        return self.source.split("\n")

    @property
    def variables(self) -> SourceVariables:
        """The variables that the source declares."""
        return _source_variables(self.source)

    def indexed(self, pc: int, names: Collection[str]) -> str:
        """The only one of the shared variables that an instruction's address is computed from.

        Args:
            pc: the instruction.
            names: the symbols of the shared variables, which are those of every launch.
        """
        if pc not in self._indexed:
            self._indexed[pc] = indexed_variable(self.image, self.flow.calls_of, pc, names)
        return self._indexed[pc]

    def local_at(self, function: int, offset: int) -> tuple[LocalVariable, int] | None:
        """The variable at a byte of a function's frame, and the byte's place in its own frame."""
        for frame, start in self.image.functions[function].local_offsets.items():
            if (v := self.locals.at(frame, offset - start)) is not None:
                return v, offset - start
        return None

    @cached_property
    def words(self) -> frozenset[str]:
        """The names in the source."""
        return frozenset(re.findall(r"[A-Za-z_]\w*", "\n".join(self.lines)))

    def member_of(self, symbol: str, size: int, at: int) -> str:
        """The member at a byte of a variable in its own place; empty if it is not the source's."""
        v = self.locals.static(symbol, size)
        path = self.locals.element(v, at) if v is not None and 0 <= at < v.bytes else ""
        members = [part.split("[")[0] for part in path.split(".")[1:]]
        own = members and self.words.issuperset(members)
        return path if own and not path.startswith(PADDING) else ""

    def pointed_element(self, parameter: int, size: int, at: int) -> str:
        """The member at a byte of what the kernel's parameter points to; empty if there is none."""
        symbol = self.image.functions[0].name.partition("@")[0]
        path = self.locals.pointed_element(symbol, parameter, size, at)
        return path if path and self.words.issuperset(re.findall(r"[A-Za-z_]\w*", path)) else ""

    def static_element(self, symbol: str, size: int, at: int) -> tuple[str, str]:
        """The element at a byte of a variable of the module, or outside it, and its extent."""
        extent, v = f"{size} bytes", self.locals.static(symbol, size)
        if member := self.member_of(symbol, size, at):
            return member, extent
        if v is None or not v.extent:
            return "", extent
        shape = _shape(v)
        return v.name + shape.index(at), extent_of(shape.dims, shape.element)

    def shared_shape(self, symbol: str, size: int) -> Shape | None:
        """The shape of a shared array, None of a scalar; the source's where no type is known.

        Kernels may declare variables of one name with different shapes: symbols tell these apart.
        """
        if (v := self.locals.static(symbol, size)) is not None:
            return _shape(v) if v.extent else None
        of_kernel = self.image.functions[0].name
        own = plain_name(symbol), function_name(symbol if symbol[:3] == "_ZZ" else of_kernel)
        if self.variables.is_scalar(*own):
            return None
        item = self.variables.element_bytes(*own) or 4
        shape = self.variables.shape(own[0], size, own[1])
        return shape or Shape((max(size // item, 1),), item)

    def local_array(self, function: int, start: int, offset: int) -> Target:
        """The local variable at `start` of a function's frame, with an element outside it."""
        found = self.local_at(function, start)
        if found is None:
            return Target("local", "", "", "", offset, 0)
        v, _ = found
        dims = tuple(map(int, re.findall(r"\d+", v.extent))) or (1,)
        shape = Shape(dims, max(v.bytes // prod(dims), 1))
        element = v.name + (shape.index(offset - start) if v.extent else "")
        extent = extent_of(shape.dims, shape.element)
        extent = extent if v.extent else f"{v.bytes} byte{'s' * (v.bytes > 1)}"
        return Target("local", v.name, element, extent, offset - start, v.bytes)

    def inner_array(self, function: int, number: int, offset: int) -> Target:
        """An array in a local variable of a function, with an element outside it."""
        array = list(self.image.functions[function].numbered.arrays)[number]
        names, size = re.findall(r"[A-Za-z_]\w*", array.path), array.elements * array.stride
        root, last = names[0], f"`{names[-1]}`" if len(names) > 1 else "a row"
        extent = extent_of((array.elements,), array.stride)
        hint = f"That is another part of `{root}`. Compare the index with the size of {last}."
        element = f"{array.path}[{offset // array.stride}]"
        return Target(array.space, array.path, element, extent, offset, size, hint)

    def writers(self, r: Report, parameters: Sequence[Parameter]) -> Writers | None:
        """What writes the variable of a report other than what waits; None if not known."""
        names = [p.name for p in parameters]
        number = names.index(r.target.name) if r.target.name in names else None
        found = self.flow.writes_to(r.target.name, number)
        calls, owner = self.flow.calls_of, self.image.owner
        if found is None or any(
            self.image.instructions[pc].via or len(calls[owner[pc]]) > 1 for pc in found
        ):  # a call may be for another variable
            return None
        own = {pc for pc in found if "param" not in self.image.ops[pc].split(".")} or found
        ops, line_of = self.image.ops, self.line_of
        other = {pc for pc in own if line_of[pc] != r.line or ops[pc] != ops[r.pc]}
        other = {pc for pc in other if not only_looks(ops[pc], self.lines[line_of[pc] - 1])}
        lines = sorted({line_of[pc] for pc in other})
        swaps = all(ops[pc].startswith("atom") for pc in other)
        return Writers(lines, self.calls.has_after(r.pc2, own), swaps)

    def without_doubles(self, reports: Sequence[Report]) -> list[Report]:
        """Leave out reports of members and rows by accesses that leave the whole variable."""
        if any(r.has(KNOWN_OUTSIDE) for r in reports):
            reports = with_known_subscripts(reports, self.image, self.variables)
        outside = [r for r in reports if r.kind == c.INVALID and not r.has(INNER_ARRAY)]
        beyond, lines = {r.pc for r in outside}, {r.line for r in outside}

        def stays(r: Report) -> bool:
            return r.pc not in beyond and not (r.has(ATOMIC) and r.line in lines)

        return [r for r in reports if not r.has(INNER_ARRAY) or r.has(KNOWN_OUTSIDE) or stays(r)]


def _shape(v: LocalVariable) -> Shape:
    """The shape of an array whose type is known."""
    dims = tuple(map(int, v.extent[1:-1].split("][")))
    return Shape(dims, max(v.bytes // prod(dims), 1))


@lru_cache(maxsize=RECENT)
def kernel_code(image: Image, source: str) -> KernelCode:
    """The code of an image, which the launches of a kernel share."""
    return KernelCode(image, source)


@lru_cache(maxsize=1)
def _source_variables(source: str) -> SourceVariables:
    """The variables of a source, which both variants share."""
    return SourceVariables(source)


def source_lines(image: Image) -> list[int]:
    """The source line of each program counter; where the compiler gives none, the line before."""
    places = zip(image.owner, image.locations, strict=True)
    functions = groupby(places, itemgetter(0))
    return [line for _, own in functions for line in root_lines(at for _, at in own)]


_UNSIGNED = {"uint8": "unsigned char", "uint16": "unsigned short"}
_SIGNED = {"uint8": frozenset({"char", "int8_t"}), "uint16": frozenset({"short", "int16_t"})}
"""The words of signed C types that have the size of an unsigned dtype."""


def tile_size_hint(name: str, dims: tuple[int, ...], block: Dim3) -> str:
    """The fix for a shared array whose size does not match the block.

    Args:
        name: the array's name.
        dims: its extents in elements, slowest first.
        block: the block's extents in threads, x first.

    Returns a text for an array that is smaller than the block in every dimension, or larger by the
    same integer factor in every dimension. Otherwise empty: an array or block of one dimension, or
    a tile with a halo or padding, says nothing about a mistake.
    """
    threads = tuple(reversed(block))[-len(dims) :]
    if len(dims) not in (2, 3) or min(threads) < 2:
        return ""
    smaller = all(d < t for d, t in zip(dims, threads, strict=True))
    factors = {d / t for d, t in zip(dims, threads, strict=True)}
    larger = len(factors) == 1 and all(k > 1 and k == int(k) for k in factors)
    if not smaller and not larger:
        return ""
    sizes = f"`{name}` has {_by(dims)} elements, but the block has {_by(threads)} threads."
    alternative = "" if smaller else ", or let each thread fill several elements"
    return f"{sizes} Give the tile the size of the block{alternative}."


def signed_parameter_hint(parameters: Iterable[Parameter], launch: Launch) -> str:
    """The fix for a parameter whose signed type reads elements of this launch as negative numbers.

    Returns an empty text when there is no such parameter.
    """
    for parameter, array in zip(parameters, launch.args, strict=False):
        if not isinstance(array, Array) or array.data is None or array.dtype not in _UNSIGNED:
            continue
        words = set(re.findall(r"\w+", parameter.type))
        half = int(np.iinfo(array.dtype).max) // 2 + 1
        if words & _SIGNED[array.dtype] and "unsigned" not in words and np.any(array.data >= half):
            return (
                f"`{parameter.name}` has the signed type `{parameter.type}` but holds "
                f"{array.dtype} values: elements of {half} and above are read as negative numbers. "
                f"Declare it with `{_UNSIGNED[array.dtype]}`."
            )
    return ""


def _by(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))
