"""The advice of a race: a barrier where one is missing, an atomic where none can help."""

from __future__ import annotations

import pytest

from tests.simulator.test_watch import WATCH, trace

ROUND = "put __syncthreads() after line {}, before the next round of the loop comes to line {}"
CURES = {
    "loop_tile_in_function": ("s", "WAR", ROUND.format(12, 4)),
    "loop_without_second_barrier": ("s", "WAR", ROUND.format(10, 8)),
    "bitonic_without_barrier": ("s", "RAW", ROUND.format(11, 11)),
    "warp_sum_without_first_sync": ("s", "WAR", "put __syncwarp() between line 9 and line 10"),
    "second_of_two_arrays": ("Bs", "RAW", "put __syncthreads() between line 7 and line 9"),
    "warp_leaders_add_plainly": ("sum", "WAR", "use an atomic such as atomicAdd"),
    "shared_histogram_plain": ("bins", "WAR", "use an atomic such as atomicAdd"),
    "fence_of_the_block_only": ("part", "RAW", "__threadfence()"),
    "named_barriers": ("s", "RAW", "put a bar.sync of all threads that touch it"),
    "block_scope_atomics": ("bins", "WAW", "atomicAdd, not atomicAdd_block"),
    "shared_waw": ("s", "WAW", "check the index"),
}
NAMES = {
    "second_of_two_arrays": "`Bs[0][4]`",
    "warp_leaders_add_plainly": "`sum`",
    "loop_tile_in_function": "`s[31]`",
}


@pytest.mark.parametrize("name", CURES)
def test_a_race_says_what_would_order_it(name: str) -> None:
    variable, hazard, words = CURES[name]
    found = trace(WATCH / "race" / f"{name}.cu").findings
    hints = [f.hint for f in found if (f.variable, f.hazard) == (variable, hazard)]
    assert any(words in hint for hint in hints), hints


@pytest.mark.parametrize("name", NAMES)
def test_a_race_names_the_element_as_its_declaration_does(name: str) -> None:
    found = trace(WATCH / "race" / f"{name}.cu").findings
    assert any(NAMES[name] in f.message for f in found), [f.message for f in found]
