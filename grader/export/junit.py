"""JUnit XML for the reporters of GitHub, GitLab and Jenkins: one suite per submission.

A check that is blocked or cannot be evaluated here is skipped. An error is always a system error.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Literal

from grader import regex
from grader.checks.result import Result
from grader.export.fields import check_text, summary
from grader.export.formats import ExportRow, Options
from grader.grading.record import Grade
from grader.reports.printable import printable

EACH = False
SUFFIX = ".xml"
READER: Literal["student", "staff"] = "student"

_FORBIDDEN = regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 forbids, even as character references."""

OUTCOMES = {"fail": "failure", "blocked": "skipped", "unjudged": "skipped", "error": "error"}
COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """JUnit XML: a suite a submission, a case a check."""
    top = ET.Element("testsuites")
    seconds = 0.0
    for row in rows:
        assert row.grade is not None
        top.append(_suite(row.grade, row.student.id))
        seconds += row.grade.provenance.seconds
    top.set("time", f"{seconds:.3f}")
    ET.indent(top)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(top, encoding="unicode")}\n'


def row_problem(row: ExportRow, options: Options) -> str:
    """Require a grade; an incomplete one contains errors."""
    return "" if row.grade else row.why or "there is no grade to show"


def _suite(grade: Grade, student: str) -> ET.Element:
    name = xml_safe(printable(f"{grade.lab}.{student}"))
    cases = [_case(check, grade, name) for check in grade.checks]
    suite = ET.Element("testsuite", name=name, tests=str(len(cases)))
    for attribute, tag in COUNTED.items():
        suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{grade.provenance.seconds:.3f}")
    suite.set("timestamp", xml_safe(grade.provenance.started.removesuffix("Z")))
    suite.extend(cases)
    return suite


def _case(check: Result, grade: Grade, suite: str) -> ET.Element:
    line = next((f.line for f in check.findings if f.severity == "error" and f.line), 0)
    case = ET.Element(
        "testcase", name=xml_safe(printable(check.name)), classname=suite, time="0.000"
    )
    case.set("file", xml_safe(printable(grade.file)))
    if line:
        case.set("line", str(line))
    if check.status in OUTCOMES:
        case.append(_outcome(check))
    return case


def _outcome(check: Result) -> ET.Element:
    tag = OUTCOMES[check.status]
    outcome = ET.Element(tag, message=xml_safe(summary(check)))
    if tag != "skipped":
        kind = next((f.kind for f in check.findings if f.severity == "error"), check.status)
        outcome.set("type", xml_safe(printable(kind)))
        outcome.text = xml_safe(check_text(check))
    return outcome


def xml_safe(text: str) -> str:
    """Return `text` with U+FFFD for each character that XML 1.0 forbids."""
    return _FORBIDDEN.sub("\ufffd", text)
