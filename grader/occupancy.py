"""Theoretical occupancy: how many warps fit a multiprocessor, by CUDA's published rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """What one multiprocessor of a compute capability has."""

    warps: int
    blocks: int
    registers: int
    shared: int
    shared_block: int
    reserved: int


DEVICES = {
    (7, 5): Device(32, 16, 65536, 65536, 65536, 0),
    (8, 0): Device(64, 32, 65536, 167936, 166912, 1024),
    (8, 6): Device(48, 16, 65536, 102400, 101376, 1024),
    (8, 7): Device(48, 16, 65536, 167936, 166912, 1024),
    (8, 9): Device(48, 24, 65536, 102400, 101376, 1024),
    (9, 0): Device(64, 32, 65536, 233472, 232448, 1024),
    (10, 0): Device(64, 32, 65536, 233472, 232448, 1024),
    (12, 0): Device(48, 24, 65536, 102400, 101376, 1024),
}
"""CUDA C++ Programming Guide, table of technical specifications per compute capability."""

WARP = 32
REGISTER_UNIT = 256
SHARED_UNIT = 128
SCHEDULERS = 4


def blocks_per_multiprocessor(device: Device, threads: int, registers: int, shared: int) -> int:
    """Resident blocks of `threads` threads, `registers` a thread and `shared` bytes a block."""
    warps = -(-threads // WARP)
    limits = [device.blocks, device.warps // warps]
    if registers:
        a_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
        held = device.registers // SCHEDULERS // a_warp * SCHEDULERS
        limits.append(held // warps)
    if shared + device.reserved:
        a_block = -(-(shared + device.reserved) // SHARED_UNIT) * SHARED_UNIT
        limits.append(device.shared // a_block)
    return max(0, min(limits))


def theoretical_occupancy(
    capability: tuple[int, int], threads: int, registers: int, shared: int
) -> float | None:
    """Resident warps over the multiprocessor's most, 0 to 1; None for an unknown capability."""
    device = DEVICES.get(capability)
    if device is None or threads < 1:
        return None
    warps = -(-threads // WARP)
    return min(
        1.0, blocks_per_multiprocessor(device, threads, registers, shared) * warps / device.warps
    )
