"""The kernels of a program share its parsed modules, and none changes what another one finds."""

from __future__ import annotations

import itertools
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from grader.simulator.core.bindings import core
from grader.simulator.decode.module import decode
from grader.simulator.ptx.parser import parse
from grader.simulator.ptx.source_map import with_source_lines
from grader.simulator.simulate import simulate
from grader.simulator.variants import Variants, decode_variants
from tests.cukernel import cases
from tests.trusted import compiled_here

CORRECT = Path(__file__).parents[1] / "correct"
LIBRARY = CORRECT / "cub_scan.cu"


def test_kernels_share_a_module_that_none_changes() -> None:
    program = compiled_here(LIBRARY)
    modules = Variants().modules
    first, *others = program.kernels
    decode_variants(program, first, modules)
    before = dict(modules), deepcopy(modules)
    assert set(modules) == {False, True}
    for kernel in others[:3]:
        variants = decode_variants(program, kernel, modules)
        assert isinstance(variants, tuple)
        assert all(v.machine.loader.module is modules[v.counts] for v in variants)
    assert all(modules[counts] is module for counts, module in before[0].items())
    assert modules == before[1]


def test_a_module_without_lines_stays_as_it_is() -> None:
    text = compiled_here(LIBRARY).ptx
    bare = "\n".join(line for line in text.splitlines() if not line.strip().startswith(".loc"))
    module = parse(bare)
    before = deepcopy(module)
    for name in [name for name, f in module.functions.items() if f.entry][:3]:
        decode(module, name, core().known)
    assert module == before


def test_only_functions_that_a_kernel_may_call_are_moved() -> None:
    module = parse(compiled_here(LIBRARY).debug_ptx)
    kernel, other = [name for name, f in module.functions.items() if f.entry][:2]
    functions = with_source_lines(module, kernel)
    assert functions.keys() >= module.functions.keys()
    assert functions[kernel] is not module.functions[kernel]
    assert functions[other] is module.functions[other]


def test_traces_are_those_of_kernels_that_are_decoded_alone() -> None:
    launches = [case.launch for case in itertools.islice(cases(LIBRARY), 4)]
    program = compiled_here(LIBRARY)
    alone = [simulate(program, [launch])[0] for launch in launches]
    for order in (launches, launches[::-1]):
        decoded = Variants()
        traces = {
            launch.kernel: simulate(program, [launch], decoded=decoded)[0] for launch in order
        }
        for launch, want in zip(launches, alone, strict=True):
            got = replace(traces[launch.kernel], seconds=want.seconds, outputs=want.outputs)
            assert got == replace(want, unwritten=got.unwritten)
            for at, output in want.outputs.items():
                assert (traces[launch.kernel].outputs[at] == output).all()
