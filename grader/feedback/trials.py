"""Try edits of a submission's source: compile each, and run it on the public cases.

`run` is the entry point of the sandbox. A trial costs some milliseconds, because the compiler takes
most of its time for what all sources share: COMPILED edited sources are compiled as one text, each
in a namespace of its own. A source that does not compile there is compiled alone. A trial ends at
the first launch that is wrong. Nothing here decides that an edit is a fix: what is right here is
graded by the usual pipeline afterwards (grader.feedback.fixes).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from grader import dataclass, regex, replace
from grader.compile.nvrtc import SUCCESS, Nvrtc
from grader.compile.preprocessor import directives
from grader.faults import LabFault
from grader.feedback.ptx_search import ExpectedRun, is_right
from grader.launch import Arrays, unpack_launches
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.instructions import NotSimulated
from grader.simulator.decode.module import decode
from grader.simulator.ptx.model import Module, PtxError
from grader.simulator.ptx.parser import parse

BATCH = 12
"""The sources that are tried before `run` looks whether one of them is right."""

COMPILED = 4 * BATCH
"""The sources that are compiled as one text, at most."""

ATTEMPTS = 3
"""Compilations of one batch, each without the sources that had errors in the one before."""

LAUNCH_SECONDS = 2.0
"""Processor time of one launch, a backstop: the limit of steps ends a trial long before."""

_SPACE = "wgtry"
_EXTERN = regex(r'extern\s*"C"')
_ERROR = regex(rf"^{_SPACE}(\d+)\(\d+\): (?:catastrophic )?error", re.MULTILINE)


@dataclass(frozen=True)
class Trials:
    """What the trials of one request share.

    Attributes:
        compiler: The loaded compiler.
        options: Its options.
        launches: The launches with their correct outputs, in the order in which they are tried.
        steps: The warp instructions that a block may execute.
        names: The submission's name of each kernel that the lab asks for.
        definedness: Whether to detect reads of undefined variables, too.
    """

    compiler: Nvrtc
    options: list[str]
    launches: Sequence[ExpectedRun]
    steps: int
    names: Mapping[str, str]
    definedness: bool

    def outcomes(self, sources: Sequence[str]) -> Iterator[bool]:
        """Yield whether each source computes the correct outputs without a report, in turn."""
        modules = self.together(sources)
        if modules is not None:
            yield from (module is not None and self.computes(module) for module in modules)
        elif len(sources) > BATCH:
            for batch in _batches(sources, BATCH):
                yield from self.outcomes(batch)
        else:
            yield from map(self.alone, sources)

    def together(self, sources: Sequence[str]) -> Iterable[Module | None] | None:
        """Compile sources as one text.

        Returns the module of each source, None for one that does not compile; None where what
        is wrong cannot be told from the others.
        """
        left = list(range(len(sources)))
        for _ in range(ATTEMPTS):
            text = "".join(_in_namespace(sources[k], k) for k in left)
            compiled = self.compiler.compile(text.encode(), "batch.cu", self.options)
            if compiled.code == SUCCESS:
                if (whole := _parsed(compiled.ptx)) is None:
                    return None
                count = range(len(sources))
                return (_only(whole, k) if k in left else None for k in count)
            wrong = {int(number) for number in _ERROR.findall(compiled.log)}
            if not wrong:
                return None
            left = [k for k in left if k not in wrong]
        return None

    def alone(self, source: str) -> bool:
        """Return the same for one source, compiled as it is."""
        compiled = self.compiler.compile(source.encode(), "alone.cu", self.options)
        module = _parsed(compiled.ptx) if compiled.code == SUCCESS else None
        return module is not None and self.computes(module)

    def computes(self, module: Module) -> bool:
        """Return whether the kernels of a module compute the correct outputs.

        To detect undefined variables adds reports and removes none, and makes decoding take twice
        as long: only what is right without it is run with it.
        """
        return self.runs(module, definedness=False) and (
            not self.definedness or self.runs(module, definedness=True)
        )

    def runs(self, module: Module, *, definedness: bool) -> bool:
        """Return whether all launches end without a report and with the correct outputs."""
        machines: dict[str, Machine] = {}
        limits = Limits(self.steps, LAUNCH_SECONDS, stop_at_error=True)
        try:
            for expected in self.launches:
                name = expected.launch.kernel
                if name not in machines:
                    symbol = _symbol(module, self.names.get(name, name))
                    image = decode(module, symbol, core().known, definedness=definedness)
                    machines[name] = Machine(module, image)
                raw = machines[name].run(expected.launch, limits, False)
                if not is_right(raw, expected):
                    return False
        except (NotSimulated, PtxError, LabFault):  # LabFault: it has not the lab's variables
            return False
        return True


def _parsed(ptx: str) -> Module | None:
    """Return a module; None where an edit made a variable too large to be simulated, say."""
    try:
        return parse(ptx)
    except PtxError:
        return None


def _in_namespace(source: str, number: int) -> str:
    """Return a source that can be compiled beside others; its errors name it by its number.

    The macros of an earlier source are undefined first. Headers stay outside of the namespace.
    """
    found = list(directives(source))
    headers = "".join(f"#include {d.text}\n" for d in found if d.name == "include")
    names = (d.text.split("(")[0].split()[:1] for d in found if d.name == "define")
    macros = "".join(f"#undef {name[0]}\n" for name in names if name)
    body = re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", source, flags=re.MULTILINE)
    name = f"{_SPACE}{number}"
    text = f'namespace {name} {{\n#line 1 "{name}"\n{_EXTERN.sub("", body)}\n}}\n'
    return f"{headers}{macros}{text}"


def _only(module: Module, number: int) -> Module:
    """Return the part of a module that comes from one source of its batch."""
    tag = f"{_SPACE}{number}"
    own = f"{len(tag)}{tag}"

    def belongs(name: str) -> bool:
        return _SPACE not in name or own in name

    functions = {name: f for name, f in module.functions.items() if belongs(name)}
    variables = [v for v in module.variables if belongs(v.name)]
    return replace(module, functions=functions, variables=variables)


def _symbol(module: Module, kernel: str) -> str:
    """Return the symbol of a kernel: its name, or the mangled one that has it."""
    part = f"{len(kernel)}{kernel}"
    entries = (name for name, f in module.functions.items() if f.entry)
    found = next((name for name in entries if name == kernel or part in name), None)
    if found is None:
        raise PtxError(f"the PTX has no kernel {kernel}")
    return found


def _batches(sources: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(sources), size):
        yield sources[start : start + size]


def run(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[list[bool], Arrays]:
    """Try the sources of a request in batches, up to the first batch with one that is right.

    Returns whether each source that was tried is right.
    """
    os.chdir(request["folder"])
    launches = []
    for k, launch in enumerate(unpack_launches(request["launches"], arrays)):
        indices = request["right"][k]
        outputs = {i: (arrays[f"{k}.value.{i}"], arrays[f"{k}.bound.{i}"]) for i in indices}
        launches.append(ExpectedRun(launch, outputs))
    compiler = Nvrtc(Path(request["libraries"]))
    given = launches, request["steps"], request["names"], request["definedness"]
    trials = Trials(compiler, request["options"], *given)
    tried: list[bool] = []
    for sources in _batches(request["sources"], COMPILED):
        outcomes = trials.outcomes(sources)
        while part := list(islice(outcomes, BATCH)):
            tried += part
            if any(part):
                return tried, {}
    return tried, {}
