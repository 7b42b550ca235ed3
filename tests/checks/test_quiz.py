"""Answers of all kinds, hostile ones included: which are right, and what is reported."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.checks.quiz import mark_quiz
from grader.checks.result import Verdict
from grader.labs.model import Choice, Question
from grader.labs.quiz import ANSWERS_FILE, Answer, AnswerSheet, QuizAttempt, read_answer_sheet

BYTES = Question("bytes", "number", "How many bytes?", answer=8192, unit="bytes", hint="two tiles")
PART = Question("part", "number", "Which part?", answer=68.36, unit="%", tolerance=0.01)
WHICH = Question("which", "choice", "Which?", choices=(Choice("this"), Choice("that", "1 > 0")))
WHY = Question("why", "text", "Why?")
KEY: dict[str, Answer] = {"bytes": 8192, "part": 68.359375, "which": "b"}
RIGHT = {"bytes": "8192", "part": "68.36", "which": "b", "why": "because it must"}


def answered_quiz(
    sheet: AnswerSheet | None, *, key: dict[str, Answer] = KEY, points: float = 10
) -> QuizAttempt:
    return QuizAttempt("tiled", (BYTES, PART, WHICH, WHY), key, sheet, points)


def marked(folder: Path, text: str | bytes) -> Verdict:
    (folder / ANSWERS_FILE).write_bytes(text if isinstance(text, bytes) else text.encode())
    return mark_quiz(answered_quiz(read_answer_sheet(folder)))


def sheet(**changed: str) -> str:
    return "".join(f"{name}: {answer}\n" for name, answer in (RIGHT | changed).items())


ANSWERS = [
    # question, what is typed, whether it counts
    ("bytes", "8192", True),
    ("bytes", "8192 bytes", True),
    ("bytes", "8_192", True),
    ("bytes", "2 * 32 * 32 * 4", True),
    ("bytes", "2**13", True),
    ("bytes", '"8192"', True),
    ("bytes", "8192.0", True),
    ("bytes", "8193", False),
    ("bytes", "8 KiB", False),
    ("bytes", "8192 bits", False),
    ("bytes", "8,192", True),
    ("bytes", "81,92", False),
    ("bytes", "-8192", False),
    ("bytes", ".nan", False),
    ("bytes", ".inf", False),
    ("bytes", "1e999", False),
    ("bytes", "9" * 6000, False),
    ("bytes", "9**9**9", False),
    ("bytes", "10**64 * 10**64", False),
    ("bytes", "1 / 0", False),
    ("bytes", "8192 == 8192", False),
    ("bytes", "1:30", False),
    ("bytes", "2026-01-01", False),
    ("bytes", "bytes", False),
    ("bytes", "__import__('os').abort()", False),
    ("bytes", "(" * 5000, False),
    ("bytes", "!!python/object/apply:os.abort []", False),
    ("bytes", "!!int 8192", True),
    ("bytes", "[8192]", False),
    ("bytes", "{is: 8192}", False),
    ("bytes", "true", False),
    ("bytes", '"\\e[2J"', False),
    ("part", "68.4 %", True),
    ("part", "1400 / 2048 * 100", True),
    ("part", "68", True),
    ("part", "0.6836", False),
    ("part", "70", False),
    ("which", "B", True),
    ("which", "b)", True),
    ("which", "a", False),
    ("which", "c", False),
    ("which", "ab", False),
    ("which", "that", False),
    ("which", "2", False),
]


@pytest.mark.parametrize(
    ("name", "typed", "counts"), ANSWERS, ids=[f"{r[0]}-{r[1][:24]}" for r in ANSWERS]
)
def test_one_answer(tmp_path: Path, name: str, typed: str, counts: bool) -> None:
    verdict = marked(tmp_path, sheet(**{name: typed}))
    assert verdict.status == ("pass" if counts else "fail")
    assert verdict.share == (1 if counts else pytest.approx(2 / 3))
    assert [f.variable for f in verdict.findings] == ([] if counts else [name])
    for finding in verdict.findings:
        assert finding.kind == "wrong-answer" and finding.severity == "error"
        assert finding.file == ANSWERS_FILE and finding.line == list(RIGHT).index(name) + 1
        assert finding.hint or name != "bytes"
        told = f"{finding.message} {finding.hint}"
        right = f"`{KEY[name]}`" if name == "which" else str(KEY[name])
        assert right not in told.replace(typed, "")
        assert len(told) < 400


SHEETS: list[tuple[str, str | bytes, float, str]] = [
    # what it is, the whole sheet, the share that it earns, words that are told
    ("all right", sheet(), 1, ""),
    ("nothing filled in", sheet(bytes="", part="", which="", why=""), 0, "have no answer yet"),
    ("null", sheet(bytes="null", part="~"), 1 / 3, "`bytes`, `part` have no answer yet"),
    ("one left out", "part: 68.36\nwhich: b\n", 2 / 3, "`bytes`, `why` have no answer yet"),
    ("sentence left out", sheet(why=""), 1, "`why` has no answer yet"),
    ("misspelt", sheet().replace("part:", "prat:"), 2 / 3, "did you mean `part`?"),
    ("an answer too many", sheet() + "more: 1\n", 1, "no question `more`"),
    ("empty", b"", 0, "the file is empty"),
    ("comments only", "# later\n", 0, "the file is empty"),
    ("a list", "- 8192\n", 0, "`question: answer` lines"),
    ("a number", "8192\n", 0, "`question: answer` lines"),
    ("not yaml", "bytes: [1\n", 0, "not valid YAML"),
    ("twice", sheet() + "bytes: 1\n", 0, "is repeated"),
    ("NUL", b"bytes: 81\x0092\n", 0, "not valid YAML"),
    ("not UTF-8", b"bytes: \xff\n", 0, "not UTF-8"),
    ("too large", b"# x\n" * 20_000, 0, "larger than 64 KiB"),
    ("deep", "bytes: " + "[" * 60_000, 0, "nested lists or mappings"),
    ("alias bomb", "a: &a [1, 1]\nb: &b [*a, *a]\nbytes: &c [*b, *b]\npart: [*c, *c]\nwhich: b\n",
     1 / 3, "has a list; it takes one answer"),
    ("alias of itself", "bytes: &a [*a]\nwhich: b\n", 1 / 3, "has a list; it takes one answer"),
    ("an undefined alias", "bytes: *nobody\n", 0, "not valid YAML"),
    ("a key that is no word", "? [1, 2]\n: 3\n", 0, "a key must be a plain word"),
    ("four thousand answers", sheet() + "".join(f"q{n}: {n}\n" for n in range(4_000)), 1,
     "no question `q0`"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "share", "said"), [row[1:] for row in SHEETS], ids=[row[0] for row in SHEETS]
)
def test_whole_sheets(tmp_path: Path, text: str | bytes, share: float, said: str) -> None:
    verdict = marked(tmp_path, text)
    assert verdict.status == ("pass" if share == 1 else "fail")
    assert verdict.share == pytest.approx(share)
    told = [f"{f.message} {f.hint}" for f in verdict.findings]
    assert any(said in line for line in told) or (not said and not told)
    assert len(verdict.findings) <= 20


MADE: list[tuple[str, Callable[[Path], object], str]] = [
    ("a folder", lambda path: path.mkdir(), "Is a directory"),
    ("a fifo", os.mkfifo, "not a regular file"),
    ("a link", lambda path: path.symlink_to("/etc/passwd"), "this is a link"),
    ("a link to nowhere", lambda path: path.symlink_to("nowhere"), "this is a link"),
]


@pytest.mark.parametrize(("make", "said"), [row[1:] for row in MADE], ids=[row[0] for row in MADE])
def test_what_is_no_file(tmp_path: Path, make: Callable[[Path], object], said: str) -> None:
    make(tmp_path / ANSWERS_FILE)
    verdict = mark_quiz(answered_quiz(read_answer_sheet(tmp_path)))
    assert (verdict.status, verdict.share) == ("fail", 0)
    assert said in verdict.findings[0].message


def test_no_sheet(tmp_path: Path) -> None:
    """Whoever has not answered loses what the quiz is worth, and is told how to begin."""
    none = read_answer_sheet(tmp_path)
    worth = mark_quiz(answered_quiz(none))
    assert (worth.status, worth.share) == ("fail", 0)
    assert "grader labs quiz tiled" in worth.findings[0].hint
    practice = mark_quiz(answered_quiz(none, points=0))
    assert practice.status == "unjudged" and not practice.findings
    assert "grader labs quiz tiled" in practice.summary
    assert mark_quiz(None).status == mark_quiz(answered_quiz(None)).status == "unjudged"


def test_copy_without_answers_evaluates_no_question(tmp_path: Path) -> None:
    (tmp_path / ANSWERS_FILE).write_text(sheet(bytes="1"))
    verdict = mark_quiz(answered_quiz(read_answer_sheet(tmp_path), key={}))
    assert (verdict.status, verdict.share) == ("unjudged", 0)
    assert "3 graded by your course" in verdict.summary and not verdict.findings
    (tmp_path / ANSWERS_FILE).write_text(sheet(bytes="many"))
    told = mark_quiz(answered_quiz(read_answer_sheet(tmp_path), key={})).findings
    assert [f.variable for f in told] == ["bytes"] and "a number (in bytes)" in told[0].hint
