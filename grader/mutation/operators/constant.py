"""A whole number is off by one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.mutation.edit import Edit, replaced
from grader.mutation.syntax import first_line, line_of, text, walk

WHOLE = re.compile(r"(\d+)([uUlL]*)")


def edits(tree: Node) -> Iterator[Edit]:
    """Each decimal whole number, those of `#define` included, one more and one less."""
    for number in walk(tree, "number_literal"):
        if found := WHOLE.fullmatch(text(number)):
            for new in _beside(found):
                yield replaced(number, new, f"{found[0]} -> {new} in {_around(number)}")
    for body in walk(tree, "preproc_arg"):
        for found in re.finditer(rf"\b{WHOLE.pattern}\b", text(body)):
            start = body.start_byte + len(text(body)[: found.start()].encode())
            end = start + len(found[0])
            for new in _beside(found):
                yield Edit(start, end, new, line_of(body), f"{found[0]} -> {new} in {text(body)}")


def _beside(found: re.Match[str]) -> tuple[str, str]:
    value, suffix = int(found[1]), found[2]
    less = f"{value - 1}{suffix}" if value else f"-1{suffix}"
    return f"{value + 1}{suffix}", less


def _around(number: Node) -> str:
    """The expression that a number stands in, which tells it from others on its line."""
    above = number.parent
    while above is not None and above.type in (
        "parenthesized_expression",
        "subscript_argument_list",
    ):
        above = above.parent
    return first_line(above) if above is not None else text(number)
