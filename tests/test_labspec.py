"""lab.yaml and reference.py: read into values, and every mistake said with file, line and key."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from grader.fault import LabFault
from grader.labspec import json_schema, lab_roots, list_labs, load_lab, prepare, prepare_baseline
from grader.launch import Array, Scalar

SPEC = """\
title: Scale a vector
kernel:
  name: scale
  parameters:
    - {name: x, type: const float*}
    - {name: y, type: float*}
    - {name: n, type: int}
arguments:
  x: {in: float32, shape: [n]}
  y: {out: float32, shape: [n]}
  n: {value: n, dtype: int32}
launch:
  grid: ["ceil_div(n, width)"]
  block: [width]
  shared: 4 * width
baseline:
  launch: {grid: [1], block: [32]}
derive:
  kernel:
    name: choose
    parameters:
      - {name: threads, type: int}
      - {name: width, type: int*}
  output: width
  rule: the most threads that a block may have
  answers:
    best: {given: {threads: 64}, minimum: 32, maximum: 64}
cases:
  - {name: small, dims: {n: 5, width: 4}}
  - {name: chosen, dims: {n: 100, width: best}, kind: integer, visibility: hidden}
checks:
  output: {points: 60}
  traffic:
    points: 40
    max_sectors_per_request: 4
"""
REFERENCE = """\
import numpy as np
from grader.lab import Expected
def inputs(dims, rng, kind):
    return {"x": rng.uniform(-1, 1, dims["n"]).astype(np.float32)}
def expected(dims, inputs):
    value = 2 * inputs["x"].astype(np.float64)
    return {"y": Expected(value, 0 * value)}
"""


def write_lab(root: Path, spec: str = SPEC, reference: str = REFERENCE) -> tuple[Path, ...]:
    """A course with the one lab `scale`; the roots to find it by."""
    folder = root / "labs" / "scale"
    folder.mkdir(parents=True)
    (folder / "lab.yaml").write_text(spec)
    (folder / "reference.py").write_text(reference)
    return (root / "labs",)


def test_every_part_of_the_spec_is_read(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))
    assert (lab.name, lab.title, lab.max_score) == ("scale", "Scale a vector", 100)
    assert lab.kernels[0].signature == (
        'extern "C" __global__ void scale(const float* x, float* y, int n)'
    )
    assert lab.kernels[1].name == "choose"
    assert [c.visibility for c in lab.cases] == ["public", "hidden"]
    assert lab.cases[1].derived == {"width": "best"}
    traffic = lab.checks[1]
    assert traffic.options == {"max_sectors_per_request": 4}
    assert traffic.where.endswith("lab.yaml:33")
    assert traffic.lines == {"max_sectors_per_request": 35}


def test_prepare_makes_the_launch(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))
    prepared = prepare(lab, lab.cases[0], b"seed")
    launch = prepared.launch
    assert (launch.kernel, launch.name) == ("scale", "small")
    assert (launch.grid, launch.block, launch.shared) == ((2, 1, 1), (4, 1, 1), 16)
    x, y, n = launch.args
    assert isinstance(x, Array) and isinstance(y, Array)
    assert x.data is not None and x.data.dtype == np.float32 and not x.read_back
    assert y.data is None and y.read_back and y.shape == (5,)
    assert n == Scalar("n", 5, "int32")
    assert list(prepared.expected) == [1]
    assert np.array_equal(prepared.expected[1].value, 2.0 * x.data)


def test_global_variables_are_drawn_with_the_inputs(tmp_path: Path) -> None:
    spec = SPEC.replace("launch:\n", "globals:\n  mask: {dtype: float32, shape: [3]}\nlaunch:\n", 1)
    reference = REFERENCE.replace('{"x":', '{"mask": np.ones(3, np.float32), "x":')
    lab = load_lab("scale", write_lab(tmp_path, spec, reference))
    launch = prepare(lab, lab.cases[0], b"seed").launch
    assert {name: array.tolist() for name, array in launch.globals.items()} == {"mask": [1, 1, 1]}
    assert [a.name for a in launch.args] == ["x", "y", "n"]


GLOBALS = [
    ("x: {dtype: float32, shape: [3]}", REFERENCE, "parameter `x` as well"),
    ("mask: {dtype: float32, shape: [0]}", REFERENCE, "greater than 0"),
    ("mask: {dtype: float32, shape: [n]}", REFERENCE, "integer"),
    ("mask: {dtype: float32, shape: [3]}", REFERENCE, "returned no mask"),
]


@pytest.mark.parametrize(("line", "reference", "what"), GLOBALS)
def test_broken_globals(tmp_path: Path, line: str, reference: str, what: str) -> None:
    spec = SPEC.replace("launch:\n", f"globals:\n  {line}\nlaunch:\n", 1)
    roots = write_lab(tmp_path, spec, reference)
    with pytest.raises(LabFault) as raised:
        prepare(lab := load_lab("scale", roots), lab.cases[0], b"seed")
    assert what in str(raised.value)


def test_baseline_has_its_own_geometry(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))
    launch = prepare_baseline(lab, lab.cases[0], b"seed").launch
    assert (launch.grid, launch.block, launch.shared) == ((1, 1, 1), (32, 1, 1), 0)


def test_inputs_depend_on_seed_and_case_only(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))

    def x(seed: bytes, name: str = "small") -> bytes:
        case = next(c for c in lab.cases if c.name == name)
        array = prepare(lab, case, seed, {"best": 32}).launch.args[0]
        assert isinstance(array, Array) and array.data is not None
        return array.data.tobytes()[:20]

    assert x(b"a") == x(b"a")
    assert len({x(b"a"), x(b"b"), x(b"a", "chosen")}) == 3


def test_derived_dims_come_from_the_answers(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))
    (derivation,) = lab.derivations
    assert [type(a) for a in derivation.launch.args] == [Scalar, Array]
    assert (derivation.output_index, derivation.call) == (1, "choose(64)")
    prepared = prepare(lab, lab.cases[1], b"seed", {"best": 48})
    assert prepared.case.dims == {"n": 100, "width": 48}
    assert (prepared.launch.grid, prepared.launch.block) == ((3, 1, 1), (48, 1, 1))
    again = prepare_baseline(lab, prepared.case, b"seed")
    assert again.case == prepared.case
    with pytest.raises(LabFault, match="needs the answer of best"):
        prepare(lab, lab.cases[1], b"seed")


@pytest.mark.parametrize(("answer", "right"), [(31, False), (32, True), (64, True), (65, False)])
def test_an_answer_outside_its_range_is_a_problem(tmp_path: Path, answer: int, right: bool) -> None:
    (derivation,) = load_lab("scale", write_lab(tmp_path)).derivations
    problem = derivation.problem(answer)
    if right:
        assert problem == ""
    else:
        assert problem == (
            f"choose(64) answered width = {answer}, expected 32 to 64: "
            "the most threads that a block may have"
        )


BROKEN_SPECS = [
    # what is broken, the edit, line and key, a part of the message, a part of how to mend it
    ("unknown key", "title:", "titel:", "1: titel", "", "title"),
    ("unknown nested key", "  shared: 4", "  sharde: 4", "15: launch.sharde", "", "shared"),
    ("unknown case key", "kind: integer", "kin: integer", "30: cases.1.kin", "", "kind"),
    ("missing key", "title: Scale a vector\n", "", "title", "", ""),
    ("not a number", "points: 60", "points: many", "32: checks.output.points", "", ""),
    ("no points", "points: 60", "points: 0", "32: checks.output.points", "", ""),
    ("bad visibility", "hidden}", "secret}", "30: cases.1.visibility", "", ""),
    ("bad dtype", "y: {out: float32", "y: {out: float31", "10: arguments.y.out", "", ""),
    ("bool as dim", "{n: 5,", "{n: yes,", "29: cases.0.dims.n", "", ""),
    ("bad case name", "name: small", "name: ../small", "29: cases.0.name", "", ""),
    ("two roles", "{in: float32,", "{in: float32, out: float32,", "9: arguments.x",
     "exactly one of `in`, `inout`, `out` or `value`", ""),
    ("no shape", "x: {in: float32, shape: [n]}", "x: {in: float32}", "9: arguments.x",
     "an array needs `shape`", ""),
    ("value without dtype", "{value: n, dtype: int32}", "{value: n}", "11: arguments.n",
     "a value needs `dtype`", ""),
    ("unknown argument", "  x: {in", "  xs: {in", "9: arguments.xs",
     "the kernel has no parameter `xs`", "did you mean `x`?"),
    ("argument left out", "  x: {in: float32, shape: [n]}\n", "", "8: arguments",
     "parameter `x` of the kernel is given nothing", ""),
    ("no output", "y: {out:", "y: {in:", "8: arguments", "nothing can be graded", ""),
    ("value for a pointer", "x: {in: float32, shape: [n]}", "x: {value: 1, dtype: int32}",
     "9: arguments.x", "`const float* x` is a pointer", ""),
    ("array for a value", "n: {value: n, dtype: int32}", "n: {in: int32, shape: [1]}",
     "11: arguments.n", "`int n` is no pointer", ""),
    ("unknown dim", '"ceil_div(n, width)"', '"ceil_div(m, width)"', "13: launch.grid",
     "unknown name `m`", "names that may be used: n, width"),
    ("unknown function", '"ceil_div(n, width)"', '"ceildiv(n, width)"', "13: launch.grid",
     "unknown function `ceildiv`", "did you mean `ceil_div`?"),
    ("fractional", "block: [width]", "block: [width / 3]", "14: launch.block",
     "not a whole number", "ceil_div"),
    ("no threads", "block: [width]", "block: [width - 4]", "14: launch.block",
     "at least 1 (case small)", ""),
    ("bad shape", "x: {in: float32, shape: [n]}", "x: {in: float32, shape: [n - 6]}",
     "9: arguments.x.shape", "at least 0 (case small)", ""),
    ("huge array", "x: {in: float32, shape: [n]}", "x: {in: float32, shape: [n, 2**40]}",
     "9: arguments.x.shape", "at most 2147483648", ""),
    ("four axes", "block: [width]", "block: [1, 1, 1, 1]", "14: launch.block", "", ""),
    ("unknown answer", "width: best", "width: bets", "30: cases.1.dims.width",
     "`bets` is no derived answer", "answers: best"),
    ("same name twice", "name: chosen", "name: small", "30: cases.1.name",
     "two cases are called `small`", ""),
    ("derive gives too little", "given: {threads: 64}", "given: {}",
     "27: derive.answers.best.given", "must give threads", ""),
    ("derive output unknown", "output: width", "output: wide", "24: derive.output",
     "choose has no `wide`", ""),
    ("empty range", "minimum: 32", "minimum: 65", "27: derive.answers.best",
     "minimum is larger", ""),
    ("not yaml", "title: Scale a vector", "title: [", "lab.yaml:", "", ""),
    ("not a mapping", SPEC, "- 1\n", "lab.yaml", "", ""),
    ("empty file", SPEC, "", "lab.yaml", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "where", "what", "mend"),
    [row[1:] for row in BROKEN_SPECS],
    ids=[row[0] for row in BROKEN_SPECS],
)
def test_broken_spec(tmp_path: Path, old: str, new: str, where: str, what: str, mend: str) -> None:
    assert SPEC.count(old) == 1
    roots = write_lab(tmp_path, SPEC.replace(old, new))
    with pytest.raises(LabFault) as caught:
        load_lab("scale", roots)
    fault = caught.value
    assert "lab.yaml" in fault.where
    assert where in f"{fault.where} {fault.what}"
    assert what in fault.what
    assert mend in fault.mend


BROKEN_REFERENCES = [
    ("syntax", "import numpy as np", "import numpy as", 1, "not valid Python"),
    ("raises", "    value = 2", "    value = dims['m']", 6, "KeyError: 'm'"),
    ("raises at import", "import numpy as np", "import numpy as np; 1 / 0", 1, "ZeroDivision"),
    ("no function", "def expected", "def expects", 0, "defines no function expected()"),
    ("missing array", '"x": rng', '"xs": rng', 0, "returned no x"),
    ("extra array", '{"x": rng', '{"z": 1, "x": rng', 0, "returned z"),
    ("no dict", '    return {"x"', '    return [] and {"x"', 0, "must return a dict"),
    ("wrong shape", 'dims["n"])', 'dims["n"] + 1)', 0, "is float32 (6,), lab.yaml says float32"),
    ("wrong dtype", "np.float32", "np.float16", 0, "is float16 (5,)"),
    ("no array", 'rng.uniform(-1, 1, dims["n"]).astype(np.float32)', "3", 0, "is a int"),
    ("no bound", "Expected(value, 0 * value)", "value", 0, "is a ndarray"),
    ("bound's shape", "0 * value", "np.zeros(3)", 0, "its bound has shape (3,), not (5,)"),
    ("infinite bound", "0 * value", "np.inf + value", 0, "must be finite"),
]


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [row[1:] for row in BROKEN_REFERENCES],
    ids=[row[0] for row in BROKEN_REFERENCES],
)
def test_broken_reference(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    assert REFERENCE.count(old) == 1
    lab = load_lab("scale", write_lab(tmp_path, reference=REFERENCE.replace(old, new)))
    with pytest.raises(LabFault) as caught:
        prepare(lab, lab.cases[0], b"seed")
    place = f"{lab.folder / 'reference.py'}:{line}" if line else str(lab.folder / "reference.py")
    assert caught.value.where.startswith(place)
    assert what in caught.value.what


def test_missing_reference(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))
    (lab.folder / "reference.py").unlink()
    with pytest.raises(LabFault, match="cannot read the reference"):
        prepare(lab, lab.cases[0], b"seed")


def test_a_reference_leaves_no_trace(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))
    before = set(sys.modules)
    prepare(lab, lab.cases[0], b"seed")
    assert set(sys.modules) == before
    assert sorted(p.name for p in lab.folder.iterdir()) == ["lab.yaml", "reference.py"]


@pytest.mark.parametrize("name", ["scal", "SCALE", "../scale", "CA", "", "nothing-like-it"])
def test_unknown_lab(tmp_path: Path, name: str) -> None:
    roots = write_lab(tmp_path)
    with pytest.raises(LabFault) as caught:
        load_lab(name, roots)
    assert caught.value.what == f"there is no lab `{name}`"
    assert "labs: scale" in caught.value.mend
    assert ("did you mean scale?" in caught.value.mend) == ("ca" in name.lower())


def test_no_labs_at_all(tmp_path: Path) -> None:
    with pytest.raises(LabFault) as caught:
        load_lab("scale", (tmp_path,))
    assert caught.value.mend == f"no labs in {tmp_path}"


def test_where_labs_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lab(tmp_path)
    assert lab_roots(tmp_path) == (tmp_path / "labs",)
    monkeypatch.setenv("WARPGRADE_LABS", str(tmp_path / "labs"))
    assert list_labs() == ("scale",)
    monkeypatch.delenv("WARPGRADE_LABS")
    assert "tiled-matmul" in list_labs()


def test_the_schema_in_the_labs_folder_is_up_to_date() -> None:
    (root,) = lab_roots()
    kept = json.loads((root / "lab.schema.json").read_text())
    assert kept == json_schema(), "run: python -m grader.labspec > labs/lab.schema.json"
    for name in list_labs():
        first = (root / name / "lab.yaml").read_text().splitlines()[0]
        assert first == "# yaml-language-server: $schema=../lab.schema.json"
