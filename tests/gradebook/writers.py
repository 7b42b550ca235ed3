"""Many processes that grade one class at once, each for itself, with leases far too short.

    python -m tests.gradebook.writers URL WRITERS SUBMISSIONS [--unfenced]

Prints one JSON line: how often each submission was claimed, accepted, and finished by a writer that
had lost it, as the writers saw it.
`--unfenced` is the wrong twin: it accepts by the number of the attempt alone, as if a lease could
not run out, and needs a database without the constraints that would refuse it.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter

from sqlalchemy import text

from grader.gradebook.book import Claim, Gradebook, open_gradebook
from grader.gradebook.database import is_sqlite
from grader.gradebook.values import grade_digest
from tests.gradebook.made import NOON, a_grade
from tests.patience import PATIENCE

LAB, KEY = "tiled", "key"
LEASE = 0.05
"""Seconds: shorter than some of the work, so that workers lose their claims all the time."""


class Unfenced(Gradebook):
    """Accepts whatever finishes: nobody asks whether the claim still stands."""

    def accept(self, claim: Claim, grade_json: object) -> bool:
        change = text(
            "UPDATE attempt SET state = 'accepted', grade_json = :made, grade_sha256 = :digest,"
            " ended = :now WHERE id = :id"
        )
        made = json.dumps(grade_json)
        digest = grade_digest(claim.attempt, made)
        values = {"made": made, "digest": digest, "now": str(NOON), "id": claim.attempt}
        with self._database.writing() as connection:
            connection.execute(change, values)
        return True


def warm_up(book: Gradebook) -> None:
    """Use every statement once: what is compiled here, no child compiles again."""
    stored = book.submit("warm", "nobody", "f.cu", b"", received=NOON)
    for end in (book.release, lambda claim: book.accept(claim, a_grade())):
        claim = book.claim(stored.id, KEY, "warm", LEASE)
        assert claim
        end(claim)
    book.wanted(LAB, KEY)


def drop_constraints(book: Gradebook) -> None:
    """What the database itself would refuse is let through: only the code's fence is left out."""
    with book._database.writing() as connection:
        connection.execute(text("DROP INDEX uq_attempt_kept"))
        connection.execute(text("DROP INDEX uq_attempt_running"))
        if is_sqlite(connection):
            for verb in ("insert", "replace", "accepted"):
                connection.execute(text(f"DROP TRIGGER attempt_kept_{verb}"))


def write(book: Gradebook, seed: int) -> tuple[Counter[int], Counter[int], Counter[int]]:
    """Grade until nothing is wanted any more: what this writer claimed, what was accepted, and
    what it was too late for.
    """
    dice = random.Random(seed)
    claimed: Counter[int] = Counter()
    accepted: Counter[int] = Counter()
    late: Counter[int] = Counter()
    start = time.monotonic()
    while todo := list(book.wanted(LAB, KEY)):
        took = time.monotonic() - start
        assert took < PATIENCE, "the class is never done"
        one = dice.choice(todo)
        # A name without a process: leases alone decide, as between machines. They grow slowly,
        # for on a busy machine nobody would ever be in time.
        claim = book.claim(one.id, KEY, f"writer {seed}", LEASE + took / 20)
        if claim is None:
            time.sleep(LEASE)
            continue
        claimed[one.id] += 1
        if seed % 2 and claimed.total() == 1:
            wait_until_graded(book, one.id)
        else:
            time.sleep(dice.choice([0, 0.01, 4 * LEASE]))
        if dice.random() < 0.1:
            book.release(claim)
        elif book.accept(claim, a_grade(float(seed % 10))):
            accepted[one.id] += 1
        else:
            late[one.id] += 1
    return claimed, accepted, late


def wait_until_graded(book: Gradebook, stored_id: int) -> None:
    """Sleep at work until another has taken the submission over and finished it."""
    end = time.monotonic() + PATIENCE
    while stored_id in {stored.id for stored in book.wanted(LAB, KEY)}:
        assert time.monotonic() < end, "nobody takes over"
        time.sleep(LEASE)


def child(book: Gradebook, seed: int, pipe: int, gate: int) -> None:
    """One writer with connections of its own, from the moment that all stand ready."""
    os.read(gate, 1)
    counts = [dict(counter) for counter in write(book, seed)]
    with os.fdopen(pipe, "w") as stream:
        json.dump(counts, stream)


def main(url: str, writers: int, submissions: int, unfenced: bool) -> None:
    opened = open_gradebook(url)
    book = Unfenced(opened._database) if unfenced else opened
    for number in range(submissions):
        book.submit(LAB, f"student {number}", "f.cu", b"%d" % number, received=NOON)
    warm_up(book)
    if unfenced:
        drop_constraints(book)
    book.close()
    gate, opens = os.pipe()
    pipes = []
    for seed in range(writers):
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.close(opens)
            child(book, seed, writing, gate)
            os._exit(0)
        os.close(writing)
        pipes.append(reading)
    os.close(opens)
    totals: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    for pipe in pipes:
        with os.fdopen(pipe) as stream:
            for total, counts in zip(totals, json.load(stream), strict=True):
                total.update(counts)
    for _ in range(writers):
        os.wait()
    print(json.dumps(dict(zip(("claimed", "accepted", "late"), totals, strict=True))))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), "--unfenced" in sys.argv)
