"""A class on a Dask cluster: real scheduler and worker processes, some of them killed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.batch.cluster import pack_lab, unpack_lab
from grader.cli.app import run
from grader.faults import LabFault
from grader.gpu.devices import devices
from grader.gradebook.book import open_gradebook
from grader.labs.reading import lab_digest, load_lab
from tests.batch.dask_cluster import Cluster, cluster
from tests.batch.test_command import RIGHT, WRONG
from tests.command import ROOT
from tests.patience import PATIENCE, until

LAB = "vector-add"
DEADLY = ("--preload", "tests.batch.worker_preload")
ONCE = "--no-nanny"
"""A worker without the process that would start it anew."""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two workers, which some file names kill."""
    with cluster(tmp_path_factory.mktemp("dask"), [DEADLY, DEADLY]) as found:
        yield found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A class of four, two of whom fall short."""
    folder = tmp_path / "class"
    folder.mkdir()
    for number in range(4):
        data = (RIGHT, WRONG)[number % 2] + b"// %d\n" % number
        (folder / f"s{number}.cu").write_bytes(data)
    return folder


def batch(place: Path, *words: str | Path) -> int:
    return run(["batch", LAB, str(place), "--on", "sim", *map(str, words)])


def results(file: Path) -> dict[str, Any]:
    """Each student's grade, less when it was made."""
    found = {}
    for grade in json.loads(file.read_text())["grades"]:
        for key in ("started", "seconds"):
            del grade["provenance"][key]
        found[grade["student"]] = grade
    return found


def times_graded(place: Path) -> dict[str, int]:
    book = open_gradebook(f"{place}.grades.db")
    events = [event.student for event in book.audit(LAB) if event.action == "grade"]
    book.close()
    return {student: events.count(student) for student in events}


def when_slow(mark: Path, then: Callable[[int], None]) -> threading.Thread:
    """Do something once a worker is at slow.cu; it is told that worker's process."""

    def watch() -> None:
        then(int(until(lambda: mark.exists() and mark.read_text())))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def test_a_cluster_gives_the_same_grades_as_this_machine(
    two: Cluster, place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert batch(place, "--cluster", two.address, "--json", tmp_path / "there.json") == 1
    assert batch(place, "--db", tmp_path / "here.db", "--json", tmp_path / "here.json") == 1
    assert results(tmp_path / "there.json") == results(tmp_path / "here.json")
    assert times_graded(place) == {f"s{number}": 1 for number in range(4)}
    assert not list(two.folder.glob("worker*/*/lab-*")), "a lab is left on a worker"
    capfd.readouterr()
    assert batch(place, "--cluster", two.address) == 1
    assert "nothing to grade: 4 were graded before" in capfd.readouterr().err


def test_a_submission_that_kills_its_worker_fails_alone(
    two: Cluster, place: Path, tmp_path: Path
) -> None:
    (place / "kill.cu").write_bytes(RIGHT)
    assert batch(place, "--cluster", two.address, "--json", tmp_path / "got.json") == 3
    shown = json.loads((tmp_path / "got.json").read_text())
    assert {grade["student"] for grade in shown["grades"]} == {f"s{n}" for n in range(4)}
    (missing,) = shown["missing"]
    assert missing["student"] == "kill" and "2 workers in a row died" in missing["why"]
    assert times_graded(place) == {f"s{number}": 1 for number in range(4)}


def test_the_work_of_a_lost_worker_is_done_again_and_kept_once(two: Cluster, place: Path) -> None:
    two.mark.unlink(missing_ok=True)
    (place / "slow.cu").write_bytes(RIGHT)
    killed: list[int] = []

    def kill(process: int) -> None:
        os.kill(process, signal.SIGKILL)
        killed.append(process)

    watch = when_slow(two.mark, kill)
    assert batch(place, "--cluster", two.address) == 1
    watch.join(PATIENCE)
    assert killed and int(two.mark.read_text()) != killed[0]
    assert times_graded(place) == {"slow": 1} | {f"s{number}": 1 for number in range(4)}


def test_a_worker_with_another_version_and_a_scheduler_that_goes_away(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from grader.batch import cluster as dask

    monkeypatch.setattr(dask, "CONNECT_SECONDS", 6.0)  # so long a lost scheduler is looked for
    (tmp_path / "other.py").write_text("import grader\ngrader.__version__ = '99'\n")
    (place / "slow.cu").write_bytes(RIGHT)
    with cluster(tmp_path, [(ONCE, "--preload", str(tmp_path / "other.py"))]) as found:
        assert batch(place, "--cluster", found.address) == 3
        assert "'grader': '99'" in " ".join(capfd.readouterr().err.split())
        assert times_graded(place) == {}
        found.workers[0].terminate()
        found.workers[0].wait(PATIENCE)
        found.add(ONCE, *DEADLY)
        scheduler = found.scheduler
        assert scheduler is not None
        watch = when_slow(found.mark, lambda process: scheduler.kill())
        assert batch(place, "--cluster", found.address) == 3
        watch.join(PATIENCE)
        found.workers[1].kill()  # it would look for the scheduler for as long as it may
    output = capfd.readouterr().err
    assert "scheduler is lost" in output and "Traceback" not in output
    assert batch(place) == 1
    assert times_graded(place) == {"slow": 1} | {f"s{number}": 1 for number in range(4)}


@pytest.mark.parametrize(
    ("address", "code", "what"),
    [
        ("tcp://127.0.0.1:1", 3, "no scheduler answers"),
        ("nonsense://x", 2, "not the address of a scheduler"),
        ("tcp://", 2, "not the address of a scheduler"),
    ],
)
def test_no_scheduler(
    address: str, code: int, what: str, place: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from grader.batch import cluster as dask

    monkeypatch.setattr(dask, "CONNECT_SECONDS", 0.5)
    assert batch(place, "--cluster", address) == code
    output = capfd.readouterr().err
    assert what in output and "Traceback" not in output


def test_a_cluster_without_a_gpu(
    two: Cluster, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from grader.batch import cluster as dask

    monkeypatch.setattr(dask, "GPU_WORKER_SECONDS", 1.0)
    assert batch(place, "--cluster", two.address, "--on", "gpu") == 3
    assert "no worker has a GPU" in capfd.readouterr().err


@pytest.mark.skipif(bool(devices()), reason="this machine has a GPU")
def test_only_workers_with_a_gpu_are_asked(
    place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The second to join says that it has one and has none: it is waited for and asked, and what
    it says is told.
    """
    with cluster(tmp_path, [(ONCE,)]) as found:
        found.joined(0)
        found.add(ONCE, "--resources", "GPU=1")
        assert batch(place, "--cluster", found.address, "--on", "gpu") == 3
    output = capfd.readouterr().err
    assert "no NVIDIA GPU" in output and "Traceback" not in output


SBATCH = """#!/bin/sh
for script; do :; done
cp "$script" {folder}/job.sh
setsid bash {folder}/job.sh >{folder}/job.log 2>&1 &
echo $! >{folder}/job.pid
echo Submitted batch job 42
"""
SCANCEL = """#!/bin/sh
echo "$@" >{folder}/cancelled
kill -- -$(cat {folder}/job.pid)
"""


def test_jobs_of_slurm(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no Slurm here: its two commands run the job at once, on this machine."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tools / name).write_text(text.format(folder=tmp_path))
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    assert batch(place, "--slurm", "--jobs", "1") == 1, (tmp_path / "job.log").read_text()
    assert times_graded(place) == {f"s{number}": 1 for number in range(4)}
    command = shlex.split((tmp_path / "job.sh").read_text().splitlines()[-1])
    assert command[0] == sys.executable and "--nthreads" in command  # also with spaces in its path
    assert (tmp_path / "cancelled").read_text().split() == ["42"]
    with pytest.raises(ProcessLookupError):
        until(lambda: os.killpg(int((tmp_path / "job.pid").read_text()), 0))


def test_a_cluster_without_workers_is_reported(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from grader.batch import cluster as dask

    monkeypatch.setattr(dask, "WORKER_SECONDS", 2.0)
    with cluster(tmp_path) as found:
        assert batch(place, "--cluster", found.address) == 3
    output = " ".join(capfd.readouterr().err.split())
    assert f"dask worker {found.address} --nthreads 1" in output and "Traceback" not in output
    assert times_graded(place) == {}


def test_a_packed_lab_is_the_same_lab(tmp_path: Path) -> None:
    lab = load_lab("tiled-matmul")
    packed = pack_lab(lab)
    there = unpack_lab(packed, tmp_path / "there")
    assert lab_digest(there) == lab_digest(lab)
    names = {name for name, _ in packed.files}
    assert "solutions/tiled-matmul/wrong/race-missing-first-barrier.cu" in names
    assert "solutions/tiled-matmul/tiled-matmul.cu" not in names
    shutil.rmtree(tmp_path / "there")
    short = [(name, data + b" " * name.endswith("reference.py")) for name, data in packed.files]
    with pytest.raises(LabFault, match="changed on its way"):
        unpack_lab(type(packed)(packed.name, packed.digest, tuple(short)), tmp_path / "there")
