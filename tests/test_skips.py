"""The rule of conftest.py that a skipped test fails in CI, applied to small suites."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import LONGEST

pytest_plugins = ["pytester"]

FOLDER = Path(__file__).parent
SUITE = """
import pytest
{module}
@pytest.mark.skipif(True, reason={reason!r})
def test_one(): pass
"""
IN_A_MODULE = "pytest.skip({reason!r}, allow_module_level=True)"


@pytest.mark.parametrize(
    ("ci", "reason", "fails"),
    [
        ("true", "no time", True),
        ("true", "needs a GPU of 80 GB", False),
        ("", "no time", False),
    ],
)
@pytest.mark.parametrize("whole_module", [False, True])
def test_skip_fails_in_ci_unless_it_needs_a_gpu(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    ci: str,
    reason: str,
    fails: bool,
    whole_module: bool,
) -> None:
    monkeypatch.setenv("CI", ci)
    pytester.makeconftest((FOLDER / "conftest.py").read_text())
    module = IN_A_MODULE.format(reason=reason) if whole_module else ""
    pytester.makepyfile(SUITE.format(module=module, reason=reason))
    outcome = pytester.runpytest_inprocess("-p", "no:cacheprovider").parseoutcomes()
    assert bool(outcome.get("failed") or outcome.get("errors")) is fails
    assert bool(outcome.get("skipped")) is not fails


def test_files_that_take_longest_come_first(request: pytest.FixtureRequest) -> None:
    assert all((FOLDER / name).is_file() for name in LONGEST)
    places = [str(item.path.relative_to(FOLDER)) for item in request.session.items]
    found = [name for name in dict.fromkeys(places) if name in LONGEST]
    assert list(dict.fromkeys(places))[: len(found)] == found
    assert found == [name for name in LONGEST if name in found]
