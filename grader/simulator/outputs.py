"""What a launch leaves in its outputs, and which of their elements have no value.

The optimizer may store a value where the program has none: of a struct with an unset `short` it
stores the whole word. So the `-G` code says which members of what was stored were never set. The
bytes between members have no value either, and mean nothing: the debug sections have the type that
a parameter points to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.compile.program import Kernel
from grader.launch import Array, Launch
from grader.simulator.core.run import Raw
from grader.simulator.decode.module import Image
from grader.simulator.decode.stack import local_variables

Unset = Mapping[int, NDArray[np.bool_]]
"""By argument: the bytes of members that were never set."""


def unset_members(raw: Raw, image: Image, kernel: Kernel | None) -> Unset:
    """The bytes of new buffers that `-G` code stored without a value, or never, but for padding."""
    new = [b for b in raw.buffers if b.argument is not None and not b.initialized]
    masks = {b.argument: b.unwritten(raw.global_shift) for b in new if b.data.nbytes}
    if kernel is None or image.module is None or not any(m.any() for m in masks.values()):
        return {}
    members = local_variables(image.module.sections).pointed_to(kernel.symbol)
    out: dict[int, NDArray[np.bool_]] = {}
    for number, mask in masks.items():
        inside = members[number] if number is not None and number < len(members) else ()
        if number is not None and inside and mask.any():
            out[number] = mask & np.resize(np.array(inside, bool), mask.size)
    return out


def left_behind(
    launch: Launch, raw: Raw, unset: Unset
) -> tuple[dict[int, NDArray[Any]], dict[int, NDArray[np.bool_]]]:
    """The outputs by argument, and which elements of those that were new have no value.

    Args:
        launch: the launch.
        raw: the run of the optimized code.
        unset: what the `-G` code says.
    """
    outputs: dict[int, NDArray[Any]] = {}
    unwritten: dict[int, NDArray[np.bool_]] = {}
    for b in raw.buffers:
        if b.argument is None:
            continue
        array = launch.args[b.argument]
        if not isinstance(array, Array) or not array.read_back:
            continue
        outputs[b.argument] = b.data.view(array.dtype).reshape(array.shape)
        if b.initialized:
            continue
        item = np.dtype(array.dtype).itemsize
        holes: NDArray[np.bool_] = np.zeros(0, np.bool_)
        if b.data.nbytes:
            holes = np.any(b.unwritten(raw.global_shift).reshape(-1, item), axis=1)
            if b.argument in unset:
                holes = holes | np.all(unset[b.argument].reshape(-1, item), axis=1)
        unwritten[b.argument] = holes.reshape(array.shape)
    return outputs, unwritten
