"""LAUNCH.yaml: one launch of any kernel, its arrays read from .npy files.

kernel: matmul            # needed when the file has more than one kernel
grid: [4, 4]
block: [16, 16]
shared: 0                 # dynamic shared bytes
args:                     # in the kernel's order
  - {in: a.npy}
  - {inout: b.npy, save: b_after.npy}
  - {out: {dtype: float32, shape: [64, 64]}, save: c.npy}
  - {value: 64, dtype: int32}
globals: {mask: mask.npy} # `__constant__` and `__device__` variables
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
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

from grader.arrayfile import read_array
from grader.fault import LabFault
from grader.launch import Argument, Array, Dim3, Launch, Scalar
from grader.yamlfile import Document, read_document

MAX_BYTES = 1 << 30
"""All arrays of a launch together."""

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
    """A key that is not known is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OutModel(Strict):
    """An array that is allocated and starts uninitialised."""

    dtype: Dtype
    shape: tuple[Extent, ...] = Field(max_length=8)


class ArgumentModel(Strict):
    """One argument: exactly one of `in`, `inout`, `out` and `value`."""

    in_: str | None = Field(None, alias="in")
    inout: str | None = None
    out: OutModel | None = None
    value: StrictBool | StrictInt | StrictFloat | None = None
    dtype: Dtype | None = None
    save: SavedName | None = None

    @model_validator(mode="after")
    def _one_role(self) -> Self:
        roles = [r for r in (self.in_, self.inout, self.out, self.value) if r is not None]
        if len(roles) != 1:
            raise ValueError("an argument needs exactly one of `in`, `inout`, `out` and `value`")
        if self.value is None and self.dtype is not None:
            raise ValueError("only a `value` has its `dtype` beside it: a .npy file knows its own")
        if self.value is not None and self.dtype is None:
            raise ValueError("a `value` needs a `dtype`, as in {value: 64, dtype: int32}")
        if self.value is not None and self.save is not None:
            raise ValueError("a `value` cannot be saved: it does not change")
        return self


class LaunchModel(Strict):
    """The keys of LAUNCH.yaml."""

    kernel: str | None = None
    grid: Axes
    block: Axes
    shared: Annotated[StrictInt, Field(ge=0, lt=1 << 31)] = 0
    args: tuple[ArgumentModel, ...] = ()
    globals: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True)
class LaunchFile:
    """A launch file whose arrays have been read. `saves` maps an argument's index to the name of
    the file that its contents go to after the launch."""

    document: Document
    kernel: str | None
    grid: Dim3
    block: Dim3
    shared: int
    arguments: tuple[Argument, ...]
    saves: Mapping[int, str]
    globals: Mapping[str, NDArray[Any]]

    def where(self, *key: str | int) -> str:
        """`file:line: key`, for a fault about that key."""
        return self.document.where(key)

    def launch(self, kernel: str, names: tuple[str, ...] = ()) -> Launch:
        """The launch of that kernel, its arguments called by the parameters' names."""
        arguments = tuple(
            replace(argument, name=name or argument.name)
            for argument, name in zip(
                self.arguments, names or [""] * len(self.arguments), strict=True
            )
        )
        return Launch(kernel, self.grid, self.block, arguments, self.shared, self.globals)


def read_launch(path: Path) -> LaunchFile:
    """Read a launch file and the arrays that it names, relative to it.

    Raises LabFault: a key that is wrong, an array that is missing, too large or no array of
    numbers, a value that its dtype cannot hold.
    """
    document = read_document(path, LaunchModel)
    model: LaunchModel = document.model
    folder = path.parent
    _check_saves(document, model)
    arguments = tuple(
        _argument(document, folder, index, argument) for index, argument in enumerate(model.args)
    )
    arrays = [argument for argument in arguments if isinstance(argument, Array)]
    if sum(_bytes(array.shape, array.dtype) for array in arrays) > MAX_BYTES:
        what = f"the arrays take more than {MAX_BYTES >> 20} MiB together"
        raise LabFault(what, where=document.where(("args",)), mend="try a smaller size")
    return LaunchFile(
        document=document,
        kernel=model.kernel,
        grid=_dim3(model.grid),
        block=_dim3(model.block),
        shared=model.shared,
        arguments=arguments,
        saves={i: a.save for i, a in enumerate(model.args) if a.save},
        globals={
            name: read_array(folder / file, MAX_BYTES, document.where(("globals", name)))
            for name, file in model.globals.items()
        },
    )


def _check_saves(document: Document, model: LaunchModel) -> None:
    """Two arrays in one file would lose the first."""
    seen: set[str] = set()
    for index, argument in enumerate(model.args):
        if argument.save in seen:
            what = f"two arguments are saved to {argument.save}"
            raise LabFault(what, where=document.where(("args", index, "save")))
        if argument.save:
            seen.add(argument.save)


def _argument(document: Document, folder: Path, index: int, model: ArgumentModel) -> Argument:
    key = ("args", index)
    name, kept = f"args[{index}]", model.save is not None
    if model.value is not None and model.dtype is not None:
        return Scalar(name, _number(document, key, model.value, model.dtype), model.dtype)
    if model.out is not None:
        shape, dtype = model.out.shape, model.out.dtype
        if _bytes(shape, dtype) > MAX_BYTES:
            what = f"this array takes more than {MAX_BYTES >> 20} MiB"
            raise LabFault(what, where=document.where((*key, "out", "shape")))
        return Array(name, shape, dtype, read_back=kept)
    role = "in" if model.in_ is not None else "inout"
    data = read_array(
        folder / str(model.in_ or model.inout), MAX_BYTES, document.where((*key, role))
    )
    return Array(name, data.shape, data.dtype.name, data, read_back=kept)


def _number(
    document: Document, key: tuple[str | int, ...], value: int | float | bool, dtype: str
) -> int | float | bool:
    kind = np.dtype(dtype).kind
    if kind == "f":
        return float(value)
    whole = isinstance(value, bool | int) or value.is_integer()
    low, high = (0, 1) if kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    if not whole or not low <= value <= high:
        what = f"{value} is no {dtype}: that is a whole number from {low} to {high}"
        raise LabFault(what, where=document.where((*key, "value")))
    return bool(value) if kind == "b" else int(value)


def _bytes(shape: tuple[int, ...], dtype: str) -> int:
    return prod(shape) * np.dtype(dtype).itemsize


def _dim3(axes: tuple[int, ...]) -> Dim3:
    x, y, z = (*axes, 1, 1)[:3]
    return x, y, z
