"""Code that differs between builds earns what its counted build earns, however it is written.

No text is refused for it. Both builds of the simulator have the same macros; where they differ all
the same, outputs, counters and points come from the optimized build, whose own findings count.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.compile.nvrtc import Nvrtc, installation
from grader.compile.program import Program
from grader.compile.source import _variants, compile_source
from grader.launch import Array, Launch, Trace
from grader.simulator.simulate import simulate

FILES = sorted(Path(__file__).parent.glob("*.cu"))
DETECTED = re.compile(r"// detected (\S+):")
X = Array("x", (64,), "float32", np.arange(64, dtype="f4"), read_back=True)
LAUNCH = Launch("k", (2, 1, 1), (64, 1, 1), (X,))


def run(program: Program) -> Trace:
    (trace,) = simulate(program, [LAUNCH])
    return trace


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_build_dependent_code_is_accepted_and_watched(path: Path) -> None:
    program = compile_source(path.read_bytes(), path.name)
    detected = DETECTED.match(path.read_text())
    kinds = {f.kind for f in run(program).errors if f.space == "shared"}
    assert kinds == ({detected[1]} if detected else set())


CLOCK = ("__DATE__", "__TIME__")
"""The compiler lets nobody define these. No submission chooses the second in which it is compiled,
and both builds are kept in the cache."""


def macro_names(folder: Path) -> list[str]:
    """Every word in the compiler's libraries that could be the name of a predefined macro."""
    word = re.compile(rb"(?=(_+[A-Z][A-Za-z0-9_]{2,60}))")
    found = {
        m[1].decode()
        for file in sorted(folder.iterdir())
        if file.name.startswith("libnvrtc")
        for m in word.finditer(file.read_bytes())
    }
    plain = {"NDEBUG", "DEBUG", "_DEBUG", "linux", "unix", "__OPTIMIZE__", "__NO_INLINE__"}
    names = (name for name in found | plain if not name.startswith("__VA_"))
    return sorted(name for name in names if name not in CLOCK)


def probes(names: list[str]) -> str:
    """A source with the text of each defined macro, by its number, as an array of characters."""
    head = "#define T(...) T2(__VA_ARGS__)\n#define T2(...) #__VA_ARGS__\n"
    kept = "".join(f"#ifdef {n}\n__device__ char d_{k}[] = T({n});\n#endif\n"
                   for k, n in enumerate(names))  # fmt: skip
    used = "".join(f"#ifdef {n}\nx[{k}] = d_{k}[0];\n#endif\n" for k, n in enumerate(names))
    return f'{head}{kept}extern "C" __global__ void k(char* x) {{\n{used}\n}}\n'


def test_no_macro_differs_between_the_builds() -> None:
    """Holds for every name in the compiler's libraries, with its value."""
    compiler = installation()
    nvrtc, names = Nvrtc(compiler.libraries), macro_names(compiler.libraries)
    assert {"__CUDACC_DEBUG__", "__CUDACC_RTC__", "__CUDA_ARCH__"} <= set(names)
    values = {}
    for variant, options in _variants("sm_90", compiler).items():
        made = nvrtc.compile(probes(names).encode(), "a.cu", options)
        assert made.code == 0, made.log[:500]
        rows = dict(re.findall(r"\bd_(\d+)\[\d*\](?: = \{([^}]*)\})?;", made.ptx))
        values[variant] = {names[int(k)]: text for k, text in rows.items()}
    assert len(values["debug"]) > 100
    assert values["debug"] == values["optimised"]


RIGHT = """\
extern "C" __global__ void k(float* x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float y = s[63 - threadIdx.x];
  x[threadIdx.x] = y;
}
"""
BARRIER, LAST = "__syncthreads();", "x[threadIdx.x] = y;"
FAULTS = {
    "race": RIGHT.replace(BARRIER, ""),
    "invalid-access": RIGHT.replace(LAST, "x[threadIdx.x + 64] = y;"),
    "uninitialized-read": RIGHT.replace(BARRIER, BARRIER + "if (x[0] < 0)").replace(
        "float y = s[63 - threadIdx.x];",
        "__shared__ float t[64]; float y = t[63 - threadIdx.x] + 1;",
    ).replace(BARRIER + "if (x[0] < 0)", BARRIER),
    "barrier-divergence": RIGHT.replace(
        BARRIER, f"if (threadIdx.x < 40) {{ {BARRIER} s[0] += 1; }} else {BARRIER}"
    ),
    "launch-failure": RIGHT.replace(LAST, LAST + " __trap();"),
    "timeout": RIGHT.replace(LAST, "for (;;) atomicAdd(x, 1.0f);"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_of_the_counted_build_alone_is_reported(kind: str) -> None:
    """Whatever trick makes the other build right, it hides nothing."""
    right, wrong = (compile_source(text.encode(), "k.cu") for text in (RIGHT, FAULTS[kind]))
    trace = run(replace(right, ptx=wrong.ptx, kernels=wrong.kernels))
    assert kind in {f.kind for f in trace.errors}


def test_outputs_and_counters_are_those_of_the_counted_build() -> None:
    right = compile_source(RIGHT.encode(), "k.cu")
    other = compile_source(RIGHT.replace("= y;", "= y + x[0] * 0 + 1;").encode(), "k.cu")
    trace, alone = run(replace(right, ptx=other.ptx)), run(other)
    assert not np.array_equal(trace.outputs[0], run(right).outputs[0])
    assert np.array_equal(trace.outputs[0], alone.outputs[0])
    assert trace.counters == alone.counters


MACRO = "__CUDACC_DEBUG__"
ASKS = (
    f"#ifdef {MACRO}\n{{}}\n#endif\n",
    f"#if defined({MACRO})\n{{}}\n#endif\n",
    f"%:ifdef {MACRO}\n{{}}\n%:endif\n",
    f"#ifndef {MACRO}\n#else\n{{}}\n#endif\n",
    "#ifdef __CUDACC_DE\\\nBUG__\n{}\n#endif\n",
    "#if JOIN(__CUDACC_, DEBUG__)\n{}\n#endif\n",
    f"/**/ # /*\n*/ if defined {MACRO} // \n{{}}\n#endif\n",
    f"if (sizeof(TEXT({MACRO})) == 2) {{{{ {{}} }}}}\n",
    f"if (VALUE({MACRO}) + 0 == 1) {{{{ {{}} }}}}\n",
)
BEFORE = (
    "",
    '#define fooR(a)\n#define text_of(a) fooR"("\n',
    "#define quoted a'\"'\n",
    "// \\ \n",
    "#define open \"\n#if 0\n'\n#endif\n",
    "/* \" */ #define slash '\\\\'\n",
    "constexpr int many = 1'000'000;\n",
)
AFTER = ("", '#define close )""\n', "/* ' */", '// )x"\n', '#define close "\n')
HEAD = (
    "#define JOIN(a, b) JOIN2(a, b)\n#define JOIN2(a, b) (a##b + 0)\n"
    "#define VALUE(a) a\n#define TEXT(a) TEXT2(a)\n#define TEXT2(a) #a\n"
    f"#define DEBUG__ 0\nconstexpr int {MACRO}_ = 0;\n"
)


@given(st.sampled_from(ASKS), st.sampled_from(BEFORE), st.sampled_from(AFTER))
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_no_way_to_ask_for_the_build_has_two_answers(ask: str, before: str, after: str) -> None:
    """No build has the macro, so each build alone lacks the barrier and races."""
    if "VALUE" in ask:
        ask = ask.replace(f"VALUE({MACRO})", f"VALUE(JOIN({MACRO}, _))")
    text = before + HEAD + RIGHT.replace(BARRIER, "\n" + ask.format(BARRIER)) + after
    program = compile_source(text.encode(), "k.cu", cache=None)
    debug, counted = program.debug_ptx, program.ptx
    for alone in (
        replace(program, debug_ptx=counted),
        replace(program, ptx=debug),
    ):
        assert "race" in {f.kind for f in run(alone).errors}
