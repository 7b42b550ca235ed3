"""Workers and the size of the database, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from grader.gradebook.book import open_gradebook
from grader.gradebook.workers import WorkerEntry

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


def test_health_is_read_from_any_database(url: str, tmp_path: Path) -> None:
    book = open_gradebook(url, clock=lambda: NOW)
    name = "host/boot/4/77/5"
    entry = WorkerEntry(f"{name}/worker", "gpu", "NVIDIA \ud800 H200\0", 2, "1.0", "rests")
    for _ in range(2):
        book.workers.beat(entry)
    number = book.submit("lab", "ada", "a.cu", b"x" * 50_000, received=NOW).id
    claim = book.claim(number, "key", f"{name}/worker-1", 60)
    assert claim is not None
    found = book.workers.health(["lab"], tmp_path)
    (worker,) = found.workers
    assert worker.status == "grading" and [work.submission for work in worker.works] == [number]
    assert worker.entry.device.startswith("NVIDIA") and found.size > 50_000 and found.free > 0
    book.fault(claim, "the disk is full")
    book.workers.end(entry.name)
    found = book.workers.health(["lab"], tmp_path)
    assert [one.status for one in found.workers] == ["ended"]
    assert [(one.reason, one.host) for one in found.errors] == [("the disk is full", "host")]
    assert found.head_seconds == 0 and book.forgive("lab", "lead", proposal="") == 1
    book.close()
