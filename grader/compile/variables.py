"""Whether a program has the variable that a lab sets before each launch: its name and its size."""

from __future__ import annotations

import re
from math import prod

import numpy as np

from grader.compile.diagnostics import fault
from grader.compile.lexical import code, line_at
from grader.compile.program import Program
from grader.lab import ArgumentSpec
from grader.launch import Finding

_C_TYPES = {
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float16": "__half",
    "float32": "float",
    "float64": "double",
}
_BITS = re.compile(r"\d+")


def check_variable(program: Program, spec: ArgumentSpec) -> None:
    """StudentFault with one message when no `__constant__` or `__device__` variable of that name
    and size stands at the file's top level; `spec.shape` is whole numbers."""
    shape = tuple(int(extent) for extent in spec.shape)
    due = prod(shape) * np.dtype(spec.dtype).itemsize
    found = variable_bytes(program.ptx, spec.name)
    if found == due:
        return
    written = f"__constant__ {_C_TYPES[spec.dtype]} {spec.name}{_extents(shape)};"
    if found is None:
        what = f"there is no variable `{spec.name}`: the grader cannot set it"
    else:
        what = f"`{spec.name}` has {found} bytes, the lab asks for {due}"
    bare = code(program.source)
    named = re.search(rf"\b{re.escape(spec.name)}\b", bare)
    line = line_at(bare, named.start()) if named and found is not None else 0
    hint = f"write `{written}` outside of all functions and namespaces"
    finding = Finding("compile-error", "error", what, hint=hint)
    raise fault((program.at(finding, line),), what)


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


def _extents(shape: tuple[int, ...]) -> str:
    return "".join(f"[{extent}]" for extent in shape)
