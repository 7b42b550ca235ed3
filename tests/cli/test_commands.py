"""The command line's contract: exit codes, what goes to stdout and what to stderr, files named."""

from __future__ import annotations

import io
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml

from grader import __version__
from grader.cli.app import run as run_command
from grader.cli.terminal import say
from tests.command import ROOT, grader
from tests.faults.tracing import tree
from tests.patience import PATIENCE, until
from tests.processes import names

LAB = "vector-add"
SOLUTION = ROOT / "solutions" / LAB / f"{LAB}.cu"
WRONG = sorted((ROOT / "solutions" / LAB / "wrong").glob("*.cu"))[0]
CLASS = ROOT / "tests" / "classes" / "tiled-matmul"
GRADE_KEYS = {
    "schema", "lab", "title", "file", "student", "submission_sha256", "backend", "status",
    "score", "judged_max", "max_score", "checks", "cases", "provenance", "lines", "lines_on",
    "causes", "explanation", "cost",
}  # fmt: skip
RUN_KEYS = {
    "backend", "verdict", "findings", "counters", "lines", "resources", "outputs", "seconds",
    "toolchain",
}  # fmt: skip


def test_version_is_printed() -> None:
    assert grader("--version").out == f"grader {__version__}\n"


@pytest.mark.parametrize("words", [["--help"], ["check", "--help"], ["labs", "--help"], ["-h"]])
def test_help_fits_80_columns(words: list[str]) -> None:
    said = grader(*words)
    assert (said.code, said.err) == (0, "")
    assert "Usage: grader" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_reading_a_plain_line_loads_nothing_heavy() -> None:
    """typer and what it needs take longer to import than a whole check may take."""
    listed = (
        "import sys; from grader.cli.app import plain_call; "
        "call = plain_call(['check', 'lab', 'file.cu', '--on', 'sim']); "
        "print(call.func.__module__, *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", listed], cwd=ROOT, capture_output=True, text=True, check=True
    )
    module, *loaded = done.stdout.split()
    assert module == "grader.cli.check"
    assert {"typer", "numpy", "pydantic", "yaml", "rich", "subprocess"}.isdisjoint(loaded)


MOST_IMPORTS = {"": 412, "grader": 92, "numpy": 100, "rich": 45}
"""The modules that a warm check imports, at most: all, and those of some packages."""


def test_warm_check_imports_what_it_uses(tmp_path: Path) -> None:
    """Counted, not timed. What a plain check does not use is imported where it is used."""
    words = ["check", "tiled-matmul", str(ROOT / "solutions/tiled-matmul/tiled-matmul.cu")]
    command = [sys.executable, "-X", "importtime", "-m", "grader", *words, "--on", "sim"]
    cache = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    for _ in range(2):
        done = subprocess.run(command, cwd=ROOT, env=cache, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    rows = [row for row in done.stderr.splitlines() if row.startswith("import time:")]
    names = [row.rpartition("|")[2].strip() for row in rows]
    packages = Counter(name.partition(".")[0] for name in names) + Counter({"": len(names)})
    assert all(packages[package] for package in MOST_IMPORTS)
    assert {n: packages[n] for n, most in MOST_IMPORTS.items() if packages[n] > most} == {}
    unused = {"typer", "pydantic", "yaml", "sqlalchemy", "jinja2", "email", "importlib.metadata"}
    assert sorted(unused.intersection(names)) == []


NUMPY = """
import sys, grader
if sys.argv[1] == "command":
    grader.import_numpy_faster()
import numpy
print(bool(numpy.ndarray.__doc__), bool(numpy.ndarray.sum.__doc__), numpy.arange(3).sum())
"""


@pytest.mark.parametrize(
    ("kind", "said"), [("command", "False False 3"), ("library", "True True 3")]
)
def test_only_commands_import_numpy_without_its_docstrings(kind: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NUMPY, kind], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == said


REFERENCE = """
import sys, grader
grader.import_numpy_faster()
import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike, NDArray
from numpy._typing._array_like import _ArrayLike
import numpy.linalg, numpy.matlib, numpy.ma, numpy.polynomial, numpy.random, numpy.fft
import copy, datetime, pickle
def expected(a: npt.NDArray[np.float32], b: ArrayLike | None) -> NDArray[np.float32]:
    return np.linalg.solve(a, np.asarray(b))
def time(now: datetime.datetime) -> datetime.timedelta:
    return copy.deepcopy(now) - pickle.loads(pickle.dumps(now))
today = datetime.datetime.strptime("2026-01-02", "%Y-%m-%d").replace(tzinfo=datetime.UTC)
print(expected(np.eye(2), [1, 2]), time(today), today.isoformat())
"""


def test_references_use_all_of_numpy() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", REFERENCE],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[1. 2.] 0:00:00 2026-01-02T00:00:00+00:00"


def test_correct_file_passes() -> None:
    said = grader("check", "tiled-matmul", ROOT / "solutions/tiled-matmul/tiled-matmul.cu")
    assert (said.code, said.err) == (0, "")
    assert "not evaluated here: speed (" in " ".join(said.out.split())
    assert max(map(len, said.out.splitlines())) <= 80


def test_incorrect_file_in_another_folder_fails(tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text(WRONG.read_text())
    said = grader("check", LAB, "mine.cu", cwd=tmp_path)
    assert said.code == 1
    assert "mine.cu:" in said.out


def test_json_on_stdout_is_the_only_output() -> None:
    said = grader("check", LAB, WRONG, "--json", "-")
    grade = json.loads(said.out)
    assert (said.code, said.err) == (1, "")
    assert set(grade) == GRADE_KEYS
    assert (grade["schema"], grade["lab"], grade["backend"]) == (1, LAB, "sim")
    assert grade["status"] == "graded"


def test_written_json_file_is_reported(tmp_path: Path) -> None:
    said = grader("check", LAB, SOLUTION, "--json", "grade.json", cwd=tmp_path)
    assert said.err == "wrote grade.json\n"
    assert said.out.startswith(LAB)
    assert json.loads((tmp_path / "grade.json").read_text())["score"] == 100
    assert [path.name for path in tmp_path.iterdir()] == ["grade.json"]


def test_unreadable_source_has_a_json_grade(tmp_path: Path) -> None:
    (tmp_path / "x.cu").write_bytes(b"\0")
    said = grader("check", LAB, "x.cu", "--json", "-", cwd=tmp_path)
    grade = json.loads(said.out)
    assert (said.code, grade["score"], grade["status"]) == (1, 0, "graded")
    assert grade["checks"][0]["findings"][0]["kind"] == "compile-error"


def test_closed_pipe_does_not_change_the_exit_code() -> None:
    words = [sys.executable, "-m", "grader", "check", LAB, str(SOLUTION)]
    command = f"{shlex.join(words)}; echo code $? >&2"
    done = subprocess.run(
        ["sh", "-c", f"({command}) | true"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stderr == "code 0\n"


LAUNCH = {
    "grid": [1],
    "block": [32],
    "args": [
        {"in": "x.npy"},
        {"out": {"dtype": "float32", "shape": [32]}, "save": "y.npy"},
        {"value": 32, "dtype": "int32"},
    ],
}
SCALE = """\
extern "C" __global__ void scale(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""


def write_launch(folder: Path, source: str = SCALE) -> Path:
    np.save(folder / "x.npy", np.arange(32, dtype=np.float32))
    (folder / "launch.yaml").write_text(yaml.safe_dump(LAUNCH))
    (folder / "scale.cu").write_text(source)
    return folder / "launch.yaml"


def test_run_saves_arrays_to_the_out_folder(tmp_path: Path) -> None:
    write_launch(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    said = grader(
        "run", tmp_path / "scale.cu", tmp_path / "launch.yaml", "--out", out, "--json", "-"
    )
    result = json.loads(said.out)
    assert said.code == 0
    assert set(result) == RUN_KEYS
    assert (result["verdict"], result["outputs"]) == ("clean", {"1": "y.npy"})
    assert set(result["seconds"]) >= {"compile", "run"}
    assert result["counters"]
    saved = np.load(out / "y.npy")
    assert np.array_equal(saved, 2 * np.arange(32, dtype=np.float32))
    assert said.err.split() == ["wrote", str(tmp_path / "out" / "y.npy")]
    assert not (tmp_path / "y.npy").exists()


def test_run_reports_findings(tmp_path: Path) -> None:
    write_launch(tmp_path, SCALE.replace("if (i < n) y[i]", "y[i + 1]"))
    said = grader("run", tmp_path / "scale.cu", tmp_path / "launch.yaml", "--json", "-")
    result = json.loads(said.out)
    (finding,) = [f for f in result["findings"] if f["severity"] == "error"]
    assert (said.code, result["verdict"]) == (1, "findings")
    assert (finding["kind"], finding["line"]) == ("invalid-access", 4)
    with zipfile.ZipFile(tmp_path / "work.zip", "w") as archive:  # what `check` takes, `run` takes
        archive.writestr("hello.cu", "__global__ void hello() {}")
        archive.writestr("my.cu", '#include <cstdio>\n#include "scale.cuh"\nint main() {}\n')
        archive.writestr("scale.cuh", (tmp_path / "scale.cu").read_text())
    (tmp_path / "launch.yaml").write_text(yaml.safe_dump({**LAUNCH, "kernel": "scale"}))
    text = grader("run", tmp_path / "work.zip", tmp_path / "launch.yaml")
    assert text.code == 1
    assert "invalid-access" in text.out and "scale.cuh:4" in text.out


@pytest.mark.parametrize(
    ("break_it", "code", "verdict", "kind"),
    [
        (lambda at: (at / "scale.cu").write_text("nonsense"), 1, "findings", "compile-error"),
        (lambda at: (at / "x.npy").unlink(), 2, "error", "launch-failure"),
        (lambda at: (at / "scale.cu").unlink(), 2, "error", "launch-failure"),
    ],
    ids=["compile error", "no array", "no file"],
)
def test_run_writes_json_for_every_fault(
    tmp_path: Path, break_it: object, code: int, verdict: str, kind: str
) -> None:
    write_launch(tmp_path)
    assert callable(break_it)
    break_it(tmp_path)
    said = grader("run", "scale.cu", "launch.yaml", "--json", "-", cwd=tmp_path)
    result = json.loads(said.out)
    assert set(result) == RUN_KEYS
    assert (said.code, result["verdict"], result["findings"][0]["kind"]) == (code, verdict, kind)


def test_labs_list_shows_every_lab() -> None:
    said = grader("labs", "list")
    assert (said.code, said.err) == (0, "")
    rows = said.out.splitlines()
    assert [row.split()[0] for row in rows if not row.startswith(" ")] == sorted(
        path.parent.name for path in ROOT.glob("labs/*/lab.yaml")
    )
    assert max(map(len, rows)) <= 80


def test_long_message_is_wrapped_to_80_columns() -> None:
    said = grader("check", "vectr-add", "mine.cu")
    assert said.code == 2
    assert "did you mean vector-add?" in said.err
    assert "tiled-matmul" in said.err
    assert max(map(len, said.err.splitlines())) <= 80


@pytest.mark.parametrize(
    ("encoding", "said"), [("utf-8", "\u0141ukasz: late"), ("ascii", "\\u0141ukasz: late")]
)
def test_message_escapes_what_the_encoding_lacks(
    encoding: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stderr", stream)
    say("\u0141ukasz: late\r\x1b[2J\u2028[1/1] eve")
    stream.flush()
    assert stream.buffer.getvalue().decode(encoding) == (  # type: ignore[attr-defined]
        f"{said}\\x0d\\x1b[2J\\u2028[1/1] eve\n"
    )


def test_skeleton_matches_the_stored_file() -> None:
    said = grader("labs", "skeleton", LAB, "--stdout")
    assert said.out == (ROOT / "labs" / LAB / f"{LAB}.cu").read_text()
    assert "up to date" in grader("labs", "skeleton", LAB).err


class PanicException(BaseException):
    """What libraries in Rust raise, pydantic's core among them: it is no Exception."""


@pytest.mark.parametrize("kind", [ZeroDivisionError, PanicException])
def test_unexpected_error_is_a_system_error(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def explode(*_: object) -> None:
        raise kind("in the middle\x1b[31m")

    monkeypatch.setattr("grader.checks.suite.checked_lab", explode)
    assert run_command(["check", LAB, str(SOLUTION)]) == 3
    said = capsys.readouterr().err
    assert f"{kind.__name__}: in the middle\\x1b[31m" in said
    assert "--debug" in said and "Traceback" not in said
    assert run_command(["check", LAB, str(SOLUTION), "--debug"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_stops_without_a_traceback(tmp_path: Path) -> None:
    endless = SCALE.replace("if (i", "for (volatile unsigned on = 1; on; on += 2) if (i")
    write_launch(tmp_path, endless)
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "run", "scale.cu", "launch.yaml", "--limit", "60"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        # background jobs of a shell ignore SIGINT, and their children would too
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until(lambda: any("simulate:run" in names(pid) for pid in tree(process.pid)))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert said == "stopped\n"


def test_color_is_used_on_a_terminal_only() -> None:
    assert "\x1b[" not in grader("check", LAB, WRONG).out
    assert "\x1b[" in on_a_terminal("check", LAB, str(WRONG))
    assert "\x1b[3" not in on_a_terminal("check", LAB, str(WRONG), NO_COLOR="1")


def on_a_terminal(*words: str, **env: str) -> str:
    """Run the command on a pseudo-terminal and return its output."""
    ours, theirs = pty.openpty()
    around = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    around |= {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **env}
    with subprocess.Popen(
        [sys.executable, "-m", "grader", *words], cwd=ROOT, stdout=theirs, stderr=theirs, env=around
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
        process.wait(PATIENCE)
    os.close(ours)
    return seen.decode()
