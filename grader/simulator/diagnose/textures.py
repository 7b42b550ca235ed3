"""Explain what is wrong with the use of a texture or surface object, and name texels."""

from __future__ import annotations

import numpy as np

from grader.launch import Array, Finding, Launch, Texture
from grader.simulator.core import bindings as c
from grader.simulator.diagnose.places import access_word
from grader.simulator.diagnose.races import STORE, Report, Target

_C_TYPES = {
    "int8": "char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
}


def texel_index(launch: Launch, argument: int, item: int) -> str:
    """The indices of an item of an array that is an object's alone: `[3][7]`; empty for others."""
    objects = [a for a in launch.args if isinstance(a, Texture) and a.array == argument]
    array = launch.args[argument]
    alone = argument >= len(launch.parameters) and objects
    if not alone or not isinstance(array, Array):
        return ""
    if not 0 <= item < np.prod(array.shape, dtype=object):
        return ""
    return "".join(f"[{k}]" for k in np.unravel_index(item, array.shape))


def object_target(launch: Launch, names: tuple[str, ...], number: int, fault: int) -> Target:
    """The object of that number, by the name of its parameter; without a name if there is none."""
    objects = [(k, a) for k, a in enumerate(launch.args) if isinstance(a, Texture)]
    if fault == c.NO_OBJECT or number >= len(objects):
        return Target("global", "", "", "", 0, 0)
    index, texture = objects[number]
    array = launch.args[texture.array]
    assert isinstance(array, Array)
    name = names[index] if index < len(names) else texture.name
    texel = texture.channels * np.dtype(array.dtype).itemsize
    extents = " x ".join(map(str, array.shape))
    row = texture.extents(array.shape)[0] * texel
    return Target("global", name, name, f"{extents} {array.dtype}", number, row)


def object_finding(r: Report, launch: Launch) -> Finding:
    """The finding of an object that an instruction cannot use, or of a place that is not in it."""
    own = access_word(r.has(STORE), atomic=False)
    what, hint = _explained(r, launch, own)
    return Finding(
        "invalid-access", "error", what, space="global", access=own, variable=r.target.name,
        hint=hint,
    )  # fmt: skip


def _explained(r: Report, launch: Launch, own: str) -> tuple[str, str]:
    """The message and the hint."""
    if r.extra == c.NO_OBJECT:
        return (
            f"{own} through {r.address:#x}, which is no texture or surface object",
            "Pass the object that the launch created as it is: a cudaTextureObject_t or "
            "cudaSurfaceObject_t is a handle, neither a pointer nor an index.",
        )
    objects = [a for a in launch.args if isinstance(a, Texture)]
    texture = objects[r.target.offset]
    array = launch.args[texture.array]
    assert isinstance(array, Array)
    if r.extra == c.OTHER_OBJECT:
        is_a = "surface" if texture.surface else "texture"
        return (
            f"`{r.target.name}` is a {is_a} object, and this call is for the other kind",
            f"Use {_functions(texture, array)} for `{r.target.name}`.",
        )
    if r.extra == c.OTHER_SHAPE:
        return (
            f"`{r.target.name}` is {_shape(texture, array)}, and this call is for another shape",
            f"Use {_functions(texture, array)} for `{r.target.name}`.",
        )
    if r.extra == c.OTHER_TYPE:
        return _type(r, texture, array)
    if r.extra == c.NO_LAYER:
        return (
            f"{own} of layer {r.address} of `{r.target.name}`, which has {array.shape[0]} layers",
            "Compare the layer with the number of layers before this line.",
        )
    return _place(r, own, texture.extents(array.shape))


def _type(r: Report, texture: Texture, array: Array) -> tuple[str, str]:
    """The message and the hint of a fetch as another type than the texels have."""
    call = _functions(texture, array)
    if array.dtype.startswith("float") or texture.read_float:
        return (
            f"`{r.target.name}` gives floating-point numbers, and this call reads integers",
            f"Use {call}<float>, or the type with as many channels.",
        )
    return (
        f"`{r.target.name}` has {array.dtype} texels, and this call reads them as float",
        f"Use {call}<{_C_TYPES[array.dtype]}>, or let the texture convert to numbers up to 1 "
        "(cudaReadModeNormalizedFloat, `read: normalized`).",
    )


def _place(r: Report, own: str, extents: tuple[int, ...]) -> tuple[str, str]:
    """The message and the hint of an access outside a surface, or at a part of an element."""
    x, y = (r.address & 0xFFFFFFFF ^ 1 << 31) - (1 << 31), (r.address >> 32 ^ 1 << 31) - (1 << 31)
    size = f"{r.bytes} byte{'s' * (r.bytes != 1)}"
    if r.extra == c.UNALIGNED_X:
        return (
            f"{own} of {size} in surface `{r.target.name}` at x = {x}: x counts bytes, and is "
            f"no multiple of {r.bytes}",
            "Multiply the x index by the size of the element, as in x * sizeof(float). y and z "
            "count rows and planes.",
        )
    place = f"x = {x} bytes" + (f", y = {y}" if len(extents) > 1 else "")
    in_row = 0 <= x <= r.target.size - r.bytes
    in_plane = in_row and (len(extents) < 2 or 0 <= y < extents[1])
    place += f" and a z that is not 0 to {extents[2] - 1}" if in_plane else ""
    what = f"out-of-bounds {own} of {size} at {place} in surface `{r.target.name}`"
    what += f" ({r.target.extent}: rows of {r.target.size} bytes)"
    if not in_row:
        return what, (
            f"Compare x with the width before this line. x counts bytes: the last element of a "
            f"row is at x = {max(r.target.size - r.bytes, 0)}."
        )
    axis = (
        "y with the height" if len(extents) > 1 and not 0 <= y < extents[1] else "z with the depth"
    )
    return what, f"Compare {axis} before this line."


def _shape(texture: Texture, array: Array) -> str:
    dims = len(texture.extents(array.shape))
    if texture.memory == "linear":
        return "a texture of linear memory"
    kind = "surface" if texture.surface else "texture"
    return f"a {kind} of {dims} dimension{'s' * (dims > 1)}{', with layers' * texture.layered}"


def _functions(texture: Texture, array: Array) -> str:
    """CUDA's functions for an object: "tex2D", "surf2Dread and surf2Dwrite"."""
    dims = f"{len(texture.extents(array.shape))}D{'Layered' * texture.layered}"
    if texture.surface:
        return f"surf{dims}read and surf{dims}write"
    return "tex1Dfetch" if texture.memory == "linear" else f"tex{dims}"
