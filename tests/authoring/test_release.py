"""The zip for students: searched for secrets, unpacked and used."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml

from grader.authoring.content import _FIGURE, _as_text, bundle
from grader.authoring.handouts.build import pdf
from grader.authoring.handouts.page import Page
from grader.authoring.release import leaks, release_files, secret_lines, zipped
from grader.faults import LabFault
from grader.labs.model import Case, Lab
from grader.labs.quiz import read_answer_sheet
from grader.labs.reading import list_labs, load_lab
from tests.command import ROOT, grader


def released(lab: Lab) -> Mapping[str, bytes]:
    """What a zip of the lab holds, with the handout's source for its pages."""
    page = f"{lab.name}.md"
    return release_files(lab, {page: (ROOT / "handouts" / page).read_bytes()})


def unpacked(lab: Lab, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(zipped(released(lab)))) as archive:
        archive.extractall(folder)
    return folder / lab.name


@pytest.mark.parametrize("name", list_labs())
def test_zip_reveals_no_secret(name: str, tmp_path: Path) -> None:
    lab = load_lab(name)
    folder = unpacked(lab, tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    whole = "\n".join(path.read_text() for path in files)
    assert list(leaks(lab, lab.solution.read_text(), released(lab))) == []
    hidden = [case for case in lab.cases if case.visibility == "hidden"]
    assert hidden
    assert not any(case.name in whole or case.size in whole.split("\n") for case in hidden)
    assert not {path.name for path in files} & {"equivalent.yaml", "baseline.md"}
    assert not any("solutions" in path.parts or "wrong" in path.parts for path in files)
    baseline = folder / "labs" / name / "baseline.cu"
    known = baseline.read_text() if baseline.is_file() else ""
    lines = [line for line in secret_lines(lab.solution.read_text()) if line not in known]
    assert lines and not [line for line in lines if line in whole.replace(known, "")]
    assert "BEGIN SOLUTION" not in whole and "visibility: hidden" not in whole
    quiz = (folder / "labs" / name / "lab.yaml").read_text().partition("\nquiz:")[2]
    assert quiz and not re.search("answer:|when:|given:|hint:|tolerance:|case:", quiz)


@pytest.mark.parametrize("name", list_labs())
def test_unpacked_zip_is_the_public_lab(name: str, tmp_path: Path) -> None:
    lab = load_lab(name)
    folder = unpacked(lab, tmp_path)
    student = load_lab(name, [folder / "labs"])
    public = tuple(case for case in lab.cases if case.visibility == "public")
    assert student.cases == public
    assert [c.name for c in student.checks] == [c.name for c in lab.checks]
    assert (student.max_score, student.bands) == (lab.max_score, lab.bands)
    public = tuple(d for d in lab.derivations if d.visibility == "public")
    assert student.derivations == public
    assert [q.name for q in student.quiz] == [q.name for q in lab.quiz]
    assert not any(q.has_key or q.given or q.hint for q in student.quiz)
    sheet = read_answer_sheet(folder)
    assert set(sheet.entries) == {q.name for q in lab.quiz}
    assert not any(entry.text for entry in sheet.entries.values())
    assert (folder / f"{name}.cu").read_text() == lab.skeleton.read_text()


def test_equal_labs_give_equal_bytes() -> None:
    lab = load_lab("tiled-matmul")
    first = zipped(released(lab))
    again = zipped(dict(reversed(released(lab).items())))
    assert first == again
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert archive.namelist() == sorted(archive.namelist())
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("name", ["vector-add", "tiled-matmul"])
def test_a_student_checks_in_the_unpacked_folder(name: str, tmp_path: Path) -> None:
    """With and without a baseline beside it: the skeleton falls short, a right kernel does not."""
    lab = load_lab(name)
    folder = unpacked(lab, tmp_path)
    begun = grader("check", name, f"{name}.cu", "--course", ".", "--on", "sim", cwd=folder)
    assert begun.code == 1 and "Traceback" not in begun.err
    shutil.copy(lab.solution, folder / f"{name}.cu")
    done = grader("check", name, f"{name}.cu", "--course", ".", "--on", "sim", cwd=folder)
    assert done.code == 0, done.out + done.err
    assert f"{len(lab.quiz)} graded by your course" in " ".join(done.out.split())


@pytest.mark.parametrize("name", list_labs())
def test_page_names_only_files_of_the_zip(name: str) -> None:
    text = (ROOT / "handouts" / f"{name}.md").read_text("utf-8")
    held = released(load_lab(name))
    named = re.findall(rf"`((?:labs/)?[\w/-]*{name}(?:/[\w.-]+|\.cu))`", text)
    assert named and [path for path in named if f"{name}/{path}" not in held] == []


LEAKS: list[tuple[str, str, str, str]] = [
    # name, file, inserted text, expected leak
    (
        "a name",
        "tiled-matmul.cu",
        "// see hidden-random",
        "the name of the hidden case hidden-random",
    ),
    ("a size", "tiled-matmul.md", "It must work for n = 80, too.", "the size of the hidden case"),
    (
        "a size in yaml",
        "labs/tiled-matmul/lab.yaml",
        "# dims: {n: 112}",
        "hidden-whole-numbers: 112",
    ),
    (
        "a line",
        "labs/tiled-matmul/reference.py",
        "# sum += As[ty][k] * Bs[k][tx];",
        "a line of the",
    ),
    (
        "a line on the page",
        "tiled-matmul.html",
        "<code>sum += <b>As[ty][k]</b> * Bs[k][tx];</code>",
        "a line of the",
    ),
    ("another size", "tiled-matmul.md", "n = 81, n = 180, 80 bytes, in = 80", ""),
    ("a longer name", "tiled-matmul.md", "hidden-randomly", ""),
]


@pytest.mark.parametrize(
    ("file", "text", "leak"), [row[1:] for row in LEAKS], ids=[row[0] for row in LEAKS]
)
def test_leak_is_detected(file: str, text: str, leak: str) -> None:
    lab = load_lab("tiled-matmul")
    files = dict(released(lab))
    name = f"tiled-matmul/{file}"
    files[name] = files.get(name, b"") + f"\n{text}\n".encode()
    found = list(leaks(lab, lab.solution.read_text(), files))
    assert len(found) == bool(leak) and all(leak in line and file in line for line in found)


SVG = "<svg xmlns='http://www.w3.org/2000/svg'><title>A</title>%s</svg>"
CODE = "sum&#160;+= <tspan>As[ty][k] *</tspan> Bs[k][tx];"
NAME, PART = "the name of the hidden case hidden-random", "a line of the solution"


def base64_of(text: str) -> str:
    return "data:image/svg+xml;base64," + b64encode(text.encode()).decode()


HIDDEN_ON_PAGES: dict[str, tuple[str, str]] = {
    "alt": ('<p><img src="x.svg" alt="the case\nhidden-random: a > b">', NAME),
    "no quotes": ("<img alt=hidden&#45;random>", NAME),
    "a comment": ("<!-- see hidden-random -->", NAME),
    "base64": (f'<img class="wide" src="{base64_of(SVG % "<text>hidden-random</text>")}">', NAME),
    "base64, code": (f"<img src='{base64_of(SVG % CODE)}' alt='x'>", PART),
    "a figure's attribute": (f'<img src="{base64_of(SVG % "<g id=hidden-random />")}">', NAME),
    "as text": (f'<img src="data:image/svg+xml,{SVG % "<text>hidden-random</text>"}">', NAME),
    "as text, code": (f'<img src="data:image/svg+xml;utf8,{quote(SVG % CODE)}">', PART),
    "a style": (f"<style>p {{ mask: url({base64_of(SVG % 'hidden-random')}) }}</style>", NAME),
    "a figure in a figure": (
        f'<img src="{base64_of(SVG % f"<image href={base64_of(SVG % CODE)!r} />")}">', PART
    ),
    "a page in a page": ("<iframe srcdoc='<p>sum += As[ty][k] * <b>Bs[k][tx];</b>'>", PART),
    "one of many": (
        f'<img srcset="{base64_of("a")} 1x, {base64_of("hidden-random")} 2x, data:,b 3x">', NAME
    ),
    "nothing": (f'<img alt="hidden-randomly" src="{base64_of(SVG % "n = 81")}"><![x <!DOCTYPE', ""),
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN_ON_PAGES)
def test_what_figures_and_attributes_reveal_is_a_leak(name: str) -> None:
    text, leak = HIDDEN_ON_PAGES[name]
    lab = load_lab("tiled-matmul")
    for page in (f"<html><body>{text}</body></html>", f"{base64_of('a')} data:, {text}"):
        found = list(leaks(lab, lab.solution.read_text(), {"tiled-matmul.html": page.encode()}))
        assert len(found) == bool(leak) and all(leak in line for line in found), page


def test_a_page_that_reveals_a_secret_is_not_bundled() -> None:
    """As for a wheel: a hidden case in a figure that is not in base64 any more."""
    page = _FIGURE.sub(_as_text, f'<img src="{base64_of(SVG % "<text>hidden-random</text>")}">')
    assert "base64" not in page
    with pytest.raises(LabFault, match="has the name of the hidden case hidden-random"):
        bundle(load_lab("tiled-matmul"), page)


@pytest.mark.parametrize(("added", "count"), [("", 0), ("\nIt is graded at n = 80, too.\n", 1)])
def test_leak_in_a_pdf_is_detected(added: str, count: int, tmp_path: Path) -> None:
    page = f"# A page\n\nWhat a student reads.\n{added}"
    made = pdf(Page("tiled-matmul", "A page", page), tmp_path)
    found = list(leaks(load_lab("tiled-matmul"), "", {"tiled-matmul.pdf": made}))
    assert len(found) == count and all("tiled-matmul.pdf has the size" in line for line in found)


SIZES = [
    ({"m": 67, "n": 43}, "67 x 43", True),
    ({"m": 67, "n": 43}, "67x43x71", True),
    ({"m": 67, "n": 43}, "m: 67, k: 1, n: 43", True),
    ({"m": 67, "n": 43}, "m = 67 and n = 44", False),
    ({"m": 67, "n": 43}, "167 x 43", False),
    ({"m": 67, "n": 43}, "67 x 430", False),
    ({"n": 37}, "37 x 37", False),
    ({"n": 37}, "n == 37", True),
    ({"n": 37}, "bin = 37", False),
    ({"n": 16}, "n = 16", False),
]


@pytest.mark.parametrize(("dims", "text", "is_leak"), SIZES)
def test_size_of_a_hidden_case_is_detected(dims: dict[str, int], text: str, is_leak: bool) -> None:
    cases = (Case("one", {"n": 16}), Case("two", dims, visibility="hidden"))
    lab = replace(load_lab("tiled-matmul"), cases=cases)
    assert bool(list(leaks(lab, "", {"x.md": text.encode()}))) is is_leak


def test_kind_of_hidden_cases_only_is_detected() -> None:
    cases = (Case("one", {"n": 16}), Case("two", {"n": 3}, "denormal", "hidden"))
    lab = replace(load_lab("tiled-matmul"), cases=cases)
    found = list(leaks(lab, "", {"reference.py": b'if kind == "denormal":'}))
    assert found == ["reference.py has the kind of the hidden case two, which no public case has:"
                    " denormal"]  # fmt: skip


def edited_course(name: str, edit: Callable[[str], str]) -> Callable[[Path], None]:
    """A course of vector-add alone with one of its files edited."""

    def make(at: Path) -> None:
        for folder in ("labs", "solutions"):
            shutil.copytree(ROOT / folder / "vector-add", at / folder / "vector-add")
        path = at / name
        path.write_text(edit(path.read_text()))

    return make


def all_hidden(text: str) -> str:
    spec = yaml.safe_load(text)
    spec["cases"] = [case | {"visibility": "hidden"} for case in spec["cases"]]
    spec.pop("quiz")
    return yaml.safe_dump(spec)


REFUSED: list[tuple[str, Callable[[Path], None], str]] = [
    ("a leak", edited_course("labs/vector-add/vector-add.cu", lambda t: t + "// n = 5003\n"),
     "vector-add.cu has the size of the hidden case hidden-ragged: 5003"),
    ("no public case", edited_course("labs/vector-add/lab.yaml", all_hidden), "no case is public"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_zip_with_a_leak_is_not_written(
    tmp_path: Path, make: Callable[[Path], None], message: str
) -> None:
    make(tmp_path)
    found = grader("labs", "release", "vector-add", "--course", tmp_path, "--out", tmp_path)
    assert found.code == 2 and message in " ".join(found.err.split())
    assert not list(tmp_path.glob("*.zip"))


def test_missing_file_is_a_fault_of_the_lab(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "labs" / "vector-add", tmp_path / "labs" / "vector-add")
    (tmp_path / "labs" / "vector-add" / "reference.py").unlink()
    with pytest.raises(LabFault, match="cannot read the file"):
        release_files(load_lab("vector-add", [tmp_path / "labs"]), {})


def test_command_writes_a_zip_with_the_handout(tmp_path: Path) -> None:
    """The handout is built; its pages reveal no secret either."""
    lab = load_lab("vector-add")
    message = grader("labs", "release", "vector-add", "--out", tmp_path)
    assert message.code == 0, message.err
    assert f"wrote {tmp_path / 'vector-add.zip'}" in " ".join(message.err.split())
    with zipfile.ZipFile(tmp_path / "vector-add.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert files["vector-add/vector-add.pdf"].startswith(b"%PDF")
    page = files["vector-add/vector-add.html"].decode()
    assert "<h1" in page and not re.search(r"<script|hidden-(short|ragged)", page)
    assert list(leaks(lab, lab.solution.read_text(), files)) == []
    nowhere = grader("labs", "release", "vector-add", "--out", tmp_path / "nowhere")
    assert nowhere.code == 2 and "the folder does not exist" in " ".join(nowhere.err.split())


def test_a_lab_whose_solution_fails_is_not_released(tmp_path: Path) -> None:
    for folder in ("labs", "solutions"):
        shutil.copytree(ROOT / folder / "vector-add", tmp_path / folder / "vector-add")
    lab = load_lab("vector-add", [tmp_path / "labs"])
    lab.solution.write_text(lab.solution.read_text().replace("a[i] + b[i]", "a[i] - b[i]"))
    found = grader("labs", "release", "vector-add", "--course", tmp_path, "--out", tmp_path)
    said = " ".join(found.err.split())
    assert found.code == 2 and "its solution does not pass output" in said
    assert "run `grader labs check vector-add`" in said
    assert not list(tmp_path.glob("*.zip"))
