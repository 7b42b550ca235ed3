"""Reports: grades, findings and launches as text, JSON and HTML.

In: a Grade or a Trace with its findings. Out: rich Text (`text`, `finding`, `classes`), a student's
redacted copy of a grade (`redact`), HTML pages (`page`) and pictures of one launch (`explain`).
Grades and traces make their JSON objects themselves.

Nothing here grades. Only `page.write` writes files, and only `explain` compiles and launches a
kernel. May import everything up to `grading`, but neither `gradebook` nor the command line.
"""
