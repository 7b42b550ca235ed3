"""Nsight Compute's counters of tests/counters/*.cu, as the readings beside them keep them.

    python -m tests.gpu.counters OUT.json [--new]

With --new only the kernels that no reading has yet.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from grader.simulator.counters import (
    BYTES,
    CONFLICTS,
    FLOPS,
    RATIO,
    REQUESTS,
    SECTORS,
    SHARED_INSTRUCTIONS,
    WAVEFRONTS,
)
from tests.gpu.machine import machine, version_of

FOLDER = Path(__file__).parents[1] / "counters"
KERNELS = sorted(FOLDER.glob("*.cu"))
OURS = [
    name.format(op)
    for name in (REQUESTS, SECTORS, BYTES, RATIO, SHARED_INSTRUCTIONS, WAVEFRONTS, CONFLICTS)
    for op in ("ld", "st")
] + [FLOPS.format(precision + op) for precision in "fd" for op in ("add", "mul", "fma")]
MORE = [
    "smsp__inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_global_st.sum",
    "smsp__inst_executed_op_global_red.sum",
    "smsp__sass_inst_executed_op_global_atom.sum",
    "smsp__inst_executed_op_shared_atom.sum",
    "smsp__inst_executed_pipe_barrier.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__inst_executed.sum",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    "smsp__sass_branch_targets.sum",
    "smsp__sass_branch_targets_threads_divergent.sum",
    "smsp__sass_branch_targets_threads_uniform.sum",
    "smsp__sass_inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "smsp__inst_executed_op_local_ld.sum",
    "smsp__inst_executed_op_local_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
    "smsp__sass_data_bytes_mem_global_op_ldgsts.sum",
    "smsp__inst_executed_op_ldgsts.sum",
    "sm__maximum_warps_per_active_cycle_pct",
]
LAUNCH = [
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
]


def known(names: Iterable[str]) -> list[str]:
    """Those of the metrics that this Nsight Compute has for the GPU at hand."""
    asked = ["ncu", "--query-metrics", "--csv"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    bases = {line.split(",")[0].strip('"') for line in said.splitlines() if "__" in line}
    return [name for name in names if name.partition(".")[0] in bases]


def measured(kernels: Iterable[Path], metrics: list[str]) -> dict[str, dict[str, float]]:
    """Each kernel's metrics by kernel name, read in one process."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        command = [
            "ncu",
            "--clock-control",
            "none",
            "--csv",
            "--page",
            "raw",
            "--print-units",
            "base",
        ]
        command += ["--metrics", ",".join(metrics), "--log-file", str(log)]
        command += [sys.executable, "-m", "tests.gpu.kernel", "ptx", *map(str, kernels)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        text = log.read_text() if log.exists() else ""
    if done.returncode:
        raise SystemExit(
            f"ncu failed with {done.returncode}:\n{text[-3000:]}\n{done.stderr[-3000:]}"
        )
    return rows(text, metrics)


def rows(text: str, metrics: list[str]) -> dict[str, dict[str, float]]:
    """The raw page: a header, a row of units, a row a kernel."""
    lines = [line for line in text.splitlines() if not line.startswith("==")]
    found = {}
    for row in csv.DictReader(lines):
        name = (row.get("Kernel Name") or "").partition("(")[0]
        held = {m: number(row.get(m) or "") for m in metrics}
        if name:
            found[name] = {m: value for m, value in held.items() if value is not None}
    return found


def number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def unread() -> list[Path]:
    """The kernels that no reading has."""
    held = [json.loads(path.read_text())["kernels"] for path in FOLDER.glob("h*.json")]
    return [path for path in KERNELS if not any(path.stem in read for read in held)]


def main(out: str, *words: str) -> None:
    """Measure kernels, write the file, say what was not there."""
    metrics = known(OURS + MORE) + LAUNCH
    asked = unread() if "--new" in words else KERNELS
    kernels = measured(asked, metrics)
    told = {"machine": machine() | {"ncu": version_of("ncu")}, "kernels": kernels}
    Path(out).write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
    print(f"{len(kernels)} of {len(asked)} kernels measured, {len(metrics)} metrics each")
    print("not known to ncu:", *sorted(set(OURS + MORE) - set(metrics)))


if __name__ == "__main__":
    main(*sys.argv[1:])
