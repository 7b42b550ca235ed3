"""The plugin of workers, applied to small suites: the same outcomes, also where one crashes."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

OUTCOMES = """
    import warnings
    import pytest

    @pytest.mark.parametrize("number", range(150))
    def test_passes(number, tmp_path):
        assert tmp_path.parent.name.startswith("worker-") and not list(tmp_path.iterdir())

    def test_fails():
        print("what it printed")
        assert [1, 2] == [1, 3]

    @pytest.mark.skip(reason="no reason")
    def test_is_skipped(): pass

    @pytest.mark.xfail
    def test_fails_as_expected(): assert 0

    def test_warns(): warnings.warn(Own("mind the gap"))

    class Own(UserWarning): pass
"""
CRASHES = """
    import os, signal

    def test_before(): pass

    def test_kills_its_process(): os.kill(os.getpid(), signal.SIGKILL)

    def test_after(): pass
"""
SLOW = """
    import time, pytest

    @pytest.mark.parametrize("number", range(3000))
    def test_takes_long(number): time.sleep(0.1)
"""
FIXTURE = """
    import os, pytest

    @pytest.fixture(scope="session")
    def lasting():
        print(os.getpid(), "begins", file=open(FILE, "a"))
        yield
        print(os.getpid(), "ends", file=open(FILE, "a"))
"""
USES = "def test_one(lasting): pass"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))


def run(pytester: pytest.Pytester, *words: str, count: int = 2) -> pytest.RunResult:
    options: Sequence[str] = ("-p", "no:cacheprovider", "--disable-plugin-autoload", "-ra")
    plugin = ("-p", "tests.workers", "-n", str(count))
    return pytester.runpytest_subprocess(*options, *plugin, *words)


@pytest.mark.parametrize("count", [1, 3])
def test_outcomes_are_those_of_one_process(pytester: pytest.Pytester, count: int) -> None:
    pytester.makepyfile(test_one=OUTCOMES, test_two=OUTCOMES)
    result = run(pytester, count=count)
    expected = {"passed": 302, "failed": 2, "skipped": 2, "xfailed": 2, "warnings": 2}
    assert result.parseoutcomes() == expected
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines_random(
        ["what it printed", "E*assert [[]1, 2[]] == [[]1, 3[]]", "*mind the gap", "SKIPPED*reason"]
    )


def test_a_crash_fails_its_test_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_one=CRASHES, test_two=CRASHES)
    result = run(pytester)
    assert result.parseoutcomes() == {"passed": 4, "failed": 2}
    result.stdout.fnmatch_lines([f"*ended with exit code -{int(signal.SIGKILL)}"])


def test_the_first_failure_ends_all(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_one=OUTCOMES, test_two=SLOW)
    result = run(pytester, "-x")
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1 and outcomes["passed"] < 3000
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_fixtures_of_the_session_last_until_the_worker_ends(pytester: pytest.Pytester) -> None:
    log = pytester.path / "log"
    pytester.makeconftest(FIXTURE.replace("FILE", repr(str(log))))
    pytester.makepyfile(**{f"test_{number}": USES for number in range(6)})
    assert run(pytester).parseoutcomes() == {"passed": 6}
    rows = [line.split() for line in log.read_text().splitlines()]
    workers = {pid for pid, _ in rows}
    assert 1 <= len(workers) <= 2 and str(os.getpid()) not in workers
    assert all([word for pid, word in rows if pid == one] == ["begins", "ends"] for one in workers)


def test_a_failure_at_the_end_of_the_session_is_reported(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
        import pytest

        @pytest.fixture(scope="session")
        def lasting():
            yield
            raise OSError("the server did not end")
    """)
    pytester.makepyfile(USES)
    result = run(pytester)
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    result.stderr.fnmatch_lines(["*OSError: the server did not end"])
