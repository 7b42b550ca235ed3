"""The pytest plugin, run in a separate pytest: one item per check, one outcome per status."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from grader.labs.reading import load_lab
from tests.command import ROOT

pytest_plugins = ["pytester"]

LAB = "vector-add"
SOLUTION = ROOT / "solutions" / LAB
PLUGIN = "grader.pytest_plugin"
CHECKS = ["compile", *(check.name for check in load_lab(LAB).checks)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of compiled files that the tests share."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def course(
    pytester: pytest.Pytester, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """A folder with a correct and an incorrect kernel, and a test that must not be collected."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    shutil.copy(SOLUTION / f"{LAB}.cu", pytester.path / "right.cu")
    shutil.copy(SOLUTION / "wrong" / "invalid-access-no-guard.cu", pytester.path / "wrong.cu")
    shutil.copy(ROOT / "tests/classes/tiled-matmul/s06.cu", pytester.path / "broken.cu")
    pytester.makepyfile(test_own="def test_own():\n    pass\n")
    return pytester


def run(course: pytest.Pytester, *words: str | Path) -> pytest.RunResult:
    return course.runpytest_inprocess("-p", PLUGIN, "--lab-on", "sim", *words)


def test_plugin_is_registered_as_an_entry_point() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert settings["project"]["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}


def test_plugin_without_a_lab_adds_nothing(course: pytest.Pytester) -> None:
    run(course).assert_outcomes(passed=1)


def test_each_check_is_an_item(course: pytest.Pytester) -> None:
    done = run(course, "--lab", LAB, "--submission", "right.cu", "--collect-only", "-q")
    ids = [line for line in done.outlines if "::" in line]
    assert ids == [f"right.cu::{check}" for check in CHECKS]


def test_submission_in_another_folder_is_collected(course: pytest.Pytester) -> None:
    (course.path / "a" / "b").mkdir(parents=True)
    shutil.move(course.path / "right.cu", course.path / "a" / "mine.cu")
    where = "a/b/../mine.cu"
    done = run(course, "--lab", LAB, "--submission", where, "--collect-only", "-q")
    assert "a/mine.cu::output" in done.outlines


def test_correct_kernel_passes(course: pytest.Pytester) -> None:
    done = run(course, "--lab", LAB, "--submission", "right.cu", "-rs")
    outcomes = done.parseoutcomes()
    assert outcomes["passed"] >= 4 and not {"failed", "error", "errors"} & set(outcomes)
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*no answers.yaml next to the source file*"])


def test_incorrect_kernel_fails_with_its_finding(course: pytest.Pytester) -> None:
    done = run(course, "--lab", LAB, "--submission", "wrong.cu")
    assert done.ret == 1 and done.parseoutcomes()["failed"] >= 1
    done.stdout.fnmatch_lines(["*_ vector-add: memory _*", "*invalid-access: *", "*wrong.cu:*"])
    assert "Traceback" not in done.stdout.str() and "pytest_plugin.py" not in done.stdout.str()


def test_checks_after_a_compile_error_are_skipped(course: pytest.Pytester) -> None:
    done = run(course, "--lab", LAB, "--submission", "broken.cu", "-rs")
    assert done.parseoutcomes()["failed"] == 1
    done.stdout.fnmatch_lines(["*not evaluated: the file does not compile*"])


def test_other_named_file_is_collected_too(course: pytest.Pytester) -> None:
    done = run(course, "test_own.py", "--lab", LAB, "--submission", "right.cu")
    done.stdout.fnmatch_lines(["test_own.py*"])
    assert done.ret == 0


def test_two_submissions_are_collected(course: pytest.Pytester) -> None:
    both = ("--submission", "right.cu", "--submission", "wrong.cu")
    done = run(course, "--lab", LAB, *both, "--collect-only", "-q")
    assert {line.split("::")[0] for line in done.outlines if "::" in line} == {
        "right.cu", "wrong.cu",
    }  # fmt: skip


def test_system_error_is_an_error_not_a_failure(course: pytest.Pytester) -> None:
    """The compiler cannot be used, which is not an error of the kernel."""
    course.makeconftest(
        "import grader.grading.pipeline\n"
        "from grader.faults import MachineFault\n"
        "def broken(*_, **__): raise MachineFault('NVRTC is missing', fix='install it')\n"
        "grader.grading.pipeline.compile_source = broken\n"
    )
    words = ("-p", PLUGIN, "--lab", LAB, "--lab-on", "sim", "--submission", "right.cu")
    done = course.runpytest_subprocess(*words)
    outcomes = done.parseoutcomes()
    assert outcomes["errors"] >= 4 and "failed" not in outcomes
    done.stdout.fnmatch_lines(["*ERROR at setup of vector-add: output*", "*NVRTC is missing*"])
    assert "Traceback" not in done.stdout.str()


WRONG = [
    (["--lab", LAB], "--lab needs --submission FILE.cu"),
    (["--submission", "right.cu"], "--submission needs --lab LAB"),
    (["--lab", LAB, "--submission", "none.cu"], "the file none.cu does not exist"),
    (["--lab", "vector-ad", "--submission", "right.cu"], "did you mean vector-add?"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[w[1] for w in WRONG])
def test_wrong_usage_is_reported(course: pytest.Pytester, words: list[str], said: str) -> None:
    done = run(course, *words)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    text = " ".join(f"{done.stdout.str()} {done.stderr.str()}".split())
    assert said in text and "Traceback" not in text
