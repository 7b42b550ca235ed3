"""From the core's raw reports to findings: what, where, and how to mend it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

from grader.compile.program import Parameter
from grader.launch import Array, Dim3, Finding, Launch
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Raw
from grader.simulator.decode.memory import GLOBAL, LOCAL, SHARED
from grader.simulator.decode.module import Image
from grader.simulator.diagnose.messages import (
    barriers,
    beside_the_block,
    memory,
    negative_elements,
    stops,
    undefined,
)
from grader.simulator.diagnose.races import Gap, ProgramOrder, hazards
from grader.simulator.diagnose.reports import (
    ACROSS_BLOCKS,
    IN_FLIGHT,
    OTHER_STORE,
    SAME_INSTRUCTION,
    SAME_VALUE,
    STORE,
    UNKNOWN_BUFFER,
    UNUSUAL,
    WITHIN_WARP,
    Report,
    Target,
)
from grader.simulator.diagnose.variables import LocalVariables, used_local, with_value
from grader.simulator.ptx.names import Shape, declared_shape, element_bytes, is_one, plain_name

SPACE_NAMES = {GLOBAL: "global", SHARED: "shared", LOCAL: "local"}


class Explainer:
    """Turns the raw reports of one launch into findings, with the student's own words."""

    def __init__(
        self, image: Image, launch: Launch, raw: Raw, source: str, file: str,
        parameters: tuple[Parameter, ...],
    ) -> None:  # fmt: skip
        self.image, self.launch, self.raw = image, launch, raw
        self.source, self.file, self.parameters = source, file, parameters
        self.lines = source.split("\n")
        self.order = ProgramOrder(image)
        self.line_of = _lines(image)
        self.crowded: frozenset[tuple[int, bool]] = frozenset()
        self.strayed: frozenset[tuple[int, str]] = frozenset()

    @cached_property
    def locals(self) -> LocalVariables:
        return LocalVariables(self.image.sections)

    @cached_property
    def signs(self) -> str:
        return negative_elements(self.parameters, self.launch)

    def findings(self) -> tuple[Finding, ...]:
        """Alike ones folded; errors first, then by line."""
        reports = wide([self.report(r) for r in self.raw.reports])
        self.crowded = self.writes_of_several(reports)
        self.strayed = frozenset((r.pc, r.target.name) for r in reports if r.kind == c.INVALID)
        found = [self.finding(r) for r in reports if not self.explained(r, reports)]
        return fold(found)

    def report(self, r: Any) -> Report:
        pc, pc2, flags = int(r["pc"]), int(r["pc2"]), int(r["flags"])
        return Report(
            int(r["kind"]),
            flags,
            pc,
            pc2,
            self.line(pc),
            self.line(pc2),
            int(r["count"]),
            int(r["size"]),
            int(r["extra"]),
            int(r["address"]),
            self.target(r),
            _unravel(int(r["block"]), self.launch.grid),
            _unravel(int(r["thread"]), self.launch.block),
            _unravel(int(r["block2"]), self.launch.grid),
            _unravel(int(r["thread2"]), self.launch.block),
        )

    def line(self, pc: int) -> int:
        return self.line_of[pc] if pc < len(self.line_of) else 0

    def text(self, line: int) -> str:
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def target(self, r: Any) -> Target:
        space, offset = int(r["space"]), int(r["address"])
        if int(r["kind"]) == c.ASSERTION:
            return self.condition(int(r["buffer"]), offset)
        if int(r["kind"]) == c.UNDEFINED:
            stored = self.stored(int(r["extra"]) - 1, offset) if int(r["extra"]) else None
            return stored or self.register(int(r["pc"]), int(r["buffer"]))
        if offset >= 1 << 63:
            offset -= 1 << 64
        if space == SHARED:
            return self.shared(offset)
        if (
            space == GLOBAL
            and not int(r["flags"]) & UNKNOWN_BUFFER
            and int(r["buffer"]) < len(self.raw.buffers)
        ):
            return self.buffer(int(r["buffer"]), offset)
        if space == GLOBAL and not int(r["flags"]) & UNKNOWN_BUFFER:
            return _allocation(offset, int(r["extra"]))
        return Target(SPACE_NAMES.get(space, ""), "", "", "", offset, 0)

    def condition(self, number: int, offset: int) -> Target:
        """The text of a failed assertion's condition, which the compiler put into a variable."""
        held = self.raw.buffers[number].data if number < len(self.raw.buffers) else b""
        text = bytes(held[offset : offset + 200]).split(b"\0")[0].decode(errors="replace")
        return Target("global", "", text, "", offset, 0)

    def register(self, pc: int, number: int) -> Target:
        """The local variable in a register, as far as the source tells; its extent is what would
        declare it with a value.
        """
        held = used_local(self.source, self.line(pc), (self.image.suspects or [])[number])
        name, cure = (held.name, held.declaration) if held else ("", "")
        return Target("local", name, name, cure, 0, 0)

    def stored(self, function: int, offset: int) -> Target | None:
        """The local variable that lies at a byte of a function's stack frame, if the debug sections
        name it; its extent as in `register`.
        """
        for depot, start in self.image.functions[function].depots.items():
            if (held := self.locals.at(depot, offset - start)) is not None:
                element = self.locals.element(held, offset - start)
                cure = with_value(held.name, held.kind, held.extent, self.text(held.line))
                return Target("local", held.name, element, cure, offset, held.bytes)
        return None

    def shared(self, offset: int) -> Target:
        held = self.raw.shared.at(offset)
        if held is None:
            return Target("shared", "", "", "", offset, 0)
        name, at, dynamic = plain_name(held.name), offset - held.offset, held.dynamic
        if is_one(self.source, name):
            return Target("shared", name, name, f"{held.bytes} bytes", at, held.bytes)
        shape = declared_shape(self.source, name, held.bytes)
        item = element_bytes(self.source, name) or 4
        shape = shape or Shape((max(held.bytes // item, 1),), item)
        size = f"{' x '.join(map(str, shape.dims))} elements of {shape.element} bytes"
        size += ", all that this launch gives" if dynamic else ""
        remark = "" if dynamic else beside_the_block(name, shape.dims, self.launch.block)
        element = name + shape.index(at)
        return Target("shared", name, element, size, at, held.bytes, remark, dynamic)

    def buffer(self, number: int, offset: int) -> Target:
        buffer = self.raw.buffers[number]
        if buffer.argument is None:
            name = plain_name(buffer.name)
            return Target(
                "global", name, name, f"{buffer.data.nbytes} bytes", offset, buffer.data.nbytes
            )
        array = self.launch.args[buffer.argument]
        assert isinstance(array, Array)
        own = self.parameters[buffer.argument : buffer.argument + 1]
        name = own[0].name if own else array.name
        item = buffer.data.nbytes // max(1, _count(array.shape)) or 1
        return Target(
            "global",
            name,
            f"{name}[{offset // item}]",
            f"{' x '.join(map(str, array.shape))} {array.dtype}",
            offset,
            buffer.data.nbytes,
        )

    def explained(self, r: Report, all_reports: list[Report]) -> bool:
        """A read of nothing that a race on the same variable and line accounts for."""
        if r.kind != c.UNINIT:
            return False
        return any(
            o.kind == c.RACE
            and o.target.name == r.target.name
            and o.target.space == r.target.space
            and r.line in (o.line, o.line2)
            and not o.has(SAME_VALUE)
            for o in all_reports
        )

    def finding(self, r: Report) -> Finding:
        if r.kind == c.RACE:
            r, hazard = self.race(r)
            strays = not self.strayed.isdisjoint({(r.pc, r.target.name), (r.pc2, r.target.name)})
            found = hazards(r, hazard, self.gap(r), strays=strays)
        elif r.kind in (c.INVALID, c.UNINIT, c.STACK):
            found = memory(r, looped=self.order.repeats(r.pc), signs=self.signs)
        elif r.kind == c.UNDEFINED:
            found = undefined(r)
        elif r.kind in (c.DIVERGENCE, c.DEADLOCK, c.EARLY_EXIT, c.WARP_MASK, c.WARP_STUCK):
            found = barriers(r)
        else:
            found = stops(r)
        other = found.other and replace(found.other, text=self.text(found.other.line))
        return replace(
            found,
            file=self.file,
            line=r.line,
            text=self.text(r.line),
            count=r.count,
            block=r.block,
            thread=r.thread,
            other=other,
        )

    def writes_of_several(self, reports: list[Report]) -> frozenset[tuple[int, bool]]:
        """The stores with which several threads hit one element in one round, so that no barrier
        can order them; and for each whether they store the same value.
        """
        return frozenset(
            (r.pc, bool(r.has(SAME_VALUE)))
            for r in reports
            if r.kind == c.RACE and r.has(STORE) and r.has(OTHER_STORE) and r.pc == r.pc2
            if not r.has(ACROSS_BLOCKS)
            if r.has(SAME_INSTRUCTION) or not self.order.follows(r.pc, r.pc)
        )

    def gap(self, r: Report) -> Gap | None:
        """Where a barrier belongs; None where none can help."""
        write = r.pc if r.has(STORE) else r.pc2
        if (write, False) in self.crowded or (r.line == r.line2 and (write, True) in self.crowded):
            return None
        named = self.order.named
        if not (r.has(STORE) and r.has(OTHER_STORE)) or self.order.follows(r.pc2, r.pc):
            return Gap(r.line2, r.line, r.pc <= r.pc2, named)
        if self.order.follows(r.pc, r.pc2):
            return Gap(r.line, r.line2, r.pc2 <= r.pc, named)
        return None

    def race(self, r: Report) -> tuple[Report, str]:
        """The report with the access that the program meant to come first as its partner."""
        if r.has(STORE) and r.has(OTHER_STORE):
            return r, "WAW"
        write, read = (r.pc, r.pc2) if r.has(STORE) else (r.pc2, r.pc)
        hazard = "RAW"  # of a copy that is not waited for
        if not r.has(IN_FLIGHT):
            hazard = self.order.hazard(write, read, warp=bool(r.has(WITHIN_WARP)))
        return (r if r.has(STORE) == (hazard == "WAR") else r.swapped()), hazard


def wide(reports: list[Report]) -> list[Report]:
    """Where warps race with each other, the lanes of one warp need the same barrier: their
    reports are not told apart.
    """
    if not any(r.kind == c.RACE and not r.has(UNUSUAL) for r in reports):
        return reports
    return [replace(r, flags=r.flags & ~WITHIN_WARP) if r.kind == c.RACE else r for r in reports]


def _allocation(offset: int, size: int) -> Target:
    """Memory that device malloc gave; `size` is 0 where the report does not say it."""
    extent = f"{size} bytes" if size else "an allocation"
    return Target("global", "memory from malloc", "memory from malloc", extent, offset, size)


def _lines(image: Image) -> list[int]:
    """The source line of each program counter; where the compiler gives none, the last one."""
    out, last, owner = [], 0, -1
    for location, number in zip(image.locations, image.owner, strict=True):
        last = 0 if number != owner else last
        owner = number
        at = location
        while at.file != 1 and at.inlined is not None:
            at = at.inlined
        last = at.line or last
        out.append(last)
    return out


def _unravel(number: int, dims: Dim3) -> Dim3:
    return number % dims[0], number // dims[0] % dims[1], number // dims[0] // dims[1]


def _count(shape: tuple[int, ...]) -> int:
    out = 1
    for n in shape:
        out *= n
    return out


def fold(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each kind, place, partner and variable, with the sum of the counts."""
    kept: dict[object, Finding] = {}
    for f in found:
        partner = (f.other.line, f.other.access) if f.other else None
        key = (f.kind, f.severity, f.line, partner, f.variable, f.hazard, f.access, f.space)
        old = kept.get(key)
        kept[key] = f if old is None else replace(old, count=old.count + f.count)
    rank = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(kept.values(), key=lambda f: (rank[f.severity], f.line)))
