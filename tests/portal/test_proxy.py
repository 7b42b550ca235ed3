"""The web servers in front: our files for them, and requests through their real programs.

Caddy and nginx are tried where they are installed (Debian's packages `caddy` and `nginx-light`),
without TLS, on free ports of this machine.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from grader.portal.requests import HEADERS, MAX_BODY
from tests.command import PATIENCE
from tests.portal.made import LAB, Served, Visit, until
from tests.portal.test_stream import stream, submitted

DEPLOY = Path(__file__).parents[2] / "deploy"
PROGRAMS = [name for name in ("caddy", "nginx") if shutil.which(name)]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def settings_of(name: str, port: int, served: int, folder: Path) -> tuple[list[str], str]:
    """Our file with other addresses and without TLS; the command that starts it."""
    program, file = shutil.which(name) or name, folder / name
    if name == "caddy":
        text = (DEPLOY / "Caddyfile").read_text().replace("server:8000", f"127.0.0.1:{served}")
        text = "{\n\tadmin off\n\tauto_https off\n}\n" + text
        return [program, "run", "--adapter", "caddyfile", "--config", str(file)], text
    text = (DEPLOY / "nginx.conf").read_text().replace("127.0.0.1:8000", f"127.0.0.1:{served}")
    text = re.sub(r"\tssl_certificate.*\n", "", text).split("\nserver {\n\tlisten 80;")[0]
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    user = "user root;\n" if os.geteuid() == 0 else ""
    head = f"{user}daemon off;\npid {folder}/pid;\nerror_log {folder}/errors;\n"
    http = f"http {{\naccess_log off;\n{places}{text}}}\n"
    return [program, "-c", str(file), "-p", str(folder)], f"{head}events {{}}\n{http}"


@contextmanager
def proxied(name: str, served: int, folder: Path) -> Iterator[int]:
    """Run a web server in front of a port until the block ends."""
    folder.mkdir()
    port = free_port()
    words, text = settings_of(name, port, served, folder)
    (folder / name).write_text(text)
    places = {key: str(folder) for key in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    own = {**os.environ, **places, "SITE": f":{port}"}
    process = subprocess.Popen(words, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: listens(port) or process.poll() is not None)
        assert process.poll() is None, f"{name} does not start with our file"
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


def seen_from(folder: Path, name: str) -> str:
    """The address that the portal's settings take a visitor for, who claims another one."""
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append(scope["client"][0])
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    server = uvicorn.Server(
        uvicorn.Config(
            app, port=0, log_level="critical", lifespan="off", proxy_headers=True,
            forwarded_allow_ips=["127.0.0.1"],
        )
    )  # fmt: skip
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        with proxied(name, server.servers[0].sockets[0].getsockname()[1], folder) as port:
            assert Visit(port).get("/", X_Forwarded_For="9.9.9.9").code == 204
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
    return seen[0]


def test_the_files_take_more_than_the_server() -> None:
    """The server's own answer says how large a file may be."""
    caddy = re.search(r"max_size (\d+)MiB", (DEPLOY / "Caddyfile").read_text())
    nginx = re.search(r"client_max_body_size (\d+)m;", (DEPLOY / "nginx.conf").read_text())
    assert caddy and nginx and MAX_BODY < int(caddy[1]) << 20 == int(nginx[1]) << 20


def test_requests_go_through_the_web_servers(course: Served, tmp_path: Path) -> None:
    """Headers, events as they come, uploads up to our limit, and nobody's word on an address."""
    for name in PROGRAMS:
        with proxied(name, course.port, tmp_path / name) as port:
            number, ada = submitted(course), course.signed_in("ada@example.org")
            front = Visit(port)
            front.cookie = ada.cookie
            page = front.get(f"/labs/{LAB}")
            assert page.code == 200, name
            for key, value in HEADERS:
                assert page.headers.get_all(key.decode()) == [value.decode()], (name, key)
            with stream(front, f"/submissions/{number}/events") as own:
                assert "event: queued" in own.until("event: queued"), "while it is open"
                course.book.progress.add(number, "step", step="compile", number=1, steps=2)
                assert "event: step" in own.until("event: step"), name
            form = front.form_token()
            most = front.upload(f"/labs/{LAB}/submissions", "a.cu", b"x" * (8 << 20), form=form)
            assert most.code == 422, "the server itself says why it is no source"
            more = front.upload(f"/labs/{LAB}/submissions", "a.cu", b"x" * MAX_BODY, form=form)
            assert (more.code, "at most 8 MiB" in more.text) == (413, True), name
            much = front.upload(f"/labs/{LAB}/submissions", "a.cu", b"x" * (11 << 20), form=form)
            assert much.code in (413, 502), "Caddy before 2.7 answers 502"
        assert seen_from(tmp_path / f"{name}-address", name) == "127.0.0.1", name


@pytest.mark.parametrize("name", ["Caddyfile", "nginx.conf"])
def test_the_page_names_the_file(name: str) -> None:
    page = (DEPLOY.parent / "handouts" / "deploy.md").read_text()
    assert f"deploy/{name}" in page
