"""Build the files that are published: the source distribution and a wheel for each processor.

    make wheels                      # both wheels, in dist/
    python deploy/wheels.py --help

The source distribution is made from this checkout, with the public parts of the labs; every wheel
is made from the source distribution, in a folder of its own. clang from the PyPI package `ziglang`
compiles the C core for x86-64 and aarch64 alike, against the symbols of glibc 2.17, so that one
wheel runs on every Linux since 2014 and under every Python 3. `auditwheel` verifies that.
Equal sources give equal bytes, wherever and whenever they are built.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROCESSORS = ("x86_64", "aarch64")
GLIBC = "2.17"
TAG = "manylinux_2_17_{0}"
EPOCH = "315532800"
"""1980-01-01, the earliest time that a zip can hold."""

MAX_BYTES = 2_300_000
"""The most that a wheel may have."""

SOURCES = (
    *("pyproject.toml", "setup.py", "MANIFEST.in", "Makefile", "README.md", "LICENSE"),
    *("CONTRIBUTING.md", "Dockerfile", ".dockerignore", "deploy"),
)
"""What the source distribution has beside the packages."""

LEFT_BEHIND = shutil.ignore_patterns("__pycache__", "*.pyc", "*.so", "*.part", "content")

TRUTH = "tests/simulator/test_truth.py"
"""The tests that compare instructions with what a GPU computed."""

SECRET = ("solutions/", "wrong/", "visibility: hidden", "BEGIN SOLUTION")
"""What no published file of the labs may have in its name or text."""


class BuildError(Exception):
    """A file cannot be built, or is not as it must be; the message says why."""


def run(command: Sequence[str], folder: Path, **variables: str) -> str:
    """Run a command and return its output; raises BuildError with it when the command fails."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    if done.returncode:
        raise BuildError(f"{shlex.join(command)} failed in {folder}:\n{done.stdout}")
    return done.stdout


def make_content(folder: Path, pages: Sequence[str] | None) -> None:
    """Write the public parts of the labs; the pages of the labs in `pages` only, unless None."""
    only = [word for page in pages or () for word in ("--page", page)]
    only = ["--page", ""] if pages is not None and not only else only
    command = [sys.executable, "-m", "grader.authoring.content", "--out", str(folder), *only]
    run(command, ROOT, PYTHONPATH=str(ROOT))


def packages() -> list[str]:
    """Return the folders of the packages, as pyproject.toml names them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    return [pattern.removesuffix("*") for pattern in settings["packages"]["find"]["include"]]


def make_sdist(content: Path, out: Path) -> Path:
    """Build the source distribution of this checkout into `out` and return its path."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in (*SOURCES, *packages()):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, Path(scratch, name), ignore=LEFT_BEHIND)
            else:
                shutil.copy(ROOT / name, scratch)
        command = (sys.executable, "setup.py", "-q", "sdist", "--dist-dir", str(out))
        run(command, Path(scratch), WARPGRADE_CONTENT=str(content), SOURCE_DATE_EPOCH=EPOCH)
    (archive,) = out.glob("*.tar.gz")
    return archive


def make_wheel(
    sdist: Path, processor: str, compiler: Mapping[str, str], out: Path, tag: str = TAG
) -> Path:
    """Build the wheel for a processor from the source distribution into `out`; return its path."""
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(sdist) as archive:
        archive.extractall(scratch)  # our own: 3.11.3 has no filters
        (source,) = Path(scratch).iterdir()
        words = ("bdist_wheel", "--plat-name", tag.format(processor), "--dist-dir", str(out))
        host = f"linux-{processor}"  # what setup.py and sysconfig build for
        variables = {"_PYTHON_HOST_PLATFORM": host, "SOURCE_DATE_EPOCH": EPOCH, **compiler}
        run((sys.executable, "setup.py", "-q", *words), source, **variables)
    (wheel,) = out.glob(f"*_{processor}.whl")
    return wheel


def compress(wheel: Path) -> None:
    """Compress the files of a wheel anew, by zopfli: slowly, and by 4 % better than zlib can.

    Raises BuildError without zopflipy.
    """
    if find_spec("zopfli") is None:
        raise BuildError("the package zopflipy is not installed: pip install '.[wheels]'")
    from zopfli import ZipFile

    smaller = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as old, ZipFile(smaller, "w", zipfile.ZIP_DEFLATED) as new:
        for one in old.infolist():
            kept = zipfile.ZipInfo(one.filename, one.date_time)
            kept.external_attr, kept.compress_type = one.external_attr, one.compress_type
            new.writestr(kept, old.read(one))
    smaller.replace(wheel)


def zig(processor: str) -> dict[str, str]:
    """Return the settings of the compiler for a processor. Raises BuildError without ziglang."""
    found = find_spec("ziglang")
    if found is None or not found.submodule_search_locations:
        raise BuildError("the package ziglang is not installed: pip install '.[wheels]'")
    program = Path(found.submodule_search_locations[0]) / "zig"
    compiler = f"{shlex.quote(str(program))} cc -target {processor}-linux-gnu.{GLIBC}"
    tables = "-fno-unwind-tables -fno-asynchronous-unwind-tables"  # nothing is thrown in C
    small = f"{tables} -fno-unroll-loops"  # 50 kB of a wheel less, as fast (bench.matmul)
    return {"CC": compiler, "CFLAGS": f"-g0 -w {small}", "LDFLAGS": "-Wl,-s,--hash-style=gnu"}


def audit(wheel: Path) -> Iterator[str]:
    """Say what is wrong with a wheel, one line each: its tag, its size, its contents."""
    size = wheel.stat().st_size
    if size > MAX_BYTES:
        yield f"it has {size:,} bytes, more than {MAX_BYTES:,}"
    shown = " ".join(run((sys.executable, "-m", "auditwheel", "show", str(wheel)), ROOT).split())
    least = wheel.stem.rpartition("-")[2]
    if f'following platform tag: "{least}"' not in shown:
        yield f"auditwheel does not confirm {least}: {shown}"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for name in (name for name in names if "/content/" in name):
            text = f"{name}\n{archive.read(name).decode('utf-8', 'replace')}"
            found = [word for word in SECRET if word in text]
            if found:
                yield f"{name} has `{found[0]}`, which students must not get"
    for ending in ("/sboms/warpgrade.cdx.json", "/content/labs/vector-add/lab.yaml", "/_core.so"):
        if not any(name.endswith(ending) for name in names):
            yield f"it has no file {ending}"


def try_cores(wheel: Path) -> None:
    """Run each C core of a wheel for this processor on the results of real GPUs.

    The tests of a checkout run on the core that its own compiler made. Another compiler may round
    another way. Raises BuildError when a core gives a wrong result.
    """
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(wheel) as archive:
        archive.extractall(scratch)
        shutil.copytree(ROOT / "tests", Path(scratch, "tests"), ignore=LEFT_BEHIND)
        command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TRUTH)
        for name in ("_core_v3.so", "_core.so"):  # the first is used while it is there
            core = Path(scratch, "grader", "simulator", name)
            if core.exists():
                run(command, Path(scratch), PYTHONPATH=scratch)
                core.unlink()


def build(out: Path, processors: Sequence[str], pages: Sequence[str] | None) -> list[Path]:
    """Build everything into `out`, verify it, and return the paths; raises BuildError."""
    out.mkdir(parents=True, exist_ok=True)
    os.umask(0o022)  # permissions are part of a wheel
    with tempfile.TemporaryDirectory() as scratch:
        content, made = Path(scratch) / "content", Path(scratch) / "dist"
        make_content(content, pages)
        sdist = make_sdist(content, made)
        built = [sdist, *(make_wheel(sdist, each, zig(each), made) for each in processors)]
        with ThreadPoolExecutor() as pool:
            list(pool.map(compress, built[1:]))
        problems = [f"{wheel.name}: {what}" for wheel in built[1:] for what in audit(wheel)]
        if problems:
            raise BuildError("\n".join(problems))
        for wheel in built[1:]:
            if wheel.stem.endswith(platform.machine()):
                try_cores(wheel)
        return [_moved(path, out) for path in built]


def _moved(path: Path, folder: Path) -> Path:
    target = folder / path.name
    target.write_bytes(path.read_bytes())
    return target


def _options(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python deploy/wheels.py", description=(__doc__ or "")[:88])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder (default: dist)")
    parser.add_argument(
        "--processor", action="append", choices=PROCESSORS, help="build this one only"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the files and print their digests; return the exit code."""
    options = _options(arguments)
    try:
        built = build(options.out, options.processor or PROCESSORS, None)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    for path in built:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        print(f"{digest}  {path.stat().st_size:>9,} bytes  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
