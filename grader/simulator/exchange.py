"""Requests and replies of the simulator's process as JSON and arrays, and the limits of a launch.

Programs and launches cross into the sandboxed process that simulates them, and traces come back. A
launch that is too large to simulate is refused before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, regex
from grader.compile.launch_limits import launch_refusal
from grader.compile.program import Kernel, Parameter, Program, Subscript
from grader.faults import MachineFault
from grader.launch import (
    Array,
    Arrays,
    Call,
    Dim3,
    Finding,
    Launch,
    LineCounters,
    OtherAccess,
    Resources,
    Trace,
)

ROW: list[tuple[str, str] | tuple[str, str, int]] = [
    ("block", "<i4", 3),
    ("thread", "<i4", 3),
    ("line", "<i4"),
    ("access", "<U6"),
    ("space", "<U6"),
    ("variable", "<U64"),
    ("element", "<U96"),
    ("offset", "<i8"),
    ("bytes", "<i4"),
    ("phase", "<i4"),
]
"""One row of the access table, an access of one thread.

- block, thread: indices, x first
- line: of the source, 1-based
- access: read, write or atomic
- space: global, shared or local
- variable: its name in the source
- element: such as `As[1][3]`
- offset, bytes: in the variable
- phase: the number of barriers that the block had passed
"""

MAX_BLOCKS = 1 << 24
"""The most blocks of a launch that is simulated."""

MAX_BYTES = 1 << 30
"""The most bytes of the arrays of a launch."""

MAX_STATIC = 256 << 20
"""The most bytes of __device__ and __constant__ variables that this simulator has room for."""

MAX_DEVICE_MEMORY = 16 << 30
"""The most bytes of variables that a program is taken to mean: a GPU of a course has no more."""

_STATIC = regex(
    r"^[ \t]*(?:\.(?:visible|weak|common)[ \t]+)*\.(?:global|const)[ \t][^=;\[\n]*?"
    r"\.[a-z]+(\d{1,4})[ \t]+[$%\w]+\[(\d{1,18})\]",
    re.MULTILINE,
)


_EMPTY: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True)
class LastStore:
    """The last store to an element of an output: line, block and thread; `element` in C order."""

    element: int
    line: int
    block: Dim3
    thread: Dim3


@dataclass(frozen=True)
class Localization:
    """What additional runs of failing launches showed.

    Attributes:
        lines: By launch, the lines where one small change makes this and every other launch of the
            kernel correct.
        stored: By launch and argument index, the last store to the first wrong element.
        failure: Why this machine could not run them; empty where it could.
    """

    lines: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: _EMPTY)
    stored: Mapping[tuple[str, int], LastStore] = field(default_factory=lambda: _EMPTY)
    failure: str = ""


def pack_program(program: Program) -> dict[str, Any]:
    """Make JSON of a program, without its warnings."""
    return {**asdict(program), "warnings": [], "seconds": 0.0}


def unpack_program(row: Mapping[str, Any]) -> Program:
    """Read a program from the JSON of `pack_program`."""
    kernels = tuple(
        Kernel(
            k["name"],
            k["symbol"],
            k["line"],
            tuple(Parameter(**p) for p in k["parameters"]),
            Resources(**k["resources"]),
        )
        for k in row["kernels"]
    )
    return Program(
        row["file"],
        row["source"],
        kernels,
        row["debug_ptx"],
        row["ptx"],
        row["architecture"],
        (),
        row["toolchain"],
        subscripts=tuple(Subscript(**s) for s in row["subscripts"]),
    )


def pack_traces(traces: Sequence[Trace]) -> tuple[list[Any], Arrays]:
    """Make JSON and arrays of traces."""
    rows, arrays = [], {}
    for k, t in enumerate(traces):
        for index, value in t.outputs.items():
            arrays[f"{k}.o.{index}"] = value
        if t.accesses is not None:
            arrays[f"{k}.a"] = t.accesses.view(np.uint8)
        for index, value in t.others.items():
            arrays[f"{k}.x.{index}"] = value
        for index, mask in t.unwritten.items():
            arrays[f"{k}.u.{index}"] = mask
        rows.append(
            {
                "findings": [asdict(f) for f in t.findings],
                "outputs": list(t.outputs),
                "unwritten": list(t.unwritten),
                "others": list(t.others),
                "table": t.accesses is not None,
                "counters": dict(t.counters),
                "lines": [[line.line, dict(line.counters)] for line in t.lines],
                "resources": asdict(t.resources),
                "seconds": dict(t.seconds),
                "toolchain": dict(t.toolchain),
                "ended": t.ended,
                "printed": t.printed,
            }
        )
    return rows, arrays


def unpack_traces(rows: Sequence[Any], arrays: Mapping[str, NDArray[Any]]) -> tuple[Trace, ...]:
    """Read traces from the JSON and arrays of `pack_traces`."""
    return tuple(
        Trace(
            "sim",
            tuple(unpack_finding(f) for f in row["findings"]),
            {i: arrays[f"{k}.o.{i}"] for i in row["outputs"]},
            {i: arrays[f"{k}.u.{i}"].astype(np.bool_) for i in row["unwritten"]},
            {i: arrays[f"{k}.x.{i}"] for i in row["others"]},
            row["counters"],
            tuple(LineCounters(line, held) for line, held in row["lines"]),
            Resources(**row["resources"]),
            row["seconds"],
            row["toolchain"],
            row["ended"],
            row["printed"],
            np.array(arrays[f"{k}.a"]).view(ROW) if row["table"] else None,
        )
        for k, row in enumerate(rows)
    )


def unpack_localization(row: Mapping[str, Any], launches: Sequence[Launch]) -> Localization:
    """Read a Localization from the reply of `grader.feedback.ptx_search.run`."""
    stored = {
        (name, index): LastStore(
            store["element"], store["line"], tuple(store["block"]), tuple(store["thread"])
        )
        for name, index, store in row["stored"]
    }
    return Localization({launch.name: tuple(row["lines"]) for launch in launches}, stored)


def unpack_finding(row: Mapping[str, Any]) -> Finding:
    """Read a Finding from its JSON fields."""
    fields = dict(row)
    for key in ("block", "thread"):
        fields[key] = tuple(fields[key]) if fields.get(key) else None
    if (other := fields.get("other")) is not None:
        calls = tuple(Call(**call) for call in other["calls"])
        places = {key: tuple(other[key]) for key in ("thread", "block")}
        fields["other"] = OtherAccess(**{**other, **places, "calls": calls})
    fields["calls"] = tuple(Call(**call) for call in fields.get("calls", ()))
    for key in ("cases", "excerpt", "origins"):
        if key in fields and isinstance(fields[key], list):
            fields[key] = tuple(fields[key])
    return Finding(**fields)


def too_large(launch: Launch) -> Finding | None:
    """The finding for a launch that is too large to simulate; None for any other."""
    if prod(launch.grid) > MAX_BLOCKS:
        return launch_refusal(
            f"{prod(launch.grid)} blocks are too many to simulate",
            f"Launch at most {MAX_BLOCKS} blocks, or run it on a GPU.",
        )
    size = sum(a.nbytes for a in launch.args if isinstance(a, Array))
    if size > MAX_BYTES:
        return launch_refusal(
            f"{size >> 20} MiB of arrays are too much to simulate",
            f"Launch with arrays of at most {MAX_BYTES >> 20} MiB, or run it on a GPU.",
        )
    return None


@lru_cache(maxsize=1)  # each launch of a program is checked
def static_bytes(ptx: str) -> int:
    """The bytes of the __device__ and __constant__ arrays of a PTX module."""
    return sum(int(bits) // 8 * int(count) for bits, count in _STATIC.findall(ptx))


def too_much_static(ptx: str) -> Finding | None:
    """The finding for a program whose variables fit in no GPU; None for any other.

    Raises:
        MachineFault: A GPU could run it, the simulator cannot: no fault of the submission.
    """
    size = static_bytes(ptx)
    if size <= MAX_STATIC:
        return None
    what = f"{size >> 20} MiB of __device__ variables are too much to simulate"
    if size <= MAX_DEVICE_MEMORY:
        fix = f"declare at most {MAX_STATIC >> 20} MiB, for which the simulator has room"
        raise MachineFault(what, fix=fix)
    return launch_refusal(
        f"{size >> 30} GiB of __device__ variables are more than a GPU has",
        "Declare the arrays as small as the kernel needs them, or pass them as arguments.",
    )
