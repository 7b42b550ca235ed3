"""What a compiled submission is: the values that cross from the compiler to the backends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from grader.compile.preprocessor import line_of
from grader.launch import Finding, Resources


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter as the source declares it: `type` is C text such as "const float*"."""

    type: str
    name: str
    bytes: int

    @property
    def is_pointer(self) -> bool:
        return self.type.rstrip().endswith("*")


@dataclass(frozen=True)
class Kernel:
    """One `__global__` function: `name` as written, `symbol` as mangled in the PTX."""

    name: str
    symbol: str
    line: int
    parameters: tuple[Parameter, ...]
    resources: Resources = Resources()

    @property
    def signature(self) -> str:
        inside = ", ".join(f"{p.type} {p.name}".strip() for p in self.parameters)
        return f"__global__ void {self.name}({inside})"


@dataclass(frozen=True)
class Program:
    """A compiled `.cu` file.

    `source` is the student's text; `file` the name shown in messages. `debug_ptx` is the `-G`
    variant that diagnostics come from, `ptx` the optimised `-lineinfo` one that counters come
    from; both are PTX text. `warnings` are the compiler's.
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

    def kernel(self, name: str) -> Kernel | None:
        """The kernel of that name, or None."""
        return next((k for k in self.kernels if k.name == name), None)

    def text(self, line: int) -> str:
        """The text of a 1-based line of the source, as messages show it."""
        return line_of(self.source, line).strip()

    def at(self, finding: Finding, line: int) -> Finding:
        """The finding at that line of this file, with the line's text; line 0: no place known."""
        return replace(finding, file=self.file, line=line, text=self.text(line))
