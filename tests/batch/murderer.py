"""Loaded by a Dask worker (`dask worker --preload`): grading a file called kill.cu ends the worker,
and slow.cu takes two seconds more."""

from __future__ import annotations

import os
import time
from typing import Any

from grader.batch import task

graded = task.grade


def deadly(lab: Any, submission: Any, **options: Any) -> Any:
    """The real grading, but for those two names."""
    if submission.name == "kill.cu":
        os._exit(7)
    if submission.name == "slow.cu":
        time.sleep(2)
    return graded(lab, submission, **options)


task.grade = deadly
