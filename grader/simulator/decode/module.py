"""Decode a parsed module into the flat functions and blocks that the core executes.

Program counters number the PTX instructions; several machine instructions may have the same one.
"""

from __future__ import annotations

from grader.simulator.decode import control_flow, conversion, instructions, memory, sync, transfer
from grader.simulator.decode.blocks import find_loops, merge_chains
from grader.simulator.decode.control_flow import (
    ARRIVE,
    BARRIER,
    COUNTED,
    EXIT,
    FALL,
    RETURN,
    WARPSYNC,
    Block,
    End,
    builtin_of,
    call_builtin,
    fence,
    orders_threads,
    parameter_frame,
    reachable_functions,
    terminator,
    warp_sync,
)
from grader.simulator.decode.crossings import Use, use_of, with_crossings
from grader.simulator.decode.image import Decoded as Decoded
from grader.simulator.decode.image import Image as Image
from grader.simulator.decode.image import (
    arranged,
    begin_with,
    same_functions,
    taken,
    unaffected,
)
from grader.simulator.decode.instructions import (
    CLUSTERS,
    Insn,
    Known,
    NotSimulated,
    refused_register,
    with_feature,
)
from grader.simulator.decode.numbering import numbered_in
from grader.simulator.decode.operands import (
    INVALID,
    ConstantBank,
    Frame,
    Operands,
    RegisterFile,
    refusing_invalid_code,
)
from grader.simulator.decode.parameters import with_local_copies
from grader.simulator.decode.peephole import (
    Registers,
    fuse_indices,
    shorten,
    temporaries,
    written_once,
)
from grader.simulator.decode.shadow import Shadows, make_shadows
from grader.simulator.decode.stack import local_variables, mark_used_bytes, subscripts_of
from grader.simulator.decode.updates import SYNC_SHIFT, USED_SHIFT, WRITES, memory_roles
from grader.simulator.ptx.debug_info import LocalVariables
from grader.simulator.ptx.model import Function, Instruction, Module, PtxError, TooLarge
from grader.simulator.ptx.source_map import is_copy, with_source_lines

MAX_STACK = 512 << 10
"""Bytes of local memory of a thread: CUDA C++ Programming Guide, compute capabilities."""

_EXACT = {"atom", "red", "membar", "fence", "mbarrier"}


@refusing_invalid_code()
def decode(
    module: Module, kernel: str, known: Known, *,
    definedness: bool = False, passes: bool = True, apart: bool = False,
    before: Image | None = None,
) -> Image:  # fmt: skip
    """Decode a kernel and every function that it may call.

    Args:
        module: the parsed module.
        kernel: the symbol of the kernel.
        known: whether the core has a function of a name.
        definedness: whether to detect reads of undefined registers and local variables.
        passes: whether to shorten the code; without it each instruction stays as it is.
        apart: whether each call of a function has code of its own.
        before: what was decoded in the same way of a module with some other functions: what is the
            same there is not decoded again.

    Raises NotSimulated or PtxError with the line of the source.
    """
    entry = module.functions.get(kernel)
    if entry is None or not entry.entry or not entry.has_body:
        raise PtxError(f"the PTX has no kernel {kernel}")
    image = Image([], ConstantBank(), [], [], [], [], 0, {}, {}, False, False)
    image.shadowed, image.module = [] if definedness else None, module
    functions = with_source_lines(module, kernel, apart=apart)
    names = reachable_functions(functions, module.variables, kernel)
    functions = with_local_copies(functions, names)
    own = [functions[name] for name in names]
    variables = local_variables(module.sections) if definedness else None
    mark_used_bytes(own, variables)
    if before is not None and (same := same_functions(before, own)) is not None:
        functions |= same
        own = [functions[name] for name in names]
    else:
        before = None
    found = numbered_in(own, module, variables), subscripts_of(module, kernel)
    image.use = use = use_of(own, variables, *found, module.source)
    if definedness:
        earlier = None if before is None else before.use
        image.use = use = with_crossings(use, names, functions, module.variables, earlier)
    kept = {} if before is None else unaffected(before, own, functions, use)
    if before is not None and kept:
        begin_with(image, before)
    for number, f in enumerate(own):
        if before is not None and f.name in kept:
            image.functions.append(taken(image, before, number, kept[f.name]))
        else:
            decoder = _Decoder(functions, image, number, known, use, variables, passes)
            image.functions.append(decoder.function(f))
    return image


class _Decoder:
    """Decodes one function of an image."""

    def __init__(
        self,
        functions: dict[str, Function],
        image: Image,
        number: int,
        known: Known,
        use: Use,
        variables: LocalVariables | None,
        passes: bool,
    ) -> None:
        self.functions, self.image, self.number, self.known = functions, image, number, known
        self.use, self.variables, self.passes = use, variables, passes
        self.found, self.roles = dict[int, int](), dict[int, int]()
        self.noted = set[str]()
        self.shadows: Shadows | None = None

    def function(self, f: Function) -> Decoded:
        """Decode the function. Raises NotSimulated or PtxError."""
        shadows, entry = bool(self.use.crossed), dict[str, int]()
        frame = parameter_frame(f, shadows=shadows and not f.entry)
        if f.entry:
            entry, self.image.parameter_bytes = frame.places, frame.bytes
            frame = Frame(shadows=shadows)
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
        registers, own = RegisterFile(f), {} if f.entry else places_of
        operands = Operands(registers, self.image.constants, entry, frame, own)
        if (shadowed := self.image.shadowed) is not None:
            more = self.functions, self.variables, self.use
            self.shadows = make_shadows(f, operands, shadowed, *more)
        blocks = self.blocks(f, operands)
        room = (local + 15) // 16 * 16, (frame.bytes + 15) // 16 * 16
        loops = find_loops(blocks, f, self.functions, registers, len(self.image.ops) - len(f.body))
        places, used = dict(places_of), self.use.numbered_in(f)
        sizes = registers.bytes, *room, places
        return Decoded(f.name, blocks, *sizes, operands, loops, used, f, self.found)

    def blocks(self, f: Function, o: Operands) -> list[Block]:
        """The basic blocks of the function in the preferred order."""
        roles = self.found = memory_roles(f, self.functions)
        self.roles = {id(f.body[at]): role for at, role in roles.items()}
        by_index: dict[int, list[str]] = {}
        for label, at in f.labels.items():
            by_index.setdefault(at, []).append(label)
        raw, where = [Block([], End())], {}
        for at, i in enumerate(f.body):
            first = at in by_index and (raw[-1].insns or at == 0 or raw[-1].end.kind != FALL)
            if first or roles.get(at, 0) & WRITES:
                raw.append(Block([], End()))
            for label in by_index.get(at, ()):
                where[label] = len(raw) - 1
            raw[-1].code.append(i)
            self.add(f, i, o, raw)
            if i.stops and raw[-1].insns:
                raw.append(Block([], End()))
        where |= dict.fromkeys(by_index.get(len(f.body), ()), len(raw))
        raw.append(Block([], End(EXIT if f.entry else RETURN, pc=len(self.image.ops) - 1)))
        shortens = self.passes and self.shadows is None  # shadows read more registers
        temporary = temporaries(f, o.registers.at) if shortens else frozenset()
        for block in raw:
            block.insns = fuse_indices(block.insns, temporary) if self.passes else block.insns
            block.steps = 1 + sum(not insn.exec.startswith("shadow_") for insn in block.insns)
        blocks = merge_chains(arranged(raw, where, self.image.locations))
        if shortens:
            known = Registers(temporary, written_once(f, o.registers.at))
            shorten(blocks, known, self.image.constants)
        return blocks

    def add(self, f: Function, i: Instruction, o: Operands, raw: list[Block]) -> None:
        """Append an instruction to the last block, or end that block with it."""
        pc = len(self.image.ops)
        self.image.instructions.append(i)
        self.image.ops.append(i.op)
        self.image.locations.append(i.location)
        self.image.owner.append(self.number)
        try:
            if (barrier := warp_sync(i, o, library=bool(i.via) or f.library)) is not None:
                barrier.pc = pc
                if i.guard is not None:
                    barrier.guard, barrier.negate = o.predicate(i.guard[0]) + 1, int(i.guard[1])
                raw[-1].end = barrier
                raw.append(Block([], End()))
            if self.shadows is not None:
                raw[-1].insns += self.shadows.before(i, pc)
            end = terminator(i, f, o, self.functions)
            if end is None:
                insns = self.insns(i, o, pc)
                raw[-1].insns += self.shadows.around(i, insns, pc) if self.shadows else insns
                return
        except NotSimulated as refusal:
            self.refuse(with_feature(str(refusal)), f, i, pc, raw[-1])
            return
        except INVALID as error:
            wide = with_feature(i.op) if i.op.endswith(".b128") else ""
            if not (refused := wide or refused_register(i.operands)):
                what = f"{i.op}: {error or 'invalid operands'}"
                raise PtxError(what, i.location.line) from error
            self.refuse(refused, f, i, pc, raw[-1])
            return
        end.pc = pc
        if end.kind == WARPSYNC or (end.kind == BARRIER and end.flag & (COUNTED | ARRIVE)):
            self.image.exact = True
        if end.call is not None and end.call.callee is None and raw[-1].insns:
            raw.append(Block([], End()))  # an indirect call is executed again for other targets
        raw[-1].end = end
        raw.append(Block([], End()))

    def refuse(self, what: str, f: Function, i: Instruction, pc: int, block: Block) -> None:
        """Refuse an instruction where a launch executes it, in a library; else NotSimulated."""
        from_header = i.library or f.library or is_copy(f.name)
        from_header |= not any(x.location.line for x in f.body)
        if not from_header or not what.endswith(CLUSTERS):
            raise NotSimulated(what, i.location)
        self.image.refused[pc] = what
        block.insns.append(Insn("refused", pc=pc))

    def insns(self, i: Instruction, o: Operands, pc: int) -> list[Insn]:
        """The machine instructions of an instruction that does not end a block."""
        self.note(i.op)
        insn = fence(i, self.known)
        if i.op.startswith("call"):
            name = builtin_of(i, self.functions) or ""
            self.image.runtime.add(name)
            self.image.exact |= name == "free"
            insn = call_builtin(i, o, name)
        if insn is not None:
            return completed([insn], i, o, self.known, pc)
        insns = decode_instruction(i, o, self.known, pc)
        if role := self.roles.get(id(i)):
            insns[0].flag |= role % (1 << USED_SHIFT)
            insns[0].used = insns[0].used or role >> USED_SHIFT & 255
            self.image.sync |= role >> SYNC_SHIFT
            self.image.waits |= bool(role & memory.WAITING)
        return insns

    def note(self, op: str) -> None:
        """Enter what the launch must know before it starts: see launch.h's Launch."""
        if op in self.noted:
            return
        image, parts = self.image, op.split(".")
        image.exact |= parts[0] in _EXACT or not {"mbarrier", "bulk"}.isdisjoint(parts)
        if orders_threads(parts):
            image.sync |= memory.HAS_FENCES
        if memory.is_noncoherent(parts) and image.shadowed is not None:  # the optimizer adds some
            image.sync |= memory.HAS_NONCOHERENT
        if parts[0] in ("membar", "fence", "ld", "st", "atom", "red"):
            image.sync |= memory.HAS_BLOCK_SCOPE if memory.scope_of(parts) else 0
        if (access := memory.accessed(parts)) is not None:
            image.sync |= memory.HAS_ACQUIRES if {"acquire", "acq_rel"} & set(parts) else 0
            space, size = access
            for x in (memory.SHARED, memory.GLOBAL) if space == memory.GENERIC else (space,):
                image.smallest[x] = min(image.smallest.get(x, 4), size)
            strong = memory.is_strong(op)
            if strong and space in (memory.GENERIC, memory.GLOBAL):
                image.may_wait = image.exact = True
            image.exact |= strong and "volatile" not in parts
        self.noted.add(op)


_MODULES = (control_flow, sync, transfer, memory, conversion, instructions)
_RULES = {n: rule for m in _MODULES for n, rule in vars(m).items() if n.startswith("op_")}
"""The functions that decode instructions of a name."""


def decode_instruction(i: Instruction, o: Operands, known: Known, pc: int) -> list[Insn]:
    """Decode an instruction that is neither a call nor the end of a block.

    Raises NotSimulated and what `Operands` raises.
    """
    rule = _RULES.get(f"op_{i.op.partition('.')[0]}", instructions.plain)
    return completed(rule(i.op, i.operands, o, known), i, o, known, pc)


def completed(insns: list[Insn], i: Instruction, o: Operands, known: Known, pc: int) -> list[Insn]:
    """Give machine instructions their program counter and guard.

    Raises NotSimulated for an instruction that the core does not have.
    """
    for insn in insns:
        if not known(insn.exec) or (insn.inner and not known(insn.inner)):
            raise NotSimulated(i.op)
        insn.pc = pc
        if i.guard is not None:
            insn.guard, insn.negate = o.predicate(i.guard[0]) + 1, int(i.guard[1])
        if i.used is not None and insn.exec in ("ld", "ld_word"):
            memory.use_bytes(insn, i.used)
    return insns
