"""The kernels as the source declares them: the names of parameters, which the compiler drops."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.compile.lexical import closing, line_at, split

_GLOBAL = re.compile(r"\b__global__\b")
_WORD = re.compile(r"[A-Za-z_]\w*")
_TAKES_ARGUMENTS = re.compile(
    r"(?:__launch_bounds__|__attribute__|__cluster_dims__|__block_size__|__maxnreg__|alignas)\b"
)
_QUALIFIERS = re.compile(r"\b(?:__restrict__|__restrict|restrict|__grid_constant__|register)\b")
_OPENING = re.compile(r"\s*\(")
_BODY = re.compile(r"\s*\{")
_ARRAY = re.compile(r"\s*\[[^\]]*\]\s*$")
_MAX_WORDS = 24  # between __global__ and the name; more is no kernel but an attack on our time
_MAX_LETTERS = 400  # of one parameter, likewise
_MAX_LIST = 4096  # letters of a parameter list
_BASIC = ("char", "short", "int", "long", "float", "double", "bool", "void")
_TYPE_WORDS = frozenset((*_BASIC, "const", "volatile", "unsigned", "signed", "struct", "enum"))


@dataclass(frozen=True)
class Declaration:
    """A `__global__` function in the source; `parameters` are (type, name), a name may be ""."""

    name: str
    line: int
    parameters: tuple[tuple[str, str], ...]
    template: bool = False
    defined: bool = False


def declarations(bare: str) -> tuple[Declaration, ...]:
    """The kernels that a source declares; `bare` is `lexical.code` of it. Definitions first, so
    that the first of a name is the one to show.
    """
    found = [d for at in _GLOBAL.finditer(bare) if (d := _declaration(bare, at.end()))]
    return tuple(sorted(found, key=lambda d: not d.defined))


def function_line(bare: str, name: str) -> int:
    """The line where something called `name` takes arguments and has a body; 0 if nowhere."""
    for found in re.finditer(rf"\b{re.escape(name)}\s*\(", bare):
        if _BODY.match(bare, closing(bare, found.end() - 1, _MAX_LIST) + 1):
            return line_at(bare, found.start())
    return 0


def parameter(text: str) -> tuple[str, str]:
    """A parameter's (type, name): "const float* __restrict__ A" is ("const float*", "A")."""
    text = _QUALIFIERS.sub(" ", text[:_MAX_LETTERS].partition("=")[0])
    pointers = 0
    while _ARRAY.search(text):
        text, pointers = _ARRAY.sub("", text), pointers + 1
    text = text.strip()
    words = _WORD.findall(text)
    name = words[-1] if words else ""
    others = [word for word in words[:-1] if word not in ("const", "volatile", "struct", "enum")]
    named = name not in _TYPE_WORDS and text.endswith(name) and bool(others)
    if "(" in text or not named:
        name = ""
    return _spaced(text.removesuffix(name) + "*" * pointers), name


def _declaration(bare: str, position: int) -> Declaration | None:
    """The declaration whose `__global__` ends at `position`."""
    for _ in range(_MAX_WORDS):
        word = _WORD.search(bare, position)
        if word is None or any(letter in bare[position : word.start()] for letter in ";{}"):
            return None
        opening = _OPENING.match(bare, word.end())
        if opening is None:
            position = word.end()
        elif _TAKES_ARGUMENTS.fullmatch(word[0]):
            position = closing(bare, opening.end() - 1, _MAX_LIST) + 1
        else:
            return _read(bare, word, opening.end() - 1)
    return None


def _read(bare: str, word: re.Match[str], opening: int) -> Declaration:
    end = closing(bare, opening, _MAX_LIST)
    inside = split(bare[opening + 1 : end])
    parameters = () if inside in ([], ["void"]) else tuple(parameter(p) for p in inside)
    ended = max(bare.rfind(letter, 0, word.start()) for letter in ";}")
    before = bare[max(ended + 1, word.start() - _MAX_LETTERS) : word.start()]
    return Declaration(
        word[0],
        line_at(bare, word.start()),
        parameters,
        template=bool(re.search(r"\btemplate\s*<", before)),
        defined=bool(_BODY.match(bare, end + 1)),
    )


def _spaced(text: str) -> str:
    """One space between words, none before a star."""
    return re.sub(r"\s*([*&])\s*", r"\1", re.sub(r"\s+", " ", text.strip())).strip()
