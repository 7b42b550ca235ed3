"""Commands that tests fork from one process end as those that Python starts anew."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.command import ROOT, CommandResult, descendants, grader
from tests.patience import until

LAB = "vector-add"
AT_ONCE = 0.001
WRONG = ROOT / "solutions" / LAB / "wrong" / "invalid-access-no-guard.cu"
COMMANDS = (
    ("--version",),
    ("labs", "list"),
    ("check", LAB, "none.cu"),
    ("check", LAB, WRONG),
    ("gradebook", "show", LAB, "--db", "none.db"),
    ("no-such-command",),
)


def without_times(said: CommandResult) -> tuple[int, str, str]:
    texts = (re.sub(r"\b[\d.]+ (s|ms)\b", "TIME", text) for text in (said.out, said.err))
    return (said.code, *texts)  # type: ignore[return-value]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_both_ways_say_the_same(words: tuple[str | Path, ...], tmp_path: Path) -> None:
    standing = descendants()
    forked = [grader(*words, cwd=tmp_path) for _ in range(2)]  # the second with what it imports
    new = grader(*words, cwd=tmp_path, real_start=True)
    assert {without_times(said) for said in forked} == {without_times(new)}
    until(lambda: not descendants(standing))


def test_a_command_gets_its_own_folder_and_variables(tmp_path: Path) -> None:
    (tmp_path / "near.cu").write_text("")
    assert "near.cu" in grader("check", LAB, "none.cu", cwd=tmp_path).err
    assert "near.cu" not in grader("check", LAB, "none.cu").err
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": ""}
    assert str(tmp_path) in grader("doctor", env=home).out
    assert str(tmp_path) not in grader("doctor").out


def test_a_command_that_hangs_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        grader("labs", "list", timeout=AT_ONCE)
    assert grader("--version").code == 0
