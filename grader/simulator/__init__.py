"""Simulate CUDA kernels on the CPU and detect what is wrong with them.

In: a compiled Program and Launches. Out: one Trace each with findings, outputs and counters.
`simulate` is the entry point and runs in a sandboxed process; `exchange` carries its request and
its reply. PTX is parsed (`ptx`), decoded (`decode`), executed by the C core (`core`), and the
core's reports are explained (`diagnose`).

Imports `compile`, `sandbox` and `labs`, and never the GPU backend: the two meet in `grading` only.
"""
