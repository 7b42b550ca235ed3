"""One attempt at a time on a GPU, and none on a sick one. Needs no GPU."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.fault import MachineFault
from grader.gpu.device import Device
from grader.gpu.lock import held, lock_file, quarantine

FIRST = Device(Path("/dev/nvidia0"), "GPU-aaaa", "NVIDIA A")
SECOND = Device(Path("/dev/nvidia1"), "GPU-bbbb", "NVIDIA B")


def test_two_attempts_get_two_gpus(tmp_path: Path) -> None:
    with (
        held([FIRST, SECOND], folder=tmp_path) as one,
        held([FIRST, SECOND], folder=tmp_path) as two,
    ):
        assert (one, two) == (FIRST, SECOND)


def test_a_busy_gpu_is_waited_for(tmp_path: Path) -> None:
    with (
        held([FIRST], folder=tmp_path),
        pytest.raises(MachineFault, match="no GPU got free"),
        held([FIRST], wait=0.1, folder=tmp_path),
    ):
        pytest.fail("two attempts hold one GPU")
    with held([FIRST], wait=0.1, folder=tmp_path) as again:
        assert again is FIRST


def test_the_lock_ends_with_its_process(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with held([FIRST], folder=tmp_path):
            os._exit(0)
    os.waitpid(child, 0)
    with held([FIRST], wait=0.1, folder=tmp_path) as device:
        assert device is FIRST


def test_a_sick_gpu_is_left_out(tmp_path: Path) -> None:
    quarantine(FIRST, "a known kernel gives wrong numbers", folder=tmp_path)
    with held([FIRST, SECOND], folder=tmp_path) as device:
        assert device is SECOND
    with (
        pytest.raises(MachineFault, match="a known kernel gives wrong numbers") as caught,
        held([FIRST], folder=tmp_path),
    ):
        pytest.fail("a sick GPU was used")
    assert str(lock_file(FIRST, tmp_path)) in caught.value.mend


def test_another_user_may_take_the_lock(tmp_path: Path) -> None:
    with held([FIRST], folder=tmp_path):
        assert lock_file(FIRST, tmp_path).stat().st_mode & 0o777 == 0o666


def test_a_link_in_the_lock_s_place_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.touch()
    lock_file(FIRST, tmp_path).symlink_to(target)
    with pytest.raises(MachineFault, match="cannot be opened"), held([FIRST], folder=tmp_path):
        pytest.fail("the link was followed")
