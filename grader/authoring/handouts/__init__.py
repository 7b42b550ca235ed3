"""Handouts: Markdown pages become a static HTML site and one PDF per page.

In: the pages of `handouts/`, the labs, and traces of small simulated launches. Out: a folder with
HTML, PDF and SVG files. `page` expands directives, `runs` makes traces and example messages,
`figures` draws them, and `build` writes the files. `python -m
grader.authoring.handouts.build` is the command.
"""
