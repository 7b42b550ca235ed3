"""A change of content is found however an editor saves a file, and only then.

The waits are scripted: each is one step of an editor, and moves the clock on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.editor.changes import ABSENT, GONE, SETTLED, WatchedFile, contents
from grader.labs.reading import load_lab
from tests.command import ROOT

LAB = load_lab("vector-add")
FIRST = (ROOT / "solutions/vector-add/vector-add.cu").read_text()
NEXT = FIRST + "// more\n"

Step = Callable[[Path], object]


class Ended(Exception):
    """The script is at its end."""


def seen(file: Path, *steps: Step | float) -> list[str]:
    """Return the contents that are found while an editor takes the steps; a number is a pause."""
    watched = WatchedFile(file, LAB)
    last = watched.content()
    script: Iterator[Step | float] = iter((*steps, 2 * GONE))
    now = idle = 0.0

    def wait(seconds: float) -> float:
        nonlocal now, idle
        now += seconds
        idle -= seconds
        while idle <= 0:
            try:
                step = next(script)
            except StopIteration:
                raise Ended from None
            if callable(step):
                step(file)
                break
            idle = step
        return now

    found = []
    with pytest.raises(Ended):
        for content in contents(watched, last, wait):
            found.append("absent" if content == ABSENT else text_of(file))
    return found


def text_of(file: Path) -> str:
    return file.read_text() if file.is_file() else "unreadable"


def write(text: str) -> Step:
    return lambda file: file.write_text(text)


def truncate(file: Path) -> None:
    os.truncate(file, 0)


def rename_over(text: str) -> Step:
    def save(file: Path) -> None:
        other = file.with_name(f".{file.name}.swp")
        other.write_text(text)
        other.replace(file)

    return save


def away(file: Path) -> None:
    file.rename(file.with_name(f"{file.name}~"))


def same_size_and_time(file: Path) -> None:
    """As an editor that keeps the time of change."""
    before = file.stat()
    file.write_text(file.read_text().replace("a", "b"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


SHORT = SETTLED / 3
LONG = 2 * GONE
SCRIPTS: dict[str, tuple[tuple[Step | float, ...], list[str]]] = {
    "nothing": ((LONG,), []),
    "in place": ((LONG, write(NEXT), LONG), [NEXT]),
    "by rename": ((LONG, rename_over(NEXT), LONG), [NEXT]),
    "truncated, then written": ((LONG, truncate, GONE / 2, write(NEXT), LONG), [NEXT]),
    "moved away, then written": ((LONG, away, GONE / 2, write(NEXT), LONG), [NEXT]),
    "moved away, then another one": ((LONG, away, SHORT, rename_over(NEXT), LONG), [NEXT]),
    "saved twice": ((LONG, write(FIRST + "// 1"), SHORT, write(NEXT), LONG), [NEXT]),
    "saved twice, slowly": ((LONG, write(FIRST + "// 1"), LONG, write(NEXT)),
                            [FIRST + "// 1", NEXT]),
    "unchanged": ((LONG, write(FIRST), LONG, rename_over(FIRST)), []),
    "touched": ((LONG, lambda file: os.utime(file)), []),
    "there and back": ((LONG, write(NEXT), SHORT, write(FIRST)), []),
    "removed": ((LONG, Path.unlink), ["absent"]),
    "removed, and back": ((LONG, Path.unlink, LONG, write(FIRST)), ["absent", FIRST]),
    "emptied": ((LONG, truncate), ["absent"]),
    "time and size as before": ((LONG, same_size_and_time), [FIRST.replace("a", "b")]),
    "half of it": ((LONG, write(FIRST[:100])), [FIRST[:100]]),
    "not a source": ((LONG, lambda f: f.write_bytes(b"%PDF-1"), LONG, write(NEXT)),
                     ["%PDF-1", NEXT]),
    "a folder in its place": ((LONG, lambda f: (f.unlink(), f.mkdir())), ["unreadable"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_way_to_save_is_one_change(name: str, tmp_path: Path) -> None:
    steps, expected = SCRIPTS[name]
    file = tmp_path / "mine.cu"
    file.write_text(FIRST)
    assert seen(file, *steps) == expected


def test_a_header_and_the_answers_count(tmp_path: Path) -> None:
    file, header = tmp_path / "mine.cu", tmp_path / "inc" / "tile.cuh"
    header.parent.mkdir()
    file.write_text(f'#include "inc/tile.cuh"\n{FIRST}')
    made = seen(file, LONG, lambda f: header.write_text("#define TILE 8\n"))
    changed = seen(file, LONG, lambda f: header.write_text("#define TILE 4\n"))
    other = seen(file, LONG, lambda f: (tmp_path / "notes.txt").write_text("x"))
    answers = seen(file, LONG, lambda f: (tmp_path / "answers.yaml").write_text("a: 1\n"))
    assert list(map(len, (made, changed, other, answers))) == [1, 1, 0, 1]


def test_any_file_of_a_folder_counts(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    file = tmp_path / "src" / "mine.cu"
    file.write_text(FIRST)
    assert len(seen(tmp_path, LONG, lambda f: file.write_text(NEXT))) == 1
    assert len(seen(tmp_path, LONG, lambda f: file.rename(tmp_path / "other.cu"))) == 0
    assert len(seen(tmp_path, LONG, lambda f: (tmp_path / "other.cu").unlink())) == 1
