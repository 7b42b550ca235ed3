"""A C++ source as text that is safe to search: comments and literals blanked, lines kept.

This is no parser. It is exact about what may hide a word (comments, string, character and raw
string literals, spliced lines) and leaves the meaning to the compiler. Its texts are hostile and
it runs outside of any box, so everything here takes time in proportion to their length.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_LINE = 500
"""Letters of a source line that a message shows."""

_SPLICE = re.compile(r"\\[ \t]*\n")
_HIDING = re.compile(
    r"""
      (?P<comment> //[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<raw> R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z) )
    | "(?:\\.|[^"\\\n])*"?
    | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'?    # not the separator in 1'000'000
    """,
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(r"^[ \t]*(?:\#|%:|\?\?=)[ \t]*(\w*)[ \t]*([^\n]*)$", re.MULTILINE)
_IF = ("if", "ifdef", "ifndef")
_BRACKETS = {pair[0]: re.compile(f"[{re.escape(pair)}]") for pair in ("()", "{}", "[]")}


@dataclass(frozen=True)
class Directive:
    """A preprocessor directive: `#name text` at `line`, inside `depth` conditionals."""

    name: str
    text: str
    line: int
    depth: int


def without_comments(source: str) -> str:
    """The source with its spliced lines joined, and its comments and raw literals, which may
    span lines, blanked; other literals stay.
    """
    return _HIDING.sub(
        lambda m: _blank(m[0]) if m["comment"] or m["raw"] else m[0], _joined(source)
    )


def code(source: str) -> str:
    """The source without comments, contents of literals and directives: what is compiled."""
    bare = _HIDING.sub(_emptied, _joined(source))
    return _DIRECTIVE.sub(lambda m: _blank(m[0]), bare)


def directives(source: str) -> Iterator[Directive]:
    """The preprocessor directives in order, digraph and trigraph spellings included."""
    text = without_comments(source)
    depth, line, counted = 0, 1, 0
    for found in _DIRECTIVE.finditer(text):
        line, counted = line + text.count("\n", counted, found.start()), found.start()
        if found[1] == "endif":
            depth -= 1
        yield Directive(found[1], found[2].strip(), line, depth)
        if found[1] in _IF:
            depth += 1


def line_of(text: str, line: int) -> str:
    """The text of a 1-based line without its end, cut to LONGEST_LINE letters; empty when there is
    no such line. Lines are the compiler's: a form feed ends none.
    """
    lines = text.split("\n")
    return lines[line - 1].rstrip()[:LONGEST_LINE] if 0 < line <= len(lines) else ""


def line_at(text: str, position: int) -> int:
    """The 1-based line of a position."""
    return text.count("\n", 0, position) + 1


def closing(text: str, opening: int, within: int = sys.maxsize) -> int:
    """The position of the bracket that closes the one at `opening`; the text's length if none
    does within that many letters.
    """
    bracket, depth = text[opening], 0
    for found in _BRACKETS[bracket].finditer(text, opening, min(opening + within, len(text))):
        depth += 1 if found[0] == bracket else -1
        if depth == 0:
            return found.start()
    return len(text)


def split(text: str) -> list[str]:
    """The parts between commas that stand in no bracket; none for an empty text."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if parts or last else []


def _joined(source: str) -> str:
    """Spliced lines as one, followed by the line ends that they lost, so that the lines after
    them keep their numbers.
    """
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


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _emptied(found: re.Match[str]) -> str:
    return _blank(found[0]) if found["comment"] else f'"{_blank(found[0][1:-1])}"'
