"""A constant subscript is out of bounds where it is outside its array, accessed, and reached.

Kernels have one random statement a line; a model in Python says which of them are errors.
"""

from __future__ import annotations

from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from grader.compile.program import Program
from grader.launch import Array, Launch, Scalar
from grader.simulator.simulate import simulate
from tests.trusted import compile_here

ARRAYS = {"a": (4,), "b": (3,), "m": (3, 4), "t": (5,), "c": (2, 2)}
HEAD = """#define FOUR 4
template <int K> __device__ int inside(int *p) {
    if (K > 4) return p[4];
    return p[0];
}
__device__ int shared_array(int n) {
    __shared__ int t[5];
    return n;
}
extern "C" __global__ void k(int *out, int n) {
    int a[4] = {}, b[3] = {}, m[3][4] = {}, t[5] = {}, c[2][2] = {}, sum = 0;
    const bool never = FOUR > 9;
"""
TAIL = """    out[threadIdx.x] = sum + a[n & 3] + b[n & 1] + m[n & 1][0] + t[n & 3] + c[n & 1][0];
}
"""
GUARDS = {
    "{}": True,
    "if (n == 5) {{ {} }}": True,
    "if (threadIdx.x == 3) {}": True,
    "for (int i = 0; i < n; ++i) {}": True,
    "if (n > 5) {}": False,
    "if (FOUR > 5) {}": False,
    "if (never) {{ {} }} else b[0] = 1;": False,
    "if (threadIdx.x > 90) {} else c[0][0] = 1;": False,
    "while (n < 3) {{ {} break; }}": False,
    "switch (FOUR) {{ case 9: {} break; case 4: sum += 1; }}": False,
}
"""Statements around a statement, and whether it is reached."""
FORMS = {
    "{} = n;": True,
    "sum += {};": True,
    "{}++;": True,
    "sum += {} > n ? 1 : 2;": True,
    "sum += n - {};": True,
    "sum += FOUR > 5 ? {} : b[1];": False,
    "sum += FOUR > 5 && {};": False,
    "sum += sizeof({});": False,
}
"""Uses of an element, and whether they access it."""

subscripts = st.sampled_from(sorted(ARRAYS)).flatmap(
    lambda name: st.tuples(st.just(name), *(st.integers(-1, n + 1) for n in ARRAYS[name]))
)
statements = st.tuples(
    subscripts, st.sampled_from(sorted(GUARDS)), st.sampled_from(sorted(FORMS)), st.booleans()
)


def written(name: str, indices: tuple[int, ...], *, by_name: bool) -> str:
    texts = [f"FOUR - {4 - i}" if by_name else str(i) for i in indices]
    return name + "".join(f"[{t}]" for t in texts)


def is_outside(name: str, indices: tuple[int, ...]) -> bool:
    """Whether the element is in no row of the array."""
    dims, flat = ARRAYS[name], 0
    for i, n in zip(indices, dims, strict=True):
        flat = flat * n + i
    return not 0 <= flat < prod(dims)


def errors(program: Program) -> set[int]:
    args = Array("out", (32,), "int32", None, True), Scalar("n", 5, "int32")
    launch = Launch("k", (1, 1, 1), (32, 1, 1), args)
    findings = simulate(program, [launch])[0].findings
    return {f.line for f in findings if f.kind == "invalid-access" and f.severity == "error"}


@given(st.lists(statements, min_size=1, max_size=12))
@settings(max_examples=40)
def test_what_is_outside_accessed_and_reached_is_found(rows: list) -> None:  # type: ignore[type-arg]
    lines, expected = [], set()
    for number, ((name, *indices), guard, form, by_name) in enumerate(rows, HEAD.count("\n") + 1):
        use = form.format(written(name, tuple(indices), by_name=by_name))
        lines.append("    " + guard.format(use))
        if is_outside(name, tuple(indices)) and GUARDS[guard] and FORMS[form]:
            expected.add(number)
    source = HEAD + "\n".join(lines) + "\n" + TAIL
    assert errors(compile_here(source.encode(), "k.cu")) == expected, source
