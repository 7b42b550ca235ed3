"""The figures of the handouts, drawn from traces of small kernels.

A figure NAME is a function `draw_NAME()` in any module of this folder, which returns a matplotlib
figure or None when its data is missing, and a constant `NAME_ALT`, its description in words.
`build.find_figures` finds them; there is no list to edit. The modules import the canvas below, the
runs of the simulator, and nothing from the pages.

Canvas: The look of the figures, and their SVG files.

Equal figures give equal bytes. The colors are those of Okabe and Ito and tints of them, which
people with any color vision can distinguish. No figure relies on color alone.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from textwrap import wrap
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.patches import Rectangle

__all__ = [
    "Axes",
    "Figure",
    "cells",
    "frame",
    "lined",
    "numbered",
    "sheet",
    "stack",
    "svg",
    "titled",
]

WIDTH = 7.0
"""The width of a figure in inches, that of a page's text."""

NARROW, NARROW_LETTERS = 3.7, 46
"""The width of a figure on a phone, and the letters of a title in it."""

BLUE, ORANGE, GREEN, PINK = "#8CCBF0", "#F2C14E", "#6CC9AE", "#E3A9CB"
DARK_BLUE, RED, YELLOW, GRAY, PALE, INK = (
    "#0072B2",
    "#D55E00",
    "#F0E442",
    "#BBBBBB",
    "#EEEEEE",
    "#222222",
)
THREADS = (BLUE, ORANGE, GREEN, PINK)
"""One color for each of four threads; each cell also has the thread's index as text."""

SETTINGS: Any = {
    "svg.hashsalt": "warpgrade",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
}


def sheet(rows: int, columns: int, height: float, **more: Any) -> tuple[Figure, list[list[Axes]]]:
    """Make a figure of `height` inches with rows x columns of axes."""
    with rc_context(SETTINGS):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **more)
    return figure, [list(row) for row in axes]


def svg(figure: Figure) -> bytes:
    """Return the figure as SVG, without a date."""
    out = io.BytesIO()
    with rc_context(SETTINGS):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def stack(figure: Figure) -> None:
    """Lay a figure out for a phone: one axes below the other, each as wide as the screen.

    An axes of square cells keeps its proportions, any other one its height. Text inside the axes
    shrinks with them; the numbers of the axes keep their size.
    """
    empty = [axes for axes in figure.get_axes() if not axes.axison and not axes.has_data()]
    wide = len({axes.get_position().x0 for axes in figure.get_axes()})
    for axes in empty:
        axes.remove()
    every = figure.get_axes()
    heights = []
    for axes in every:
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        proportion = abs(high - low) / abs(right - left)
        is_cells = axes.get_aspect() != "auto"
        heights.append(
            min(NARROW * proportion, 5.0) if is_cells else figure.get_figheight() / wide + 0.6
        )
        share = min(NARROW * wide / WIDTH, 1.0)
        for text in axes.texts:
            text.set_fontsize(float(text.get_fontsize()) * share)
        title = axes.get_title(loc="left")
        axes.set_title("\n".join(wrap(title, NARROW_LETTERS)), fontsize=9, loc="left", pad=6)
    with rc_context(SETTINGS):
        grid = GridSpec(len(every), 1, figure=figure, height_ratios=heights)
        for row, axes in enumerate(every):
            axes.set_subplotspec(grid[row, 0])
        figure.set_size_inches(NARROW, sum(heights) + 0.45 * len(every))


def cells(
    axes: Axes,
    rows: int,
    columns: int,
    fills: Mapping[tuple[int, int], str],
    texts: Mapping[tuple[int, int], str],
    *,
    size: float = 7.5,
    hatched: frozenset[tuple[int, int]] = frozenset(),
) -> None:
    """Draw an array as cells, row 0 at the top, each with a color and a text."""
    for row in range(rows):
        for column in range(columns):
            at = row, column
            axes.add_patch(
                Rectangle(
                    (column, row),
                    1,
                    1,
                    facecolor=fills.get(at, "white"),
                    edgecolor=INK if at not in hatched else GRAY,
                    linewidth=0.6,
                    hatch="////" if at in hatched else None,
                )
            )
            if at in texts:
                axes.text(
                    column + 0.5, row + 0.52, texts[at], ha="center", va="center", fontsize=size
                )
    frame(axes, rows, columns)


def frame(axes: Axes, rows: float, columns: float) -> None:
    """Fit the limits to rows x columns of square cells, row 0 at the top, and hide the axes."""
    axes.set_xlim(-0.05, columns + 0.05)
    axes.set_ylim(rows + 0.05, -0.05)
    axes.set_aspect("equal")
    axes.axis("off")


def lined(axes: Axes, rows: int, columns: int) -> None:
    """Draw thin lines between rows x columns of cells."""
    axes.hlines(range(rows + 1), 0, columns, color=GRAY, linewidth=0.3, zorder=3)
    axes.vlines(range(columns + 1), 0, rows, color=GRAY, linewidth=0.3, zorder=3)


def numbered(axes: Axes, rows: int, columns: int, size: float = 7) -> None:
    """Write row numbers at the left and column numbers at the top."""
    for row in range(rows):
        axes.text(-0.15, row + 0.5, str(row), ha="right", va="center", fontsize=size, color=INK)
    for column in range(columns):
        axes.text(column + 0.5, -0.12, str(column), ha="center", va="bottom", fontsize=size)
    axes.set_xlim(-0.6, columns + 0.05)
    axes.set_ylim(rows + 0.05, -0.6)


def titled(axes: Axes, text: str) -> None:
    """Set a title at the left, in the size of all figures."""
    axes.set_title(text, fontsize=9, loc="left", pad=6)
