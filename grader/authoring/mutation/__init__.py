"""Mutants of a lab's solution: one small edit each, and whether the lab's cases catch it.

In: a lab, and the text of its solution. Out: for every mutant the check and the finding that caught
it, that its optimized PTX equals the solution's, or that it survived. `operators` makes the edits
of a syntax tree, `mutants` names them, `study` grades them on the simulator and caches the
verdicts, and `report` applies the author's reasons for survivors and formats the
results. Imports grading and everything below it.
"""
