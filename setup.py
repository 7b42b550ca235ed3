"""Build the C core of the simulator; everything else is in pyproject.toml.

The core is a plain shared library, which Python loads with ctypes. It needs a C compiler, but no
Python headers. On x86-64 a second library is built for processors with AVX2; the choice between the
two is made when the core is loaded. CC, CFLAGS and LDFLAGS set the compiler and more options.

`deploy/wheels.py` makes the files that are published, with the public parts of the labs from the
folder $WARPGRADE_CONTENT. Equal sources then give equal bytes: times are those of
SOURCE_DATE_EPOCH, and names are in order. Each wheel lists in `sboms/` (PEP 770) what it contains.
"""

from __future__ import annotations

import sys

if sys.platform != "linux":
    raise SystemExit(
        f"""\
warpgrade runs on Linux, and this is {sys.platform}.
  On Windows, install it in WSL 2 (wsl --install); on macOS, in a Linux container:
  docker run -it -v "$PWD:/work" -w /work python:3.13 bash"""
    )

import gzip
import json
import os
import runpy
import shlex
import shutil
import subprocess
import sysconfig
import tarfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

CORE = Path("grader/simulator/core")
FLAGS = [
    *shlex.split("-std=c11 -fPIC -ffp-contract=off -fno-strict-aliasing -pthread"),
    f"-I{CORE}",
    "-Werror=implicit-function-declaration",  # gcc 12 takes it for a function that returns int
]
FAST = ["-O3"]
RARE = ["-Os"]
"""For processors that hardly any machine has: 8 s of processor time and 0.05 MB of a wheel less."""
PORTABLE, FOR_AVX2 = "grader.simulator._core", "grader.simulator._core_v3"
AVX2 = shlex.split("-mavx2 -mfma -mbmi -mbmi2 -mlzcnt -mf16c")
CONTENT = "grader/labs/content"
"""The public parts of the labs, in a wheel and in the source distribution."""
ASSETS = "grader/portal/assets/package-lock.json"
NO_COMPILER = """\
the simulator is written in C, but the C compiler `{}` was not found.
  Install one (Debian and Ubuntu: sudo apt-get install gcc libc6-dev; Fedora: sudo dnf install gcc),
  or set CC to your compiler. Then run the same command again."""


class BuildCore(build_ext):
    """Compile the core with $CC or cc.

    A wheel gets all cores. A checkout gets the one for this machine's processor, which the grader
    uses here: the other takes 7 s of processor time.
    """

    def run(self) -> None:
        """Build the libraries; that of a checkout, unless it is newer than its sources."""
        if self.inplace or self.editable_mode:
            wanted = own_library()
            own = [ext for ext in self.extensions if ext.name == wanted]
            self.extensions = [ext for ext in own if self.force or not self._is_built(ext)]
        super().run()

    def _is_built(self, ext: Extension) -> bool:
        return is_newer(
            Path(self.get_ext_filename(ext.name)), [*ext.sources, *ext.depends, __file__]
        )

    def get_ext_filename(self, fullname: str) -> str:
        """Return the file name of the library, without a Python version."""
        return fullname.replace(".", os.sep) + ".so"

    def build_extension(self, ext: Extension) -> None:
        """Build one library."""
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        objects = Path(self.build_temp) / ext.name.rpartition(".")[2]
        objects.mkdir(parents=True, exist_ok=True)
        compile_core(target, objects, ext.extra_compile_args)


class BuildModules(build_py):
    """Add the public parts of the labs."""

    def run(self) -> None:
        """Copy the modules and their data."""
        super().run()
        if not self.editable_mode:
            copy_content(Path(self.build_lib))


class Wheel(bdist_wheel):
    """Tag the wheel for every Python 3 of the platform, because it uses no Python symbol."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag: any Python 3, any ABI, this platform."""
        return "py3", "none", super().get_tag()[2]

    def write_wheelfile(self, wheelfile_base: str, *arguments: str) -> None:
        """Write WHEEL, and the list of what the wheel contains."""
        super().write_wheelfile(wheelfile_base, *arguments)
        file = Path(wheelfile_base) / "sboms" / "warpgrade.cdx.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(bill_of_materials(), indent=2) + "\n")


class SourceArchive(sdist):
    """Add the public parts of the labs; equal sources give an equal archive."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copy the files of the archive to a folder."""
        super().make_release_tree(base_dir, files)
        copy_content(Path(base_dir))

    def make_archive(self, base_name: str, *arguments: object, **options: object) -> str:
        """Write the archive of the folder and return its path."""
        time = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))  # 1980-01-01, as in zip files

        def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime, entry.mode = time, 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            return entry

        target = Path(f"{base_name}.tar.gz")
        target.parent.mkdir(parents=True, exist_ok=True)
        root = Path(str(options.get("base_dir") or base_name))
        with (
            target.open("wb") as file,
            gzip.GzipFile("", "wb", 9, file, time) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted((root, *root.rglob("*"))):
                archive.add(path, arcname=str(path), recursive=False, filter=plain)
        return str(target)


def copy_content(root: Path) -> None:
    """Copy the labs of $WARPGRADE_CONTENT to the package below `root`; nothing when it is unset."""
    if source := os.environ.get("WARPGRADE_CONTENT"):
        shutil.copytree(source, root / CONTENT, dirs_exist_ok=True, copy_function=shutil.copyfile)


def bill_of_materials() -> dict[str, object]:
    """Return a CycloneDX document: what is in the wheel, and what pip installs beside it.

    Components with a version are built into files of the portal; packages without one are
    dependencies, whose versions pip chooses.
    """
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    name, version = project["name"], project["version"]
    purl = f"pkg:pypi/{name}@{version}"
    own = {"type": "application", "bom-ref": purl, "purl": purl, "name": name, "version": version,
           "licenses": [{"expression": project["license"]}]}  # fmt: skip
    wanted = [part.partition(";")[0] for part in project["dependencies"]]
    names = sorted("".join(c if c.isalnum() or c in "-_." else " " for c in part).split()[0]
                   for part in wanted)  # fmt: skip
    needed = [{"type": "library", "bom-ref": f"pkg:pypi/{n}", "purl": f"pkg:pypi/{n}", "name": n,
               "scope": "required"} for n in names]  # fmt: skip
    contained = bundled_scripts()
    parts = [str(part["bom-ref"]) for part in (*contained, *needed)]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own, "lifecycles": [{"phase": "build"}]},
        "components": [*contained, *needed],
        "dependencies": [{"ref": purl, "dependsOn": parts}, *({"ref": part} for part in parts)],
    }


def spdx(license: str) -> str:
    """Return the identifier in SPDX's list for a license that a package names."""
    return {"BSD-0-Clause": "0BSD"}.get(license, license)


def bundled_scripts() -> list[dict[str, object]]:
    """Return the npm packages that are built into the portal's files, from their lock file.

    esbuild and its platform packages build the files, and are in none of them.
    """
    packages = json.loads(Path(ASSETS).read_text("utf-8"))["packages"]
    found = []
    for place, held in sorted(packages.items()):
        name = place.removeprefix("node_modules/")
        if place and "esbuild" not in name:
            purl = f"pkg:npm/{name.replace('@', '%40')}@{held['version']}"
            found.append({
                "type": "library", "bom-ref": purl, "purl": purl, "name": name,
                "version": held["version"],
                "licenses": [{"license": {"id": spdx(held["license"])}}],
            })  # fmt: skip
    return found


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
        options = [*FLAGS, *flags, *shlex.split(os.environ.get("CFLAGS", "")), define]
        run([*compiler, *options, "-c", str(source), "-o", str(object_file)])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_file, sources, object_files))
    part = target.with_suffix(".part")
    link = [*compiler, "-shared", "-pthread", "-Wl,--no-undefined"]
    link += shlex.split(os.environ.get("LDFLAGS", ""))
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


def own_library() -> str:
    """Return the name of the core that `core_has_avx2` (launch.c) selects on this machine."""
    try:
        processors = Path("/proc/cpuinfo").read_text()
    except OSError:
        return PORTABLE
    flags = next((line for line in processors.splitlines() if line.startswith("flags")), "").split()
    return FOR_AVX2 if {"avx2", "fma", "bmi1", "bmi2", "abm", "f16c"} <= set(flags) else PORTABLE


def libraries() -> list[Extension]:
    """Return the core for any processor and, on x86-64, the core for AVX2."""
    sources = [str(source) for source in sorted(CORE.rglob("*.c"))]
    depends = [str(header) for header in sorted(CORE.rglob("*.h"))]
    flags = {PORTABLE: FAST}
    if sysconfig.get_platform() == "linux-x86_64":  # of the target, where it is another machine
        flags = {PORTABLE: RARE, FOR_AVX2: [*FAST, *AVX2]}
    return [
        Extension(name, sources, depends=depends, extra_compile_args=own)
        for name, own in flags.items()
    ]


if __name__ == "__main__":
    commands = {"build_ext": BuildCore, "build_py": BuildModules, "bdist_wheel": Wheel}
    setup(ext_modules=libraries(), cmdclass={**commands, "sdist": SourceArchive})
