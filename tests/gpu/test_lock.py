"""The lock of a GPU and its quarantine. Needs no GPU."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from grader.faults import MachineFault
from grader.gpu.devices import (
    UNKNOWN_REASON,
    Device,
    acquire_device,
    lock_file,
    quarantine,
    quarantine_reason,
    retry_pause,
    share_lock,
)

FIRST = Device(Path("/dev/nvidia0"), "GPU-aaaa", "NVIDIA A")
SECOND = Device(Path("/dev/nvidia1"), "GPU-bbbb", "NVIDIA B")


def test_two_attempts_get_two_gpus(tmp_path: Path) -> None:
    with (
        acquire_device([FIRST, SECOND], folder=tmp_path) as one,
        acquire_device([FIRST, SECOND], folder=tmp_path) as two,
    ):
        assert (one, two) == (FIRST, SECOND)


def test_a_busy_gpu_is_waited_for(tmp_path: Path) -> None:
    with (
        acquire_device([FIRST], folder=tmp_path),
        pytest.raises(MachineFault, match="no GPU became free"),
        acquire_device([FIRST], wait=0.1, folder=tmp_path),
    ):
        pytest.fail("two attempts hold one GPU")
    with acquire_device([FIRST], wait=0.1, folder=tmp_path) as again:
        assert again is FIRST


def test_longer_wait_retries_more_often() -> None:
    assert [round(1e3 * retry_pause(waited), 1) for waited in (0, 1, 9, 1000)] == [50, 25, 5, 1]


def test_the_lock_ends_with_its_process(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with acquire_device([FIRST], folder=tmp_path):
            os._exit(0)
    os.waitpid(child, 0)
    with acquire_device([FIRST], wait=0.1, folder=tmp_path) as device:
        assert device is FIRST


def test_a_killed_grader_s_child_keeps_the_gpu_until_it_is_gone(tmp_path: Path) -> None:
    """The parent takes the lock and is killed while its child, which has shared it, goes on."""
    ready, told = os.pipe()
    parent = os.fork()
    if parent == 0:
        with acquire_device([FIRST], folder=tmp_path):
            child = os.fork()
            if child == 0:
                for file in os.listdir("/proc/self/fd"):  # what a child gets is no copy of these
                    with suppress(OSError):
                        os.close(int(file)) if int(file) not in (2, told) else None
                share_lock(str(lock_file(FIRST, tmp_path)))
                os.write(told, b"%d" % os.getpid())
                os.close(told)
                signal.pause()
            signal.pause()
    child = int(os.read(ready, 20))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    with (
        pytest.raises(MachineFault, match="no GPU became free"),
        acquire_device([FIRST], wait=0.2, folder=tmp_path),
    ):
        pytest.fail("the child still uses it")
    os.kill(child, signal.SIGKILL)
    with acquire_device([FIRST], wait=10, folder=tmp_path) as device:
        assert device is FIRST


def test_lock_that_cannot_be_shared_does_not_stop_the_child(tmp_path: Path) -> None:
    share_lock(None)
    share_lock(str(lock_file(FIRST, tmp_path)))
    with acquire_device([FIRST], wait=0.1, folder=tmp_path) as device:
        assert device is FIRST


def test_quarantined_gpu_is_skipped(tmp_path: Path) -> None:
    quarantine(FIRST, "a known kernel gives wrong numbers", folder=tmp_path)
    with acquire_device([FIRST, SECOND], folder=tmp_path) as device:
        assert device is SECOND
    with (
        pytest.raises(MachineFault, match="a known kernel gives wrong numbers") as caught,
        acquire_device([FIRST], folder=tmp_path),
    ):
        pytest.fail("a sick GPU was used")
    assert str(lock_file(FIRST, tmp_path)) in caught.value.fix


def test_another_user_may_take_the_lock(tmp_path: Path) -> None:
    with acquire_device([FIRST], folder=tmp_path):
        assert lock_file(FIRST, tmp_path).stat().st_mode & 0o777 == 0o666


def test_a_link_in_the_lock_s_place_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.touch()
    lock_file(FIRST, tmp_path).symlink_to(target)
    with (
        pytest.raises(MachineFault, match="cannot be opened"),
        acquire_device([FIRST], folder=tmp_path),
    ):
        pytest.fail("the link was followed")


def test_a_job_with_a_folder_of_its_own_for_temporary_files_takes_the_same_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lock_file(FIRST)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert tempfile.gettempdir() == str(tmp_path) and lock_file(FIRST) == before


def test_full_disk_still_quarantines_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, data: bytes, at: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        quarantine(FIRST, "a known kernel gives wrong numbers", folder=tmp_path)
    assert quarantine_reason(FIRST, tmp_path) == UNKNOWN_REASON
    with (
        pytest.raises(MachineFault, match=UNKNOWN_REASON),
        acquire_device([FIRST], folder=tmp_path),
    ):
        pytest.fail("a sick GPU was used")


def test_control_characters_in_the_lock_file_are_not_printed(tmp_path: Path) -> None:
    lock_file(FIRST, tmp_path).write_bytes(b"\x1b]0;x\x07\xffgone\n")
    assert quarantine_reason(FIRST, tmp_path).isprintable()
    with (
        pytest.raises(MachineFault, match="gone") as caught,
        acquire_device([FIRST], folder=tmp_path),
    ):
        pytest.fail("a sick GPU was used")
    assert caught.value.what.isprintable()


def test_a_shorter_reason_replaces_a_longer_one(tmp_path: Path) -> None:
    for reason in ("a known kernel gives wrong numbers", "no answer"):
        quarantine(FIRST, reason, folder=tmp_path)
    assert quarantine_reason(FIRST, tmp_path) == "no answer"


@pytest.mark.parametrize("what", ["fifo", "folder"])
def test_irregular_lock_file_is_reported(tmp_path: Path, what: str) -> None:
    path = lock_file(FIRST, tmp_path)
    os.mkfifo(path) if what == "fifo" else path.mkdir()
    with (
        pytest.raises(MachineFault, match="lock file") as caught,
        acquire_device([FIRST], folder=tmp_path),
    ):
        pytest.fail("it was used as a lock")
    assert caught.value.where == str(path) and "owner" in caught.value.fix


def test_a_lock_that_was_removed_while_one_waited_is_not_taken(tmp_path: Path) -> None:
    """Whoever came after the removal holds the file that is there now."""
    order: list[str] = []

    def wait_for_it() -> None:
        with acquire_device([FIRST], wait=20, folder=tmp_path):
            order.append("the one that waited")

    with acquire_device([FIRST], folder=tmp_path):
        waiting = threading.Thread(target=wait_for_it)
        waiting.start()
        time.sleep(0.2)
        lock_file(FIRST, tmp_path).unlink()
        new = os.open(lock_file(FIRST, tmp_path), os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(new, fcntl.LOCK_EX)
    time.sleep(0.3)
    order.append("the new one ends")
    os.close(new)
    waiting.join()
    assert order == ["the new one ends", "the one that waited"]


def test_nothing_stays_open(tmp_path: Path) -> None:
    lock_file(SECOND, tmp_path).mkdir()
    before = os.listdir("/proc/self/fd")
    with pytest.raises(MachineFault), acquire_device([FIRST, SECOND], folder=tmp_path):
        pytest.fail("a folder was used as a lock")
    assert len(os.listdir("/proc/self/fd")) == len(before)
