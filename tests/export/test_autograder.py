"""Gradescope's autograder: the zip unpacked into a root of its own, and run there for real."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grader.export.container import run_autograder
from grader.export.container.run_autograder import CONFIG, autograder_zip
from grader.faults import LabFault, MachineFault
from grader.grading.quiz import probed_files
from grader.grading.record import Grade
from grader.labs.reading import load_lab
from grader.sandbox.call import sandbox_problem
from grader.sandbox.user import is_world_readable
from tests.command import ROOT
from tests.export.rows import FAILED, PASSED
from tests.export.test_gradescope import Results
from tests.patience import PATIENCE

LAB = "vector-add"
SOLUTION = ROOT / "solutions" / LAB
SEED = b"\x5e" * 32
HIDDEN = [case for case in load_lab(LAB).cases if case.visibility == "hidden"]


def readable_python() -> str:
    """A Python of this version that a user without rights can run; "" when there is none, or when
    we are not root and cannot become such a user.
    """
    minor = f"python3.{sys.version_info.minor}"
    for found in (sys.executable, shutil.which(minor, path="/usr/local/bin:/usr/bin:/bin") or ""):
        if found and os.geteuid() == 0:
            asked = [found, "-c", "import sys; print(sys.base_prefix)"]
            printed = subprocess.run(
                asked, capture_output=True, text=True, check=True
            ).stdout.strip()
            if is_world_readable([Path(found), Path(printed)]):
                return found
    return ""


DROPS = readable_python()


@pytest.fixture(scope="module")
def archive() -> bytes:
    return autograder_zip(load_lab(LAB), SEED)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one run compiled need not be compiled again by the next."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def root(archive: bytes, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """/autograder as Gradescope lays it out: the zip in source/, run_autograder copied up."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    tmp_path.chmod(0o755)
    source = tmp_path / "source"
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        opened.extractall(source, [n for n in opened.namelist() if not n.startswith("warpgrade/")])
    shutil.copy(source / "run_autograder", tmp_path)
    (tmp_path / "run_autograder").chmod(0o755)
    (tmp_path / "submission").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "submission_metadata.json").write_text('{"users": [{"name": "Ada"}]}')
    return tmp_path


def run(root: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """run_autograder with this interpreter in place of the one that setup.sh installs."""
    shown = {
        "PATH": os.environ["PATH"],
        "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
        "PYTHONPATH": str(ROOT),
        "WARPGRADE_PYTHON": sys.executable,
        "WARPGRADE_AUTOGRADER": str(root),
    }
    return subprocess.run(
        [str(root / "run_autograder")], cwd=root, env=shown | more, text=True, timeout=PATIENCE,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def results(root: Path) -> Results:
    return Results.model_validate_json((root / "results" / "results.json").read_text())


def test_the_zip_has_the_scripts_the_lab_and_the_package(archive: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        names = set(opened.namelist())
        modes = {i.filename: stat.S_IMODE(i.external_attr >> 16) for i in opened.infolist()}
        config = json.loads(opened.read(CONFIG))
        setup = opened.read("setup.sh").decode()
    assert {"setup.sh", "run_autograder", "warpgrade/pyproject.toml", "warpgrade/setup.py"} <= names
    assert {f"course/labs/{LAB}/{f}" for f in ("lab.yaml", "reference.py", "baseline.cu")} <= names
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert config == {"lab": LAB, "seed": SEED.hex(), "limit": 20.0}
    assert "pip install --quiet --disable-pip-version-check ./warpgrade\n" in setup
    assert "@PACKAGE@" not in setup
    needed = {p.name for p in probed_files(load_lab(LAB)) if p.is_relative_to(ROOT / "solutions")}
    solutions = {Path(name).name for name in names if name.startswith("course/solutions")}
    assert solutions == needed and not [n for n in names if n.startswith("course") and "wrong" in n]
    assert not any(name.endswith((".so", ".pyc")) or "__pycache__" in name for name in names)
    core = ROOT / "grader/simulator/core"
    sources = {path.relative_to(ROOT).as_posix() for path in core.rglob("*.[ch]")}
    shipped = {n.removeprefix("warpgrade/") for n in names if "/grader/simulator/core/" in n}
    assert sources == {name for name in shipped if name.endswith((".c", ".h"))}


def test_a_wheel_replaces_the_source(tmp_path: Path) -> None:
    wheel = tmp_path / "warpgrade-9 $(rm).whl"
    wheel.write_bytes(b"PK")
    with zipfile.ZipFile(io.BytesIO(autograder_zip(load_lab(LAB), SEED, wheel=wheel))) as opened:
        assert opened.read(wheel.name) == b"PK"
        assert not [name for name in opened.namelist() if name.startswith("warpgrade/")]
        assert "pip-version-check './warpgrade-9 $(rm).whl'\n" in opened.read("setup.sh").decode()
    with pytest.raises(LabFault, match="cannot read the file"):
        autograder_zip(load_lab(LAB), SEED, wheel=tmp_path / "none.whl")


def test_the_same_lab_and_seed_give_the_same_zip(archive: bytes) -> None:
    assert autograder_zip(load_lab(LAB), SEED) == archive


def test_a_correct_submission_gets_full_marks(root: Path) -> None:
    shutil.copy(SOLUTION / f"{LAB}.cu", root / "submission" / "mine.cu")
    done = run(root)
    assert done.returncode == 0, done.stdout
    shown = results(root)
    assert shown.score == sum(test.max_score or 0 for test in shown.tests) > 0
    assert {test.status for test in shown.tests} == {"passed"}
    assert any(case.name in done.stdout for case in HIDDEN) or re.search(
        r"cases: \d+ of \d+ pass", done.stdout
    )


def test_a_wrong_submission_fails_hidden_cases_without_revealing_them(root: Path) -> None:
    wrong = SOLUTION / "wrong" / "unwritten-output-first-block-only.cu"
    shutil.copy(wrong, root / "submission" / f"{LAB}.cu")
    done = run(root)
    assert done.returncode == 0, done.stdout
    text = (root / "results" / "results.json").read_text()
    shown = results(root)
    assert shown.score is not None and shown.score < sum(t.max_score or 0 for t in shown.tests)
    assert not any(case.name in text or f" {case.size} " in text for case in HIDDEN)
    assert any(case.name in done.stdout for case in HIDDEN), "instructors see which"


@pytest.fixture
def nowhere(tmp_path: Path) -> str:
    """A PATH without bubblewrap: Gradescope's container, where no sandbox works."""
    folder = tmp_path / "nothing"
    folder.mkdir()
    return str(folder)


def run_unconfined(root: Path, nowhere: str) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))]
    python = DROPS or sys.executable
    return run(root, PATH=nowhere, WARPGRADE_PYTHON=python, PYTHONPATH=os.pathsep.join(paths))


def test_without_a_sandbox_another_user_reads_the_submission(root: Path, nowhere: str) -> None:
    """Root becomes a stranger, to whom the answers are closed, and grades; where that cannot be,
    nothing is graded and no score is written.
    """
    shutil.copy(SOLUTION / f"{LAB}.cu", root / "submission")
    done = run_unconfined(root, nowhere)
    if not DROPS:
        assert done.returncode == 3 and "could read" in done.stdout
        assert not (root / "results" / "results.json").exists()
        return
    assert done.returncode == 0, done.stdout
    assert results(root).score
    labs = root / "source" / "course" / "labs"
    asked = ["-c", f"import os; os.setuid(65534); print(os.listdir({str(labs)!r}))"]
    stranger = subprocess.run([DROPS, *asked], capture_output=True, text=True)
    assert "PermissionError" in stranger.stderr


def test_the_container_has_no_sandbox(nowhere: str) -> None:
    """The control: with such a PATH boxes are not confined, with the real one they are."""
    asked = "from grader.sandbox.call import sandbox_problem; print(sandbox_problem())"
    shown = {"PATH": nowhere, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", asked], env=shown, capture_output=True, text=True)
    assert "not installed" in done.stdout and not sandbox_problem()


def test_including_the_solution_reveals_nothing(root: Path, nowhere: str) -> None:
    answers = root / "source" / "course" / "labs" / LAB / "reference.py"
    (root / "submission" / f"{LAB}.cu").write_text(f'#include "{answers}"\n')
    done = run_unconfined(root, nowhere) if DROPS else run(root)
    assert done.returncode == 0, done.stdout
    text = (root / "results" / "results.json").read_text()
    secret = [line.strip() for line in answers.read_text().splitlines() if len(line) > 30]
    assert results(root).score == 0
    assert secret and not any(line in text or json.dumps(line)[1:-1] in text for line in secret)


def test_a_link_to_the_solution_is_rejected(root: Path) -> None:
    answers = root / "source" / "course" / "labs" / LAB / "baseline.cu"
    (root / "submission" / f"{LAB}.cu").symlink_to(answers)
    done = run(root)
    assert done.returncode == 0, done.stdout
    shown = results(root)
    assert shown.score == 0 and "is a symbolic link" in str(shown.tests[0].output)


def test_a_system_error_writes_no_score(root: Path) -> None:
    shutil.copy(SOLUTION / f"{LAB}.cu", root / "submission")
    (root / "results" / "results.json").write_text('{"score": 100}')
    (root / "source" / CONFIG).write_text('{"lab": "vector-add"}')
    done = run(root)
    assert done.returncode == 3
    assert "is incomplete" in done.stdout and "Traceback" not in done.stdout
    assert not (root / "results" / "results.json").exists(), "an older score must not stand"


@pytest.mark.parametrize(("failures", "calls"), [(0, 1), (2, 3), (3, 3), (9, 3)])
def test_only_a_system_error_is_tried_again(
    root: Path, monkeypatch: pytest.MonkeyPatch, failures: int, calls: int
) -> None:
    """Three times in all; then no score stands there, not even an older one."""
    made = [FAILED] * failures + [PASSED] * 3
    asked = []

    def grades(*_: object, **how: object) -> Grade:
        asked.append(how)
        return made[len(asked) - 1]

    monkeypatch.setattr(run_autograder, "grade", grades)
    shutil.copy(SOLUTION / f"{LAB}.cu", root / "submission")
    results_file = root / "results" / "results.json"
    results_file.write_text('{"score": 100}')
    if failures < 3:
        assert run_autograder.run(root) == 0 and results(root).score == 40
    else:
        with pytest.raises(MachineFault, match="grade it again"):
            run_autograder.run(root)
        assert not results_file.exists()
    assert len(asked) == calls
    assert all((how["visibility"], how["seed"]) == ("all", SEED) for how in asked)


# -- setup.sh --------------------------------------------------------------------------------------

STUB = """#!/bin/bash
echo "$(basename "$0") $*" >>"$LOG"
case "$*" in
  *version_info*) [[ $(basename "$0") == "$NEW_ENOUGH" ]] ;;
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
esac
"""


@pytest.mark.parametrize("python", ["python3", "python3.12", ""])
def test_setup_chooses_a_python_that_is_new_enough(root: Path, tmp_path: Path, python: str) -> None:
    """What setup.sh calls, with stand-ins for apt-get and Python: no network is touched."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("apt-get", "python3", "python3.13", "python3.12", "python3.11"):
        (commands / name).write_text(STUB)
        (commands / name).chmod(0o755)
    shown = {
        "PATH": f"{commands}:/usr/bin:/bin",
        "LOG": str(tmp_path / "log"),
        "NEW_ENOUGH": python,
        "WARPGRADE_HOME": str(tmp_path / "home"),
    }
    done = subprocess.run(
        ["bash", str(root / "source" / "setup.sh")], env=shown, capture_output=True, text=True
    )
    calls = (tmp_path / "log").read_text().splitlines()
    assert calls[0] == "apt-get update -qq"
    if not python:
        assert done.returncode == 1 and "choose Ubuntu 24.04" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert f"{python} -m venv {tmp_path / 'home'}" in calls
    assert calls[-1] == "python -m pip install --quiet --disable-pip-version-check ./warpgrade"
    assert stat.S_IMODE((root / "source" / "course").stat().st_mode) & 0o077 == 0
