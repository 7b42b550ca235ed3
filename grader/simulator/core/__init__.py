"""Execute a decoded kernel on the C core.

In: an Image, a Launch and Limits. Out: the Raw result of the run: reports, counters and buffers.
`run` drives the core, `memory` prepares its memory, `bindings` mirrors machine/launch.h, and
`sources` tells whether a built core belongs to the C files in this folder.

Imports the simulator's `ptx` and `decode`, `grader.launch` and `grader.faults`.
"""
