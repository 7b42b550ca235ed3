"""Encode a decoded kernel, and a launch's textures, as the flat arrays that the C core reads."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import astuple

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.faults import MachineFault
from grader.launch import ADDRESS_MODES, Array, Launch, Texture
from grader.simulator.core import bindings as c
from grader.simulator.core.bindings import GLOBAL_BASE, SLOT_BITS, SLOT_MIDDLE
from grader.simulator.decode.control_flow import BRANCH, ORDERS, WARPSYNC, Block, Call
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.module import Image
from grader.simulator.decode.proof import Proof

PRINTED = 64 << 10
"""The bytes of a launch's printf text that are kept."""

REPRESENTATIVES = 27
"""The blocks of a launch by proof that are watched in full: see core/machine/proof.h."""


@dataclass(frozen=True)
class ImageArrays:
    """An image as the arrays of core.h's Launch."""

    insns: NDArray[np.void]
    blocks: NDArray[np.void]
    functions: NDArray[np.void]
    calls: NDArray[np.void]
    copies: NDArray[np.void]
    tables: NDArray[np.uint32]
    loops: NDArray[np.void]
    states: NDArray[np.void]
    variables: NDArray[np.void]


def encode_image(image: Image, core: c.Core) -> ImageArrays:
    """Encode an image for the core, with instructions bound to its functions."""
    return _Encoder(image, core).arrays()


class _Encoder:
    """Collects the rows of the arrays."""

    def __init__(self, image: Image, core: c.Core) -> None:
        self.core = core
        self.insns: list[tuple[int, ...]] = []
        self.blocks: list[tuple[int, ...]] = []
        self.functions: list[tuple[int, ...]] = []
        self.calls: list[tuple[int, ...]] = []
        self.copies: list[tuple[int, int, int]] = []
        self.tables: list[int] = []
        self.loops: list[tuple[int, ...]] = []
        self.states: list[tuple[int, int]] = []
        self.variables: list[tuple[int, ...]] = []
        self.numbers = {f.name: k for k, f in enumerate(image.functions)}
        for f in image.functions:
            sizes = (len(self.blocks), len(f.blocks), f.registers, f.local, f.params)
            self.functions.append((*sizes, len(self.variables), len(f.numbered.places)))
            self.variables += [astuple(place) for place in f.numbered.places]
            base, before = len(self.blocks), len(self.loops)
            for block in f.blocks:
                self.add(block, before)
            for loop in f.loops:
                outer = loop.outer and loop.outer + before
                where = (base + loop.first, base + loop.last, outer, loop.pc)
                self.loops.append((*where, len(self.states), len(loop.state)))
                self.states += loop.state

    def add(self, block: Block, loops: int) -> None:
        """Append a basic block of a function before which there are so many loops."""
        first, end, index = len(self.insns), block.end, 0
        self.insns += [encode_insn(insn, self.core) for insn in block.insns]
        if end.table:
            index = len(self.tables)
            self.tables += block.table
        if end.call is not None:
            index = self.call(end.call)
        where = (first, len(self.insns), end.kind, block.next, block.target)
        operands = (end.a, end.b, end.c, end.d)
        guard = (end.guard, end.negate, max(end.pc, 0))
        self.blocks.append(
            (
                *where,
                *guard,
                *operands,
                index,
                end.flag,
                block.steps,
                block.loop and block.loop + loops,
            )
        )

    def call(self, call: Call) -> int:
        """Append a call site; return its number."""
        into = len(self.copies)
        self.copies += call.inputs
        back = len(self.copies)
        self.copies += call.outputs
        callee = 0 if call.callee is None else self.numbers[call.callee]
        copies = (into, len(call.inputs), back, len(call.outputs))
        self.calls.append((callee, call.callee is None, call.needs, *copies, call.library))
        return len(self.calls) - 1

    def arrays(self) -> ImageArrays:
        """The collected rows; no array is empty."""
        return ImageArrays(
            np.array(self.insns, c.INSN) if self.insns else np.zeros(1, c.INSN),
            np.array(self.blocks, c.BLOCK),
            np.array(self.functions, c.FUNCTION),
            np.array([*self.calls, (0,) * 8], c.CALL),
            np.array([*self.copies, (0, 0, 0)], c.COPY),
            np.array([*self.tables, 0], np.uint32),
            np.array([*self.loops, (0,) * 6], c.LOOP),
            np.array([*self.states, (0, 0)], c.STATE),
            np.array([*self.variables, (0,) * 6], c.LOCAL_VARIABLE),
        )


def encode_insn(insn: Insn, core: c.Core) -> tuple[int, ...]:
    """Encode an instruction as core.h's Insn. Raises MachineFault."""
    imm = insn.imm if not insn.inner else core.address(insn.inner) or 0
    at = core.address(insn.exec)
    if at is None:
        raise MachineFault(
            f"{os.path.basename(core.path)} was built from other sources: it has no {insn.exec}",
            fix="Build it again: make clean, then make demo.",
        )
    return (
        at,
        insn.d,
        insn.a,
        insn.b,
        insn.c,
        insn.e,
        insn.guard,
        insn.negate,
        insn.used,
        insn.pc,
        imm,
        insn.size,
        insn.count,
        insn.space,
        insn.width,
        insn.flag,
        insn.mode,
    )


VARIES = 2
"""In `negate` of a guard: it depends on the block's number, and is part of a block's signature."""


@dataclass(frozen=True)
class ProofArrays:
    """The code of a launch by proof: see core/machine/proof.h.

    Attributes:
        insns, blocks: the code with VARIES.
        reduced_insns, reduced_blocks: what finds the same in blocks that are not watched.
        assumed: what is assumed of accesses, by program counter.
    """

    insns: NDArray[np.void]
    blocks: NDArray[np.void]
    reduced_insns: NDArray[np.void]
    reduced_blocks: NDArray[np.void]
    assumed: NDArray[np.uint8]


def encode_proof(image: Image, arrays: ImageArrays, proof: Proof) -> ProofArrays:
    """Encode the code of an image, which `arrays` has, for launches by proof."""
    insns, blocks = arrays.insns.copy(), arrays.blocks.copy()
    own = [insn for block in image.functions[0].blocks for insn in block.insns]
    shadows = np.array([insn.exec.startswith("shadow_") for insn in own], bool)
    places = np.array([place + 1 for place in proof.varies], np.uint32)
    varies = np.isin(insns["guard"][: len(own)], places) & ~shadows
    insns["negate"][: len(own)][varies] |= VARIES
    blocks["negate"][np.isin(blocks["guard"], places)] |= VARIES
    kept = (np.isin(insns["pc"][: len(own)], list(proof.kept)) & ~shadows) | varies
    before = np.concatenate(([0], np.cumsum(kept)))
    reduced = blocks.copy()
    reduced["first"], reduced["end"] = before[blocks["first"]], before[blocks["end"]]
    for first, behind in proof.skipped.items():
        while behind in proof.skipped:
            behind = proof.skipped[behind]
        for field, used in (("next", True), ("target", reduced["kind"] == BRANCH)):
            outside = np.ones(len(reduced), bool)
            outside[first : proof.skipped[first]] = False
            reduced[field][(reduced[field] == first) & outside & used] = behind
    assumed = np.zeros(len(image.ops) + 1, np.uint8)
    assumed[list(proof.assumed)] = list(proof.assumed.values())
    rows = insns[: len(own)][kept] if kept.any() else insns[:1]
    return ProofArrays(insns, blocks, rows, reduced, assumed)


def texel_bytes(launch: Launch) -> Iterator[int]:
    """The bytes of the texels whose shadow matters; 4, too, which a granule has at most.

    It does where they may be written, or start without values.
    """
    yield 4
    drawn = {a.array for a in launch.args if isinstance(a, Texture) and a.surface}
    drawn |= {*range(len(launch.parameters))}
    for one in launch.args:
        array = launch.args[one.array] if isinstance(one, Texture) else None
        if not isinstance(one, Texture) or not isinstance(array, Array):
            continue
        if one.array in drawn or array.data is None or array.initialized is not None:
            yield one.channels * np.dtype(array.dtype).itemsize


def texture_table(launch: Launch, pointers: dict[int, int]) -> NDArray[np.void]:
    """The table of texture and surface objects; their handles are added to `pointers`."""
    rows: list[tuple[object, ...]] = []
    for index, texture in enumerate(launch.args):
        if isinstance(texture, Texture):
            array = launch.args[texture.array]
            assert isinstance(array, Array)
            buffer = (pointers[texture.array] - GLOBAL_BASE) >> SLOT_BITS
            pointers[index] = c.IMAGE_BASE + (len(rows) << c.IMAGE_SHIFT)
            rows.append(_image_row(texture, array, buffer))
    return np.array([*rows, (0,) * 4 + ((0,) * 3,) + (0,) * 3 + ((0,) * 3,)], c.IMAGE)


def _image_row(texture: Texture, array: Array, buffer: int) -> tuple[object, ...]:
    """The fields of core.h's Image of an object whose array is in the buffer of that number."""
    dtype, extents = np.dtype(array.dtype), texture.extents(array.shape)
    flags = c.IS_SURFACE * texture.surface | c.IS_LINEAR_MEMORY * (texture.memory == "linear")
    flags |= c.IS_FILTERED * texture.interpolated | c.IS_NORMALIZED * texture.normalized
    flags |= c.READS_FLOAT * texture.read_float
    kinds = {"u": c.UNSIGNED_TEXELS, "i": c.SIGNED_TEXELS, "f": c.FLOAT_TEXELS}
    layers = array.shape[0] if texture.layered else 0
    return (
        *(buffer, flags, len(extents), layers),
        (*extents, 1, 1)[:3],
        *(texture.channels, dtype.itemsize, kinds[dtype.kind]),
        [ADDRESS_MODES.index(mode) for mode in (*texture.address, "clamp", "clamp")[:3]],
    )


def address_of(number: int) -> int:
    """The address of a buffer by its number."""
    return GLOBAL_BASE + (number << SLOT_BITS) + SLOT_MIDDLE


def marks(which: Collection[int], count: int) -> NDArray[np.uint8]:
    """A byte for each number below a count, 1 for some; empty where these are none."""
    marks = np.zeros(count if which else 0, np.uint8)
    marks[list(which)] = 1
    return marks


def lane_marks(image: Image, order: int, lone: Collection[int]) -> NDArray[np.uint8]:
    """A byte for each basic block, 1 where lanes run one after the other; empty for all blocks.

    Lanes that have met for a shuffle, a vote or the like execute it together.

    Args:
        image: the code.
        order: the order of lanes; 0 for none.
        lone: the blocks that are asked for; empty for all.
    """
    together, first = set[int](), 0
    for f in image.functions if order else ():
        ends = (b for b in f.blocks if b.end.kind == WARPSYNC and not b.end.flag & ORDERS)
        together |= {first + b.next for b in ends}
        first += len(f.blocks)
    own = {*lone} or ({*range(first)} if together else set[int]())
    return marks(own - together, sum(len(f.blocks) for f in image.functions))


def set_proof(n: c.CLaunch, proof: ProofArrays, representatives: int) -> None:
    """Set the code of a launch by proof; the caller keeps it alive."""
    n.insn, n.block = proof.insns.ctypes.data, proof.blocks.ctypes.data
    n.reduced_insn = proof.reduced_insns.ctypes.data
    n.reduced_block = proof.reduced_blocks.ctypes.data
    n.assumed, n.representatives = proof.assumed.ctypes.data, representatives


class Results:
    """The arrays that one run of the core fills in. Of the last three it says how far they are."""

    def __init__(self, instructions: int, blocks: int, trace: int) -> None:
        self.counters = np.zeros(instructions, c.COUNTER)
        self.visits = np.zeros((2, blocks + 1), np.uint64)
        self.work = np.zeros(1, c.WORK)
        self.reports = np.empty(c.REPORTS, c.REPORT)
        self.accesses = np.empty(trace, c.ACCESS)
        self.printed = np.empty(PRINTED, np.uint8)

    def set_in(self, n: c.CLaunch, *, measures: bool) -> None:
        """Set in a launch's terms where the results are written; the caller keeps them alive."""
        n.reports, n.printed = self.reports.ctypes.data, self.printed.ctypes.data
        n.visits, n.visit_lanes = (row.ctypes.data for row in self.visits)
        n.counter = self.counters.ctypes.data if self.counters.size else None
        n.work = self.work.ctypes.data if self.counters.size and measures else None
        n.trace = self.accesses.ctypes.data if self.accesses.size else None

    def text(self, size: int) -> str:
        """The text that was printed, of so many bytes."""
        note = (
            f"\n[printf: only the first {PRINTED >> 10} KiB are kept]\n" if size > PRINTED else ""
        )
        return self.printed[: min(size, PRINTED)].tobytes().decode(errors="replace") + note
