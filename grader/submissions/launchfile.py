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
    globals: {mask: mask.npy} # `__constant__` and `__device__` variables

The .npy files may be of unknown origin: they are read as plain numbers or refused, and never
unpickled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, Self

import numpy as np
from numpy.lib import format as npy
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

from grader.faults import LabFault
from grader.labs.files import Document, read_document
from grader.launch import Argument, Array, Dim3, Launch, Scalar

MAX_BYTES = 1 << 30
"""All arrays of a launch together."""

DTYPES = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
)
"""The dtypes that an argument may have."""

_DTYPE_OF = {
    "bool": "bool",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "size_t": "uint64",
    "uint": "uint32",
    "uchar": "uint8",
    "ushort": "uint16",
}
_DTYPE_OF |= {f"{name}_t": name for name in DTYPES if "int" in name}
_QUALIFIERS = ("const", "volatile", "restrict", "__restrict__", "__restrict", "signed", "struct")


def element_type(c_type: str) -> str | None:
    """Return the NumPy dtype of a C type, or of what it points to: "const float*" -> "float32".

    None for a type that is not a plain number, such as a struct or a vector.
    """
    words = [word for word in c_type.replace("*", " ").split() if word not in _QUALIFIERS]
    unsigned = "unsigned" in words
    words = [word for word in words if word != "unsigned"]
    if len(words) > 1 and words[-1] == "int":
        words.pop()
    if not words or len(words) > 2 or (len(words) == 2 and words != ["long", "long"]):
        return "uint32" if unsigned and not words else None
    name = _DTYPE_OF.get(words[0])
    return f"u{name}" if unsigned and name and name.startswith("int") else name


def is_compatible(c_type: str, dtype: str) -> bool:
    """Return whether an argument of that dtype can be passed as the C type.

    Signed and unsigned integers of one size are compatible, and a type that is not a plain number
    accepts any dtype.
    """
    name = element_type(c_type)
    if name is None:
        return True
    wanted, given = np.dtype(name), np.dtype(dtype)
    return wanted.itemsize == given.itemsize and (wanted.kind == "f") == (given.kind == "f")


_MAGIC = npy.MAGIC_PREFIX


def read_array(path: Path, most: int, where: str = "") -> NDArray[Any]:
    """Read the array in a .npy file, in C order and the machine's byte order.

    Args:
        path: The file.
        most: The largest size in bytes.
        where: The key that names the file, for messages.

    Raises:
        LabFault: There is no such file, or it is not a .npy file, larger than `most`, truncated, or
            not an array of plain numbers.
    """
    if not path.is_file():
        what = f"{path} is a folder" if path.is_dir() else f"there is no file {path}"
        raise LabFault(
            what, where=where, fix="write the file name relative to the folder of the YAML file"
        )
    try:
        with path.open("rb") as file:
            _check_header(path, file, most, where)
            file.seek(0)
            array = npy.read_array(file, allow_pickle=False)
    except OSError as error:
        raise LabFault(f"cannot read {path}: {error.strerror}", where=where) from None
    except (ValueError, EOFError, SyntaxError) as error:
        what = f"{path} is a damaged .npy file: {str(error).splitlines()[0]}"
        raise LabFault(what, where=where, fix="write it again with numpy.save") from None
    native: NDArray[Any] = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return native.reshape(array.shape)


def _check_header(path: Path, file: BinaryIO, most: int, where: str) -> None:
    """Refuse a file by its header, before any of its data is read."""
    if file.read(len(_MAGIC)) != _MAGIC:
        what = f"{path} is not a .npy file"
        raise LabFault(what, where=where, fix="write one with numpy.save(file, array)")
    file.seek(0)
    read = (
        npy.read_array_header_1_0 if npy.read_magic(file) == (1, 0) else npy.read_array_header_2_0
    )
    shape, _, dtype = read(file)
    if dtype.hasobject:
        what = f"{path} holds pickled Python objects, which are never loaded"
        raise LabFault(what, where=where, fix="save an array of plain numbers")
    if dtype.name not in DTYPES:
        what = f"{path} has dtype {dtype}, which no kernel argument can have"
        raise LabFault(what, where=where, fix=f"use one of {', '.join(DTYPES)}")
    if prod(shape) * dtype.itemsize > most:
        what = f"{path} of shape {shape} takes more than {most >> 20} MiB"
        raise LabFault(what, where=where, fix="use a smaller size")


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
            raise ValueError("only a `value` takes a `dtype`: a .npy file contains its own")
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
    cooperative: StrictBool = False
    args: tuple[ArgumentModel, ...] = ()
    globals: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True)
class LaunchFile:
    """A launch file whose arrays have been read.

    `saves` has, by argument index, the name of the file for the array after the launch.
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

    def where(self, *key: str | int) -> str:
        """Return `file:line: key`, for a fault about that key."""
        return self.document.where(key)

    def launch(self, kernel: str, names: tuple[str, ...] = ()) -> Launch:
        """Return the launch of a kernel, its arguments named after the kernel's parameters."""
        arguments = tuple(
            replace(argument, name=name or argument.name)
            for argument, name in zip(
                self.arguments, names or [""] * len(self.arguments), strict=True
            )
        )
        return Launch(
            kernel,
            self.grid,
            self.block,
            arguments,
            self.shared,
            self.globals,
            cooperative=self.cooperative,
        )


def read_launch(path: Path) -> LaunchFile:
    """Read a launch file and the arrays that it names, relative to its folder.

    Raises:
        LabFault: A key is wrong, an array is missing, too large or not an array of numbers, or a
            value does not fit its dtype.
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
        raise LabFault(what, where=document.where(("args",)), fix="use a smaller size")
    return LaunchFile(
        document=document,
        kernel=model.kernel,
        grid=_dim3(model.grid),
        block=_dim3(model.block),
        shared=model.shared,
        cooperative=model.cooperative,
        arguments=arguments,
        saves={i: a.save for i, a in enumerate(model.args) if a.save},
        globals={
            name: read_array(folder / file, MAX_BYTES, document.where(("globals", name)))
            for name, file in model.globals.items()
        },
    )


def _check_saves(document: Document, model: LaunchModel) -> None:
    """Refuse one file for two arrays: the second would overwrite the first."""
    names: set[str] = set()
    for index, argument in enumerate(model.args):
        if argument.save in names:
            what = f"two arguments are saved to {argument.save}"
            raise LabFault(what, where=document.where(("args", index, "save")))
        if argument.save:
            names.add(argument.save)


def _argument(document: Document, folder: Path, index: int, model: ArgumentModel) -> Argument:
    key = ("args", index)
    name, read_back = f"args[{index}]", model.save is not None
    if model.value is not None and model.dtype is not None:
        return Scalar(name, _number(document, key, model.value, model.dtype), model.dtype)
    if model.out is not None:
        shape, dtype = model.out.shape, model.out.dtype
        if _bytes(shape, dtype) > MAX_BYTES:
            what = f"this array takes more than {MAX_BYTES >> 20} MiB"
            raise LabFault(what, where=document.where((*key, "out", "shape")))
        return Array(name, shape, dtype, read_back=read_back)
    role = "in" if model.in_ is not None else "inout"
    data = read_array(
        folder / str(model.in_ or model.inout), MAX_BYTES, document.where((*key, role))
    )
    return Array(name, data.shape, data.dtype.name, data, read_back=read_back)


def _number(
    document: Document, key: tuple[str | int, ...], value: int | float | bool, dtype: str
) -> int | float | bool:
    kind = np.dtype(dtype).kind
    if kind == "f":
        return float(value)
    whole = isinstance(value, bool | int) or value.is_integer()
    low, high = (0, 1) if kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    if not whole or not low <= value <= high:
        what = f"{value} is not a valid {dtype}: use a whole number from {low} to {high}"
        raise LabFault(what, where=document.where((*key, "value")))
    return bool(value) if kind == "b" else int(value)


def _bytes(shape: tuple[int, ...], dtype: str) -> int:
    return prod(shape) * np.dtype(dtype).itemsize


def _dim3(axes: tuple[int, ...]) -> Dim3:
    x, y, z = (*axes, 1, 1)[:3]
    return x, y, z
