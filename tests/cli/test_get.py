"""`grader labs get`: a folder to work in, in which nothing of a student's is lost."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from grader.authoring.content import TASKS, bundle, work_files, write_bundle
from grader.cli.course import write_work_folder
from grader.cli.export import export
from grader.cli.terminal import note_public_part
from grader.faults import LabFault
from grader.labs import reading
from grader.labs.reading import list_labs, load_lab
from tests.command import ROOT, grader

LAB = "histogram"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with one lab, whose page is there already: nothing has to be built."""
    folder = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / "labs" / LAB, folder / "labs" / LAB)
    (folder / "handouts").mkdir()
    (folder / "handouts" / f"{LAB}.html").write_text("<h1>Histogram</h1>")
    return folder


def test_the_folder_has_what_a_student_starts_with(course: Path, tmp_path: Path) -> None:
    done = grader("labs", "get", LAB, "--course", course, cwd=tmp_path)
    assert done.code == 0, done.err
    work = tmp_path / LAB
    skeleton = (ROOT / "labs" / LAB / f"{LAB}.cu").read_bytes()
    assert (work / f"{LAB}.cu").read_bytes() == skeleton
    assert (work / f"{LAB}.html").read_text() == "<h1>Histogram</h1>"
    assert f"grader check {LAB} {LAB}.cu" in (work / "README.md").read_text()
    assert "bins" in (work / "answers.yaml").read_text()
    check, watch = json.loads((work / TASKS).read_text())["tasks"]
    words = ["check", LAB, f"{LAB}.cu", "--course", ".", "--format=gcc"]
    assert (check["command"], check["args"]) == ("grader", words)
    assert (watch["args"], watch["isBackground"]) == ([*words, "--watch"], True)
    pattern = check["problemMatcher"]["pattern"]
    assert [pattern[k] for k in ("file", "line", "column", "severity", "message")] == [*range(1, 6)]
    around = watch["problemMatcher"]["background"]
    assert re.match(around["beginsPattern"], f"grader: checking {LAB}.cu")
    assert re.match(around["endsPattern"], f"grader: waiting for changes of {LAB}.cu (0.21 s)")
    checked = grader(*words, cwd=work)
    assert checked.code == 1 and "score 0 of" in checked.err, "the folder has its lab"
    text = "".join(path.read_text() for path in work.rglob("*") if path.is_file())
    hidden = [case.name for case in load_lab(LAB).cases if case.visibility == "hidden"]
    assert hidden and not [name for name in hidden if name in text]
    again = grader("labs", "get", LAB, "--course", course, cwd=tmp_path)
    assert again.code == 0, "what is there is what would be written"


def test_a_lab_of_the_package_needs_no_course() -> None:
    files = work_files(load_lab(LAB), None)
    assert b"--course" not in b"".join(files.values())
    assert not [name for name in files if name.startswith("labs/")]


def test_a_students_file_is_never_replaced_unless_it_is_asked_for(
    course: Path, tmp_path: Path
) -> None:
    """Nothing is written then, not even what is missing."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / f"{LAB}.cu").write_text("// three days of work\n")
    done = grader("labs", "get", LAB, mine, "--course", course)
    assert done.code == 2 and "nothing was written" in done.err
    assert (mine / f"{LAB}.cu").read_text() == "// three days of work\n"
    assert [path.name for path in mine.iterdir()] == [f"{LAB}.cu"]
    assert grader("labs", "get", LAB, mine, "--course", course, "--force").code == 0
    assert "three days" not in (mine / f"{LAB}.cu").read_text()


def link_to_own_file(place: Path) -> None:
    (place.parent / "own.cu").write_text("kept")
    place.symlink_to(place.parent / "own.cu")


def broken_link(place: Path) -> None:
    place.symlink_to(place.parent / "nowhere")


@pytest.mark.parametrize("make", [link_to_own_file, broken_link, Path.mkdir])
def test_whatever_is_in_the_place_of_a_file_stays(make: object, tmp_path: Path) -> None:
    place = tmp_path / "a.cu"
    make(place)  # type: ignore[operator]
    before = place.lstat()
    with pytest.raises(LabFault, match="there already"):
        write_work_folder(tmp_path, {"a.cu": b"new", "b.md": b"new"})
    assert place.lstat() == before and not (tmp_path / "b.md").exists()


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_said(course: Path, tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("")
    done = grader("labs", "get", LAB, tmp_path / folder, "--course", course)
    assert done.code == 2 and "cannot create the folder" in " ".join(done.err.split())


def test_a_bundle_with_a_secret_is_refused(course: Path, tmp_path: Path) -> None:
    """The page, too, is searched."""
    lab = load_lab(LAB)
    hidden = next(case.name for case in lab.cases if case.visibility == "hidden")
    with pytest.raises(LabFault, match=hidden):
        bundle(lab, page=f"<p>The case {hidden} is large.</p>")
    assert f"handouts/{LAB}.html" in bundle(lab, page="<p>Nothing of it.</p>")


def test_an_installed_package_reads_its_own_labs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no checkout is: the labs of the current folder, then those of the package."""
    assert write_bundle(tmp_path / "content", [], lambda name: None) > 10_000
    monkeypatch.setattr(reading, "BUNDLED_LABS", tmp_path / "content" / "labs")
    monkeypatch.setattr(reading, "__file__", str(tmp_path / "x" / "y" / "z" / "reading.py"))
    monkeypatch.delenv(reading.LABS_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    names = list_labs()
    assert len(names) == 10 and load_lab(LAB).folder.is_relative_to(tmp_path / "content")
    assert {case.visibility for name in names for case in load_lab(name).cases} == {"public"}
    shutil.copytree(ROOT / "labs" / LAB, tmp_path / "labs" / LAB)
    assert load_lab(LAB).folder == Path("labs") / LAB
    monkeypatch.setattr(reading, "BUNDLED_LABS", tmp_path / "nothing")
    assert list_labs() == (LAB,)


def test_an_instructor_reads_that_hidden_cases_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The grades of a class without them would look like any others."""
    lab = load_lab(LAB)
    note_public_part([lab])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("grader.labs.model.BUNDLED_LABS", lab.folder.parent)
    note_public_part([lab])
    said = capsys.readouterr().err
    assert f"no hidden case of {LAB}" in " ".join(said.split()) and "--course" in said
    monkeypatch.setattr("secrets.token_bytes", lambda count: bytes(count))
    assert export(["gradescope-autograder", LAB], out=str(tmp_path / "x.zip")) == 0
    assert "only public cases" in capsys.readouterr().err
