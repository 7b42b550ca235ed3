"""The one store of everything that is kept by content: compilations, counters, verdicts, devices.

An entry is a line with its format and a SHA-256, then a JSON text, compressed if it is long. The
digest covers the format, the entry's key and what follows the line, so a damaged, truncated or
misplaced entry is detected and its value is made again. An entry of another format is made again
too. The cache only saves time: without a folder or free space, everything works without it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

MAX_BYTES = 256 << 20
PRUNED_SHARE = 0.75
"""The share of the limit that remains after entries were removed."""

PRUNES = "0"
"""How a key begins whose entry, however small, makes the cache look at its size: one in 16."""

LONG = 64 << 10
"""The bytes of a JSON text above which it is compressed. A kernel with the C++ library has two
million, ten times as many as compressed; reading it takes 12 ms, compiling the kernel 2 s."""

ZLIB = b"x"
"""How compressed data begins, and no JSON text."""

FORMAT = b"warpgrade-cache-2"
"""The first word of an entry; another one means that this version cannot read it."""


def user_folder(name: str = "compiled") -> Path | None:
    """Return `$XDG_CACHE_HOME/warpgrade/NAME`, else `~/.cache/warpgrade/NAME`.

    None when neither exists. A relative XDG_CACHE_HOME is ignored, as its specification demands.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        home = os.environ.get("HOME", "")
        base = f"{home}/.cache" if os.path.isabs(home) else ""
    return Path(base) / "warpgrade" / name if base else None


def cache_key(*parts: Any) -> str:
    """Return the key of the value that these JSON values determine."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def files_below(folder: Path, *suffixes: str) -> list[str]:
    """Return the paths of all files with these suffixes below a folder, sorted.

    pathlib takes five times as long, and keys of the cache depend on hundreds of files.
    """
    walked = os.walk(folder)
    paths = (os.path.join(place, name) for place, _, names in walked for name in names)
    return sorted(path for path in paths if path.endswith(suffixes))


def load(folder: Path | None, key: str) -> Any:
    """Return the value stored under `key`; None when there is none, or it is damaged."""
    if folder is None:
        return None
    path = folder / f"{key}.json"
    try:
        content = _read(path)
    except OSError:
        return None
    head, _, body = content.partition(b"\n")
    if head != _head(key, body):
        return None
    with suppress(OSError):  # a cache that cannot be written can still be read
        os.utime(path)
    try:
        if body.startswith(ZLIB):
            body = zlib.decompressobj().decompress(body, MAX_BYTES)
        return json.loads(body)
    except (ValueError, RecursionError, zlib.error):
        return None


def store(folder: Path | None, key: str, value: Any, max_bytes: int = MAX_BYTES) -> None:
    """Store a JSON value under `key`, completely or not at all.

    Above `max_bytes`, the entries that were not used for the longest time are removed: not at each
    store, because looking at thousands of entries takes longer than to write a small one.
    """
    if folder is None:
        return
    body = json.dumps(value).encode()
    if len(body) > LONG:
        body = zlib.compress(body, level=1)
    with suppress(OSError):  # no free space or no permission: it is not kept
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(folder, f"{key}.json", _head(key, body) + b"\n" + body)
        if key.startswith(PRUNES) or len(body) > max_bytes >> 8:
            _prune(folder, max_bytes)


def _head(key: str, body: bytes) -> bytes:
    digest = hashlib.sha256(b"\0".join((FORMAT, key.encode(), body)))
    return FORMAT + b" " + digest.hexdigest().encode()


def _read(path: Path) -> bytes:
    """Read a regular file of at most MAX_BYTES; a FIFO would block, a device would never end."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise OSError("not an entry")
        return file.read(status.st_size)  # a larger number takes as much memory at once


def _write(folder: Path, name: str, content: bytes) -> None:
    import tempfile  # a check that finds everything here needs no new file

    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, folder / name)
    except BaseException:
        os.unlink(temporary)
        raise


def _prune(folder: Path, max_bytes: int) -> None:
    entries = sorted((e.stat().st_mtime_ns, e.stat().st_size, e.path) for e in os.scandir(folder))
    total = sum(size for _, size, _ in entries)
    if total <= max_bytes:
        return
    for _, size, path in entries:
        if total <= max_bytes * PRUNED_SHARE:
            return
        os.unlink(path)
        total -= size
