"""Comments, literals, spliced lines and digraphs, which may hide a word in C++."""

from __future__ import annotations

import pytest

from grader.compile.preprocessor import code, directives, without_comments


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ("a // b\nc", "a     \nc"),
        ("a /* b\n */ c", "a     \n    c"),
        ('s = "main() {";', 's = "        ";'),
        ('s = "\\" main";', 's = "       ";'),
        ("c = '{';", 'c = " ";'),
        ("n = 1'000'000;", "n = 1'000'000;"),
        ('r = R"(a\n{)";', 'r = ""  \n   ;'),
        ('r = R"x()")x"; b', 'r = ""       ; b'),
        ("a /* never closed", "a               "),
        ("ma\\\nin()\nb", "main()\n\nb"),
        ("#define A \\\n  {\nb", "           \n\nb"),
        ("  %: include <a>\nb", "                \nb"),
        ("f() <% a<:0:> = 1; %>", "f() {  a[ 0 ] = 1;  }"),
        ("v<::n> a; b<:::c:>", "v<::n> a; b[ ::c ]"),
        ("case'\"': b", 'case" ": b'),
        ("x = u8'\"'; b", 'x = u8" "; b'),
        ("x = 0xa'b + u'\"'; b", 'x = 0xa\'b + u" "; b'),
        ('u8R"(")" b', '""       b'),
        ('NOR"(" b', 'NOR" " b'),
        ("#define A /* {\n{ */ {\nb", "\n\nb"),
    ],
)
def test_only_compiled_text_remains(source: str, bare: str) -> None:
    found = code(source)
    assert [line.rstrip() for line in found.split("\n")] == [
        line.rstrip() for line in bare.split("\n")
    ]
    assert found.count("\n") == source.count("\n")


def test_comments_are_removed_and_strings_remain() -> None:
    assert without_comments('#include "a" // b') == '#include "a"     '


def test_directives_have_lines_and_depths() -> None:
    source = "#if A\n# define B \\\n 1\n%:include <x>\n#endif\n??=include <y>"
    found = [(d.name, d.text, d.line, d.depth) for d in directives(source)]
    assert found == [
        ("if", "A", 1, 0),
        ("define", "B  1", 2, 1),
        ("include", "<x>", 4, 1),
        ("endif", "", 5, 0),
        ("include", "<y>", 6, 0),
    ]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("/* a\n */ #include <x>", 2),
        ("# /* a\n */ include <x>", 1),
        ("\f#include <x>", 1),
        ("#inc\\\nlude <x>", 1),
        ("#include /*\n*/ <x>", 1),
        ("case'\"':\n#include <x>", 2),
    ],
    ids=["comment before", "comment inside", "form feed", "splice", "comment behind", "quote"],
)
def test_no_spelling_hides_a_directive(source: str, line: int) -> None:
    assert [(d.name, d.text, d.line) for d in directives(source)] == [("include", "<x>", line)]
