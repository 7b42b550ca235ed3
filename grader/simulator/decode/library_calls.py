"""What the program's calls of `printf` and `memcpy` became.

The compiler stores the arguments of `printf` one behind the other in the stack frame, where no
variable of the source is, directly before it calls `vprintf` with their address. That function
reads them, and its code is no part of the module: so the stores are the uses of what is printed.
The conversions of the format must read what has their sizes and types: see
core/machine/instructions/print.c.

`memcpy` must not copy an object to a place that overlaps it. The compiler makes a loop of a call, a
byte in each round. It is told from a loop of the program by its code and by its line, which calls
`memcpy`; the copy of a large struct has the same loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from grader import dataclass, regex
from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.operands import address_or_none
from grader.simulator.ptx.debug_info import LocalVariables
from grader.simulator.ptx.model import FRAME, TYPE_BYTES, Function, Instruction

_NAME = regex(r"[$%A-Za-z_][$%\w@]*")
_NUMBER = regex(r"\d{1,9}")
_WORD, _LONG, _REAL = 1, 2, 3
"""An argument of 4 bytes, one of 8, and one that is certainly floating-point: see print.c."""
_MOST_ARGUMENTS = 31
_MEMCPY = regex(r"(?<!\w)memcpy\s*\(")
_MOST_LETTERS = 1000
_NEAR = 8
"""Instructions behind the load of a byte that are searched for the rest of its loop."""


@dataclass(frozen=True)
class _Call:
    """A call of `vprintf`.

    Attributes:
        call: the instruction.
        stores: what is stored behind the address that it gets, with the offsets from that; None
            where this is not known.
    """

    call: Instruction
    stores: tuple[tuple[Instruction, int], ...] | None


def printed_stores(f: Function, variables: LocalVariables | None) -> frozenset[int]:
    """The stores, by id, of what `printf` prints."""
    return frozenset(id(i) for c in _calls(f, variables) for i, _ in c.stores or ())


def printed_arguments(f: Function, variables: LocalVariables | None) -> dict[int, int]:
    """By id, calls of `printf` and their arguments: two bits for each, the first one lowest."""
    return {
        id(c.call): sum(kind << 2 * k for k, kind in enumerate(kinds))
        for c in _calls(f, variables)
        if c.stores is not None and (kinds := _kinds(c.stores)) is not None
    }


def _kinds(stores: tuple[tuple[Instruction, int], ...]) -> list[int] | None:
    """What the arguments are; None where they are not one behind the other."""
    out, end = list[int](), 0
    for i, offset in sorted(stores, key=lambda store: store[1]):
        kind = i.op.split(".")[-1]
        size = TYPE_BYTES.get(kind, 0)
        end = (end + size - 1) // max(size, 1) * size
        if offset != end or size not in (4, 8) or len(i.op.split(".")) > 2:
            return None
        end += size
        out.append(_WORD if size == 4 else _REAL if kind == "f64" else _LONG)
    return out if len(out) <= _MOST_ARGUMENTS else None


def _calls(f: Function, variables: LocalVariables | None) -> Iterator[_Call]:
    """The calls of `printf` in a function."""
    if not any(i.op.startswith("call") and "vprintf" in i.operands for i in f.body):
        return  # as most functions; all are decoded
    frame = next((v.name for v in f.variables if v.space == "local"), "")
    stored: list[tuple[Instruction, int]] = []
    given: dict[str, str] = {}
    offsets: dict[str, int] = {}
    starts = set(f.labels.values())
    for at, i in enumerate(f.body):
        if at in starts:
            stored.clear()
        head, *rest = i.op.split(".")
        if head == "call":
            if "vprintf" in i.operands:
                yield _Call(i, _behind(_last_argument(given, i), stored, offsets))
            stored.clear()
        elif head == "st" and len(i.operands) == 2:
            base, offset = address_or_none(i.operands[0])
            if "param" in rest:
                given[base] = i.operands[1]
            elif base in FRAME and not (variables and variables.at(frame, offset)):
                stored.append((i, offset))
        elif head == "add" and i.operands[1:2] == ["%SP"] and _NUMBER.fullmatch(i.operands[-1]):
            offsets[i.operands[0]] = int(i.operands[-1])


def _behind(
    where: str, stored: list[tuple[Instruction, int]], offsets: Mapping[str, int]
) -> tuple[tuple[Instruction, int], ...] | None:
    """What was stored behind an address; none where it is 0, None where it is another one."""
    if where == "0":
        return ()
    first = offsets.get(where)
    found = tuple((i, at - first) for i, at in stored if first is not None and at >= first)
    return found or None


def _last_argument(given: Mapping[str, str], call: Instruction) -> str:
    """The register with the address of what `printf` prints."""
    names = _NAME.findall(call.operands[-1])
    return given.get(names[1], "") if len(names) == 2 else ""


@dataclass(frozen=True)
class Copy:
    """The registers of a loop: the addresses, the round, and how many bytes it copies in all.

    The last one may be a number.
    """

    to: str
    source: str
    round: str
    bytes: str


def memcpy_lines(lines: Iterable[str]) -> frozenset[int]:
    """The lines of a source that call `memcpy`."""
    return frozenset(n for n, row in enumerate(lines, 1) if _MEMCPY.search(row[:_MOST_LETTERS]))


def copies(f: Function, called: Collection[int]) -> dict[int, Copy]:
    """By id, the loads of the loops that the calls of `memcpy` in these lines became."""
    if not called or f.library:
        return {}
    written = defaultdict(list)
    for i in f.body:
        for name in targets(i):
            written[name].append(i)
    once = {name: by[0] for name, by in written.items() if len(by) == 1}
    out = dict[int, Copy]()
    for at, i in enumerate(f.body):
        if i.op == "ld.u8" and i.location.line in called:
            found = _loop(i, f.body[at + 1 : at + 1 + _NEAR], once)
            out |= {id(i): found} if found else {}
    return out


def _loop(
    load: Instruction, behind: Sequence[Instruction], once: Mapping[str, Instruction]
) -> Copy | None:
    """The loop of a load, if it copies bytes one by one."""
    value, where = load.operands
    source = once.get(where.strip("[]"))
    stores = (i for i in behind if i.op == "st.u8" and i.operands[1] == value)
    ends = (i for i in behind if i.op == "setp.lt.u64")
    store, end = next(stores, None), next(ends, None)
    to = once.get(store.operands[0].strip("[]")) if store else None
    if source is None or to is None or end is None:
        return None
    if not (source.op == to.op == "add.s64" and source.operands[2] == to.operands[2]):
        return None
    step, round_ = once.get(end.operands[1]), source.operands[2]
    if step is None or step.op != "add.s64" or step.operands[1:] != [round_, "1"]:
        return None
    return Copy(to.operands[1], source.operands[1], round_, end.operands[2])
