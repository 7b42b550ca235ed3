"""Load the C core: ctypes mirrors of machine/launch.h, and its instructions by name."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_char_p, c_double, c_int, c_uint32, c_uint64, c_void_p
from functools import cache

import numpy as np

from grader.faults import MachineFault
from grader.simulator.core import digest

INSN = np.dtype(
    {
        "names": [
            "exec",
            "d",
            "a",
            "b",
            "c",
            "e",
            "guard",
            "negate",
            "used",
            "pc",
            "imm",
            "size",
            "count",
            "space",
            "width",
            "flag",
            "mode",
        ],
        "formats": ["u8", *["u4"] * 6, "u2", "u2", "u4", "i8", "u2", "u2", "u1", "u1", "u1", "u1"],
        "offsets": [0, 8, 12, 16, 20, 24, 28, 32, 34, 36, 40, 48, 50, 52, 53, 54, 55],
        "itemsize": 56,
    }
)
BLOCK = np.dtype(
    [
        (n, "u4")
        for n in (
            "first",
            "end",
            "kind",
            "next",
            "target",
            "guard",
            "negate",
            "pc",
            "a",
            "b",
            "c",
            "d",
            "index",
            "flag",
            "steps",
            "loop",
        )
    ]
)
LOOP = np.dtype([(n, "u4") for n in ("first", "last", "outer", "pc", "state", "states")])
STATE = np.dtype([("at", "u4"), ("bytes", "u4")])
FUNCTION = np.dtype(
    [
        (n, "u4")
        for n in ("block", "blocks", "registers", "local", "params", "variable", "variables")
    ]
)
LOCAL_VARIABLE = np.dtype([(n, "u4") for n in ("first", "end", "own", "round", "rounds", "open")])
CALL = np.dtype(
    [(n, "u4") for n in ("function", "indirect", "needs", "in", "ins", "out", "outs", "library")]
)
COPY = np.dtype([(n, "u4") for n in ("from", "to", "bytes")])
BUFFER = np.dtype(
    [
        ("base", "u8"),
        ("size", "u8"),
        ("data", "u8"),
        ("hot", "u8"),
        ("cell", "u8"),
        ("readonly", "u4"),
        ("dead", "u4"),
        ("written", "u4"),
        ("input", "u4"),
        ("members", "u8"),
        ("item", "u8"),
    ]
)
IMAGE = np.dtype(
    [
        *((n, "u4") for n in ("buffer", "flags", "dims", "layers")),
        ("extent", "u4", 3),
        *((n, "u4") for n in ("channels", "bytes", "type")),
        ("address", "u4", 3),
    ]
)
UNSIGNED_TEXELS, SIGNED_TEXELS, FLOAT_TEXELS = range(3)
IS_SURFACE, IS_LINEAR_MEMORY, IS_FILTERED, IS_NORMALIZED, READS_FLOAT = (1 << k for k in range(5))
NO_OBJECT, OTHER_OBJECT, OTHER_SHAPE, OTHER_TYPE, OUTSIDE_IMAGE, UNALIGNED_X, NO_LAYER = range(1, 8)
CELL_BYTES = 32
REPORT = np.dtype(
    [
        *(
            (n, "u4")
            for n in (
                "kind",
                "flags",
                "pc",
                "pc2",
                "space",
                "buffer",
                "block",
                "thread",
                "block2",
                "thread2",
                "size",
                "extra",
            )
        ),
        ("address", "u8"),
        ("count", "u8"),
    ]
)
COUNTER = np.dtype(
    [
        (n, "u8")
        for n in (
            "lanes",
            "requests",
            "sectors",
            "bytes",
            "moved",
            "wavefronts",
            "ideal",
            "wasted",
        )  # fmt: skip
    ]
)
_WORK_FIELDS = (
    "busiest", "instructions", "working", "foreign", "distinct", "dynamic", "foreign_dynamic",
    "stored",
)  # fmt: skip
WORK = np.dtype([(n, "u8") for n in _WORK_FIELDS])
COUNT_FOREIGN, COUNT_DISTINCT = 1, 2
ACCESS = np.dtype(
    [
        ("at", "u8"),
        ("value", "u8"),
        *(
            (n, "u4")
            for n in ("block", "thread", "pc", "phase", "space", "buffer", "bytes", "event")
        ),
    ]
)
FENCE, WARP_SYNC, BARRIER_ARRIVED, BARRIER_LEFT, UNCHANGED = range(1, 6)
PLAIN_TOO = 2
ANOTHER_LANE, ANOTHER_WARP = 1, 2
REPORTS = 1024
ENDED, ABORTED, NO_MEMORY, AGAIN, NOT_PROVEN = range(5)
(
    RACE,
    INVALID,
    UNINIT,
    DIVERGENCE,
    TIMEOUT,
    DEADLOCK,
    TRAPPED,
    STACK,
    EARLY_EXIT,
    LIMIT,
    WARP_MASK,
    WARP_STUCK,
    ASSERTION,
    UNDEFINED,
    LOST_UPDATE,
    LANE_MISSING,
    BARRIER_COUNT,
    STANDSTILL,
    MBARRIER,
    MISUSED,
    OLD_VALUE,
    MISPRINTED,
    OVERLAPPED,
) = range(23)
SHUFFLE_WIDTH, MATRIX_ADDRESS, MATRIX_STRIDE = range(1, 4)
IMAGE_BASE, IMAGE_SHIFT = 0x060000000000, 8
SHARED_BASE, LOCAL_BASE, PARAM_BASE = 0x020000000000, 0x030000000000, 0x040000000000
LOCAL_START = 0x10000
FUNCTION_BASE, FUNCTION_BYTES = 0x050000000000, 16
GLOBAL_BASE, SLOT_BITS, SLOT_MIDDLE = 0x100000000000, 36, 1 << 35


class CLaunch(ctypes.Structure):
    """The mirror of launch.h's Launch."""

    _fields_ = [
        *(
            (n, c_void_p)
            for n in (
                "insn",
                "block",
                "function",
                "call",
                "copy",
                "table",
                "loop",
                "state",
                "variable",
                "constants",
                "params",
                "buffer",
                "image",
                "shared_init",
                "reports",
                "counter",
                "visits",
                "visit_lanes",
            )
        ),
        ("printed", c_void_p),
        ("work", c_void_p),
        ("trace", c_void_p),
        ("assumed", c_void_p),
        ("reduced_insn", c_void_p),
        ("reduced_block", c_void_p),
        ("chosen", c_void_p),
        ("stale", c_void_p),
        ("limited", c_void_p),
        ("lone", c_void_p),
        *((n, c_uint64) for n in ("constant_bytes", "param_bytes", "step_limit", "block_count")),
        *((n, c_uint64) for n in ("trace_room", "traced", "unset")),
        ("time_limit", c_double),
        *((n, c_uint32) for n in ("insns", "blocks", "functions", "buffers", "images", "entry")),
        ("grid", c_uint32 * 3),
        ("dim", c_uint32 * 3),
        *(
            (n, c_uint32)
            for n in (
                "shared_bytes",
                "dynamic_start",
                "shared_shift",
                "global_shift",
                "threads",
                "garbage",
                "schedule",
                "ordered",
                "may_wait",
                "exact",
                "sync",
                "stops_at_error",
                "measures",
                "representatives",
                "only_stores",
                "leaps",
                "gives_old",
                "pause",
                "short_pause",
                "pause_changes",
                "pause_skips",
                "pause_until",
                "pause_behind",
                "restored",
                "hurries",
                "long_looks",
                "old_pause",
                "whole_turns",
                "lane_order",
                "first_wins",
                "only_strong",
                "trace_sync",
                "cycles",
                "local_limit",
                "printed_room",
                "heap_limit",
                "allocations",
                "by_block",
                "nreports",
                "lost",
                "status",
                "printed_bytes",
                "observed",
            )
        ),
        ("steps", c_uint64),
    ]


class Core:
    """A loaded core. Raises MachineFault when it does not match the sources."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.library = ctypes.CDLL(path)
        self.library.core_run.argtypes = [ctypes.POINTER(CLaunch)]
        self.library.core_run.restype = c_int
        self.library.core_sizes.argtypes = [c_uint32]
        self.library.core_sizes.restype = c_uint32
        self._addresses: dict[str, int | None] = {}
        mirrors = [
            INSN.itemsize,
            BLOCK.itemsize,
            FUNCTION.itemsize,
            CALL.itemsize,
            COPY.itemsize,
            BUFFER.itemsize,
            CELL_BYTES,
            REPORT.itemsize,
            COUNTER.itemsize,
            WORK.itemsize,
            LOOP.itemsize,
            STATE.itemsize,
            IMAGE.itemsize,
            LOCAL_VARIABLE.itemsize,
            ctypes.sizeof(CLaunch),
            REPORTS,
        ]
        sizes = [self.library.core_sizes(k) for k in range(len(mirrors))]
        if sizes != mirrors or not self._built_from(os.path.join(os.path.dirname(path), "core")):
            raise MachineFault(
                f"{os.path.basename(path)} was built from other sources than those in this folder",
                fix="Build it again: make demo  (or pip install .).",
            )

    def _built_from(self, folder: str) -> bool:
        """Whether the core was built from the sources in a folder, as far as both are known.

        A core of older sources would run, and miss the instructions that were renamed since.
        """
        try:
            core_sources = self.library.core_sources
        except AttributeError:
            return False
        core_sources.argtypes, core_sources.restype = [], c_char_p
        built, present = core_sources().decode(), digest(folder)
        return not built or not present or built == present

    def address(self, name: str) -> int | None:
        """The address of an instruction's C function; None when there is none."""
        if name not in self._addresses:
            try:
                function = getattr(self.library, f"ptx_{name}")
                self._addresses[name] = ctypes.cast(function, c_void_p).value
            except (AttributeError, ValueError):
                self._addresses[name] = None
        return self._addresses[name]

    def known(self, name: str) -> bool:
        """Whether the core has an instruction of this name."""
        return self.address(name) is not None

    def run(self, launch: CLaunch) -> int:
        """Run a launch; return ENDED, ABORTED, NO_MEMORY or AGAIN."""
        return int(self.library.core_run(ctypes.byref(launch)))


@cache
def core() -> Core:
    """The core for this processor. Raises MachineFault when it is not built."""
    return core_in(os.path.dirname(os.path.dirname(__file__)))


def core_in(folder: str) -> Core:
    """The core in a folder; a checkout has only the one for the processor that it was built on."""
    plain, fast = os.path.join(folder, "_core.so"), os.path.join(folder, "_core_v3.so")
    has_fast = os.path.exists(fast)
    if has_fast and ctypes.CDLL(fast).core_has_avx2():
        return Core(fast)
    if os.path.exists(plain):
        return Core(plain)
    what = "for this processor, which lacks AVX2, " if has_fast else ""
    raise MachineFault(
        f"the simulator's C core {what}is not built",
        fix="Build it on this machine: make demo  (or pip install .).",
    )
