"""Every attack gets its verdict on the simulator, in the box, and compile bombs get no further."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.compile.source import LIMITS, compile_source
from grader.fault import StudentFault
from tests.attacks.verdict import COMPILE, LAUNCH, SPEED, broken, due, judged, name_of

SHORT = replace(LIMITS, wall=4.0, cpu=4.0)
"""A compiler that does not end has no verdict in 20 s either."""


@pytest.mark.parametrize("path", COMPILE, ids=name_of)
def test_an_attack_on_the_compiler(path: Path) -> None:
    (verdict,) = due(path)
    with pytest.raises(StudentFault) as caught:
        compile_source(path.read_bytes(), path.name, cache=None, limits=SHORT)
    assert verdict.kind in {finding.kind for finding in caught.value.findings}
    said = "\n".join(f"{f.message} {f.text}" for f in caught.value.findings)
    assert "root:" not in said and "HOME=" not in said and "def expected" not in said


@pytest.mark.parametrize("path", [*LAUNCH, *SPEED], ids=name_of)
def test_an_attack_on_the_launch(path: Path) -> None:
    """On the simulator; what only a GPU can judge is looked at in tests/gpu."""
    got = judged(path, "sim", limit=1.0, names=("one-tile", "whole-numbers"))
    assert list(broken(due(path), got, without="speed")) == []
