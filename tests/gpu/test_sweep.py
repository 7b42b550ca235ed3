"""The microbenchmarks: their kernels do the work that they are said to do; one test needs a GPU.

The simulator counts two launches of each point, as the sweep times two: the difference of their
work has to be that of the amounts.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.gpu import sweep
from grader.gpu.devices import acquire_device, same_model_devices
from grader.gpu.nvcc import compile_cubin
from grader.gpu.peaks import REPEATS
from grader.gpu.process import call_on, device_info
from grader.gpu.sweep import LINE_WORDS, POINTS, Point, index_cycle
from grader.grading.estimate.machine import machine_of
from grader.grading.estimate.model import ARITHMETIC
from grader.launch import Array, Launch, Scalar, pack_launches
from grader.sandbox.call import Limits
from grader.simulator import work
from grader.simulator.exchange import pack_program
from grader.simulator.workload import Work
from tests.grading.estimate.made import LAUNCH, MULTIPROCESSORS, NAME, a_machine, points_of

WORDS = 1 << 14
"""Words of 4 bytes of the buffer here, and for the arguments that mean a size of memory."""

LOOP = 0.08
"""The share of instructions of a loop, which count as integer and logic instructions."""


@cache
def program() -> Program:
    text = files("grader.gpu").joinpath("sweep.cu").read_bytes()
    return compile_source(text, "sweep.cu")


def smaller(point: Point) -> tuple[int, int]:
    """A size and rounds that the simulator runs quickly."""
    words = {"bytes": 512, "steps": WORDS}.get(point.unit, 1024)
    size = words if point.size == "l2" else min(int(point.size), words)
    return size, {"bytes": 2, "steps": 6, "blocks": 3}.get(point.unit, 2)


def counted(point: Point, rounds: int) -> Work:
    size, _ = smaller(point)
    chases = point.kernel in ("chase_l1", "chase_l2")
    data = np.zeros(WORDS, np.uint32)
    if chases:
        data[:size] = index_cycle(size, np.random.default_rng(1))
    stride = 0 if chases else point.stride
    threads = (point.threads, 1, 1)
    blocks = (1 if point.unit == "bytes" else point.blocks(1, rounds), 1, 1)
    numbers = (("size", size), ("stride", stride), ("rounds", rounds))
    scalars = (Scalar(name, value, "uint32") for name, value in numbers)
    arrays = (Array("data", data.shape, "uint32", data, True),
              Array("out", (1,), "uint32", np.zeros(1, np.uint32)))  # fmt: skip
    launch = Launch(point.kernel, blocks, threads, (*arrays, *scalars))
    rows, held = pack_launches([launch])
    request = {"program": pack_program(program()), "launches": rows, "steps": 0, "limit": 20.0}
    reply, _ = work.run({**request, "threads": 1}, held)
    assert "work" in reply, reply
    return Work(**reply["work"])


def amount(point: Point, made: Work) -> float:
    """What the simulator counted of what the point measures."""
    kind = point.name.removesuffix(" latency")
    chain = {"l1": "global", "l2": "global", "dram": "global"}.get(kind, kind)
    if point.unit == "steps":
        return made.chain.get(chain, 0.0)
    if point.unit == "blocks":
        return made.blocks
    if point.kernel == "write_again":
        return made.l2_written if point.name == "l2_write" else made.l2_masked
    if point.unit == "bytes":
        return 128 * made.l1_wavefronts
    counts = {
        "l1_request": made.requests,
        "l1_wavefront": made.l1_wavefronts,
        "l1_lines": made.l1_wavefronts,
        "shared": made.wavefronts,
        "shared_conflict": made.wavefronts,
        "issue": made.slots,
        "atomic_shared": made.atomics.get("shared requests", 0.0),
        "atomic_shared_same": made.atomics.get("shared serial", 0.0) / 31,
    }
    return counts.get(point.name, made.executed.get(point.name, made.atomics.get("operations", 0)))


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name.replace(" ", "-"))
def test_the_kernel_of_a_point_does_its_amount_of_work(point: Point) -> None:
    size, rounds = smaller(point)
    blocks = [point.blocks(1, n) for n in (rounds, 2 * rounds)]
    few, many = (counted(point, n) for n in (rounds, 2 * rounds))
    said = point.amount(blocks[1], size, 2 * rounds) - point.amount(blocks[0], size, rounds)
    found = amount(point, many) - amount(point, few)
    assert said > 0
    loose = point.name in (*ARITHMETIC, "issue") or point.name.startswith("int32")
    assert found == pytest.approx(said, rel=LOOP if loose else 1e-9)


def test_every_parameter_has_a_point_and_no_name_is_used_twice() -> None:
    names = [point.name for point in POINTS]
    assert len(names) == len(set(names))
    points = {name: [[0.0, 0.0], [1.0, 1e-9]] for name in names}
    points["atomic_shared_same"] = [[0.0, 0.0], [1.0, 1e-7]]
    machine = machine_of(points, "a GPU", (9, 0), 132)
    assert set(machine.rates) >= set(ARITHMETIC) and "dram" in machine.latencies


def test_an_index_cycle_visits_every_line_once() -> None:
    cycle = index_cycle(WORDS, np.random.default_rng(3))
    at, seen = 0, set()
    while at not in seen:
        seen.add(at)
        at = int(cycle[at])
    assert seen == set(range(0, WORDS, LINE_WORDS)) and at == 0


class StandInDriver:
    """What the sweep uses of `pycuda.driver`, on a machine with known parameters and a clock.

    A launch takes `LAUNCH` and its work in the seconds that the machine takes for it. Every kernel
    finds the buffer that its point asks for: zeros, or a list to follow.
    """

    device_attribute = SimpleNamespace(MULTIPROCESSOR_COUNT=0, L2_CACHE_SIZE=1)
    Error = RuntimeError

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds, self.now = seconds, 0.0
        self.points = iter(POINTS)
        self.content: Any = None
        self.flushed = 0

    def init(self) -> None:
        """Do nothing."""

    def Device(self, number: int) -> Any:  # noqa: N802
        assert number == 0
        attributes = [MULTIPROCESSORS, 16 << 20]
        return SimpleNamespace(
            make_context=lambda: SimpleNamespace(pop=lambda: None),
            get_attribute=lambda which: attributes[which],
            pci_bus_id=lambda: "0000:00:00.0",
            compute_capability=lambda: (9, 0),
        )

    def mem_alloc(self, size: int) -> int:
        return size

    def memset_d32(self, at: int, value: int, count: int) -> None:
        assert (at, value, count) == (sweep.BUFFER, 0, sweep.BUFFER // 4)
        self.content = None

    def memcpy_htod(self, at: int, data: Any) -> None:
        assert at == sweep.BUFFER and 0 < data.nbytes <= sweep.BUFFER
        self.content = data

    def module_from_buffer(self, cubin: bytes) -> Any:
        assert cubin == b"cubin"
        return SimpleNamespace(get_function=lambda name: SimpleNamespace(
            prepare=lambda types: SimpleNamespace(
                prepared_async_call=lambda *given: self.launch(name, types, *given))))  # fmt: skip

    def Event(self) -> Any:  # noqa: N802
        event = SimpleNamespace(at=0.0, synchronize=lambda: None)
        event.record = lambda: setattr(event, "at", self.now)
        event.time_till = lambda other: 1e3 * (other.at - event.at)
        return event

    def launch(
        self, kernel: str, types: str, blocks: Any, threads: Any, stream: None, *numbers: int
    ) -> None:
        assert types == "PPIII" and stream is None and len(numbers) == 5
        data, _, size, stride, rounds = numbers
        if data != sweep.BUFFER:  # the flush, beside the buffer's start
            self.flushed += 1
            return
        (point,) = {
            point.name: point
            for point in POINTS
            if point.kernel == kernel and point.threads == threads[0]
            if rounds in (1, point.rounds, 2 * point.rounds)
            if self.is_meant(point, size, stride)
        }.values()
        assert blocks == (point.blocks(MULTIPROCESSORS, rounds), 1)
        work = point.amount(blocks[0], size, rounds)
        self.now += LAUNCH + work * self.seconds[point.name]

    def is_meant(self, point: Point, size: int, stride: int) -> bool:
        chases = point.kernel in ("chase_l1", "chase_l2")
        if chases:
            return self.content is not None and self.content.size == size and stride == 0 and (
                size == {"l2 latency": 1 << 20}.get(point.name, point.size))  # fmt: skip
        words = (16 << 20) // 4 // 16
        return size == (words if point.size == "l2" else point.size) and stride == point.stride


def test_the_sweep_finds_the_parameters_of_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that the child does, but for the GPU."""
    known = a_machine()
    slopes = {name: (b[1] - a[1]) / (b[0] - a[0]) for name, (a, b) in points_of(known).items()}
    driver = StandInDriver(slopes)
    monkeypatch.setitem(sys.modules, "pycuda", SimpleNamespace(driver=driver))
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
    monkeypatch.setattr(sweep, "WARM_SECONDS", 0.0)
    reply, arrays = sweep.measure({}, {"cubin": np.frombuffer(b"cubin", np.uint8)})
    assert arrays == {} and set(reply["points"]) == {point.name for point in POINTS}
    assert reply["launch"] == pytest.approx(LAUNCH + slopes["blocks"])
    assert (reply["capability"], reply["multiprocessors"]) == ([9, 0], MULTIPROCESSORS)
    made = machine_of(reply["points"], NAME, (9, 0), MULTIPROCESSORS)
    assert dict(made.rates) == pytest.approx(dict(known.rates))
    assert dict(made.latencies) == pytest.approx(dict(known.latencies))
    assert driver.flushed == 2 * (REPEATS + 1)
    assert json.loads(json.dumps(reply)) == reply


@pytest.mark.gpu
@pytest.mark.alone
def test_the_sweep_measures_this_gpu(row: Any) -> None:
    device = same_model_devices()[0]
    cubin = compile_cubin(sweep.sweep_kernels(), device_info(device).architecture)
    arrays = {"cubin": np.frombuffer(cubin, np.uint8)}
    with acquire_device([device]):
        reply = call_on(device, sweep.measure, {}, arrays, Limits(wall=120, cpu=120, memory=0))
    said = reply.value
    machine = machine_of(
        said["points"], device.model, tuple(said["capability"]), said["multiprocessors"]
    )
    rates, known = machine.rates, machine.latencies
    assert rates["issue"] <= 1.1 * (rates["fma32"] + rates["int32"])
    assert known["shared"] < known["l2"] < known["dram"] and known["l1"] < known["l2"]
    assert rates["read"] < rates["l2"]
    row(
        f"read {rates['read'] / 1e9:.0f} GB/s, L2 {rates['l2'] / 1e9:.0f} GB/s, "
        f"{64 * rates['fma32'] / 1e12:.1f} TFLOP/s, DRAM latency {1e9 * known['dram']:.0f} ns, "
        f"launch {1e6 * said['launch']:.2f} us"
    )
