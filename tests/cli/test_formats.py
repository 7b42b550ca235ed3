"""`grader check --format`: the lines are those of the report, in the files that students wrote."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from grader.cli.app import run as run_command
from grader.cli.terminal import Backend
from tests.command import ROOT
from tests.submissions.test_containers import notebook, zipped

LAB = "vector-add"
SOLUTION = (ROOT / "solutions" / LAB / f"{LAB}.cu").read_text()
WRONG = SOLUTION.replace("[i] =", "[i] = nowhere +", 1)
LINE = next(n for n, row in enumerate(WRONG.split("\n"), 1) if "nowhere" in row)
COLUMN = WRONG.split("\n")[LINE - 1].index("nowhere") + 1
PROGRAM = WRONG + '#include <cstdio>\nint main() { printf("x"); return 0; }\n'
HEADER = "#pragma once\n\n__device__ float twice(float x) { return 2 * elsewhere; }\n"
INCLUDING = f'// mine\n#include "twice.cuh"\n{SOLUTION}'
BOOK = notebook("import os", f"%%writefile {LAB}.cu\n{WRONG}")
SUBMITTED: dict[str, tuple[dict[str, bytes], str, str]] = {
    "a source": ({"mine.cu": WRONG.encode()}, "mine.cu", f"mine.cu:{LINE}:{COLUMN}"),
    "a whole program": ({"mine.cu": PROGRAM.encode()}, "mine.cu", f"mine.cu:{LINE}:{COLUMN}"),
    "a header": ({"mine.cu": INCLUDING.encode(), "twice.cuh": HEADER.encode()}, "mine.cu",
                 f"twice.cuh:3:{HEADER.split(chr(10))[2].index('elsewhere') + 1}"),
    "Windows' lines": ({"mine.cu": WRONG.replace("\n", "\r\n").encode()}, "mine.cu",
                       f"mine.cu:{LINE}:{COLUMN}"),
    "an old Mac's lines": ({"mine.cu": WRONG.replace("\n", "\r").encode()}, "mine.cu",
                           f"mine.cu:{LINE}:{COLUMN}"),
    "a notebook": ({"hw.ipynb": BOOK}, "hw.ipynb", f"hw.ipynb[cell 2]:{LINE + 1}:{COLUMN}"),
    "an archive": ({"hw.zip": zipped({"src/mine.cu": WRONG.encode()})}, "hw.zip",
                   f"hw.zip:mine.cu:{LINE}:{COLUMN}"),
    "a notebook in an archive": ({"hw.zip": zipped({"b.ipynb": BOOK})}, "hw.zip",
                                 f"hw.zip:b.ipynb[cell 2]:{LINE + 1}:{COLUMN}"),
    "a folder": ({"hw/src/mine.cu": WRONG.encode()}, "hw", f"hw/src/mine.cu:{LINE}:{COLUMN}"),
    "a hostile name": ({"::error file=b::x.cu": WRONG.encode()}, "./::error file=b::x.cu",
                       rf"./\x3a\x3aerror file=b\x3a\x3ax.cu:{LINE}:{COLUMN}"),
    "a name for no compiler": ({"-\x1b\udcff.cu": WRONG.encode()}, "./-\x1b\udcff.cu",
                               rf"./-\x1b\udcff.cu:{LINE}:{COLUMN}"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def on_the_simulator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def checked(capsys: pytest.CaptureFixture[str], *words: str, lab: str = LAB) -> tuple[int, str]:
    code = run_command(["check", lab, *words, "--on", Backend.sim.value])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("name", SUBMITTED)
def test_the_place_is_where_the_student_wrote_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, submitted, expected = SUBMITTED[name]
    for file, data in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(data)
    code, out = checked(capsys, submitted, "--format", "gcc", "--json", "grade.json")
    assert code == 1
    first = out.splitlines()[0]
    assert first.startswith(f"{expected}: error: compile-error: "), out
    (finding,) = json.loads(Path("grade.json").read_text())["checks"][0]["findings"]
    line, column = map(int, expected.rsplit(":", 2)[1:])
    assert (finding["line"], finding["column"]) == (line, column)


def test_each_format_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.cu").write_text(WRONG)
    _, gcc = checked(capsys, "mine.cu", "--format=gcc")
    _, github = checked(capsys, "mine.cu", "--format=github")
    code, sarif = checked(capsys, "mine.cu", "--format=sarif")
    (result,) = json.loads(sarif)["runs"][0]["results"]
    text = result["message"]["text"]
    assert code == 1
    assert gcc == f"mine.cu:{LINE}:{COLUMN}: error: compile-error: {text}\n"
    place = f"file=mine.cu,line={LINE},col={COLUMN},title=compile-error"
    assert github.startswith(f"::error {place}::compile-error: {text}\n::notice title=")
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": LINE, "startColumn": COLUMN}


def test_a_correct_file_has_no_lines(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.cu").write_text(SOLUTION)
    code, out = checked(capsys, "mine.cu", "--format", "gcc")
    assert (code, [line for line in out.splitlines() if ": error:" in line]) == (0, [])


def test_what_is_no_source_is_a_problem_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.cu").write_bytes(b"%PDF-1.7")
    code, out = checked(capsys, "mine.cu", "--format", "gcc")
    assert code == 1 and out.startswith("mine.cu:1:1: error: compile-error: ")
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("notes.txt", "x")
    Path("hw.zip").write_bytes(book.getvalue())
    code, out = checked(capsys, "hw.zip", "--format", "github")
    assert code == 1 and out.startswith("::error file=hw.zip,title=compile-error::")


@pytest.mark.parametrize(
    "words", ["--format sarif --json -", "--format sarif --watch", "--watch --json -"]
)
def test_one_result_goes_to_stdout(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.cu").write_text(SOLUTION)
    assert checked(capsys, "mine.cu", *words.split()) == (2, "")
