"""Read LAUNCH.yaml: one launch of any kernel, with its arrays in .npy files.

    kernel: matmul            # needed when the file has more than one kernel
    grid: [4, 4]
    block: [16, 16]
    shared: 0                 # dynamic shared bytes
    cooperative: false        # whether grid.sync() may be used
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
    globals: {mask: mask.npy} # `__constant__` and `__device__` variables

A structure is laid out as C++ does it; `align` raises the alignment of a member or of a structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    model_validator,
)

from grader import dataclass
from grader.faults import LabFault
from grader.labs.files import Document, read_document
from grader.launch import Argument, Array, Dim3, Launch, Packed, Scalar
from grader.submissions.files import read_array

MAX_BYTES = 1 << 30
"""All arrays of a launch together."""

POINTER_BYTES = 8

Dtype = Literal["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                "float16", "float32", "float64"]  # fmt: skip
Extent = Annotated[StrictInt, Field(ge=0, lt=1 << 32)]


def _axes(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ValueError(f"must be a list of 1 to 3 whole numbers, such as [16, 16], not `{value}`")
    if not 1 <= len(value) <= 3:
        raise ValueError(f"must be 1 to 3 whole numbers (x, y, z), not {len(value)}")
    return value


def _saved(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\.npy", name):
        raise ValueError(
            f"must be a file name that ends in .npy, such as c.npy, without a folder, not `{name}`"
        )
    return name


Axes = Annotated[tuple[Extent, ...], BeforeValidator(_axes)]
SavedName = Annotated[str, AfterValidator(_saved)]


class Strict(BaseModel):
    """Base model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OutModel(Strict):
    """An array that is allocated and starts uninitialized."""

    dtype: Dtype
    shape: tuple[Extent, ...] = Field(max_length=8)


Number = StrictBool | StrictInt | StrictFloat
Alignment = Literal[1, 2, 4, 8, 16, 32, 64, 128]


class ArgumentModel(Strict):
    """One argument, or one member of a structure: exactly one of the keys of ROLES."""

    in_: str | None = Field(None, alias="in")
    inout: str | None = None
    out: OutModel | None = None
    value: Number | Annotated[tuple[Number, ...], Field(min_length=1, max_length=512)] | None = None
    struct: dict[str, ArgumentModel] | None = Field(None, min_length=1)
    pointer: None = None
    dtype: Dtype | None = None
    save: SavedName | None = None
    initialized: Annotated[StrictInt, Field(ge=0)] | str | None = None
    align: Alignment | None = None

    @model_validator(mode="after")
    def _one_role(self) -> Self:
        roles = [r for r in ROLES if getattr(self, r) is not None]
        roles += ["pointer"] if "pointer" in self.model_fields_set else []
        if len(roles) != 1:
            raise ValueError(
                "an argument needs exactly one of `in`, `inout`, `out`, `value`, `struct` and "
                "`pointer: null`"
            )
        is_array = roles[0] in ("in_", "inout", "out")
        if self.value is None and self.dtype is not None:
            raise ValueError("only a `value` takes a `dtype`: a .npy file contains its own")
        if self.value is not None and self.dtype is None:
            raise ValueError("a `value` needs a `dtype`, as in {value: 64, dtype: int32}")
        if not is_array and self.save is not None:
            raise ValueError(f"a `{roles[0]}` cannot be saved: it does not change")
        if roles[0] not in ("in_", "inout") and self.initialized is not None:
            raise ValueError("only `in` and `inout` take `initialized`: an `out` has no values")
        if roles[0] not in ("value", "struct") and self.align is not None:
            raise ValueError("only a `value` and a `struct` take `align`")
        return self


ROLES = ("in_", "inout", "out", "value", "struct")
"""The fields of an argument that say what it is; `pointer` is the sixth."""


class LaunchModel(Strict):
    """The keys of LAUNCH.yaml."""

    kernel: str | None = None
    grid: Axes
    block: Axes
    shared: Annotated[StrictInt, Field(ge=0, lt=1 << 31)] = 0
    cooperative: StrictBool = False
    args: tuple[ArgumentModel, ...] = ()
    globals: dict[str, str] = Field(default_factory=dict)


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
            hidden=self.hidden,
        )


def _renamed(name: str, names: tuple[str, ...]) -> str:
    """The name of an array in a structure, "args[2].data", with the parameter's name if known."""
    head, _, member = name.partition(".")
    return f"{names[int(head[5:-1])] or head}.{member}"


def read_launch(path: Path) -> LaunchFile:
    """Read a launch file and the arrays that it names, relative to its folder.

    Raises:
        LabFault: A key is wrong, an array is missing, too large or not an array of numbers, or a
            value does not fit its dtype.
    """
    document = read_document(path, LaunchModel)
    model: LaunchModel = document.model
    reader = _Reader(document, path.parent, len(model.args))
    _check_saves(document, model)
    given = [reader.argument(("args", k), f"args[{k}]", a) for k, a in enumerate(model.args)]
    arguments = (*given, *reader.hidden)
    arrays = [argument for argument in arguments if isinstance(argument, Array)]
    if sum(array.nbytes for array in arrays) > MAX_BYTES:
        what = f"the arrays take more than {MAX_BYTES >> 20} MiB together"
        raise LabFault(what, where=document.where(("args",)), fix="use a smaller size")
    names = {argument.name: index for index, argument in enumerate(arguments)}
    return LaunchFile(
        document=document,
        kernel=model.kernel,
        grid=_dim3(model.grid),
        block=_dim3(model.block),
        shared=model.shared,
        cooperative=model.cooperative,
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


def _every(model: LaunchModel) -> Iterator[tuple[Key, str, ArgumentModel]]:
    """The key and the name of each argument and each member of a structure."""
    work: list[tuple[Key, str, ArgumentModel]] = [
        (("args", k), f"args[{k}]", a) for k, a in enumerate(model.args)
    ]
    while work:
        key, name, one = work.pop(0)
        yield key, name, one
        work += [((*key, "struct", m), f"{name}.{m}", a) for m, a in (one.struct or {}).items()]


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
    """Reads the arguments of a launch file; collects the arrays that structures point to."""

    def __init__(self, document: Document, folder: Path, arguments: int) -> None:
        self.document, self.folder, self.arguments = document, folder, arguments
        self.hidden: list[Array] = []
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
        return self.array(key, name, model)

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
        self.hidden.append(self.array(key, name, model))
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

    def array(self, key: Key, name: str, model: ArgumentModel) -> Array:
        """Read or make an array."""
        read_back = model.save is not None
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


def _dim3(axes: tuple[int, ...]) -> Dim3:
    x, y, z = (*axes, 1, 1)[:3]
    return x, y, z
