"""A student's kernel in pictures: which thread accesses what between barriers, and what it costs.

In: a lab and a submission, or a traced launch. Out: one HTML page. `explanation` compiles and
launches the kernel, collects the values and writes the page; `accesses` and `requests` draw them as
SVG.

May import `grading` and below, and the text reports.
"""
