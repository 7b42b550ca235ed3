"""The lines of the full expressions of a source, at whose ends temporary objects cease to exist."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

from grader import regex
from grader.compile.preprocessor import code, directives
from grader.compile.syntax import Node, parse

_WHOLE = ("declaration", "expression_statement", "return_statement", "condition_clause")
_LOOPS = ("for_statement", "do_statement", "for_range_loop")
_MACRO = regex(r"(\w+)(?:\(|.*[;{}()])")
_MOST_LINES = 200
"""The longest statement that is read, in lines."""


@lru_cache(maxsize=1)
def full_expressions(source: str) -> dict[int, tuple[int, int]]:
    """Return the first and the last line of the statements that each line belongs to.

    A line has none where the grammar does not recognize it, or where it uses a macro of the source
    with parameters, which may be any statement. None has one in a source with longer statements.
    """
    tree, out = parse(code(source)), dict[int, tuple[int, int]]()
    errors = [(n.line, n.last_line) for n in tree.walk("ERROR")]
    spans = [_span(node) for node in tree.walk(*_WHOLE, *_LOOPS)]
    if any(last - first > _MOST_LINES for first, last in (*errors, *(s[:2] for s in spans))):
        return {}
    for first, behind, last in spans:
        for line in range(first, behind + 1):
            known = out.get(line, (first, last))
            out[line] = min(first, known[0]), max(last, known[1])
    names = {m[1] for d in directives(source) if d.name == "define" and (m := _MACRO.match(d.text))}
    odd = {n.line for n in tree.leaves() if n.kind.endswith("identifier") and n.text in names}
    odd.update(line for first, last in errors for line in range(first, last + 1))
    rows = sorted(odd)
    return {
        line: (first, last)
        for line, (first, last) in out.items()
        if bisect_left(rows, first) == bisect_left(rows, last + 1)
    }


def _span(node: Node) -> tuple[int, int, int]:
    """The first and the last line of a statement or a loop's head, and the line where these end.

    All of the head of a `for` is one full expression. What a loop over a range makes in its head
    exists as long as the loop.
    """
    body = node.part("body") if node.kind in _LOOPS else None
    first, last = node.line, node.last_line
    if body is not None and node.kind == "do_statement":
        first = min(c.line for c in node.children if c.start >= body.end)
    elif body is not None:
        last = max(c.last_line for c in node.children if c.end <= body.start)
    return first, last, node.last_line if node.kind == "for_range_loop" else last
