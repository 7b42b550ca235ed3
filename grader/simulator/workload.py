"""The work of a launch: what an estimate of its time needs. `work.py` counts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from grader import dataclass
from grader.launch import WARP_SIZE


@dataclass(frozen=True)
class Work:
    """What a launch does, all blocks together; memory sizes in bytes.

    Attributes:
        blocks, threads: blocks of the grid, threads of a block.
        registers, shared_bytes: registers of a thread, shared memory of a block.
        executed: executions by warps, by the class of the instruction (the keys of NOMINAL).
        slots: issue slots that these take.
        requests, l1_wavefronts: requests of warps to global and local memory, and the wavefronts
            that these take in the L1 cache.
        wavefronts: wavefronts of loads and stores in shared memory.
        l2_read, l2_written: bytes that pass between L1 and L2 when a block reads each sector once,
            or with each request of loads that do not use the L1 cache; written are global and local
            memory, whole sectors.
        l2_masked: bytes of the other sectors, of which a request writes some bytes.
        dram_read, dram_written: bytes of the arrays that are read and written.
        atomics: "operations" on sectors of global memory: lanes of a request with the same address
            take turns, others of a sector go together; "hottest", those on the 256 bytes in a row
            that have the most; "shared requests" of warps; "shared serial", the lanes that wait
            there for another lane's atomic on the same address.
        chain: the longest chain of a warp, the mean over warps: instructions by class.
        flop: floating-point operations; a fused multiply-add is two.
        missed, cold: the shares of the sectors which requests load that are the first load of
            their sector in the block, and in the launch.
    """

    blocks: int
    threads: int
    registers: int
    shared_bytes: int
    executed: Mapping[str, float] = field(default_factory=dict)
    slots: float = 0.0
    requests: float = 0.0
    l1_wavefronts: float = 0.0
    wavefronts: float = 0.0
    l2_read: float = 0.0
    l2_written: float = 0.0
    l2_masked: float = 0.0
    dram_read: float = 0.0
    dram_written: float = 0.0
    atomics: Mapping[str, float] = field(default_factory=dict)
    chain: Mapping[str, float] = field(default_factory=dict)
    flop: float = 0.0
    missed: float = 0.0
    cold: float = 0.0

    @property
    def warps(self) -> int:
        """The warps of a block."""
        return -(-self.threads // WARP_SIZE)
