"""The questions of labs: their texts, their correct answers, and what authors get reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from grader.authoring.requirements import quiz_problems, wrong_answers
from grader.checks.quiz import mark_quiz
from grader.cli.check import grade_file
from grader.faults import LabFault
from grader.grading.cases import RunOptions
from grader.grading.quiz import answer_quiz, quiz_key
from grader.labs.model import Case, CheckSpec, Choice, Question
from grader.labs.quiz import (
    ANSWERS_FILE,
    answer_form,
    choice_texts,
    correct_answer,
    parse_answer,
    question_text,
    read_answer_sheet,
)
from grader.labs.reading import list_labs, load_lab
from tests.scalelab import SPEC, write_lab

KERNEL = """\
extern "C" __global__ void scale(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""
RACE = KERNEL.replace("if (i < n) y[i]", "y[0]")


def made(root: Path, quiz: Mapping[str, Any], **files: str) -> Path:
    """Write a course with the lab `scale`, this quiz and these kernels.

    Returns the folder of its solution, which has a correct kernel.
    """
    write_lab(root, SPEC + yaml.safe_dump({"quiz": quiz}, sort_keys=False))
    for name, text in files.items():
        (root / "labs" / "scale" / f"{name}.cu").write_text(text)
    solutions = root / "solutions" / "scale"
    solutions.mkdir(parents=True)
    (solutions / "scale.cu").write_text(KERNEL)
    return solutions


def load(root: Path) -> Any:
    return load_lab("scale", [root / "labs"])


ANSWERS: list[tuple[dict[str, Any], object]] = [
    ({"answer": 3}, 3),
    ({"given": {"n": 64, "TILE": 16}, "answer": "n // TILE"}, 4),
    ({"given": {"a": 2, "b": "a * 3"}, "answer": "b + 1"}, 7),
    ({"case": "small", "answer": "n * width"}, 20),
    ({"answer": "H100_threads_per_sm // warp_size"}, 64),
    ({"kind": "choice",
      "choices": [{"text": "x", "when": "1 > 2"}, {"text": "y", "when": "1 < 2"}]}, "b"),
    ({"case": "small", "given": {"v": {"file": "k.cu", "element": ["y", 4]},
                                 "w": {"file": "k.cu", "element": ["y", 4]}},
      "answer": "v / w"}, 1),
    ({"case": "small", "given": {"v": {"file": "k.cu",
      "counter": "ptx__requested_bytes_mem_global_op_ld.sum"}}, "answer": "v"}, 20),
    ({"case": "small", "given": {"v": {"file": "k.cu", "launch": {"grid": [1], "block": [3]},
      "counter": "ptx__requested_bytes_mem_global_op_ld.sum"}}, "answer": "v"}, 12),
    ({"case": "small", "given": {"v": {"file": "k.cu", "resource": "local_bytes"}},
      "answer": "v"}, 0),
    ({"case": "small", "given": {"v": {"file": "scale.cu", "finding": "race"}}, "answer": "v"}, 0),
    ({"case": "small", "kind": "choice",
      "given": {"v": {"file": "race.cu", "finding": "race"}, "w": "v - 1"},
      "choices": [{"text": "no race", "when": "v == 0"}, {"text": "races", "when": "w >= 0"}]},
     "b"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "right"), ANSWERS)
def test_correct_answer_is_computed(
    tmp_path: Path, question: dict[str, Any], right: object
) -> None:
    made(tmp_path, {"q": {"text": "?", **question}}, k=KERNEL, race=RACE)
    assert quiz_key(load(tmp_path), RunOptions(threads=1)) == {"q": right}


RUN = {"file": "k.cu", "counter": "ptx__requested_bytes_mem_global_op_ld.sum"}
CHOICES = [{"text": "x", "when": "1 > 2"}, {"text": "y", "when": "1 > 3"}]
MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("unknown name", {"answer": "n // TILE"}, "unknown name `n`"),
    ("unknown in text", {"text": "{n}?", "answer": 1}, "{n} in the text"),
    ("a run's number in the text", {"text": "{v}?", "case": "small", "given": {"v": RUN},
                                    "answer": "v"}, "{v} in the text"),
    ("later name", {"given": {"b": "a", "a": 1}, "answer": "b"}, "unknown name `a`"),
    ("no right choice", {"kind": "choice", "choices": CHOICES}, "0 of its choices are right"),
    ("one choice", {"kind": "choice", "choices": CHOICES[:1]}, "two or more `choices`"),
    ("choices of a number", {"choices": CHOICES}, "two or more `choices`"),
    ("half of the whens", {"kind": "choice", "choices": [CHOICES[0], {"text": "y"}]},
     "every choice"),
    ("unit of a choice", {"kind": "choice", "choices": CHOICES, "unit": "B"}, "only a number has"),
    ("unknown case", {"case": "smal", "answer": 1}, "`smal` is not a public case"),
    ("hidden case", {"case": "chosen", "answer": 1}, "`chosen` is not a public case"),
    ("run without a case", {"given": {"v": RUN}, "answer": "v"}, "`` is not a public case"),
    ("no counter", {"case": "small", "given": {"v": {"file": "k.cu"}}, "answer": "v"},
     "exactly one of"),
    ("element of nothing", {"case": "small", "given": {"v": {"file": "k.cu", "element": [0, "y"]}},
                            "answer": "v"}, "an output's name and its indices"),
    ("unknown finding", {"case": "small", "given": {"v": {"file": "k.cu", "finding": "crash"}},
                         "answer": "v"}, "`finding` is one of"),
    ("file elsewhere", {"case": "small", "given": {"v": RUN | {"file": "../../k.cu"}},
                        "answer": "v"}, "pattern"),
    ("misspelled", {"anwser": 1}, "unknown key `anwser`"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "message"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES]
)
def test_mistake_in_a_question_is_reported_with_line_and_key(
    tmp_path: Path, question: dict[str, Any], message: str
) -> None:
    made(tmp_path, {"q": {"text": "?", **question}})
    with pytest.raises(LabFault) as caught:
        load(tmp_path)
    assert message in str(caught.value)
    assert "lab.yaml:" in caught.value.where and "quiz.q" in caught.value.where


RUNS: list[tuple[str, dict[str, Any], str]] = [
    ("no file", RUN | {"file": "none.cu"}, "cannot read none.cu"),
    ("no counter", RUN | {"counter": "l1tex__sectors"}, "no counter `l1tex__sectors`"),
    ("no such output", {"file": "k.cu", "element": ["z", 0]}, "`z` is not an output"),
    ("beyond the end", {"file": "k.cu", "element": ["y", 9]}, "y has no element [9]"),
    ("a row", {"file": "k.cu", "element": ["y", 0, 0]}, "y has no element [0, 0]"),
    ("not CUDA", {"file": "broken.cu", "element": ["y", 0]}, "broken.cu does not compile"),
    ("another kernel", {"file": "other.cu", "element": ["y", 0]}, "no kernel `scale`"),
    ("out of bounds", {"file": "wild.cu", "element": ["y", 0]}, "wild.cu fails on small"),
]


@pytest.mark.parametrize(
    ("run", "message"), [row[1:] for row in RUNS], ids=[row[0] for row in RUNS]
)
def test_probe_without_a_number_is_a_fault(
    tmp_path: Path, run: dict[str, Any], message: str
) -> None:
    files = {"k": KERNEL, "broken": "int", "other": KERNEL.replace("scale", "scales"),
             "wild": KERNEL.replace("if (i < n) ", "")}  # fmt: skip
    made(
        tmp_path, {"q": {"text": "?", "case": "small", "given": {"v": run}, "answer": "v"}}, **files
    )
    with pytest.raises(LabFault) as caught:
        quiz_key(load(tmp_path), RunOptions(threads=1))
    assert message in caught.value.what
    assert caught.value.where.endswith("quiz.q.given.v")


SHEETS: list[tuple[dict[str, Any], str, list[str]]] = [
    # question, the author's sheet, what the gate finds
    ({"answer": "2 + 2"}, "q: 4\n", []),
    ({"answer": "2 + 2"}, "q: 5\n", ["`q` is answered `5`, which is not right"]),
    ({"answer": "2 + 2"}, "", ["is missing"]),
    ({"answer": "2 + 2", "hint": "it is 4"}, "q: 4\n", ["the hint contains the answer"]),
    ({}, "q: 4\n", ["the question has no answer"]),
    ({"answer": 4, "tolerance": 0.9}, "q: 4\n", ["q: 0.5 is accepted", "q: 2 is accepted"]),
]


@pytest.mark.parametrize(("question", "sheet", "found"), SHEETS)
def test_gate_reports_wrong_answers_and_loose_questions(
    tmp_path: Path, question: dict[str, Any], sheet: str, found: list[str]
) -> None:
    solutions = made(tmp_path, {"q": {"text": "?", **question}})
    if sheet:
        (solutions / ANSWERS_FILE).write_text(sheet)
    problems = list(quiz_problems(load(tmp_path), solutions, RunOptions(threads=1)))
    assert len(problems) == len(found)
    assert all(message in problem for message, problem in zip(found, problems, strict=True))


@pytest.mark.parametrize("name", list_labs())
def test_every_lab_has_a_valid_quiz(name: str) -> None:
    lab = load_lab(name)
    assert 3 <= len(lab.quiz) <= 6
    assert list(quiz_problems(lab, lab.solution.parent, RunOptions())) == []
    assert all(question.hint for question in lab.quiz)


@pytest.mark.parametrize("name", list_labs())
def test_form_is_a_sheet_without_answers(name: str, tmp_path: Path) -> None:
    lab = load_lab(name)
    text = answer_form(lab)
    (tmp_path / ANSWERS_FILE).write_text(text)
    sheet = read_answer_sheet(tmp_path)
    assert list(sheet.entries) == [question.name for question in lab.quiz]
    assert mark_quiz(answer_quiz(lab, sheet, RunOptions())).share == 0
    assert not any(entry.text for entry in sheet.entries.values())
    assert max(map(len, text.splitlines())) <= 80
    assert "{" not in text and "when" not in yaml.safe_load(text)


def test_key_leaves_out_questions_that_need_the_solution(tmp_path: Path) -> None:
    given = {"v": {"file": "scale.cu", "finding": "race"}}
    questions = {
        "easy": {"text": "?", "answer": 4},
        "hard": {"text": "?", "case": "small", "given": given, "answer": "v"},
    }
    solutions = made(tmp_path, questions)
    assert set(quiz_key(load(tmp_path), RunOptions(threads=1))) == {"easy", "hard"}
    (solutions / "scale.cu").unlink()
    assert set(quiz_key(load(tmp_path), RunOptions(threads=1))) == {"easy"}


SUBMITTED = [
    # the kernel, the sheet, the status of the quiz, its points, those of the whole, the exit code
    ("right", "blocks: 33\nidle_threads: 255\nevery_second: 8\ndoubles: 1/24\nwithout_a_guard: c\n",
     "pass", 10, 110, 0),
    ("right", "blocks: 33\nidle_threads: 255\n", "fail", 4, 104, 1),
    ("right", None, "fail", 0, 100, 1),
    ("int x = ;", "blocks: 33\nidle_threads: 255\n", "fail", 4, 4, 1),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "answers", "status", "points", "total", "code"), SUBMITTED)
def test_quiz_with_points_is_graded_apart_from_the_kernel(
    tmp_path: Path,
    kernel: str,
    answers: str | None,
    status: str,
    points: int,
    total: int,
    code: int,
) -> None:
    """A kernel that does not compile costs the quiz no points."""
    lab = load_lab("vector-add")
    others = [check for check in lab.checks if check.name != "quiz"]
    lab = replace(lab, checks=(*others, CheckSpec("quiz", 10, {})))
    file = tmp_path / "mine.cu"
    file.write_text(lab.solution.read_text() if kernel == "right" else kernel)
    if answers is not None:
        (tmp_path / ANSWERS_FILE).write_text(answers)
    made = grade_file(lab, file, RunOptions(), quiet=True)
    quiz = next(check for check in made.checks if check.name == "quiz")
    assert (quiz.status, quiz.points, made.score.points) == (status, points, total)
    assert (made.score.max_score, made.exit_code) == (110, code)
    assert not any("33" in f"{f.message} {f.hint}" for f in quiz.findings)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("442,368", 442368),
        ("2 * 1,442,368 bytes", 2884736),
        ("max(1,200)", 200),
        ("0,25", None),
        ("1,5", None),
        ("1234,567", None),
        ("1,234.5", None),
        ("1,000,00", None),
    ],
)
def test_number_may_have_separators_as_in_the_report(text: str, number: int | None) -> None:
    asked_for = Question("moved", "number", "How many?", answer="1", unit="bytes")
    if number is None:
        with pytest.raises(ValueError, match="the answer is a number"):
            parse_answer(asked_for, text)
    else:
        assert parse_answer(asked_for, text) == number


def test_numbers_are_inserted_into_texts() -> None:
    choice = (Choice("{n} or less"), Choice("more"))
    question = Question("q", "choice", "n is {n}, half is {half}", {"n": 4096, "half": 0.5},
                        choices=choice, case="c")  # fmt: skip
    lab = load_lab("vector-add")
    assert question_text(question, lab) == "n is 4,096, half is 0.5"
    assert choice_texts(question, lab) == {"a": "4,096 or less", "b": "more"}


@pytest.mark.parametrize(
    ("tolerance", "right", "refused"),
    [(0.0, 4, {"3", "5", "2", "8", "-4"}), (0.1, 10.0, {"8", "12"}), (0.0, 0, {"-1", "1"})],
)
def test_wrong_answers_are_close_to_the_correct_one(
    tolerance: float, right: float, refused: set[str]
) -> None:
    question = Question("q", "number", "?", answer=right, tolerance=tolerance)
    assert correct_answer(question, Case("c", {})) == right
    assert refused <= set(wrong_answers(question, right))
    assert f"{right:g}" not in wrong_answers(question, right)
