"""Print every launch of the certification guide with its outcome: python -m tests.portal.lti."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.portal.lti.guide import BAD_PAYLOADS, GOOD, MORE_BAD
from tests.portal.lti.launching import Learner, launching, reason_of
from tests.portal.lti.test_guide import outcome
from tests.portal.made import served


def main() -> int:
    """Launch every row; return 1 when one has another outcome than its table says."""
    os.environ["no_proxy"] = "127.0.0.1"
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as course:
        course.site.say = lambda text: None  # type: ignore[method-assign]
        with launching() as platform:
            platform.registered(course)
            for user in ("ada", "lead"):
                Learner(course.port, platform).launch(course.site.url, user)
            tables = {"known-bad payloads": BAD_PAYLOADS, "valid launches": GOOD, "more": MORE_BAD}
            for title, rows in tables.items():
                print(f"{title}:")
                for row in rows:
                    reply, _ = outcome(course, platform, row)
                    said = reason_of(reply) or f"opens {reply.to}"
                    due = f"opens {GOOD[row][2]}" if row in GOOD else str(rows[row][1])
                    wrong += said != due
                    mark = "" if said == due else f"  EXPECTED {due}"
                    print(f"  {row:<68} {reply.code}  {said}{mark}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
