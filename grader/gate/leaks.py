"""Looks for secrets of a lab in what students are given: hidden cases, the solution, answers."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from html import unescape

from grader.lab import Case, Lab
from grader.skeleton import BEGIN, END, LINE

LEAST = 16
"""A shorter line of a solution, such as `sum = 0.0f;`, is nobody's secret."""

_TAG = re.compile(r"<[^>]*>")


def leaks(lab: Lab, solution: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """Every secret that some file tells, in one line each; `solution` is the text of the answer,
    empty where there is none."""
    texts = {name: _text(name, data) for name, data in files.items()}
    public = [case for case in lab.cases if case.visibility == "public"]
    for case in (case for case in lab.cases if case.visibility == "hidden"):
        for name, text in texts.items():
            yield from (f"{name} has {what}" for what in _of_case(case, public, name, text))
    lines = secret_lines(solution)
    for name, text in texts.items():
        if not name.endswith("/baseline.cu"):  # another kernel of the same lab shares lines
            told = (line for line in lines if line in text and line not in _baseline(texts))
            yield from (f"{name} has a line of the solution: {line}" for line in told)


def _text(name: str, data: bytes) -> str:
    """What a reader of the file sees."""
    if name.endswith(".pdf"):
        return _text_of_pdf(data)
    text = data.decode("utf-8", "replace")
    return unescape(_TAG.sub("", text)) if name.endswith(".html") else text


def _text_of_pdf(data: bytes) -> str:
    """The text of all pages. pypdf comes with what makes PDFs, the extra `handouts`."""
    from pypdf import PdfReader

    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages)


def _baseline(texts: Mapping[str, str]) -> str:
    return next((text for name, text in texts.items() if name.endswith("/baseline.cu")), "")


def secret_lines(solution: str) -> tuple[str, ...]:
    """The lines that the skeleton leaves out and shows nowhere else."""
    inside, secret, shown = False, [], []
    for line in map(str.strip, solution.splitlines()):
        if line in (BEGIN, END):
            inside = line == BEGIN
        elif inside and not line.startswith(LINE):
            secret.append(line)
        else:
            shown.append(line.removeprefix(LINE).strip())
    return tuple(dict.fromkeys(x for x in secret if len(x) >= LEAST and x not in shown))


def _of_case(case: Case, public: list[Case], name: str, text: str) -> Iterator[str]:
    if re.search(rf"(?<![\w-]){re.escape(case.name)}(?![\w-])", text):
        yield f"the name of the hidden case {case.name}"
    if _tells_size(case, public, text):
        yield f"the size of the hidden case {case.name}: {case.size}"
    kinds = {other.kind for other in public} | {"random"}
    if case.kind not in kinds and re.search(rf"[\"']{re.escape(case.kind)}[\"']", text):
        yield f"the kind of the hidden case {case.name}, which no public case has: {case.kind}"


def _tells_size(case: Case, public: list[Case], text: str) -> bool:
    """Whether all dims are there as `m = 67`, `m: 67`, or all numbers as `67 x 43`. A size that a
    public case has is no secret."""
    if any(dict(case.dims) == dict(other.dims) for other in public) or not case.dims:
        return False
    sides = r"\s*[x*×]\s*".join(str(value) for value in case.dims.values())
    if len(case.dims) > 1 and re.search(rf"(?<![\d.]){sides}(?!\d|\.\d)", text):
        return True
    named = (rf"\b{dim}\s*[:=]+\s*{value}\b" for dim, value in case.dims.items())
    return all(re.search(pattern, text) for pattern in named)
