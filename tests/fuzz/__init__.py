"""Fuzzing of the simulator: whatever the PTX, the core must not crash, hang or read astray."""
