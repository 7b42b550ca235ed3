"""Several processes share the GPU tests: each test runs once. Needs no GPU."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.command import ROOT
from tests.gpu.__main__ import shares
from tests.gpu.share import REPORTS
from tests.gpu.table import failures, read, table

SUITE = """
import pytest
@pytest.mark.parametrize("n", range(8))
def test_many(n, record_property):
    record_property("row", f"measured {n}")
    assert n != 5
def test_broken(no_such_fixture): pass
"""


def test_a_file_that_is_no_python_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "test_no_python.py").write_text("1 +")
    (tmp_path / "test_right.py").write_text("def test_right(): pass")
    assert shares(tmp_path, ["-m", "not gpu", str(tmp_path)], 1, io.StringIO()) == [1]
    assert [r.outcome for r in read(tmp_path / REPORTS)] == ["failed", "passed"]


def test_each_test_runs_once_and_failures_are_printed(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    codes = shares(tmp_path, ["-m", "not gpu", str(tmp_path)], 2, io.StringIO())
    reports = read(tmp_path / REPORTS)
    assert max(codes) == 1
    assert len(reports) == len({r.test for r in reports}) == 9
    assert [r.test.rpartition("::")[2] for r in reports if r.outcome == "failed"] == [
        "test_broken",
        "test_many[5]",
    ]
    lines = list(table(reports))
    assert any(line.split()[-3:-1] == ["7", "1"] for line in lines)
    assert "    3: measured 3" in lines
    words = "\n".join(failures(reports))
    assert "assert 5 != 5" in words and "no_such_fixture" in words


ENDLESS = """
import pytest, time
@pytest.mark.gpu
def test_first(): pass
@pytest.mark.gpu
def test_second():
    open({begun!r}, "w").close()
    time.sleep(60)
"""


def test_a_run_that_is_stopped_still_has_its_table(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    (tmp_path / "test_suite.py").write_text(ENDLESS.format(begun=str(begun)))
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.gpu", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"OUT": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not begun.exists():
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1)  # where two processes share the suite, the other's first test ends by itself
    child.terminate()
    said, _ = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "stopped; what follows" in said and "1 tests in" in said
    assert "test_first" in (tmp_path / "test-gpu.log").read_text()
