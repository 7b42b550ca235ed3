"""A student's kernel in pictures: which thread accesses what between barriers, and what it costs.

In: a lab and a submission, or a traced launch. `explanation` compiles and launches the kernel and
collects the values, `accesses` and `requests` draw them as SVG, `page` writes one HTML page.

May import `grading` and below, and the text reports.
"""
