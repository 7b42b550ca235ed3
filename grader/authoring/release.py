"""The zip for students: skeleton, handout, questions, and the public part of the lab.

`grader check` works in the unpacked folder. The zip contains `reference.py`, because a check needs
it. It contains no hidden cases, no solution, and not how the answers of the quiz are computed;
`leaks` searches every file for these before anything is written.
"""

from __future__ import annotations

import base64
import io
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml
from pydantic import BaseModel

from grader import regex
from grader.authoring.new_lab import BEGIN, END, LINE
from grader.checks.suite import plan
from grader.faults import LabFault
from grader.labs import schema as labmodel
from grader.labs.cases import hidden_answers
from grader.labs.model import Case, Lab
from grader.labs.quiz import ANSWERS_FILE, answer_form, choice_texts, question_text
from grader.labs.thresholds import THRESHOLDS_FILE

MIN_SECRET_LINE = 16
"""Shorter lines of a solution, such as `sum = 0.0f;`, are not secret."""

ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every entry, the earliest that a zip can hold: the same lab gives the same bytes."""

MARKUP = (".html", ".htm", ".svg", ".xml")
"""How the names of files end whose tags hold text too."""

_TAG = regex(r"<[^>]*>")
_DATA_URL = regex(r"data:([\w.+/;=\-]*),", re.IGNORECASE)
_BASE64 = regex(r"[\w+/\s-]*", re.ASCII)


def leaks(lab: Lab, solution: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """Describe every secret that a file reveals, one line each.

    Args:
        lab: The lab with all of its cases.
        solution: The text of the solution; empty when there is none.
        files: The files for students by name.
    """
    texts = {name: _text(name, data) for name, data in files.items()}
    public = [case for case in lab.cases if case.visibility == "public"]
    for case in (case for case in lab.cases if case.visibility == "hidden"):
        for name, text in texts.items():
            yield from (f"{name} has {what}" for what in _of_case(case, public, name, text))
    lines = secret_lines(solution)
    for name, text in texts.items():
        if not name.endswith("/baseline.cu"):  # another kernel of the same lab shares lines
            shown = (line for line in lines if line in text and line not in _baseline(texts))
            yield from (f"{name} has a line of the solution: {line}" for line in shown)


def _text(name: str, data: bytes) -> str:
    """Return the text that a reader of the file can see: of a page, that of its figures too."""
    if name.endswith(".pdf"):
        return _text_of_pdf(data)
    whole = data.decode("utf-8", "replace")
    is_markup = name.endswith(MARKUP)
    found, waiting = [] if is_markup else [whole], [whole] if is_markup else list(_embedded(whole))
    for markup in waiting:  # which grows by what the markup has inside, always shorter than it
        reader = _MarkupReader()
        reader.feed(markup.replace("<![CDATA[", "").replace("<![", ""))
        reader.close()
        # A tag is within a word, as where code has colors, or between two, as in a figure.
        texts = ["".join(reader.between), "\n".join(reader.between), *reader.values]
        found += [unescape(_TAG.sub("", markup)), *texts]
        waiting += [value for value in reader.values if "<" in value]  # such as `srcdoc`
        figures = [figure for text in texts for figure in _embedded(text)]
        waiting += [figure for figure in figures if figure not in waiting]
    return "\n".join(found).replace("\xa0", " ")  # with which figures keep spaces


class _MarkupReader(HTMLParser):
    """Collects the text between tags, and what the tags hold: attributes and comments."""

    def __init__(self) -> None:
        super().__init__()
        self.between: list[str] = []
        self.values: list[str] = []

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.between.append(data)

    def handle_comment(self, data: str) -> None:
        """Keep a comment."""
        self.values.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the values of the attributes, such as `alt` and `src`."""
        self.values += [value for _, value in attrs if value]


def _embedded(text: str) -> Iterator[str]:
    """Give the texts of the files that `data:` addresses contain, in base64 or escaped."""
    starts = list(_DATA_URL.finditer(text))
    ends = [*(found.start() for found in starts[1:]), len(text)]
    for found, end in zip(starts, ends, strict=False):
        content = unquote(text[found.end() : end])
        if "base64" in found[1].lower():
            found_letters = _BASE64.match(content)
            letters = "".join(found_letters[0].split()) if found_letters else ""
            whole = letters[: len(letters) - (len(letters) % 4 == 1)]
            data = base64.b64decode(whole + "=" * (-len(whole) % 4), altchars=b"-_")
            content = data.decode("utf-8", "replace")
        yield content


def _text_of_pdf(data: bytes) -> str:
    """Return the text of all pages. pypdf is part of the extra `handouts`, which makes PDFs."""
    from pypdf import PdfReader

    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages)


def _baseline(texts: Mapping[str, str]) -> str:
    return next((text for name, text in texts.items() if name.endswith("/baseline.cu")), "")


def secret_lines(solution: str) -> tuple[str, ...]:
    """Return the lines of the solution that the skeleton does not show anywhere."""
    inside, secret, shown = False, [], []
    for line in map(str.strip, solution.splitlines()):
        if line in (BEGIN, END):
            inside = line == BEGIN
        elif inside and not line.startswith(LINE):
            secret.append(line)
        else:
            shown.append(line.removeprefix(LINE).strip())
    return tuple(dict.fromkeys(x for x in secret if len(x) >= MIN_SECRET_LINE and x not in shown))


def _of_case(case: Case, public: list[Case], name: str, text: str) -> Iterator[str]:
    if re.search(rf"(?<![\w-]){re.escape(case.name)}(?![\w-])", text):
        yield f"the name of the hidden case {case.name}"
    if _reveals_size(case, public, text):
        yield f"the size of the hidden case {case.name}: {case.size}"
    kinds = {other.kind for other in public} | {"random"}
    if case.kind not in kinds and re.search(rf"[\"']{re.escape(case.kind)}[\"']", text):
        yield f"the kind of the hidden case {case.name}, which no public case has: {case.kind}"


def _reveals_size(case: Case, public: list[Case], text: str) -> bool:
    """Return whether the text has all dims as `m = 67` or `m: 67`, or all numbers as `67 x 43`.

    The size of a public case is not secret.
    """
    if any(dict(case.dims) == dict(other.dims) for other in public) or not case.dims:
        return False
    sides = r"\s*[x*×]\s*".join(str(value) for value in case.dims.values())
    if len(case.dims) > 1 and re.search(rf"(?<![\d.]){sides}(?!\d|\.\d)", text):
        return True
    named = (rf"\b{dim}\s*[:=]+\s*{value}\b" for dim, value in case.dims.items())
    return all(re.search(pattern, text) for pattern in named)


README = """\
{title}

Write your kernel into {lab}.cu, then run in this folder:

  grader check {lab} {lab}.cu --course .

Your course explains how to install grader, the package warpgrade. Run
`grader doctor` to check your machine. No GPU is needed.
"""
QUESTIONS = """
The questions are in {file}: write each answer after its colon. Only the
form of your answers is checked here; your course grades them.
"""


def release_files(lab: Lab, handout: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return every file of the zip by its path.

    Args:
        lab: The lab.
        handout: The lab's page, as files by name.

    Raises:
        LabFault: A file is missing, or no case is public.
    """
    top, inner = f"{lab.name}/", f"{lab.name}/labs/{lab.name}/"
    texts = {
        f"{top}{lab.name}.cu": _read(lab.skeleton),
        f"{top}README.txt": _readme(lab).encode(),
        f"{inner}lab.yaml": public_spec(lab).encode(),
        f"{inner}reference.py": _read(lab.folder / "reference.py"),
    }
    if lab.quiz:
        texts[top + ANSWERS_FILE] = answer_form(lab).encode()
    if _needs_baseline(lab):
        texts[inner + lab.baseline.name] = _read(lab.baseline)
    if (lab.folder / THRESHOLDS_FILE).is_file():
        texts[inner + THRESHOLDS_FILE] = _read(lab.folder / THRESHOLDS_FILE)
    pages = {top + name: page for name, page in handout.items()}
    return dict(sorted((texts | pages).items()))


def public_spec(lab: Lab) -> str:
    """Return lab.yaml without hidden and drawn cases, comments, and the answers of the quiz."""
    file = lab.folder / "lab.yaml"
    spec = yaml.safe_load(_read(file).decode("utf-8-sig"))
    hidden = {case.name for case in lab.cases if case.visibility == "hidden"}
    spec["cases"] = [case for case in spec["cases"] if case["name"] not in hidden]
    if not spec["cases"]:
        fix = "make at least one case public"
        raise LabFault("no case is public", where=str(file), fix=fix)
    if lab.derivations:
        answers = spec["derive"]["answers"]
        spec["derive"]["answers"] = {
            n: a for n, a in answers.items() if n not in hidden_answers(lab.cases)
        }
    spec.pop("quiz", None)
    spec.pop("drawn", None)
    if lab.quiz:
        spec["quiz"] = _questions(lab)
    _check(labmodel.LabModel, spec, file)
    return yaml.safe_dump(spec, sort_keys=False, default_flow_style=None, width=100)


def zipped(files: Mapping[str, bytes], executable: Collection[str] = ()) -> bytes:
    """Return a zip with the files, sorted by name; equal files give equal bytes.

    Files named in `executable` get the permission to run.
    """
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, ZIP_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o755 if name in executable else 0o644) << 16
            archive.writestr(entry, files[name])
    return data.getvalue()


def _readme(lab: Lab) -> str:
    text = README.format(title=lab.title, lab=lab.name)
    return text + (QUESTIONS.format(file=ANSWERS_FILE) if lab.quiz else "")


def _needs_baseline(lab: Lab) -> bool:
    """Return whether a check runs the baseline, which may contain part of the solution."""
    checks = plan(lab)
    return any(check.options.needs_baseline or check.name == "speed" for check in checks)


def _questions(lab: Lab) -> dict[str, dict[str, Any]]:
    """Return the questions as students read them, without the data of the answers."""
    questions: dict[str, dict[str, Any]] = {}
    for question in lab.quiz:
        questions[question.name] = {"text": " ".join(question_text(question, lab).split())}
        questions[question.name] |= {"kind": question.kind}
        if question.choices:
            questions[question.name]["choices"] = [
                {"text": t} for t in choice_texts(question, lab).values()
            ]
        if question.unit:
            questions[question.name]["unit"] = question.unit
    return questions


def _check(model: type[BaseModel], spec: Any, file: Path) -> None:
    """Raise LabFault when the public part is not a valid lab."""
    try:
        model.model_validate(spec)
    except ValueError as error:
        what = f"without its hidden cases the lab is invalid: {str(error).splitlines()[0]}"
        raise LabFault(what, where=str(file)) from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        what = f"cannot read the file: {error.strerror}"
        raise LabFault(what, where=str(path), fix="restore the file") from None
