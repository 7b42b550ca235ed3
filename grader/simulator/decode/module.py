"""Decoding: a parsed module becomes the flat arrays that the core executes.

Program counters number the PTX instructions of all functions in turn; several machine
instructions may share one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.simulator.decode import instructions as opcode
from grader.simulator.decode import memory as access
from grader.simulator.decode import memory as copying
from grader.simulator.decode import sync, transfer
from grader.simulator.decode.blocks import preferred_order, straightened
from grader.simulator.decode.control_flow import (
    ARRIVE,
    BARRIER,
    BRANCH,
    COUNTED,
    EXIT,
    FALL,
    RETURN,
    TABLE,
    TRAP,
    WARPSYNC,
    Block,
    End,
    builtin_of,
    call_builtin,
    meeting,
    parameter_frame,
    reached,
    terminator,
    without_effect,
)
from grader.simulator.decode.dataflow import has_local
from grader.simulator.decode.instructions import Code, Known, NotSimulated
from grader.simulator.decode.memory import GENERIC, GLOBAL, SHARED
from grader.simulator.decode.operands import (
    ConstantBank,
    Frame,
    OperandError,
    Operands,
    RegisterFile,
)
from grader.simulator.decode.peephole import Registers, fused, passing, settled, shorten
from grader.simulator.decode.shadow import Shadows, shadows
from grader.simulator.ptx.model import (
    TYPE_BYTES,
    Function,
    Instruction,
    Location,
    Module,
    PtxError,
    TooLarge,
)
from grader.simulator.ptx.names import attributed, described, refused_register

# What makes machine instructions of a PTX instruction: `op_<name>` of the module that has it.


def plainly(i: Instruction, o: Operands, known: Known, pc: int) -> list[Code]:
    """What an instruction that is neither a call nor the end of a block becomes.

    Raises NotSimulated and what `Operands` raises.
    """
    name = f"op_{i.op.split('.')[0]}"
    rules = (getattr(module, name, None) for module in (opcode, access, transfer, sync, copying))
    rule = next((r for r in rules if r is not None), opcode.plain)
    return settled_codes(rule(i.op, i.operands, o, known), i, o, known, pc)


def settled_codes(
    codes: list[Code], i: Instruction, o: Operands, known: Known, pc: int
) -> list[Code]:
    """The codes with their program counter and their instruction's guard. Raises NotSimulated for
    one that the core does not have.
    """
    for code in codes:
        if not known(code.exec) or (code.inner and not known(code.inner)):
            raise NotSimulated(i.op)
        code.pc = pc
        if i.guard is not None:
            code.guard, code.negate = o.predicate(i.guard[0]) + 1, int(i.guard[1])
    return codes


@dataclass(slots=True)
class Decoded:
    """A function ready to run, blocks in the preferred order; `depots`, where its `.local`
    variables lie in its stack frame.
    """

    name: str
    blocks: list[Block]
    registers: int
    local: int
    params: int
    depots: dict[str, int]
    operands: Operands


@dataclass(slots=True)
class Image:
    """A whole module, decoded. `locations` and `ops` are by program counter; `functions` in the
    order of their numbers; `entry` maps the kernel's parameters to offsets; `suspects` has the PTX
    types of the registers that shadow.py watches, None where it does not; `sections` the text of
    the debug sections.
    """

    functions: list[Decoded]
    constants: ConstantBank
    locations: list[Location]
    ops: list[str]
    owner: list[int]
    parameter_bytes: int
    local_places: dict[str, int]
    smallest: dict[int, int]
    waits: bool
    finer: bool
    block_fences: bool = False
    runtime: set[str] = field(default_factory=set)
    suspects: list[str] | None = None
    sections: dict[str, str] = field(default_factory=dict)


MAX_STACK = 512 << 10
"""Bytes of local memory of a thread: CUDA C++ Programming Guide, compute capabilities."""

_LAUNCH_ORDER = ("atom", "red")
_STRONG = {"volatile", "relaxed", "acquire", "release", "mmio"}
_FINER = {"atom", "red", "membar", "fence", "mbarrier"}


def decode(
    module: Module, kernel: str, known: Known, *, definedness: bool = False, passes: bool = True
) -> Image:
    """The image of `kernel` and every function that it may call; with `definedness`, registers
    that may be read before they are written are watched. Without `passes` each instruction stays
    as it is written.

    Raises NotSimulated or PtxError; their line is the source's.
    """
    entry = module.functions.get(kernel)
    if entry is None or not entry.entry or not entry.has_body:
        raise PtxError(f"no kernel {kernel} in the PTX")
    constants = ConstantBank()
    image = Image([], constants, [], [], [], 0, {}, {}, False, False)
    image.suspects = [] if definedness else None
    image.sections = module.sections
    functions = attributed(module, kernel)
    names = reached(functions, module.variables, kernel)
    depots = has_local(functions[name] for name in names)
    for number, name in enumerate(names):
        decoder = _Decoder(functions, image, number, known, depots, passes)
        image.functions.append(decoder.function(functions[name]))
    return image


class _Decoder:
    def __init__(
        self,
        functions: dict[str, Function],
        image: Image,
        number: int,
        known: Known,
        depots: bool,
        passes: bool,
    ) -> None:
        self.functions, self.image, self.number, self.known = functions, image, number, known
        self.depots, self.passes = depots, passes
        self.shadows: Shadows | None = None

    def function(self, f: Function) -> Decoded:
        entry: dict[str, int] = {}
        if f.entry:
            places = parameter_frame(f)
            entry, self.image.parameter_bytes = dict(places.places), places.bytes
            frame = Frame()
        else:
            frame = parameter_frame(f)
        local, places_of = 0, self.image.local_places if f.entry else {}
        for v in f.variables:
            if v.space == "param":
                frame.add(v.name, v.bytes, max(v.align, 1))
            elif v.space == "local":
                local = (local + v.align - 1) // v.align * v.align
                places_of[v.name] = local
                local += v.bytes
        if local > MAX_STACK or frame.bytes > MAX_STACK:
            raise TooLarge(max(local, frame.bytes), MAX_STACK, f.line)
        try:
            registers = RegisterFile(f)
        except OperandError as error:
            raise NotSimulated(str(error), Location(line=f.line)) from error
        own = {} if f.entry else places_of
        operands = Operands(registers, self.image.constants, entry, frame, own)
        if self.image.suspects is not None:
            self.shadows = shadows(f, operands, self.image.suspects, self.functions, self.depots)
        blocks = self.blocks(f, operands)
        room = (local + 15) // 16 * 16, (frame.bytes + 15) // 16 * 16
        return Decoded(f.name, blocks, registers.bytes, *room, dict(places_of), operands)

    def blocks(self, f: Function, o: Operands) -> list[Block]:
        by_index: dict[int, list[str]] = {}
        for label, at in f.labels.items():
            by_index.setdefault(at, []).append(label)
        raw, where = [Block([], End())], {}
        for at, i in enumerate(f.body):
            if at in by_index and (raw[-1].codes or at == 0 or raw[-1].end.kind != FALL):
                raw.append(Block([], End()))
            for label in by_index.get(at, ()):
                where[label] = len(raw) - 1
            self.add(f, i, o, raw)
        for label in by_index.get(len(f.body), ()):
            where[label] = len(raw)
        raw.append(Block([], End(EXIT if f.entry else RETURN, pc=len(self.image.ops) - 1)))
        shortens = self.passes and self.shadows is None  # a shadow reads what no text says is read
        brief = passing(f, o.registers.at) if shortens else frozenset()
        for block in raw:
            block.codes = fused(block.codes, brief) if self.passes else block.codes
            block.steps = 1 + sum(not code.exec.startswith("shadow_") for code in block.codes)
        blocks = straightened(_arranged(raw, where))
        if shortens:
            shorten(blocks, Registers(brief, settled(f, o.registers.at)), self.image.constants)
        return blocks

    def add(self, f: Function, i: Instruction, o: Operands, raw: list[Block]) -> None:
        pc = len(self.image.ops)
        self.image.ops.append(i.op)
        self.image.locations.append(i.location)
        self.image.owner.append(self.number)
        try:
            if (meet := meeting(i, o)) is not None:
                meet.pc = pc
                if i.guard is not None:
                    meet.guard, meet.negate = o.predicate(i.guard[0]) + 1, int(i.guard[1])
                raw[-1].end = meet
                raw.append(Block([], End()))
            if self.shadows is not None:
                raw[-1].codes += self.shadows.before(i, pc)
            end = terminator(i, f, o, self.functions)
            if end is None:
                raw[-1].codes += self.codes(i, o, pc)
                return
        except NotSimulated as refusal:
            refusal.args = (described(str(refusal)), i.location)
            raise
        except (OperandError, ValueError, StopIteration, IndexError, KeyError, TypeError) as error:
            if register := refused_register(i.operands):
                raise NotSimulated(register, i.location) from error
            raise PtxError(
                f"{i.op}: {error or 'operands not understood'}", i.location.line
            ) from error
        end.pc = pc
        if end.kind == WARPSYNC or (end.kind == BARRIER and end.flag & (COUNTED | ARRIVE)):
            self.image.finer = True
        if end.call is not None and end.call.callee is None and raw[-1].codes:
            raw.append(Block([], End()))  # an indirect call is executed again for other targets
        raw[-1].end = end
        raw.append(Block([], End()))

    def codes(self, i: Instruction, o: Operands, pc: int) -> list[Code]:
        parts = i.op.split(".")
        self.note(i.op, parts)
        code = without_effect(i, self.known)
        if parts[0] == "call":
            name = builtin_of(i, self.functions) or ""
            self.image.runtime.add(name)
            code = call_builtin(i, o, name)
        if code is not None:
            return settled_codes([code], i, o, self.known, pc)
        return plainly(i, o, self.known, pc)

    def note(self, op: str, parts: list[str]) -> None:
        """What the launch must know before it starts: see core.h's Launch."""
        image = self.image
        if parts[0] in _FINER or "mbarrier" in parts:
            image.finer = True
        if parts[0] in ("membar", "fence") and "cta" in parts:
            image.block_fences = True
        if parts[0] in ("ld", "st", "atom", "red"):
            space = access.space_of(parts)
            size = TYPE_BYTES.get(parts[-1], 4)
            for reached in (SHARED, GLOBAL) if space == GENERIC else (space,):
                image.smallest[reached] = min(image.smallest.get(reached, 4), size)
            strong = parts[0] in _LAUNCH_ORDER or bool(_STRONG & set(parts))
            if strong and space in (GENERIC, GLOBAL):
                image.waits = image.finer = True


def _arranged(raw: list[Block], where: dict[str, int]) -> list[Block]:
    """Blocks in the preferred order, unreachable ones dropped, successors renumbered."""
    last = len(raw) - 1

    def label(name: str) -> int:
        if name not in where:
            raise PtxError(f"a branch to {name}, which is no label")
        return where[name]

    successors: list[list[int]] = []
    for number, block in enumerate(raw):
        end = block.end
        out: list[int] = []
        if end.kind == BRANCH:
            block.target = label(end.target)
            out.append(block.target)
        if end.kind == TABLE:
            block.table = [label(name) for name in end.table]
            out += block.table
        block.next = min(number + 1, last)
        if end.guard or end.kind not in (BRANCH, TABLE, RETURN, EXIT, TRAP):
            out.append(block.next)
        successors.append(out)
    order = preferred_order(successors)
    renumber = {old: new for new, old in enumerate(order)}
    blocks = [raw[old] for old in order]
    for block in blocks:
        block.next = renumber.get(block.next, 0)
        block.target = renumber.get(block.target, 0)
        block.table = [renumber[t] for t in block.table]
    return blocks
