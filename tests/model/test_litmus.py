"""Litmus tests: the core gives no outcome that PTX forbids, and gives those that bugs show."""

from __future__ import annotations

import random

import pytest

from tests.model.litmus import Program

X, Y = "st relaxed x 1", "st relaxed y 1"
READ_X, READ_Y = "ld relaxed x", "ld relaxed y"
SC, SC_CTA, BOTH = "fence sc", "fence sc.cta", "fence acq_rel"
RELEASE_Y, ACQUIRE_Y, ACQUIRE_X = "st release y 1", "ld acquire y", "ld acquire x"

LITMUS = {
    # name: threads, what the reads give, the last values, whether it is allowed, and produced
    "MP": ([[X, Y], [READ_Y, READ_X]], (1, 0), (1, 1), True, True),
    "MP, fence of the writer": ([[X, BOTH, Y], [READ_Y, READ_X]], (1, 0), (1, 1), True, True),
    "MP, fence of the reader": ([[X, Y], [READ_Y, BOTH, READ_X]], (1, 0), (1, 1), True, True),
    "MP, release": ([[X, RELEASE_Y], [READ_Y, READ_X]], (1, 0), (1, 1), True, True),
    "MP, acquire": ([[X, Y], [ACQUIRE_Y, READ_X]], (1, 0), (1, 1), True, True),
    "MP, release and acquire": (
        [[X, RELEASE_Y], [ACQUIRE_Y, READ_X]], (1, 0), (1, 1), False, False
    ),
    "MP, fences": ([[X, BOTH, Y], [READ_Y, BOTH, READ_X]], (1, 0), (1, 1), False, False),
    "MP, an exchange": (
        [[X, "exch relaxed y 1"], [READ_Y, BOTH, READ_X]], (0, 1, 0), (1, 1), True, True
    ),
    "MP through a third thread": (
        [[X, RELEASE_Y], [ACQUIRE_Y, "st release z 1"], ["ld acquire z", READ_X]],
        (1, 1, 0), (1, 1, 1), False, False,
    ),
    "MP through a third thread, relaxed": (
        [[X, RELEASE_Y], [READ_Y, "st release z 1"], ["ld acquire z", READ_X]],
        (1, 1, 0), (1, 1, 1), True, True,
    ),
    "SB": ([[X, READ_Y], [Y, READ_X]], (0, 0), (1, 1), True, True),
    "SB, release and acquire": (
        [["st release x 1", BOTH, ACQUIRE_Y], [RELEASE_Y, BOTH, ACQUIRE_X]],
        (0, 0), (1, 1), True, True,
    ),
    "SB, fence.sc in one thread": ([[X, SC, READ_Y], [Y, READ_X]], (0, 0), (1, 1), True, True),
    "SB, fence.sc": ([[X, SC, READ_Y], [Y, SC, READ_X]], (0, 0), (1, 1), False, False),
    "SB, fence.sc after the load": (
        [[X, READ_Y, SC], [Y, READ_X, SC]], (0, 0), (1, 1), True, True
    ),
    "LB": ([[READ_X, Y], [READ_Y, X]], (1, 1), (1, 1), True, True),
    "CoRR": ([[X], [READ_X, READ_X]], (1, 0), (1,), False, False),
    "CoWR": ([[X, READ_X], ["st relaxed x 2"]], (0,), (2,), False, False),
    "2+2W": ([[X, "st relaxed y 2"], [Y, "st relaxed x 2"]], (), (1, 1), True, True),
    "2+2W, fence.sc": (
        [[X, SC, "st relaxed y 2"], [Y, SC, "st relaxed x 2"]], (), (1, 1), False, False
    ),
    "R": ([[X, Y], ["st relaxed y 2", READ_X]], (0,), (1, 2), True, True),
    "R, release and acquire": (
        [[X, RELEASE_Y], ["st relaxed y 2", ACQUIRE_X]], (0,), (1, 2), True, True
    ),
    "R, fence.sc": ([[X, SC, Y], ["st relaxed y 2", SC, READ_X]], (0,), (1, 2), False, False),
    "S": ([["st relaxed x 2", Y], [READ_Y, X]], (1,), (2, 1), True, True),
    "S, release and acquire": (
        [["st relaxed x 2", RELEASE_Y], [ACQUIRE_Y, X]], (1,), (2, 1), False, False
    ),
    "IRIW": ([[X], [Y], [READ_X, READ_Y], [READ_Y, READ_X]], (1, 0, 1, 0), (1, 1), True, True),
    "IRIW, acquire": (
        [[X], [Y], [ACQUIRE_X, READ_Y], [ACQUIRE_Y, READ_X]], (1, 0, 1, 0), (1, 1), True, False
    ),
    "IRIW, fence.sc": (
        [[X], [Y], [READ_X, SC, READ_Y], [READ_Y, SC, READ_X]],
        (1, 0, 1, 0), (1, 1), False, False,
    ),
}  # fmt: skip

SCOPES = {
    # name: threads, what the reads give, whether it is allowed in one block, and in two
    "MP, release.cta": (
        [[X, "st release.cta y 1"], ["ld acquire.cta y", READ_X]], (1, 0), False, True
    ),
    "MP, fences of the block": (
        [[X, "fence acq_rel.cta", Y], [READ_Y, "fence acq_rel.cta", READ_X]], (1, 0), False, True
    ),
    "SB, fence.sc.cta": ([[X, SC_CTA, READ_Y], [Y, SC_CTA, READ_X]], (0, 0), False, True),
    "SB, one fence.sc.cta": ([[X, SC, READ_Y], [Y, SC_CTA, READ_X]], (0, 0), False, True),
}  # fmt: skip


@pytest.mark.parametrize("near", [False, True], ids=["two blocks", "one block"])
@pytest.mark.parametrize("name", LITMUS)
def test_outcome_is_given_where_ptx_allows_it(name: str, near: bool) -> None:
    threads, reads, last, allowed, produced = LITMUS[name]
    program = Program(threads, near=near)
    allowed_ones = program.allowed()
    assert ((reads, last) in allowed_ones) is allowed
    observed = program.observed() | program.late()
    assert observed <= allowed_ones
    assert ((reads, last) in observed) is produced
    assert (reads, last) not in program.observed(old=False)


@pytest.mark.parametrize("near", [False, True], ids=["two blocks", "one block"])
@pytest.mark.parametrize("name", SCOPES)
def test_narrow_scope_orders_its_block_alone(name: str, near: bool) -> None:
    threads, reads, in_block, across = SCOPES[name]
    program = Program(threads, near=near)
    outcome = (reads, (1, 1))
    assert (outcome in program.allowed()) is (outcome in program.observed())
    assert (outcome in program.allowed()) is (in_block if near else across)


def generated(seed: int) -> Program:
    """A random program of two or three threads with few writes."""
    r = random.Random(seed)
    count, places, writes = r.choice((2, 2, 3)), r.choice(("xy", "xy", "xyz")), 0
    threads = list[list[str]]()
    for _ in range(count):
        steps = list[str]()
        for _ in range(r.randrange(1, 5 if count == 2 else 4)):
            scope = ".cta" if r.random() < 0.15 else ""
            kind = r.choice(("st", "st", "ld", "ld", "ld", "fence", "exch"))
            writes += kind in ("st", "exch")
            place = f"{r.choice(places)} {writes}"
            if kind == "fence":
                steps.append(f"fence {r.choice(('sc', 'acq_rel'))}{scope}")
            elif kind == "ld":
                steps.append(f"ld {r.choice(('relaxed', 'relaxed', 'acquire'))}{scope} {place[0]}")
            elif writes < 6:
                orders = ("relaxed", "relaxed", "release", "acq_rel")
                order = r.choice(orders[:3] if kind == "st" else orders)
                steps.append(f"{kind} {order}{scope} {place}")
        threads.append(steps)
    return Program(threads, near=r.random() < 0.3)


def test_generated_programs_with_pauses_give_no_forbidden_outcome() -> None:
    more = 0
    for seed in range(12):
        program = generated(seed)
        if program.places:
            paused = program.paused()
            assert paused <= program.allowed(), (seed, program.threads, program.near)
            more += bool(paused - program.observed())
    assert more > 3


def test_generated_programs_give_no_forbidden_outcome() -> None:
    weak = late = 0
    for seed in range(200):
        program = generated(seed)
        if not program.places:
            continue
        allowed, strong = program.allowed(), program.observed(old=False)
        observed, delayed = program.observed(), program.late()
        assert observed | delayed <= allowed, (seed, program.threads, program.near)
        weak += bool(observed - strong)
        late += bool(delayed - strong)
    assert weak > 3
    assert late > 3
