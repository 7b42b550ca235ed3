"""The API answers as its OpenAPI document says, whatever a program sends: schemathesis tries."""

from __future__ import annotations

import subprocess
import sys

from tests.patience import PATIENCE
from tests.portal.made import LAB, Served, source, until, working

CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
    "ignored_auth", "unsupported_method",
)  # fmt: skip
"""All but `positive_data_acceptance`: a file without a kernel fits the schema, and is refused."""


def test_the_api_keeps_to_its_schema(course: Served) -> None:
    ada = course.program("ada@example.org")
    for number in (1, 2):
        assert ada.upload(f"/api/v1/labs/{LAB}/submissions", "a.cu", source(number)).code == 201
    with working(course.book, course.site):
        until(lambda: all(course.book.grade(number) for number in (1, 2)))
    words = ["run", f"http://127.0.0.1:{course.port}/api/v1/openapi.json", "--seed", "1"]
    words += ["-H", f"Authorization: {ada.own['Authorization']}", "--max-examples", "5"]
    words += ["--phases", "coverage,fuzzing", "--request-timeout", "120", "--no-color"]
    words += ["--checks", ",".join(CHECKS), "--generation-database", "none"]
    main = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
    done = subprocess.run(
        [sys.executable, "-c", main, *words], capture_output=True, text=True, timeout=4 * PATIENCE,
        cwd=course.site.course.folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-500:]
    assert "API Operations" in done.stdout or "operations" in done.stdout, done.stdout[-2000:]
    assert course.book.verify().problems == ()
