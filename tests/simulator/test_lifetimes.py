"""A pointer to a local variable that has ended is found where it is used, and no other pointer is.

A kernel has random statements in nested blocks and loops. They let one pointer point to variables
that are visible, to temporary objects, and to what functions return, and read or write through it.
A model in Python executes them for each thread, with an object for each round of a loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from grader.launch import Array, Launch, Scalar
from grader.simulator.simulate import simulate
from tests.simulator.test_unset_variables import CONDITIONS
from tests.trusted import compile_here

HEAD = """\
__device__ int &larger(const int &a, const int &b) { return const_cast<int &>(a < b ? b : a); }
__device__ __forceinline__ int &smaller(const int &a, const int &b) {
  return const_cast<int &>(b < a ? b : a);
}
__device__ __noinline__ int *own(int x) { int y = x, *q = &y; return q; }
struct Three { int a[3]; __device__ int &last() { return a[2]; } };
__device__ Three three(int x) { return {{x, x + 1, x + 2}}; }
struct Held { const int *p; __device__ Held(const int &x) : p(&x) {} };
extern "C" __global__ void k(int *out, int n) {
  int t = threadIdx.x, sum = 0, outer = n, *p = &outer;
"""
ENDED = (
    "p = &larger(t, n + 100);",
    "p = &larger(t,\n    n + 100);",
    "p = &smaller(t, t - 1);",
    "p = three(t).a;",
    "p = &three(n).last();",
    "p = &three(n).a[1] + 1;",
    "p = const_cast<int *>(Held(n + t).p);",
    "{ Held h(n * 2); p = const_cast<int *>(h.p); }",
    "p = own(t);",
)
"""Statements behind which the pointer points to what has ended."""
LIVING = (
    "p = &larger(outer, outer);",
    "p = &smaller(outer,\n    outer);",
    "p = const_cast<int *>(Held(outer).p);",
    "{ Three w = three(n); sum += w.last() + three(t).last(); p = &outer; }",
)
Visible = tuple[str, ...]
Program = list["Statement"]


@dataclass(frozen=True)
class Statement:
    """A statement: its text, or a block, loop or branch with statements in it.

    Attributes:
        kind: "point", "ended", "living", "use", "leave", "block", "for" or "do".
        text: the variable, the text, or the condition.
        number: of the variable that a block or a loop declares.
        inside: the statements in it.
    """

    kind: str
    text: str = ""
    number: int = 0
    inside: Program = field(default_factory=list)


@st.composite
def programs(
    draw: st.DrawFn, visible: Visible = ("outer",), depth: int = 0, *, loop: bool = False
) -> Program:
    out = []
    for k in range(draw(st.integers(1, 5 if depth < 2 else 3))):
        kinds = ["point", "point", "use", "use", "ended", "living"]
        kinds += ["block", "for", "do"] * (2 if depth == 0 else depth < 3)
        kinds += ["leave"] * loop
        kind = draw(st.sampled_from(kinds))
        text, number, inside = "", 0, list[Statement]()
        if kind == "point":
            text = draw(st.sampled_from(visible))
        elif kind in ("ended", "living"):
            text = draw(st.sampled_from(ENDED if kind == "ended" else LIVING))
        elif kind == "use":
            text = draw(st.sampled_from(("sum += *p;", "*p = sum;", "*p += 2;")))
        elif kind == "leave":
            condition = draw(st.sampled_from(sorted(CONDITIONS)))
            text = f"if ({condition}) {draw(st.sampled_from(('break', 'continue')))};"
        else:
            text = draw(st.sampled_from((*sorted(CONDITIONS), ""))) if kind == "block" else ""
            number = depth * 10 + k
            own = programs((*visible, f"v{number}"), depth + 1, loop=loop or kind != "block")
            inside = draw(own)
        out.append(Statement(kind, text, number, inside))
    return out


def lines_of(program: Program, lines: list[str], uses: dict[int, int]) -> None:
    """Append the lines of a program; `uses` gets those of the uses, by the statement's id."""
    for s in program:
        if s.kind in ("block", "for", "do"):
            v = f"int v{s.number} = t;"
            head = {
                "block": f"if ({s.text}) {{ {v}" if s.text else f"{{ {v}",
                "for": f"for (int j = 0; j < 3; j++) {{ {v}",
                "do": f"{{ int c{s.number} = 0; do {{ {v}",
            }
            lines.append(head[s.kind])
            lines_of(s.inside, lines, uses)
            lines.append(f"}} while (++c{s.number} < 3); }}" if s.kind == "do" else "}")
            continue
        uses[id(s)] = len(lines) + 1
        lines += (f"p = &{s.text};" if s.kind == "point" else s.text).split("\n")


@dataclass
class Thread:
    """What one thread executes.

    Attributes:
        objects: the object of each visible variable; it is a list, of whether it exists.
        least, most: the lines of uses that must be found, and of those that may be.
    """

    t: int
    uses: dict[int, int]
    objects: dict[str, list[object]] = field(default_factory=dict)
    pointer: list[object] = field(default_factory=list)
    rounds: dict[int, int] = field(default_factory=dict)
    least: set[int] = field(default_factory=set)
    most: set[int] = field(default_factory=set)

    def run(self, program: Program) -> str:
        """Execute statements; returns how a loop is left, if it is."""
        for s in program:
            if s.kind == "point":
                self.pointer = self.objects[s.text]
            elif s.kind == "living":
                self.pointer = self.objects["outer"]
            elif s.kind == "ended":
                self.pointer = ["", 0, False]
            elif s.kind == "use":
                self.use(self.uses[id(s)])
            elif s.kind == "leave":
                condition, _, how = s.text.removeprefix("if (").partition(") ")
                if CONDITIONS[condition](self.t):
                    return how.rstrip(";")
            elif s.kind != "block" or not s.text or CONDITIONS[s.text](self.t):
                left = self.enter(s)
                if left:
                    return left
        return ""

    def enter(self, s: Statement) -> str:
        """Execute a block or a loop."""
        name = f"v{s.number}"
        for _ in range(3 if s.kind != "block" else 1):
            self.rounds[id(s)] = self.rounds.get(id(s), 0) + 1
            before, own = self.objects.get(name), [s, self.rounds[id(s)], True]
            self.objects[name] = own
            left = self.run(s.inside)
            own[2] = False
            self.objects |= {name: before} if before else {}
            if s.kind == "block" and left:
                return left
            if left == "break":
                break
        return ""

    def use(self, line: int) -> None:
        """Use the pointer."""
        of, number, exists = self.pointer
        if exists:
            return
        self.most.add(line)
        present = [x for x in self.objects.values() if x[0] is of and x[2]]
        is_round = isinstance(of, Statement) and of.kind == "for"
        later = [x for x in present if is_round and (x[1] - number) % 4]  # type: ignore[operator]
        if not present or later:
            self.least.add(line)


def found_in(source: str) -> tuple[set[int], bool]:
    """The lines of uses of what has ended, and whether there is any other finding.

    The optimizer has an access to what has ended where it likes, without a name.
    """
    args = Array("out", (32,), "int32", None, True), Scalar("n", 5, "int32")
    launch = Launch("k", (1, 1, 1), (32, 1, 1), args)
    findings = simulate(compile_here(source.encode(), "k.cu"), [launch])[0].findings
    ended = [f for f in findings if "has ended" in f.message or "has returned" in f.message]
    named = {f.line for f in ended if f.variable or "temporary object" in f.message}
    return named, len(findings) > len(named)


@given(programs())
@settings(max_examples=60)
def test_pointers_to_what_has_ended_are_found_where_they_are_used(program: Program) -> None:
    lines, uses = HEAD.rstrip("\n").split("\n"), dict[int, int]()
    lines_of(program, lines, uses)
    source = "\n".join([*lines, "  out[t] = sum;", "}", ""])
    least, most = set[int](), set[int]()
    for t in range(32):
        thread = Thread(t, uses, {"outer": ["outer", 0, True]}, ["outer", 0, True])
        thread.run(program)
        least, most = least | thread.least, most | thread.most
    found, others = found_in(source)
    assert least <= found <= most, source
    assert most or not others, source
