"""Grade one submission and explain its errors.

In: a lab and a submission (`grade.grade`). Out: a Grade whose findings name the line at fault where
one can be found, and what explains them. `grade` chooses the cases to search; `ptx_search`, in a
sandboxed process, reruns the kernel with small changes of its PTX (`ptx_edits`): the lines of the
changes that make every case right are at fault. `evidence` reads clues from the source, and ranks
edits of it (`edits`; `statement_edits`, `value_edits`, `index_edits`, `name_edits`, `idiom_edits`).
`fixes` tries them in sandboxed processes (`trials`), and grades those that are right, the least
doubtful first: a fix is reported only when it was confirmed.

Imports `grading`, `checks`, the simulator and the floors below; not `reports`.
"""
