"""One row of the access table.

The table is a NumPy structured array, one row an access of one thread, in the order of execution:

    block, thread   3 x int32          indices, x first
    line            int32              of the source, 1-based
    access          U6                 read, write or atomic
    space           U6                 global, shared or local
    variable        U64                the student's name for it
    element         U96                `As[1][3]`
    offset, bytes   int64, int32       in the variable, in bytes
    phase           int32              barriers that the block had passed before
"""

from __future__ import annotations

import numpy as np

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
