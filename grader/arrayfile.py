""".npy files of unknown origin: read as plain numbers or refused, never unpickled."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from grader.elementtype import DTYPES
from grader.fault import LabFault

_MAGIC = npy.MAGIC_PREFIX


def read_array(path: Path, most: int, where: str = "") -> NDArray[Any]:
    """The array in a .npy file, in C order and the machine's byte order.

    `most` is the largest size in bytes; `where` says which key named the file. Raises LabFault:
    no such file, not a .npy file, larger than `most`, cut short, or no plain numbers.
    """
    if not path.is_file():
        what = f"{path} is a folder" if path.is_dir() else f"there is no file {path}"
        raise LabFault(what, where=where, mend="file names are relative to the YAML file's folder")
    try:
        with path.open("rb") as file:
            _check_header(path, file, most, where)
            file.seek(0)
            array = npy.read_array(file, allow_pickle=False)
    except OSError as error:
        raise LabFault(f"cannot read {path}: {error.strerror}", where=where) from None
    except (ValueError, EOFError, SyntaxError) as error:
        what = f"{path} is not a sound .npy file: {str(error).splitlines()[0]}"
        raise LabFault(what, where=where, mend="write it again with numpy.save") from None
    native: NDArray[Any] = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return native.reshape(array.shape)


def _check_header(path: Path, file: BinaryIO, most: int, where: str) -> None:
    """Refuse by the header, before a byte of the data is read."""
    if file.read(len(_MAGIC)) != _MAGIC:
        what = f"{path} is not a .npy file"
        raise LabFault(what, where=where, mend="write one with numpy.save(file, array)")
    file.seek(0)
    read = (
        npy.read_array_header_1_0 if npy.read_magic(file) == (1, 0) else npy.read_array_header_2_0
    )
    shape, _, dtype = read(file)
    if dtype.hasobject:
        what = f"{path} holds pickled Python objects, which are never loaded"
        raise LabFault(what, where=where, mend="save an array of plain numbers")
    if dtype.name not in DTYPES:
        what = f"{path} has dtype {dtype}, which no kernel argument has"
        raise LabFault(what, where=where, mend=f"one of {', '.join(DTYPES)}")
    if prod(shape) * dtype.itemsize > most:
        what = f"{path} of shape {shape} takes more than {most >> 20} MiB"
        raise LabFault(what, where=where, mend="try a smaller size")
