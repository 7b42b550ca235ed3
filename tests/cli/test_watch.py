"""`grader check --watch`: each save has its result, an older check is given up, Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.command import ROOT, descendants
from tests.patience import PATIENCE, until

LAB = "vector-add"
SOLUTION = (ROOT / "solutions" / LAB / f"{LAB}.cu").read_text()
WRONG = next((ROOT / "solutions" / LAB / "wrong").glob("invalid-access*.cu")).read_text()
ENDLESS = SOLUTION.replace("    int i", "    while (n > 0) { if (n == -5) n = 0; }\n    int i", 1)


class Watch:
    """A running command, whose lines are read one by one."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def until(self, start: str) -> list[str]:
        """Return the lines up to one that begins so; the end of the output fails the test."""
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith(start):
                return lines
        raise AssertionError("\n".join(lines))

    def result(self) -> list[str]:
        return self.until("grader: waiting for changes of mine.cu")


@contextmanager
def watching(folder: Path, *words: str) -> Iterator[Watch]:
    command = [sys.executable, "-m", "grader", "check", LAB, "mine.cu", "--watch", "--on", "sim"]
    around = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [*command, *words], cwd=folder, env=around, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            yield Watch(process)
        finally:
            process.kill()


def save(file: Path, text: str) -> None:
    """Save as most editors do: at once. A file that is being written is empty for a moment."""
    other = file.with_name("new.cu")
    other.write_text(text)
    other.replace(file)


def test_a_session(tmp_path: Path) -> None:
    """The saves of an editor, in one session, and Ctrl-C."""
    file, standing = tmp_path / "mine.cu", descendants()
    file.write_text(WRONG)
    with watching(tmp_path) as watch:
        first = watch.result()
        assert first[0] == "grader: checking mine.cu"
        assert any(line.startswith("invalid-access: ") for line in first)

        save(file, f"// one line more\n{SOLUTION}")
        text = "\n".join(watch.result())
        assert "\n  gone invalid-access at mine.cu:" in text
        assert "score " in text and " -> 100 of 100" in text and "new " not in text

        save(file, ENDLESS)
        watch.until("grader: checking")  # and before it is done
        save(file, WRONG)
        text = "\n".join(watch.result())
        assert "\n  new  invalid-access at mine.cu:" in text and "timeout" not in text

        file.unlink()
        watch.until("mine.cu is missing or empty")
        save(file, WRONG)
        assert any(line.startswith("no change: score ") for line in watch.result())

        watch.process.send_signal(signal.SIGINT)
        assert watch.until("stopped") == ["stopped"]
        assert watch.process.wait(PATIENCE) == 130
    until(lambda: not descendants(standing))


def test_problems_are_between_lines_that_an_editor_looks_for(tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text("x\n")
    with watching(tmp_path, "--format", "gcc") as watch:
        begin, *found, _ = watch.result()
        assert begin == "grader: checking mine.cu"
        assert found and found[0].startswith("mine.cu:1:1: error: compile-error: ")
        assert watch.process.stdout is not None
        watch.process.stdout.close()  # the editor's task ends
        (tmp_path / "mine.cu").write_text("y\n")
        assert watch.process.wait(PATIENCE) == 1


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with watching(tmp_path) as watch:
        watch.until("mine.cu: there is no such file")
        assert watch.process.wait(PATIENCE) == 2
