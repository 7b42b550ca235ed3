"""Messages between a child and its caller: one JSON value and named arrays in anonymous memory.

A message is in a memfd, so there is no file name to guess, no link to follow and nothing to
clean up: the kernel frees it with its last descriptor. Layout:

    8 bytes   length of the header, little endian
    header    JSON: {"nonce", "value", "arrays": [[name, dtype, shape, offset], ...]}
    arrays    raw C-order elements, each at a multiple of 64 bytes

The kernel limits the size (F_SEAL_GROW), and a message is read only once it can no longer change
(F_SEAL_WRITE), so a reader can map it without copying. NumPy is imported only when there are
arrays: a child that compiles does not need it.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ALIGNMENT = 64
_PREFIX = 8
_NUMBERS = "biufc"  # dtype kinds that are plain numbers; never objects


class MessageError(ValueError):
    """The bytes are not a message, or not the expected one."""


class MessageTooLarge(MessageError):
    """The contents need more bytes than the receiver accepts."""


def create_memory(name: str, size: int | None = None) -> int:
    """Return a descriptor of new anonymous memory; with `size` it can neither grow nor shrink."""
    fd = os.memfd_create(f"warpgrade-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    if size is not None:
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return fd


def seal_memory(fd: int) -> None:
    """Make the contents final.

    Raises:
        OSError: A process still has them mapped for writing.
    """
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE)


def write_message(
    fd: int,
    nonce: str,
    value: Any,
    arrays: Mapping[str, NDArray[Any]],
    capacity: int | None = None,
) -> None:
    """Write a message to the descriptor `fd`.

    Raises:
        TypeError: `value` is not JSON, or an array has elements that are not numbers.
        ValueError: `value` is not JSON.
        MessageTooLarge: The message needs more than `capacity` bytes.
    """
    blocks = {name: _contiguous(array) for name, array in arrays.items()}
    index: list[list[Any]] = []
    offset = 0
    for name, block in blocks.items():
        index.append([name, block.dtype.str, list(block.shape), offset])
        offset = _aligned(offset + block.nbytes)
    header = json.dumps({"nonce": nonce, "value": value, "arrays": index}).encode()
    start = _aligned(_PREFIX + len(header))
    if capacity is not None and start + offset > capacity:
        raise MessageTooLarge(f"{start + offset} bytes, at most {capacity} are accepted")
    _write_at(fd, memoryview(len(header).to_bytes(_PREFIX, "little") + header), 0)
    for (_, _, _, at), block in zip(index, blocks.values(), strict=True):
        if block.nbytes:
            _write_at(fd, block.reshape(-1).view("uint8").data, start + at)
    if os.fstat(fd).st_size < start + offset:
        os.ftruncate(fd, start + offset)


def read_message(fd: int, nonce: str | None = None) -> tuple[str, Any, dict[str, NDArray[Any]]]:
    """Return the nonce, value and arrays of the message in `fd`.

    The arrays are private, writable maps.

    Raises:
        MessageError: The message is malformed, or its nonce is not `nonce`.
    """
    size = os.fstat(fd).st_size
    if size < _PREFIX:
        raise MessageError("nothing was written")
    block = mmap.mmap(fd, size, access=mmap.ACCESS_COPY)
    length = int.from_bytes(block[:_PREFIX], "little")
    if not 0 < length <= size - _PREFIX:
        raise MessageError("nothing was written")
    header = _header(block[_PREFIX : _PREFIX + length])
    if nonce is not None and header["nonce"] != nonce:
        raise MessageError("the nonce is not that of this call")
    start = _aligned(_PREFIX + length)
    arrays = {row[0]: _array(block, start, row) for row in header["arrays"]}
    return header["nonce"], header["value"], arrays


def _contiguous(array: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    block = np.ascontiguousarray(array).reshape(np.shape(array))
    if block.dtype.kind not in _NUMBERS:
        raise TypeError(f"an array of {block.dtype} cannot be sent between processes")
    return block


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _write_at(fd: int, data: memoryview, offset: int) -> None:
    while data:
        done = os.pwrite(fd, data, offset)
        data, offset = data[done:], offset + done


def _header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessageError("the header is not JSON") from error
    if not isinstance(header, dict) or set(header) != {"nonce", "value", "arrays"}:
        raise MessageError("the header does not have exactly the keys nonce, value, arrays")
    if not isinstance(header["nonce"], str) or not isinstance(header["arrays"], list):
        raise MessageError("a key of the header has the wrong type")
    return header


def _array(block: mmap.mmap, start: int, row: Any) -> NDArray[Any]:
    import numpy as np

    try:
        name, dtype_text, shape, offset = row
        dtype = np.dtype(str(dtype_text))
        count = int(np.prod(shape, dtype=object))
        if dtype.kind not in _NUMBERS or min([offset, *shape]) < 0 or not isinstance(name, str):
            raise MessageError("an array's description is not that of an array of numbers")
        flat: NDArray[Any] = np.frombuffer(block, dtype, count, start + offset if count else 0)
        return flat.reshape(shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise MessageError("an array's description does not fit its bytes") from error
