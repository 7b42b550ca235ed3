"""Gradescope's "Export submissions": one folder `submission_<number>` per submission.

`submission_metadata.yml` says whose each is and when it was submitted. That file also has every
earlier result and can be large: only the lines about the submitters and the time are parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import yaml

from grader import regex
from grader.faults import LabFault
from grader.labs.files import yaml_loader
from grader.submissions.files import printable_name
from grader.submissions.gather import (
    LayoutResult,
    StudentSubmission,
    choose_submission,
    files_by_folder,
)
from grader.submissions.listing import Listing

RANK = 1
OF_A_SITE = True
METADATA = "submission_metadata.yml"
MAX_BYTES = 512 << 20

_SUBMISSION = regex(r"(\w+):\s*$")
_KEY = regex(r"  (:\w+):")
_WANTED = (":submitters", ":created_at")


def fits(listing: Listing) -> bool:
    """Return whether the metadata file is at the top."""
    return any(m.parts == (METADATA,) for m in listing.files)


def arrange(listing: Listing, lab: str) -> LayoutResult:
    """Return one submission per student; a group's submission counts for each of its students."""
    file = next(m for m in listing.files if m.parts == (METADATA,))
    metadata = _metadata(file.bytes(MAX_BYTES))
    folders = files_by_folder(listing)
    submissions: list[StudentSubmission] = []
    unknown = sorted(folders.keys() - metadata)
    notes = [f"{name}: left out, {METADATA} does not say whose it is" for name in unknown]
    for name, facts in metadata.items():
        received = _time(facts.get(":created_at"))
        for student, full_name, email in _submitters(name, facts.get(":submitters")):
            submissions.append(
                choose_submission(
                    student,
                    folders.get(name, []),
                    lab,
                    received=received,
                    full_name=full_name,
                    email=email,
                )
            )
    return LayoutResult(tuple(submissions), tuple(notes))


def _metadata(data: bytes) -> Mapping[str, Mapping[str, Any]]:
    text = "\n".join(_relevant_lines(data.decode("utf-8", "replace").splitlines()))
    try:
        value = yaml.load(text, Loader=yaml_loader())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _malformed(str(error).splitlines()[0]) from None
    if not isinstance(value, dict):
        raise _malformed("it has no submissions")
    return {str(name): facts for name, facts in value.items() if isinstance(facts, dict)}


def _malformed(why: str) -> LabFault:
    fix = "export the submissions again, or name a folder with one folder for each student"
    return LabFault(f"this is not a metadata file of Gradescope: {why}", where=METADATA, fix=fix)


def _relevant_lines(lines: list[str]) -> Iterator[str]:
    """Yield the lines with a submission's name, and those of the wanted keys with their values.

    A value's lines are indented further than its key, or are list items at the key's own depth.
    """
    wanted = False
    for line in lines:
        if _SUBMISSION.match(line):
            wanted = False
            yield line
        elif key := _KEY.match(line):
            wanted = key[1] in _WANTED
            if wanted:
                yield line
        elif wanted and line.startswith(("    ", "  - ")):
            yield line


def _submitters(name: str, listed: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the identifier, name and e-mail address of each submitter.

    The identifier is the school's; without one the e-mail address, and without both the
    submission's own name.
    """
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict):
            full_name, sid, email = (str(one.get(key) or "") for key in (":name", ":sid", ":email"))
            yield (
                printable_name(sid or email or name),
                printable_name(full_name),
                printable_name(email),
            )


def _time(value: Any) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)
