"""Find temporary objects in the stack frame, and where the expressions end that make them.

In `const int &r = larger(a, b + 1);` the sum is in the frame, at a place that the debug sections do
not name. It exists until the end of the statement, and `r` may refer to it later. The lines of the
statements are those of the source (`full_expressions`): the code of one is what has these lines.

A reference that is bound to a temporary itself, and not to what a function returned, extends its
life. Then the object's address is moved to a variable: that is the end of it only where the debug
sections say that the variable is a pointer. All other uses must be in the statement: arguments of
calls, and addresses of loads and stores. The compiler may keep the address of an argument at a
place of its own in the frame, which only the statement uses: what is loaded there is the address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from grader import dataclass, regex
from grader.simulator.decode.dataflow import sources, targets
from grader.simulator.decode.operands import address_or_none
from grader.simulator.ptx.debug_info import CallSite, LocalVariables
from grader.simulator.ptx.flow import successors_of
from grader.simulator.ptx.model import FRAME, Function, Instruction
from grader.simulator.ptx.source_map import OWN

_PLACE = regex(r"\[%SPL?\b\+?(\d{0,9})")
_NUMBER = regex(r"\d{1,9}")


@dataclass(frozen=True)
class Temporary:
    """A temporary object.

    Attributes:
        first, end: its first byte in the frame, and the one behind which it does not reach.
        entries, exits: the first instructions of the statement, and those behind it.
    """

    first: int
    end: int
    entries: tuple[int, ...]
    exits: tuple[int, ...]


def temporaries(
    f: Function,
    nameless: Mapping[int, Sequence[Instruction]],
    variables: LocalVariables,
    source: str,
) -> Iterator[Temporary]:
    """The temporary objects of a function.

    Args:
        f: the function.
        nameless: the instructions that make addresses of places that have no name, by the place.
        variables: the local variables of the module.
        source: the source.
    """
    # imported here because few kernels have such places
    from grader.compile.full_expressions import full_expressions

    if any(i.library for i in f.body):  # where it is inlined, lines are not known for sure
        return
    statements, lines = full_expressions(source), _lines(f, variables.calls)
    frame = next(v for v in f.variables if v.space == "local")
    pointers = variables.pointer_registers(f.labels)
    own = [v for v in variables.variables if v.frame == frame.name]
    starts = {v.offset for v in own} | nameless.keys()
    taken = nameless.keys() | {x for v in own for x in range(v.offset, v.offset + v.bytes)}
    code = _Code(f, variables.pointer_places(frame.name), taken)
    for first, makers in nameless.items():
        # the address may be made before, but is used in the statement
        users = [at for i in makers for name in targets(i) for at in code.users.get(name, ())]
        used = sorted([*users, *code.places.get(first, ())])
        span = statements.get(lines[used[0]]) if used else None
        if span is None:
            continue
        inside = {k for k, line in enumerate(lines) if span[0] <= line <= span[1]}
        if not inside.issuperset(used) or not code.ends(makers, inside, pointers):
            continue
        outside = {x for x, by in code.places.items() if not inside.issuperset(by)}
        end = min([x for x in (*starts, *outside) if x > first] + [frame.bytes])
        yield Temporary(first, end, *code.bounds(inside))


def _lines(f: Function, calls: Sequence[CallSite]) -> list[int]:
    """The line of the function's own source that each instruction belongs to; 0 if not known.

    Code that was inlined belongs to the call.
    """
    out, last = list[int](), 0
    for i in f.body:
        at = i.location
        while at.inlined is not None:
            at = at.inlined
        last = at.line if at.line and at.file == OWN else last
        out.append(last)
    own = [
        (f.labels[c.start], f.labels.get(c.end, 0), c.line) for c in calls if c.start in f.labels
    ]
    for low, high, line in sorted(own, key=lambda call: call[1] - call[0]):  # the outermost last
        out[low:high] = [line] * len(out[low:high])
    return out


class _Code:
    """The instructions of a function that use registers, and places in its frame."""

    def __init__(self, f: Function, pointers: frozenset[int], taken: Collection[int]) -> None:
        self.body, self.pointers, self.taken = f.body, pointers, taken
        self.after = [list(successors_of(f, at)) for at in range(len(f.body))]
        self.users: dict[str, list[int]] = {}
        self.places: dict[int, list[int]] = {}
        for at, i in enumerate(f.body):
            for name in sources(i):
                self.users.setdefault(name, []).append(at)
            for place in _PLACE.findall(", ".join(i.operands)):
                self.places.setdefault(int(place or 0), []).append(at)

    def bounds(self, inside: set[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The first instructions of a statement, and those behind it."""
        edges = [(at, to) for at, after in enumerate(self.after) for to in after]
        entries = {to for at, to in edges if to in inside and at not in inside}
        exits = {to for at, to in edges if at in inside and to not in inside}
        return tuple(sorted(entries)), tuple(x for x in sorted(exits) if x < len(self.body))

    def ends(
        self, makers: Sequence[Instruction], inside: set[int], pointers: frozenset[str]
    ) -> bool:
        """Whether an object ends with a statement, by all uses of its address.

        Args:
            makers: the instructions that make the address.
            inside: the instructions of the statement.
            pointers: the registers that are pointers of the source.
        """
        work = [name for i in makers for name in targets(i)]
        known = set(work)
        while work:
            name = work.pop()
            for at in self.users.get(name, ()) if name not in pointers else ():
                i = self.body[at]
                more = self.copied_to(i, name, inside)
                if at not in inside or more is None:
                    return False
                work += set(more) - known
                known |= set(more)
        return True

    def copied_to(
        self, i: Instruction, name: str, inside: Collection[int]
    ) -> tuple[str, ...] | None:
        """The registers that get an address from an instruction; None where that is not known."""
        head, *parts = i.op.split(".")
        if head in ("ld", "st") and len(i.operands) == 2:
            base, at = address_or_none(i.operands[head == "ld"])
            is_kept = head == "st" and name in i.operands[1] and "param" not in parts
            if is_kept and base in FRAME and at not in self.pointers:
                return self.kept_for(at, inside)
            return None if is_kept and base not in FRAME else ()
        if head in ("mov", "cvta") or (head == "add" and _NUMBER.fullmatch(i.operands[-1])):
            return targets(i)
        return None

    def kept_for(self, place: int, inside: Collection[int]) -> tuple[str, ...] | None:
        """The registers that are loaded from a place of the compiler's own, which keeps an address.

        None where it is in a variable, its address is made, or code outside the statement uses it;
        and where nothing loads it: then it may be a member of another object, which keeps this one.
        """
        users = [self.body[at] for at in self.places.get(place, ())]
        if place in self.taken or not set(self.places.get(place, ())).issubset(inside):
            return None
        if any(i.op not in ("ld.u64", "ld.b64", "st.u64", "st.b64") for i in users):
            return None
        return tuple(x for i in users if i.op.startswith("ld") for x in targets(i)) or None
