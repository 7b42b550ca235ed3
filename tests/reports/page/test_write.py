"""The files of a report: their names, what they tell, and what a student's copy does not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from jinja2 import Environment, FileSystemLoader

from grader.batch.store import StoreResult
from grader.checks.causes import Explanation
from grader.cli.batch_messages import Row, Table
from grader.faults import LabFault
from grader.feedback.grade import grade
from grader.gradebook.ledger import Student
from grader.grading.pipeline import seed_id
from grader.labs.reading import load_lab
from grader.reports.classes import ReportRow, page_names
from grader.reports.page.classes import class_view
from grader.reports.page.student import student_view
from grader.reports.page.write import page_environment, student_page, write_class_report
from grader.submissions.files import read_submission
from grader.submissions.gather import StudentSubmission
from tests.made import RACE, a_grade, a_lab, a_result
from tests.reports.page.rows import CASES, LINES, NAMES, PUBLIC, WRONG, a_class, a_row, attacks

LAB = a_lab({"output": (40, {})})
SECRETS = ("secret-4711", "4711", "1931", "0.8151", "0123456789ab", "M. Curie")
HIDDEN = replace(
    WRONG,
    message="3 of 9097141 elements of C are wrong; the first is C[4711, 1931] = 0.8151",
    detail="0.8151",
    line=5,
    count=4711,
    cases=("secret-4711",),
)


def secretive() -> ReportRow:
    """A row whose grade knows a hidden case, in every place that may speak of it."""
    grade = a_grade(
        a_result("output", "fail", 5, findings=(WRONG, HIDDEN), cases={"secret-4711": "fail"}),
        a_result("sync", "fail", findings=(PUBLIC, replace(PUBLIC, cases=("secret-4711",)))),
        a_result("traffic", "fail", summary="4711 bytes", measured_on="secret-4711",
                 measurements={"bytes": 4711}),
        a_result("style", "fail", summary="4711", visibility="hidden", findings=(HIDDEN,)),
        cases=CASES,
        lines=LINES,
        lines_on="secret-4711",
    )  # fmt: skip
    return ReportRow("Ada", grade, a_row(0).source, override="by M. Curie: 4711", points=7.0)


def test_a_students_copy_has_no_secret(tmp_path: Path) -> None:
    shown = write_class_report(tmp_path, LAB, [secretive()], for_students=True)
    assert shown == tmp_path / "students"
    (page,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    text = page.read_text()
    assert [secret for secret in SECRETS if secret in text] == []
    assert "these points count hidden cases too" in text
    assert "the points were set by hand" in text
    assert "Previous" not in text and "index.html" not in text


def test_a_real_grade_on_hidden_cases_tells_a_student_nothing_of_them() -> None:
    lab = load_lab("vector-add")
    file = lab.solution.parent / "wrong" / "unwritten-output-whole-blocks-only.cu"
    submission, seed = read_submission(file), b"of the course"
    made = grade(lab, submission, visibility="all", seed=seed, threads=1)
    secrets = ("hidden-ragged", "hidden-short", "5003", "5,003", "4864", seed_id(seed))
    row = ReportRow("Ada", made, submission.text)
    whole, result = (student_page(row, for_students=s).decode() for s in (False, True))
    assert "hidden-ragged" in whole and "5003" in whole and seed_id(seed) in whole
    assert [secret for secret in secrets if secret in result] == []
    assert "these points count hidden cases too" in result
    kinds = student_page(row, for_students=True, feedback="kind").decode()
    assert [secret for secret in secrets if secret in kinds] == []
    assert "unwritten output in a hidden case" in kinds
    everything = student_page(row, for_students=True, feedback="full").decode()
    assert "hidden-ragged" in everything and "5003" in everything


def test_an_instructors_copy_has_all_of_them() -> None:
    text = student_page(secretive()).decode()
    assert [secret for secret in SECRETS if secret not in text] == []


def test_names_are_safe_and_each_is_there_once(tmp_path: Path) -> None:
    students = [*attacks("http://x"), *NAMES, "Ada Lovelace", "Ada Lovelace", "ada-lovelace"]
    names = page_names([replace(a_row(0), student=student) for student in students])
    assert all(re.fullmatch(r"[a-z0-9-]{1,70}", name) for name in names)
    assert len(set(names)) == len(names)
    assert names == page_names([replace(a_row(1), student=student) for student in students])
    (polish,) = page_names([replace(a_row(0), student="Łukasz Żółć")])
    assert polish.startswith("lukasz-zolc-")
    assert any(name.startswith("emilie-du-chatelet-") for name in names)


def test_a_page_keeps_its_name_when_the_class_grows() -> None:
    few, many = a_class(6), [*a_class(6), *a_class(12)[6:]]
    assert page_names(many)[:6] == page_names(few)
    assert page_names(many[3:])[:3] == page_names(few)[3:]


def test_written_twice_is_written_the_same(tmp_path: Path) -> None:
    first, again = (write_class_report(tmp_path / n, LAB, a_class(7)) for n in ("1", "2"))
    files = sorted(path.relative_to(first.parent) for path in first.parent.rglob("*.html"))
    assert len(files) == 8
    for file in files:
        assert (first.parent / file).read_bytes() == (again.parent / file).read_bytes()


def test_an_empty_class_has_a_page(tmp_path: Path) -> None:
    index = write_class_report(tmp_path / "new" / "folder", LAB, [])
    assert "<h1>Tiled matrix product</h1>" in index.read_text()


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(LabFault, match="cannot make the folder") as result:
        write_class_report(tmp_path / "taken", LAB, a_class(1))
    assert "--html" in result.value.fix


def test_the_index_counts_what_counts() -> None:
    rows = a_class(24)
    view = class_view(rows, ["x.html"] * 24)
    assert {name: value for value, name in view.tallies} == {
        "submissions": "24",
        "with full marks": "1",
        "median score": "35",
        "mean score": "28.4",
        "incomplete": "4",
    }
    assert [(c.name, c.passed, c.evaluated) for c in view.columns] == [
        ("output", 8, 20),
        ("sync", 16, 24),
        ("speed", 4, 8),
    ]
    kinds = [(k.kind, k.students, k.example, k.href) for k in view.kinds]
    assert kinds == [
        ("race", 8, "Konrad Zuse", "x.html#L7"),
        ("wrong-output", 8, "Konrad Zuse", "x.html#L8"),
        ("too-slow", 4, "Ada Lovelace", "x.html#L2"),
        ("uncoalesced", 4, "Grace Hopper", "x.html#L7"),
    ]


def test_lateness_counts_and_an_override_completes_a_grade() -> None:
    incomplete = replace(a_row(4), points=12.0)
    assert class_view([incomplete], [""]).lines[0].score == "12"
    assert class_view([a_row(4)], [""]).lines[0].score == "incomplete"
    assert class_view([replace(a_row(0), points=1.25)], [""]).lines[0].score == "1.25"


def test_points_that_a_course_scales_are_of_the_courses() -> None:
    row = replace(a_row(0), points=20.0, most=20.0)
    view = class_view([row], [""])
    assert (view.most, view.lines[0].score) == (20.0, "20")
    assert ("1", "with full marks") in view.tallies
    assert student_view(row).score == "20 of 20"


def test_findings_of_public_and_hidden_cases_are_shown_once() -> None:
    hidden = replace(PUBLIC, message="elsewhere", count=5, cases=("secret-4711",))
    row = replace(a_row(2), grade=a_grade(a_result("sync", "fail", findings=(PUBLIC, hidden))))
    ((found,),) = [(c.finding, *c.follows) for c in student_view(row).causes]
    assert found.message.startswith(PUBLIC.message)
    assert found.finding.count == PUBLIC.count + 5
    assert found.notes[0].endswith("in cases square, ragged, secret-4711")
    assert found.reported_by == "sync"


def test_a_wrong_output_is_shown_once_although_only_public_cases_name_its_store() -> None:
    stored = replace(WRONG, access="write", thread=(1, 0, 0), block=(0, 0, 0))
    hidden = replace(WRONG, message="elsewhere", cases=("secret-4711",))
    row = replace(a_row(2), grade=a_grade(a_result("output", "fail", findings=(stored, hidden))))
    ((found,),) = [(c.finding, *c.follows) for c in student_view(row).causes]
    assert found.places[0].who == "write by thread (1,0,0) of block (0,0,0)"
    assert found.message == WRONG.message


def test_the_verdict_says_only_what_the_score_does_not() -> None:
    full = replace(a_row(0), grade=a_grade(a_result("sync", "pass", 15)))
    assert (student_view(full).score, student_view(full).verdict) == ("15 of 15", "")
    part = student_view(a_row(2))
    assert "not evaluated" in part.verdict and part.score not in part.verdict
    assert "Grade it again" in student_view(a_row(4)).verdict
    alone = replace(part.row, student="", grade=replace(part.grade, student=""))
    assert student_page(alone).decode().count(part.grade.file) == 3  # title, heading, facts


def test_a_page_of_a_class_says_what_check_adds() -> None:
    wrong = a_grade(a_result("sync", "fail", 0, 15, findings=(RACE,)))
    advice = b"also tries changes of the file"
    assert advice in student_page(ReportRow("ada", wrong, ""))
    tried = replace(wrong, explanation=Explanation(trials=3))
    for other in (ReportRow("", wrong, ""), ReportRow("ada", tried, ""),
                  ReportRow("ada", a_grade(a_result("sync", "pass")), "")):  # fmt: skip
        assert advice not in student_page(other)


def test_students_without_a_grade_are_on_the_index(tmp_path: Path) -> None:
    """Those who submitted nothing, and those whose submission has no grade, with the reason."""
    course = SimpleNamespace(students=(Student("11", "Ada"), Student("12", "Emmy")))
    found = StudentSubmission("11", "a.cu")
    table = Table((Row(StoreResult(found, "11"), None, "the disk is full"),))
    missing = table.missing(course)  # type: ignore[arg-type]
    assert missing == ("11: the disk is full", "12 Emmy: no submission")
    index = write_class_report(tmp_path, LAB, a_class(2), missing=missing).read_text("utf-8")
    listed = index.partition('id="missing"')[2]
    assert all(f"<li>{one}</li>" in listed for one in missing)


def test_a_template_is_compiled_once_and_again_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    generate = Environment._generate

    def counted(self: Environment, source: object, name: str, *args: object, **more: object) -> str:
        compiled.append(name)
        return generate(self, source, name, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Environment, "_generate", counted)
    (tmp_path / "one.html").write_text("{{ n }} in the first")

    def page() -> str:
        environment = page_environment("grader.reports.page")
        environment.loader = FileSystemLoader(tmp_path)
        return environment.get_template("one.html").render(n=1)

    assert [page(), page()] == ["1 in the first"] * 2
    assert compiled == ["one.html"]
    (tmp_path / "one.html").write_text("{{ n }} in the second")
    assert page() == "1 in the second"
    assert compiled == ["one.html"] * 2
