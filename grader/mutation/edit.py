"""What a mutant is: one edit of a source text, the rest of it byte for byte the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.mutation.syntax import line_of, text


@dataclass(frozen=True)
class Edit:
    """Bytes `start` to `end` of a source become `new`. `line`, from 1, is that of what is meant,
    `change` says it in one line."""

    start: int
    end: int
    new: str
    line: int
    change: str


Operator = Callable[[Node], Iterator[Edit]]
"""A way to break a program: the tree of a source -> the edits that it offers, in the text's
order."""


@dataclass(frozen=True)
class Mutant:
    """A source after one edit: `name` is `<operator>-<line>-<n>`, the same for the same source;
    `was` is the text of the edited line without its indentation, `now` what became of it, ""
    when the edit is about more than one line."""

    name: str
    operator: str
    line: int
    was: str
    now: str
    change: str
    source: str


def replaced(node: Node, new: str, change: str = "") -> Edit:
    """The edit that puts `new` in the place of a node."""
    said = change or f"{text(node)} -> {new}"
    return Edit(node.start_byte, node.end_byte, new, line_of(node), said)


def applied(source: bytes, edit: Edit) -> bytes:
    """The source after the edit."""
    return source[: edit.start] + edit.new.encode() + source[edit.end :]
