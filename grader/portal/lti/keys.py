"""The keys with which a course signs what it sends to learning platforms.

They are in `lti-keys.json` beside course.yaml, readable by its owner only: not in the gradebook,
which is copied and exported. A new key is published AHEAD of the time from which it signs: a
platform may hold the set of before. The one that it replaces stays in the set for KEPT after that:
a platform may hold a message that it signed.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from grader import dataclass, replace
from grader.faults import LabFault, MachineFault
from grader.gradebook.database import utc_now

FILE = "lti-keys.json"
AHEAD = timedelta(days=1)
"""How long a new key is published before it signs: longer than platforms keep a copy of the set."""

KEPT = timedelta(days=7)
"""How long a replaced key is published after it has signed for the last time."""

BITS = 2048
ALGORITHM = "RS256"


@dataclass(frozen=True)
class SigningKey:
    """A key of the course, which signs from `signs` until another one does, at `retired`."""

    key: RSAKey
    made: datetime
    signs: datetime
    retired: datetime | None = None

    @property
    def id(self) -> str:
        """The `kid` by which platforms find it."""
        return str(self.key.kid)


class Keys:
    """The keys of the course in a folder; safe to share between threads and processes."""

    def __init__(self, folder: Path, clock: Callable[[], datetime] = utc_now) -> None:
        self._path, self._clock = folder / FILE, clock

    def all(self) -> tuple[SigningKey, ...]:
        """Return the keys that are published, the newest first.

        The first use makes one.

        Raises:
            LabFault: Other users can read the file, or it is not what this module wrote.
            MachineFault: It cannot be read or written.
        """
        if not self._path.exists():
            now = self._clock()
            self._write((_new_key(now, now),), first=True)
        limit = self._clock() - KEPT
        return tuple(one for one in self._read() if one.retired is None or one.retired > limit)

    def signing(self) -> SigningKey:
        """Return the key that signs now. Raises as `all`."""
        keys, now = self.all(), self._clock()
        return next((one for one in keys if one.signs <= now), keys[-1])

    def published(self) -> dict[str, Any]:
        """Return the set of public keys (RFC 7517). Raises as `all`."""
        return {"keys": [_public(one) for one in self.all()]}

    def rotate(self, *, revoke: bool = False) -> SigningKey:
        """Make a new key, which signs after AHEAD. Raises as `all`.

        With `revoke` it signs at once and the others are withdrawn: others may have read them.
        """
        now = self._clock()
        new = _new_key(now, now if revoke else now + AHEAD)
        old = () if revoke else self.all()
        retired = tuple(one if one.retired else replace(one, retired=new.signs) for one in old)
        self._write((new, *retired))
        return new

    def _read(self) -> tuple[SigningKey, ...]:
        try:
            mode = self._path.stat().st_mode
            text = self._path.read_text("utf-8")
        except OSError as error:
            raise MachineFault(
                f"cannot read the keys: {error.strerror}", where=str(self._path)
            ) from None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            what = f"other users may read the course's LTI keys (mode {stat.S_IMODE(mode):o})"
            raise LabFault(what, where=str(self._path), fix=f"chmod 600 {self._path}")
        try:
            found = _parsed(text)
        except (JoseError, ValueError, TypeError, KeyError):
            fix = "Restore the file. Without it, delete it: platforms fetch the new key."
            raise LabFault(
                "the course's LTI keys are damaged", where=str(self._path), fix=fix
            ) from None
        if not found:
            raise LabFault("there is no LTI key in the file", where=str(self._path))
        return found

    def _write(self, keys: tuple[SigningKey, ...], *, first: bool = False) -> None:
        """Replace the file; a first one does not replace that of another process."""
        text = json.dumps(
            [
                {
                    "key": one.key.as_dict(private=True),
                    "made": one.made.isoformat(),
                    "signs": one.signs.isoformat(),
                    "retired": one.retired.isoformat() if one.retired else None,
                }
                for one in keys
            ]
        )
        try:  # mkstemp makes it for the owner only
            number, name = tempfile.mkstemp(prefix=".lti-", dir=self._path.parent)
            with os.fdopen(number, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            if first:
                _link_new(Path(name), self._path)
            else:
                os.replace(name, self._path)
        except OSError as error:
            what = f"cannot write the keys: {error.strerror}"
            raise MachineFault(what, where=str(self._path)) from None


@lru_cache(maxsize=4)
def _parsed(text: str) -> tuple[SigningKey, ...]:
    """Return the keys of a file's text: OpenSSL takes 40 ms to verify each private key."""
    return tuple(
        SigningKey(
            RSAKey.import_key(one["key"]), _moment(one["made"]),
            _moment(one.get("signs", one["made"])),
            _moment(one["retired"]) if one["retired"] else None,
        )
        for one in json.loads(text)
    )  # fmt: skip


def _link_new(written: Path, path: Path) -> None:
    """Give a file its name unless another one has it. Raises OSError."""
    try:
        os.link(written, path)
    except FileExistsError:
        return  # another process was first: its key is the course's
    finally:
        written.unlink()


def _new_key(now: datetime, signs: datetime) -> SigningKey:
    key = RSAKey.generate_key(BITS, {"use": "sig", "alg": ALGORITHM})
    key.ensure_kid()
    return SigningKey(key, now, signs)


def _public(one: SigningKey) -> dict[str, Any]:
    values = dict(one.key.as_dict(private=False))
    return values | {"kid": one.id, "use": "sig", "alg": ALGORITHM}


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
