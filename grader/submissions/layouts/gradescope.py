"""Gradescope's "Export submissions": a folder `submission_<number>` each, and
`submission_metadata.yml` that says whose it is and when it came.

That file also holds every earlier result, and may be large: only the lines about the submitters
and the time are parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import yaml

from grader.faults import LabFault
from grader.submissions.gather import (
    LayoutResult,
    StudentSubmission,
    choose_submission,
    files_by_folder,
)
from grader.submissions.listing import Listing, printable_name

RANK = 1
OF_A_SITE = True
METADATA = "submission_metadata.yml"
MAX_BYTES = 512 << 20

_SUBMISSION = re.compile(r"(\w+):\s*$")
_KEY = re.compile(r"  (:\w+):")
_WANTED = (":submitters", ":created_at")


def fits(listing: Listing) -> bool:
    """Whether the metadata lie at the top."""
    return any(m.parts == (METADATA,) for m in listing.members)


def arrange(listing: Listing, lab: str) -> LayoutResult:
    """One submission a student; a group's counts for each of its members."""
    file = next(m for m in listing.members if m.parts == (METADATA,))
    told = _metadata(file.bytes(MAX_BYTES))
    folders = files_by_folder(listing)
    found: list[StudentSubmission] = []
    unknown = sorted(folders.keys() - told)
    notes = [f"{name}: left out, {METADATA} does not tell whose it is" for name in unknown]
    for name, facts in told.items():
        received = _time(facts.get(":created_at"))
        for student, who, email in _submitters(name, facts.get(":submitters")):
            found.append(
                choose_submission(
                    student, folders.get(name, []), lab, received=received, who=who, email=email
                )
            )
    return LayoutResult(tuple(found), tuple(notes))


def _metadata(data: bytes) -> Mapping[str, Mapping[str, Any]]:
    text = "\n".join(_kept(data.decode("utf-8", "replace").splitlines()))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _foreign(str(error).splitlines()[0]) from None
    if not isinstance(value, dict):
        raise _foreign("it names no submission")
    return {str(name): facts for name, facts in value.items() if isinstance(facts, dict)}


def _foreign(why: str) -> LabFault:
    fix = "export the submissions again, or name a folder with a folder a student"
    return LabFault(f"not what Gradescope writes: {why}", where=METADATA, fix=fix)


def _kept(lines: list[str]) -> Iterator[str]:
    """The lines of each submission's name and of the keys that are wanted, with what belongs to
    them: whatever is indented further, and list items at the key's own depth.
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
    """Identifier, name and e-mail of each; without an identifier of the school's, the e-mail is
    one, and without both the submission's own name.
    """
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict):
            who, sid, email = (str(one.get(key) or "") for key in (":name", ":sid", ":email"))
            yield printable_name(sid or email or name), printable_name(who), printable_name(email)


def _time(value: Any) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)
