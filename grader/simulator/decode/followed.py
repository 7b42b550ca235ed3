"""Which values are followed to their use, instead of being checked where they are loaded.

Programs load ahead of the condition that discards the value: a merge reads one key behind the last.
The first write to a bit field reads its undefined neighbors, and the copy of a struct reads its
padding. The loads of both are followed: what they load is defined bit by bit, is merged by masks
and copied by stores, and only a use of an undefined bit is a mistake. So is the old value of an
atomic that replaces it: programs store by an exchange, and ignore what was there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from grader import regex
from grader.simulator.decode.dataflow import (
    BRANCHES,
    WHOLE,
    copies_value,
    local_pointers,
    sources,
    targets,
)
from grader.simulator.decode.instructions import TABLES, Insn, on_pairs, types_of
from grader.simulator.decode.memory import (
    CONST,
    FOLLOWED,
    FOLLOWS_OLD,
    LOCAL,
    PARAM,
    is_strong,
    space_of,
)
from grader.simulator.decode.operands import address_or_none, vector
from grader.simulator.ptx.model import FRAME, TYPE_BYTES, Function, Instruction

Key = tuple[int, object, str]
"""Of an access: its basic block, its location, and the register that its address is made from."""

_REPLACING = frozenset(("exch", "and", "or"))
_MERGING = frozenset(("or", "xor", "bfi", "lop3", "prmt"))
_NUMBER = regex(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)U?$")
_INTEGERS = frozenset(f"{kind}{bits}" for kind in "bus" for bits in (16, 32, 64))


def masks_bits(i: Instruction) -> bool:
    """Whether an instruction merges, shifts, or extracts bits at known places, or selects bytes."""
    return _masks_bits(i.op, *i.operands) and not copies_value(i)


@lru_cache(maxsize=1 << 13)
def _masks_bits(op: str, *operands: str) -> bool:
    head, kinds = op.split(".")[0], types_of(op)
    if head == "prmt" or on_pairs(op):
        return True
    if not kinds or kinds[-1] not in _INTEGERS:
        return False
    constants = operands[{"bfe": 2, "bfi": 3, "lop3": 4}.get(head, 9) :]
    if head in ("bfe", "bfi", "lop3"):
        return bool(constants) and all(_NUMBER.match(x) for x in constants)
    return head in TABLES or head in ("shl", "shr")


def passes_on(i: Instruction) -> bool:
    """Whether an instruction copies the shadows of its operands to its result."""
    return copies_value(i) or masks_bits(i)


def cuts_off(i: Instruction, width: int) -> bool:
    """Whether an instruction takes the low bytes of a value of so many bytes."""
    if not i.op.startswith("and") or i.operands[-1] not in ("255", "65535"):
        return False
    return width > (1 if i.operands[-1] == "255" else 2)


def cuts_bytes(i: Instruction, width: int) -> bool:
    """Whether an instruction converts the low bytes of an integer of so many bytes."""
    if not i.op.startswith("cvt") or not copies_value(i):
        return False
    return min((TYPE_BYTES[kind] for kind in types_of(i.op)), default=width) < width


class Loads(NamedTuple):
    """Loads from shared or global memory, by id, whose values have shadows.

    Attributes:
        followed: those whose value may be none, and is followed to its use. It is stored or masked
            and not used otherwise: they load a bit field with its neighbors, or are one of several
            loads that copy a struct or vector. Or it goes to a variable that has another value on
            another path, and may be discarded there: to a register, a place in the stack frame that
            is stored twice, or what a pointer or reference leads to. Or only other blocks use
            it, or their function only copies.
        copied: those that copy one integer, which may be a struct of bit fields. The memory must
            have been written; of a word that was written in part, only a use of the other bits is a
            mistake. A store may have left it without a value.
        by_pointer: those of the first that a pointer leads to a variable for, which may be in any
            memory: of a value of which bytes were never written, there must be none that were.
    """

    followed: frozenset[int] = frozenset()
    copied: frozenset[int] = frozenset()
    by_pointer: frozenset[int] = frozenset()


def moving_loads(f: Function) -> Loads:
    """The loads of a function whose values go elsewhere: each list of them that `Loads` has."""
    uses: dict[str, list[Instruction]] = defaultdict(list)
    for i in f.body:
        for name in dict.fromkeys([*sources(i), *([i.guard[0]] if i.guard else [])]):
            uses[name].append(i)
    groups: dict[Key, list[Instruction]] = defaultdict(list)
    followed, by_pointer = set[int](), set[int]()
    written = Counter(name for i in f.body for name in targets(i))
    variables, copies = _Variables(f), _only_copies(f)
    for key, i in _memory_accesses(f, "ld"):
        width = TYPE_BYTES.get(i.op.split(".")[-1], 0)
        users = list(_users(uses, vector(i.operands[0]), width))
        if copies or (users and variables.uses_later(i, [u for u, _ in users])):
            followed.add(id(i))
            continue
        if any(_chooses(u, written) for u, is_store in users if not is_store):
            followed.add(id(i))
            continue
        if not all(passes_on(u) or is_store for u, is_store in users):
            continue
        if any(masks_bits(u) or cuts_off(u, width) or cuts_bytes(u, width) for u, _ in users):
            followed.add(id(i))
        elif users:
            groups[key].append(i)
        stores = [u for u, is_store in users if is_store]
        if any(map(variables.stored_twice, stores)):
            followed.add(id(i))
        elif any(map(variables.by_pointer, stores)):
            by_pointer.add(id(i))
    followed.update(id(i) for i in f.body if may_replace(i))
    copied: set[int] = set()
    loops = _copying_loops(f) if groups else frozenset()
    for key, members in groups.items():
        if len(members) > 1 or len(vector(members[0].operands[0])) > 1 or key[0] in loops:
            followed.update(map(id, members))
        elif not members[0].op.split(".")[-1].startswith(("f", "bf")):
            copied.add(id(members[0]))
    by_pointer -= followed
    copied -= followed
    return Loads(frozenset(followed | by_pointer), frozenset(copied), frozenset(by_pointer))


def _only_copies(f: Function) -> bool:
    """Whether a function copies objects and does nothing else, as a copy constructor does."""
    heads = {i.op.split(".")[0] for i in f.body}
    straight = not f.entry and heads <= {"ld", "st", "mov", "ret"}
    return straight and any(may_share(i, "st") for i in f.body)


def may_replace(i: Instruction) -> bool:
    """Whether an atomic may write a value that does not depend on the old one, which it gives.

    An exchange does, and an AND with 0 or an OR with ones.
    """
    parts = i.op.split(".")
    return parts[0] == "atom" and not _REPLACING.isdisjoint(parts) and len(i.operands) == 3


def mark_followed(insn: Insn, is_followed: bool, *, copies: bool) -> None:
    """Let the core find out at its use whether what an instruction reads has a value."""
    if insn.exec.startswith("ld"):
        insn.flag |= FOLLOWED * is_followed
    elif insn.exec == "atom":
        insn.e |= FOLLOWS_OLD * is_followed
    elif insn.exec in ("cp_async", "cp_async_bulk"):
        insn.used |= copies


def _chooses(i: Instruction, written: Mapping[str, int]) -> bool:
    """Whether an instruction selects a value, or moves it to where another one may be instead."""
    head = i.op.split(".")[0]
    return head == "selp" or (head == "mov" and any(written[name] > 1 for name in targets(i)))


class _Variables:
    """The variables in memory that have another value on another path, as far as is known."""

    def __init__(self, f: Function) -> None:
        self.f = f
        self.stored = Counter(i.operands[0] for i in f.body if _is_in_frame(i))
        self.pointers: set[str] | None = None
        self.blocks: dict[int, int] | None = None
        self.shared: set[str] = set()

    def uses_later(self, load: Instruction, users: list[Instruction]) -> bool:
        """Whether a load from shared memory gives what only other basic blocks use, or none.

        A tile that is filled in part may be loaded whole, and the value used behind a condition.
        """
        if self.blocks is None:
            self.blocks, self.shared = _blocks_of(self.f), _shared_pointers(self.f)
        if address_or_none(load.operands[1])[0] not in self.shared:
            return False
        own = self.blocks[id(load)]
        return all(self.blocks[id(u)] != own or _copies_to_register(u) for u in users)

    def stored_twice(self, store: Instruction) -> bool:
        """Whether a store is to a place in the stack frame that another one stores to as well."""
        return _is_in_frame(store) and self.stored[store.operands[0]] > 1

    def by_pointer(self, store: Instruction) -> bool:
        """Whether a pointer or reference leads to the variable, which may be the caller's.

        A library's function that stores so, as an assignment does, is no use of its own: what it
        loads counts as read.
        """
        if _is_in_frame(store) or store.library or self.f.library:
            return False
        if self.pointers is None:
            self.pointers = local_pointers(self.f, set())
        return address_or_none(store.operands[0])[0] in self.pointers


def _copies_to_register(i: Instruction) -> bool:
    return i.op.startswith("mov.") and not i.operands[0].startswith("{")


def _blocks_of(f: Function) -> dict[int, int]:
    """By id, the number of the basic block of each instruction."""
    starts, block, out = set(f.labels.values()), 0, dict[int, int]()
    for at, i in enumerate(f.body):
        block += at in starts
        out[id(i)] = block
        block += i.op.split(".")[0] in BRANCHES
    return out


def _shared_pointers(f: Function) -> set[str]:
    """The registers with addresses that are computed from those of shared variables."""
    found = {x for i in f.body if i.op.startswith("cvta.shared") for x in targets(i)}
    for i in f.body if found else ():
        if i.op.split(".")[0] in ("add", "mov") and not found.isdisjoint(sources(i)):
            found.update(targets(i))
    return found


def _is_in_frame(i: Instruction) -> bool:
    """Whether an instruction stores to a place in the stack frame."""
    where = i.operands[0] if i.op.startswith("st.") and i.operands else ""
    return address_or_none(where)[0] in FRAME


def _users(
    uses: Mapping[str, list[Instruction]], names: list[str], width: int
) -> Iterator[tuple[Instruction, bool]]:
    """The instructions that read registers or copies of them, and whether they only store it.

    What takes a part of a value of `width` bytes makes no copy of it.
    """
    work, visited = list(names), set(names)
    while work:
        name = work.pop()
        for i in uses.get(name, ()):
            yield i, _stores_value(i, [name])
            cuts = cuts_off(i, width) or cuts_bytes(i, width)
            if copies_value(i) and i.op.split(".")[0] in ("mov", "cvt", "and") and not cuts:
                more = set(targets(i)) - visited
                visited |= more
                work += more


def _memory_accesses(f: Function, head: str) -> Iterator[tuple[Key, Instruction]]:
    """The loads or stores that may access shared or global memory.

    Each comes with the number of its basic block, its location, and the register that its address
    is made from: those that are equal belong to one statement about one object.
    """
    if not any(may_share(i, head) for i in f.body):
        return
    written: dict[str, list[Instruction]] = defaultdict(list)
    for i in f.body:
        for name in targets(i):
            written[name].append(i)
    starts, block = set(f.labels.values()), 0
    for at, i in enumerate(f.body):
        block += at in starts
        if may_share(i, head):
            where = i.operands[0 if head == "st" else 1]
            yield (block, i.location, _root(written, address_or_none(where)[0])), i
        block += i.op.split(".")[0] in BRANCHES


def may_share(i: Instruction, head: str) -> bool:
    """Whether an instruction is a weak load or store, `head`, that others may see."""
    parts = i.op.split(".")
    if parts[0] != head or len(i.operands) != 2 or "::cluster" in i.op:
        return False
    return space_of(parts) not in (PARAM, CONST, LOCAL) and not is_strong(i.op)


def _root(written: Mapping[str, list[Instruction]], name: str) -> str:
    """The register that an address is made from by adding constants."""
    for _ in range(8):
        by = written.get(name, [])
        if len(by) != 1 or by[0].op.split(".")[0] not in ("add", "mov") or not by[0].operands[1:]:
            break
        if not all(_NUMBER.match(x) for x in by[0].operands[2:]):
            break
        name = by[0].operands[1]
    return name


def _stores_value(i: Instruction, names: list[str]) -> bool:
    """Whether an instruction only stores what is in some registers."""
    if i.op.split(".")[0] != "st" or len(i.operands) != 2:
        return False
    return address_or_none(i.operands[0])[0] not in names


def copies_in_part(load: Instruction, uses: Callable[[str], list[Instruction]]) -> bool:
    """Whether a load gets a vector of which an element is stored, and not used otherwise.

    That may be padding: the optimizer takes members from registers of what the program copies.

    Args:
        load: the load.
        uses: gives the instructions that read a register.
    """
    names = vector(load.operands[0])
    stored = (bool(uses(x)) and all(_stores_value(i, [x]) for i in uses(x)) for x in names)
    return len(names) > 1 and any(stored)


def _copying_loops(f: Function) -> frozenset[int]:
    """The numbers of the blocks that are loops of their own and copy a large struct."""
    found, first, block = set(), 0, 0
    starts = set(f.labels.values())
    for at, i in enumerate(f.body):
        if at in starts:
            first, block = at, block + 1
        if (head := i.op.partition(".")[0]) not in BRANCHES:
            continue
        if head == "bra" and i.operands and f.labels.get(i.operands[0]) == first:
            heads = [x.op.split(".")[0] for x in f.body[first:at]]
            if [x for x in heads if x.startswith(("ld", "st", "call"))] == ["ld", "st"]:
                found.add(block)
        first, block = at + 1, block + 1
    return frozenset(found)


def copy_groups(f: Function, shadowed: Mapping[str, int]) -> dict[int, list[str]]:
    """By id, the stores that copy a part of a struct, and the registers to check there.

    The last store of a group checks that anything of the struct is defined, the others nothing.
    """
    groups: dict[Key, list[Instruction]] = defaultdict(list)
    for key, i in _memory_accesses(f, "st"):
        if all(v in shadowed for v in vector(i.operands[1])):
            groups[key].append(i)
    out: dict[int, list[str]] = {}
    loops = _copying_loops(f) if groups else frozenset()
    for key, members in groups.items():
        if len(members) > 1:
            out |= {id(i): [] for i in members}
            out[id(members[-1])] = [v for i in members for v in vector(i.operands[1])]
        elif key[0] in loops:
            out[id(members[0])] = []
    return out


def using_stores(f: Function) -> frozenset[int]:
    """The stores, by id, that use all bits of what they store.

    They store a floating-point number, or bits that were extracted. Others copy a value, a bool,
    char or short that was limited to its width too, or put back a word into which bits were merged.
    """
    extracts: dict[str, Instruction] = {}
    loaded_from = {i.operands[1] for _, i in _memory_accesses(f, "ld")}
    out = set()
    for i in f.body:
        head = i.op.split(".")[0]
        if head == "st" and len(i.operands) == 2:
            where, value = i.operands
            by = extracts.get(value)
            if by is not None and TYPE_BYTES.get(i.op.split(".")[-1], 9) <= _width_limited_to(by):
                by = None
            puts_back = by is not None and by.op.startswith("and") and where in loaded_from
            is_number = i.op.split(".")[-1].startswith(("f", "bf")) and not value.startswith("{")
            if is_number or (by is not None and not puts_back):
                out.add(id(i))
        elif (masks_bits(i) and head not in _MERGING) or _width_limited_to(i):
            extracts |= dict.fromkeys(targets(i), i)
        elif head in ("mov", "cvt"):
            before = [extracts[name] for name in i.operands[1:] if name in extracts]
            extracts |= {name: by for by in before for name in targets(i)}
    return frozenset(out)


def _width_limited_to(i: Instruction) -> int:
    """The bytes to which an instruction limits a bool, char or short; 0 for any other one."""
    return WHOLE.get(i.operands[-1], 0) if i.op.startswith("and.") else 0
