"""Check that a program has the kernel and the variable that a lab requires.

A kernel is compared by name and by count, order and types of its parameters; a variable, which the
grader sets before each launch, by name and size.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

import numpy as np

from grader.compile.diagnostics import student_fault
from grader.compile.entries import variable_bytes
from grader.compile.functions import declarations, function_line
from grader.compile.preprocessor import code
from grader.compile.program import Kernel, Parameter, Program
from grader.compile.syntax import parse
from grader.faults import StudentFault, closest_match
from grader.labs.model import ArgumentSpec, KernelSpec
from grader.launch import Finding

_SPELLINGS: Mapping[str, str] = {
    "unsigned": "unsigned int",
    "signed": "int",
    "signed int": "int",
    "uint": "unsigned int",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "short int": "short",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "uchar": "unsigned char",
    "long int": "long",
    "long long int": "long",
    "long long": "long",
    "int64_t": "long",
    "ptrdiff_t": "long",
    "unsigned long long": "unsigned long",
    "unsigned long long int": "unsigned long",
    "uint64_t": "unsigned long",
    "size_t": "unsigned long",
    "half": "__half",
}
_BYTES: Mapping[str, int] = {
    "bool": 1,
    "char": 1,
    "signed char": 1,
    "unsigned char": 1,
    "short": 2,
    "unsigned short": 2,
    "__half": 2,
    "__nv_bfloat16": 2,
    "int": 4,
    "unsigned int": 4,
    "float": 4,
    "long": 8,
    "unsigned long": 8,
    "double": 8,
}
_C_TYPES: Mapping[str, str] = {
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
_FLOATING = ("float", "double", "__half", "__nv_bfloat16")
_POINTER_BYTES = 8


def check_kernel(program: Program, spec: KernelSpec) -> Kernel:
    """Return the program's kernel that matches `spec`.

    const, __restrict__ and the names of parameters may differ.

    Raises:
        StudentFault: There is no such kernel, or its parameters differ, with one message.
    """
    named = [k for k in program.kernels if k.name == spec.name]
    if not named:
        raise _missing(program, spec)
    problems = [_misfit(kernel, spec) for kernel in named]  # more than one: overloads
    if "" in problems:
        return named[problems.index("")]
    kernel, problem = named[0], problems[0]
    raise _refused(
        program, spec, f"kernel `{spec.name}` {problem}", kernel.line, found=kernel.signature
    )


def check_variable(program: Program, spec: ArgumentSpec) -> None:
    """Check that a `__constant__` or `__device__` variable of that name and size is at file scope.

    Args:
        program: The submission.
        spec: The variable; the entries of its `shape` are whole numbers.

    Raises:
        StudentFault: There is none, with one message.
    """
    shape = tuple(int(extent) for extent in spec.shape)
    expected = prod(shape) * np.dtype(spec.dtype).itemsize
    actual = variable_bytes(program.ptx, spec.name)
    if actual == expected:
        return
    written = f"__constant__ {_C_TYPES[spec.dtype]} {spec.name}{_extents(shape)};"
    if actual is None:
        what = f"there is no variable `{spec.name}`: the grader cannot set it"
    else:
        what = f"`{spec.name}` has {actual} bytes, the lab requires {expected}"
    line = _first_line(program.source, spec.name) if actual is not None else 0
    hint = f"write `{written}` outside of all functions and namespaces"
    finding = Finding("compile-error", "error", what, hint=hint)
    raise student_fault((program.at(finding, line),), what)


def _misfit(kernel: Kernel, spec: KernelSpec) -> str:
    """What is wrong with the kernel's parameters, as a predicate; empty when they match."""
    count, expected = len(kernel.parameters), len(spec.parameters)
    if count != expected:
        return f"has {count} parameter{'s' * (count != 1)}, the lab requires {expected}"
    names = [p.name for p in kernel.parameters]
    required = [name for _, name in spec.parameters]
    if names != required and sorted(names) == sorted(required):
        return "has its parameters in another order: " + ", ".join(names)
    for index, ((type_, name), own) in enumerate(
        zip(spec.parameters, kernel.parameters, strict=True), 1
    ):
        if problem := _differs(own, type_):
            return f"has a wrong parameter {index}, `{own.name or name}`: {problem}"
    return ""


def _differs(own: Parameter, required: str) -> str:
    """Why a value of type `required` cannot be passed for the parameter; empty when it can.

    Of an unknown type, such as a typedef of an extern "C" kernel, only the size is compared.
    """
    base, stars = _shape(required)
    own_base, own_stars = _shape(own.type)
    bytes_ = _POINTER_BYTES if stars else _BYTES.get(base, own.bytes)
    known = own_stars or own_base in _BYTES
    if known and bool(stars) != bool(own_stars):
        kinds = ("a value", "a pointer")
        is_, must = kinds[own_stars > 0], kinds[stars > 0]
        return f"it is {is_}, `{own.type}`, and must be {must}, `{required}`"
    if own.bytes != bytes_:
        return f"`{own.type}` has {own.bytes} bytes, `{required}` has {bytes_}"
    if known and (own_stars != stars or not _alike(own_base, base)):
        return f"it is `{own.type}` and must be `{required}`"
    return ""


def _alike(one: str, other: str) -> bool:
    """Whether two types have the same representation, signs aside; unknown types may have."""
    if "void" in (one, other) or one not in _BYTES or other not in _BYTES:
        return one == other or "void" in (one, other) or not _builtin(one) or not _builtin(other)
    floating = (one in _FLOATING, other in _FLOATING)
    return _BYTES[one] == _BYTES[other] and (one == other or floating == (False, False))


def _builtin(base: str) -> bool:
    """Whether the type is known: a number, or one of CUDA's vector types."""
    return base in _BYTES or bool(re.fullmatch(r"u?[a-z]+[1-4]|dim3", base))


def _shape(text: str) -> tuple[str, int]:
    """(element type in its canonical spelling, number of pointers and array dimensions)."""
    stars = text.count("*") + text.count("&") + text.count("[")
    words = re.sub(r"\[[^\]]*\]|[*&]|\b(?:const|volatile|struct|enum|__restrict__)\b", " ", text)
    base = " ".join(words.split()).removeprefix("std::").removeprefix("::")
    return _SPELLINGS.get(base, base), stars


def _missing(program: Program, spec: KernelSpec) -> StudentFault:
    tree = parse(code(program.source))
    head = f"there is no kernel `{spec.name}`"
    declared = next((d for d in declarations(tree) if d.name == spec.name), None)
    if declared and declared.template:
        what = f"kernel `{spec.name}` is a template"
        return _refused(program, spec, what, declared.line, "write it for the lab's types")
    if declared and not declared.defined:
        what = f"kernel `{spec.name}` is declared, not defined"
        return _refused(program, spec, what, declared.line, "write its body")
    if line := function_line(tree, spec.name):
        what = f"function `{spec.name}` is not a kernel"
        return _refused(program, spec, what, line, "put __global__ before it")
    names = [k.name for k in program.kernels]
    if not names:
        return _refused(program, spec, head + ": the file has no __global__ function", 0)
    similar = closest_match(spec.name, names, 0.5) or (names[0] if len(names) == 1 else "")
    if not similar:
        return _refused(program, spec, f"{head}, only {', '.join(names)}", 0)
    kernel = next(k for k in program.kernels if k.name == similar)
    fix = f"rename `{kernel.name}` to `{spec.name}`"
    return _refused(program, spec, head, kernel.line, fix, kernel.signature)


def _refused(
    program: Program, spec: KernelSpec, what: str, line: int, fix: str = "", found: str = ""
) -> StudentFault:
    detail = f"expected: {spec.signature}"
    if found:
        detail += f"\nfound:    {found}" + (f"  (line {line})" if line else "")
    hint = fix or f"declare it as {spec.signature}"
    finding = Finding("compile-error", "error", what, hint=hint, detail=detail)
    return student_fault((program.at(finding, line),), what)


def _first_line(source: str, name: str) -> int:
    """The first line that contains a name; 0 when there is none."""
    words = parse(code(source)).leaves()
    return next((word.line for word in words if word.text == name), 0)


def _extents(shape: tuple[int, ...]) -> str:
    return "".join(f"[{extent}]" for extent in shape)
