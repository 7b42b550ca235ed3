"""Translation phases 2 to 4 of C++: spliced lines, comments, literals, directives.

This is the only hand-written lexer of C++ here. A syntax tree cannot replace it: the grammar skips
what it does not understand, so that hostile text can hide a directive from it, and it knows neither
spliced words nor digraphs. `source_text` reads the directives. The syntax tree is built from the
text that remains (`grader.compile.syntax`).

All functions take time in proportion to the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from grader import dataclass, regex

MAX_LINE = 500
"""Characters of a source line that a message shows."""

_SPLICE = regex(r"\\[ \t]*\n")
_TOKEN = regex(
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
"""Replaces a line end inside a comment, which ends no directive; no source has this character."""

_SPACE = r"[ \t\v\f\0]*"
_DIRECTIVE = regex(
    rf"^{_SPACE}(?P<sign>\#|%:|\?\?=){_SPACE}(?P<name>\w*){_SPACE}(?P<text>[^\n]*)$", re.MULTILINE
)
_WORD = regex(r"[A-Za-z_$][\w$]*")
_INKED = regex(r"[^\n]")
_IF = ("if", "ifdef", "ifndef")


@dataclass(frozen=True)
class Directive:
    """A preprocessor directive: `#name text` at `line`, inside `depth` conditionals.

    `start` and `end` are its offsets in the text of `joined`.
    """

    name: str
    text: str
    line: int
    depth: int
    start: int = 0
    end: int = 0


def without_comments(source: str) -> str:
    """Blank the comments and the raw literals, which may span lines, and join spliced lines.

    Returns:
        Text with as many lines as `source`. Other literals remain.
    """
    return _blanked(source, _without_comment).replace(_INNER, "\n")


def code(source: str) -> str:
    """Blank everything that is not C++ after preprocessing: comments, directives, literals.

    Each literal becomes a string of spaces, each digraph the token that it stands for. All branches
    of conditionals remain.

    Returns:
        Text with as many lines as `source`.
    """
    bare = _blanked(source, _without_contents)
    return _DIRECTIVE.sub(lambda m: _blank(m[0]), bare).replace(_INNER, "\n")


def directives(source: str) -> Iterator[Directive]:
    """Yield the preprocessor directives in order, digraphs and trigraphs included."""
    text = _blanked(source, _without_comment)
    depth, line, counted = 0, 1, 0
    for match in _DIRECTIVE.finditer(text):
        at = match.start("sign")
        line += text.count("\n", counted, at) + text.count(_INNER, counted, at)
        counted = at
        if match["name"] == "endif":
            depth -= 1
        content = match["text"].replace(_INNER, " ").strip()
        yield Directive(match["name"], content, line, depth, match.start(), match.end())
        if match["name"] in _IF:
            depth += 1


def macro_words(found: Iterable[Directive]) -> dict[str, frozenset[str]]:
    """Return the identifiers of all definitions of each macro."""
    words: dict[str, set[str]] = {}
    for directive in found:
        if directive.name == "define":
            name, *rest = _WORD.findall(directive.text) or [""]
            words.setdefault(name, set()).update(rest)
    return {name: frozenset(rest) for name, rest in words.items()}


def words_behind_macros(
    macros: Mapping[str, frozenset[str]], wanted: Iterable[str]
) -> dict[str, frozenset[str]]:
    """Return which of some words each word stands for: itself, or what a macro contains."""
    users: dict[str, list[str]] = {}
    for macro, words in macros.items():
        for word in words:
            users.setdefault(word, []).append(macro)
    found: dict[str, set[str]] = {}
    for annotation in wanted:
        waiting = [annotation]
        while waiting:
            word = waiting.pop()
            if annotation not in found.setdefault(word, set()):
                found[word].add(annotation)
                waiting += users.get(word, ())
    return {word: frozenset(some) for word, some in found.items()}


def kernel_words(source: str) -> frozenset[str]:
    """Return the words that stand for `__global__`: itself, and macros that contain it."""
    return frozenset(words_behind_macros(macro_words(directives(source)), ("__global__",)))


def block_macros(found: Iterable[Directive]) -> frozenset[str]:
    """Return the macros with parameters and a block, which may declare a function."""
    return frozenset(
        name[1]
        for directive in found
        if directive.name == "define" and "{" in directive.text
        and (name := re.match(r"([A-Za-z_]\w*)\(", directive.text))
    )  # fmt: skip


def with_blanks(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text with spaces in these parts; line ends remain."""
    parts, at = [], 0
    for start, end in sorted(spans):
        start = max(start, at)
        if end > start:
            parts += [text[at:start], _INKED.sub(" ", text[start:end])]
            at = end
    return "".join([*parts, text[at:]])


def line_of(text: str, line: int) -> str:
    """Return the text of a 1-based line as messages show it.

    Lines are counted as the compiler counts them: a form feed does not end one.

    Returns:
        At most MAX_LINE characters, without the line end; "" when there is no such line.
    """
    lines = _lines(text)
    return lines[line - 1].rstrip()[:MAX_LINE] if 0 < line <= len(lines) else ""


@lru_cache(maxsize=8)
def _lines(text: str) -> list[str]:
    """The lines of a source, which every finding asks for."""
    return text.split("\n")


def _blanked(source: str, blank: Callable[[re.Match[str]], str]) -> str:
    return _TOKEN.sub(blank, joined(source))


def joined(source: str) -> str:
    """Join spliced lines and put the removed line ends behind them.

    Later lines keep their numbers. `code` and `without_comments` return a text of this length.
    """
    first, *rest = _SPLICE.split(source)
    parts, removed = [first], 0
    for part in rest:
        removed += 1
        head, end, tail = part.partition("\n")
        if end:
            parts += [head, "\n" * removed, end, tail]
            removed = 0
        else:
            parts.append(part)
    return "".join(parts) + "\n" * removed


def source_offsets(source: str) -> Callable[[int], int]:
    """Return what gives the offset in a source of a character at an offset in its `code`."""
    starts, origins = [0], [0]
    at, removed = 0, 0
    for splice in (*_SPLICE.finditer(source), None):
        end = splice.start() if splice else len(source)
        text = source[origins[-1] : end]
        line_end = text.find("\n") if removed else -1
        if line_end >= 0:  # behind it, the line ends that were removed
            starts.append(at + line_end + removed)
            origins.append(origins[-1] + line_end)
            at, removed = at + removed, 0
        at += len(text)
        if splice:
            removed += 1
            starts.append(at)
            origins.append(splice.end())

    def of(offset: int) -> int:
        k = bisect_right(starts, offset) - 1
        return min(origins[k] + offset - starts[k], len(source))

    return of


def _without_comment(token: re.Match[str]) -> str:
    if token["comment"] or token["raw"]:
        return _blank(token[0], _INNER)
    return token[0]


def _without_contents(token: re.Match[str]) -> str:
    text = token[0]
    if token["comment"]:
        return _blank(text, _INNER)
    if token["raw"]:
        return '""' + _blank(text[2:], _INNER)
    if token["literal"]:
        return f'"{_blank(text[1:-1])}"' if len(text) > 1 else " "
    return _DIGRAPHS.get(text, text)


def _blank(text: str, end: str = "\n") -> str:
    return end.join(" " * len(line) for line in re.split(f"[\n{_INNER}]", text))


_INCLUDES = ("include", "include_next", "import")
_HOST_PRAGMAS = frozenset(("comment", "warning", "once", "GCC", "clang", "omp", "region",
                           "endregion", "message", "intel", "STDC", "acc"))  # fmt: skip


def header_of(directive: Directive) -> str:
    """Return the header that an #include names; "" for another directive."""
    return directive.text.split(">")[0].strip('<>" ').split('"')[0] if is_include(directive) else ""


def is_include(directive: Directive) -> bool:
    """Return whether the directive includes a file."""
    return directive.name in _INCLUDES


def is_host_pragma(directive: Directive) -> bool:
    """Return whether a #pragma is for a compiler of the host: nvcc's and NVRTC's warn of it."""
    words = directive.text.replace("(", " ").split()[:1]
    return directive.name == "pragma" and not _HOST_PRAGMAS.isdisjoint(words)
