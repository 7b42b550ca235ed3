"""Calls of a reference: values are passed unchanged, and many callers call at a time."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.faults import LabFault, MachineFault
from grader.labs.model import Expected
from grader.labs.reference import load_reference
from grader.labs.reference_child import Made
from grader.labs.reference_process import Pool
from tests.labs.reference_program import write_reference
from tests.patience import until

ARRAYS: dict[str, NDArray[Any]] = {
    "empty": np.zeros((0, 3), np.float32),
    "scalar": np.array(2.5),
    "many": np.arange(1 << 22, dtype=np.int32).reshape(2, -1),
    "transposed": np.arange(12.0).reshape(3, 4).T,
    "strided": np.arange(100, dtype=np.uint8)[::7],
    "booleans": np.array([True, False]),
    "text": np.array(["a", "bc"]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_passed_unchanged(tmp_path: Path, name: str) -> None:
    given = ARRAYS[name]
    with load_reference(write_reference(tmp_path, "return inputs")) as reference:
        got = reference.call("expected", {}, {name: given})[name]
    assert got.dtype == given.dtype and got.shape == given.shape
    assert np.array_equal(got, given)
    got[...] = got  # it can be written to


def test_expected_and_generators_are_passed(tmp_path: Path) -> None:
    right = Expected(np.arange(3.0), np.zeros(3))
    with load_reference(write_reference(tmp_path, "return inputs")) as reference:
        got = reference.call("expected", {}, right)
        draws = reference.call("expected", {}, np.random.default_rng(7))
    assert isinstance(got, Expected) and np.array_equal(got.value, right.value)
    assert draws.random() == np.random.default_rng(7).random()


def test_an_input_is_made_in_the_process_that_gets_it(tmp_path: Path) -> None:
    what = "return {k: v + 1 for k, v in inputs.items()}"
    with load_reference(write_reference(tmp_path, what)) as reference:
        given = {"x": np.zeros(2), "y": Made(np.full, ((2, 3), 7.0))}
        got = reference.call("expected", {}, given)
    assert got["x"].tolist() == [1, 1] and got["y"].tolist() == [[8.0] * 3] * 2


def test_a_reference_does_not_change_the_callers_arrays(tmp_path: Path) -> None:
    mine = np.zeros(4)
    with load_reference(write_reference(tmp_path, "inputs['x'] += 1")) as reference:
        reference.call("expected", {}, {"x": mine})
    assert not mine.any()


def test_every_load_starts_with_a_new_module(tmp_path: Path) -> None:
    """No case depends on earlier ones."""
    path = write_reference(tmp_path, "CALLS.append(1); return len(CALLS)")
    path.write_text("CALLS = []\n" + path.read_text())
    for _ in range(2):
        with load_reference(path) as reference:
            assert reference.call("expected", {}, {}) == 1
            assert reference.call("expected", {}, {}) == 2


def test_numpy_has_one_thread(tmp_path: Path) -> None:
    """BLAS splits sums by its number of threads; with one, they are equal on every machine."""
    count = "return len(__import__('os').listdir('/proc/self/task'))"
    with load_reference(write_reference(tmp_path, count)) as reference:
        assert reference.call("expected", {}, {}) == 1


def test_many_threads_call_at_a_time(tmp_path: Path) -> None:
    path = write_reference(tmp_path, "return inputs * 2, __import__('os').getpid()")

    def ask(number: int) -> tuple[bool, int]:
        given = np.full(1 << 14, number)
        with load_reference(path) as reference:
            got, pid = reference.call("expected", {}, given)
        return bool(np.array_equal(got, given * 2)), pid

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(ask, range(200)))
    assert all(right for right, _ in answers)
    assert len({pid for _, pid in answers}) <= (os.cpu_count() or 1)


def test_a_timeout_does_not_affect_other_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.labs.reference.SECONDS", 1.0)
    monkeypatch.setattr("grader.labs.reference_process.MAX_WAITS", 10_000)  # a busy machine
    bad = write_reference(tmp_path / "bad", "while True: pass")
    good = write_reference(tmp_path / "good", "return inputs")
    faults: list[LabFault] = []

    def hang() -> None:
        try:
            with load_reference(bad) as reference:
                reference.call("expected", {}, {})
        except LabFault as fault:
            faults.append(fault)

    other = threading.Thread(target=hang)
    other.start()
    while other.is_alive():
        with load_reference(good) as reference:
            assert reference.call("expected", {}, 7) == 7
    assert len(faults) == 1


def test_a_process_that_ended_while_idle_is_replaced() -> None:
    pool = Pool(1)
    with pool.acquire() as first:
        pass
    os.kill(first._pid, 9)
    until(lambda: not first.is_alive)
    with pool.acquire() as second:
        assert second is not first and second.is_alive
    second.end()


def test_a_process_whose_caller_was_interrupted_is_not_used_again() -> None:
    pool = Pool(1)
    with pytest.raises(KeyboardInterrupt), pool.acquire() as first:
        raise KeyboardInterrupt
    assert not first.is_alive
    with pool.acquire() as second:
        assert second.is_alive
    second.end()


def test_a_stopped_process_loses_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.labs.reference.SECONDS", 1.0)
    monkeypatch.setattr("grader.labs.reference_process.MAX_WAITS", 10_000)  # a busy machine
    path = write_reference(tmp_path, "__import__('time').sleep(0.3); return inputs")
    with load_reference(path) as reference:
        pid = reference.process._pid
        continued = threading.Timer(3.0, os.kill, (pid, signal.SIGCONT))
        threading.Timer(0.1, os.kill, (pid, signal.SIGSTOP)).start()
        continued.start()
        assert reference.call("expected", {}, 7) == 7
        continued.join()


def test_a_process_that_stays_stopped_is_a_system_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.labs.reference.SECONDS", 0.5)
    stop = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP); return inputs"
    path = write_reference(tmp_path, stop)
    with (
        pytest.raises(MachineFault, match=r"could run for 0\.\d s only in 5 s"),
        load_reference(path) as reference,
    ):
        reference.call("expected", {}, 7)


def test_a_sleeping_reference_is_the_labs_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.labs.reference.SECONDS", 0.6)
    monkeypatch.setattr("grader.labs.reference_process.MAX_WAITS", 10_000)  # a busy machine
    path = write_reference(tmp_path, "__import__('time').sleep(60)")
    with pytest.raises(LabFault, match="still running"), load_reference(path) as reference:
        reference.call("expected", {}, 7)


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("raise ModuleNotFoundError('No module named numpy', name='numpy')", MachineFault),
        ("import nosuchmodule", LabFault),
        ("from numpy import nosuchname", LabFault),
        ("raise OSError(28, 'No space left on device')", MachineFault),
        ('raise RuntimeError("can\'t start new thread")', MachineFault),
        ("raise FileNotFoundError(2, 'No such file')", LabFault),
    ],
)
def test_a_module_that_could_not_be_read_is_a_system_error(
    tmp_path: Path, statement: str, fault: type[Exception]
) -> None:
    path = write_reference(tmp_path, statement)
    with pytest.raises(fault), load_reference(path) as reference:
        reference.call("expected", {}, 7)
