"""The style sheet: text can be read in both colour schemes, and the policy names what is there."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from grader.reports.page.student import student_view
from grader.reports.page.write import load_templates
from tests.reports.page.rows import a_row

STYLE = load_templates().style
SCHEMES = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
ON_PAPER = (
    "ink",
    "soft",
    "accent",
    "pass",
    "fail",
    "warn",
    "error",
    "none",
    "word",
    "string",
    "number",
)
ON_OWN = ("pass", "fail", "warn", "none", "error")
ENOUGH = 4.5
"""The contrast that WCAG 2.2 asks of text (AA)."""


def colours(scheme: str) -> dict[str, str]:
    found = re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", scheme)
    return {name: "#" + "".join(c * 2 for c in v[1:]) if len(v) == 4 else v for name, v in found}


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2.2."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_text_can_be_read(scheme: str) -> None:
    named = colours(scheme)
    pairs = [(n, ground) for n in ON_PAPER for ground in ("paper", "card")]
    pairs += [(n, f"{n}-bg") for n in ON_OWN] + [("ink", "fail-bg"), ("soft", "fail-bg")]
    pairs += [("word", "fail-bg"), ("string", "fail-bg"), ("number", "fail-bg")]
    observed = {pair: contrast(named[pair[0]], named[pair[1]]) for pair in pairs}
    assert {pair: round(v, 2) for pair, v in observed.items() if v < ENOUGH} == {}


def test_both_schemes_define_the_same_colors() -> None:
    light, dark = map(colours, SCHEMES)
    assert set(light) == set(dark)
    used = set(re.findall(r"var\(--([\w-]+)\)", STYLE))
    assert used == set(light)


def test_the_contrast_is_the_standards() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_the_policy_allows_this_style_and_nothing_else() -> None:
    text = load_templates().student(student_view(a_row(0))).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)">', text)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.replace("&#39;", "'") == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert (
        "<script" not in text
        and " style=" not in text
        and "http" not in text.replace("http-equiv", "")
    )
