"""The GPU backend: run, time and instrument kernels on an NVIDIA GPU with PyCUDA.

In: a Program (grader.compile) and Launches (grader.launch). Out: Traces (`launches`), Timings
(`timing`) or the reports of compute-sanitizer and Nsight Compute (`tools`).

The grading process never imports PyCUDA. Modules named `*_child` run in sandboxed child processes:
one compiles and sees no GPU, the others launch and have no compiler. A child returns arrays and
numbers; the parent validates them and draws the conclusions. Expected outputs never enter a child.

May import grader.compile, grader.sandbox and what they build on; never grader.simulator.
"""
