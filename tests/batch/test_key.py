"""What makes the key another one, and what does not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.batch import task as keys
from grader.batch.task import batch_key, local_tools
from grader.labs.model import Lab
from grader.labs.reading import load_lab
from tests.command import ROOT

LAB = "tiled-matmul"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    for part in ("labs", "solutions"):
        shutil.copytree(ROOT / part / LAB, tmp_path / part / LAB)
    return load_lab(LAB, (tmp_path / "labs",))


def key(lab: Lab, seed: bytes = b"") -> str:
    return batch_key(lab, "sim", seed, local_tools("sim"))


def _reference(lab: Lab) -> None:
    with (lab.folder / "reference.py").open("a") as file:
        file.write("\n# another\n")


def _probe(lab: Lab) -> None:
    with (lab.solution.parent / "wrong/race-missing-first-barrier.cu").open("a") as file:
        file.write("\n// another\n")


def _times(lab: Lab) -> None:
    for path in lab.folder.rglob("*"):
        os.utime(path, (1, 1))


def _skeleton(lab: Lab) -> None:
    lab.skeleton.write_text("// a student's own\n")


def _clutter(lab: Lab) -> None:
    (lab.folder / "__pycache__").mkdir()
    (lab.folder / "__pycache__" / "reference.pyc").write_bytes(b"x")


@pytest.mark.parametrize("change", [_reference, _probe])
def test_another_lab(change: Callable[[Lab], None], lab: Lab) -> None:
    before = key(lab)
    change(lab)
    assert key(lab) != before


@pytest.mark.parametrize("change", [_times, _skeleton, _clutter])
def test_the_same_lab(change: Callable[[Lab], None], lab: Lab) -> None:
    before = key(lab)
    change(lab)
    assert key(lab) == before


def test_another_seed_version_or_compiler(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {key(lab), key(lab, b"course")}
    with monkeypatch.context() as patch:
        patch.setattr(keys, "__version__", "99")
        found.add(key(lab))
    with monkeypatch.context() as patch:
        patch.setattr(keys, "toolchain", lambda: {"nvrtc": "13.9"})
        found.add(key(lab))
    assert len(found) == 4
    assert b"course".hex() not in "".join(found)
