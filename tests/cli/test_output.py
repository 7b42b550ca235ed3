"""Standard output that is full, closed, or a pipe whose reader has ended, for every command."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from threading import current_thread
from typing import Any

import pytest

from grader.cli.check import Ahead, FirstCompilation, grade_file
from grader.compile import source
from grader.grading.cases import RunOptions
from grader.labs.reading import load_lab
from tests.command import ROOT, forked
from tests.command_server import CLOSED
from tests.faults.workplace import Workplace
from tests.patience import PATIENCE

LAB, SOURCE = "vector-add", ROOT / "solutions" / "vector-add" / "solution.cu"
COMMANDS = {
    "help": "--help",
    "help of a command": "check --help",
    "version": "--version",
    "labs": "labs list",
    "quiz": f"labs quiz {LAB} --stdout",
    "skeleton": f"labs skeleton {LAB} --stdout",
    "formats": "export --format list",
    "doctor": "doctor",
    "doctor as JSON": "doctor --json -",
    "check": "check adds {source} --course {course}",
    "check as JSON": "check adds {source} --course {course} --json -",
    "batch": "batch adds {folder} --course {course} --db {db}",
    "gradebook": "gradebook show adds --db {db}",
    "gradebook as JSON": "gradebook show adds --db {db} --json -",
    "audit": "gradebook audit adds --db {db}",
    "verification": "gradebook audit --verify --db {db}",
    "export": "export csv adds --db {db}",
    "similar": "similar adds {folder} --course {course}",
    "replay": "replay {grade} --source {source} --course {course}",
}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The command lines, on a class whose gradebook has its grade."""
    folder = tmp_path_factory.mktemp("output")
    for one in (folder, folder.parent):
        one.chmod(0o755)
    place = Workplace(folder / "course", ("batch",), ("correct",))
    place.close()
    made = place.folder / "expected-check-correct"
    names = {
        "source": place.folder / "correct" / "ada" / "adds.cu",
        "folder": place.folder / "correct",
        "course": place.folder / "course",
        "db": f"sqlite:///{place.folder / 'expected-batch-correct' / 'grades.db'}",
        "grade": made / "result.json",
    }
    os.environ["HOME"], before = str(made / "home"), os.environ["HOME"]
    yield {name: line.format(**names) for name, line in COMMANDS.items()}
    os.environ["HOME"] = before


def run(line: str, redirection: str) -> subprocess.CompletedProcess[str]:
    """Run a command that Python starts anew, in a shell."""
    start = "{ " if "}" in redirection else ""
    command = f"{start}{shlex.quote(sys.executable)} -m grader {line} {redirection}"
    return subprocess.run(
        ["sh", "-c", command],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def messages(line: str, output: int) -> tuple[int, str]:
    """Run a command with this standard output; return its exit code and its messages."""
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    with open(os.devnull, "rb") as nothing, TemporaryFile("w+") as errors:
        streams = (nothing.fileno(), output, errors.fileno())
        code = forked(shlex.split(line), ROOT, variables, streams, timeout=PATIENCE)
        errors.seek(0)
        return code, errors.read()


def clean(said: str) -> bool:
    return not any(text in said for text in ("Traceback", "grader failed", "Exception ignored"))


REASONS = {"/dev/full": "No space left on device", "": "Bad file descriptor"}
"""Why nothing can be written to this device, or to no device."""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("device", REASONS)
def test_output_that_cannot_be_written_is_a_system_error(
    words: dict[str, str], command: str, device: str
) -> None:
    with ExitStack() as files:
        output = files.enter_context(open(device, "wb")).fileno() if device else CLOSED
        code, said = messages(words[command], output)
    assert code == 3, said
    assert f"cannot write to standard output: {REASONS[device]}" in said
    assert clean(said)


@pytest.mark.parametrize("command", COMMANDS)
def test_reader_that_ends_changes_nothing(words: dict[str, str], command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb"):
        code, said = messages(words[command], writer)
    assert clean(said) and code == 0, said


@pytest.mark.parametrize("command", ["version", "check"])
@pytest.mark.parametrize(("redirection", "device"), [(">/dev/full", "/dev/full"), (">&-", "")])
def test_a_new_process_says_the_same(
    words: dict[str, str], command: str, redirection: str, device: str
) -> None:
    """Those above are forked from a process that had its streams."""
    done = run(words[command], redirection)
    assert done.returncode == 3, done.stderr
    assert f"cannot write to standard output: {REASONS[device]}" in done.stderr
    assert clean(done.stderr)


@pytest.mark.parametrize("command", ["version", "check"])
def test_a_new_process_survives_its_reader(words: dict[str, str], command: str) -> None:
    done = run(words[command], "; echo code $? >&2; } | true")
    assert clean(done.stderr), done.stderr
    assert done.stderr.endswith("code 0\n")


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "<&- 2>&-"])
def test_lost_messages_change_nothing(words: dict[str, str], redirection: str) -> None:
    done = run(words["check"], redirection)
    assert done.returncode == 0 and "score 100 of 100" in done.stdout


def test_nothing_is_opened_in_place_of_a_closed_stream(words: dict[str, str]) -> None:
    """A gradebook that got the number of standard output would get the report."""
    assert run(words["batch"], "<&- >&- 2>&-").returncode == 3
    assert run(words["gradebook"], "").returncode == 0
    assert run(words["verification"], "").returncode == 0


def test_an_import_that_fails_beside_the_grading_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The module is imported again when the report is made, and a fault is reported then."""
    monkeypatch.setitem(sys.modules, "grader.reports.text", None)
    with pytest.raises(ImportError):
        import_module("grader.reports.text")
    Ahead(load_lab("vector-add"), RunOptions(on="gpu"))._work()  # which has no estimate


def test_file_is_compiled_beside_the_reading_of_an_unknown_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler runs in a thread, and its result is found; what is wrong is reported later."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiled, original = list[str](), source._compiled

    def counted(request: dict[str, Any], *more: Any) -> Any:
        if request["source"] == file.read_text():
            compiled.append(current_thread().name)
        return original(request, *more)

    monkeypatch.setattr(source, "_compiled", counted)
    file = tmp_path / "vector-add.cu"
    shutil.copy(ROOT / "solutions" / "vector-add" / "vector-add.cu", file)
    first = FirstCompilation(file)
    assert not first.has_begun
    first.begin()
    assert first.has_begun
    first.join()
    assert not first.has_begun and len(compiled) == 1 and current_thread().name not in compiled
    lab = load_lab("vector-add")
    assert grade_file(lab, file, RunOptions("sim"), quiet=True).score.points == 100
    assert len(compiled) == 1

    for text in (b"\0", b"__global__ void vector_add( {"):
        file.write_bytes(text)
        broken = FirstCompilation(file)
        broken.begin()
        broken.join()
        assert grade_file(lab, file, RunOptions("sim"), quiet=True).checks[0].status == "fail"
