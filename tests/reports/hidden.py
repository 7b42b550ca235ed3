"""A hidden case beside a public one, and what would tell a student its name, size or values."""

from __future__ import annotations

from grader.grading.record import CaseResult

SECRETS = ("ragged-4711", "4711", "1931", "0.8151")
CASES = (
    CaseResult("square", "16 x 16", "public", "pass"),
    CaseResult("ragged-4711", "4711 x 1931", "hidden", "fail"),
)
