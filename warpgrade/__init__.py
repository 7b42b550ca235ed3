"""warpgrade in a notebook: `%load_ext warpgrade`, then a cell that begins with `%%warpgrade LAB`.

The package is `grader`; this name is that of the distribution, under which notebooks load it.
"""

from __future__ import annotations

from typing import Any

from grader import __version__

__all__ = ["__version__", "load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Add `%%warpgrade` to a shell of IPython."""
    from grader.notebook.magic import load_ipython_extension

    load_ipython_extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove `%%warpgrade` from a shell of IPython."""
    from grader.notebook.magic import unload_ipython_extension

    unload_ipython_extension(shell)
