"""Launches that are legal on a GPU but too large to simulate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.compile.launch_limits import refused
from grader.compile.program import Kernel, Parameter, Program
from grader.launch import (
    Array,
    Finding,
    LastStore,
    Launch,
    LineCounters,
    Localization,
    OtherAccess,
    Resources,
    Trace,
)
from grader.sandbox.launches import Arrays

# One row of the access table.
#
# The table is a NumPy structured array, one row an access of one thread, in the order of execution:
#
#     block, thread   3 x int32          indices, x first
#     line            int32              of the source, 1-based
#     access          U6                 read, write or atomic
#     space           U6                 global, shared or local
#     variable        U64                the student's name for it
#     element         U96                `As[1][3]`
#     offset, bytes   int64, int32       in the variable, in bytes
#     phase           int32              barriers that the block had passed before

ROW = np.dtype(
    [
        ("block", np.int32, 3),
        ("thread", np.int32, 3),
        ("line", np.int32),
        ("access", "U6"),
        ("space", "U6"),
        ("variable", "U64"),
        ("element", "U96"),
        ("offset", np.int64),
        ("bytes", np.int32),
        ("phase", np.int32),
    ]
)


# Programs and traces as JSON and arrays: how they cross into the simulator's process and back.


def pack_program(program: Program) -> dict[str, Any]:
    return {**asdict(program), "warnings": [], "seconds": 0.0}


def unpack_program(row: Mapping[str, Any]) -> Program:
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
    )


def pack_traces(traces: Sequence[Trace]) -> tuple[list[Any], Arrays]:
    rows, arrays = [], {}
    for k, t in enumerate(traces):
        for index, value in t.outputs.items():
            arrays[f"{k}.o.{index}"] = value
        if t.accesses is not None:
            arrays[f"{k}.a"] = t.accesses.view(np.uint8)
        for index, mask in t.unwritten.items():
            arrays[f"{k}.u.{index}"] = mask
        rows.append(
            {
                "findings": [asdict(f) for f in t.findings],
                "outputs": list(t.outputs),
                "unwritten": list(t.unwritten),
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
    return tuple(
        Trace(
            "sim",
            tuple(finding_of(f) for f in row["findings"]),
            {i: arrays[f"{k}.o.{i}"] for i in row["outputs"]},
            {i: arrays[f"{k}.u.{i}"].astype(np.bool_) for i in row["unwritten"]},
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
    """What blame/step.py tells of launches of one kernel."""
    stored = {
        (name, index): LastStore(
            who["element"], who["line"], tuple(who["block"]), tuple(who["thread"])
        )
        for name, index, who in row["stored"]
    }
    return Localization({launch.name: tuple(row["lines"]) for launch in launches}, stored)


def finding_of(row: Mapping[str, Any]) -> Finding:
    """A Finding from its JSON fields."""
    held = dict(row)
    for key in ("block", "thread"):
        held[key] = tuple(held[key]) if held.get(key) else None
    if (other := held.get("other")) is not None:
        held["other"] = OtherAccess(
            **{**other, "thread": tuple(other["thread"]), "block": tuple(other["block"])}
        )
    for key in ("cases", "excerpt", "origins"):
        if key in held and isinstance(held[key], list):
            held[key] = tuple(held[key])
    return Finding(**held)


MAX_BLOCKS = 1 << 24
MAX_BYTES = 1 << 30
MAX_STATIC = 32 << 20
"""Bytes of a program's __device__ and __constant__ variables: what a submission alone decides."""

_STATIC = re.compile(
    r"^[ \t]*(?:\.(?:visible|weak|common)\s+)*\.(?:global|const)\s[^=;\[]*?"
    r"\.[a-z]+(\d+)\s+[$%\w]+\[(\d+)\]",
    re.MULTILINE,
)


def too_large(launch: Launch) -> Finding | None:
    """Why this launch is not simulated; None when it can be."""
    if prod(launch.grid) > MAX_BLOCKS:
        return refused(
            f"{prod(launch.grid)} blocks: legal on a GPU, too many to simulate",
            f"launch at most {MAX_BLOCKS} blocks here, or run on a GPU",
        )
    size = sum(a.nbytes for a in launch.args if isinstance(a, Array))
    if size > MAX_BYTES:
        return refused(
            f"{size >> 20} MiB of arrays: too much to simulate",
            f"launch with at most {MAX_BYTES >> 20} MiB here, or run on a GPU",
        )
    return None


def static_bytes(ptx: str) -> int:
    """How many bytes the arrays of a PTX module take: its __device__ and __constant__ variables."""
    return sum(int(bits) // 8 * int(count) for bits, count in _STATIC.findall(ptx))


def too_much_static(ptx: str) -> Finding | None:
    """Why a program is not simulated for its variables' sake; None when it can be."""
    size = static_bytes(ptx)
    if size <= MAX_STATIC:
        return None
    return refused(
        f"{size >> 20} MiB of __device__ variables: too much to simulate",
        f"declare at most {MAX_STATIC >> 20} MiB, or let the host allocate it",
    )
