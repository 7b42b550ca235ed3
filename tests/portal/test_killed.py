"""Kill -9 of server and workers: what was answered is stored, and graded once."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import func, select

from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.course import read_course
from grader.gradebook.tables import attempt
from tests import processes
from tests.command import Begun
from tests.patience import PATIENCE
from tests.portal.made import LAB, Visit, source, until, write_course

PORTAL = ("grader.cli.portal", "grader.portal.app", "grader.portal.worker", "uvicorn")
"""What the commands import that are killed here: most of a second of processor time each."""

KILLS = int(os.environ.get("WARPGRADE_KILLS", "4"))


def free_port() -> int:
    """A port that nobody has now, and that is given to nobody who asks for any."""
    while True:
        number = random.SystemRandom().randrange(20000, 30000)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", number))
            except OSError:
                continue
            return number


def start(*words: str) -> Begun:
    """Start `grader serve` or `grader worker`."""
    return Begun(*words, modules=PORTAL)


def kill(process: Begun) -> None:
    with suppress(ProcessLookupError):  # it has been killed, and its group with it
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def answers(visit: Visit) -> bool:
    try:
        return visit.get("/healthy").code == 200
    except OSError:
        return False


def submitted(visit: Visit, number: int) -> int | None:
    """Submit until it is answered; None when the server was killed before."""
    try:
        reply = visit.upload(f"/api/v1/labs/{LAB}/submissions", "a.cu", source(number))
    except OSError:
        return None
    assert reply.code in (201, 429), reply.text
    return int(reply.json["id"]) if reply.code == 201 else None


def accepted(book: Gradebook, number: int) -> int:
    """How many attempts of a submission were accepted."""
    mine = (attempt.c.submission == number) & (attempt.c.state == "accepted")
    with book._database.reading() as connection:
        return int(connection.execute(select(func.count()).where(mine)).scalar_one())


@pytest.mark.parametrize("victim", ["server", "worker"])
def test_what_was_answered_is_graded_once(victim: str, tmp_path: Path) -> None:
    write_course(tmp_path)
    course = read_course(tmp_path)
    book = open_gradebook(course.gradebook)
    book.enroll(course.students, "test")
    port, visits = free_port(), []
    for name in ("ada", "ben", "cyd"):  # three: a person may submit 30 times in 10 minutes
        person = book.people.find(f"{name}@example.org")
        assert person is not None
        token = book.people.new_token(person.who, "t", ("read", "submit"), "")
        visits.append(Visit(port, token))
    serve = ("serve", "--course", str(tmp_path), "--port", str(port), "--jobs", "0")
    work = ("worker", "--course", str(tmp_path), "--jobs", "1", "--on", "sim")
    server, worker = start(*serve), start(*work)
    stored: set[int] = set()
    chance = random.Random(victim)
    try:
        for k in range(KILLS):
            until(lambda: answers(visits[0]))
            for number in range(3):
                if (one := submitted(visits[number], 10 * k + number)) is not None:
                    stored.add(one)
            time.sleep(chance.uniform(0, 0.8))
            if victim == "server":
                kill(server)
                server = start(*serve)
            else:
                kill(worker)
                worker = start(*work)
        for number in sorted(stored):  # each in its time: 25 kills leave a long queue
            until(lambda number=number: book.grade(number))
    finally:
        kill(server)
        kill(worker)
    assert len(stored) == 3 * KILLS
    assert {accepted(book, number) for number in stored} == {1}
    kinds = [event.kind for event in book.progress.after(0) if event.kind == "graded"]
    assert len(kinds) == len(stored)
    assert book.verify().problems == ()
    book.close()


def workers_of(book: Gradebook) -> dict[int, str]:
    """The state of each worker that was heard of, by its process."""
    health = book.workers.health([LAB], Path("."))
    return {int(one.pid): one.status for one in health.workers}


def test_a_server_starts_its_worker_again_and_takes_it_along(tmp_path: Path) -> None:
    """A worker that is killed is replaced, and one whose server is killed ends."""
    write_course(tmp_path)
    book = open_gradebook(read_course(tmp_path).gradebook)
    words = ("serve", "--course", str(tmp_path), "--port", str(free_port()), "--jobs", "1")
    server = start(*words)
    until(lambda: "idle" in workers_of(book).values())
    (first,) = workers_of(book)
    os.kill(first, signal.SIGKILL)
    until(lambda: set(workers_of(book)) - {first})
    (second,) = set(workers_of(book)) - {first}
    kill(server)
    until(lambda: not processes.is_running(second))
    book.close()


def test_an_upload_that_never_ends_does_not_keep_a_server(tmp_path: Path) -> None:
    write_course(tmp_path)
    course = read_course(tmp_path)
    book = open_gradebook(course.gradebook)
    book.enroll(course.students, "test")
    person = book.people.find("ada@example.org")
    assert person is not None
    port = free_port()
    token = book.people.new_token(person.who, "t", ("read", "submit"), "")
    server = start("serve", "--course", str(tmp_path), "--port", str(port), "--jobs", "0")
    until(lambda: answers(Visit(port)))
    with socket.create_connection(("127.0.0.1", port)) as slow:
        lines = [f"POST /api/v1/labs/{LAB}/submissions HTTP/1.1", "Host: x", "Expect: 100-continue"]
        lines += [f"Authorization: Bearer {token}", "Content-Length: 100"]
        lines += ["Content-Type: multipart/form-data; boundary=x"]
        slow.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        assert slow.recv(12) == b"HTTP/1.1 100", "the server waits for the body"
        os.kill(server.pid, signal.SIGTERM)
        server.wait(PATIENCE)
    book.close()
