"""The C core is that of the sources that lie beside it, or it is refused."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.faults import MachineFault
from grader.simulator.core.bindings import Core, core
from grader.simulator.core.sources import digest
from tests.command import ROOT

SOURCES = ROOT / "grader" / "simulator" / "core"


def built(monkeypatch: pytest.MonkeyPatch, told: str | None) -> Path:
    """The core's path, with another answer to which sources it was built from; None: no answer."""
    real = core().library

    class Answer:
        def __call__(self) -> bytes:
            return (told or "").encode()

    held = SimpleNamespace(core_run=real.core_run, core_sizes=real.core_sizes)
    if told is not None:
        held.core_sources = Answer()
    monkeypatch.setattr("grader.simulator.core.bindings.ctypes.CDLL", lambda _: held)
    return SOURCES.parent / "_core.so"


@pytest.mark.parametrize("told", ["0123456789abcdef", None])
def test_a_core_of_other_sources_is_refused(monkeypatch: pytest.MonkeyPatch, told: Any) -> None:
    path = built(monkeypatch, told)
    with pytest.raises(MachineFault, match="built from other sources") as caught:
        Core(path)
    assert "make demo" in caught.value.fix


@pytest.mark.parametrize("told", [digest(SOURCES), ""])
def test_its_own_and_what_tells_nothing_are_taken(
    monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    assert Core(built(monkeypatch, told)).path.name == "_core.so"


def test_an_installed_package_has_no_sources_to_compare(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert digest(tmp_path) == ""
    built(monkeypatch, "0123456789abcdef")
    assert Core(tmp_path / "_core.so").path.parent == tmp_path


def test_one_changed_letter_or_name_is_another_digest(tmp_path: Path) -> None:
    copied = shutil.copytree(SOURCES, tmp_path / "core")
    assert digest(copied) == digest(SOURCES)
    first = min(copied.glob("*.c"))
    first.write_bytes(first.read_bytes() + b"\n")
    changed = digest(copied)
    first.rename(copied / "other.c")
    assert len({digest(SOURCES), changed, digest(copied)}) == 3


def test_setup_tells_the_compiler_the_same() -> None:
    told = runpy.run_path(str(ROOT / "grader" / "simulator" / "core" / "sources.py"))["digest"](
        SOURCES
    )
    assert told == digest(SOURCES)
    assert "-DCORE_SOURCES=" in (ROOT / "setup.py").read_text()
