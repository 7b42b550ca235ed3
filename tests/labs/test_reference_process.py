"""Whatever a reference does, its call ends and the next one works."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import cache
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from grader.labs.reference_process import Process
from tests.command import ROOT, grader
from tests.labs.reference_program import Way, begin, run, write_reference
from tests.patience import PATIENCE
from tests.processes import is_running

WAYS: tuple[Way, ...] = ("forked", "executed")

OUTCOMES = {
    "an endless loop": (
        "while True: pass", "ReferenceTimeout", 5, "still running here after 0.4 s"
    ),
    "a long sleep": ("__import__('time').sleep(1000)", "ReferenceTimeout", 5, "still running here"),
    "a long call of NumPy": (
        "np.convolve(np.ones(10**6), np.ones(10**6))", "ReferenceTimeout", 5, "still running here"
    ),
    "a call that never yields to threads": (
        "sum(range(10**12))", "ReferenceTimeout", 5, "still running"
    ),
    "a program that does not end": (
        "__import__('subprocess').run(['sleep', '1000'])", "ReferenceTimeout", 5,
        "still running here",
    ),
    "an exception": ("1 / 0", "LabFault", 5, "raised ZeroDivisionError: division by zero"),
    "an exception of a library": ("np.ones(2) @ np.ones(3)", "LabFault", 5, "raised ValueError"),
    "an exception without a text": ("raise KeyError", "LabFault", 5, "the reference raised KeyE"),
    "sys.exit": ("__import__('sys').exit(3)", "LabFault", 5, "raised SystemExit: 3"),
    "os._exit": ("__import__('os')._exit(3)", "LabFault", 0, "ended its process with exit code 3"),
    "a kill": (
        "__import__('os').kill(__import__('os').getpid(), 9)", "MachineFault", 0, "by SIGKILL"
    ),
    "a crash": ("__import__('ctypes').string_at(0)", "MachineFault", 5, "by SIGSEGV"),
    "a value that is not data": ("return lambda: 0", "LabFault", 0, "cannot be passed on"),
    "a print": ("print('noise')", "", 0, ""),
}  # fmt: skip

SEVERAL = """
process.MAX_WAITS = 10_000  # on however busy a machine: the time that a call uses counts
oracle.prepare_processes()
for folder in sorted(Path(sys.argv[2]).iterdir()):
    oracle.SECONDS = 0.4 if folder.name.startswith("ReferenceTimeout") else 60.0
    try:
        with load_reference(folder / "reference.py") as reference:
            reference.call("expected", {}, {})
        outcome = ["", "", ""]
    except (oracle.LabFault, oracle.MachineFault) as fault:
        outcome = [type(fault).__name__, fault.where, fault.what]
    print(json.dumps([folder.name, *outcome]))
"""


@cache
def outcomes(way: Way) -> dict[str, Any]:
    """The outcome of every row by name; one program runs them one after the other.

    A row that is not stopped goes on for longer than `run` waits.
    """
    with TemporaryDirectory(prefix="référence ") as folder:
        for name, (statement, fault, _, _) in OUTCOMES.items():
            write_reference(Path(folder, f"{fault} {name}"), statement)
        out, err = run(way, SEVERAL, folder)
    assert err.count("noise") == 1
    rows = [json.loads(line) for line in out.splitlines()]
    return {name.partition(" ")[2]: rest for name, *rest in rows}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", OUTCOMES)
def test_every_end_of_a_call_is_reported(name: str, way: Way) -> None:
    _, fault, line, text = OUTCOMES[name]
    kind, where, what = outcomes(way)[name]
    assert kind == fault
    assert text in what
    assert where.endswith(f"reference.py:{line}" if line else "reference.py" if fault else "")


STUCK = """
Path(sys.argv[2], "program").write_text(str(os.getpid()))
with load_reference(Path(sys.argv[2], "reference.py")) as reference:
    reference.call("expected", {}, {})
time.sleep(1000)
"""
WRITES_ITS_NUMBER = "open(__file__ + '.pid', 'w').write(str(__import__('os').getpid()) + ' '); "


def ends(pid: int) -> bool:
    end = time.monotonic() + PATIENCE
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_running(pid)


def pid_in(file: Path) -> int:
    """Wait until a file contains a whole process id, and return it."""
    end = time.monotonic() + PATIENCE
    while not (file.is_file() and file.read_text().endswith(" ")):
        assert time.monotonic() < end
        time.sleep(0.01)
    return int(file.read_text())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("work", ["pass", "while True: pass", "sum(range(10**12))"])
def test_no_process_outlives_the_program(
    tmp_path: Path, way: Way, sent: signal.Signals, work: str
) -> None:
    path = write_reference(tmp_path, "0")
    path.write_text(path.read_text().replace("    0\n", f"    {WRITES_ITS_NUMBER}\n    {work}\n"))
    with begin(way, STUCK, tmp_path) as program:
        try:
            pid = pid_in(tmp_path / "reference.py.pid")
            assert is_running(pid) and pid != program.pid
            program.send_signal(sent)
            program.communicate(timeout=PATIENCE)
            assert ends(pid)
        finally:
            program.kill()


@pytest.mark.parametrize("way", WAYS)
def test_a_program_ends_its_processes_when_it_ends(tmp_path: Path, way: Way) -> None:
    write_reference(tmp_path, WRITES_ITS_NUMBER)
    run(way, STUCK.replace("time.sleep(1000)", ""), tmp_path)
    assert ends(pid_in(tmp_path / "reference.py.pid"))


def test_processes_that_a_reference_started_end_with_it(tmp_path: Path) -> None:
    number = tmp_path / "number"
    statement = f"__import__('subprocess').run(['sh', '-c', 'echo $$ \" \" > {number}; sleep 999'])"
    write_reference(tmp_path, statement)
    text = "oracle.SECONDS = 1.0\ntry:" + STUCK.replace("\n", "\n    ")
    run(
        "forked",
        text.replace("time.sleep(1000)", "") + "\nexcept oracle.ReferenceTimeout: pass",
        tmp_path,
    )
    assert ends(int(number.read_text()))


COPIED = """
with load_reference(Path(sys.argv[2], "reference.py")) as reference:
    first = reference.call("expected", {}, {})
pid = os.fork()
if not pid:
    with load_reference(Path(sys.argv[2], "reference.py")) as reference:
        print(first, reference.call("expected", {}, {}), flush=True)
    sys.exit()
os.waitpid(pid, 0)
with load_reference(Path(sys.argv[2], "reference.py")) as reference:
    print(first, reference.call("expected", {}, {}))
"""


def test_a_copy_of_the_program_uses_processes_of_its_own(tmp_path: Path) -> None:
    write_reference(tmp_path, "return __import__('os').getpid()")
    out, _ = run("forked", COPIED, tmp_path)
    (first, copy), (again, third) = (map(int, line.split()) for line in out.splitlines())
    assert first == again == third != copy


def test_a_reference_that_prints_does_not_disturb_json(tmp_path: Path) -> None:
    """The command's standard output is one JSON value."""
    folder = tmp_path / "labs" / "vector-add"
    copytree(ROOT / "labs" / "vector-add", folder)
    with (folder / "reference.py").open("a") as file:
        file.write("\nprint('noise of the reference')\n")
    solution = ROOT / "solutions" / "vector-add" / "vector-add.cu"
    labs = {"WARPGRADE_LABS": str(tmp_path / "labs")}
    done = grader("check", "vector-add", solution, "--on", "sim", "--json", "-", env=labs)
    assert json.loads(done.out)["lab"] == "vector-add"
    assert "noise of the reference" in done.err


def test_no_descriptor_remains_open(tmp_path: Path) -> None:
    Process().end()
    before = os.listdir("/proc/self/fd")
    process = Process()
    assert process.is_alive
    process.end()
    process.end()
    assert not process.is_alive
    assert os.listdir("/proc/self/fd") == before
