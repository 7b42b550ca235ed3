"""Fuzzing of the simulator: no PTX makes the core crash, hang or access foreign memory."""
