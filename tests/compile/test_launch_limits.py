"""Launches that CUDA refuses on every GPU, and those that only the simulator refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.compile.launch_limits import launch_bounds_error, launch_error
from grader.compile.program import Kernel, Parameter
from grader.launch import Array, Dim3, Launch, Resources, Scalar
from grader.simulator.exchange import too_large

KERNEL = Kernel("k", "k", 1, (Parameter("int", "n", 4),), Resources(static_shared_bytes=1024))
N = Scalar("n", 1, "int32")


def launch(grid: Dim3 = (1, 1, 1), block: Dim3 = (32, 1, 1), shared: int = 0) -> Launch:
    return Launch("k", grid, block, (N,), shared)


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (launch(), ""),
        (launch(block=(1024, 1, 1)), ""),
        (launch(block=(32, 33, 1)), "32 x 33 x 1 = 1056 threads (cudaErrorInvalidConfiguration)"),
        (launch(block=(1, 1, 64)), ""),
        (launch(block=(1, 1, 65)), "1 x 1 x 65 = 65 threads"),
        (launch(block=(0, 1, 1)), "0 x 1 x 1 = 0 threads"),
        (launch(grid=(2**31 - 1, 1, 1)), ""),
        (launch(grid=(1, 65536, 1)), "a grid of 1 x 65536 x 1 blocks"),
        (launch(grid=(1, 1, 0)), "a grid of 1 x 1 x 0 blocks"),
        (launch(shared=47 << 10), ""),
        (launch(shared=(47 << 10) + 1), "1024 bytes of static and 48129 of dynamic shared"),
        (replace(launch(shared=226 << 10), large_shared=True), ""),
        (replace(launch(shared=(226 << 10) + 1), large_shared=True), "231425 of dynamic shared"),
        (Launch("k", (1, 1, 1), (1, 1, 1), ()), "0 arguments for 1 parameters"),
    ],
)
def test_launches_that_cuda_refuses(one: Launch, says: str) -> None:
    found = launch_error(one, KERNEL)
    assert (found is None) == (says == "")
    if found:
        assert found.kind == "launch-failure" and found.hint
        assert found.message.startswith("the launch is refused: ") and says in found.message


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({}, ""),
        ({"maxntid": [8, 4]}, ""),
        ({"maxntid": [31]}, "__launch_bounds__ allows 31"),
        ({"reqntid": [32]}, ""),
        ({"reqntid": [64]}, "the kernel requires 64"),
    ],
)
def test_launch_bounds_of_the_kernel(limits: dict[str, list[int]], says: str) -> None:
    found = launch_bounds_error(launch(), limits)
    assert says in (found.message if found else "") and (found is None) == (says == "")


def test_launches_too_large_to_simulate() -> None:
    arrays = (Array("a", (1 << 27,), "float32"), Array("b", (1 << 27,), "float32"))
    assert too_large(Launch("k", (1 << 12, 1 << 12, 1), (1, 1, 1), arrays)) is None
    one = (*arrays, Array("c", (1,), "uint8"))
    for big in (launch(grid=(1 << 24, 2, 1)), Launch("k", (1, 1, 1), (1, 1, 1), one)):
        found = too_large(big)
        assert found and "to simulate" in found.message and "run it on a GPU" in found.hint


@pytest.mark.parametrize(
    ("registers", "threads", "fits"),
    [(64, 1024, True), (65, 1024, False), (72, 896, True), (128, 512, True), (129, 512, False)],
)
def test_registers_of_a_block(registers: int, threads: int, fits: bool) -> None:
    """65536 registers a block, allocated in units of 256 a warp, eight a thread."""
    greedy = replace(KERNEL, resources=Resources(registers=registers))
    found = launch_error(launch(block=(threads, 1, 1)), greedy)
    assert (found is None) == fits
    assert found is None or "cudaErrorLaunchOutOfResources" in found.message
