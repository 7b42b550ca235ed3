"""Decode the PTX of a program: one variant of each kernel for `-G` code, one for optimized code."""

from __future__ import annotations

from dataclasses import field

from grader import dataclass
from grader.compile.program import Kernel, Program
from grader.launch import Finding
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Machine
from grader.simulator.decode.instructions import NotSimulated, refused_attribute, with_call
from grader.simulator.decode.module import decode
from grader.simulator.diagnose.aborts import not_simulated, unread_ptx
from grader.simulator.ptx.model import Location, Module, PtxError
from grader.simulator.ptx.parser import parse
from grader.simulator.ptx.ptxas import assembled


@dataclass(frozen=True)
class Variant:
    """A decoded PTX variant of a kernel; `counts` tells whether it is the optimized one."""

    machine: Machine
    counts: bool


@dataclass(frozen=True)
class Variants:
    """What was decoded of a program.

    Attributes:
        kernels: the variants of each kernel by symbol, or the finding that prevents its simulation.
        modules: the parsed PTX of each variant, by `counts`, which all kernels share.
        apart: the debug variant of a kernel with a copy of a function for each call.
    """

    kernels: dict[str, tuple[Variant, ...] | Finding] = field(default_factory=dict)
    modules: dict[bool, Module] = field(default_factory=dict)
    apart: dict[str, Variant] = field(default_factory=dict)

    def apart_of(self, kernel: str) -> Variant:
        """The debug variant of a kernel with a copy of a function for each call."""
        if kernel not in self.apart:
            module = self.modules[False]
            image = decode(module, kernel, core().known, definedness=True, apart=True)
            self.apart[kernel] = Variant(Machine(module, image), counts=False)
        return self.apart[kernel]


def decode_variants(
    program: Program, kernel: Kernel, modules: dict[bool, Module]
) -> tuple[Variant, ...] | Finding:
    """Decode a kernel with what was parsed of the program before; `modules` gets the rest."""
    variants = []
    for text, counts in ((program.debug_ptx, False), (program.ptx, True)):
        if not text:  # only the counters are wanted
            continue
        try:
            known = modules.get(counts) or (assembled(parse(text)) if counts else parse(text))
            module = modules[counts] = known
            module.subscripts, module.source = program.subscripts, program.source
            if refused := refused_attribute(module.functions[kernel.symbol].limits):
                raise NotSimulated(refused)
            image = decode(module, kernel.symbol, core().known, definedness=not counts)
            variants.append(Variant(Machine(module, image), counts))
        except NotSimulated as error:
            location = next((a for a in error.args[1:] if isinstance(a, Location)), Location())
            return _not_simulated(program, str(error.args[0]), location.line or kernel.line)
        except PtxError as error:
            return program.at(unread_ptx(error), error.line)
    return tuple(variants)


def _not_simulated(program: Program, what: str, line: int) -> Finding:
    return program.at(not_simulated(with_call(what, program.text(line))), line)
