"""Translation phases 2 to 4 of C++ on a student's text: splices, comments, literals, directives.

This is the only hand-written lexer of C++ here. A syntax tree cannot replace it: the grammar lexes
by what it expects next and skips what it does not understand, so hostile text can hide a directive
from it, and it knows neither spliced words nor digraphs. The screen must see each directive that
the compiler sees. The tree is made of what is left after this (`grader.compile.syntax`).

All functions take time in proportion to the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

LONGEST_LINE = 500
"""Characters of a source line that a message shows."""

_SPLICE = re.compile(r"\\[ \t]*\n")
_TOKEN = re.compile(
    r"""
      (?P<comment> //[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<raw> (?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?(?:\)(?P=mark)"|\Z) )
    | (?P<literal> "(?:\\[^\n]|[^"\\\n])*["\\]? | '(?:\\[^\n]|[^'\\\n])*['\\]? )
    | [A-Za-z_]\w* | \.?\d(?:'?\w|\.)*    # words and numbers such as 1'000, which hold no literal
    | :: | (?P<digraph> <% | %> | <:(?!:[^:>]) | :> )
    """,
    re.DOTALL | re.VERBOSE,
)
_DIGRAPHS = {"<%": "{ ", "%>": " }", "<:": "[ ", ":>": " ]"}
_INNER = "\0"
"""Stands for a line end inside a comment, which ends no directive; no source has this letter."""

_SPACE = r"[ \t\v\f\0]*"
_DIRECTIVE = re.compile(
    rf"^{_SPACE}(?P<sign>\#|%:|\?\?=){_SPACE}(?P<name>\w*){_SPACE}(?P<text>[^\n]*)$", re.MULTILINE
)
_IF = ("if", "ifdef", "ifndef")


@dataclass(frozen=True)
class Directive:
    """A preprocessor directive: `#name text` at `line`, inside `depth` conditionals."""

    name: str
    text: str
    line: int
    depth: int


def without_comments(source: str) -> str:
    """Blank the comments and the raw literals, which may span lines, and join spliced lines.

    Returns:
        Text with as many lines as `source`. Other literals stay.
    """
    return _blanked(source, _without_comment).replace(_INNER, "\n")


def code(source: str) -> str:
    """Blank everything that is not C++ after preprocessing: comments, directives, literals.

    Each literal becomes a string of spaces, each digraph the sign that it stands for. All branches
    of conditionals stay.

    Returns:
        Text with as many lines as `source`.
    """
    bare = _blanked(source, _without_contents)
    return _DIRECTIVE.sub(lambda m: _blank(m[0]), bare).replace(_INNER, "\n")


def directives(source: str) -> Iterator[Directive]:
    """Yield the preprocessor directives in order, those with digraphs and trigraphs included."""
    text = _blanked(source, _without_comment)
    depth, line, counted = 0, 1, 0
    for found in _DIRECTIVE.finditer(text):
        at = found.start("sign")
        line += text.count("\n", counted, at) + text.count(_INNER, counted, at)
        counted = at
        if found["name"] == "endif":
            depth -= 1
        said = found["text"].replace(_INNER, " ").strip()
        yield Directive(found["name"], said, line, depth)
        if found["name"] in _IF:
            depth += 1


def line_of(text: str, line: int) -> str:
    """Return the text of a 1-based line as messages show it.

    Lines are the compiler's: a form feed ends none.

    Returns:
        At most LONGEST_LINE characters, without the line end; "" when there is no such line.
    """
    lines = text.split("\n")
    return lines[line - 1].rstrip()[:LONGEST_LINE] if 0 < line <= len(lines) else ""


def _blanked(source: str, blank: Callable[[re.Match[str]], str]) -> str:
    return _TOKEN.sub(blank, _joined(source))


def _joined(source: str) -> str:
    """Join spliced lines and put the lost line ends behind them, so that later lines keep their
    numbers."""
    first, *rest = _SPLICE.split(source)
    parts, lost = [first], 0
    for part in rest:
        lost += 1
        head, end, tail = part.partition("\n")
        if end:
            parts += [head, "\n" * lost, end, tail]
            lost = 0
        else:
            parts.append(part)
    return "".join(parts) + "\n" * lost


def _without_comment(found: re.Match[str]) -> str:
    if found["comment"] or found["raw"]:
        return _blank(found[0], _INNER)
    return found[0]


def _without_contents(found: re.Match[str]) -> str:
    text = found[0]
    if found["comment"]:
        return _blank(text, _INNER)
    if found["raw"]:
        return '""' + _blank(text[2:], _INNER)
    if found["literal"]:
        return f'"{_blank(text[1:-1])}"'
    return _DIGRAPHS.get(text, text)


def _blank(text: str, end: str = "\n") -> str:
    return end.join(" " * len(line) for line in re.split(f"[\n{_INNER}]", text))
