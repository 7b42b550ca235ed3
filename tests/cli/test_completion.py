"""Completion of the command line: installed by `grader` itself, and asked by real shells."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.labs.reading import list_labs
from tests.command import ROOT, grader
from tests.patience import PATIENCE

SHELLS = {
    "bash": 'source "$HOME/.bashrc"; COMP_WORDS=({words}); COMP_CWORD={last}; '
    "_grader_completion grader; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
    "zsh": "autoload -Uz compinit; fpath+=~/.zfunc; compinit -u -D; _arguments() {{ print -l -- "
    '"$@" }}; compdef() {{ }}; words=({words}); CURRENT={shell_last}; source ~/.zfunc/_grader; '
    "_grader_completion",
    "fish": 'complete --do-complete "{line}"',
}
"""A script for each shell that shows the completions of a line."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with `grader` in bin/."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "bin").mkdir()
    command = folder / "bin" / "grader"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m grader "$@"\n')
    command.chmod(0o755)
    return folder


def run(home: Path, shell: str, script: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which(shell)
    assert program
    return subprocess.run(
        [program, "-c", script], cwd=home, text=True, capture_output=True, timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
        env={"HOME": str(home), "PATH": f"{home}/bin:{os.environ['PATH']}", "TERM": "xterm",
             "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
    )  # fmt: skip


def completions(home: Path, shell: str, line: str) -> str:
    words = line.split(" ")
    script = SHELLS[shell].format(
        words=" ".join(f"'{word}'" for word in words), last=len(words) - 1,
        shell_last=len(words), line=line,
    )  # fmt: skip
    return run(home, shell, script).stdout


INSTALLED = [shell for shell in SHELLS if shutil.which(shell)]
"""bash is everywhere; for the others: apt-get install fish zsh."""


@pytest.mark.parametrize("shell", INSTALLED)
def test_a_shell_completes_commands_and_labs_once_it_is_installed(home: Path, shell: str) -> None:
    installed = run(home, shell, "grader --install-completion; exit $status$?".replace(
        "$status$?", "$status" if shell == "fish" else "$?"
    ))  # fmt: skip
    assert installed.returncode == 0, installed.stderr
    assert f"{shell} completion installed in {home}" in installed.stdout
    first = completions(home, shell, "grader lab")
    assert "labs" in first and "batch" not in first, first
    named = completions(home, shell, "grader check tiled")
    assert "tiled-matmul" in named and "vector-add" not in named, named
    below = completions(home, shell, "grader labs re")
    assert "release" in below and "calibrate" not in below, below


def test_installing_twice_adds_nothing(home: Path) -> None:
    for shell, file in (("bash", ".bashrc"), ("zsh", ".zshrc")):
        if shell not in INSTALLED:
            continue
        run(home, shell, "grader --install-completion; exit 0")
        text = (home / file).read_text()
        run(home, shell, "grader --install-completion; exit 0")
        assert (home / file).read_text().split() == text.split()


def test_a_lab_is_completed_from_its_beginning() -> None:
    asked = {"_GRADER_COMPLETE": "complete_bash", "COMP_WORDS": "grader check ", "COMP_CWORD": "2"}
    found = grader(env=asked)
    assert (found.code, found.out.split(), found.err) == (0, list(list_labs()), "")
