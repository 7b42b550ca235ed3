"""A variable without a value is found however it is declared, and wherever.

As in test_unset_variables: random statements set variables and use them, and a model in Python says
in which lines a thread uses what it has not set. Here the variables have any kind of type and
declaration, and are declared where a `switch` jumps over them, in the head of an `if` or `for`, or
in the body of a loop.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.compile.nvrtc import without_rejected
from grader.compile.preprocessor import code
from grader.compile.syntax import parse
from grader.compile.unset import with_unset_variables
from tests.simulator.test_unset_variables import CONDITIONS, USES, uninitialized
from tests.trusted import compile_here

PREAMBLE = """\
enum Color { RED, GREEN, BLUE = 1000 };
enum class Side : unsigned char { LEFT, RIGHT };
enum class Switch : bool { OFF, ON };
struct Traits { using type = float; typedef unsigned short small; enum Kind { A, B }; };
template <class T> using Same = T;
template <class T> struct Of { using type = T; };
typedef long long Wide, *Pointers[2]; typedef int *Pointer; using Real = double;
__device__ int set(int &x) { x = 1; return 2; }
#define DECLARE(x) int x
#define LOCAL(T, x) T x;
#define JOINED(a, b) float a##b
#define REAL float
#define WORD unsigned int
"""
DECLARATIONS = (
    "int NAME;", "int other_NAME = 1, NAME;", "int NAME, other_NAME = 1, third_NAME;",
    "unsigned char NAME, other_NAME;", "int NAME = NAME;", "float NAME = NAME, other_NAME;",
    "int before_NAME, NAME{NAME}, after_NAME = 3;", "int *where_NAME, NAME;",
    "int \\\n NAME \\\n ;", "float NAME\\\n;", "alignas(8) int NAME;",
    "short NAME [[maybe_unused]];",
    "[[maybe_unused]] double NAME;", "Color NAME;", "enum Color NAME;", "Side NAME;",
    "Switch NAME;", "Traits::Kind NAME;", "Traits::type NAME;", "Traits::small NAME;",
    "Same<double> NAME;", "Wide NAME;", "Real NAME;", "decltype(n) NAME;",
    "decltype(n * 2.0f) NAME;", "cudaError_t NAME;", "DECLARE(NAME);", "LOCAL(double, NAME)",
    "LOCAL(unsigned int, NAME) DECLARE(other_NAME);", "JOINED(NA, ME);", "REAL NAME;",
    "WORD NAME;", "<% int NAME; %> bool NAME;", "size_t /* \u00e9 */ other_NAME, NAME;",
)  # fmt: skip
WITH_VALUE = (
    "int NAME, *set_NAME = &(NAME = 1, NAME);", "int NAME = 1, other_NAME = NAME;",
    "float NAME = sizeof(NAME);", "Pointer p_NAME; int NAME = *(p_NAME = &NAME) = 2;",
    "int NAME, other_NAME = set(NAME);", "decltype(n) NAME{};", "Color NAME = RED;",
    "int NAME = set(NAME);", "const int NAME = 3;",
)  # fmt: skip
IN_TEMPLATE = (
    "T NAME;", "U other_NAME, NAME;", "typename Of<U>::type NAME;", "Same<T> NAME = NAME;",
    "T NAME{NAME};", "decltype(T() + n) NAME;",
)  # fmt: skip
PARAMETERS = ("int", "float", "double", "unsigned char", "bool", "long long", "short", "Color")
HEADS = {
    "kernel": ('extern "C" __global__ void k(int *out, int n) {', "int t = threadIdx.x;"),
    "template": ("template <class T, class U> __device__ int body(int t, int n) {", ""),
    "member": (
        "template <class T> struct Body { template <class U> static __device__ int "
        "body(int t, int n) {",
        "",
    ),
    "lambda": (
        'extern "C" __global__ void k(int *out, int n) {',
        "auto body = [](int t, auto n) {",
    ),
}
KERNEL = (
    'extern "C" __global__ void k(int *out, int n) '
    "{ out[threadIdx.x] = BODY<T, U>(threadIdx.x, n); }"
)
ENDS = {
    "kernel": "out[t] = sum; }",
    "template": "return sum; }\n" + KERNEL.replace("BODY", "body"),
    "member": "return sum; } };\n" + KERNEL.replace("BODY<T, U>", "Body<T>::body<U>"),
    "lambda": "return sum; }; out[threadIdx.x] = body(threadIdx.x, n); }",
}

Statement = tuple[str, int, str, str]
"""What it does, to which variable, the condition, and the form of a use."""
Rows = list[tuple[Statement, int]]
"""Statements with their lines."""


def statements(variables: int, conditions: dict[str, object]) -> st.SearchStrategy[Statement]:
    return st.tuples(
        st.sampled_from(("set", "use", "use")),
        st.integers(0, variables - 1),
        st.sampled_from((*sorted(conditions), "")),
        st.sampled_from(USES),
    )


def text_of(statement: Statement) -> str:
    what, number, condition, use = statement
    name = f"NA{number}ME"
    one = f"{name} = (decltype({name}))1;" if what == "set" else use.format(f"(int){name}")
    return f"if ({condition}) {{ {one} }}" if condition else one


def named(declaration: str, number: int) -> str:
    joined = declaration.replace("JOINED(NA, ME)", f"JOINED(NA, {number}ME)")
    return joined.replace("NAME", f"NA{number}ME")


def source_of(place: str, parameters: tuple[str, str], declared: list[str], rows: list[str]) -> str:
    head, more = HEADS[place]
    own = [named(declaration, k) for k, declaration in enumerate(declared)]
    end = ENDS[place].replace("T, U", ", ".join(parameters))
    end = end.replace("<T>", f"<{parameters[0]}>").replace("<U>", f"<{parameters[1]}>")
    return "\n".join([PREAMBLE + head, f"{more} int sum = 0;", *own, *rows, end, ""])


def run(rows: Rows, has: dict[int, set[int]], threads: set[int], *, once: bool) -> set[int]:
    """The lines where a thread uses what has no value; `has` is changed.

    With `once`, a thread's later uses of what it used before are none.
    """
    wrong = set()
    for (what, number, condition, _), line in rows:
        inside = {t for t in threads if not condition or CONDITIONS[condition](t)}
        if what == "use" and not inside <= has[number]:
            wrong.add(line)
        has[number] |= inside if what == "set" or once else set()
    return wrong


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, list[str], tuple[str, str], list[Statement]]:
    place = draw(st.sampled_from(sorted(HEADS)))
    kinds = (*DECLARATIONS, *WITH_VALUE)
    kinds += IN_TEMPLATE * 4 if place in ("template", "member") else ()
    declared = draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=5))
    parameters = draw(st.tuples(st.sampled_from(PARAMETERS), st.sampled_from(PARAMETERS)))
    rows = draw(st.lists(statements(len(declared), CONDITIONS), min_size=1, max_size=8))
    constant = {k for k, text in enumerate(declared) if text.startswith("const ")}
    return place, declared, parameters, [r for r in rows if r[0] == "use" or r[1] not in constant]


@given(programs())
@settings(max_examples=60)
def test_whatever_declares_a_variable_its_uses_without_a_value_are_found(
    program: tuple[str, list[str], tuple[str, str], list[Statement]],
) -> None:
    place, declared, parameters, rows = program
    source = source_of(place, parameters, declared, [text_of(row) for row in rows])
    first = source_of(place, parameters, declared, ["@"]).partition("@")[0].count("\n") + 1
    lines = list(zip(rows, range(first, first + len(rows)), strict=True))
    found = uninitialized(source)
    everybody = set(range(32))
    with_value = {k: everybody if d in WITH_VALUE else set() for k, d in enumerate(declared)}
    least = run(lines, {k: set(v) for k, v in with_value.items()}, everybody, once=True)
    most = run(lines, {k: set(v) for k, v in with_value.items()}, everybody, once=False)
    assert least <= found <= most, source


@pytest.mark.parametrize("place", sorted(HEADS))
def test_the_debug_build_has_all_statements(place: str) -> None:
    declared = [*DECLARATIONS, *WITH_VALUE]
    declared += IN_TEMPLATE if place in ("template", "member") else ()
    for k, parameter in enumerate(PARAMETERS):
        source = source_of(place, (parameter, PARAMETERS[k - 1]), declared, [])
        text = with_unset_variables(source, parse(code(source)))
        count = sum(d not in WITH_VALUE for d in declared)
        assert text.count("asm") >= count and text.count("\n") == source.count("\n")
        compile_here(text.encode(), "k.cu")
        if "T" not in "".join(HEADS[place]):
            break


REGIONS = {
    "switch": (
        "switch (t % 3) {", "DECLARED", "case 0:", "ROWS", "case 1:", "ROWS", "default:", "ROWS",
        "}",
    ),
    "label": (
        "switch (t % 3) {", "case 2: DECLARED", "ROWS", "case 0:", "ROWS", "case 1:", "ROWS", "}",
    ),
    "nested": (
        "for (int j = 0; j < 3; j++) switch ((t + j) % 3) {", "DECLARED", "case 0: case 5:", "ROWS",
        "case 1:", "ROWS", "case 2:", "ROWS", "}",
    ),
    "if": ("if (DECLARED n == 5) {", "ROWS", "}"),
    "else": ("if (n == 4) sum = 1; else if (DECLARED n == 4) sum = 2; else {", "ROWS", "}"),
    "head": ("switch (DECLARED n) {", "case 5:", "ROWS", "default: sum += 1; }"),
    "for": ("for (LAST, j = 0; j < 3; j++) {", "ROWS", "}"),
    "round": ("for (int j = 0; j < 3; j++) {", "DECLARED", "ROWS", "}"),
    "loop": (
        "int i = 0; while (i++ < 3) { const int j = i - 1;", "{", "DECLARED", "ROWS", "}", "}",
    ),
}  # fmt: skip
IN_HEAD = (
    "int NAME;", "float other_NAME = 1, NAME;", "Color NAME;", "decltype(n) NAME;", "WORD NAME;",
)  # fmt: skip
ROUNDS = {"for": 3, "round": 3, "loop": 3, "nested": 3}
IN_ROUND = CONDITIONS | {"j == 0": None, "j > 0": None, "j == 1 && t > 4": None}
Part = tuple[list[Statement], bool]
"""Statements behind a label, and whether they end with a `break`."""


def holds(condition: str, t: int, j: int) -> bool:
    rounds = {"j == 0": j == 0, "j > 0": j > 0, "j == 1 && t > 4": j == 1 and t > 4}
    return not condition or (rounds[condition] if condition in rounds else CONDITIONS[condition](t))


@st.composite
def regions(draw: st.DrawFn) -> tuple[str, str, list[Part]]:
    kind = draw(st.sampled_from(sorted(REGIONS)))
    conditions = IN_ROUND if kind in ROUNDS else CONDITIONS
    rows = st.lists(statements(1, conditions), min_size=1, max_size=4)
    count = REGIONS[kind].count("ROWS")
    parts = draw(st.lists(st.tuples(rows, st.booleans()), min_size=count, max_size=count))
    heads = [d for d in IN_HEAD if kind != "for" or d.startswith(("int", "float"))]
    plain = [d for d in DECLARATIONS if "\\" not in d and "<%" not in d]
    if kind in ("switch", "nested"):  # C++ forbids to jump over an initialization
        plain = [d for d in plain if "NAME = NAME" not in d and "{NAME}" not in d]
    in_head = kind in ("if", "else", "head", "for")
    return kind, draw(st.sampled_from(heads if in_head else plain)), parts


def region_source(kind: str, declaration: str, parts: list[Part]) -> tuple[str, list[list[int]]]:
    """The source of a region, and the lines of the statements of each of its parts."""
    head, more = HEADS["kernel"]
    lines = [*PREAMBLE.split("\n")[:-1], head, f"{more} int sum = 0;"]
    places: list[list[int]] = []
    declared = named(declaration, 0)
    for row in REGIONS[kind]:
        if row != "ROWS":
            lines.append(row.replace("DECLARED", declared).replace("LAST", declared.rstrip(";")))
            continue
        rows, ends = parts[len(places)]
        places.append(list(range(len(lines) + 1, len(lines) + 1 + len(rows))))
        is_switch = "case" in " ".join(REGIONS[kind])
        lines += [text_of(r) for r in rows] + ["break;"] * (ends and is_switch)
    return "\n".join([*lines, ENDS["kernel"], ""]), places


def region_model(kind: str, parts: list[Part], places: list[list[int]], *, once: bool) -> set[int]:
    """The lines where a thread uses the variable of a region before it has set it."""
    wrong = set()
    order = {"switch": (0, 1, 2), "label": (1, 2, 0), "nested": (0, 1, 2)}
    for t in range(32):
        has = reported = False  # in later rounds, too
        for j in range(ROUNDS.get(kind, 1)):
            has = has and kind == "for"
            first = order[kind][(t + j) % 3] if kind in order else 0
            for (rows, ends), lines in list(zip(parts, places, strict=True))[first:]:
                for (what, _, condition, _), line in zip(rows, lines, strict=True):
                    if not holds(condition, t, j):
                        continue
                    is_wrong = what == "use" and not (has or reported)
                    wrong |= {line} if is_wrong else set()
                    reported |= is_wrong and once
                    has |= what == "set"
                if ends and kind in order:
                    break
    return wrong


@given(regions())
@settings(max_examples=50)
def test_a_variable_that_a_switch_jumps_over_or_a_head_declares_has_no_value(
    region: tuple[str, str, list[Part]],
) -> None:
    kind, declaration, parts = region
    source, places = region_source(kind, declaration, parts)
    found = uninitialized(source)
    assert region_model(kind, parts, places, once=True) <= found, source
    assert found <= region_model(kind, parts, places, once=False), source


def test_lines_that_the_compiler_rejects_stay_as_they_were() -> None:
    source = (
        "__global__ void k(int *out) {\n    int x;\n    out[0] = 1; float short_;\n"
        "    out[1] = x * 2;\n    using namespace cuda;\n}\n"
    )
    debug = with_unset_variables(source, parse(code(source)))
    log = "k.cu(3): error: no\nk.cu(99): error: no\nk.cu(4): warning: no\nother.cu(2): error: no\n"
    kept = without_rejected(debug.encode(), source.encode(), log, "k.cu").decode().split("\n")
    rows = debug.split("\n")
    assert rows[2] != source.split("\n")[2] == kept[2] and kept[1] == rows[1]
    assert "asm" in kept[1]


def test_one_rejected_statement_takes_no_other_away() -> None:
    source = (
        "#define CLASS(name) struct name { int a; }\nCLASS(byte);\n"
        'extern "C" __global__ void k(int *out, int n) {\n    byte odd; odd.a = n;\n    int x;\n'
        "    out[threadIdx.x] = x * n + odd.a;\n}\n"
    )
    assert "odd = (char)" in with_unset_variables(source, parse(code(source)))
    assert uninitialized(source) == {6}
