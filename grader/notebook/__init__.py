"""Grading in a Jupyter notebook: `%load_ext warpgrade`, then a cell that begins with `%%warpgrade`.

- `magic`: the extension of IPython, and the options of the magic.
- `cell`: a cell's grade as a value that notebooks show and test cells ask.
- `page`: the grade as HTML for one output cell.
"""
