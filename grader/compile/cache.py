"""Cache JSON values on disk under the digest of everything that determines them.

The compilation of a source is determined by its text, the options and the compiler. An entry is
JSON text after its own SHA-256, so that a truncated or edited entry is detected and computed again.
The cache only saves time: without a folder or without disk space, everything works without it.
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
PRUNED_SHARE = 0.75
"""The share of the limit that remains after entries were removed."""
_DIGEST = 64


def user_folder() -> Path | None:
    """Return the user's cache folder; None when the environment names none.

    It is `$XDG_CACHE_HOME/warpgrade/compiled`, else `~/.cache/warpgrade/compiled`.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # XDG Base Directory Specification: ignore relative ones
        home = os.environ.get("HOME", "")
        base = f"{home}/.cache" if os.path.isabs(home) else ""
    return Path(base) / "warpgrade" / "compiled" if base else None


def cache_key(*parts: Any) -> str:
    """Return the key of the value that these JSON values determine."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def load(folder: Path | None, key: str) -> Any:
    """Return the value stored under `key`; None when there is none or it is damaged."""
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
    """Store a JSON value under `key` atomically.

    Above `max_bytes` in the folder, the least recently used entries are removed.
    """
    if folder is None:
        return
    body = json.dumps(value).encode()
    with suppress(OSError):  # no space or no permission: the value is not stored
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
        if total <= max_bytes * PRUNED_SHARE:
            return
        os.unlink(path)
        total -= size
