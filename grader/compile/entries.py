"""Kernels and variables from the compiler's results: PTX, demangled names, the assembler's report.

None of these is source text: PTX and the demangler's names have a fixed form, one item a line or a
list with commas, which regular expressions read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from grader.compile.functions import Declaration
from grader.compile.program import Kernel, Parameter
from grader.launch import Resources

_ENTRY = re.compile(
    r"^(?:\.visible |\.weak |\.extern )*\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?", re.M
)
_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.[a-z]+(?P<bits>\d+)\b[^\[]*?(?:\[(?P<count>\d+)\])?\s*$"
)
_EAST_CONST = re.compile(r"^(?P<base>[^*&]*?) (?P<cv>const volatile|const|volatile)(?=[*&]|$)")
_FUNCTION = re.compile(r"ptxas info\s*: Compiling entry function '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_BITS = re.compile(r"\d+")
_FILE = re.compile(r"^\s*\.file\s+(\d+)\s+\"([^\"]*)\"", re.M)
_LOCATION = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_ACCESS = re.compile(r"\s*(?:@!?%\w+\s+)?(?:ld|st)\.(?:volatile\.)?local\b")


def kernels(
    ptx: str, names: Mapping[str, str], declared: tuple[Declaration, ...], log: str
) -> tuple[Kernel, ...]:
    """The kernels of a PTX text in its order.

    `names` maps a mangled symbol to its C++ name as a demangler writes it, `declared` is what the
    source says, `log` the assembler's verbose report.
    """
    used = resources(log)
    found = []
    for entry in _ENTRY.finditer(ptx):
        symbol = entry[1]
        sizes = tuple(_bytes(p) for p in _split(entry[2] or ""))
        name, types = _spelled(names.get(symbol, symbol))
        told = _declared(declared, name, len(sizes))
        parameters = tuple(
            Parameter(_type(types, told, i), _name(told, i), size) for i, size in enumerate(sizes)
        )
        line = told.line if told else 0
        found.append(Kernel(name, symbol, line, parameters, used.get(symbol, Resources())))
    return tuple(found)


def resources(log: str) -> dict[str, Resources]:
    """What each kernel takes, by symbol, from the log of `--ptxas-options=-v`."""
    found = {}
    parts = _FUNCTION.split(log)
    for symbol, report in zip(parts[1::2], parts[2::2], strict=True):
        stack, used, shared = (p.search(report) for p in (_STACK, _USED, _SHARED))
        found[symbol] = Resources(
            registers=int(used[1]) if used else None,
            static_shared_bytes=int(shared[1]) if shared else 0,
            local_bytes=int(stack[1]) if stack else 0,
        )
    return found


def variable_bytes(ptx: str, name: str) -> int | None:
    """The bytes of a variable at module scope, None when there is none of that name."""
    found = re.search(
        rf"^(?:\.\w+ )*\.(?:const|global)(?: \.align \d+)? \.(\w+) {re.escape(name)}"
        r"(?:\[(\d+)\])?(?: =|;)",
        ptx,
        re.MULTILINE,
    )
    if found is None:
        return None
    bits = _BITS.search(found[1])
    return int(bits[0]) // 8 * int(found[2] or 1) if bits else None


def local_line(ptx: str, symbol: str, file: str) -> int:
    """The line of `file` with most loads and stores of local memory in the kernel of that symbol,
    the first of equals; 0 when it has none, as when the assembler alone put registers there."""
    body = re.search(rf"\.entry\s+{re.escape(symbol)}\b.*?\n\}}", ptx, re.S)
    own = {number for number, name in _FILE.findall(ptx) if name.rpartition("/")[2] == file}
    place, seen = ("", 0), Counter[int]()
    for text in body[0].splitlines() if body else ():
        if found := _LOCATION.match(text):
            place = (found[1], int(found[2]))
        elif _ACCESS.match(text) and place[0] in own and place[1]:
            seen[place[1]] += 1
    return max(seen, key=lambda line: seen[line], default=0)


def _bytes(declaration: str) -> int:
    """A PTX parameter's size: ".param .align 4 .b8 k_param_3[8]" has 8."""
    found = _PARAM.search(declaration.strip())
    return int(found["bits"]) // 8 * int(found["count"] or 1) if found else 0


def _spelled(demangled: str) -> tuple[str, tuple[str, ...] | None]:
    """(name, parameter types) of "void f<int>(float const*, int)"; no types for a plain symbol."""
    if not demangled.endswith(")"):
        return demangled, None
    depth, opening = 0, len(demangled)
    while opening > 0:
        opening -= 1
        depth += (demangled[opening] == ")") - (demangled[opening] == "(")
        if depth == 0:
            break
    name = demangled[:opening].replace("(anonymous namespace)::", "")
    name = name.removeprefix("void ").partition("<")[0].rsplit(" ", 1)[-1]
    types = _split(demangled[opening + 1 : -1])
    return name, () if types == ["void"] else tuple(_west(t) for t in types)


def _west(demangled: str) -> str:
    """ "float const*" as people write it: "const float*"."""
    return _EAST_CONST.sub(r"\g<cv> \g<base>", demangled)


def _declared(declared: tuple[Declaration, ...], name: str, count: int) -> Declaration | None:
    base = name.rsplit("::", 1)[-1]
    fitting = [d for d in declared if d.name == base]
    exact = [d for d in fitting if len(d.parameters) == count]
    return next(iter(exact or fitting), None)


def _type(types: tuple[str, ...] | None, told: Declaration | None, index: int) -> str:
    """The compiler's type where it is in the symbol, else the source's, else nothing."""
    if types is not None and index < len(types):
        return types[index]
    return told.parameters[index][0] if told and index < len(told.parameters) else ""


def _name(told: Declaration | None, index: int) -> str:
    return told.parameters[index][1] if told and index < len(told.parameters) else ""


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no bracket; none for an empty text."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if parts or last else []
