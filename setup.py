"""Build the C core of the simulator; everything else is in pyproject.toml.

The core is a plain shared library, which Python loads with ctypes. It needs a C compiler, but no
Python headers. On x86-64 a second library is built for processors with AVX2; the choice between the
two is made when the core is loaded.
"""

from __future__ import annotations

import os
import platform
import runpy
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

CORE = Path("grader/simulator/core")
FLAGS = [
    *shlex.split("-std=c11 -fPIC -ffp-contract=off -fno-strict-aliasing -pthread"),
    f"-I{CORE}",
]
FAST = ["-O3"]
RARE = ["-O1"]
"""For processors that hardly any machine has: compiling takes 8 s of processor time less."""
AVX2 = shlex.split("-mavx2 -mfma -mbmi -mbmi2 -mlzcnt -mf16c")
NO_COMPILER = """\
the simulator is written in C, but the C compiler `{}` was not found.
  Install one (Debian and Ubuntu: sudo apt-get install gcc libc6-dev; Fedora: sudo dnf install gcc),
  or set CC to your compiler. Then run the same command again."""


class BuildCore(build_ext):
    """Compile the core with $CC or cc."""

    def get_ext_filename(self, fullname: str) -> str:
        """Return the file name of the library, without a Python version."""
        return fullname.replace(".", os.sep) + ".so"

    def build_extension(self, ext: Extension) -> None:
        """Build one library, unless it is newer than its sources."""
        target = Path(self.get_ext_fullpath(ext.name))
        if not self.force and is_newer(target, [*ext.sources, *ext.depends, __file__]):
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        objects = Path(self.build_temp) / ext.name.rpartition(".")[2]
        objects.mkdir(parents=True, exist_ok=True)
        compile_core(target, objects, ext.extra_compile_args)


class Wheel(bdist_wheel):
    """Tag the wheel for every Python 3 of the platform, because it uses no Python symbol."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag: any Python 3, any ABI, this platform."""
        return "py3", "none", super().get_tag()[2]


def compile_core(target: Path, objects: Path, flags: list[str]) -> None:
    """Compile all of CORE into one shared library.

    The file is replaced atomically, because a running grader may have it mapped.
    """
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if not shutil.which(compiler[0]):
        raise SystemExit(NO_COMPILER.format(compiler[0]))
    sources = sorted(CORE.rglob("*.c"))
    object_files = [objects / source.relative_to(CORE).with_suffix(".o") for source in sources]

    digest = runpy.run_path("grader/simulator/core/__init__.py")["digest"](CORE)
    define = f'-DCORE_SOURCES="{digest}"'

    def compile_file(source: Path, object_file: Path) -> None:
        object_file.parent.mkdir(parents=True, exist_ok=True)
        run([*compiler, *FLAGS, *flags, define, "-c", str(source), "-o", str(object_file)])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_file, sources, object_files))
    part = target.with_suffix(".part")
    link = [*compiler, "-shared", "-pthread", "-Wl,--no-undefined"]
    run([*link, *map(str, object_files), "-lm", "-o", str(part)])
    part.replace(target)


def is_newer(target: Path, sources: list[str]) -> bool:
    """Return whether the target exists and is at least as new as every source."""
    if not target.exists():
        return False
    return target.stat().st_mtime >= max(os.stat(source).st_mtime for source in sources)


def run(command: list[str]) -> None:
    """Run a command. Raises SystemExit with its stderr when it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"the C core does not build: {shlex.join(command)}\n{done.stderr}")


def libraries() -> list[Extension]:
    """Return the core for any processor and, on x86-64, the core for AVX2."""
    sources = [str(source) for source in sorted(CORE.rglob("*.c"))]
    depends = [str(header) for header in sorted(CORE.rglob("*.h"))]
    flags = {"grader.simulator._core": FAST}
    if platform.machine() in ("x86_64", "AMD64"):
        flags = {"grader.simulator._core": RARE, "grader.simulator._core_v3": [*FAST, *AVX2]}
    return [
        Extension(name, sources, depends=depends, extra_compile_args=own)
        for name, own in flags.items()
    ]


setup(ext_modules=libraries(), cmdclass={"build_ext": BuildCore, "bdist_wheel": Wheel})
