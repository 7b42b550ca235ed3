"""One file a figure: `ALT`, what it shows in words, and `draw()`, which makes it from our kernels.

A module that has no data to draw from has a `draw()` that returns None.
"""
