"""Read LAUNCH.yaml: one launch of any kernel, with its arrays in .npy files.

    kernel: matmul            # needed when the file has more than one kernel
    grid: [4, 4]
    block: [16, 16]
    shared: 0                 # dynamic shared bytes
    cooperative: false        # whether grid.sync() may be used
    large_shared: false       # whether the program allows more than 48 KiB (cudaFuncSetAttribute)
    args:                     # in the kernel's order
      - {in: a.npy}
      - {inout: b.npy, save: b_after.npy}
      - {out: {dtype: float32, shape: [64, 64]}, save: c.npy}
      - {value: 64, dtype: int32}
      - {value: [1, 0, 0, 0], dtype: float32}     # a vector such as float4, dim3, or an array
      - {pointer: null}                           # a null pointer
      - {inout: c.npy, initialized: 100}          # only the first 100 elements have values
      - {in: d.npy, initialized: mask.npy}        # only where this array of bool is true
      - struct:                                   # passed by value: its members in order
          data: {in: e.npy}
          size: {value: 64, dtype: int32}
          origin: {value: [0, 0, 0, 0], dtype: float32, align: 16}
      - texture:                                  # a cudaTextureObject_t; axes y, x, or z, y, x
          in: image.npy
          channels: 4                             # 1, 2 or 4: the last axis; 1 has no axis
          layered: false                          # whether the first axis is layers
          memory: array                           # or linear (tex1Dfetch), pitch (2D)
          address: [wrap, clamp]                  # or border, mirror; one, or x, y, z
          filter: linear                          # or point
          normalized: true                        # whether coordinates are from 0 to 1
          read: normalized                        # integers become floats up to 1; or element
      - surface: {inout: image.npy, save: b.npy}  # a cudaSurfaceObject_t; in, inout or out
      - texture: {of: 1}                          # of the memory of args[1], an array or object
    globals: {mask: mask.npy} # `__constant__` and `__device__` variables

A structure is laid out as C++ does it; `align` raises the alignment of a member or of a structure.
Outputs, which no order of the threads may change, are the arrays with `save`; without any, all but
those that are `in`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, replace
from grader.faults import LabFault
from grader.labs.files import Document, read_document
from grader.launch import Argument, Array, Dim3, Launch, Packed, Scalar, Texture
from grader.submissions.files import read_array
from grader.submissions.launch_schema import (
    ArgumentModel,
    LaunchModel,
    ObjectModel,
    TextureModel,
)

MAX_BYTES = 1 << 30
"""All arrays of a launch together."""

POINTER_BYTES = 8


@dataclass(frozen=True)
class LaunchFile:
    """A launch file whose arrays have been read.

    Attributes:
        arguments: The arguments; the last `hidden` are the arrays that structures point to.
        saves: By argument index, the name of the file for the array after the launch.
        structures: By argument index, the dtype of an array of structures, which the launch has as
            bytes: its last axis is one structure.
    """

    document: Document
    kernel: str | None
    grid: Dim3
    block: Dim3
    shared: int
    arguments: tuple[Argument, ...]
    saves: Mapping[int, str]
    globals: Mapping[str, NDArray[Any]]
    cooperative: bool = False
    large_shared: bool = False
    hidden: int = 0
    structures: Mapping[int, np.dtype[Any]] = field(default_factory=dict)

    def where(self, *key: str | int) -> str:
        """Return `file:line: key`, for a fault about that key."""
        return self.document.where(key)

    def launch(self, kernel: str, names: tuple[str, ...] = ()) -> Launch:
        """Return the launch of a kernel, its arguments named after the kernel's parameters."""
        given = len(self.arguments) - self.hidden
        names = names or ("",) * given
        own = [
            replace(argument, name=name or argument.name)
            for argument, name in zip(self.arguments[:given], names, strict=True)
        ]
        hidden = [replace(a, name=_renamed(a.name, names)) for a in self.arguments[given:]]
        return Launch(
            kernel,
            self.grid,
            self.block,
            (*own, *hidden),
            self.shared,
            self.globals,
            cooperative=self.cooperative,
            large_shared=self.large_shared,
            hidden=self.hidden,
        )


def _renamed(name: str, names: tuple[str, ...]) -> str:
    """The name of an array in a structure, "args[2].data", with the parameter's name if known."""
    head, dot, member = name.partition(".")
    return f"{names[int(head[5:-1])] or head}{dot}{member}"


def read_launch(path: Path) -> LaunchFile:
    """Read a launch file and the arrays that it names, relative to its folder.

    Raises:
        LabFault: A key is wrong, an array is missing, too large or not an array of numbers, or a
            value does not fit its dtype.
    """
    document = read_document(path, LaunchModel)
    model: LaunchModel = document.model
    saves = any(one.save for _, _, one in _every(model))
    reader = _Reader(document, path.parent, len(model.args), saves)
    _check_saves(document, model)
    given = [reader.argument(("args", k), f"args[{k}]", a) for k, a in enumerate(model.args)]
    reader.share_arrays(given, given)
    reader.share_arrays(reader.hidden, given)
    arguments = (*given, *reader.hidden)
    arrays = [argument for argument in arguments if isinstance(argument, Array)]
    if sum(array.nbytes for array in arrays) > MAX_BYTES:
        what = f"the arrays take more than {MAX_BYTES >> 20} MiB together"
        raise LabFault(what, where=document.where(("args",)), fix="use a smaller size")
    names = {a.name: index for index, a in enumerate(arguments) if isinstance(a, Array)}
    return LaunchFile(
        document=document,
        kernel=model.kernel,
        grid=_dim3(model.grid),
        block=_dim3(model.block),
        shared=model.shared,
        cooperative=model.cooperative,
        large_shared=model.large_shared,
        arguments=arguments,
        saves={names[name]: a.save for _, name, a in _every(model) if a.save},
        globals={
            name: _plain(read_array(path.parent / file, MAX_BYTES, where), where)
            for name, file in model.globals.items()
            if (where := document.where(("globals", name)))
        },
        hidden=len(reader.hidden),
        structures={names[name]: dtype for name, dtype in reader.structures.items()},
    )


Key = tuple[str | int, ...]


def _every(model: LaunchModel) -> Iterator[tuple[Key, str, ArgumentModel | ObjectModel]]:
    """The key and the name of each argument, each member of a structure, and each surface."""
    work: list[tuple[Key, str, ArgumentModel]] = [
        (("args", k), f"args[{k}]", a) for k, a in enumerate(model.args)
    ]
    while work:
        key, name, one = work.pop(0)
        yield key, name, one
        work += [((*key, "struct", m), f"{name}.{m}", a) for m, a in (one.struct or {}).items()]
        if one.surface is not None:
            yield (*key, "surface"), name, one.surface


def _check_saves(document: Document, model: LaunchModel) -> None:
    """Refuse one file for two arrays: the second would overwrite the first."""
    names: set[str] = set()
    for key, _, argument in _every(model):
        if argument.save in names:
            what = f"two arguments are saved to {argument.save}"
            raise LabFault(what, where=document.where((*key, "save")))
        if argument.save:
            names.add(argument.save)


def _plain(array: NDArray[Any], where: str) -> NDArray[Any]:
    """The array, whose elements must be plain numbers."""
    if array.dtype.fields is not None:
        raise LabFault(
            "this array has structures as elements", where=where, fix="use plain numbers"
        )
    return array


class _Reader:
    """Reads the arguments of a launch file; collects the arrays that structures point to.

    With `saves`, outputs are the arrays that are saved; else all that a kernel may write.
    """

    def __init__(self, document: Document, folder: Path, arguments: int, saves: bool) -> None:
        self.document, self.folder, self.arguments = document, folder, arguments
        self.saves = saves
        self.hidden: list[Argument] = []
        self.shared: dict[str, tuple[Key, ObjectModel]] = {}
        self.structures: dict[str, np.dtype[Any]] = {}

    def argument(self, key: Key, name: str, model: ArgumentModel) -> Argument:
        """Read one argument."""
        if model.value is not None and model.dtype and not isinstance(model.value, tuple):
            return Scalar(name, self.number(key, model.value, model.dtype), model.dtype)
        if (
            model.value is not None
            or model.struct is not None
            or "pointer" in model.model_fields_set
        ):
            return Packed(name, *self.packed(key, name, model))
        if model.texture is not None or model.surface is not None:
            return self.texture(key, name, model)
        return self.array(key, name, model)

    def texture(self, key: Key, name: str, model: ArgumentModel) -> Texture:
        """Read a texture or surface object; an array of its own becomes a hidden argument."""
        one: ObjectModel | None = model.texture or model.surface
        assert one is not None
        key = (*key, "texture" if model.texture else "surface")
        made = Texture(name, -1, model.surface is not None)
        made = replace(made, channels=one.channels or 1, layered=bool(one.layered))
        if isinstance(one, TextureModel):
            made = _sampled(made, one)
        if one.of is not None:
            self.shared[name] = (key, one)
            return made
        self.hidden.append(self.array(key, name, one))
        return replace(made, array=self.arguments + len(self.hidden) - 1)

    def share_arrays(self, arguments: list[Argument], given: list[Argument]) -> None:
        """Give the objects among `arguments` that are `of` one of `given` its array."""
        for index, texture in enumerate(arguments):
            if not isinstance(texture, Texture) or texture.name not in self.shared:
                continue
            key, model = self.shared[texture.name]
            other = given[model.of] if model.of is not None and model.of < len(given) else None
            where = self.document.where((*key, "of"))
            if isinstance(other, Array) and model.of is not None:
                if texture.surface:
                    what = "a surface needs a CUDA array, and an array argument is linear memory"
                    raise LabFault(what, where=where, fix="name the args index of a surface")
                axes = len(texture.extents(other.shape))
                memory: Literal["linear", "pitch"] = "linear" if axes == 1 else "pitch"
                own = replace(texture, array=model.of, memory=memory)
            elif isinstance(other, Texture) and other.array >= 0:
                own = replace(texture, array=other.array, memory=other.memory)
                own = replace(own, channels=other.channels, layered=other.layered)
            else:
                fix = "name an array, or an object before this one, by its place in args (from 0)"
                raise LabFault(f"args[{model.of}] has no texels", where=where, fix=fix)
            self.check_same(texture, own, model, where)
            arguments[index] = own

    def check_same(self, asked: Texture, own: Texture, model: ObjectModel, where: str) -> None:
        """Refuse keys that differ from those of the object whose array is shared."""
        differing = [k for k in ("channels", "layered") if getattr(model, k) is not None
                     and getattr(asked, k) != getattr(own, k)]  # fmt: skip
        if isinstance(model, TextureModel) and model.memory not in (None, own.memory):
            differing.append("memory")
        if differing:
            what = f"`{differing[0]}` differs from that of args[{model.of}], whose array it shares"
            raise LabFault(what, where=where, fix=f"leave out `{differing[0]}`")

    def packed(
        self, key: Key, name: str, model: ArgumentModel
    ) -> tuple[bytes, int, tuple[tuple[int, int], ...]]:
        """Return the bytes of a value, its alignment, and the offset and array of each pointer."""
        if model.value is not None and model.dtype:
            values = model.value if isinstance(model.value, tuple) else (model.value,)
            numbers = [self.number(key, value, model.dtype) for value in values]
            data = np.array(numbers, model.dtype).tobytes()
            return data, max(np.dtype(model.dtype).itemsize, model.align or 1), ()
        if model.struct is not None:
            return self.structure(key, name, model.struct, model.align or 1)
        if "pointer" in model.model_fields_set:
            return bytes(POINTER_BYTES), POINTER_BYTES, ()
        is_object = model.texture is not None or model.surface is not None
        one = self.texture(key, name, model) if is_object else self.array(key, name, model)
        self.hidden.append(one)
        index = self.arguments + len(self.hidden) - 1
        return bytes(POINTER_BYTES), POINTER_BYTES, ((0, index),)

    def structure(
        self, key: Key, name: str, members: Mapping[str, ArgumentModel], align: int
    ) -> tuple[bytes, int, tuple[tuple[int, int], ...]]:
        """Lay out a structure by the rules of C++; returns as `packed`."""
        out = bytearray()
        pointers: list[tuple[int, int]] = []
        for member, model in members.items():
            data, own, inside = self.packed((*key, "struct", member), f"{name}.{member}", model)
            out += bytes(-len(out) % own)
            pointers += [(len(out) + at, index) for at, index in inside]
            out += data
            align = max(align, own)
        out += bytes(-len(out) % align)
        return bytes(out), align, tuple(pointers)

    def array(self, key: Key, name: str, model: ArgumentModel | ObjectModel) -> Array:
        """Read or make an array."""
        read_back = model.save is not None if self.saves else model.in_ is None
        if model.out is not None:
            made = Array(name, model.out.shape, model.out.dtype, read_back=read_back)
            if made.nbytes > MAX_BYTES:
                what = f"this array takes more than {MAX_BYTES >> 20} MiB"
                raise LabFault(what, where=self.document.where((*key, "out", "shape")))
            return made
        where = self.document.where((*key, "in" if model.in_ is not None else "inout"))
        data = read_array(self.folder / str(model.in_ or model.inout), MAX_BYTES, where)
        mask = self.mask(key, model.initialized, data.shape)
        if data.dtype.fields is not None:
            self.structures[name] = data.dtype
            data = data[..., np.newaxis].view(np.uint8)
            mask = None if mask is None else np.repeat(mask[..., np.newaxis], data.shape[-1], -1)
        return Array(name, data.shape, data.dtype.name, data, read_back, mask)

    def mask(
        self, key: Key, given: int | str | None, shape: tuple[int, ...]
    ) -> NDArray[np.bool_] | None:
        """Return which elements have values; None for all."""
        where = self.document.where((*key, "initialized"))
        if given is None:
            return None
        if isinstance(given, int):
            if given > prod(shape):
                what = f"{given} elements are initialized, and the array has {prod(shape)}"
                raise LabFault(what, where=where)
            return (np.arange(prod(shape)) < given).reshape(shape)
        mask = read_array(self.folder / given, MAX_BYTES, where)
        if mask.dtype != np.bool_ or mask.shape != shape:
            what = f"{given} has shape {mask.shape} and dtype {mask.dtype}"
            fix = f"save an array of bool of shape {shape}, true where the array has values"
            raise LabFault(what, where=where, fix=fix)
        return mask

    def number(self, key: Key, value: int | float | bool, dtype: str) -> int | float | bool:
        """Return a value that its dtype can hold. Raises LabFault."""
        kind = np.dtype(dtype).kind
        if kind == "f":
            return float(value)
        whole = isinstance(value, bool | int) or value.is_integer()
        low, high = (0, 1) if kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        if not whole or not low <= value <= high:
            what = f"{value} is not a valid {dtype}: use a whole number from {low} to {high}"
            raise LabFault(what, where=self.document.where((*key, "value")))
        return bool(value) if kind == "b" else int(value)


def _sampled(texture: Texture, model: TextureModel) -> Texture:
    """The texture with what the launch file says of its memory and its fetches."""
    address = model.address or "clamp"
    return replace(
        texture,
        memory=model.memory or "array",
        address=(address,) * 3 if isinstance(address, str) else address,
        interpolated=model.filter == "linear",
        normalized=bool(model.normalized),
        read_float=model.read == "normalized",
    )


def _dim3(axes: tuple[int, ...]) -> Dim3:
    x, y, z = (*axes, 1, 1)[:3]
    return x, y, z
