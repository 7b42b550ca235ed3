"""Compilations kept by content: the same source, options and compiler give the same text.

An entry is a JSON text after its own SHA-256, so that a torn or edited one is seen and made anew.
The cache only ever saves time: where there is no folder for it, or no room, all works without.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

MAX_BYTES = 256 << 20
KEPT_AFTER_PRUNING = 0.75
_DIGEST = 64


def user_folder() -> Path | None:
    """`$XDG_CACHE_HOME/warpgrade`, else `~/.cache/warpgrade`; None when neither can be had."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification: relative ones are to be ignored
        home = os.environ.get("HOME", "")
        base = f"{home}/.cache" if os.path.isabs(home) else ""
    return Path(base) / "warpgrade" / "compiled" if base else None


def key_of(*parts: Any) -> str:
    """The name of what these JSON values determine."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def load(folder: Path | None, key: str) -> Any:
    """The value stored under `key`; None when there is none that is whole."""
    if folder is None:
        return None
    path = folder / f"{key}.json"
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, body = content[:_DIGEST], content[_DIGEST:]
    if hashlib.sha256(body).hexdigest().encode() != digest:
        return None
    with suppress(OSError):  # a cache that cannot be written can still be read
        os.utime(path)
    return json.loads(body)


def store(folder: Path | None, key: str, value: Any, max_bytes: int = MAX_BYTES) -> None:
    """Keep a JSON value under `key`, whole or not at all, and drop the longest unused entries
    above `max_bytes`.
    """
    if folder is None:
        return
    body = json.dumps(value).encode()
    with suppress(OSError):  # no room, no right: then it is not kept
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(folder, f"{key}.json", hashlib.sha256(body).hexdigest().encode() + body)
        _prune(folder, max_bytes)


def _write(folder: Path, name: str, content: bytes) -> None:
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
        if total <= max_bytes * KEPT_AFTER_PRUNING:
            return
        os.unlink(path)
        total -= size
