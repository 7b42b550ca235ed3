"""Programs that use a reference, whose process is made by fork or by exec."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

from tests.command import ROOT
from tests.patience import PATIENCE

Way = Literal["forked", "executed"]

REFERENCE = """\
import numpy as np
def inputs(dims, rng, kind):
    return {}
def expected(dims, inputs):
    STATEMENT
    return 1
"""

_START = """\
import json, os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
from pathlib import Path
import grader.labs.reference as oracle, grader.labs.reference_process as process
from grader.labs.reference import load_reference
if sys.argv[1] == "executed":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
assert process._is_single_threaded() == (sys.argv[1] == "forked")
"""


def begin(way: Way, text: str, *words: str | Path) -> subprocess.Popen[str]:
    """The program `text` running, its words in sys.argv[2:]. Its first process for a reference is
    made by fork, or by exec because another thread runs."""
    around = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", _START + text, way, *map(str, words)],
        env=around,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(way: Way, text: str, *words: str | Path, timeout: float = PATIENCE) -> tuple[str, str]:
    """What the program prints on its standard output and error, once it has ended well."""
    with begin(way, text, *words) as program:
        try:
            out, err = program.communicate(timeout=timeout)
        finally:
            program.kill()
    assert program.returncode == 0, err
    return out, err


def write_reference(folder: Path, statement: str) -> Path:
    """A reference.py whose expected() executes the statement, on line 5."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "reference.py"
    path.write_text(REFERENCE.replace("STATEMENT", statement))
    return path
