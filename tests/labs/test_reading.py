"""lab.yaml: its values, and that every mistake is reported with file, line and key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.faults import LabFault
from grader.labs.reading import json_schema, lab_roots, list_labs, load_lab
from tests.scalelab import SPEC, write_lab


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


BROKEN_SPECS = [
    # what is broken, the edit, line and key, a part of the message, a part of the fix
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
     "parameter `x` of the kernel has no argument", ""),
    ("no output", "y: {out:", "y: {in:", "8: arguments", "nothing can be graded", ""),
    ("value for a pointer", "x: {in: float32, shape: [n]}", "x: {value: 1, dtype: int32}",
     "9: arguments.x", "`const float* x` is a pointer", ""),
    ("array for a value", "n: {value: n, dtype: int32}", "n: {in: int32, shape: [1]}",
     "11: arguments.n", "`int n` is not a pointer", ""),
    ("unknown dim", '"ceil_div(n, width)"', '"ceil_div(m, width)"', "13: launch.grid",
     "unknown name `m`", "use one of these names: n, width"),
    ("unknown function", '"ceil_div(n, width)"', '"ceildiv(n, width)"', "13: launch.grid",
     "unknown function `ceildiv`", "did you mean `ceil_div`?"),
    ("fractional", "block: [width]", "block: [width / 3]", "14: launch.block",
     "not a whole number", "ceil_div"),
    ("no threads", "block: [width]", "block: [width - 4]", "14: launch.block",
     "at least 1 (case small)", ""),
    ("bad shape", "x: {in: float32, shape: [n]}", "x: {in: float32, shape: [n - 6]}",
     "9: arguments.x.shape", "at least 0 (case small)", ""),
    ("huge array", "x: {in: float32, shape: [n]}", "x: {in: float32, shape: [n, 2**40]}",
     "9: arguments.x.shape", "the limit of 2147483648", ""),
    ("four axes", "block: [width]", "block: [1, 1, 1, 1]", "14: launch.block", "", ""),
    ("unknown answer", "width: best", "width: bets", "30: cases.1.dims.width",
     "`bets` is not a derived answer", "answers: best"),
    ("same name twice", "name: chosen", "name: small", "30: cases.1.name",
     "two cases have the name `small`", ""),
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
    ("old", "new", "where", "what", "fix"),
    [row[1:] for row in BROKEN_SPECS],
    ids=[row[0] for row in BROKEN_SPECS],
)
def test_mistake_in_lab_yaml_is_reported_with_line_and_key(
    tmp_path: Path, old: str, new: str, where: str, what: str, fix: str
) -> None:
    assert SPEC.count(old) == 1
    roots = write_lab(tmp_path, SPEC.replace(old, new))
    with pytest.raises(LabFault) as caught:
        load_lab("scale", roots)
    fault = caught.value
    assert "lab.yaml" in fault.where
    assert where in f"{fault.where} {fault.what}"
    assert what in fault.what
    assert fix in fault.fix


@pytest.mark.parametrize("name", ["scal", "SCALE", "../scale", "CA", "", "nothing-like-it"])
def test_unknown_lab_gets_its_closest_match(tmp_path: Path, name: str) -> None:
    roots = write_lab(tmp_path)
    with pytest.raises(LabFault) as caught:
        load_lab(name, roots)
    assert caught.value.what == f"there is no lab `{name}`"
    assert "labs: scale" in caught.value.fix
    assert ("did you mean scale?" in caught.value.fix) == ("ca" in name.lower())


def test_folder_without_labs_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabFault) as caught:
        load_lab("scale", (tmp_path,))
    assert caught.value.fix == f"no labs in {tmp_path}"


def test_labs_are_searched_in_the_course_the_variable_and_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lab(tmp_path)
    assert lab_roots(tmp_path) == (tmp_path / "labs",)
    monkeypatch.setenv("WARPGRADE_LABS", str(tmp_path / "labs"))
    assert list_labs() == ("scale",)
    monkeypatch.delenv("WARPGRADE_LABS")
    assert "tiled-matmul" in list_labs()


def test_schema_in_the_labs_folder_is_up_to_date() -> None:
    (root,) = lab_roots()
    kept = json.loads((root / "lab.schema.json").read_text())
    assert kept == json_schema(), "run: python -m grader.labs.reading > labs/lab.schema.json"
    for name in list_labs():
        first = (root / name / "lab.yaml").read_text().splitlines()[0]
        assert first == "# yaml-language-server: $schema=../lab.schema.json"
