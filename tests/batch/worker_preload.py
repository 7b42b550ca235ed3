"""Preloaded by a Dask worker (`dask worker --preload`).

Grading a file named kill.cu ends the worker. Grading slow.cu takes some seconds longer, after the
worker has recorded its process ID.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from grader.batch import task

MARK = "WARPGRADE_TEST_MARK"
"""The variable with the path of the file for that number."""

graded = task.grade


def deadly(lab: Any, submission: Any, **options: Any) -> Any:
    """The real grading, but for those two names."""
    if submission.name == "kill.cu":
        os._exit(7)
    if submission.name == "slow.cu":
        mark = Path(os.environ[MARK])
        first = not mark.exists()
        mark.with_suffix(".part").write_text(str(os.getpid()))
        mark.with_suffix(".part").replace(mark)
        time.sleep(60 if first else 0)
    return graded(lab, submission, **options)


def dask_setup(worker: Any) -> None:
    """What `--preload` calls when the worker starts."""
    task.grade = deadly
