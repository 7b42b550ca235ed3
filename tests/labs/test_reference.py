"""reference.py: every mistake is a LabFault with file and line."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from grader.faults import LabFault
from grader.labs import reference
from grader.labs.cases import prepare_case
from grader.labs.model import Expected
from grader.labs.reading import load_lab
from grader.labs.reference import ReferenceTimeout
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
def test_mistake_in_the_reference_is_reported_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, what: str
) -> None:
    assert REFERENCE.count(old) == 1
    lab = load_lab("scale", write_lab(tmp_path, reference=REFERENCE.replace(old, new)))
    with pytest.raises(LabFault) as caught:
        prepare_case(lab, lab.cases[0], b"seed")
    place = f"{lab.folder / 'reference.py'}:{line}" if line else str(lab.folder / "reference.py")
    assert caught.value.where.startswith(place)
    assert what in caught.value.what


def test_missing_reference_is_a_fault(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))
    (lab.folder / "reference.py").unlink()
    with pytest.raises(LabFault, match="cannot read the reference"):
        prepare_case(lab, lab.cases[0], b"seed")


def test_reference_leaves_no_module_and_no_file(tmp_path: Path) -> None:
    lab = load_lab("scale", write_lab(tmp_path))
    before = set(sys.modules)
    prepare_case(lab, lab.cases[0], b"seed")
    assert set(sys.modules) == before
    assert sorted(p.name for p in lab.folder.iterdir()) == ["lab.yaml", "reference.py"]


ENDLESS = [
    ("    value = 2", "    __import__('time').sleep(1000)\n    value = 2", 6, True),
    ("    value = 2", "    np.convolve(*[np.ones(10**6)] * 2)\n    value = 2", 6, True),
    ("    value = 2", "    while True: pass\n    value = 2", 6, True),
    ("    value = 2", "    for k in range(10**4): sum(range(100))\n    value = 2", 6, False),
    ('    return {"x"', '    while dims["n"]:\n        rng.random()\n    return {"x"', 4, True),
    ("import numpy as np", "import numpy as np\nwhile np: pass", 2, True),
]


@pytest.mark.parametrize(("old", "new", "line", "endless"), ENDLESS)
def test_endless_reference_is_stopped_and_its_line_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, line: int, endless: bool
) -> None:
    monkeypatch.setattr("grader.labs.reference.SECONDS", 0.4 if endless else 30)
    monkeypatch.setattr("grader.labs.reference_process.MAX_WAITS", 10_000)  # a busy machine
    lab = load_lab("scale", write_lab(tmp_path, reference=REFERENCE.replace(old, new)))
    if not endless:
        assert prepare_case(lab, lab.cases[0], b"seed").expected
        return
    with pytest.raises(ReferenceTimeout, match="still running here after") as caught:
        prepare_case(lab, lab.cases[0], b"seed")
    place, _, number = caught.value.where.rpartition(":")
    assert place == str(lab.folder / "reference.py")
    assert int(number) in (line, line + 1)
    assert "loop" in caught.value.fix


def test_references_of_older_labs_import_the_former_module_names(tmp_path: Path) -> None:
    older = "from grader.lab import Expected\nfrom grader.tolerance import gamma\n" + REFERENCE
    lab = load_lab("scale", write_lab(tmp_path, reference=older))
    assert prepare_case(lab, lab.cases[0], b"seed").expected


@pytest.mark.parametrize("bound", [0, 0.5, np.float32(1), np.zeros((2, 3))])
def test_a_number_is_the_bound_of_every_element(bound: object) -> None:
    made = Expected(np.arange(6.0).reshape(2, 3), bound)  # type: ignore[arg-type]
    expected = reference._checked_expected("reference.py", made, (2, 3))
    assert expected.value.shape == expected.bound.shape == (2, 3)
    assert (expected.bound == bound).all()
