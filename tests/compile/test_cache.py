"""The cache of compilations: a hit starts no child, and a damaged cache changes no grade."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.compile import cache
from grader.compile import source as module
from grader.compile.source import compile_source
from grader.faults import StudentFault

KERNEL = b'extern "C" __global__ void k(float* a) { a[0] = 1; }\n'


@pytest.fixture
def no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a child was started")

    monkeypatch.setattr(module, "run_sandboxed", refuse)


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*")) if folder.exists() else []


def test_a_second_time_starts_no_child(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    first = compile_source(KERNEL, "k.cu", cache=tmp_path)
    request.getfixturevalue("no_child")
    second = compile_source(KERNEL, "elsewhere/k.cu", cache=tmp_path)
    assert (second.ptx, second.debug_ptx, second.kernels) == (
        first.ptx,
        first.debug_ptx,
        first.kernels,
    )
    best = min(compile_source(KERNEL, "k.cu", cache=tmp_path).seconds for _ in range(20))
    assert best < 0.05  # a child takes longer; the benchmark has the real number


def test_a_failure_is_cached_too(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    broken = KERNEL.replace(b"1", b"x")
    with pytest.raises(StudentFault) as first:
        compile_source(broken, "k.cu", cache=tmp_path)
    request.getfixturevalue("no_child")
    with pytest.raises(StudentFault) as second:
        compile_source(broken, "k.cu", cache=tmp_path)
    assert second.value.findings == first.value.findings


@pytest.mark.parametrize(
    "change",
    [
        {"source": KERNEL + b" "},
        {"file": "other.cu"},
        {"architecture": "sm_80"},
    ],
    ids=["source", "name", "architecture"],
)
def test_every_input_is_part_of_the_key(
    change: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    compile_source(KERNEL, "k.cu", cache=tmp_path)
    request.getfixturevalue("no_child")
    asked = {"source": KERNEL, "file": "k.cu", "architecture": "sm_90"} | change
    with pytest.raises(AssertionError, match="child"):
        compile_source(
            asked["source"], asked["file"], architecture=asked["architecture"], cache=tmp_path
        )  # type: ignore[arg-type]


def test_checkouts_share_entries_and_other_headers_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The folder of the headers is not part of the key; the releases in it are."""
    first = compile_source(KERNEL, "k.cu", cache=tmp_path / "cache")
    installed = module.installation()
    include = shutil.copytree(module._INCLUDE, tmp_path / "include")
    moved = replace(installed, headers=(tmp_path / "elsewhere",))
    monkeypatch.setattr(module, "_INCLUDE", include)
    monkeypatch.setattr(module, "installation", lambda: moved)
    request.getfixturevalue("no_child")
    assert compile_source(KERNEL, "k.cu", cache=tmp_path / "cache").ptx == first.ptx
    other = replace(installed, contents=(*installed.contents, "nvidia_curand-10.4.0.35"))
    monkeypatch.setattr(module, "installation", lambda: other)
    with pytest.raises(AssertionError, match="child"):
        compile_source(KERNEL, "k.cu", cache=tmp_path / "cache")
    monkeypatch.setattr(module, "installation", lambda: moved)
    next(path for path in include.rglob("*") if path.is_file()).open("a").write("\n")
    with pytest.raises(AssertionError, match="child"):
        compile_source(KERNEL, "k.cu", cache=tmp_path / "cache")


@pytest.mark.parametrize("damage", [b"", b"{}", b"0" * 64 + b"[]"], ids=["empty", "short", "false"])
def test_a_damaged_entry_is_replaced(damage: bytes, tmp_path: Path) -> None:
    compile_source(KERNEL, "k.cu", cache=tmp_path)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    entry.write_bytes(damage)
    assert cache.load(tmp_path, entry.stem) is None
    assert compile_source(KERNEL, "k.cu", cache=tmp_path).kernel("k")
    assert entry.read_bytes() == whole


VALUE = {"loads": 4096, "share": 0.25, "names": ["ä", None]}


def damaged(whole: bytes) -> Iterator[bytes]:
    """Every bit flipped, every truncation, and bytes before and after."""
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)
    yield from (whole[:length] for length in range(len(whole)))
    yield from (whole + b" ", whole + b"\n", b" " + whole, whole + whole)


def test_every_flipped_bit_and_every_truncation_is_detected(tmp_path: Path) -> None:
    cache.store(tmp_path, "key", VALUE)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    assert cache.load(tmp_path, "key") == VALUE
    for content in damaged(whole):
        entry.write_bytes(content)
        assert cache.load(tmp_path, "key") is None, content
    entry.write_bytes(whole)
    assert cache.load(tmp_path, "key") == VALUE


@pytest.mark.parametrize("length", [0, cache.LONG - 2, cache.LONG - 1, 40 * cache.LONG])
def test_a_long_entry_is_compressed_and_comes_back(length: int, tmp_path: Path) -> None:
    value = "mov.u32 " * (length // 8) + "x" * (length % 8)
    cache.store(tmp_path, "key", value)
    (entry,) = entries(tmp_path)
    assert cache.load(tmp_path, "key") == value
    is_compressed = entry.stat().st_size < max(length // 4, 1)
    assert is_compressed == (length + 2 > cache.LONG)


@pytest.mark.parametrize("body", [b"x", zlib.compress(b"[1]")[:-6], zlib.compress(b"{")])
def test_what_cannot_be_decompressed_or_read_is_no_value(body: bytes, tmp_path: Path) -> None:
    """Its digest is right: a defect of this program wrote it, or another version."""
    (tmp_path / "key.json").write_bytes(cache._head("key", body) + b"\n" + body)
    assert cache.load(tmp_path, "key") is None


def test_random_bytes_in_an_entry_are_detected(tmp_path: Path) -> None:
    value = list(range(1000))
    cache.store(tmp_path, "key", value)
    (entry,) = entries(tmp_path)
    whole, dice = entry.read_bytes(), random.Random(13)
    for _ in range(300):
        content = bytearray(whole)
        at = dice.randrange(len(whole))
        content[at : at + dice.randrange(1, 40)] = dice.randbytes(dice.randrange(40))
        entry.write_bytes(content)
        assert cache.load(tmp_path, "key") == (value if content == whole else None)


def test_the_entry_of_another_key_is_not_used(tmp_path: Path) -> None:
    cache.store(tmp_path, "one", 1)
    cache.store(tmp_path, "two", 2)
    shutil.copy(tmp_path / "one.json", tmp_path / "two.json")
    assert cache.load(tmp_path, "two") is None
    assert cache.load(tmp_path, "one") == 1


def test_the_entry_of_another_format_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store(tmp_path, "key", VALUE)
    monkeypatch.setattr(cache, "FORMAT", b"warpgrade-cache-99")
    assert cache.load(tmp_path, "key") is None


@pytest.mark.parametrize("kind", ["folder", "fifo", "link to nothing", "private", "device"])
def test_what_is_no_readable_entry_is_made_anew(tmp_path: Path, kind: str) -> None:
    entry = tmp_path / "key.json"
    if kind == "folder":
        entry.mkdir()
    elif kind == "fifo":
        os.mkfifo(entry)
    elif kind == "link to nothing":
        entry.symlink_to("nowhere")
    elif kind == "device":
        entry.symlink_to("/dev/zero")
    else:
        cache.store(tmp_path, "key", VALUE)
        entry.chmod(0)
    readable = kind == "private" and os.access(entry, os.R_OK)  # root reads every file
    assert cache.load(tmp_path, "key") == (VALUE if readable else None)
    cache.store(tmp_path, "key", VALUE)
    assert cache.load(tmp_path, "key") == (None if kind == "folder" else VALUE)


def test_deep_json_under_a_right_digest_is_made_anew(tmp_path: Path) -> None:
    body = b"[" * 200_000
    with pytest.raises(RecursionError):
        json.loads(body)
    for text in (body, b"{", b"\xff"):
        content = cache._head("key", text) + b"\n" + text
        (tmp_path / "key.json").write_bytes(content)
        assert cache.load(tmp_path, "key") is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert compile_source(KERNEL, "k.cu", cache=tmp_path / "file" / "cache").kernel("k")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, Path("/x/warpgrade/compiled")),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, Path("/h/.cache/warpgrade/compiled")),
        ({"HOME": "/h"}, Path("/h/.cache/warpgrade/compiled")),
        ({}, None),
    ],
)
def test_folder_of_the_users_cache(
    environment: dict[str, str], expected: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache.user_folder() == expected
    assert cache.user_folder("quiz") == (expected and expected.parent / "quiz")
    if expected is None:
        assert compile_source(KERNEL, "k.cu").kernel("k")


def test_the_least_recently_used_entries_are_removed(tmp_path: Path) -> None:
    value = "x" * 1000
    for number in range(10):
        cache.store(tmp_path, f"{number}", value, max_bytes=8000)
        at = time.time() - 1000 + number
        if (tmp_path / f"{number}.json").exists():
            os.utime(tmp_path / f"{number}.json", (at, at))
    kept = {entry.stem for entry in entries(tmp_path)}
    assert "9" in kept
    assert "0" not in kept
    assert sum(entry.stat().st_size for entry in entries(tmp_path)) <= 8000
    assert not [entry for entry in entries(tmp_path) if entry.name.startswith(".")]


def test_small_entries_are_counted_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each sixteen entries one looks at the others, so the cache may be larger for a while."""
    looks: list[str] = []
    scan = os.scandir
    monkeypatch.setattr(cache.os, "scandir", lambda path: (looks.append(path), scan(path))[1])
    for number in range(500):
        cache.store(tmp_path, cache.cache_key(number), "", max_bytes=16_000)
    made = entries(tmp_path)
    size = sum(entry.stat().st_size for entry in made)
    assert 500 // 32 < len(looks) < 500 // 8
    assert size <= 16_000 + 64 * size / len(made)


def test_a_hit_renews_an_entry(tmp_path: Path) -> None:
    for name in ("old", "new"):
        cache.store(tmp_path, name, "x" * 1000)
    os.utime(tmp_path / "old.json", (1, 1))
    assert cache.load(tmp_path, "old") == "x" * 1000
    assert (tmp_path / "old.json").stat().st_mtime > time.time() - 60
