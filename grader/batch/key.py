"""What a grade depends on beside the submission itself, as one digest: two grades of the same
submission with the same key are the same grade."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader import __version__
from grader.cases import Backend
from grader.compile.cache import key_of
from grader.compile.source import toolchain
from grader.gpu.device import alike, toolkit
from grader.gpu.nvcc import release
from grader.grade import seed_id
from grader.lab import Lab
from grader.labfile.digest import lab_digest


def batch_key(lab: Lab, on: Backend, seed: bytes, tools: Mapping[str, str]) -> str:
    """SHA-256 over the lab's files, the seed, and what compiles and runs the submissions there.
    Raises LabFault."""
    files = [hashlib.sha256(path.read_bytes()).hexdigest() for path in quiz_files(lab)]
    return key_of(lab_digest(lab), files, seed_id(seed), on, dict(tools))


def tools_here(on: Backend) -> Mapping[str, str]:
    """The grader's version, the compilers' and on a GPU its model: where they are the same, the
    same submission gets the same grade. Raises MachineFault."""
    tools = {"grader": __version__, **toolchain()}
    if on == "gpu":
        nvcc = toolkit()
        tools |= {"nvcc": release(nvcc) if nvcc else "", "device": alike()[0].model}
    return tools


def quiz_files(lab: Lab) -> Iterator[Path]:
    """What the answers to the quiz are measured with, outside the lab's folder: its solution's."""
    probes = (probe for question in lab.quiz for probe in question.probes.values())
    for name in sorted({probe.file for probe in probes}):
        path = lab.solution.parent / name
        if path.is_file():
            yield path
