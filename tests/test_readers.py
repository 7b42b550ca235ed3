"""Everything that reads a student's text or what a compiler makes of it takes linear time.

`READERS` holds each function of the grader that takes such a text, by its place; a function that is
missing here fails the test that searches the sources for them. A text eight times as long may take
ten times the processor time, beyond a constant. docs/security.md says where each one runs.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.batch.similarity import fingerprints
from grader.compile import diagnostics, entries, nvrtc, ptx_lines, source_text
from grader.compile.functions import Declaration
from grader.compile.preprocessor import line_of
from grader.compile.syntax import parse as parse_source
from grader.compile.unset import with_unset_variables
from grader.export import fields, junit
from grader.faults import Fault
from grader.gpu import nvcc, tools
from grader.grading.single_launch import allows_large_shared
from grader.labs.model import KernelSpec
from grader.labs.quiz import parse_answer, parse_answer_sheet
from grader.labs.reading import load_lab
from grader.launch import Finding, Trace
from grader.reports.classes import ReportRow, page_names
from grader.reports.explain.explanation import source_lines
from grader.reports.page.source import source_view
from grader.reports.page.student import student_view
from grader.reports.page.write import load_templates
from grader.reports.printable import clip, printable, wrap
from grader.reports.problems import gcc_lines, github_lines, problems
from grader.reports.revisions import Revision, compare_revisions
from grader.reports.text import grade_report, render
from grader.simulator import exchange
from grader.simulator.diagnose import (
    aborts,
    barrier_hints,
    copies,
    local_places,
    locks,
    race_messages,
    subscripts,
)
from grader.simulator.ptx.model import PtxError, function_name, plain_name
from grader.simulator.ptx.parser import parse
from grader.submissions.containers import (
    Part,
    container_parts,
    lines_of_code,
    without_fences,
)
from grader.submissions.files import (
    binary_kind,
    defined_kernels,
    device_names,
    parse_submission,
)
from grader.submissions.layouts import canvas, gradescope, moodle
from grader.submissions.listing import printable_name
from grader.submissions.sources import (
    Wanted,
    choose_part,
    in_own_files,
    source_places,
    with_headers,
)
from tests.compile.test_scaling import READERS as SOURCE_READERS
from tests.linear import LONGER, Reader, assert_linear
from tests.made import a_grade, a_result

ROOT = Path(__file__).parents[1]
SHORT = 2_500

LAB = load_lab("vector-add")


def grade_with(text: str) -> object:
    found = Finding(
        "compile-error", "error", text, file="a.cu", line=3, column=len(text) // 2, text=text,
        hint=text, detail=text, variable=text,
    )  # fmt: skip
    return a_grade(a_result("compile", "fail", findings=(found,), summary=text))


def page(text: str) -> object:
    row = ReportRow("a", grade_with(text), text)  # type: ignore[arg-type]
    return load_templates().student(student_view(row))


def compiled(text: str) -> object:
    count = text.count(".entry")
    declared = tuple(Declaration(f"k{k % 7}", 1, (("int", "a"),) * (k % 3)) for k in range(count))
    return entries.kernels(text, {}, declared, text)


def assembler_log(text: str) -> object:
    log = "".join(
        f"ptxas application ptx input, line {999 * k}; error   : x{k}\n" for k in range(20)
    )
    return diagnostics.findings(log, "a.cu", "x\n" * 100, text)


PTX_READERS: dict[str, Reader] = {
    "compile/entries.py:kernels": compiled,
    "compile/entries.py:variable_bytes": lambda text: entries.variable_bytes(text, "none"),
    "compile/entries.py:is_constant": lambda text: entries.is_constant(text, "none"),
    "compile/entries.py:local_memory_line": lambda t: entries.local_memory_line(t, "k", "a.cu"),
    "compile/diagnostics.py:used_host_data": lambda text: diagnostics.used_host_data(
        "a.cu(1): error: host variables are not allowed in JIT mode\n  x\n  ^\n", text, "a.cu", "x"
    ),
    "compile/entries.py:_constant_bytes": entries._constant_bytes,
    "compile/nvrtc.py:_FILE": lambda text: nvrtc._FILE.sub(r"\1\2", text),
    "compile/nvrtc.py:entry_names": lambda text: nvrtc.entry_names([text]),
    "compile/diagnostics.py:findings of the assembler": assembler_log,
    "simulator/exchange.py:static_bytes": exchange.static_bytes,
    "simulator/exchange.py:too_much_static": exchange.too_much_static,
    "compile/ptx_lines.py:instructions_by_line": lambda t: ptx_lines.instructions_by_line(t, "a"),
    "gpu/nvcc.py:_with_source_name": lambda t: nvcc._with_source_name(t, "a.cu"),
    "simulator/ptx/parser.py:parse": parse,
}
LOG_READERS: dict[str, Reader] = {
    "compile/entries.py:resources": entries.resources,
    "compile/diagnostics.py:findings": lambda t: diagnostics.findings(t, "a.cu", "int x;\n" * 9000),
    "compile/diagnostics.py:subscripts": lambda text: diagnostics.subscripts(text, "a.cu"),
    "compile/diagnostics.py:missing_header": diagnostics.missing_header,
    "compile/diagnostics.py:machine_failure": diagnostics.machine_failure,
    "compile/nvrtc.py:without_unmarked": lambda text: nvrtc.without_unmarked(text, "a.cu", text),
    "compile/nvrtc.py:_short": nvrtc._short,
    "compile/nvrtc.py:without_rejected": lambda t: nvrtc.without_rejected(b"", b"", t, "a.cu"),
    "gpu/tools.py:read_findings": lambda text: list(tools.read_findings("memcheck", text)),
    "gpu/tools.py:read_counters": lambda text: tools.read_counters(text, ["a"]),
}
MESSAGE_READERS: dict[str, Reader] = {
    "reports/printable.py:printable": printable,
    "reports/printable.py:clip": lambda text: clip(text, 80),
    "reports/printable.py:wrap": lambda text: wrap(text, 80),
    "reports/text.py:grade_report": lambda t: render(grade_report(grade_with(t))),  # type: ignore[arg-type]
    "reports/page/student.py:student_view": page,
    "reports/page/source.py:source_view": lambda t: source_view(grade_with(t), t, ()),  # type: ignore[arg-type]
    "reports/revisions.py:compare_revisions": lambda t: compare_revisions(
        Revision(t, grade_with(t)), Revision(t[::-1], grade_with(t))  # type: ignore[arg-type]
    ),
    "reports/problems.py:problems": lambda t: [
        *gcc_lines(found := problems(grade_with(t), Path("a.cu"), t)),  # type: ignore[arg-type]
        *github_lines(found, grade_with(t)),  # type: ignore[arg-type]
    ],
    "reports/classes.py:page_names": lambda t: page_names([ReportRow(t, grade_with("a"), "")]),  # type: ignore[arg-type]
    "reports/explain/explanation.py:source_lines": lambda t: source_lines(t, Trace("sim")),
    "export/fields.py:one_line": fields.one_line,
    "export/fields.py:spreadsheet_safe": fields.spreadsheet_safe,
    "export/fields.py:cell_problem": fields.cell_problem,
    "export/fields.py:clipped": lambda text: fields.clipped(text, 100),
    "export/fields.py:check_text": lambda t: fields.check_text(grade_with(t).checks[0]),  # type: ignore[attr-defined]
    "export/junit.py:xml_safe": junit.xml_safe,
    "submissions/listing.py:printable_name": printable_name,
    "simulator/diagnose/locks.py:_TAKES_LOCK": lambda t: [
        locks._TAKES_LOCK.search(line[: locks._MOST_LETTERS]) for line in t.split("\n")
    ],
    "simulator/diagnose/locks.py:publishes": lambda t: [
        locks.publishes(line) for line in t.split("\n")
    ],
    "simulator/diagnose/aborts.py:only_looks": lambda t: aborts.only_looks("atom", t),
    "simulator/diagnose/barrier_hints.py:wider_scope": barrier_hints.wider_scope,
    "simulator/diagnose/subscripts.py:elements_in": lambda t: subscripts.elements_in(t, "a"),
    "simulator/diagnose/subscripts.py:pointees_in": lambda t: subscripts.pointees_in(t, "a"),
    "simulator/diagnose/race_messages.py:_LIBRARY": race_messages._LIBRARY.search,
    "simulator/diagnose/copies.py:_COPY_CALL": copies._COPY_CALL.search,
    "simulator/diagnose/local_places.py:_NAME": local_places._NAME.findall,
    "simulator/diagnose/local_places.py:_ADDRESS": lambda t: local_places._ADDRESS.match(f"[{t}"),
    "simulator/ptx/model.py:plain_name": lambda text: plain_name(f"_Z{text}"),
    "simulator/ptx/model.py:function_name": lambda text: function_name(f"_ZN{text}"),
    "submissions/layouts/canvas.py:_NAME": lambda text: canvas._NAME.fullmatch(text + "!"),
    "submissions/layouts/moodle.py:_NAME": lambda text: moodle._NAME.fullmatch(text + "!"),
    "submissions/files.py:binary_kind": lambda t: binary_kind(t.encode(), "a"),
    "submissions/containers.py:container_parts": lambda t: container_parts(
        b'{"cells": [{"cell_type": "code", "source": ' + t.encode(), "a"
    ),
    "submissions/sources.py:choose_part": lambda t: choose_part(
        "a", [Part("b", t[:200_000].encode())], Wanted("a", (KernelSpec("k", ()),))
    ),
    "submissions/sources.py:with_headers": lambda t: with_headers(
        t[:200_000], "a", "a", lambda name, includer: (name, t[:1000])
    ),
    "submissions/containers.py:without_fences": lambda t: without_fences("__global__ f() {" + t),
    "submissions/files.py:defined_kernels": defined_kernels,
    "submissions/files.py:device_names": lambda t: device_names(t + "__device__" + t),
    "submissions/containers.py:lines_of_code": lines_of_code,
    "submissions/sources.py:source_places": lambda t: source_places(
        t + "//@warpgrade line 1 of b\n", "a"
    ),
    "submissions/sources.py:in_own_files": lambda t: in_own_files(t, [("a", 1)] * 99, "a"),
    "submissions/files.py:parse_submission": lambda t: parse_submission(t[:200_000].encode(), "a"),
    "compile/source_text.py:decode_source": lambda t: source_text.decode_source(t.encode(), "a"),
    "compile/unset.py:with_unset_variables": lambda t: with_unset_variables(t, parse_source(t)),
    "compile/preprocessor.py:line_of": lambda text: line_of(text, 5),
    "grading/single_launch.py:allows_large_shared": lambda t: allows_large_shared(
        f"cudaFuncSetAttribute({t}", "k"
    ),
    "labs/quiz.py:parse_answer": lambda text: answered(text),
    "batch/similarity.py:fingerprints": lambda t: (fingerprints(t, "structure"),
                                                   fingerprints(t, "wording")),
}  # fmt: skip
YAML_READERS: dict[str, Reader] = {
    "labs/quiz.py:parse_answer_sheet": lambda text: parse_answer_sheet(text.encode()),
    "submissions/layouts/gradescope.py:_metadata": lambda t: gradescope._metadata(t.encode()),
}
ELSEWHERE = {
    "compile/diagnostics.py:error_at": "calls line_of",
    "compile/nvrtc.py:compile": "the compiler, in a child with limits of time and memory",
    "compile/crashes.py:line_without_arrivals": "calls instructions_by_line",
    "compile/source.py:compile_source": "calls the readers of this module",
    "feedback/edits.py:read_source": "of at most 16 KiB: tests/feedback/test_edits.py",
    "feedback/edits.py:diff_of": "of at most 16 KiB",
    "feedback/edits.py:applied": "of at most 16 KiB",
    "feedback/edits.py:negated": "a condition of at most 16 KiB",
    "feedback/edits.py:bracketed": "a condition of at most 16 KiB",
    "feedback/trials.py:alone": "the compiler, in a child with limits of time and memory",
    "feedback/fixes.py:confirmed": "calls compile_source",
    "editor/documents.py:fix_edits": "of at most 16 KiB: a larger source has no fix",
    "editor/server.py:units": "a line, in pygls",
    "editor/server.py:say": "writes to the editor's log",
    "notebook/cell.py:grade_cell": "calls open_submission",
    "notebook/page.py:cell_page": "calls student_view",
    "submissions/sources.py:open_submission": "calls container_parts and choose_part",
    "submissions/containers.py:part_text": "calls parse_submission",
    "submissions/sources.py:put": "called by with_headers",
    "submissions/containers.py:included": "called by choose_part",
    "submissions/containers.py:find": "called by with_headers",
    "submissions/containers.py:is_for_device": "called by choose_part",
    "submissions/sources.py:header_note": "calls source_places",
    "submissions/sources.py:header_files": "calls source_places",
    "compile/source.py:compiled": "calls with_unset_variables",
    "compile/unset.py:add": "called by with_unset_variables",
    "compile/source.py:attempt": "calls the readers of this module",
    "compile/entries.py:exceeded_memory": "calls _constant_bytes and resources",
    "compile/preprocessor.py:kernel_words": "calls macro_words and words_behind_macros",
    "compile/preprocessor.py:joined": "called by code",
    "compile/preprocessor.py:source_offsets": "called by with_unset_variables",
    "compile/preprocessor.py:with_blanks": "called by Selection.text",
    "gpu/launches.py:error_finding": "the driver's message",
    "grading/run.py:simulator_memory": "calls static_bytes",
    "labs/files.py:compose_bytes": "called by parse_answer_sheet",
    "labs/files.py:write_atomically": "writes",
    "portal/site.py:read_upload": "calls open_submission",
    "portal/site.py:say": "writes what the staff did",
    "portal/task/handouts.py:read_handout": "reads a page that the instructor has built",
    "portal/task/handouts.py:handle_data": "called by read_handout",
    "portal/work.py:hand_in": "calls read_upload",
    "portal/work.py:moment_of": "reads a time that the staff wrote",
    "reports/problems.py:of": "called by problems",
    "reports/explain/accesses.py:put_text": "a label of a picture",
    "reports/explain/explanation.py:explain_launch": "calls source_lines",
    "simulator/counters.py:access_table": "passes the source on to SourceVariables",
    "simulator/diagnose/kernel_code.py:kernel_code": "passes the source on to SourceVariables",
    "simulator/diagnose/kernel_code.py:member_of": "a symbol, once",
    "simulator/diagnose/kernel_code.py:static_element": "a symbol, once",
    "simulator/diagnose/kernel_code.py:shared_shape": "a symbol, once",
    "simulator/ptx/debug_info.py:static": "a symbol, once",
    "simulator/ptx/debug_info.py:pointed_element": "a symbol, once",
    "simulator/ptx/debug_types.py:may_have_padding": "searches of bounded length",
    "simulator/ptx/debug_types.py:pointees": "a symbol, once",
    "simulator/ptx/debug_types.py:pointed_to": "a symbol, and searches of bounded length",
    "gpu/functions.py:kernel_of": "passes a kernel's name to the driver",
    "gpu/functions.py:get_function": "passes a kernel's name to the driver",
    "simulator/ptx/parser.py:moved_to": "called by parse",
    "simulator/ptx/operands.py:assembly_barriers": "called by parse",
    "simulator/ptx/operands.py:without_comments": "called by parse",
    "simulator/ptx/operands.py:operands_of": "called by parse",
    "simulator/ptx/operands.py:number_or": "called by parse",
    "simulator/ptx/operands.py:variable": "called by parse",
    "simulator/ptx/constants.py:evaluate": "called by parse",
    "simulator/ptx/constants.py:integer": "called by parse",
    "simulator/ptx/constants.py:exact_float": "called by parse",
    "simulator/ptx/constants.py:float_bits": "called by parse",
    "simulator/ptx/parser.py:read": "called by parse",
    "simulator/ptx/parser.py:statement": "called by parse",
    "simulator/ptx/parser.py:directive": "called by parse",
}
"""Functions that take a text and are measured as part of another reader."""

DECODER = "simulator/decode/"
"""Its functions take one operand; `decode` is measured as a whole."""

SAID = {"text", "source", "ptx", "log", "data", "content", "symbol"}
OF_INSTRUCTORS = ("cli", "authoring", "gradebook")
"""Packages that read no student's text: they call the readers."""


def answered(text: str) -> object:
    try:
        return parse_answer(LAB.quiz[0], text)
    except ValueError:
        return None


@cache
def functions_with_a_text() -> tuple[str, ...]:
    """Every public function with a parameter that is called and typed as a text is."""
    found = []
    for path in sorted((ROOT / "grader").rglob("*.py")):
        place = path.relative_to(ROOT / "grader").as_posix()
        if place.startswith(OF_INSTRUCTORS):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                given = [*node.args.args, *node.args.kwonlyargs]
                types = {a.arg: ast.unparse(a.annotation) for a in given if a.annotation}
                if any(types.get(name) in ("str", "bytes") for name in SAID):
                    found.append(f"{place}:{node.name}")
    return tuple(found)


def test_every_reader_is_measured() -> None:
    named = {*PTX_READERS, *LOG_READERS, *MESSAGE_READERS, *YAML_READERS, *ELSEWHERE}
    of_source = {name.partition(":")[2] or name for name in SOURCE_READERS} | {"read_dataflow"}
    missing = [
        place for place in functions_with_a_text()
        if place not in named and not place.startswith(DECODER)
        and not (place.startswith(("compile/", "reports/page/"))
                 and place.split(":")[1] in of_source)
    ]  # fmt: skip
    assert missing == []


def test_every_package_of_readers_is_on_the_page() -> None:
    text = (ROOT / "docs" / "security.md").read_text("utf-8")
    places = {place.partition(":")[0] for place in functions_with_a_text()}
    assert [
        p for p in sorted(places) if f"`{p}`" not in text and f"`{Path(p).parent}/`" not in text
    ] == []


PTX_TEXTS = {
    "blank lines": ("//\n", "\n"),
    "inline assembly": ("", "// begin inline asm\nbar.sync {};\n"),
    "kernels": ("", ".visible .entry k{}(\n.param .u32 a\n)\n[\nret;\n]\n"),
    "globals in a comment": ("/*", ".global \n"),
    "globals": ("", ".global .align 4 .b8 a{}[4];\n"),
    "blanks": (".const", " "),
    "constants": ("", ".const .align 4 .b8 a[4];\n"),
    "places": ("", ".loc 1 2 3\n"),
    "files": ("", '.file 1 "/a/b"\n'),
    "folders": ('.file 1 "', "/a"),
    "digits": (".entry k(.param .b8 k[", "1"),
    "a number": (".global .b8 a[", "9"),
    "parameters": (".entry k(", ".param .u32 a,"),
    "one parameter": (".entry k(.param .u32 ", "a"),
    "parentheses": (".entry k", "("),
    "open comments": ("", "/*"),
    "words": ("", ".visible "),
    "expressions": (".global .u32 a = ", "(1+"),
    "sums": (".global .u32 a = ", "1+"),
    "signs": (".global .u32 a = ", "-"),
    "local memory": (".entry k()\n", ".loc 1 9 1\n ld.local.u32 %r1, [a];\n"),
}
MANY = "9" * 5000
"""More digits than Python makes a number of; `#line` names a line."""

LOG_TEXTS = {
    "errors": ("", "a.cu(1): error: x{}\n"),
    "equal warnings": ("", "a.cu(1): warning #1-D: x\n  y\n  ^\n"),
    "equal errors": ("", "a.cu(1): error: x\n  y\n  ^\n"),
    "digits": ("ptxas info    : Compiling entry function 'k' for 'sm_90'\n", "1"),
    "functions": ("", "ptxas info    : Compiling entry function 'k{}' for 'sm_90'\n"
                  "ptxas info    : Used 24 registers\n"),
    "instantiations": ("a.cu(1): error: x\n", "     detected during instantiation at line 3\n"),
    "parentheses": ("", "("),
    "folders": ("a.cu(1): error: ", "/a"),
    "headers": ("", 'b.h(1): error: x\n  at line 3 of "b.h"\n'),
    "undefined": ("", 'a.cu(1): error: identifier "aaaaaaaa{}" is undefined\n'),
    "sanitizer": ("", "========= Invalid __global__ read of size 4 bytes\n=========     at k\n"),
    "long numbers": ("", f"a.cu({MANY}): error: x\n  at line {MANY} of a.cu\n"
                         f"========= Invalid __global__ read of size 4 bytes\n"
                         f"=========     at k() in a.cu:{MANY}\n"
                         f"=========     by thread ({MANY},0,0) in block (0,0,0)\n"),
    "blank lines": ("", "\n"),
    "long lines": ("", "x" * 200 + "\n"),
    "rows": ('"Kernel Name","a"\n', '"k","1"\n'),
}  # fmt: skip
MESSAGE_TEXTS = {
    "a word": ("", "a"), "wide": ("", "漢"), "words": ("", "ab "), "controls": ("x", "\x1b"),
    "backticks": ("", "`"), "lines": ("x", "\n"), "markup": ("", "<b>&"),
    "combining": ("", "e\u0301"), "invisible": ("x", "\u200b"), "digits": ("", "1"),
    "blanks": ("x", " "), "tabs": ("x", "\t\n"), "numbers": ("a", "_1"), "minus": ("", "-"),
    "products": ("9", "*9"), "powers": ("9", "**9"), "parentheses": ("", "("),
    "commas": ("1", ",111"), "backslashes": ("", "\\"), "comments": ("", "/**/ "),
    "statements": ("", "s[0] = s[1];\n"), "calls": ("", "cudaFuncSetAttribute( /*"),
}  # fmt: skip
YAML_TEXTS = {
    "keys": ("", "a{}: 1\n"), "brackets": ("", "["),
    "anchors": ("a0: &a0 [x]\n", "a{}: &a{} [*a0]\n"),
    "quotes": ("a: '", "''"), "escapes": ('a: "', "\\u0041"), "blanks": ("a:\n", " "),
    "dashes": ("", "- "), "questions": ("", "? "), "braces": ("", "[a: "),
    "block": ("a: |\n", " x\n"),
    "tags": ("", "!a "), "comments": ("", "#\n"),
    "submissions": ("", "submission_{}:\n  :submitters:\n  - :name: a\n    :sid: '{}'\n"),
}  # fmt: skip


def text_of(texts: dict[str, tuple[str, str]], name: str, length: int) -> str:
    start, unit = texts[name]
    if "{}" not in unit:
        return start + unit * -((len(start) - length) // len(unit))
    parts, size = [start], len(start)
    while size < length:
        parts.append(unit.replace("{}", str(len(parts))))
        size += len(parts[-1])
    return "".join(parts)


def test_a_quadratic_reader_is_detected() -> None:
    pattern = re.compile(r"^\s*\.loc", re.M)
    with pytest.raises(AssertionError):
        assert_linear(pattern.findall, "\n" * SHORT, "\n" * SHORT * LONGER)


CASES = [
    (group, reader, name)
    for group, (readers, texts) in {
        "ptx": (PTX_READERS, PTX_TEXTS),
        "log": (LOG_READERS, LOG_TEXTS),
        "message": (MESSAGE_READERS, MESSAGE_TEXTS),
    }.items()
    for reader in readers
    for name in texts
]
GROUPS = {
    "ptx": (PTX_READERS, PTX_TEXTS),
    "log": (LOG_READERS, LOG_TEXTS),
    "message": (MESSAGE_READERS, MESSAGE_TEXTS),
}


@pytest.mark.parametrize(("group", "reader", "name"), CASES)
def test_time_is_linear(group: str, reader: str, name: str) -> None:
    readers, texts = GROUPS[group]
    short, long = (text_of(texts, name, n) for n in (SHORT, LONGER * SHORT))
    assert_linear(readers[reader], short, long)


@pytest.mark.parametrize("name", YAML_TEXTS)
@pytest.mark.parametrize("reader", YAML_READERS)
def test_yaml_is_read_in_linear_time(reader: str, name: str) -> None:
    """An answer sheet has at most 64 KiB; PyYAML is slow, so the texts are shorter."""
    short, long = (text_of(YAML_TEXTS, name, n) for n in (1_000, 1_000 * LONGER))
    assert_linear(YAML_READERS[reader], short, long)


@pytest.mark.parametrize("name", LOG_TEXTS)
def test_a_long_log_breaks_no_reader(name: str) -> None:
    """Python's csv, for one, refuses long fields."""
    text = text_of(LOG_TEXTS, name, 1 << 18)
    for reader in LOG_READERS.values():
        with suppress(Fault):
            reader(text)


PIECES = st.sampled_from([
    ".visible .entry k(", ".param .u32 a", ")", "{", "}", "\n", ";", ".global .align 4 .b8 a[",
    "9" * 5000, "4", "]", "=", ".const", ".loc 1 ", ".file 1 ", '"a.cu"', "/*", "*/", "//", "ret;",
    "ptxas info    : Compiling entry function 'k' for 'sm_90'", "Used ", " registers",
    " bytes smem",
    "a.cu(", "): error: ", "): warning #1-D: ", 'identifier "x" is undefined', "  ^", "at line ",
    "ptxas application ptx input, line ", "; error   : x", "b.h", "#include <a>", 'R"x(', "'", "\\",
    "\x1b", "漢", "-1", "**", "(", "submission_1:\n", "  :submitters:\n", "- ", "&a ", "*a", ": ",
])  # fmt: skip
ALL = {**PTX_READERS, **LOG_READERS, **MESSAGE_READERS, **YAML_READERS}


@given(st.lists(PIECES, max_size=40).map("".join))
@settings(max_examples=60)
def test_no_text_breaks_a_reader(text: str) -> None:
    """A reader answers or reports a fault; anything else would end a class's batch."""
    for reader in ALL.values():
        with suppress(Fault, PtxError):
            reader(text)
