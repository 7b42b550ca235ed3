"""Copies are found whatever their names; honest solutions of one small lab are not accused.

The sample class has 12 submissions that were written apart. Copies are planted in it, disguised.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from itertools import combinations

import pytest

from grader.batch.similarity import SMALL_CLASS, SimilarityReport, compare
from grader.labs.reading import load_lab
from tests.batch.disguised_copies import DISGUISES, renamed, reordered, uncommented
from tests.command import ROOT

LAB = load_lab("tiled-matmul")
KNOWN = [path.read_text() for path in (LAB.skeleton, LAB.baseline, LAB.solution)]
FOLDER = ROOT / "tests" / "classes" / LAB.name
CLASS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.cu"))}
TWINS = {
    path.stem: path.read_text() for path in sorted((LAB.solution.parent / "wrong").glob("*.cu"))
}
THIN = ("s03", "s06", "s07")
"""Submissions that are the lab's own solution but for a slip: nothing can be said of them."""

IDX = """\
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{{
    int {0} = blockIdx.x * blockDim.x + threadIdx.x;
    if ({0} < n)
        c[{0}] = a[{0}] + b[{0}];
}}
"""

FUNCTIONS = """\
#define TILE 16
__device__ float dot_of_tiles(const float (*left)[TILE], const float (*right)[TILE], int r, int c)
{
    float total = 0.0f;
    for (int step = TILE - 1; step >= 0; step--) {
        total = fmaf(left[r][step], right[step][c], total);
    }
    return total;
}
__device__ void fill_both(float (*left)[TILE], float (*right)[TILE], const float* from_a,
                          const float* from_b, int stride, int r, int c)
{
    left[r][c] = from_a[r * stride + c];
    right[r][c] = from_b[c + stride * r];
}
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    const float* a = A + blockIdx.y * TILE * n;
    const float* b = B + blockIdx.x * TILE;
    float result = 0.0f;
    for (int done = 0; done != n; done += TILE, a += TILE, b += TILE * n) {
        fill_both(left, right, a, b, n, threadIdx.y, threadIdx.x);
        __syncthreads();
        result += dot_of_tiles(left, right, threadIdx.y, threadIdx.x);
        __syncthreads();
    }
    C[(blockIdx.y * TILE + threadIdx.y) * n + blockIdx.x * TILE + threadIdx.x] = result;
}
"""


def shown(found: SimilarityReport) -> set[tuple[str, str]]:
    return {(pair.first, pair.second) for pair in found.pairs}


@pytest.fixture(scope="module")
def honest() -> SimilarityReport:
    return compare(CLASS, KNOWN)


def test_no_honest_submission_is_reported(honest: SimilarityReport) -> None:
    assert shown(honest) == set()
    assert honest.thin == THIN


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguised_copy_is_reported(disguise: str) -> None:
    """Of every submission that has something of its own: all found, and nobody else told."""
    names = sorted(CLASS.keys() - set(THIN))
    for group in (names[0::3], names[1::3], names[2::3]):
        copies = {f"~{name}": DISGUISES[disguise](CLASS[name]) for name in group}
        assert shown(compare(CLASS | copies, KNOWN)) == {(name, f"~{name}") for name in group}


def test_reordered_functions_are_reported(honest: SimilarityReport) -> None:
    copy = renamed(reordered(FUNCTIONS))
    assert copy.index("extern") < copy.index("__device__")
    found = compare(CLASS | {"~mine": FUNCTIONS, "~yours": copy}, KNOWN)
    assert shown(found) == {("~mine", "~yours")}


def test_submissions_without_own_code_are_listed_but_not_reported() -> None:
    found = compare(CLASS | {"~a": KNOWN[0], "~b": KNOWN[0], "~c": KNOWN[2], "~d": KNOWN[2]}, KNOWN)
    assert shown(found) == set()
    assert set(found.thin) == {*THIN, "~a", "~b", "~c", "~d"}


def test_known_code_would_be_reported_if_it_were_not_left_out() -> None:
    """The control: the skeleton itself would make a pair."""
    assert ("~a", "~b") in shown(compare(CLASS | {"~a": KNOWN[2], "~b": KNOWN[2]}, KNOWN[:2]))


def test_common_code_is_no_evidence() -> None:
    lab = load_lab("vector-add")
    known = [path.read_text() for path in (lab.skeleton, lab.baseline, lab.solution)]
    names = ["i", "idx", "id", "tid", "index", "gid"]
    texts = {f"s{n:02d}": IDX.format(names[n % 6]) for n in range(24)}
    assert shown(compare(texts, known)) == set()


def test_two_different_submissions_are_not_reported() -> None:
    """A class of two: nobody knows what is usual, so only the same text is told. These are the
    submissions that are nearest to each other.
    """
    near = ("s03", "s06", "s07", "s10", "s12")
    for first, second in combinations(near, 2):
        assert shown(compare({n: CLASS[n] for n in (first, second)}, KNOWN)) == set()


def test_two_equal_submissions_are_reported() -> None:
    copy = "// by me\n" + CLASS["s01"]
    assert shown(compare({"a": CLASS["s01"], "b": copy}, KNOWN)) == {("a", "b")}
    assert len(CLASS) >= SMALL_CLASS


def figures(texts: Mapping[str, str], true: set[tuple[str, str]]) -> tuple[float, float, int]:
    """Precision and recall of the pairs that are told, and how many there are."""
    found = shown(compare(texts, KNOWN))
    right = len(found & true)
    return right / len(found) if found else 1.0, right / len(true), len(found)


def test_precision_on_our_own_class(capsys: pytest.CaptureFixture[str]) -> None:
    """12 honest ones, 18 wrong twins of the solution, and three disguised copies."""
    planted = {
        "~1": DISGUISES["renamed and laid out"](CLASS["s09"]),
        "~2": DISGUISES["renamed and commented"](CLASS["s01"]),
        "~3": uncommented(CLASS["s12"]),
    }
    true = {("s09", "~1"), ("s01", "~2"), ("s12", "~3")}
    precision, recall, count = figures(CLASS | TWINS | planted, true)
    with capsys.disabled():
        print(f"\n  {count} pairs told, precision {precision:.2f}, recall {recall:.2f}")
    assert (precision, recall) == (1.0, 1.0)


SAID = """\
import json, sys
from tests.batch.test_similarity import CLASS, KNOWN, LAB, renamed
from grader.batch.similarity import compare
from grader.batch.similarity_pages import similarity_json, similarity_pages
texts = CLASS | {"~copy": renamed(CLASS["s08"])}
found = compare(texts, KNOWN)
pages = {n: p.decode() for n, p in similarity_pages(LAB, found, texts).items()}
print(json.dumps([similarity_json(found), pages], sort_keys=True))
"""


def test_the_same_class_gives_the_same_answer_in_every_process() -> None:
    """Python's hashes of strings differ between these; what is said does not."""
    output = [
        subprocess.run(
            [sys.executable, "-c", SAID], cwd=ROOT, capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        ).stdout
        for seed in ("0", "1", "random")
    ]  # fmt: skip
    assert len(json.loads(output[0])[0]["pairs"]) == 1
    assert output[0] == output[1] == output[2]


@pytest.mark.parametrize("text", ["", "x", "\n" * 50, "é" * 100, 'R"(' * 2000, "/*" * 2000, "("])
def test_odd_texts_break_nothing(text: str) -> None:
    found = compare({"a": text, "b": text, "c": CLASS["s01"]}, KNOWN)
    assert found.submissions == 3
