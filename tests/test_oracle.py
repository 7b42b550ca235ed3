"""reference.py: every mistake in it is the lab's, said with file and line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.fault import LabFault
from grader.labfile.spec import load_lab
from grader.prepare import prepare
from tests.scalelab import REFERENCE, write_lab

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
