"""Mutations of PTX text and of launches: small, blind, and repeatable from a seed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from tests.fuzz.corpus import Entry, Spec

EDGES = (
    "0", "1", "-1", "2", "3", "7", "8", "31", "32", "33", "63", "64", "127", "255", "256", "1023",
    "1024", "4095", "65535", "65536", "2147483647", "-2147483648", "4294967295", "4294967296",
    "-9223372036854775808", "18446744073709551615", "99999999999999999999", "0x1p3", "08", "0b12",
    "0f7F800000", "0f7FC00000", "0f00000001", "0d7FF0000000000000", "0d8000000000000001", "0x", "-",
    "1073741824", "549755813888", "68719476736", "-16", "0xFFFFFFFF", "0x80000000", "%tid.x", "_",
)  # fmt: skip

_TOKEN = re.compile(r"[%$\w.]+")
_NUMBER = re.compile(r"(?<![\w%$.])-?\d+(?![\w])|0[fd][0-9A-F]+|0x[0-9A-Fa-f]+")
_REGISTER = re.compile(r"%[a-z]+\d+")
_OPERATION = re.compile(r"(?m)^\s*(?:@!?%\w+ )?([a-z]\w*(?:\.[\w:]+)+)")
_TYPE = re.compile(r"\.(?:[busf](?:8|16|32|64)|pred|f16x2|bf16|bf16x2|v[248]|b128)\b")
_LABEL = re.compile(r"\$\w+")
_MODIFIERS = (
    ".ftz", ".sat", ".rn", ".rz", ".rm", ".rp", ".rni", ".rzi", ".cc", ".lo", ".hi", ".wide", ".v2",
    ".v4", ".volatile", ".relaxed", ".shared", ".global", ".local", ".param", ".const", ".sync",
    ".aligned", ".approx", ".and", ".xor", ".uni", ".to", ".NaN", ".wrap", ".clamp", ".u8", ".b128",
)  # fmt: skip

Mutation = Callable[[Random, str, Sequence[Entry]], str]


def mutated(random: Random, corpus: Sequence[Entry]) -> tuple[str, Spec]:
    """A text and a launch made from one entry of the corpus by a few mutations."""
    entry = random.choice(corpus)
    text, spec = entry.text, entry.spec
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4, 8))):
        text = random.choices(MUTATIONS, WEIGHTS)[0](random, text, corpus)
    if random.random() < 0.35:
        spec = _launch(random, spec)
    return text, spec


def _swap(pattern: re.Pattern[str]) -> Mutation:
    """Puts one match where another is: operands, registers, opcodes, types, labels, tokens."""

    def mutation(random: Random, text: str, corpus: Sequence[Entry]) -> str:
        matches = list(pattern.finditer(text))
        if len(matches) < 2:
            return text
        at, other = random.choice(matches), random.choice(matches)
        group = pattern.groups
        return text[: at.start(group)] + other[group] + text[at.end(group) :]

    return mutation


def _number(random: Random, text: str, corpus: Sequence[Entry]) -> str:
    matches = list(_NUMBER.finditer(text))
    if not matches:
        return text
    at = random.choice(matches)
    return text[: at.start()] + random.choice(EDGES) + text[at.end() :]


def _offset(random: Random, text: str, corpus: Sequence[Entry]) -> str:
    matches = [m.start() for m in re.finditer(r"\]", text)]
    if not matches:
        return text
    at = random.choice(matches)
    return f"{text[:at]}+{random.choice(EDGES)}{text[at:]}"


def _modifier(random: Random, text: str, corpus: Sequence[Entry]) -> str:
    matches = list(re.finditer(r"\.\w+", text))
    if not matches:
        return text
    at = random.choice(matches)
    new = random.choice(("", at[0] + random.choice(_MODIFIERS), random.choice(_MODIFIERS)))
    return text[: at.start()] + new + text[at.end() :]


def _line(random: Random, text: str, corpus: Sequence[Entry]) -> str:
    """Deletes, doubles, moves a line, or takes one of another file."""
    lines = text.split("\n")
    at, kind = random.randrange(len(lines)), random.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[at])
    elif kind == 2:
        lines.insert(random.randrange(len(lines)), lines.pop(at))
    else:
        lines.insert(at, random.choice(random.choice(corpus).text.split("\n")))
    return "\n".join(lines)


def _guard(random: Random, text: str, corpus: Sequence[Entry]) -> str:
    lines = text.split("\n")
    predicates = re.findall(r"%p\d+", text) or ["%p1"]
    at = random.randrange(len(lines))
    lines[at] = f"@{random.choice(('', '!'))}{random.choice(predicates)} {lines[at].strip()}"
    return "\n".join(lines)


def _character(random: Random, text: str, corpus: Sequence[Entry]) -> str:
    at = random.randrange(len(text) or 1)
    return text[:at] + random.choice(';{}[](),.:@!%$ \n"/*0a_-+=<>|\0\xff') + text[at + 1 :]


def _cut(random: Random, text: str, corpus: Sequence[Entry]) -> str:
    a, b = sorted(random.randrange(len(text) + 1) for _ in range(2))
    return text[:a] + text[min(b, a + 400) :]


MUTATIONS: tuple[Mutation, ...] = (
    _swap(_TOKEN), _swap(_REGISTER), _swap(_OPERATION), _swap(_TYPE), _swap(_LABEL),
    _number, _offset, _modifier, _line, _guard, _character, _cut,
)  # fmt: skip
WEIGHTS = (2, 6, 6, 5, 3, 6, 3, 4, 6, 3, 1, 1)


def _launch(random: Random, spec: Spec) -> Spec:
    """Another geometry, legal on a GPU, and other sizes of arguments."""
    x = random.choice((1, 2, 7, 31, 32, 33, 64, 100, 256, 1024))
    y = random.choice((1, 1, 2, 5)) if x <= 100 else 1
    grid = tuple(random.choice((1, 1, 2, 3)) for _ in range(3))
    args = list(spec.args)
    for k, a in enumerate(args):
        if random.random() < 0.4:
            edge = random.choice((0, 1, -1, 3, 17, 64, 1000, 2**31 - 1, -(2**31)))
            args[k] = edge if not isinstance(a, (list, tuple)) else [a[0], abs(edge) % 999, *a[2:]]
    shared = random.choice((0, spec.shared, 1, 64, 4096))
    return replace(
        spec, grid=(grid[0], grid[1], grid[2]), block=(x, y, 1), args=tuple(args), shared=shared
    )
