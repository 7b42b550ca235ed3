"""A class on a Dask cluster: real scheduler and worker processes, one of them killed."""

from __future__ import annotations

import json
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.batch.labpack import pack, unpack
from grader.fault import LabFault
from grader.gradebook.book import open_gradebook
from grader.labfile.digest import lab_digest
from grader.labfile.spec import load_lab
from tests.batch.daskcluster import Cluster, cluster
from tests.batch.test_command import RIGHT, WRONG
from tests.command import Said, descendants, grader

LAB = "vector-add"
DEADLY = ("--preload", "tests.batch.murderer")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two workers."""
    with cluster(tmp_path_factory.mktemp("dask"), [(), ()]) as found:
        yield found


def made(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        data = (RIGHT, WRONG)[number % 2] + b"// %d\n" % number
        (folder / f"s{number}.cu").write_bytes(data)
    return folder


def batch(place: Path, address: str, *words: str | Path) -> Said:
    return grader("batch", LAB, place, "--on", "sim", "--cluster", address, *words, timeout=120)


def results(file: Path) -> dict[str, Any]:
    """Each student's grade, less when it was made."""
    found = {}
    for grade in json.loads(file.read_text())["grades"]:
        for key in ("started", "seconds"):
            del grade["provenance"][key]
        found[grade["student"]] = grade
    return found


def times_graded(file: Path) -> dict[str, int]:
    book = open_gradebook(str(file))
    events = [event.student for event in book.audit(LAB) if event.action == "grade"]
    book.close()
    return {student: events.count(student) for student in events}


def test_the_same_grades_as_here(two: Cluster, tmp_path: Path) -> None:
    place = made(tmp_path / "class", 6)
    there = batch(place, two.address, "--json", tmp_path / "there.json")
    assert (there.code, "Traceback" in there.err) == (1, False)
    here = tmp_path / "here.json"
    grader("batch", LAB, place, "--on", "sim", "--db", tmp_path / "h.db", "--json", here)
    assert results(tmp_path / "there.json") == results(here)
    again = batch(place, two.address)
    assert "nothing to grade: all 6 were graded before" in again.err
    assert not list(two.folder.glob("worker*/*/lab-*")), "a lab is left on a worker"


def test_a_submission_that_kills_its_worker_fails_alone(tmp_path: Path) -> None:
    place = made(tmp_path / "class", 5)
    (place / "kill.cu").write_bytes(RIGHT)
    with cluster(tmp_path) as found:
        for _ in range(2):
            found.add(*DEADLY, nanny=True)
        said = batch(place, found.address, "--json", tmp_path / "got.json")
    assert said.code == 3
    told = json.loads((tmp_path / "got.json").read_text())
    assert {grade["student"] for grade in told["grades"]} == {f"s{n}" for n in range(5)}
    (missing,) = told["missing"]
    assert missing["student"] == "kill" and "2 workers died" in missing["why"]
    assert set(times_graded(tmp_path / "class.grades.db").values()) == {1}


def test_the_work_of_a_lost_worker_is_done_again_once(tmp_path: Path) -> None:
    place = made(tmp_path / "class", 3)
    (place / "slow.cu").write_bytes(RIGHT)
    with cluster(tmp_path) as found:
        first = found.add(*DEADLY)
        def kill() -> None:
            log = place.parent / "class.grades.db"
            while not log.exists() or not running(log, "slow"):
                time.sleep(0.02)
            time.sleep(0.5)
            first.send_signal(signal.SIGKILL)
            found.add(*DEADLY)

        killed = threading.Thread(target=kill, daemon=True)
        killed.start()
        said = batch(place, found.address)
        killed.join(10)
        assert first.poll() == -signal.SIGKILL
    assert said.code == 1
    assert times_graded(tmp_path / "class.grades.db") == {"s0": 1, "s1": 1, "s2": 1, "slow": 1}


def running(file: Path, student: str) -> bool:
    """Whether that student's submission is being graded right now: claimed, and no grade yet."""
    import sqlite3

    query = (
        "select count(*) from attempt a join submission s on s.id = a.submission"
        " where s.student = ? and a.state = 'running'"
    )
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as reader:
            return bool(reader.execute(query, (student,)).fetchone()[0])
    except sqlite3.OperationalError:
        return False


def test_a_worker_with_another_version_grades_nothing(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("import grader\ngrader.__version__ = '99'\n")
    place = made(tmp_path / "class", 2)
    with cluster(tmp_path, [("--preload", str(tmp_path / "other.py"))]) as found:
        said = batch(place, found.address)
    assert said.code == 3
    assert "99" in said.err and "Traceback" not in said.err
    assert times_graded(tmp_path / "class.grades.db") == {}


@pytest.mark.parametrize(
    ("address", "code", "what"),
    [("tcp://127.0.0.1:1", 3, "no scheduler answers"), ("nonsense://x", 2, "not the address")],
)
def test_no_scheduler(address: str, code: int, what: str, tmp_path: Path) -> None:
    said = batch(made(tmp_path / "class", 1), address)
    assert (said.code, what in said.err, "Traceback" in said.err) == (code, True, False)


def test_a_scheduler_that_goes_away(tmp_path: Path) -> None:
    place = made(tmp_path / "class", 1)
    (place / "slow.cu").write_bytes(RIGHT)
    with cluster(tmp_path, [DEADLY]) as found:

        def end() -> None:
            while not running(tmp_path / "class.grades.db", "slow"):
                time.sleep(0.02)
            assert found.scheduler is not None
            found.scheduler.send_signal(signal.SIGKILL)

        killer = threading.Thread(target=end, daemon=True)
        killer.start()
        said = batch(place, found.address)
        killer.join(10)
    assert said.code == 3
    assert "scheduler is lost" in said.err and "Traceback" not in said.err
    again = grader("batch", LAB, place, "--on", "sim", timeout=120)
    assert again.code in (0, 1)
    assert set(times_graded(tmp_path / "class.grades.db").values()) == {1}


def test_a_packed_lab_is_the_same_lab(tmp_path: Path) -> None:
    lab = load_lab("tiled-matmul")
    packed = pack(lab)
    there = unpack(packed, tmp_path / "there")
    assert lab_digest(there) == lab_digest(lab)
    names = {name for name, _ in packed.files}
    assert "solutions/tiled-matmul/wrong/race-missing-first-barrier.cu" in names
    assert "solutions/tiled-matmul/tiled-matmul.cu" not in names
    shutil.rmtree(tmp_path / "there")
    short = [(name, data + b" " * name.endswith("reference.py")) for name, data in packed.files]
    with pytest.raises(LabFault, match="did not arrive"):
        unpack(type(packed)(packed.name, packed.digest, tuple(short)), tmp_path / "there")


def test_nothing_is_left() -> None:
    assert not descendants()
