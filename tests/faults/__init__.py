"""Faults of the machine, injected into grading: none may cost a point.

`python -m tests.faults` runs `check`, `batch` and `replay` under `strace --inject`, which makes
system calls fail or delivers signals anywhere in the process tree. See `injection.py`.
"""
