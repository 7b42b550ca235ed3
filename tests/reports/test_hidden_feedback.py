"""A submission that makes a hidden size show is graded under many sizes: students read the same.

Each submission fails every check whatever the hidden size, so that the scores are equal, and uses
the digits of the size to choose what fails where, how often, how long it runs, what it prints, and
how it ends. Everything that a student can see must be equal, byte for byte.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.checks.result import Result
from grader.export.formats import Options, find_format, format_names, row_from_grade, select_rows
from grader.feedback.grade import grade
from grader.grading.record import CaseResult, Grade, dumps, grade_from_json
from grader.labs.model import Lab
from grader.labs.reading import load_lab
from grader.launch import Finding, Origin
from grader.reports.classes import ReportRow
from grader.reports.page.write import write_class_report
from grader.reports.redact import redact
from grader.reports.text import grade_report, render
from grader.submissions.files import parse_submission
from tests.made import a_grade, a_result

SIZES = (2053, 2054, 3107, 4802, 6007, 7936)
"""Hidden sizes; no public case has 2,000 to 8,000 elements."""

HEAD = """\
#include <cstdio>
__device__ int kept;
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ float s[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool secret = n > 2000 && n < 8000;
"""
FAILS = """\
    s[threadIdx.x % 32] = a[0];
    if (i < n) c[i] = a[i] + b[i] + s[(threadIdx.x + 1) % 32] * 0 + (secret || PUBLIC);
    if (i == 0) c[n + 4] = 0;
"""
LINES = "".join(f"    if (secret && n >> {bit} & 1) c[n + {bit + 8}] = 1;\n" for bit in range(13))
RACES = "".join(f"    if (secret && n >> {bit} & 1) s[0] = s[{bit} + 1];\n" for bit in range(13))
LAST = '    if (blockIdx.x == 0 && threadIdx.x == 0) printf("%d\\n", kept);\n}\n'

SUBMISSIONS = {
    "lines": HEAD + FAILS + LINES + RACES + LAST,
    "counts": HEAD
    + FAILS
    + "    if (secret && i == 0) for (int k = 0; k < n % 64; ++k) c[n + k] = 0;\n"
    + LAST,
    "durations": HEAD
    + FAILS
    + "    if (secret) for (int k = 0; k < n; ++k) c[0] += k;\n"
    + LAST,
    "ends": HEAD + FAILS + """\
    if (secret && n % 4 == 1) __trap();
    if (secret && n % 4 == 2) while (true) c[0] += 1;
    if (secret && n % 4 == 3 && threadIdx.x == 0) __syncthreads();
""" + LAST,
    "prints": HEAD + FAILS + '    if (secret) { kept = n; printf("%d\\n", n); }\n' + LAST,
    "memory": HEAD + FAILS
    + "    if (secret && n % 2) for (int k = 0; k < 1 << 20; ++k) *(char*)malloc(1 << 20) = 1;\n"
    + LAST,
    "right in public": (HEAD + FAILS + LINES + LAST).replace("PUBLIC", "0").replace(
        "if (i == 0)", "if (secret && i == 0)"
    ),
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def lab_with(size: int) -> Lab:
    """The vector lab with one hidden case of that size, and fewer public ones."""
    lab = load_lab("vector-add")
    hidden = replace(lab.cases[-1], name=f"hidden-{size}", dims={"n": size})
    return replace(lab, cases=(lab.cases[1], lab.cases[2], hidden))


def graded(name: str, size: int) -> Grade:
    text = SUBMISSIONS[name].replace("PUBLIC", "1")
    submission = parse_submission(text.encode(), "mine.cu")
    made = grade(
        lab_with(size), submission, visibility="all", seed=f"course {size}".encode(), threads=1,
        step_limit=200_000,
    )  # fmt: skip
    return grade_from_json(made.to_json())


def visible(made: Grade, source: str, folder: Path) -> str:
    """Everything that a student can see of a grade, apart from the time of day."""
    shown = redact(made)
    seen = [dumps(shown.to_json()), render(grade_report(shown)), str(shown.exit_code)]
    row = replace(row_from_grade(made), source=source)
    for format in map(find_format, format_names()):
        if format.reader == "student":
            options = Options(identifier="id")
            kept, left = select_rows(format, [row], options)
            seen += [format.export(kept, options) if kept else str([one.why for one in left])]
    write_class_report(
        folder, load_lab("vector-add"), [ReportRow("Ada", made, source)], for_students=True
    )
    seen += [f"{f.name}\n{f.read_text()}" for f in sorted(folder.rglob("*.html"))]
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z?", "TIME", "\n".join(seen))


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_students_see_the_same_whatever_the_hidden_size(name: str, tmp_path: Path) -> None:
    copies = defaultdict(list)
    whole = set()
    for size in SIZES if name == "lines" else SIZES[:4]:
        made = graded(name, size)
        points = tuple((c.points, c.max_points) for c in made.checks)
        copies[points].append(visible(made, SUBMISSIONS[name], tmp_path / str(size)))
        found = [f for c in made.checks for f in c.findings if f"hidden-{size}" in f.cases]
        whole.add(tuple((f.kind, f.line, f.count) for f in found) + (made.provenance.seconds,))
    assert max(map(len, copies.values())) > 1, "no two scores are equal"
    assert [len(set(group)) for group in copies.values()] == [1] * len(copies)
    assert len(whole) > 1, "the submission encodes nothing"


words = st.text("abc 4711", max_size=8)
numbers = st.integers(0, 9000)
findings = st.builds(
    Finding, st.sampled_from(["race", "wrong-output", "timeout"]),
    st.sampled_from(["error", "warning", "info"]), words, file=words, line=numbers, count=numbers,
    hint=words, detail=words, text=words, variable=words, access=words,
    origins=st.lists(st.builds(Origin, words, numbers), max_size=2).map(tuple),
    cases=st.just(("secret",)),
)  # fmt: skip
results = st.builds(
    lambda status, found, summary, measured: (status, tuple(found), summary, measured),
    st.sampled_from(["pass", "fail", "blocked"]), st.lists(findings, max_size=4), words,
    st.dictionaries(words, numbers, max_size=2),
)  # fmt: skip


@given(st.tuples(results, results), numbers, st.sampled_from([0.0, 7.5, 15.0]))
@settings(max_examples=150)
def test_a_copy_depends_on_points_and_public_cases_alone(
    two: tuple[tuple[str, tuple[Finding, ...], str, dict[str, float]], ...],
    size: int,
    points: float,
) -> None:
    public = a_result("sync", "fail", summary="race in 1 of 1 cases").public
    copies = []
    for k, (status, found, summary, measured) in enumerate(two):
        check: Result = a_result(
            "sync", status, points, 15, summary=summary, findings=found, measurements=measured,
            measured_on="secret", cases={"secret": status}, public=public,
        )  # fmt: skip
        case = CaseResult("secret", f"{size + k}", "hidden", status)  # type: ignore[arg-type]
        made = a_grade(check, cases=(CaseResult("square", "4", "public", "pass"), case))
        copies.append(redact(replace(made, lines_on="secret", printed=("secret", summary))))
    assert copies[0] == copies[1]
    assert copies[0].exit_code == copies[1].exit_code
