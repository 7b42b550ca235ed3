"""Turn the raw reports of one launch into findings: what is wrong, where, and how to fix it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from math import prod
from typing import Any

from grader import replace
from grader.compile.program import Parameter
from grader.launch import Array, Finding, Launch, Severity
from grader.simulator.core import bindings as c
from grader.simulator.core.memory import RESERVED
from grader.simulator.core.run import Raw
from grader.simulator.decode.memory import GLOBAL, LOCAL, SHARED
from grader.simulator.decode.module import Image
from grader.simulator.diagnose.aborts import Arrivals, abort_finding, awaits_value
from grader.simulator.diagnose.barriers import (
    BARRIER_KINDS,
    barrier_finding,
    is_legal_ptx,
    syncs_grid,
    with_barriers_first,
)
from grader.simulator.diagnose.confirmation import (
    LAMBDA,
    explained,
    returned_by,
    without_library_elements,
    without_library_races,
    without_strays,
    without_warp_level,
)
from grader.simulator.diagnose.copies import (
    arrival_hint,
    is_overwriting,
    overwriting_hint,
    tracking_barrier,
    wait_hint,
    without_doubles,
    without_library_copies,
    without_proxy_fence,
)
from grader.simulator.diagnose.kernel_code import kernel_code, signed_parameter_hint, tile_size_hint
from grader.simulator.diagnose.library_calls import (
    LIBRARY_FINDINGS,
    in_library,
    with_library_hint,
)
from grader.simulator.diagnose.mbarriers import (
    has_small_count,
    mbarrier_finding,
    with_first_hints,
    without_idle_counts,
)
from grader.simulator.diagnose.merging import fold
from grader.simulator.diagnose.messages import (
    lost_update_finding,
    memory_finding,
    old_value_finding,
    undefined_finding,
)
from grader.simulator.diagnose.race_messages import (
    Missing,
    Pair,
    by_scope,
    order_hint,
    race_finding,
)
from grader.simulator.diagnose.race_places import RacePlaces, Trials
from grader.simulator.diagnose.races import (
    ACROSS_BLOCKS,
    IMAGE_OBJECT,
    IN_FLIGHT,
    INNER_ARRAY,
    NO_PROXY_FENCE,
    OTHER_STORE,
    UNKNOWN_BUFFER,
    Report,
    Target,
    allocation,
    extent_of,
    hazard_in_time,
    index_of,
)
from grader.simulator.diagnose.textures import object_finding, object_target, texel_index
from grader.simulator.diagnose.variables import initialized_declaration
from grader.simulator.ptx.model import plain_name
from grader.simulator.ptx.source_map import is_copy

_FINDINGS: dict[int, Callable[[Report], Finding]] = {
    c.LOST_UPDATE: lost_update_finding, c.OLD_VALUE: old_value_finding,
    c.UNDEFINED: undefined_finding, c.MBARRIER: mbarrier_finding, **LIBRARY_FINDINGS,
}  # fmt: skip
SPACE_NAMES = {GLOBAL: "global", SHARED: "shared", LOCAL: "local"}


class Explainer:
    """Explains the raw reports of one launch in the names and lines of the source."""

    def __init__(
        self, image: Image, launch: Launch, raw: Raw, source: str, file: str,
        parameters: tuple[Parameter, ...],
    ) -> None:  # fmt: skip
        self.image, self.launch, self.raw = image, launch, raw
        self.source, self.file, self.parameters = source, file, parameters
        self.code = kernel_code(image, source)
        self.races, self.calls_unknown = RacePlaces(self.code), False
        self.reports: list[Report] = []
        self.out_of_bounds: frozenset[tuple[int, str]] = frozenset()
        self.missing: Mapping[Pair, Missing] = {}
        self.trials: Trials | None = None
        self.cause, self.came = "", dict[int, Arrivals]()

    @cached_property
    def sign_hint(self) -> str:
        """What may make an index of this launch negative; empty if nothing is known."""
        return signed_parameter_hint(self.parameters, self.launch)

    def findings(self, doubts: Callable[[Report], bool] | None = None) -> tuple[Finding, ...]:
        """The findings, equal ones folded; errors first, then by line.

        Args:
            doubts: which reports to leave out.
        """
        reports = without_library_elements([self._report(r) for r in self.raw.reports])
        reports = [r for r in reports if doubts is None or not doubts(r)]
        reports = without_library_races(reports, self.image, self.raw.shared.offset(RESERVED))
        reports = [r for r in reports if not (r.kind == c.LOST_UPDATE and self._stores_for(r.pc))]
        reports = [r for r in reports if not is_legal_ptx(self.image, r)]
        reports = self.code.without_doubles(reports)
        reports = without_library_copies(reports, self._text)
        if any(r.kind in (c.DIVERGENCE, c.DEADLOCK, c.WARP_STUCK) for r in reports):
            # released from such a barrier, threads miss others too
            reports = [r for r in reports if r.kind != c.EARLY_EXIT]
        reports = without_warp_level(without_doubles(reports, self.code.order.follows))
        self.races = RacePlaces(self.code, reports, self.trials)
        self.missing = self.races.without_barriers(self.missing)
        self.out_of_bounds = frozenset(
            (r.pc, r.target.name) for r in reports if r.kind == c.INVALID
        )
        reports = without_idle_counts(without_strays(reports))
        self.reports = reports
        explain = partial(explained, self.code.confirmation, reports)
        reports = [r for r in map(explain, reports) if r is not None]
        found = self._ordered(reports, list(map(self._finding, reports)))
        if self.trials:
            found = with_barriers_first(reports, found, self.trials, self.code)
        self.calls_unknown = any(map(self._lacks_calls, reports, found))
        return fold(with_first_hints(found, self.cause))

    def _lacks_calls(self, r: Report, finding: Finding) -> bool:
        """Whether several calls lead to a place of an error."""
        places = [r.pc, r.pc2] if finding.other and finding.other.line == r.line2 else [r.pc]
        return finding.severity == "error" and not all(map(self.code.calls.is_known, places))

    def _ordered(self, reports: list[Report], findings: list[Finding]) -> list[Finding]:
        """The findings of some reports, each with the number of those that it follows from."""
        if len(findings) < 2 or all(f.severity != "error" for f in findings):
            return findings
        from grader.simulator.diagnose.consequences import Consequences

        every = Consequences(self.code.flow, self.code.order)
        causes = every.causes(reports, self._text)
        certain = every.certain(reports, causes)
        scoped = by_scope(reports, self.missing)
        return [
            replace(
                f, follows=len(found) + scoped[k], severity="error" if k in certain else f.severity
            )
            for k, (f, found) in enumerate(zip(findings, causes, strict=True))
        ]

    def _report(self, r: Any) -> Report:
        pc, pc2, flags = int(r["pc"]), int(r["pc2"]), int(r["flags"])
        return Report(
            int(r["kind"]),
            flags,
            pc,
            pc2,
            self._line(pc),
            self._line(pc2),
            int(r["count"]),
            int(r["size"]),
            int(r["extra"]),
            int(r["address"]),
            self._target(r),
            index_of(int(r["block"]), self.launch.grid),
            index_of(int(r["thread"]), self.launch.block),
            index_of(int(r["block2"]), self.launch.grid),
            index_of(int(r["thread2"]), self.launch.block),
        )

    def _line(self, pc: int) -> int:
        return next(iter(self.code.line_of[pc : pc + 1]), 0)

    def _op(self, pc: int) -> str:
        return self.image.ops[pc] if pc < len(self.image.ops) else ""

    def _text(self, line: int) -> str:
        lines = self.code.lines
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def _target(self, r: Any) -> Target:
        space, offset = int(r["space"]), int(r["address"])
        if int(r["kind"]) == c.STANDSTILL and space == LOCAL:
            stored = self._stored(self.image.owner[int(r["pc"])], offset)
            return stored or Target("local", "", "", "", offset, 0)
        if int(r["kind"]) == c.ASSERTION:
            return self._condition(int(r["buffer"]), offset)
        if int(r["kind"]) == c.TRAPPED:
            refused = self.image.refused.get(int(r["pc"]), "")
            at_grid = syncs_grid(self.image, int(r["pc"])) and not self.launch.cooperative
            return Target("grid" if at_grid else "", "", refused, "", 0, 0)
        if int(r["flags"]) & IMAGE_OBJECT:
            names = tuple(p.name for p in self.parameters)
            return object_target(self.launch, names, int(r["buffer"]), int(r["extra"]))
        if int(r["kind"]) == c.UNDEFINED:
            number, line = int(r["extra"]) - 1, self._line(int(r["pc"]))
            stored = self._stored(number, offset) if number >= 0 else None
            returned = self.code.returned_member(line) if number >= 0 else None
            return stored or returned or self._register(int(r["pc"]), int(r["buffer"]))
        if offset >= 1 << 63:
            offset -= 1 << 64
        if space == SHARED:
            return self.shared(offset, int(r["pc"]))
        if (
            space == GLOBAL
            and not int(r["flags"]) & UNKNOWN_BUFFER
            and int(r["buffer"]) < len(self.raw.buffers)
        ):
            return self.buffer(int(r["buffer"]), offset)
        if space == GLOBAL and not int(r["flags"]) & UNKNOWN_BUFFER:
            return allocation(offset, int(r["extra"]))
        if space == LOCAL and int(r["extra"]):
            inner = int(r["flags"]) & INNER_ARRAY
            name = self.code.inner_array if inner else self.code.local_array
            return name(int(r["extra"]) - 1, int(r["buffer"]), offset)
        return Target(SPACE_NAMES.get(space, ""), "", "", "", offset, 0)

    def _condition(self, number: int, offset: int) -> Target:
        """The condition of a failed assertion, which the compiler keeps as text in a variable."""
        data = self.raw.buffers[number].data if number < len(self.raw.buffers) else b""
        text = bytes(data[offset : offset + 200]).split(b"\0")[0].decode(errors="replace")
        return Target("global", "", text, "", offset, 0)

    def _register(self, pc: int, number: int) -> Target:
        """The local variable in a register, if the source shows which one it is."""
        kind = (self.image.shadowed or [])[number]
        variable = self.code.variables.used_local(self._line(pc), kind)
        if not variable and (callee := returned_by(self.image, pc)):
            own = callee == LAMBDA or self.code.defines(callee)
            return Target("result", "", callee, callee * own, 0, 0)
        name, declaration = (variable.name, variable.declaration) if variable else ("", "")
        return Target("local", name, name, declaration, 0, 0)

    def _stored(self, function: int, offset: int) -> Target | None:
        """The local variable at a byte of a function's frame, if the debug sections name it."""
        found = self.code.local_at(function, offset)
        if found is None:
            return None
        v, at = found
        element = self.code.locals.element(v, at)
        kind = self.code.variables.uninitialized_type(v.name, v.line)
        constructor = self.code.classes.constructor_of(kind) if kind else None
        known = constructor == ""
        declaration = initialized_declaration(v.name, kind, v.extent) if known else ""
        hint = f"Set it in the constructor of `{constructor}`." if constructor else ""
        return Target("local", v.name, element, declaration, offset, v.bytes, hint)

    def shared(self, offset: int, pc: int | None = None) -> Target:
        """The shared variable at an offset of the window, or the nearest one before it.

        An offset that is in no variable belongs to the only one that the address of the
        instruction `pc` is computed from.
        """
        placed, window = self.raw.shared.at(offset), self.raw.shared.variables
        inside = placed is not None and 0 <= offset - placed.offset < placed.bytes
        if not inside and pc is not None:
            indexed = self.code.indexed(pc, {v.name for v in window})
            placed = next((v for v in window if v.name == indexed), placed)
        if placed is None:
            return Target("shared", "", "", "", offset, 0)
        name, at, dynamic = plain_name(placed.name), offset - placed.offset, placed.dynamic
        member = self.code.member_of(placed.name, placed.bytes, at)
        shape = self.code.shared_shape(placed.name, placed.bytes)
        if shape is None:
            element = member or name
            return Target("shared", name, element, f"{placed.bytes} bytes", at, placed.bytes)
        size = extent_of(shape.dims, shape.element)
        size += ", all that this launch provides" if dynamic else ""
        size_hint = "" if dynamic else tile_size_hint(name, shape.dims, self.launch.block)
        element = member or name + shape.index(at)
        return Target("shared", name, element, size, at, placed.bytes, size_hint, dynamic)

    def buffer(self, number: int, offset: int) -> Target:
        """The argument or `__device__` variable that a buffer holds."""
        buffer = self.raw.buffers[number]
        if buffer.argument is None:
            name, space = plain_name(buffer.name), "constant" if buffer.readonly else "global"
            element, extent = self.code.static_element(buffer.name, buffer.data.nbytes, offset)
            return Target(space, name, element or name, extent, offset, buffer.data.nbytes)
        array = self.launch.args[buffer.argument]
        assert isinstance(array, Array)
        own = self.parameters[buffer.argument : buffer.argument + 1]
        name = own[0].name if own else array.name
        size = buffer.data.nbytes
        at = offset // (size // max(1, prod(array.shape)) or 1)
        element = texel_index(self.launch, buffer.argument, at)
        element = element or self.code.pointed_element(buffer.argument, size, offset) or f"[{at}]"
        extent = f"{' x '.join(map(str, array.shape))} {array.dtype}"
        return Target("global", name, name + element, extent, offset, size)

    def _finding(self, r: Report) -> Finding:
        if r.kind == c.RACE:
            r, finding = self._race_finding(r)
        elif (finding_of := _FINDINGS.get(r.kind)) is not None:
            finding = self.code.two_steps.with_swap(r, finding_of(r))
        elif r.has(IMAGE_OBJECT):
            finding = object_finding(r, self.launch)
        elif r.kind in (c.INVALID, c.UNINIT, c.STACK):
            finding = memory_finding(
                r,
                self._op(r.pc),
                in_loop=self.code.order.in_loop(r.pc),
                sign_hint=self.sign_hint,
                unoptimized=self.image.shadowed is not None,
            )
        elif r.kind in BARRIER_KINDS:
            r = self.code.order.with_first(r) if r.kind == c.WARP_STUCK else r
            own = self.launch.kernel, self.code.branches, self._op(r.pc), self.trials
            finding = barrier_finding(r, *own)
        else:
            called = self.code.calls.leading_to(r.pc2, self.code.lines) if r.line2 else ()
            placed = replace(r, line2=called[0].line if called else r.line2)
            writers = self.code.writers(r, self.parameters) if awaits_value(r) else None
            finding = abort_finding(placed, writers, self.code.variables, self.came)
        calls, lines = self.code.calls, self.code.lines
        finding = with_library_hint(finding, self.image.instructions, r.pc, lines)
        other = finding.other
        if other is not None:
            known = calls.leading_to(r.pc2, lines) if other.line == r.line2 else ()
            other = replace(other, text=self._text(other.line), calls=known)
        via = self.image.instructions[r.pc].via if r.pc < len(self.image.instructions) else ""
        via = "" if r.kind == c.OLD_VALUE or has_small_count(r) else via
        return replace(
            finding,
            message=in_library(finding.message, via, self._text(r.line)),
            file=self.file,
            line=r.line,
            text=self._text(r.line),
            count=r.count,
            block=r.block,
            thread=r.thread,
            other=other,
            calls=calls.leading_to(r.pc, lines),
        )

    def _race_finding(self, r: Report) -> tuple[Report, Finding]:
        """The finding of a race, and its report with the access of the finding first."""
        overwriting = is_overwriting(r, self._op(r.pc)) and not r.has(OTHER_STORE)
        overwriting = overwriting and self.code.order.follows(r.pc2, r.pc)
        in_flight, copy = r.has(IN_FLIGHT), r.pc2
        if (missing := self.missing.get((r.pc, r.pc2))) is not None:
            r, hazard = self.races.ordered(r) if missing.meeting else (r, hazard_in_time(r))
            hint = order_hint(r, missing, self._text)
            return r, replace(race_finding(r, hazard, None), hint=hint)
        r, hazard = (r, "WAR") if overwriting else self.races.ordered(r)
        accesses = {(r.pc, r.target.name), (r.pc2, r.target.name)}
        strays = not self.out_of_bounds.isdisjoint(accesses)
        gap = self.races.gap(r)
        finding = race_finding(r, hazard, gap, strays=strays, waits=self.image.may_wait)
        if r.has(NO_PROXY_FENCE):
            return r, without_proxy_fence(r, finding)
        if in_flight:
            barrier = tracking_barrier(r)
            name = self.shared(barrier).name if barrier is not None else ""
            bulk = self.image.ops[copy].startswith("cp.async.bulk")
            both, text = self._op(r.pc).startswith("cp.async"), self._text(r.line2)
            hint = wait_hint(r, self.reports, name, text, bulk=bulk, copies=both)
            return r, replace(finding, hint=hint)
        if overwriting and gap is not None and not r.has(ACROSS_BLOCKS):
            return r, replace(finding, hint=overwriting_hint(r, replace(gap, both=False)))
        tracked = gap is not None and gap.kind == "phases"
        if hazard == "RAW" and gap and not tracked and self._op(r.pc2).startswith("cp.async"):
            return r, replace(finding, hint=arrival_hint(r))
        if strays:
            return r, finding
        code, two_steps = self.code, self.code.two_steps
        if (swap := two_steps.swapped(r, code.order, code.calls)) is not None:
            severity: Severity = finding.severity if swap[1] else "warning"
            return r, replace(finding, hint=swap[0], severity=severity)
        own = self.reports, self.launch.grid, code.order
        known = self.races.overlap_hint(r) or two_steps.hint(r, gap, *own)
        return r, replace(finding, hint=known or finding.hint)

    def _stores_for(self, pc: int) -> bool:
        """Whether a store is in a header's function: the other variant has it inlined."""
        return is_copy(self.image.functions[self.image.owner[pc]].name)
