"""Turn the core's raw reports into findings that a student can act on.

In: an Image, a Launch and the Raw result of its run, with the source text. Out: Findings, folded
and sorted, with the source line, the variable's name and a fix. `findings` is the entry point;
`messages`, `races` and `textures` hold the wording, `variables` reads the variables that the
source declares.

Imports the simulator's lower folders (`ptx`, `decode`, `core`), `grader.compile` and
`grader.launch`; nothing above the simulator.
"""
