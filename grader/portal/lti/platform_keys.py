"""The public keys of the platforms, fetched with limits and kept by the address of their set.

A key that the kept set does not have is looked for once more: platforms change keys. What others
send can so make the server ask a platform, but not more often than NEW_KEYS_SECONDS allows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey, import_key

from grader import dataclass
from grader.portal.lti.refusals import Refused
from grader.portal.openid import ProviderFault, fetch, require_safe

ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512")
"""Signatures with a public key: `none` and HMAC would make everybody a platform."""

SET_SECONDS = 3600.0
NEW_KEYS_SECONDS = 10.0
"""Seconds between two looks for a key that the kept set does not have."""

MIN_RSA_BITS = 2048
MAX_KEYS = 100
Key = RSAKey | ECKey


@dataclass(frozen=True)
class _Set:
    keys: Mapping[str, Key]
    read: float


class PlatformKeys:
    """The keys of all platforms of a course; safe to share between threads.

    Args:
        ask: Returns the JSON object at an address; raises ProviderFault.
        clock: Returns seconds of a clock that never goes back.
    """

    def __init__(
        self, ask: Callable[[str], Mapping[str, Any]] = fetch,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._ask, self._clock = ask, clock
        self._sets: dict[str, _Set] = {}
        self._lock = threading.Lock()

    def find(self, address: str, kid: str) -> Key:
        """Return the key of a set by its ID.

        Raises:
            Refused: There is none, or the set cannot be read.
        """
        with self._lock:
            kept = self._sets.get(address)
        age = SET_SECONDS if kept is not None and kid in kept.keys else NEW_KEYS_SECONDS
        if kept is None or self._clock() - kept.read >= age:
            kept = self._read(address)
        if kid not in kept.keys:
            raise Refused("kid-unknown")
        return kept.keys[kid]

    def _read(self, address: str) -> _Set:
        try:
            found = self._ask(require_safe(address))
        except ProviderFault:
            raise Refused("keys-unreachable") from None
        made = _Set(_public_keys(found.get("keys")), self._clock())
        with self._lock:
            self._sets[address] = made
        return made


def _public_keys(given: object) -> Mapping[str, Key]:
    """Return the keys that can verify signatures; private and weak ones are left out."""
    keys: dict[str, Key] = {}
    for one in given[:MAX_KEYS] if isinstance(given, list) else ():
        if not isinstance(one, dict) or one.get("use", "sig") != "sig" or "d" in one:
            continue
        kid = one.get("kid")
        if not isinstance(kid, str) or one.get("kty") not in ("RSA", "EC"):
            continue
        try:
            key = import_key(one)
        except (JoseError, ValueError, TypeError, KeyError):
            continue  # a curve that this version does not know
        weak = isinstance(key, RSAKey) and key.raw_value.key_size < MIN_RSA_BITS
        if isinstance(key, Key) and not weak:
            keys[kid] = key
    return keys
