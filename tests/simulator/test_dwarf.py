"""Names, types and places of local variables in real debug PTX, and in damaged debug sections."""

from __future__ import annotations

import pytest

from grader.simulator.ptx.debug_info import LocalVariables
from grader.simulator.ptx.parser import parse
from tests.trusted import compile_here

SOURCE = b"""\
struct Inner { short a; double b[2]; };
struct Outer { char tag; Inner in[3]; };
union Word { float f; int i; };
struct Bits { unsigned a : 3, b : 5, c : 12; int d; };
__device__ void use(void *a, void *, void *, void *, void *, void *) { *(float *)a = 1; }
extern "C" __global__ void k(float *out) {
  float plain, acc[2][3];
  Outer nest;
  Word word;
  volatile const unsigned counts[4] = {1, 2, 3, 4};
  float *pointers[2];
  Bits bits;
  use(&bits, 0, 0, 0, 0, 0);
  use(&plain, acc, &nest, &word, (void *)counts, pointers);
  out[0] = plain;
}
"""

ELEMENTS = {
    "plain": ("float", "", 4, {0: "plain"}),
    "acc": (
        "float",
        "[2][3]",
        24,
        {0: "acc[0][0]", 4: "acc[0][1]", 12: "acc[1][0]", 23: "acc[1][2]"},
    ),
    "nest": ("Outer", "", 80, {0: "nest.tag", 8: "nest.in[0].a", 48: "nest.in[1].b[1]"}),
    "word": ("Word", "", 4, {0: "word", 3: "word"}),
    "counts": ("unsigned int", "[4]", 16, {8: "counts[2]"}),
    "bits": (
        "Bits",
        "",
        8,
        {0: "bits.a or .b", 1: "bits.c", 2: "bits.c", 3: "bits.c", 4: "bits.d"},
    ),
    "pointers": ("float *", "[2]", 16, {8: "pointers[1]"}),
}


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    return parse(compile_here(SOURCE, "k.cu").debug_ptx).sections


@pytest.mark.parametrize("name", ELEMENTS)
def test_variable_at_a_byte_is_named(sections: dict[str, str], name: str) -> None:
    variables = LocalVariables(sections)
    (v,) = [v for v in variables.variables if v.name == name]
    kind, extent, size, elements = ELEMENTS[name]
    assert (v.kind, v.extent, v.bytes) == (kind, extent, size)
    assert SOURCE.decode().split("\n")[v.line - 1].count(name)
    assert {at: variables.element(v, v.offset + at) for at in elements} == elements
    assert variables.at(v.frame, v.offset + size - 1) == v
    assert variables.at(v.frame, v.offset + size) != v


def test_variable_of_an_inlined_function_is_named() -> None:
    source = b"""\
__device__ void use(int *p) { *p = 1; }
__device__ __forceinline__ int inlined(int n) {
  int own[5];
  use(own);
  return own[n];
}
extern "C" __global__ void k(int *out) { out[0] = inlined(out[1]); }
"""
    variables = LocalVariables(parse(compile_here(source, "k.cu").debug_ptx).sections)
    (own,) = [v for v in variables.variables if v.frame.startswith("__local_depot") and v.bytes]
    assert (own.name, own.extent, own.bytes, own.line) == ("own", "[5]", 20, 3)
    assert variables.largest[own.frame, own.offset] == own


def test_pointer_to_a_member_has_no_size_of_what_it_points_to() -> None:
    source = b"""\
struct Pair { char a, b; };
__device__ void use(char Pair::**p) { *p = &Pair::b; }
extern "C" __global__ void k(char *out) {
  char Pair::*member;
  use(&member);
  Pair pair = {1, 2};
  out[0] = pair.*member;
}
"""
    variables = LocalVariables(parse(compile_here(source, "k.cu").debug_ptx).sections)
    (member,) = [v for v in variables.variables if v.name == "member"]
    assert member.bytes in (0, 8)


def test_byte_outside_all_variables_has_none(sections: dict[str, str]) -> None:
    variables = LocalVariables(sections)
    assert variables.at("__local_depot99", 0) is None
    assert variables.at(variables.variables[0].frame, 10_000) is None


@pytest.mark.parametrize("part", [".debug_info", ".debug_abbrev"])
def test_damaged_debug_sections_give_no_wrong_names(sections: dict[str, str], part: str) -> None:
    """Any text is taken: the student's own assembly may stand there."""
    names = {v.name for v in LocalVariables(sections).variables}
    integer = sections[part]
    for cut in range(0, len(integer), 97):
        held = LocalVariables(sections | {part: integer[:cut]})
        assert {v.name for v in held.variables} <= names
        other = LocalVariables(sections | {part: integer[:cut] + "\n.b8 255\n" + integer[cut:]})
        for v in other.variables:
            other.element(v, v.offset)
    assert LocalVariables({}).variables == []
