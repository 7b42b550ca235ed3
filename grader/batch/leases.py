"""The claims on what is being graded, renewed while it is."""

from __future__ import annotations

import threading

from grader.fault import MachineFault
from grader.gradebook.book import Claim, Gradebook

LEASE = 60.0
"""Seconds. Others take a submission over when its grader has said nothing for so long, as one on
another machine that has died does; one of this machine they know to be dead at once."""


class Leases:
    """A thread that renews every claim it was given, thrice a lease. A database that fails
    meanwhile stops nothing: what is late is told when the grade is to be kept."""

    def __init__(self, book: Gradebook, lease: float = LEASE) -> None:
        self._book, self._lease = book, lease
        self._claims: dict[int, Claim] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="leases", daemon=True)

    def __enter__(self) -> Leases:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop renewing, and give back what is still held: nobody need wait for it."""
        self._ended.set()
        self._thread.join()
        for claim in self._claims.values():
            self._book.release(claim)

    def claim(self, number: int, key: str, worker: str, proposal: str) -> bool:
        """Claim a submission for as long as it takes; False when it cannot be had."""
        claim = self._book.claim(number, key, worker, self._lease, proposal=proposal)
        if claim is None:
            return False
        with self._lock:
            self._claims[number] = claim
        return True

    def end(self, number: int) -> Claim:
        """The claim, which is renewed no more."""
        with self._lock:
            return self._claims.pop(number)

    def _renew(self) -> None:
        while not self._ended.wait(self._lease / 3):
            with self._lock:
                claims = list(self._claims.values())
            for claim in claims:
                try:
                    self._book.renew(claim, self._lease)
                except MachineFault:
                    break  # tried again in a third of a lease
