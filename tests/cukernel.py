"""Kernels with their launch and right answer in comments, for data-driven tests.

A line `// kernel NAME grid 2 block 64,2 [shared 256] [tol 1e-6] [cooperative yes] [orders wrong]`
begins a case: the last for one whose outputs are right in the usual order of blocks and warps only.
Below it, in the order of the kernel's parameters,

    // in NAME DTYPE = EXPRESSION           an array that the kernel reads
    // out NAME DTYPE = EXPRESSION          an uninitialized one, and what must be in it
    // inout NAME DTYPE = START -> RESULT   both; `-> _` when its end is not looked at
    // value NAME DTYPE = EXPRESSION        a scalar
    // texture NAME DTYPE [KEY WORD]... = EXPRESSION          an object with an array of its own
    // texture NAME of OTHER [KEY WORD]...                    one of the array of another argument
    // surface NAME DTYPE [KEY WORD]... = START -> RESULT     `_` as START: uninitialized

with the keys of LAUNCH.yaml (channels 4, layered yes, memory linear, address wrap,clamp, filter
linear, normalized yes, read normalized);
and, in any place, `// global NAME DTYPE = EXPRESSION` for a `__constant__` or `__device__`
variable, `// prints TEXT` for what printf leaves (an escape \\n ends a line), and
`// finds KIND SEVERITY TEXT` for a finding whose message has that text: a case with one of these
needs no output; and behind a line of the kernel `// <- KIND`: a finding must be at one of the
lines that are marked so, and none may be of another kind. `// hints TEXT`: the first finding is at
such a line, and its hint has that text; `N<` in it stands for the number of the line that ends in
`// <N`.

Expressions are NumPy's, with `np`, `rng` (seeded) and the arrays above by name; a case is one
file's kernel, and a file may have any number of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from grader.checks.causes import sort_findings
from grader.compile.program import Program
from grader.launch import Argument, Array, Launch, Scalar, Texture, Trace
from grader.simulator.simulate import simulate
from grader.simulator.variants import Variants
from tests.trusted import compiled_here

_CASE = re.compile(r"^// kernel (\w+) (.*)$")
_LINE = re.compile(r"^// (in|out|inout|value|global) (\w+) (\w+) = (.*)$")
_OBJECT = re.compile(r"^// (texture|surface) (\w+) (\w+)((?: [\w,]+)*?)(?: = (.*))?$")
_SAYS = re.compile(r"^// (prints|finds|hints) (.*)$")
_MARK = re.compile(r"  // (?:<(\w) )?<- ([\w-]+)$")
_NAMED = re.compile(r"  // <(\w)(?: <-.*)?$")


@dataclass
class Case:
    """One kernel of a file, its launch, and what it must leave behind."""

    path: Path
    kernel: str
    options: dict[str, str]
    args: list[Argument] = field(default_factory=list)
    globals: dict[str, Any] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    expected: dict[int, Any] = field(default_factory=dict)
    prints: list[str] = field(default_factory=list)
    finds: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    marks: set[tuple[str, int]] = field(default_factory=set)
    hidden: dict[str, Array] = field(default_factory=dict)
    arrays: dict[str, str] = field(default_factory=dict)
    expected_texels: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.path.stem}-{self.kernel}"

    @property
    def launch(self) -> Launch:
        args = (*self.args, *self.hidden.values())
        places = {a.name: k for k, a in enumerate(args) if isinstance(a, Array)}
        own = [
            replace(a, array=places[self.arrays[a.name]]) if isinstance(a, Texture) else a
            for a in args
        ]
        return Launch(
            self.kernel,
            _dims(self.options["grid"]),
            _dims(self.options["block"]),
            tuple(own),
            int(self.options.get("shared", "0")),
            self.globals,
            cooperative=self.options.get("cooperative") == "yes",
            hidden=len(self.hidden),
            large_shared=self.options.get("large_shared") == "yes",
        )

    def add_object(self, role: str, name: str, kind: str, words: str, text: str | None) -> None:
        """Add a texture or surface object, and the array of its own."""
        keys = words.split()
        other = keys.pop(0) if kind == "of" else name
        given = dict(zip(keys[::2], keys[1::2], strict=True))
        before = next((a for a in self.args if a.name == other and isinstance(a, Texture)), None)
        texture = before or Texture(name, -1)
        address = tuple(given.get("address", "clamp").split(","))
        self.args.append(
            replace(
                texture,
                name=name,
                surface=role == "surface",
                memory=given.get("memory", texture.memory),
                channels=int(given.get("channels", texture.channels)),
                layered=given.get("layered", "yes" if texture.layered else "") == "yes",
                address=address if len(address) > 1 else address * 3,
                interpolated=given.get("filter") == "linear",
                normalized=given.get("normalized") == "yes",
                read_float=given.get("read") == "normalized",
            )
        )
        self.arrays[name] = self.arrays.get(other, other)
        if text is None:
            return
        start, _, end = text.partition(" -> ")
        shown = end.strip() not in ("", "_")
        data = None if start == "_" else np.asarray(self.value(start), np.dtype(kind))
        if data is not None:
            self.names[name] = data
        right = np.asarray(self.value(end), np.dtype(kind)) if shown else data
        assert right is not None
        self.hidden[name] = Array(name, right.shape, kind, data, role == "surface")
        if shown:
            self.expected_texels[name] = right

    def add(self, role: str, name: str, kind: str, text: str) -> None:
        dtype = np.dtype(kind)
        start, _, end = text.partition(" -> ")
        value = np.asarray(self.value(start), dtype)
        if role == "global":
            self.globals[name] = value
        elif role == "value":
            self.names[name] = value.item()
            self.args.append(Scalar(name, value.item(), kind))
        else:
            self.names[name] = value
            data = None if role == "out" else value
            self.args.append(Array(name, value.shape, kind, data, role != "in"))
            if end.strip() != "_" and role != "in":
                right = self.value(end) if end else value
                self.expected[len(self.args) - 1] = np.asarray(right, dtype)

    def value(self, text: str) -> Any:
        names = {"np": np, "rng": np.random.default_rng(7), **self.names}
        return eval(text, names)

    def trace(self, variant: str) -> Trace:
        """What the launch does; outputs are those of the `variant`, "optimised" or "debug"."""
        program, decoded = _decoded(self.path, variant)
        return simulate(program, [self.launch], steps=20_000_000, decoded=decoded)[0]

    def check(self, trace: Trace) -> None:
        """Every output right, and nothing found that is worse than an info."""
        worse = [f for f in trace.findings if f.severity != "info"]
        for text in self.finds:
            kind, severity, words = text.split(" ", 2)
            hit = [f for f in worse if (f.kind, f.severity) == (kind, severity)]
            assert any(words in f.message for f in hit), f"{text}: not among {trace.findings}"
        if self.marks:
            assert any((f.kind, f.line) in self.marks for f in worse), f"{self.marks}: {worse}"
            assert {f.kind for f in worse} <= {kind for kind, _ in self.marks}, worse
        if self.hints:
            first = sort_findings(worse)[0]
            assert (first.kind, first.line) in self.marks, first
        for text in self.hints:
            words = re.sub(r"\b(\w)<", lambda m: str(self.lines[m[1]]), text)
            assert words in first.hint, f"{words}: not in {first.hint}"
        wrong = bool(self.finds or self.marks)
        assert bool(worse) == wrong, worse
        if self.prints:
            assert trace.printed == "".join(self.prints).encode().decode("unicode_escape")
        tolerance = float(self.options.get("tol", "0"))
        texels = {len(self.args) + k: name for k, name in enumerate(self.hidden)}
        expected = self.expected | {
            k: self.expected_texels[name]
            for k, name in texels.items()
            if name in self.expected_texels
        }
        for index, right in () if wrong else expected.items():
            np.testing.assert_allclose(trace.outputs[index], right, tolerance, tolerance)
        others = [] if wrong else [k for k in trace.others if k in expected]
        right_in_all = all(
            np.allclose(trace.others[k], expected[k], tolerance, tolerance) for k in others
        )
        assert right_in_all == (self.options.get("orders") != "wrong"), trace.others


def _dims(text: str) -> tuple[int, int, int]:
    x, y, z = [*map(int, text.split(",")), 1, 1][:3]
    return x, y, z


@cache
def compiled(path: Path) -> Program:
    return compiled_here(path)


@lru_cache(maxsize=2)  # the cases of a file follow each other
def _decoded(path: Path, variant: str) -> tuple[Program, Variants]:
    program = compiled(path)
    if variant == "debug":
        program = replace(program, ptx=program.debug_ptx, debug_ptx=program.ptx)
    return program, Variants()


def cases(path: Path) -> Iterator[Case]:
    """The cases of a file, in order."""
    case: Case | None = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if case is not None and (mark := _MARK.search(line)):
            case.marks.add((mark[2], number))
        if case is not None and (named := _NAMED.search(line)):
            case.lines[named[1]] = number
        if head := _CASE.match(line):
            if case is not None:
                yield case
            words = head[2].split()
            case = Case(path, head[1], dict(zip(words[::2], words[1::2], strict=True)))
        elif case is not None and (found := _LINE.match(line)):
            case.add(*found.groups())
        elif case is not None and (made := _OBJECT.match(line)):
            case.add_object(*made.groups())
        elif case is not None and (says := _SAYS.match(line)):
            getattr(case, says[1]).append(says[2])
        elif line.startswith("// ") and re.match(
            r"// (in|out|inout|value|kernel|texture|surface)\b.*=", line
        ):
            raise ValueError(f"{path.name}: not understood: {line}")
    if case is not None:
        yield case


def all_cases(folder: Path) -> list[Case]:
    """The cases of all of a folder's files."""
    return [case for path in sorted(folder.glob("*.cu")) for case in cases(path)]
