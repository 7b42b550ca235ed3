"""Reading the reports of compute-sanitizer and Nsight Compute. Needs no GPU."""

from __future__ import annotations

import pytest

from grader.compile.program import Program
from grader.gpu.tools import fold_findings, hardware_metrics, read_counters, read_findings
from grader.reports.text import profile_lines

MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at k(float *)+0x1e0 in /tmp/tmpab/kernel.cu:3
=========     by thread (63,0,0) in block (1,0,0)
=========     Access at 0x7f1 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f0 of size 256 bytes
=========
========= Invalid __global__ write of size 4 bytes
=========     at k(float *)+0x1e0 in /tmp/tmpab/kernel.cu:3
=========     by thread (62,0,0) in block (1,0,0)
=========     Access at 0x7f1 is out of bounds
=========
========= Misaligned __shared__ read of size 8 bytes
=========     at k(float *)+0x20 in kernel.cu:2
=========     by thread (1,2,3) in block (0,0,0)
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure"
=========
========= ERROR SUMMARY: 4 errors
"""
RACECHECK = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at k+0x190 in p.cu:2
=========     and Read access at k+0x1a0 in p.cu:3 [256 hazards]
=========
========= Warning: Race reported between Read access at k+0x190 in p.cu:3
=========     and Write access at k+0x1a0 in p.cu:3 [4 hazards]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
SYNCCHECK = """\
========= Barrier error detected. Divergent thread(s) in block.
=========     at k+0x90 in p.cu:2
=========     by thread (0,0,0) in block (3,0,0)
=========
"""
INITCHECK = """\
========= Uninitialized __global__ memory read of size 4 bytes
=========     at k+0x30 in p.cu:3
=========     by thread (5,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 1 error
"""
PROGRAM = Program("k.cu", "first\n  second;\nthird;\n", (), "", "", "sm_90")


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        (
            "memcheck",
            MEMCHECK,
            [
                ("invalid-access", "error", 3, 2, "global", "write"),
                ("invalid-access", "error", 2, 1, "shared", "read"),
            ],
        ),
        (
            "racecheck",
            RACECHECK,
            [
                ("race", "error", 2, 256, "shared", "write"),
                ("race", "warning", 3, 4, "shared", "read"),
            ],
        ),
        ("synccheck", SYNCCHECK, [("barrier-divergence", "error", 2, 1, "", "")]),
        ("initcheck", INITCHECK, [("uninitialized-read", "error", 3, 1, "global", "read")]),
        ("memcheck", "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", []),
        ("memcheck", "", []),
    ],
    ids=["memcheck", "racecheck", "synccheck", "initcheck", "no-report", "no-output"],
)
def test_reports_are_findings_at_their_lines(
    tool: str, text: str, expected: list[tuple[object, ...]]
) -> None:
    found = fold_findings(PROGRAM, read_findings(tool, text))
    assert [(f.kind, f.severity, f.line, f.count, f.space, f.access) for f in found] == expected
    assert all(f.file == "k.cu" and f.text and f"sanitizer {tool}: " in f.message for f in found)


def test_first_thread_and_second_access_are_reported() -> None:
    first = fold_findings(PROGRAM, read_findings("memcheck", MEMCHECK))[0]
    assert (first.thread, first.block) == ((63, 0, 0), (1, 0, 0))
    assert first.message == "compute-sanitizer memcheck: Invalid __global__ write of size 4 bytes"
    race = fold_findings(PROGRAM, read_findings("racecheck", RACECHECK))[0]
    assert race.other is not None
    assert (race.other.line, race.other.access, race.other.text) == (3, "read", "third;")
    assert race.message.endswith("Race reported between Write access")


NCU = """\
==PROF== Connected to process 27
"ID","Kernel Name","gpu__time_duration.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","a","c"
"","","ns","sector","",""
"0","k","1,536","384","n/a","nan"
"""


def test_counters_of_the_raw_page() -> None:
    names = [
        "gpu__time_duration.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        "a",
        "b",
        "c",
    ]
    assert read_counters(NCU, names) == {names[0]: 1536.0, names[1]: 384.0}
    assert read_counters("==ERROR== ERR_NVGPUCTRPERM\n", names) == {}
    assert hardware_metrics(["ptx__ours", "smsp__theirs"]) == ["smsp__theirs"]


def test_both_backends_counters_side_by_side() -> None:
    told = {"a.sum ncu": 384.0, "a.sum sim": 384.0, "b ncu": 100.0, "b sim": 110.0}
    head, same, apart = profile_lines(told, 80)
    assert head.split() == ["counter", "hardware", "simulated"]
    assert same.split() == ["a.sum", "384", "384"]
    assert apart.split() == ["b", "100", "110", "+10.0%"]
    assert profile_lines({"c ncu": 0.0, "c sim": 3.0})[1].endswith("not counted")
    assert profile_lines({"c ncu": 0.0, "c sim": 0.0})[1:] == []


def test_a_long_name_is_shown_whole() -> None:
    name = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"
    _, first, second = profile_lines({f"{name} ncu": 31.5, f"{name} sim": 32.0})
    assert (first, second.split()) == (name, ["31.5", "32", "+1.6%"])
    assert len(second) <= 80
