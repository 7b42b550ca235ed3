"""Decode control flow: the terminators of basic blocks, barriers, and calls.

Also what the lanes of a warp execute together: shuffles, votes, matches and reductions.
"""

from __future__ import annotations

import re
from dataclasses import field

from grader import dataclass
from grader.simulator.decode.instructions import Insn, Known, NotSimulated
from grader.simulator.decode.memory import FENCE_SC, scope_of
from grader.simulator.decode.operands import Frame, OperandError, Operands
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction, Variable
from grader.simulator.ptx.operands import variable

FALL, BRANCH, TABLE, RETURN, EXIT, TRAP, BARRIER, WARPSYNC, CALL = range(9)
SYNC, ARRIVE, RED_POPC, RED_AND, RED_OR = range(5)
ALIGNED, COUNTED, NEGATED, OF_BLOCK = 8, 16, 32, 64
ORDERS, ORDERS_IN_LIBRARY = 1, 2
"""The flag of a warp barrier that orders memory accesses: bar.warp.sync does, shfl does not."""

BUILTINS = {"vprintf": (2, 1), "malloc": (1, 1), "free": (1, 0), "__assertfail": (5, 0)}
"""The functions of the device runtime: the numbers of their arguments and results."""

MATRIX = ("wmma", "mma", "ldmatrix", "stmatrix", "movmatrix")
"""Instructions that all lanes of a warp execute together."""

WARP_SYNCS = ("shfl", "vote", "match", "redux", "elect")
"""The instructions that the lanes of a member mask execute together."""

SHUFFLES = ("up", "down", "bfly", "idx")


@dataclass
class Call:
    """A call site.

    Attributes:
        callee: the callee's name; None for an indirect call.
        inputs: (caller's offset, callee's offset, bytes) of each argument.
        outputs: the same of each result.
        needs: the bytes of the callee's parameter area.
        library: whether code of a library calls.
    """

    callee: str | None
    inputs: list[tuple[int, int, int]]
    outputs: list[tuple[int, int, int]]
    needs: int
    library: bool = False


@dataclass(slots=True)
class End:
    """The terminator of a basic block: fields of launch.h's BasicBlock; `target` is a label."""

    kind: int = FALL
    target: str = ""
    guard: int = 0
    negate: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    flag: int = 0
    table: list[str] = field(default_factory=list)
    call: Call | None = None
    pc: int = 0


@dataclass(slots=True)
class Block:
    """A basic block: machine instructions and a terminator.

    Attributes:
        insns: the machine instructions.
        end: the terminator.
        next, target, table: the successors, as numbers of blocks of the same function.
        steps: the cost of one execution in the step budget.
        code: the PTX instructions that it was decoded from.
        loop: the innermost of the function's `Loop`s that it belongs to: its number + 1, or 0.
    """

    insns: list[Insn]
    end: End
    next: int = 0
    target: int = 0
    table: list[int] = field(default_factory=list)
    steps: int = 1
    code: list[Instruction] = field(default_factory=list)
    loop: int = 0


def reachable_functions(
    functions: dict[str, Function], variables: list[Variable], kernel: str
) -> list[str]:
    """The kernel and all functions that it may call, in the order of the module.

    A function is reachable through a call, through its address in the code, or through its address
    in a variable (a table of virtual functions).
    """
    callable_ = {n for n, f in functions.items() if not f.entry and f.has_body}
    in_variables = {name for v in variables for _, name, _ in v.relocations} & callable_
    reached, work = {kernel: None}, [kernel]
    while work:
        body = functions[work.pop()].body
        named = {x for i in body for x in i.operands} & callable_
        if any(i.op.startswith("call") for i in body):
            named |= in_variables
        for name in sorted(name for name in named if name not in reached):
            reached[name] = None
            work.append(name)
    return [kernel, *(n for n in functions if n in reached and n != kernel)]


def terminator(
    i: Instruction, f: Function, o: Operands, functions: dict[str, Function]
) -> End | None:
    """The terminator that an instruction becomes; None when it does not end a block."""
    name = i.op.split(".")[0]
    end: End | None = None
    if name == "bra":
        end = End(BRANCH, i.operands[0])
    elif name == "brx":
        table = f.tables.get(i.operands[1])
        if not table:
            raise OperandError(f"brx.idx without a table {i.operands[1]}")
        end = End(TABLE, a=o.source(i.operands[0], 4), b=len(table), table=table)
    elif name == "ret":
        end = End(RETURN)
    elif name == "exit":
        end = End(EXIT)
    elif name in ("trap", "brkpt"):
        end = End(TRAP)
    elif name in ("bar", "barrier"):
        end = _barrier(i, o)
    elif name == "call" and builtin_of(i, functions) is None:
        end = _call(i, f, o, functions)
    if end is not None and i.guard is not None:
        end.guard, end.negate = o.predicate(i.guard[0]) + 1, int(i.guard[1])
    return end


def warp_sync(i: Instruction, o: Operands, *, library: bool = False) -> End | None:
    """The barrier of lanes that a .sync instruction begins with; None for any other.

    The pipelines of libcu++ rely on a match to order the accesses of its lanes.
    """
    parts = i.op.split(".")
    if parts[0] in MATRIX and "sync" in parts:
        return End(WARPSYNC, a=o.source("0xffffffff", 4))
    if parts[0] not in WARP_SYNCS or "sync" not in parts:
        return None
    orders = ORDERS_IN_LIBRARY * (library and parts[0] == "match")
    return End(WARPSYNC, a=o.source(i.operands[-1], 4), flag=orders)


def _barrier(i: Instruction, o: Operands) -> End | None:
    parts = i.op.split(".")
    if "warp" in parts:
        return End(WARPSYNC, a=o.source(i.operands[0], 4), flag=ORDERS)
    aligned = ALIGNED | OF_BLOCK if parts[0] == "bar" else ALIGNED * ("aligned" in parts)
    if "red" in parts:
        return _reduction(i, parts, aligned, o)
    if parts[1] == "cluster":  # of one block: its arrival is checked by the wait
        if "arrive" in parts:
            return None
        return End(BARRIER, a=o.source("0", 4), b=o.source("0", 4), flag=SYNC | aligned)
    kind = ARRIVE if "arrive" in parts else SYNC
    operands = i.operands or ["0"]
    counted = COUNTED if len(operands) > 1 else 0
    count = o.source(operands[1], 4) if counted else o.source("0", 4)
    return End(BARRIER, a=o.source(operands[0], 4), b=count, flag=kind | aligned | counted)


def _reduction(i: Instruction, parts: list[str], aligned: int, o: Operands) -> End:
    kind = next(k for p, k in (("popc", RED_POPC), ("and", RED_AND), ("or", RED_OR)) if p in parts)
    d, barrier, *count, p = i.operands
    negated = NEGATED if p.startswith("!") else 0
    target = o.register(d, 4) if kind == RED_POPC else o.predicate(d)
    number = o.source(count[0], 4) if count else o.source("0", 4)
    return End(
        BARRIER,
        a=o.source(barrier, 4),
        b=number,
        c=o.condition(p),
        d=target,
        flag=kind | aligned | negated | (COUNTED if count else 0),
    )


def builtin_of(i: Instruction, functions: dict[str, Function]) -> str | None:
    """The function of the device runtime that an instruction calls; None if there is none."""
    operands = [x for x in i.operands[:2] if not x.startswith("(")]
    name = operands[0] if operands else ""
    function = functions.get(name)
    return name if name in BUILTINS and (function is None or not function.has_body) else None


def _refused_call(target: str) -> str:
    """The reason why a call is not simulated."""
    if target.startswith("cuda"):
        return f"a call of {target} (dynamic parallelism: the device-side CUDA runtime)"
    return f"a call of {target}, which has no body in this file"


def call_builtin(i: Instruction, o: Operands, name: str) -> Insn:
    """Decode a call of vprintf, malloc, free or __assertfail, which the core executes."""
    operands = list(i.operands)
    results = _names(operands.pop(0)) if operands[0].startswith("(") else []
    arguments = _names(operands[1]) if len(operands) > 1 else []
    if (len(arguments), len(results)) != BUILTINS[name]:
        raise OperandError(f"{name} with {len(arguments)} arguments")
    if any(x not in o.frame.places for x in (*arguments, *results)):
        raise OperandError(f"{name} with arguments that are not in .param variables")
    places = [o.frame.places[x] for x in arguments]
    if max([*places, *(o.frame.places[x] for x in results)]) + 8 > (o.frame.bytes + 15) // 16 * 16:
        raise OperandError(f"{name} with arguments that are too small")
    a, b, *_ = [*places, 0]
    return Insn(f"call_{name}", o.frame.places[results[0]] if results else 0, a, b)


def _names(text: str) -> list[str]:
    return [n.strip() for n in text.strip("() ").split(",") if n.strip()]


def _call(i: Instruction, f: Function, o: Operands, functions: dict[str, Function]) -> End | None:
    operands = list(i.operands)
    results = _names(operands.pop(0)) if operands and operands[0].startswith("(") else []
    target = operands.pop(0)
    arguments = _names(operands.pop(0)) if operands and operands[0].startswith("(") else []
    indirect = o.width(target) is not None
    if indirect:
        callee = _prototype(f, operands[-1] if operands else "")
    elif target in functions:
        callee = functions[target]
        if not callee.has_body:
            raise NotSimulated(_refused_call(target))
    else:
        raise NotSimulated(_refused_call(target))
    frame = parameter_frame(callee, shadows=o.frame.shadows)
    inputs = _copies(o.frame, arguments, callee.parameters, frame)
    outputs = [(b, a, n) for a, b, n in _copies(o.frame, results, callee.results, frame)]
    call = Call(None if indirect else target, inputs, outputs, frame.bytes, i.library or f.library)
    return End(CALL, a=o.register(target, 8) if indirect else 0, call=call)


def _prototype(f: Function, label: str) -> Function:
    text = f.prototypes.get(label, "")
    match = re.match(r"\.callprototype\s*(?:\(([^)]*)\))?\s*_\s*(?:\(([^)]*)\))?", text)
    if match is None:
        raise OperandError(f"an indirect call without its prototype {label}")
    return Function(label, False, _anonymous(match[2], "in"), _anonymous(match[1], "out"))


def _anonymous(text: str | None, what: str) -> list[Variable]:
    """The parameters or results of a prototype, with a name for each `_`."""
    parts = [p.strip() for p in (text or "").split(",") if p.strip()]
    return [
        variable(re.sub(r"(?<![\w$])_(?![\w$])", f"_{what}{k}", part))
        for k, part in enumerate(parts)
    ]


def parameter_frame(function: Function, *, shadows: bool = False) -> Frame:
    """Place a function's results, then its inputs; the same for all functions of a signature.

    So what is called without its last inputs finds all others.
    """
    frame = Frame(shadows=shadows)
    for k, v in enumerate([*function.results, *function.parameters]):
        if v.space != "param":
            raise NotSimulated(f"parameters of {function.name} in registers")
        frame.add(v.name or f"_{k}", v.bytes, max(v.align, 1))
    return frame


def _copies(
    own: Frame, names: list[str], variables: list[Variable], frame: Frame
) -> list[tuple[int, int, int]]:
    """(caller's offset, callee's offset, bytes) of each value that a call passes."""
    if len(names) != len(variables):
        raise OperandError(f"a call with {len(names)} values where {len(variables)} are declared")
    out = []
    for name, v in zip(names, variables, strict=True):
        if name not in own.places:
            raise NotSimulated("call arguments that are not in .param variables")
        if own.sizes[name] != v.bytes:
            raise OperandError(f"a call with {own.sizes[name]} bytes in {name} for {v.bytes}")
        out.append((own.places[name], frame.places[v.name], own.span(v.bytes)))
    return out


def orders_threads(parts: list[str]) -> bool:
    """Whether an instruction is a fence between threads.

    A proxy fence orders the accesses of its own thread by different ways to memory. It has no
    effect between threads unless it acquires or releases as well.
    """
    if parts[:2] in (["fence", "proxy"], ["membar", "proxy"]):
        return not {"acquire", "release"}.isdisjoint(parts)
    return parts[0] in ("membar", "fence")


def fence(i: Instruction, known: Known) -> Insn | None:
    """Decode a fence, which watch/order.c orders accesses by; None for any other instruction."""
    name, *_ = parts = i.op.split(".")
    if name in ("membar", "fence") and not orders_threads(parts):
        covers = parts[1:3] == ["proxy", "async"] and parts[3:] in ([], ["shared::cta"])
        return Insn("fence_proxy" if covers else "nop")
    if name in ("membar", "fence"):
        flag = scope_of(parts) | (FENCE_SC if name == "membar" or "sc" in parts else 0)
        return Insn("fence", flag=flag) if known("fence") else Insn("nop")
    return None


def op_shfl(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode a shuffle."""
    parts = op.split(".")
    mode = SHUFFLES.index(next(p for p in parts if p in SHUFFLES))
    d, _, p = operands[0].partition("|")
    a, b, c = (o.source(x, 4) for x in operands[1:4])
    has = bool(p) and p.strip() != "_"
    e = o.predicate(p.strip()) if has else 0
    insn = Insn("shfl_b32", o.register(d.strip(), 4), a, b, c, e, flag=int(has), mode=mode)
    if "sync" in parts:
        insn.imm = o.source(operands[4], 4) + 1
    return [insn]


def op_vote(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode a vote."""
    parts = op.split(".")
    mode = ("all", "any", "uni", "ballot").index(
        next(p for p in parts if p in ("all", "any", "uni", "ballot"))
    )
    d = o.register(operands[0], 4) if mode == 3 else o.predicate(operands[0])
    source = operands[1]
    member = o.source(operands[2], 4) if len(operands) > 2 else o.source("0xffffffff", 4)
    return [
        Insn(
            "vote",
            d,
            o.condition(source),
            member,
            imm=int(source.startswith("!")),
            mode=mode,
        )
    ]


def op_match(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode match."""
    parts = op.split(".")
    width = TYPE_BYTES[parts[-1]]
    d, _, p = operands[0].partition("|")
    has = bool(p) and p.strip() != "_"
    e = o.predicate(p.strip()) if has else 0
    a, member = o.source(operands[1], width), o.source(operands[2], 4)
    return [
        Insn(
            "match",
            o.register(d.strip(), 4),
            a,
            member,
            e=e,
            width=width,
            flag=int(has),
            mode=int("all" in parts),
        )
    ]


def op_redux(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode redux: a reduction across lanes."""
    parts = op.split(".")
    modes = ("add", "min", "max", "and", "or", "xor")
    if parts[-1] not in ("u32", "s32", "b32"):
        raise NotSimulated(op)
    mode = modes.index(next(p for p in parts if p in modes))
    a, member = o.source(operands[1], 4), o.source(operands[2], 4)
    return [
        Insn(
            "redux", o.register(operands[0], 4), a, member, flag=int(parts[-1] == "s32"), mode=mode
        )
    ]


def op_elect(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode elect: the choice of one lane."""
    d, _, p = operands[0].partition("|")
    has = d.strip() != "_"
    target = o.register(d.strip(), 4) if has else 0
    return [
        Insn("elect", target, b=o.source(operands[1], 4), e=o.predicate(p.strip()), flag=int(has))
    ]
