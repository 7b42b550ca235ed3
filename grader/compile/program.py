"""The compiled submission: the values that the compiler passes to the backends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from grader import dataclass, replace
from grader.compile.preprocessor import line_of
from grader.launch import Finding, Resources

SHAPE = "_shape_"
"""The end of the names of pointers that the debug build has for variables' types: see unset.py."""


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter as the source declares it; `type` is C text such as "const float*".

    `align` is its alignment in bytes; 0 where it is not known.
    """

    type: str
    name: str
    bytes: int
    align: int = 0

    @property
    def is_pointer(self) -> bool:
        """Whether its type is a pointer, also one to arrays: "float(*)[4]"."""
        return self.type.rstrip().endswith("*") or "(*" in self.type.rpartition(")[")[0]

    @property
    def declaration(self) -> str:
        """Its type and name as a student would write them."""
        before, pointer, extents = self.type.partition("(*)")
        if pointer:
            return f"{before} (*{self.name}){extents}"
        return f"{self.type} {self.name}".strip()


@dataclass(frozen=True)
class Kernel:
    """A `__global__` function.

    Attributes:
        name: Its name in the source.
        symbol: Its mangled name in the PTX.
        line: The line of its name, from 1; 0 when unknown.
        parameters: Its parameters.
        resources: What the assembler reported that it needs.
    """

    name: str
    symbol: str
    line: int
    parameters: tuple[Parameter, ...]
    resources: Resources = Resources()

    @property
    def signature(self) -> str:
        """Its declaration as a student would write it."""
        inside = ", ".join(p.declaration for p in self.parameters)
        return f"__global__ void {self.name}({inside})"


@dataclass(frozen=True)
class Subscript:
    """A constant subscript, or a sum as in `*(a + 4)`, that the compiler knows to be outside.

    Attributes:
        line, column: Where its expression starts, or a negative index or the sign, from 1.
        instances: The instances of a template in which it is outside; 0 in no template.
    """

    line: int
    column: int
    instances: int = 0


@dataclass(frozen=True)
class Program:
    """A compiled `.cu` file.

    Attributes:
        file: The name that messages show.
        source: The text that was compiled: the student's, without host code.
        kernels: Its kernels.
        debug_ptx: PTX text compiled with `-G`, which diagnostics come from.
        ptx: Optimized PTX text compiled with `-lineinfo`, which counters come from.
        architecture: The architecture it is compiled for, such as "sm_90".
        warnings: The compiler's warnings.
        toolchain: The compiler's release, by tool.
        seconds: How long the compilation took.
        notes: What the grader did to compile it, such as setting host code aside.
        subscripts: The subscripts that are outside their arrays if they are executed.
    """

    file: str
    source: str
    kernels: tuple[Kernel, ...]
    debug_ptx: str
    ptx: str
    architecture: str
    warnings: tuple[Finding, ...] = ()
    toolchain: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    subscripts: tuple[Subscript, ...] = ()

    def kernel(self, name: str) -> Kernel | None:
        """Return the kernel of that name; None when there is none."""
        return next((k for k in self.kernels if k.name == name), None)

    def text(self, line: int) -> str:
        """Return the text of a 1-based line of the source, as messages show it."""
        return line_of(self.source, line).strip()

    def at(self, finding: Finding, line: int) -> Finding:
        """Return the finding at that line of this file, with the line's text; 0 for no line."""
        return replace(finding, file=self.file, line=line, text=self.text(line))
