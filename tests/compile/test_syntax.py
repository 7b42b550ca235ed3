"""The syntax tree of a text: its nodes, and the limits of the parser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.compile import syntax
from grader.compile.syntax import MAX_PIECE, parse

FUNCTION = "__device__ int f(int a)\n{\n    return a;\n}\n"


def test_nodes_have_lines_and_parts() -> None:
    tree = parse("// \u00e4\nint f() {\n  return 1;\n}\n")
    (function,) = tree.walk("function_definition")
    body = function.field("body")
    assert (function.line, function.last_line, body.kind) == (2, 4, "compound_statement")
    assert function.field("declarator").text == "f()"
    assert [node.text for node in body.children] == ["{", "return 1;", "}"]
    assert [node.text for node in body.named] == ["return 1;"]
    assert body.parent == function
    assert [node.kind for node in body.ancestors] == [
        "function_definition", "translation_unit", "text",
    ]  # fmt: skip
    assert "".join(leaf.text for leaf in tree.leaves()) == "// \u00e4intf(){return1;}"
    with pytest.raises(ValueError, match="without name"):
        body.field("name")


@given(st.text(max_size=200))
def test_any_text_has_a_tree(text: str) -> None:
    tree = parse(text)
    assert tree.root.end == len(text.encode())
    for node in tree.walk():
        assert 0 <= node.start <= node.end <= tree.root.end
        assert node.parent is None or node.parent.start <= node.start


def test_a_long_text_keeps_its_lines_and_functions() -> None:
    count = 3 * MAX_PIECE // len(FUNCTION)
    tree = parse(FUNCTION * count)
    assert [f.line for f in tree.walk("function_definition")] == [1 + 4 * n for n in range(count)]
    assert all(f.text + "\n" == FUNCTION for f in tree.walk("function_definition"))
    assert not tree.has_error


def test_a_function_that_is_too_long_has_only_a_head() -> None:
    long = FUNCTION.replace("return a;", "a += 1;\n" * MAX_PIECE)
    tree = parse(f"namespace n {{\n{FUNCTION}{long}{FUNCTION}}}\n")
    lines = [f.line for f in tree.walk("function_declarator")]
    assert lines == [2, 6, 10 + MAX_PIECE]


def test_the_parser_stops_at_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(parse("= typename " * 700).walk("ERROR"))
    monkeypatch.setattr(syntax, "SECONDS", -1.0)
    stopped = parse(FUNCTION)
    assert [node.kind for node in stopped.walk()] == ["text", "ERROR"]
    assert stopped.has_error
