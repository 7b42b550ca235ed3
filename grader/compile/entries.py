"""Read kernels, variables and resources from PTX, demangled names and the assembler's report.

None of these is source text. PTX and demangled names have a fixed form, one item a line or a list
with commas, which regular expressions read. A student's inline assembly is part of the PTX, so none
of them may scan across lines: it would read a long run of blank lines once for each line. Numbers
have a limited length, because Python refuses to read one of thousands of digits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from grader import regex
from grader.compile.diagnostics import error_at
from grader.compile.functions import Declaration
from grader.compile.program import Kernel, Parameter
from grader.launch import Finding, Resources

MAX_CONSTANT = 64 << 10  # CUDA C++ Programming Guide, technical specifications
MAX_STATIC_SHARED = 48 << 10  # CUDA C++ Programming Guide, technical specifications

_ENTRY = regex(r"^(?:\.visible |\.weak |\.extern )*\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?", re.M)
_PARAM = regex(
    r"\.param\s+(?:\.align\s+(?P<align>\d{1,4})\s+)?\.[a-z]+(?P<bits>\d{1,4})\b[^\[]*?(?:\[(?P<count>\d{1,18})\])?\s*$"
)
_EAST_CONST = regex(r"^(?P<base>[^*&]*?) (?P<cv>const volatile|const|volatile)(?=[*&]|$| \()")
_CONSTANT = regex(r"\.const\s+(?:\.align\s+\d+\s+)?\.[a-z](\d{1,4})\s+[\w$]+(?:\[(\d{1,18})\])?")
_FUNCTION = regex(r"ptxas info\s*: Compiling entry function '([^']+)'")
_STACK = regex(r"(?<!\d)(\d{1,18}) bytes (?:stack frame|cumulative stack size)")
_USED = regex(r"Used (\d{1,9}) registers")
_SHARED = regex(r"(?<!\d)(\d{1,18}) bytes smem")
_BITS = regex(r"\d{1,4}")
_FILE = regex(r"^[ \t]*\.file[ \t]+(\d+)[ \t]+\"([^\"\n]*)\"", re.M)
_LOCATION = regex(r"\s*\.loc\s+(\d{1,9})\s+(\d{1,9})\b")
_ACCESS = regex(r"\s*(?:@!?%\w+\s+)?(?:ld|st)\.(?:volatile\.)?local\b")


def kernels(
    ptx: str, names: Mapping[str, str], declared: tuple[Declaration, ...], log: str
) -> tuple[Kernel, ...]:
    """Return the kernels of a PTX text in its order.

    Args:
        ptx: The text.
        names: The C++ name of each mangled symbol, as a demangler writes it.
        declared: The kernels that the source declares.
        log: The assembler's verbose report.
    """
    used = resources(log)
    by_name = _by_name(declared)
    result = []
    for entry in _ENTRY.finditer(ptx):
        symbol = entry[1]
        sizes = tuple(_size(p) for p in _split(entry[2] or ""))
        name, types = _name_and_types(names.get(symbol, symbol))
        base = name.rsplit("::", 1)[-1]
        source = by_name.get((base, len(sizes))) or by_name.get((base, None))
        parameters = tuple(
            Parameter(_type(types, source, i), _parameter_name(source, i), *size)
            for i, size in enumerate(sizes)
        )
        line = source.line if source else 0
        result.append(Kernel(name, symbol, line, parameters, used.get(symbol, Resources())))
    return tuple(result)


def resources(log: str) -> dict[str, Resources]:
    """Return the resources of each kernel, by symbol, from the log of `--ptxas-options=-v`.

    A function that is called by a pointer, or that calls itself, has a stack frame of its own. The
    report of a kernel lists those of all functions that it may call.
    """
    result = {}
    parts = _FUNCTION.split(log)
    for symbol, report in zip(parts[1::2], parts[2::2], strict=True):
        used, shared = (p.search(report) for p in (_USED, _SHARED))
        result[symbol] = Resources(
            registers=int(used[1]) if used else None,
            static_shared_bytes=int(shared[1]) if shared else 0,
            local_bytes=max(map(int, _STACK.findall(report)), default=0),
        )
    return result


def variable_bytes(ptx: str, name: str) -> int | None:
    """Return the bytes of a variable at module scope; None when there is none of that name."""
    match = _variable(ptx, name)
    if match is None:
        return None
    bits = _BITS.search(match["type"])
    return int(bits[0]) // 8 * int(match["count"] or 1) if bits else None


def is_constant(ptx: str, name: str) -> bool:
    """Return whether a variable at module scope is in constant memory."""
    match = _variable(ptx, name)
    return match is not None and match["space"] == "const"


def _variable(ptx: str, name: str) -> re.Match[str] | None:
    return re.search(
        rf"^(?:\.\w+ )*\.(?P<space>const|global)(?: \.align \d+)? \.(?P<type>\w+) "
        rf"{re.escape(name)}"
        r"(?:\[(?P<count>\d{1,18})\])?(?: =|;)",
        ptx,
        re.MULTILINE,
    )


def local_memory_line(ptx: str, symbol: str, file: str) -> int:
    """Return the line of `file` with most accesses of local memory in the kernel of that symbol.

    Returns:
        The first such line; 0 when the PTX has no such access, as when only the assembler spills
        registers.
    """
    body = re.search(rf"\.entry\s+{re.escape(symbol)}\b.*?\n\}}", ptx, re.S)
    own = {number for number, name in _FILE.findall(ptx) if name.rpartition("/")[2] == file}
    place, accesses = ("", 0), Counter[int]()
    for text in body[0].splitlines() if body else ():
        if location := _LOCATION.match(text):
            place = (location[1], int(location[2]))
        elif _ACCESS.match(text) and place[0] in own and place[1]:
            accesses[place[1]] += 1
    return max(accesses, key=lambda line: accesses[line], default=0)


def exceeded_memory(
    log: str, debug_ptx: str, debug_kernels: tuple[Kernel, ...], text: str, name: str
) -> tuple[Finding, ...]:
    """The failures for which the compiler reports no error.

    These are too much static shared memory and too much constant memory. Nothing is returned for
    a failure without a known cause, which can be the machine's.
    """
    lines = {kernel.symbol: kernel for kernel in debug_kernels}
    errors = []
    for symbol, used in resources(log).items():
        declared = used.static_shared_bytes or 0
        if declared > MAX_STATIC_SHARED and symbol in lines:
            kernel = lines[symbol]
            message = (
                f"kernel `{kernel.name}` declares {declared:,} bytes of static shared memory, "
                f"a block can have {MAX_STATIC_SHARED:,}"
            )
            hint = "use smaller tiles, or an extern __shared__ array whose size the launch sets"
            errors.append(error_at(message, name, kernel.line, text, hint=hint))
    constant = _constant_bytes(debug_ptx)
    if not errors and constant > MAX_CONSTANT:
        message = (
            f"the file declares {constant:,} bytes of constant memory, "
            f"a program can have {MAX_CONSTANT:,}"
        )
        hint = "declare large __constant__ arrays as __device__ const arrays"
        errors.append(error_at(message, name, 0, text, hint=hint))
    return tuple(errors)


def _constant_bytes(ptx: str) -> int:
    """Return the bytes of all variables in constant memory."""
    rows = _CONSTANT.findall(ptx)
    return sum(int(bits) // 8 * int(count or 1) for bits, count in rows)


def _size(declaration: str) -> tuple[int, int]:
    """A PTX parameter's bytes and alignment: ".param .align 4 .b8 k_param_3[8]" has 8 and 4."""
    match = _PARAM.search(declaration.strip())
    if match is None:
        return 0, 0
    element = int(match["bits"]) // 8
    return element * int(match["count"] or 1), int(match["align"] or element)


def _name_and_types(demangled: str) -> tuple[str, tuple[str, ...] | None]:
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
    return name, () if types == ["void"] else tuple(_const_first(t) for t in types)


def _const_first(demangled: str) -> str:
    """The type "float const*" in the usual order: "const float*"."""
    usual = _EAST_CONST.sub(r"\g<cv> \g<base>", demangled)
    return usual.replace(" (*) [", "(*)[").replace("] [", "][")


def _by_name(declared: tuple[Declaration, ...]) -> dict[tuple[str, int | None], Declaration]:
    """The first declaration of each name and number of parameters, and of each name (None)."""
    result: dict[tuple[str, int | None], Declaration] = {}
    for one in declared:
        result.setdefault((one.name, len(one.parameters)), one)
        result.setdefault((one.name, None), one)
    return result


def _type(types: tuple[str, ...] | None, source: Declaration | None, index: int) -> str:
    """The compiler's type where the symbol has it, else the source's, else ""."""
    if types is not None and index < len(types):
        return types[index]
    return source.parameters[index][0] if source and index < len(source.parameters) else ""


def _parameter_name(source: Declaration | None, index: int) -> str:
    return source.parameters[index][1] if source and index < len(source.parameters) else ""


def _split(text: str) -> list[str]:
    """Split at the commas outside of brackets; no parts for an empty text."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if parts or last else []
