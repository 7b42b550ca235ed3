"""Untrusted text made safe and short enough for a terminal."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len, set_cell_size

TAB = 4
NO_BREAK = "\xa0"
"""A space at which `wrap` does not break a line; `wrap` returns it as a plain space."""

UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories that move the cursor, hide text or reorder it (bidirectional overrides)."""


def printable(text: str) -> str:
    r"""Return `text` as one line with every control character escaped: `\x1b`, `\u202e`.

    Tabs become spaces, so that the number of characters is the width on the screen.
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
    """Shorten `text` to a number of terminal cells, ending in "..."; wide characters take two."""
    if cell_len(text) <= cells:
        return text
    if cells <= 3:
        return "." * max(cells, 0)
    return set_cell_size(text, cells - 3).rstrip() + "..."


def wrap(text: str, cells: int, indent: str = "") -> list[str]:
    """Break `text` at spaces into lines of at most `cells`; all but the first are indented.

    A word longer than a line is cut into pieces.
    """
    lines: list[str] = []
    line = ""
    for word in filter(None, text.split(" ")):
        for piece in _pieces(word, cells - len(indent)):
            joined = f"{line} {piece}" if line.strip() else line + piece
            if line.strip() and cell_len(joined) > cells:
                lines.append(line)
                joined = indent + piece
            line = joined
    if line.strip():
        lines.append(line)
    return [line.replace(NO_BREAK, " ") for line in lines]


def _pieces(word: str, cells: int) -> list[str]:
    """Cut a word into pieces of at most that many cells, each character looked at once."""
    if cells <= 1 or cell_len(word) <= cells:
        return [word]
    pieces, start, width = [], 0, 0
    for at, character in enumerate(word):
        own = cell_len(character)
        if width + own > cells:
            pieces.append(word[start:at])
            start, width = at, 0
        width += own
    return [*pieces, word[start:]]
