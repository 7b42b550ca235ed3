"""Grade one submission and localize the faults behind its wrong outputs.

In: a lab and a submission (`grade.grade`). Out: a Grade whose findings name the line at fault where
one can be found. `localization` chooses the cases to search; `ptx_search`, in a sandboxed process,
reruns the kernel with small changes of its PTX (`ptx_edits`): the lines of the changes that make
every case right are at fault.

Imports `grading`, `checks`, the simulator and the floors below; not `reports`.
"""
