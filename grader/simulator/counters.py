"""What a run measured: counters and the table of accesses.

Counters of a launch and of each source line have Nsight Compute's metric names. The table has the
thread, element, line, and phase between barriers of each access of a small launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.compile.program import Parameter
from grader.faults import LabFault
from grader.launch import Launch, LineCounters
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.decode.memory import CONST, GENERIC, GLOBAL, LOCAL, SHARED, space_of
from grader.simulator.decode.module import Image
from grader.simulator.diagnose.findings import Explainer
from grader.simulator.exchange import ROW
from grader.simulator.ptx.model import TYPE_BYTES

_FLOPS = {"add": "add", "sub": "add", "mul": "mul", "fma": "fma", "mad": "fma"}
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
COPY_REQUESTS = "sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum"
COPY_SECTORS = "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"
"""Those of cp.async (LDGSTS), which are among the requests and sectors of loads."""

REQUESTED = "ptx__requested_bytes_mem_global_op_{}.sum"
"""Not a metric of Nsight Compute: the bytes that active lanes request, summed over the lanes."""

BYTES = "smsp__sass_data_bytes_mem_global_op_{}.sum"
RATIO = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.ratio"
WASTED = "ptx__wasted_sectors_mem_global_op_{}.sum"
"""Not a metric of Nsight Compute: sectors beyond those that each access would touch if its bytes
were in a row."""

SHARED_INSTRUCTIONS = "smsp__sass_inst_executed_op_shared_{}.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
GLOBAL_ATOMICS = "smsp__sass_inst_executed_op_global_atom.sum"
GLOBAL_REDUCTIONS = "smsp__inst_executed_op_global_red.sum"
SHARED_ATOMICS = "smsp__inst_executed_op_shared_atom.sum"
THREAD_ATOMICS = "ptx__thread_atomics_mem_{}.sum"
"""Not a metric of Nsight Compute: atomics on "global" or "shared" memory, one an active lane."""

THREAD_CONST_LOADS = "ptx__thread_loads_mem_const.sum"
"""Not a metric of Nsight Compute: loads of `__constant__` variables, one an active lane."""

FLOPS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
BUSIEST_THREAD = "ptx__thread_inst_executed.max"
THREAD_INSTRUCTIONS = "ptx__thread_inst_executed.sum"
WORKING_THREADS = "ptx__threads_accessing_mem_global.sum"
FOREIGN_BYTES = "ptx__foreign_bytes_mem_shared_op_ld.sum"
DISTINCT_BYTES = "ptx__block_distinct_bytes_mem_global.sum"
DYNAMIC_BYTES = "ptx__bytes_mem_shared_dynamic.sum"
FOREIGN_DYNAMIC_BYTES = "ptx__foreign_bytes_mem_shared_dynamic_op_ld.sum"
PLACED_BYTES = "ptx__placed_bytes_mem_global_op_st.sum"
EXCHANGES = "ptx__thread_inst_executed_op_exchange.sum"
"""Not metrics of Nsight Compute; present where the work was measured (simulator/core/watch/work.c).

The instructions of the thread that executes the most and of all threads; the threads that access
global memory; the bytes of shared memory that threads read and another thread of the block wrote
last; the bytes of global memory that blocks access, each once a block; the bytes of dynamic shared
memory that threads access, and those that another thread wrote last; the bytes that stores and
atomics write to global memory, but not to the place that the thread wrote last; and the executions
of instructions that pass values between the lanes of a warp, one an active lane.
"""

_COUNTED = ("ld", "ldu", "st", "atom", "red")
_EXCHANGE = ("shfl", "vote", "match", "redux")
MAX_ACCESSES = 1 << 20
"""The most accesses of a launch that are recorded."""

_SPACES = {GLOBAL: "global", SHARED: "shared", LOCAL: "local", CONST: "const"}
_ACCESSES = {"ld": "read", "ldu": "read", "st": "write", "atom": "atomic", "red": "atomic"}
_ACCESSES |= {"tex": "read", "tld4": "read", "suld": "read", "sust": "write"}

_MEMORY = (REQUESTS, SECTORS, REQUESTED, BYTES, SHARED_INSTRUCTIONS, WAVEFRONTS, CONFLICTS)


def launch_counters(raw: Raw, values: Sequence[Value]) -> dict[str, float]:
    """The counters of a launch; memory and arithmetic ones are present even when they are 0."""
    out = {name.format(op): 0.0 for op in ("ld", "st") for name in _MEMORY}
    out |= {FLOPS.format(p + op): 0.0 for p in "fd" for op in ("add", "mul", "fma")}
    for _, name, value in values:
        out[name] = out.get(name, 0.0) + value
    _ratios(out)
    if raw.work is not None:
        names = (
            BUSIEST_THREAD,
            THREAD_INSTRUCTIONS,
            WORKING_THREADS,
            FOREIGN_BYTES,
            DISTINCT_BYTES,
            DYNAMIC_BYTES,
            FOREIGN_DYNAMIC_BYTES,
            PLACED_BYTES,
        )
        out |= dict(zip(names, map(float, raw.work[0].tolist()), strict=True))
        out.setdefault(EXCHANGES, 0.0)
    return out


def line_counters(values: Sequence[Value], lines: list[int]) -> tuple[LineCounters, ...]:
    """The counters of each source line that are not 0; `lines` is by program counter."""
    by_line: dict[int, dict[str, float]] = {}
    for pc, name, value in values:
        counters = by_line.setdefault(lines[pc], {})
        counters[name] = counters.get(name, 0.0) + value
    for counters in by_line.values():
        _ratios(counters)
    return tuple(LineCounters(line, by_line[line]) for line in sorted(by_line))


def _ratios(counters: dict[str, float]) -> None:
    for op in ("ld", "st"):
        copied = counters.get(COPY_SECTORS, 0.0) if op == "ld" else 0.0
        if sectors := counters.get(SECTORS.format(op), 0.0) - copied:
            counters[RATIO.format(op)] = counters[BYTES.format(op)] / sectors


Value = tuple[int, str, float]
"""The program counter of an instruction, the name of a counter, and what it adds to that."""


def counted_values(image: Image, raw: Raw) -> list[Value]:
    """What each instruction adds to each counter in a launch, where it is not 0."""
    return list(_values(image, raw))


def _values(image: Image, raw: Raw) -> Iterator[Value]:
    counters = raw.counters
    if counters is None:
        return
    lanes = thread_executions(image, raw)
    for pc, parts in _counting(image):
        if parts[0] in ("ld", "ldu", "st"):
            yield from ((pc, name, value) for name, value in _memory(parts, counters[pc]) if value)
            if space_of(parts) == CONST and lanes[pc]:
                yield pc, THREAD_CONST_LOADS, float(lanes[pc])
        elif parts[0] == "cp" and counters[pc]["sectors"]:
            yield from ((pc, name, value) for name, value in _copied(counters[pc]))
        elif parts[0] in ("atom", "red") and counters[pc]["requests"]:
            yield from ((pc, name, value) for name, value in _atomic(parts, counters[pc]))
        elif parts[0] in _EXCHANGE and lanes[pc]:
            yield pc, EXCHANGES, float(lanes[pc])
        elif (kind := _FLOPS.get(parts[0])) and lanes[pc]:
            yield pc, FLOPS.format(("f" if parts[-1] == "f32" else "d") + kind), float(lanes[pc])


@lru_cache(maxsize=2)
def _counting(image: Image) -> list[tuple[int, list[str]]]:
    """The instructions that count anything, with the parts of their opcodes."""
    every = ((pc, _as_access(op.split("."))) for pc, op in enumerate(image.ops))
    return [(pc, parts) for pc, parts in every if _counts(parts)]


def _counts(parts: list[str]) -> bool:
    if parts[0] in _FLOPS:
        return parts[-1] in ("f32", "f64")
    return parts[0] in (*_COUNTED, *_EXCHANGE) or parts[:2] == ["cp", "async"]


def _as_access(parts: list[str]) -> list[str]:
    """Return the load or store that an instruction on tiles is; others as they are."""
    if parts[0] in ("ldmatrix", "stmatrix"):
        return [parts[0][:2], "shared", parts[-1]]
    if parts[0] == "wmma" and parts[1] in ("load", "store"):
        return ["ld" if parts[1] == "load" else "st", *parts[2:]]
    return parts


def _memory(parts: list[str], k: Any) -> Iterator[tuple[str, float]]:
    op, space = "st" if parts[0] == "st" else "ld", space_of(parts)
    if space == GLOBAL or (space == GENERIC and k["sectors"]):
        yield REQUESTS.format(op), float(k["requests"])
        yield SECTORS.format(op), float(k["sectors"])
        yield REQUESTED.format(op), float(k["bytes"])
        yield BYTES.format(op), float(k["moved"])
        yield WASTED.format(op), float(k["wasted"])
    elif space in (SHARED, GENERIC):
        yield SHARED_INSTRUCTIONS.format(op), float(k["requests"])
        yield WAVEFRONTS.format(op), float(k["wavefronts"])
        yield CONFLICTS.format(op), float(k["wavefronts"]) - float(k["ideal"])


def _copied(k: Any) -> Iterator[tuple[str, float]]:
    """The counters of cp.async.

    Its requests and sectors, and the bytes that lanes request, are among those of loads. The bytes
    that it moves are apart.
    """
    for name in (REQUESTS.format("ld"), COPY_REQUESTS):
        yield name, float(k["requests"])
    for name in (SECTORS.format("ld"), COPY_SECTORS):
        yield name, float(k["sectors"])
    yield REQUESTED.format("ld"), float(k["bytes"])
    yield BYTES.format("ldgsts"), float(k["moved"])
    yield WASTED.format("ldgsts"), float(k["wasted"])


def _atomic(parts: list[str], k: Any) -> Iterator[tuple[str, float]]:
    """The counters of `atom` and `red`; an `atom` without a use is a `red`: see ptxas.py."""
    op, space = parts[0], "global" if k["sectors"] else "shared"
    on_global = GLOBAL_ATOMICS if op == "atom" else GLOBAL_REDUCTIONS
    yield on_global if space == "global" else SHARED_ATOMICS, float(k["requests"])
    yield THREAD_ATOMICS.format(space), float(k["bytes"]) / TYPE_BYTES[parts[-1]]
    if space == "global":
        yield REQUESTS.format(op), float(k["requests"])
        yield SECTORS.format(op), float(k["sectors"])
        yield REQUESTED.format(op), float(k["bytes"])
        yield BYTES.format(op), float(k["moved"])


def thread_executions(image: Image, raw: Raw) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The executions of each instruction, in threads whose guard was true."""
    out = np.zeros(len(image.ops) + 1, np.uint64)
    number = 0
    for function in image.functions:
        for block in function.blocks:
            for pc, guarded in {code.pc: bool(code.guard) for code in block.insns}.items():
                if not guarded:
                    out[pc] += raw.visit_lanes[number]
                elif raw.counters is not None:
                    out[pc] += raw.counters[pc]["lanes"]
            number += 1
    return out


def access_table(
    machine: Machine,
    launch: Launch,
    limits: Limits,
    source: str,
    parameters: tuple[Parameter, ...],
) -> NDArray[np.void]:
    """Record the accesses of one launch of the variant that `machine` holds.

    Returns a table with one row of exchange.ROW for each access of a thread, in the order of
    execution. Raises LabFault when the launch makes more than MAX_ACCESSES accesses.
    """
    raw = machine.run(launch, Limits(limits.steps, limits.seconds, trace=MAX_ACCESSES), count=False)
    if raw.traced > MAX_ACCESSES or raw.accesses is None:
        raise LabFault(
            f"{raw.traced:,} accesses are too many to record",
            fix=f"Trace a smaller launch: at most {MAX_ACCESSES:,} accesses.",
        )
    explainer = Explainer(machine.image, launch, raw, source, "", parameters)
    return _rows(raw, launch, explainer)


def _rows(raw: Raw, launch: Launch, explainer: Explainer) -> NDArray[np.void]:
    accesses = raw.accesses
    assert accesses is not None
    rows = np.zeros(len(accesses), ROW)
    for field, dims in (("block", launch.grid), ("thread", launch.block)):
        number = accesses[field].astype(np.int64)
        for axis, size in enumerate(dims):
            rows[field][:, axis] = number % size
            number //= size
    rows["bytes"], rows["phase"] = accesses["bytes"], accesses["phase"]
    pcs = accesses["pc"]
    rows["line"] = np.array([*explainer.code.line_of, 0], np.int32)[pcs]
    ops = [op.split(".")[0] for op in explainer.image.ops]
    rows["access"] = np.array([_ACCESSES.get(op, "") for op in ops], "U6")[pcs]
    rows["space"] = np.array([_SPACES.get(k, "") for k in range(max(_SPACES) + 1)], "U6")[
        accesses["space"]
    ]
    places, where = np.unique(accesses[["space", "buffer", "at"]], return_inverse=True)
    named = np.zeros(len(places), ROW)
    for k, place in enumerate(places):
        named[k] = _named(named[k], place, explainer)
    for field in ("variable", "element", "offset"):
        rows[field] = named[field][where]
    return rows


def _named(row: Any, place: Any, explainer: Explainer) -> Any:
    space, at = int(place["space"]), int(place["at"])
    if space == SHARED:
        target = explainer.shared(at)
    elif space in (GLOBAL, CONST):
        target = explainer.buffer(int(place["buffer"]), at)
    else:
        row["offset"] = at
        return row
    row["variable"], row["element"], row["offset"] = target.name, target.element, target.offset
    return row
