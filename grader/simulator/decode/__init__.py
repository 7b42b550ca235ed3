"""Decode a PTX module into the machine instructions and basic blocks that the C core executes.

In: a parsed Module and the name of a kernel. Out: an Image (`module.decode`) of functions, each a
list of basic blocks in the order that a warp prefers. A family of instructions with rules of its
own has a function `op_<family>` in `instructions`, `memory`, `transfer` or `sync`; the core's
function for any other instruction is found by its name. `dataflow` and `shadow` add instructions
that detect reads of uninitialized variables; `blocks` and `peephole` shorten `-G` code.

Imports the simulator's `ptx` and no other package of grader.
"""
