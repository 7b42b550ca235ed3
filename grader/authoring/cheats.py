"""Make cheats: kernels that are built to earn points without the work.

Every cheat combines the lab's baseline and its solution as texts. Each becomes device code in a
namespace of its own, and a kernel with the lab's signature calls one of them, with something around
it that a check could take for the work: shared memory that nothing depends on, the solution at the
known sizes only, one thread that does everything. The baseline as a submission (`honest_baseline`)
is what every cheat is compared with.

A kernel may be executed by other threads than those of its own launch. Its uses of threadIdx,
blockIdx, blockDim and gridDim then become fields of a `cheat_place`, and the threads of the real
launch take the places of the kernel's launch in turn. A kernel with barriers cannot be divided in
this way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader import dataclass
from grader.authoring.mutation.mutants import Edit, applied
from grader.compile.functions import base_of
from grader.compile.syntax import Node, Tree, parse
from grader.labs.cases import launch_shape
from grader.labs.expressions import evaluate_expression
from grader.labs.model import Case, Geometry, Lab

BUILT_IN = {"threadIdx": "thread", "blockIdx": "block", "blockDim": "size", "gridDim": "grid"}
BARRIERS = ("__syncthreads", "__syncwarp", "barrier", "__shfl")

PROLOGUE = """\
struct cheat_place { uint3 thread, block; dim3 size, grid; };
__device__ unsigned cheat_thread()
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
__device__ unsigned cheat_block()
{
    return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}
__device__ unsigned cheat_threads() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ unsigned cheat_blocks() { return gridDim.x * gridDim.y * gridDim.z; }
__device__ uint3 cheat_point(unsigned i, dim3 size)
{
    return {i % size.x, i / size.x % size.y, i / size.x / size.y};
}
template <class T> __device__ T cheat_load(const T* p)
{
    if constexpr (sizeof(T) == 1) {
        size_t at = (size_t)p;
        unsigned short none = 0;
        return at & 1 ? (T)(atomicCAS((unsigned short*)(at - 1), none, none) >> 8) : *p;
    } else {
        return atomicAdd((T*)p, (T)0);
    }
}
"""

LOOPS = """\
    %s
    unsigned cheat_last = cheat_grid.x * cheat_grid.y * cheat_grid.z;
    unsigned cheat_width = cheat_size.x * cheat_size.y * cheat_size.z;
    for (unsigned cheat_i = %s; cheat_i < cheat_last; cheat_i += %s) {
        for (unsigned cheat_j = %s; cheat_j < cheat_width; cheat_j += %s) {
            cheat_place cheat_at = {
                cheat_point(cheat_j, cheat_size), cheat_point(cheat_i, cheat_grid), cheat_size,
                cheat_grid,
            };
            %s
        }
        %s
    }
"""
"""The threads of a launch take the places of a kernel's own launch in turn."""


class NotMade(Exception):
    """A cheat that these sources do not allow; the message says why."""


@dataclass(frozen=True)
class Cheat:
    """One kernel that must not earn more than the baseline.

    Attributes:
        name: What it does, in a few words.
        source: The whole text.
        slowness: How many times the baseline's instructions one thread or all execute, or the time
            of so many, where cases that are large would take long; 0 where all cases are run.
    """

    name: str
    source: str
    slowness: int = 0


class Cheats:
    """The cheats of one lab.

    Args:
        lab: The lab.
        baseline: The text of baseline.cu.
        solution: The text of the solution.
        cases: Every case that is graded, with all dims known.
    """

    def __init__(self, lab: Lab, baseline: str, solution: str, cases: Sequence[Case]) -> None:
        self.lab, self.cases = lab, tuple(cases)
        self.texts = {"baseline": baseline, "solution": solution}
        self.barriers = {name: _has_barrier(text) for name, text in self.texts.items()}
        self.kernel = lab.kernels[0].name
        self.arguments = ", ".join(name for _, name in lab.kernels[0].parameters)
        self.options = {check.name: check.options for check in lab.checks}

    def honest_baseline(self) -> Cheat:
        """Return the baseline as a submission: what a student earns for no work."""
        return Cheat("baseline", self._with_baseline("", "{run}"))

    def make(self, public: Sequence[Case]) -> Iterator[Cheat]:
        """Yield the cheats.

        Args:
            public: The public cases, the largest last.

        Raises:
            NotMade: One of the sources cannot be edited in this way.
        """
        yield from self._unused_memory()
        yield from self._hidden_loads()
        yield from self._early_ends(public[-1])
        yield from self._few_threads()
        variables = [_globals(text, self.lab) for text in self.texts.values()]
        if variables[0] == variables[1]:
            yield from self._partial_work(public)

    def _partial_work(self, public: Sequence[Case]) -> Iterator[Cheat]:
        """Yield the solution at some sizes or in some blocks, and the baseline elsewhere.

        Where the two declare the lab's variables in different memory there is no such cheat: the
        baseline would use the solution's.
        """
        for case in public:
            yield Cheat(f"solution at {case.name} only", self._solution_at([case]))
        if len(public) > 1:
            yield Cheat("solution at the public sizes only", self._solution_at(public))
        if self.lab.baseline_geometry is None:
            body = "if (cheat_block() & 1) { {run} } else { {solution} }"
            yield Cheat("baseline in every second block", self._both("", body))

    def _unused_memory(self) -> Iterator[Cheat]:
        """Yield the baseline with shared, constant memory and barriers that change nothing."""
        kind = self.options.get("resources", {}).get("shared")
        tile = "__shared__ float cheat_tile[1024];\n"
        if kind == "dynamic":
            tile = "extern __shared__ float cheat_tile[];\n"
        fill = f"{tile}    ((volatile float*)cheat_tile)[cheat_thread()] = (float)cheat_thread();\n"
        yield Cheat("dummy shared store", self._with_baseline("", fill + "    {run}"))
        read = (
            "    __syncthreads();\n    float cheat_sum = 0.0f;\n"
            "    for (unsigned i = 1; i <= 128; ++i)\n        cheat_sum += "
            "((volatile float*)cheat_tile)[(cheat_thread() + i) % cheat_threads()];\n"
            "    __syncthreads();\n    if (cheat_sum < 0.0f) return;\n"
        )
        yield Cheat("tile and barrier without use", self._with_baseline("", fill + read + "{run}"))
        if self.options.get("resources", {}).get("constant"):
            table = "__constant__ float cheat_table[1];\n"
            use = "if (*(volatile float*)cheat_table > 1.0f) return;\n    {run}"
            yield Cheat("dummy constant read", self._with_baseline(table, use))

    def _hidden_loads(self) -> Iterator[Cheat]:
        """Yield the baseline with its loads made atomic, and with further coalesced loads."""
        source = self._with_baseline("", "{run}", atomic=True)
        if "cheat_load(&" in source:
            yield Cheat("atomic loads", source, slowness=4)
        pointers = [n for t, n in self.lab.kernels[0].parameters if _is_input(t)]
        if pointers:
            read = f"(void)*(const volatile unsigned char*){pointers[0]};"
            body = f"for (int i = 0; i < 192; ++i)\n        {read}\n    {{run}}"
            yield Cheat("many further loads", self._with_baseline("", body), slowness=8)

    def _early_ends(self, largest: Case) -> Iterator[Cheat]:
        """Yield the baseline that ends early in the case on which measurements are shown."""
        for name, end in (("trap", 'asm volatile("trap;");'), ("early return", "return;")):
            body = f"if ({self._condition(largest)}) {{ {end} }}\n    {{run}}"
            yield Cheat(f"{name} at {largest.name}", self._with_baseline("", body))

    def _few_threads(self) -> Iterator[Cheat]:
        """Yield all work by one thread, one warp and one block, also with others that spin."""
        spin = 'for (int i = 0; i < 4096; ++i) asm volatile("");'
        first = {
            "one thread": ("cheat_block() || cheat_thread()", "0", "1"),
            "one warp": ("cheat_block() || cheat_thread() >= 32", "cheat_thread()", "32"),
            "one block": ("cheat_block()", "cheat_thread()", "cheat_threads()"),
        }
        for name, (idle, thread, step) in first.items():
            for part in ("baseline", "solution"):
                whole = name == "one block"
                if self.barriers[part] and not whole:
                    continue
                if part == "baseline" and self.barriers[part]:
                    continue
                run = self._run(part, "0", "1", thread, step)
                yield Cheat(
                    f"{part} by {name}",
                    self._one(part, f"if ({idle}) return;\n{run}"),
                    int(name == "one thread"),
                )
                if part == "solution":
                    body = f"if ({idle}) {{ {spin} return; }}\n{run}"
                    spins = f"{part} by {name}, others spin"
                    yield Cheat(spins, self._one(part, body), int(name == "one thread"))

    def _solution_at(self, cases: Sequence[Case]) -> str:
        condition = " || ".join(f"({self._condition(case)})" for case in cases)
        return self._both("", f"if ({condition}) {{ {{solution}} }} else {{ {{run}} }}")

    def _condition(self, case: Case) -> str:
        """Return the C++ condition that a launch is that of a case."""
        grid, block, _ = launch_shape(self.lab, case, self.lab.geometry)
        values = [
            (a.name, str(evaluate_expression(a.value, case.dims)))
            for a in self.lab.arguments
            if a.role == "value"
        ]
        values += [(f"gridDim.{axis}", str(n)) for axis, n in zip("xyz", grid, strict=True)]
        values += [(f"blockDim.{axis}", str(n)) for axis, n in zip("xyz", block, strict=True)]
        return " && ".join(f"{name} == {value}" for name, value in values)

    def _with_baseline(self, before: str, body: str, *, atomic: bool = False) -> str:
        run = self._run("baseline", "cheat_block()", "cheat_blocks()", *ALL_THREADS)
        parts = [self._part("baseline", atomic=atomic)]
        if len(self.lab.kernels) > 1:
            parts.append(self._part("solution"))
        return self._whole(before, parts, body.replace("{run}", run), "baseline")

    def _both(self, before: str, body: str) -> str:
        run = self._run("baseline", "cheat_block()", "cheat_blocks()", *ALL_THREADS)
        place = "cheat_place{threadIdx, blockIdx, blockDim, gridDim}"
        call = f"cheat_solution::{self.kernel}({self.arguments}, {place});"
        body = body.replace("{run}", run).replace("{solution}", call)
        parts = [self._part("solution"), self._part("baseline")]
        return self._whole(before, parts, body, "solution")

    def _one(self, part: str, body: str) -> str:
        parts = [self._part(part)]
        if part == "baseline" and len(self.lab.kernels) > 1:
            parts.append(self._part("solution"))
        return self._whole("", parts, body, part)

    def _run(self, part: str, block: str, step: str, thread: str, thread_step: str) -> str:
        """Return the loops in which the threads of a launch take the places of a part's launch."""
        geometry = self.lab.baseline_geometry if part == "baseline" else None
        sizes = "dim3 cheat_grid = gridDim, cheat_size = blockDim;\n"
        if geometry is not None:
            sizes += "".join(f"    {row}\n" for row in self._sizes(geometry))
        call = f"cheat_{part}::{self.kernel}({self.arguments}, cheat_at);"
        barrier = "__syncthreads();" if self.barriers[part] else ""
        return LOOPS % (sizes, block, step, thread, thread_step, call, barrier)

    def _sizes(self, geometry: Geometry) -> Iterator[str]:
        """Yield a line for each case that sets the launch which the baseline has in it."""
        for case in self.cases:
            grid, block, _ = launch_shape(self.lab, case, geometry)
            to_grid, to_size = (", ".join(map(str, shape)) for shape in (grid, block))
            yield (
                f"if ({self._condition(case)}) {{ cheat_grid = dim3({to_grid}); "
                f"cheat_size = dim3({to_size}); }}"
            )

    def _whole(self, before: str, parts: Sequence[str], body: str, variables: str) -> str:
        """Return the text of a submission: parts, the lab's kernel, and kernels that derive."""
        kernel = self.lab.kernels[0]
        bounds = (
            _launch_bounds(self.texts["solution"], kernel.name) if variables != "baseline" else ""
        )
        signature = kernel.signature.replace("void ", f"void {bounds} ", 1)
        rows = [before, _globals(self.texts[variables], self.lab), PROLOGUE, *parts]
        rows.append(f"{signature}\n{{\n    {body}\n}}\n")
        for other in self.lab.kernels[1:]:
            names = ", ".join(name for _, name in other.parameters)
            place = "cheat_place{threadIdx, blockIdx, blockDim, gridDim}"
            rows.append(
                f"{other.signature}\n{{\n    cheat_solution::{other.name}({names}, {place});\n}}\n"
            )
        return "\n".join(row for row in rows if row)

    def _part(self, name: str, *, atomic: bool = False) -> str:
        return _device_code(self.texts[name], f"cheat_{name}", self.lab, atomic=atomic)


ALL_THREADS = ("cheat_thread()", "cheat_threads()")


def _has_barrier(text: str) -> bool:
    return any(word in text for word in BARRIERS)


def _is_input(kind: str) -> bool:
    return kind.startswith("const ") and kind.rstrip().endswith("*")


def _globals(text: str, lab: Lab) -> str:
    """Return the declarations of the lab's variables in a source."""
    tree = parse(text)
    found = [node.text for node in _declarations(tree, lab)]
    if not found:
        return ""
    macros = [node.text.strip() for node in tree.walk("preproc_def", "preproc_function_def")]
    return "\n".join((*macros, *found, *_undefined(tree)))


def _undefined(tree: Tree) -> Iterator[str]:
    """Yield a line for each macro of a source that ends its definition."""
    macros = (n.field("name").text for n in tree.walk("preproc_def", "preproc_function_def"))
    yield from (f"#undef {name}" for name in dict.fromkeys(macros))


def _declarations(tree: Tree, lab: Lab) -> Iterator[Node]:
    names = {variable.name for variable in lab.globals}
    for node in tree.walk("declaration"):
        inside = any(a.kind == "function_definition" for a in node.ancestors)
        if not inside and any(i.text in names for i in node.walk("identifier")):
            yield node


def _launch_bounds(text: str, kernel: str) -> str:
    for function in parse(text).walk("function_definition"):
        if _name(function) == kernel:
            return next((node.text for node in function.walk("launch_bounds")), "")
    return ""


def _name(function: Node) -> str:
    declarator = next(iter(function.walk("function_declarator")), None)
    return declarator.field("declarator").text if declarator is not None else ""


def _device_code(text: str, namespace: str, lab: Lab, *, atomic: bool) -> str:
    """Return a source as device code in a namespace, whose kernels take a `cheat_place` as well."""
    tree = parse(text)
    edits: list[Edit] = []
    for node in _declarations(tree, lab):
        edits.append(Edit(node.start, node.end, "", node.line, ""))
    for function in tree.walk("function_definition"):
        if any(child.text == "__global__" for child in function.children):
            edits += _kernel_edits(function)
    if atomic:
        inputs = [name for kind, name in lab.kernels[0].parameters if _is_input(kind)]
        edits += _atomic_edits(tree, (*inputs, *(v.name for v in lab.globals)))
    data = text.encode()
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        data = applied(data, edit)
    return "\n".join((f"namespace {namespace} {{", data.decode(), "}", *_undefined(tree)))


def _kernel_edits(function: Node) -> Iterator[Edit]:
    """Make a kernel a device function that takes its place from an argument."""
    declarator = next(iter(function.walk("function_declarator")), None)
    body = function.part("body")
    if declarator is None or body is None:
        raise NotMade(f"no kernel is recognized in {function.first_line()}")
    outer = function.parent if function.parent is not None else function
    start = outer.start if outer.kind == "linkage_specification" else function.start
    yield Edit(start, declarator.start, "__device__ __forceinline__ void ", function.line, "")
    parameters = declarator.field("parameters")
    comma = ", " if parameters.named else ""
    end = parameters.end - 1
    yield Edit(end, end, f"{comma}const cheat_place& cheat_at", function.line, "")
    for name in body.walk("identifier"):
        if name.text in BUILT_IN:
            new = f"cheat_at.{BUILT_IN[name.text]}"
            yield Edit(name.start, name.end, new, name.line, "")


def _atomic_edits(tree: Tree, names: Sequence[str]) -> Iterator[Edit]:
    """Read the elements of these arrays by `cheat_load`."""
    for node in tree.walk("subscript_expression"):
        above = node.parent
        if base_of(node).text not in names or above is None:
            continue
        if above.kind == "subscript_expression" and above.part("argument") == node:
            continue
        if above.kind == "pointer_expression" or (
            above.kind == "assignment_expression" and above.part("left") == node
        ):
            continue
        yield Edit(node.start, node.start, "cheat_load(&", node.line, "")
        yield Edit(node.end, node.end, ")", node.line, "")
