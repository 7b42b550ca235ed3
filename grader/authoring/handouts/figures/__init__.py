"""The figures of the handouts, drawn from traces of our own kernels.

A figure NAME is a function `draw_NAME()` in any module of this folder, which returns a matplotlib
figure or None when its data is missing, and a constant `NAME_ALT`, its description in words.
`build.find_figures` finds them; there is no list to edit. The modules import the canvas, the runs
of the simulator, and nothing from the pages.
"""
