"""Whose line an instruction is: the student's, even where a header's function executes it.

In debug PTX `atomicAdd`, `__syncwarp` and the like are functions of their own, whose lines are
lines of headers. Each call of one gets a copy whose instructions lie at the call, so that what is
found in it is told at the line that the student wrote.
"""

from __future__ import annotations

import re
from dataclasses import replace
from os.path import basename

from grader.sim.ptx import Function, Instruction, Location, Module

_INTRINSICS = re.compile(r"cuda_(?:fp|bf)\d|__nv_nvrtc|sm_\d|(?:device|math|vector)_functions")
"""Headers whose functions stand for instructions, and compute nothing of their own."""
MAX_DEPTH = 50
MAX_COPIES = 2048
OWN = 1
"""The number that the student's file gets, whichever it had in the module."""


def attributed(module: Module, kernel: str) -> dict[str, Function]:
    """The module's functions with every location in the student's file, or nowhere."""
    own = _file_of(module.functions[kernel])
    if not own:
        return dict(module.functions)
    loud = {own, 0} | {n for n, name in module.files.items() if _INTRINSICS.match(basename(name))}
    return _Attribution(module.functions, own, frozenset(loud)).functions


class _Attribution:
    def __init__(self, functions: dict[str, Function], own: int, loud: frozenset[int]) -> None:
        self.own, self.loud = own, loud
        self.copies: dict[tuple[str, int, int], str] = {}
        self.foreign = {n for n, f in functions.items() if _is_foreign(f, own)}
        self.original = functions
        self.functions: dict[str, Function] = {}
        for name, f in functions.items():
            self.functions[name] = (
                replace(f, library=any(map(self.of_library, f.body[-1:])))
                if name in self.foreign
                else self.moved(f, None, 0)
            )

    def of_library(self, i: Instruction) -> bool:
        return i.location.file not in self.loud

    def moved(self, f: Function, at: Location | None, depth: int) -> Function:
        """A copy of `f` with its instructions at `at`, or where the student wrote them."""
        body = []
        for i in f.body:
            location = at or resolved(i.location, self.own)
            operands = self.targets(i, location, depth)
            body.append(Instruction(i.op, operands, i.guard, location, self.of_library(i)))
        return replace(f, body=body)

    def targets(self, i: Instruction, at: Location, depth: int) -> list[str]:
        """The operands, a header's function among them replaced by a copy of its own."""
        if not i.op.startswith("call"):
            return i.operands
        return [self.copied(o, at, depth) if o in self.foreign else o for o in i.operands]

    def copied(self, name: str, at: Location, depth: int) -> str:
        """The name of a header's function for the calls that a place of the student's leads to."""
        key = (name, at.line, at.column)
        if (
            key in self.copies
            or depth >= MAX_DEPTH
            or len(self.copies) >= MAX_COPIES
            or not at.line
        ):
            return self.copies.get(key, name)
        self.copies[key] = new = f"{name}@{len(self.copies) + 1}"
        self.functions[new] = replace(self.moved(self.original[name], at, depth + 1), name=new)
        return new


def resolved(location: Location, own: int) -> Location:
    """The place in the student's file that this code was inlined at; no place if there is none."""
    at: Location | None = location
    while at is not None and at.file != own:
        at = at.inlined
    return Location(OWN, at.line, at.column, at.function) if at else Location()


def _is_foreign(f: Function, own: int) -> bool:
    return f.has_body and not f.entry and not any(resolved(i.location, own).line for i in f.body)


def _file_of(kernel: Function) -> int:
    """The file that a kernel's code is in, at last, where most of it is not from headers."""
    for i in kernel.body:
        at = i.location
        while at.inlined is not None:
            at = at.inlined
        if at.line:
            return at.file
    return 0
