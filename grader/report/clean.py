"""Text of unknown origin made safe and short enough for a terminal."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len, set_cell_size

TAB = 4

UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories that move the cursor, hide text or reorder it (bidirectional overrides)."""


def clean(text: str) -> str:
    """`text` as one line in which every control character is written out: `\\x1b`, `\\u202e`.

    A tab becomes spaces, so that the text is as wide as it looks.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character) for character in text.expandtabs(TAB))


def _visible(character: str) -> str:
    if unicodedata.category(character) not in UNSAFE:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else "\\U.."


def clip(text: str, cells: int) -> str:
    """`text` cut to a number of terminal cells (a wide character takes two), ending in "..."."""
    if cell_len(text) <= cells:
        return text
    if cells <= 3:
        return "." * max(cells, 0)
    return set_cell_size(text, cells - 3).rstrip() + "..."


def dedent_column(text: str, column: int) -> tuple[str, int]:
    """A source line without its indentation, and its 1-based column moved along."""
    bare = text.lstrip()
    return bare, max(column - (len(text) - len(bare)), 0) if column else 0
