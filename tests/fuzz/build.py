"""The core built for inspection: under ASan and UBSan, or counting the lines it runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

CORE = Path(__file__).parents[2] / "grader" / "simulator" / "core"
BASE = (
    *("-std=gnu11", "-g1", "-fPIC", "-pthread", "-ffp-contract=off", "-fno-strict-aliasing"),
    f"-I{CORE}",
)
SANITISE = (
    "-O0",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
)
"""Without optimization: it builds in 10 s of processor time in place of 23, finds no less, and runs
as many mutated inputs a second, because a run is mostly the decoder's."""
COVERAGE = ("-O0", "--coverage")


def compiler() -> str:
    """gcc, whose sanitiser's library can be preloaded. Raises SystemExit when there is none."""
    compiler = shutil.which(os.environ.get("CC", "gcc"))
    if compiler is None:
        raise SystemExit("fuzzing needs gcc: install it, or set CC")
    return compiler


def sanitised() -> Path:
    """The core under ASan and UBSan, built again only when its sources changed."""
    return _built(SANITISE, Path(tempfile.gettempdir()) / f"warpgrade-fuzz-{os.getuid()}")


def counting(folder: Path) -> Path:
    """The core that writes down which lines ran, in `folder`."""
    return _built(COVERAGE, folder)


def environment(path: Path) -> dict[str, str]:
    """What a process that loads the sanitised core needs."""
    asan = subprocess.run(
        [compiler(), "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return {
        **os.environ,
        "LD_PRELOAD": asan,
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "FUZZ_CORE": str(path),
    }


def _built(flags: tuple[str, ...], folder: Path) -> Path:
    sources = sorted(CORE.rglob("*.c"))
    shared = hashlib.sha256(" ".join((*BASE, *flags)).encode())
    for path in sorted(CORE.rglob("*.h")):
        shared.update(path.read_bytes())
    objects = [_object(source, shared.copy(), folder) for source in sources]
    digest = hashlib.sha256(" ".join(made.name for made in objects).encode())
    target = folder / f"core-{digest.hexdigest()[:16]}.so"
    if not target.exists():
        for source, made in zip(sources, objects, strict=True):
            _compile(source, flags, made)
        part = target.with_suffix(f".{os.getpid()}.part")
        link = [compiler(), *flags, "-shared", "-pthread", *map(str, objects), "-lm"]
        subprocess.run([*link, "-o", str(part)], check=True)
        part.replace(target)
    return target


def _object(source: Path, digest: hashlib._Hash, folder: Path) -> Path:
    """Where a compiled source is, by its content and that of all headers, which come first."""
    digest.update(source.read_bytes())
    return folder / source.relative_to(CORE).with_suffix(f".{digest.hexdigest()[:16]}.o")


def _compile(source: Path, flags: tuple[str, ...], made: Path) -> None:
    """Compile a source, unless a run before did: most changes are of one source."""
    if made.exists():
        return
    made.parent.mkdir(parents=True, exist_ok=True)
    part = made.with_suffix(f".{os.getpid()}.part")
    subprocess.run([compiler(), *BASE, *flags, "-c", str(source), "-o", str(part)], check=True)
    part.replace(made)
