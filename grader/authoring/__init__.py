"""Tools of a lab's author: create, check, calibrate and release labs, and build the handouts.

In: a lab with its solution and incorrect variants. Out: the results of the requirements that
`grader labs check` shows, thresholds of speed, the files of a new lab, the zip for students, and
the handouts. `gate` evaluates the `requirements`, `mutation` the mutants of the solution. Imports
feedback, reports, grading and everything below them; nothing but the command line imports it,
except that `export` uses `release` to write zip files.
"""
