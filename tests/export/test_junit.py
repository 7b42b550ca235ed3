"""JUnit XML: parsed again, and held against what reporters expect."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import datetime
from typing import Any

import pytest

from grader.export.junit import xml_safe
from tests.export.rows import FAILED, HOSTILE, PASSED, a_row, graded, hostile_rows, made

SUITE = {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}
COUNTS = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
CASE = {"name", "classname", "file", "line", "time"}
INSIDE = {"failure": {"message", "type"}, "error": {"message", "type"}, "skipped": {"message"}}


def parsed(*rows: Any) -> ET.Element:
    """The document, which keeps every rule: attributes, counts, at most one outcome a case."""
    text, left = made("junit", *rows)
    assert not left
    top = ET.fromstring(text.encode())
    assert top.tag == "testsuites" and float(top.attrib["time"]) >= 0
    for suite in top:
        assert suite.tag == "testsuite" and set(suite.attrib) == SUITE
        datetime.fromisoformat(suite.attrib["timestamp"])
        for attribute, tag in (
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            assert int(suite.attrib[attribute]) == len(suite.findall(f"testcase/{tag}"))
        assert int(suite.attrib["tests"]) == len(suite)
        for case in suite:
            assert case.tag == "testcase" and set(case.attrib) <= CASE and len(case) <= 1
            for shown in case:
                assert set(shown.attrib) == INSIDE[shown.tag]
    return top


def outcomes(top: ET.Element) -> list[str]:
    return [case[0].tag if len(case) else "passed" for case in top[0]]


def test_an_outcome_for_each_status() -> None:
    top = parsed(a_row(graded()))
    assert outcomes(top) == ["passed", "passed", "failure", "skipped", "skipped"]
    race = top[0][2]
    assert race.attrib["line"] == "7" and race[0].attrib["type"] == "race"
    assert "Put __syncthreads()" in str(race[0].text)


def test_an_error_is_a_system_error() -> None:
    assert outcomes(parsed(a_row(FAILED))) == ["error", "error"]


def test_a_suite_a_submission() -> None:
    top = parsed(a_row(graded()), a_row(PASSED, id="7"))
    assert [suite.attrib["name"] for suite in top] == ["tiled.4242", "tiled.7"]


def test_hostile_names_make_good_xml() -> None:
    rows = [*hostile_rows(), *(a_row(graded(), id=name) for name in HOSTILE)]
    top = parsed(*rows)
    assert len(top) == len(rows)
    assert all(suite.find("x") is None and suite.find("script") is None for suite in top)


@pytest.mark.parametrize("code", [0x0, 0x8, 0xB, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF])
def test_characters_that_xml_forbids_are_replaced(code: int) -> None:
    assert xml_safe(f"a{chr(code)}b") == "a\ufffdb"


@pytest.mark.parametrize("code", [0x9, 0xA, 0xD, 0x20, 0xD7FF, 0xE000, 0xFFFD, 0x1F98A])
def test_characters_that_xml_allows_stay(code: int) -> None:
    assert xml_safe(f"a{chr(code)}b") == f"a{chr(code)}b"


def test_the_text_starts_as_xml_does() -> None:
    text, _ = made("junit", a_row(PASSED))
    assert re.match(r'<\?xml version="1.0" encoding="UTF-8"\?>\n<testsuites ', text)
