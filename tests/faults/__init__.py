"""Faults of the machine, injected into grading: none may cost a point.

`python -m tests.faults` runs `check`, `batch` and `replay` under `strace --inject`, which makes
system calls fail or delivers signals. `injection` has the faults, `tracing` runs one command with
one of them, `server` is the process that the command is forked from, `workplace` evaluates how it
ended.
"""
