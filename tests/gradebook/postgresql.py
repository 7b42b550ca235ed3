"""A real PostgreSQL server in a temporary folder, for a session of tests.

It refuses to run as root, so root starts it as `nobody`; it listens on a Unix socket only, and dies
with the tests that started it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE

NOBODY = 65534


def program(name: str) -> str | None:
    """Where a program of the server is: on the path, or where Debian keeps it."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(versions[-1]) if versions else None)


def _as_user(*words: str) -> list[str]:
    """A command that root hands to nobody, and that is told when this process dies."""
    other = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    who = other if os.getuid() == 0 else []
    return ["setpriv", *who, "--pdeathsig=QUIT", *words]


@contextmanager
def server() -> Iterator[str]:
    """The socket's folder of a running server; user `grader` may do all."""
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    around = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(folder)}
    initdb, postgres = program("initdb"), program("postgres")
    assert initdb and postgres
    data = str(folder / "data")
    made = _as_user(initdb, "-D", data, "-U", "grader", "-A", "trust", "-E", "UTF8", "--no-sync")
    subprocess.run(made, cwd=folder, env=around, check=True, capture_output=True, timeout=PATIENCE)
    fast = ("listen_addresses=", "fsync=off", "full_page_writes=off", "max_connections=120")
    options = ["-k", str(folder), *(word for option in fast for word in ("-c", option))]
    started = subprocess.Popen(
        _as_user(postgres, "-D", data, *options),
        cwd=folder, env=around, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait(folder, started)
        yield str(folder)
    finally:
        started.send_signal(signal.SIGQUIT)
        started.wait(PATIENCE)
        shutil.rmtree(folder)


def _wait(folder: Path, started: subprocess.Popen[bytes]) -> None:
    import psycopg

    end = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(host=str(folder), user="grader", dbname="postgres").close()
            return
        except psycopg.OperationalError:
            assert started.poll() is None, "the server ended"
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.05)


@contextmanager
def copied(folder: str, name: str, template: str = "template0") -> Iterator[str]:
    """The URL of a database, a copy of another, until the block ends: each is 7 MB of files.

    To copy an empty gradebook takes a third of the processor time of the migrations.
    """
    import psycopg

    how = f"TEMPLATE {template} STRATEGY WAL_LOG"
    with psycopg.connect(
        host=folder, user="grader", dbname="postgres", autocommit=True
    ) as connection:
        connection.execute(f"CREATE DATABASE {name} {how}")  # type: ignore[arg-type]
        yield f"postgresql://grader@/{name}?host={folder}"
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]


def new_schema(folder: str, name: str) -> str:
    """The URL of an empty schema."""
    import psycopg

    with psycopg.connect(
        host=folder, user="grader", dbname="postgres", autocommit=True
    ) as connection:
        connection.execute(f"CREATE SCHEMA {name}")  # type: ignore[arg-type]
    return f"postgresql://grader@/postgres?host={folder}&options=-csearch_path%3D{name}"
