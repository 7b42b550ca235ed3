"""What is shipped to run the portal: the image, the services, the units, backups, the proxy.

No daemon of Docker is needed: what the files say is compared with what they start. The units are
checked by systemd's own program where there is one.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
import subprocess
import threading
import tomllib
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import yaml

from grader.cli import portal as commands
from grader.faults import LabFault
from grader.gradebook.book import open_gradebook
from grader.gradebook.course import read_course
from grader.gradebook.database import connect
from tests.command import grader
from tests.gradebook.postgresql import program, server
from tests.patience import PATIENCE
from tests.portal.made import COURSE, LAB, Served, source, until, working, write_course

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
COMPOSE: Any = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
PAGE = (ROOT / "handouts" / "deploy.md").read_text()
EXPOSURE = {"warpgrade-server.service": 20, "warpgrade-worker.service": 60}


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile: name and the rest."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2]) for line in lines]


def assert_understood(words: list[str]) -> None:
    """A command of this package, with its options. `--help` is read after them."""
    assert words[0].rpartition("/")[2] == "grader"
    assert grader(*words[1:], "--help").code == 0, words


def test_commands_that_are_started_exist() -> None:
    assert grader("serve", "--nonsense", "--help").code == 2, "wrong options are noticed"
    for unit in UNITS:
        started = re.search(r"^ExecStart=(.*)$", unit.read_text(), re.M)
        assert started
        assert_understood(shlex.split(started[1]))
    for name in ("server", "worker"):
        assert_understood(COMPOSE["services"][name]["command"])
    (command,) = (rest for name, rest in instructions() if name == "CMD")
    assert_understood(yaml.safe_load(command))


def test_commands_on_the_page_exist() -> None:
    found = re.findall(r"(?:^ +|server )grader ((?:\w+ )+)", PAGE, re.M)
    assert len(found) >= 4
    for words in {tuple(text.split()[:2]) for text in found}:
        assert grader(*words, "--help").code == 0, words


def test_the_image_has_what_the_package_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    copied = [rest.split()[:-1] for name, rest in instructions() if name == "COPY"]
    sources = [path for words in copied if "--from=build" not in words for path in words]
    assert all((ROOT / path).exists() for path in sources)
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"}
    assert set(sources) == kept
    needed = {"pyproject.toml", "setup.py", project["readme"], *project["license-files"]}
    assert {*needed, "grader", "labs"} <= kept
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", (ROOT / "Dockerfile").read_text())
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    version = re.findall(r"python:3\.(\d+)-", (ROOT / "Dockerfile").read_text())
    assert len(version) == 2 and set(version) == {"13"}
    assert f"Python :: 3.{version[0]}" in " ".join(project["classifiers"])


def test_the_image_runs_nothing_as_root_and_has_no_compiler() -> None:
    last = max(n for n, (name, _) in enumerate(instructions()) if name == "FROM")
    final = instructions()[last:]
    names = [name for name, _ in final]
    assert dict(final)["USER"] == "grader" and names.index("USER") < names.index("CMD")
    assert not [rest for name, rest in final[names.index("USER") :] if name in ("RUN", "COPY")]
    assert "gcc" not in " ".join(rest for _, rest in final)
    assert "bubblewrap" in " ".join(rest for _, rest in final)


def test_services_reach_what_they_must_and_nothing_else() -> None:
    services = COMPOSE["services"]
    assert [name for name, one in services.items() if "ports" in one] == ["proxy"]
    reach = {name: set(one["networks"]) for name, one in services.items()}
    assert reach["worker"] == reach["database"] == {"back"}
    assert "back" not in reach["proxy"] and reach["server"] >= {"front", "back"}
    networks = COMPOSE["networks"]
    assert networks["back"]["internal"] and networks["front"]["internal"]
    for name in ("server", "worker"):
        assert services[name]["read_only"] and services[name]["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in services["server"]["security_opt"]
    for one in services.values():
        assert set(one.get("secrets", [])) <= set(COMPOSE["secrets"])
        assert set(one.get("depends_on", {})) <= set(services)
        for needed in one.get("depends_on", {}):
            assert "healthcheck" in services[needed]
    assert (DEPLOY / services["server"]["build"] / "Dockerfile").resolve() == ROOT / "Dockerfile"


def test_the_page_trusts_the_proxy_of_the_services() -> None:
    place = COMPOSE["services"]["proxy"]["networks"]["front"]["ipv4_address"]
    (subnet,) = (one["subnet"] for one in COMPOSE["networks"]["front"]["ipam"]["config"])
    assert ip_address(place) in ip_network(subnet)
    assert f"proxies: [{place}]" in PAGE
    assert "reverse_proxy server:8000" in (DEPLOY / "Caddyfile").read_text()
    database = COMPOSE["services"]["database"]["environment"]
    user, name = database["POSTGRES_USER"], database["POSTGRES_DB"]
    assert f"postgresql://{user}@database/{name}" in PAGE and f":{name}:{user}:" in PAGE
    for secret in COMPOSE["secrets"].values():
        assert secret["file"].removeprefix("./") in PAGE


def test_secrets_are_not_sent_to_the_image_or_kept_in_the_repository() -> None:
    assert "deploy" not in (ROOT / ".dockerignore").read_text()
    assert "deploy/secrets/" in (ROOT / ".gitignore").read_text()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_units_are_right_and_hardened(tmp_path: Path) -> None:
    for unit in UNITS:
        here = tmp_path / unit.name
        here.write_text(unit.read_text().replace("/opt/warpgrade/bin/grader", "/bin/true"))
        words = ["systemd-analyze", "verify", "--man=no", str(here)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stderr) == (0, "")
        most = f"--threshold={EXPOSURE[unit.name]}"
        words = ["systemd-analyze", "security", "--offline=true", most, str(here)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stdout[-300:]


def test_a_backup_under_load_is_whole(course: Served, tmp_path: Path) -> None:
    folder, target = course.site.course.folder, tmp_path / "backup.db"
    ada, ben = course.signed_in("ada@example.org"), course.signed_in("ben@example.org")
    first = [int(ada.submit(source(k)).to.rpartition("/")[2]) for k in range(3)]
    ended = threading.Event()

    def load() -> None:
        number = 10
        while not ended.is_set():
            ben.submit(source(number := number + 1))

    with working(course.book, course.site):
        until(lambda: all(course.book.grade(number) for number in first))
        thread = threading.Thread(target=load)
        thread.start()
        try:
            made = grader("portal", "backup", str(target), "--course", str(folder))
        finally:
            ended.set()
            thread.join()
    assert made.code == 0 and target.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.glob("backup*")) == ["backup.db"]
    checked = grader("gradebook", "audit", "--verify", "--db", str(target))
    assert checked.code == 0, checked.err
    restored = open_gradebook(str(target))
    assert [one.id for one in restored.history(LAB, "ada")] == first
    assert all(restored.grade(number) for number in first) and restored.verify().problems == ()
    restored.close()
    data = target.read_bytes()
    again = grader("portal", "backup", str(target), "--course", str(folder))
    assert again.code == 2 and "exists" in again.err and target.read_bytes() == data
    missing = grader("portal", "backup", str(tmp_path / "no" / "x"), "--course", str(folder))
    assert missing.code == 2 and "No such file" in missing.err


def test_a_dump_of_postgresql_is_whole(tmp_path: Path) -> None:
    with server() as folder:
        address = ["-h", folder, "-U", "grader"]
        url = f"postgresql://grader@/{{}}?host={folder}"
        write_course(tmp_path)
        book = open_gradebook(url.format("postgres"))
        book.enroll(read_course(tmp_path).students, "test")
        book.people.add_staff("lead@example.org", "instructor", "test")
        head = book.verify().head
        book.close()
        with pytest.raises(LabFault, match="on a server"):
            connect(url.format("postgres")).backup(tmp_path / "x")
        dump = tmp_path / "course.dump"
        for words in (
            ["pg_dump", *address, "-Fc", "-f", str(dump), "postgres"],
            ["createdb", *address, "restored"],
            ["pg_restore", *address, "-d", "restored", "--clean", "--if-exists"]
            + ["--single-transaction", str(dump)],
        ):
            found = program(words[0])
            assert found
            subprocess.run([found, *words[1:]], check=True, timeout=PATIENCE)
        restored = open_gradebook(url.format("restored"))
        assert restored.verify().problems == () and restored.verify().head == head
        assert restored.people.find("lead@example.org") is not None
        restored.close()


def seen_as(settings: dict[str, Any], sender: str, forwarded: str) -> str:
    """The address that the portal sees, with the settings of the web server."""
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["client"][0])

    config = uvicorn.Config(app, **settings)
    config.load()
    scope: Any = {"type": "http", "client": (sender, 5), "scheme": "http", "path": "/"}
    scope |= {"method": "GET", "headers": [(b"x-forwarded-for", forwarded.encode())]}
    scope |= {"asgi": {"version": "3.0"}, "http_version": "1.1", "query_string": b""}
    asyncio.run(config.loaded_app(scope, None, None))  # type: ignore[arg-type]
    return seen[0]


@pytest.mark.parametrize(
    ("proxies", "sender", "forwarded", "seen"),
    [
        ("", "127.0.0.1", "9.9.9.9", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1", "9.9.9.9", "9.9.9.9"),
        ("172.31.7.2", "127.0.0.1", "9.9.9.9", "127.0.0.1"),
        ("172.31.7.2", "172.31.7.3", "9.9.9.9", "172.31.7.3"),
        ("172.31.7.0/24", "172.31.7.3", "6.6.6.6, 9.9.9.9", "9.9.9.9"),
        ("172.31.7.0/24", "172.31.7.3", "6.6.6.6, 9.9.9.9, 172.31.7.4", "9.9.9.9"),
        ("'2001:db8::/64'", "2001:db8::7", "9.9.9.9", "9.9.9.9"),
    ],
)
def test_only_a_named_proxy_names_an_address(
    proxies: str, sender: str, forwarded: str, seen: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    write_course(tmp_path, f"{COURSE}portal: {{proxies: [{proxies}]}}\n")
    settings: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **given: settings.update(given))
    assert commands.serve(course=tmp_path, jobs=0) == 0
    assert seen_as(settings, sender, forwarded) == seen


@pytest.mark.parametrize("proxies", ["'*'", "0.0.0.0/0", "'::/0'", "localhost", "10.0.0.1/8"])
def test_a_proxy_that_would_be_everybody_is_refused(proxies: str, tmp_path: Path) -> None:
    write_course(tmp_path, f"{COURSE}portal: {{proxies: [{proxies}]}}\n")
    with pytest.raises(LabFault, match="prox"):
        read_course(tmp_path)
