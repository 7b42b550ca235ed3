"""Constant subscripts outside their arrays: the compiler knows them, a launch executes them.

For `a[4]` of an array of four the PTX has the place of whatever follows, as if the source had named
that. The compiler's front end tells such a subscript from one in a constant branch within an
expression, but not in a statement that is never reached. So the core reports the accesses of its
line: where all of them are executed, it is. A subscript that varies may leave its array, too: what
its address is computed from names the array.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from grader import regex, replace
from grader.compile.program import Subscript
from grader.simulator.core import bindings as c
from grader.simulator.decode.module import Image
from grader.simulator.decode.stack import is_watched, subscripts_of
from grader.simulator.diagnose.races import INNER_ARRAY, KNOWN_OUTSIDE, STORE, Report, Target
from grader.simulator.diagnose.variables import SourceVariables
from grader.simulator.ptx.call_copies import MOST_BEFORE
from grader.simulator.ptx.model import Instruction

if TYPE_CHECKING:
    from grader.compile.syntax import Node, Tree

_CHOOSING = (
    "if_statement", "switch_statement", "while_statement", "for_statement", "do_statement",
    "case_statement",
)  # fmt: skip
_JUMPS = ("return_statement", "goto_statement", "break_statement", "continue_statement")
_WRAPPERS = ("field_expression", "parenthesized_expression")
_INDICES = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_CONSTANT = regex(r"\bconst(?:expr)?\b(?!.*\*)")
_MACRO = Target("", "", "", "", 0, 0)
_REGISTERS = regex(r"[$%A-Za-z_][$%\w@]*")
_PARAMETER = regex(r"_param_(\d+)$")
_ADDRESS_ARITHMETIC = frozenset(("mov", "cvta", "cvt", "add", "sub", "mad", "shl", "mul", "or"))
MAX_NAME = 60
"""Letters of an expression in a message."""


def indexed_variable(
    image: Image, calls_of: Mapping[int, Sequence[int]], pc: int, names: Collection[str]
) -> str:
    """Return the only one of some variables from whose address an access computes its own.

    Args:
        image: the code.
        calls_of: by function, the calls of it: an address may be an argument.
        pc: the access.
        names: the symbols of the variables.

    Returns:
        Its symbol; empty where there is none, or more than one.
    """
    writers: dict[int, Mapping[str, Sequence[Instruction]]] = {}
    where = [x for x in image.instructions[pc].operands if x.startswith("[")]
    work = [(image.owner[pc], name) for name in _REGISTERS.findall(" ".join(where[:1]))]
    found, visited = set[str](), set(work)
    while work:
        owner, name = work.pop()
        if name in names:
            found.add(name)
        if owner not in writers:
            writers[owner] = _writers(image, owner)
        more: set[tuple[int, str]] = set()
        for i in writers[owner].get(name, ()):
            if i.op.split(".")[0] in _ADDRESS_ARITHMETIC or i.op.startswith("ld.param"):
                more |= {(owner, x) for x in _REGISTERS.findall(" ".join(i.operands[1:]))}
        if owner and (parameter := _PARAMETER.search(name)):
            more |= set(_passed(image, calls_of.get(owner, ()), int(parameter[1])))
        work += more - visited
        visited |= more
    return found.pop() if len(found) == 1 else ""


def _writers(image: Image, function: int) -> Mapping[str, Sequence[Instruction]]:
    """By register, the instructions of a function that write it."""
    out = defaultdict(list)
    for i, owner in zip(image.instructions, image.owner, strict=True):
        if owner == function and i.operands and not i.operands[0].startswith("["):
            for name in _REGISTERS.findall(i.operands[0]):
                out[name].append(i)
    return out


def _passed(image: Image, calls: Sequence[int], number: int) -> Iterator[tuple[int, str]]:
    """The registers that calls pass as an argument of this number, each with its function."""
    for call in calls:
        names = _REGISTERS.findall(image.instructions[call].operands[-1])
        for i in reversed(image.instructions[max(0, call - MOST_BEFORE) : call]):
            if i.op.startswith("st.param") and names[number : number + 1] == _REGISTERS.findall(
                i.operands[0]
            ):
                yield from ((image.owner[call], x) for x in _REGISTERS.findall(i.operands[1]))
                break


def with_known_subscripts(
    reports: Sequence[Report], image: Image, variables: SourceVariables
) -> list[Report]:
    """Replace the reports of accesses in lines with subscripts known to be outside their arrays.

    Returns: one for each such subscript that was executed, and the other reports. In a line with an
    access that was found outside by its address, the report that has a name stays. What is read
    there has no value, either, which is not told.
    """
    others = [r for r in reports if not r.has(KNOWN_OUTSIDE)]
    outside = [r for r in others if r.kind == c.INVALID and not r.has(INNER_ARRAY)]
    found = {r.line for r in outside if r.target.name}
    executed: dict[int, dict[int, Report]] = defaultdict(dict)
    known: list[Report] = []
    for r in reports:
        if r.has(KNOWN_OUTSIDE) and r.line not in found:
            executed[r.line].setdefault(r.pc, r)
    everywhere = subscripts_of(image.module, image.functions[0].name)
    for line, own in executed.items():
        subscripts = [s for s in everywhere if s.line == line]
        watched = {
            pc
            for pc, i in enumerate(image.instructions)
            if i.location.line == line and is_watched(i, subscripts)
        }
        if watched <= own.keys():
            known += _reports(list(own.values()), subscripts, variables)
    named = {r.line for r in known if not r.has(INNER_ARRAY)}

    def follows(r: Report) -> bool:
        nameless = r in outside and not r.target.name
        return r.line in named and (nameless or r.kind == c.UNDEFINED)

    return known + [r for r in others if not follows(r)]


def _reports(
    executed: Sequence[Report], subscripts: Sequence[Subscript], variables: SourceVariables
) -> Iterator[Report]:
    for s in subscripts:
        first, node = executed[0], _expression(s, variables.tree)
        if node is None:
            yield replace(first, flags=first.flags | INNER_ARRAY, target=_MACRO)
        elif not (_is_address(node) or _stands_for_any_size(node) or _may_be_unreached(node)):
            target, inside = _target(node, variables)
            stores = _is_changed(node)
            access = next((r for r in executed if bool(r.has(STORE)) == stores), first)
            flags = access.flags & ~STORE | STORE * stores | INNER_ARRAY * inside
            yield replace(access, flags=flags, target=target)


def _expression(s: Subscript, tree: Tree) -> Node | None:
    """The whole expression with a subscript; None in a macro."""
    for node in tree.walk("subscript_expression"):
        if node.line <= s.line <= node.last_line and (node.parent or node).kind != node.kind:
            parts = (_column(part) for part in node.walk() if part.line == s.line)
            if s.column in parts:
                return node
    for node in tree.walk("pointer_expression"):
        added = _sum(node)
        if added is None or s.line != node.line:
            continue
        if s.column in (_column(node), _column(added.field("operator"))):
            return node
    return None


def _sum(node: Node) -> Node | None:
    """The sum of an expression such as `*(a + 4)`; None for any other."""
    inner = node.field("argument") if node.text[0] == "*" else node
    while inner.kind == "parenthesized_expression":
        inner = inner.named[0]
    fits = inner.kind == "binary_expression" and inner.field("operator").text in "+-"
    return inner if fits else None


def _column(node: Node) -> int:
    """The column, from 1, of a node's first byte."""
    return node.start - node.tree.data.rfind(b"\n", 0, node.start)


def _outermost(node: Node) -> tuple[Node, Node | None]:
    """An element, or the member of it that is used, and the expression around that."""
    while (parent := node.parent) is not None and parent.kind in _WRAPPERS:
        node = parent
    return node, parent


def _is_address(node: Node) -> bool:
    _, around = _outermost(node)
    return around is not None and around.kind == "pointer_expression" and around.text[0] == "&"


def _is_changed(node: Node) -> bool:
    used, around = _outermost(node)
    if around is None or around.kind != "assignment_expression":
        return around is not None and around.kind == "update_expression"
    return around.field("left").index == used.index


def _stands_for_any_size(node: Node) -> bool:
    """Whether it indexes a struct's last member, of one element, which stands for any number."""
    member = node.part("argument")
    name = member.part("field") if member is not None else None
    words = rf"\b{re.escape(name.text)}\s*\[\s*[01]\s*\]\s*;".encode() if name else b""
    return bool(words) and re.search(words, node.tree.data) is not None


def _may_be_unreached(node: Node) -> bool:
    """Whether a constant condition or a jump of its line may keep a statement from being run."""
    if any(j.line == node.line and j.start < node.start for j in node.tree.walk(*_JUMPS)):
        return True
    for above in node.ancestors:
        if above.kind == "function_definition":
            return False
        if above.line != node.line or above.kind not in _CHOOSING:
            continue
        is_case = above.kind == "case_statement"
        chooser = next((a for a in above.ancestors if a.kind == "switch_statement"), above)
        condition = (chooser if is_case else above).part("condition")
        if condition is None or not _varies(condition):
            return True
    return False


def _varies(condition: Node) -> bool:
    """Whether a condition has a name of a variable: of a parameter, or one that is no constant."""
    names = {name.text for name in condition.walk("identifier")}
    if not names.isdisjoint(_INDICES) or any(condition.walk("call_expression")):
        return True
    for declared in condition.tree.walk("declaration", "parameter_declaration"):
        parent = declared.parent
        of_template = parent is not None and parent.kind == "template_parameter_list"
        if of_template or _CONSTANT.search(declared.text.partition("=")[0]):
            continue
        if not names.isdisjoint(name.text for name in declared.walk("identifier")):
            return True
    return False


def _target(node: Node, variables: SourceVariables) -> tuple[Target, bool]:
    """What a subscript is outside of, and whether it may be in another part of the variable."""
    base, indices = node, list[str]()
    if (added := _sum(node)) is not None:
        base = added.field("left")
        indices = [f"0 {added.field('operator').text} ({added.field('right').text})"]
    while base.kind == "subscript_expression":
        indices.insert(0, base.field("indices").text[1:-1].strip())
        base = base.field("argument")
    element = " ".join(node.text.split())[:MAX_NAME]
    space, dims = variables.array_at(base.text, node.index)
    values = [variables.number(text) for text in indices]
    if not dims or len(dims) != len(values):
        return Target(space, base.text[:MAX_NAME], element, "", 0, 0), True
    known, flat = [n for n in dims if n is not None], 0
    for value, n in zip(values, dims, strict=True):
        flat = flat * (n or 0) + (value or 0)
    unknown = len(known) != len(dims) or None in values
    inside = len(dims) > 1 if unknown else 0 <= flat < prod(known)
    extent = "" if unknown else f"{' x '.join(map(str, known))} elements"
    return Target(space, base.text, element, extent, 0, 0), inside


def pointees_in(text: str, name: str) -> set[str]:
    """What a line accesses through pointers, such as `*p`, and the variable of a name."""
    found = re.findall(r"\*\s*[A-Za-z_]\w*|\b[A-Za-z_]\w*\s*(?:->\s*\w+|\[[^\[\]]{1,80}\])", text)
    own = {name} if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w\[])", text) else set[str]()
    return {re.sub(r"\s", "", x) for x in found} | own


def elements_in(text: str, name: str) -> set[str]:
    """The elements of an array that a line names, such as `a[i]`, without blanks."""
    array = rf"(?<![\w.]){re.escape(name)}\s*\[[^\[\]]{{1,80}}\]"
    found = re.findall(rf"{array}|\*\s*{re.escape(name)}\b", text)
    return {re.sub(r"\s", "", x) for x in found}


def in_sequence(tree: Tree, first: int, then: int) -> bool:
    """Whether statements of two lines are in one block of statements, with no branch around one."""
    statements = [*tree.walk("expression_statement", "declaration")]
    blocks = [
        {next(n.ancestors).index for n in statements if n.line <= line <= n.last_line}
        for line in (first, then)
    ]
    return any(tree.kinds[k] == "compound_statement" for k in blocks[0] & blocks[1])


_SWAP = regex(r"\bstd::swap$")
Exchange = tuple[int, int]
"""The lines of two assignments, each of which makes an element from the other's."""


def exchange_hint(lines: Exchange, name: str) -> str:
    """The fix of an exchange of two elements that both threads of a pair make."""
    own, other = lines
    what = f"Line {own} exchanges" if own == other else f"Lines {own} and {other} exchange"
    return (
        f"{what} two elements of {name}, and several threads do so with the same elements at once. "
        "No atomic exchanges two elements: let only one thread of each pair do it, such as the one "
        "with the smaller index, and let no element be in two pairs."
    )


def exchanges(tree: Tree) -> Iterator[Exchange]:
    """The pairs of assignments of one block that make each of two elements from the other.

    A call of a library's swap is both.
    """
    for call in tree.walk("call_expression"):
        if _SWAP.search(words_of(call.field("function"))):
            yield call.line, call.line
    references = {words_of(x) for node in tree.walk("reference_declarator") for x in node.named}
    values: dict[str, set[str]] = {}
    made: dict[int, list[tuple[str, set[str], int]]] = {}
    for node in tree.walk("init_declarator", "assignment_expression"):
        left, right = (node.part("declarator") or node.part("left")), node.part("value")
        right = right or node.part("right")
        if left is None or right is None:
            continue
        target, used = words_of(left), elements_of(right)
        used |= {x for name in used for x in values.get(name, ())}
        if left.kind == "identifier":
            values[target] = used
            if target not in references:
                continue
        block = next((up.index for up in node.ancestors if up.kind == "compound_statement"), 0)
        own = made.setdefault(block, [])
        yield from ((line, node.line) for x, of, line in own if x in used and target in of - {x})
        own.append((target, used, node.line))


def elements_of(node: Node) -> set[str]:
    """The variables and elements in an expression, without blanks."""
    kinds = "identifier", "subscript_expression", "pointer_expression", "field_expression"
    return {words_of(x) for x in node.walk(*kinds)}


def words_of(node: Node) -> str:
    """The text of a node without blanks."""
    return "".join(node.text.split())
