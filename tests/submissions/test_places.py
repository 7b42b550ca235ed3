"""Lines of a source that was put together are those of the files and cells they are from."""

from __future__ import annotations

from dataclasses import replace

from grader.launch import Finding, Origin, OtherAccess
from grader.submissions.containers import header_finder
from grader.submissions.sources import (
    in_own_files,
    open_submission,
    source_places,
    with_headers,
)
from tests.submissions.test_containers import HEADER, KERNEL, MAIN, WANTED, notebook


def test_every_line_has_its_place_in_its_own_file() -> None:
    """By the content: each line of the files is at its own number in the merged text."""
    main = "int a;\r\n" + MAIN.replace("// mine", "/* two\nlines */ int b;")
    files = {"x": main, "inc/one.cuh": HEADER + '#include "two.h"\n', "inc/two.h": "int two;\n"}
    merged = with_headers(main, "x", "x", header_finder(files))
    assert merged is not None
    places = source_places(merged, "x")
    held = dict(zip(places, merged.split("\n"), strict=True))
    for file, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            shown = line.partition('"inc/one.cuh"')[2] if "inc/" in line else line
            assert held[file, number] == ("" if '#include "two' in line else shown), (file, number)


def test_lines_of_a_file_in_several_cells_are_those_of_the_cells() -> None:
    """Also behind a header, with every kind of line end, and where a student writes a mark."""
    mark = "//@warpgrade line 7 of secret.cu"
    cells = [
        f'%%writefile mm.cu\n{mark}\nint a;',
        f"%%writefile inc/one.cuh\n{HEADER}",
        '%%writefile -a mm.cu\r\nint b;\r\n#include "inc/one.cuh"\nint c;',
        f"%%writefile -a mm.cu\n{KERNEL}",
    ]  # fmt: skip
    submission = open_submission(notebook(*cells), "x", WANTED)
    places = source_places(submission.text, submission.name)
    held = dict(zip(places, submission.text.split("\n"), strict=True))
    assert held["x[cell 1]", 3] == "int a;"
    assert held["x[cell 3]", 2].strip() == "int b;" and held["x[cell 3]", 4] == "int c;"
    assert held["x[cell 4]", 2] == KERNEL.split("\n")[0]
    assert {file for file, _ in places} == {"x[cell 1]", "x[cell 3]", "inc/one.cuh", "x[cell 4]"}


def test_findings_move_to_their_files() -> None:
    merged = with_headers(
        MAIN, "x", "x", lambda name, includer: ("inc/one.cuh", HEADER) if "one" in name else None
    )
    assert merged is not None
    lines, places = merged.split("\n"), source_places(merged, "x")
    there, here = lines.index(HEADER.split("\n")[2]) + 1, lines.index("    a[0] = 1;") + 1
    race = Finding(
        "race", "error", f"lines {here} and {there}", "x", here, text="line 1", cases=("line 9",),
        other=OtherAccess(there, (0, 0, 0), (0, 0, 0)), origins=(Origin("line 1", here),),
    )  # fmt: skip
    (moved,) = in_own_files((race,), places, "x")
    assert (moved.file, moved.line, moved.message) == ("x", 5, "lines 5 and 3 of inc/one.cuh")
    assert (moved.text, moved.cases) == ("line 1", ("line 9",))
    assert moved.origins == (Origin("line 1", 5),)
    assert moved.other is not None
    assert (moved.other.file, moved.other.line) == ("inc/one.cuh", 3)
    (back,) = in_own_files((replace(race, line=there),), places, "x")
    assert (back.file, back.line, back.origins[0].file) == ("inc/one.cuh", 3, "x")
    assert in_own_files(race, (), "x") == race
    hunk = f"--- x\n+++ x\n@@ -{there},2 +{there},2 @@\n-a\n+b\n"
    assert "@@ line 3 of inc/one.cuh @@\n-a" in in_own_files(hunk, places, "x")
