"""What may hide a word in C++, and that no text takes more than its share of time."""

from __future__ import annotations

import time

import pytest

from grader.compile.declarations import declarations, function_line, parameter
from grader.compile.diagnostics import findings
from grader.compile.lexical import code, directives, split, without_comments
from grader.compile.screen import MAX_BYTES, host_code, nested_launch, refuse_reaching
from grader.faults import StudentFault


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ("a // b\nc", "a     \nc"),
        ("a /* b\n */ c", "a     \n    c"),
        ('s = "main() {";', 's = "        ";'),
        ('s = "\\" main";', 's = "       ";'),
        ("c = '{';", 'c = " ";'),
        ("n = 1'000'000;", "n = 1'000'000;"),
        ('r = R"(a\n{)";', 'r = "   \n  ";'),
        ('r = R"x()")x"; b', 'r = "       "; b'),
        ("a /* never closed", "a               "),
        ("ma\\\nin()\nb", "main()\n\nb"),
        ("#define A \\\n  {\nb", "           \n\nb"),
        ("  %: include <a>\nb", "                \nb"),
    ],
)
def test_what_is_compiled_remains(source: str, bare: str) -> None:
    found = code(source)
    assert [line.rstrip() for line in found.split("\n")] == [
        line.rstrip() for line in bare.split("\n")
    ]
    assert found.count("\n") == source.count("\n")


def test_comments_go_and_strings_stay() -> None:
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
    ("text", "expected"),
    [
        ("const float* __restrict__ A", ("const float*", "A")),
        ("float *A", ("float*", "A")),
        ("float A[16]", ("float*", "A")),
        ("float", ("float", "")),
        ("unsigned int", ("unsigned int", "")),
        ("unsigned n", ("unsigned", "n")),
        ("const int n = 3", ("const int", "n")),
        ("const P", ("const P", "")),
        ("struct P p", ("struct P", "p")),
        ("int*", ("int*", "")),
        ("std::uint32_t m", ("std::uint32_t", "m")),
    ],
)
def test_a_parameter_is_a_type_and_a_name(text: str, expected: tuple[str, str]) -> None:
    assert parameter(text) == expected


def test_declarations_put_definitions_first() -> None:
    bare = code(
        "__global__ void a(int);\n"
        "template <int N> __global__ void b(float (&x)[N], int n) {}\n"
        "__launch_bounds__(3) __global__ static void __attribute__((used)) a(int n) { }\n"
        "__global__ ;"
    )
    assert [(d.name, d.line, d.template, d.defined) for d in declarations(bare)] == [
        ("b", 2, True, True),
        ("a", 3, False, True),
        ("a", 1, False, False),
    ]
    assert function_line(bare, "a") == 3
    assert function_line(bare, "c") == 0


def test_split_minds_brackets() -> None:
    assert split("a, f(b, c), V<d, e> g") == ["a", "f(b, c)", "V<d, e> g"]
    assert split(" ") == []


def test_host_code_is_named_with_its_lines() -> None:
    source = (
        "namespace n {\nvoid run() { k<<<1, 1>>>(); }\n}\n"
        'extern "C" {\n__device__ int helper(int a) { return a; }\n}\n'
        "struct S { int f() { return 1; } };\n"
        "#ifdef X\nint main(int argc, char** argv)\n{\n}\n#endif\n"
    )
    found = [(str(h), h.guarded) for h in host_code(source)]
    assert found == [("2 (run: a kernel launch)", False), ("9-11 (main)", True)]
    assert nested_launch(source, "a.cu") is None


HOSTILE = {
    "backslashes": "\\" * MAX_BYTES,
    "splices": "\\\n" * (MAX_BYTES // 2),
    "one line": "x" * MAX_BYTES,
    "quotes": '"' * MAX_BYTES,
    "raw": 'R"x(' * (MAX_BYTES // 4),
    "comments": "/*" * (MAX_BYTES // 2),
    "slashes": "/" * MAX_BYTES,
    "parentheses": "(" * MAX_BYTES,
    "pairs": "f();" * (MAX_BYTES // 4),
    "braces": "f(){" * (MAX_BYTES // 4),
    "bodies": "f(){}" * (MAX_BYTES // 5),
    "kernels": "__global__ " * (MAX_BYTES // 11),
    "kernel bodies": "__global__ void f(int a){}" * (MAX_BYTES // 26),
    "attributes": "__global__ __launch_bounds__(" * (MAX_BYTES // 29),
    "arrays": "__global__ void f(int a" + "[" * MAX_BYTES,
    "conditionals": "#if 1\n" * (MAX_BYTES // 6),
    "includes": "#include <a>\n" * (MAX_BYTES // 13),
    "spaces": " " * MAX_BYTES,
    "hashes": "#" * MAX_BYTES,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_more_than_its_share_of_time(name: str) -> None:
    text = HOSTILE[name][:MAX_BYTES]
    started = time.process_time()
    try:
        refuse_reaching(text, "a.cu")
    except StudentFault:
        assert name == "includes"
    host_code(text)
    nested_launch(text, "a.cu")
    bare = code(text)
    declarations(bare)
    function_line(bare, "f")
    assert time.process_time() - started < 5


def test_a_log_of_a_hostile_source_is_read_in_time() -> None:
    head = 'a.cu(1): error: expected a ";"\n  ' + "x" * 1000 + "\n     ^\n"
    log = head * 2000 + "(" * 100_000 + "\n" + "/a" * 100_000
    started = time.process_time()
    (finding,) = findings(log, "a.cu", "x" * 100_000)
    assert time.process_time() - started < 5
    assert (finding.line, finding.column, len(finding.text)) == (1, 4, 500)
