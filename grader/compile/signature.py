"""Check that a program has the kernel and the variable that a lab requires.

A kernel is compared by name and by count and types of its parameters; a variable, which the grader
sets before each launch, by name and size. Where no kernel has the name, the only one with the right
parameters is taken. The lab's arguments also give the parameters of a template their types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from grader import regex, replace
from grader.compile.diagnostics import student_fault
from grader.compile.entries import variable_bytes
from grader.compile.functions import declarations, function_line
from grader.compile.items import Item, is_name
from grader.compile.preprocessor import code
from grader.compile.program import Kernel, Parameter, Program
from grader.compile.syntax import parse
from grader.faults import StudentFault, closest_match, pluralize
from grader.labs.model import ArgumentSpec, KernelSpec
from grader.launch import Finding

_WORD = regex(r"[A-Za-z_]\w*")

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


def with_lab_kernels(program: Program, specs: Sequence[KernelSpec]) -> Program:
    """Return the program with the kernels that a lab asks for first, under the lab's names.

    Raises:
        StudentFault: One is missing, or its parameters differ.
    """
    names = {spec.name for spec in specs}
    chosen = [(check_kernel(program, spec, names), spec.name) for spec in specs]
    notes = tuple(
        f"kernel `{kernel.name}` is graded as `{name}`"
        for kernel, name in chosen
        if _base(kernel.name) != name
    )
    own = [replace(kernel, name=name) for kernel, name in chosen]
    others = [
        k for k in program.kernels if k.name not in names and all(k is not c for c, _ in chosen)
    ]
    return replace(program, kernels=(*own, *others), notes=(*program.notes, *notes))


def check_kernel(
    program: Program, spec: KernelSpec, names: frozenset[str] | set[str] = frozenset()
) -> Kernel:
    """Return the program's kernel that matches `spec`.

    const, __restrict__ and the names of parameters may differ. In a namespace its name counts
    alone. A kernel of another name is taken where it is the only one with these parameters.

    Args:
        program: The submission.
        spec: The kernel that the lab asks for.
        names: The names of all kernels that the lab asks for.

    Raises:
        StudentFault: There is no such kernel, or its parameters differ, with one message.
    """
    named = [k for k in program.kernels if _base(k.name) == spec.name]
    if not named:
        return _of_another_name(program, spec, names)
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


def wrong_order(program: Program, specs: Sequence[KernelSpec]) -> tuple[Finding, ...]:
    """Report the kernels whose parameters are in another order than the lab's.

    They have the lab's names, or those of its pointers, or its pointers to constant data, in
    another order. The order is no error: a student may use the names for other sizes and be right.
    It explains an output that is wrong.
    """
    found = []
    for spec in specs:
        kernel, required = program.kernel(spec.name), [name for _, name in spec.parameters]
        names = [p.name for p in kernel.parameters] if kernel else required
        if kernel and _is_permuted(kernel, spec):
            finding = Finding(
                "compile-warning", "warning",
                f"kernel `{spec.name}` has its parameters in another order: {', '.join(names)}",
                hint=f"declare them in the order of the launch: {', '.join(required)}",
            )  # fmt: skip
            found.append(program.at(finding, kernel.line))
    return tuple(found)


def _is_permuted(kernel: Kernel, spec: KernelSpec) -> bool:
    """Whether the names, those of the pointers, or the pointers' constness are permuted."""
    own = [(p.name, p.type) for p in kernel.parameters]
    lab = [(name, type_) for type_, name in spec.parameters]
    own_pointers, lab_pointers = ([row for row in rows if "*" in row[1]] for rows in (own, lab))
    names = [([n for n, _ in mine], [n for n, _ in theirs])
             for mine, theirs in ((own, lab), (own_pointers, lab_pointers))]  # fmt: skip
    constant = [[str(t.lstrip().startswith("const")) for _, t in rows]
                for rows in (own_pointers, lab_pointers)]  # fmt: skip
    orders = (*names, (constant[0], constant[1]))
    return any(mine != theirs and sorted(mine) == sorted(theirs) for mine, theirs in orders)


def _base(name: str) -> str:
    """A kernel's name without its namespaces."""
    return name.rpartition("::")[2]


def _of_another_name(
    program: Program, spec: KernelSpec, names: frozenset[str] | set[str]
) -> Kernel:
    """The only kernel with the required parameters, of any name that the lab does not use."""
    fitting = [k for k in program.kernels if _base(k.name) not in names and not _misfit(k, spec)]
    if len({kernel.name for kernel in fitting}) == 1 and not _is_declared(program, spec.name):
        return fitting[0]
    raise _missing(program, spec, fitting)


def _is_declared(program: Program, name: str) -> bool:
    """Whether the source has a function of that name, which is then the one to correct."""
    tree = parse(code(program.source))
    return bool(function_line(tree, name)) or any(d.name == name for d in declarations(tree))


def _misfit(kernel: Kernel, spec: KernelSpec) -> str:
    """What is wrong with the kernel's parameters, as a predicate; empty when they match."""
    count, expected = len(kernel.parameters), len(spec.parameters)
    if count != expected:
        return f"has {count} parameter{'s' * (count != 1)}, the lab requires {expected}"
    names = [p.name for p in kernel.parameters]
    required = [name for _, name in spec.parameters]
    for index, ((type_, name), own) in enumerate(
        zip(spec.parameters, kernel.parameters, strict=True), 1
    ):
        if problem := _differs(own, type_):
            if names != required and sorted(names) == sorted(required):
                return "has its parameters in another order: " + ", ".join(names)
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
    if not stars and not own_stars and _is_wider(own_base, base):
        return ""  # as a launch in C++ converts it
    if known and "&" in own.type:
        return f"it is a reference, `{own.type}`: a kernel has its values by value, `{required}`"
    if known and bool(stars) != bool(own_stars):
        kinds = ("a value", "a pointer")
        is_, must = kinds[own_stars > 0], kinds[stars > 0]
        return f"it is {is_}, `{own.type}`, and must be {must}, `{required}`"
    if own.bytes != bytes_:
        return f"`{own.type}` has {pluralize(own.bytes, 'byte')}, `{required}` has {bytes_}"
    if known and (own_stars != stars or not _alike(own_base, base)):
        return f"it is `{own.type}` and must be `{required}`"
    return ""


def _is_wider(own: str, required: str) -> bool:
    """Whether the parameter is a wider integer than the lab's: it has the same values."""
    bytes_ = [
        0 if base in (*_FLOATING, "bool") else _BYTES.get(base, 0) for base in (own, required)
    ]
    return 0 < bytes_[1] < bytes_[0]


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
    words = re.sub(r"\[[^\]]*\]|[*&()]|\b(?:const|volatile|struct|enum|__restrict__)\b", " ", text)
    base = " ".join(words.split()).removeprefix("std::").removeprefix("::")
    return _SPELLINGS.get(base, base), stars


def _missing(program: Program, spec: KernelSpec, fitting: Sequence[Kernel] = ()) -> StudentFault:
    tree = parse(code(program.source))
    head = f"there is no kernel `{spec.name}`"
    declared = next((d for d in declarations(tree) if d.name == spec.name), None)
    if declared and declared.template:
        what = f"kernel `{spec.name}` is a template, and the file does not say for which arguments"
        form = f"template __global__ void {spec.name}<...>(...);"
        fix = f"write it for the lab's types, or add `{form}` with arguments"
        return _refused(program, spec, what, declared.line, fix)
    if declared and not declared.defined:
        what = f"kernel `{spec.name}` is declared, not defined"
        return _refused(program, spec, what, declared.line, "write its body")
    if line := function_line(tree, spec.name):
        what = f"function `{spec.name}` is not a kernel"
        return _refused(program, spec, what, line, "put __global__ before it")
    if len(fitting) > 1:
        which = " and ".join(f"`{k.name}` (line {k.line})" for k in fitting[:4])
        fix = f"rename the one to grade to `{spec.name}`"
        return _refused(program, spec, f"{head}: {which} have its parameters", fitting[0].line, fix)
    names = [k.name for k in program.kernels]
    if not names:
        return _refused(program, spec, head + ": the file has no __global__ function", 0)
    alike = [k.name for k in program.kernels if _is_alike(k, spec)]
    meant = alike or names  # of similar names, the kernel with such parameters is meant
    similar = closest_match(spec.name, meant, 0.5) or (meant[0] if len(meant) == 1 else "")
    if not similar:
        return _refused(program, spec, f"{head}, only {', '.join(names)}", 0)
    kernel = next(k for k in program.kernels if k.name == similar)
    fix, problem = f"rename `{kernel.name}` to `{spec.name}`", _misfit(kernel, spec)
    if problem and alike:
        fix, head = f"declare it as {spec.signature}", f"{head}, and `{kernel.name}` {problem}"
    return _refused(program, spec, head, kernel.line, fix, kernel.signature)


def _is_alike(kernel: Kernel, spec: KernelSpec) -> bool:
    """Whether a kernel has pointers and values where the lab has them."""
    own = ["*" in p.type for p in kernel.parameters]
    return own == ["*" in type_ for type_, _ in spec.parameters]


def _refused(
    program: Program, spec: KernelSpec, what: str, line: int, fix: str = "", found: str = ""
) -> StudentFault:
    detail = f"expected: {spec.signature}"
    detail += "".join(f"\n{note}" for note in program.notes)
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


def template_parameters(item: Item) -> list[str]:
    """Return the names of a template's parameters."""
    names, depth, word, defaulted = [], 0, "", False
    for token, _ in item.head[1:]:
        depth += (token == "<") - (token == ">")
        if token in (",", ">", "=") and depth <= 1 and not defaulted and is_name(word):
            names.append(word)
        defaulted = token == "=" or (defaulted and token != ",")
        if depth == 0:
            break
        word = token
    return names


def deduced_types(
    names: Sequence[str], types: tuple[str, ...], spec: KernelSpec | None
) -> dict[str, str]:
    """Return the types that the lab's arguments give to a template's parameters."""
    found: dict[str, str] = {}
    if spec is None or len(spec.parameters) != len(types):
        return found
    for own, (required, _) in zip(types, spec.parameters, strict=True):
        base = re.sub(r"\bconst\b|[*&\s]", " ", own).strip()
        if base in names:
            found.setdefault(base, re.sub(r"\bconst\b|[*&]", " ", required).strip())
    return found


def substituted(type_: str, values: Mapping[str, str]) -> str:
    """Return a type with the values of the parameters in it."""
    return _WORD.sub(lambda word: values.get(word[0], word[0]), type_)
