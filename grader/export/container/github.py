"""A template repository for GitHub: a lab's files for students, and a workflow that grades them.

The workflow calls a composite action that is part of the repository. So it works in any repository
and organization, and depends on no other repository but those of GitHub's own actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grader import __version__
from grader.authoring.content import work_files
from grader.labs.model import Lab

ACTION = ".github/actions/grade/action.yml"
WORKFLOW = ".github/workflows/grade.yml"
IGNORED = "/.vscode/ipch/\n__pycache__/\n*.o\n"


def template_files(
    lab: Lab, page: bytes | None, *, package: str = "", own: bool = False
) -> Mapping[str, bytes]:
    """Return the files of the repository by their paths.

    Args:
        lab: The lab.
        page: The lab's page as HTML, or None.
        package: What pip installs in the workflow; this version of warpgrade when empty.
        own: Whether the lab is one of a course: its public part is then in the repository.

    Raises:
        LabFault: A file of the lab cannot be read.
    """
    here = Path(__file__).parent
    action = (here / "action.yml").read_text("utf-8")
    action = action.replace("@PACKAGE@", package or f"warpgrade=={__version__}")
    workflow = (here / "workflow.yml").read_text("utf-8").replace("@LAB@", lab.name)
    workflow += "          course: .\n" if own else ""
    return {
        **work_files(lab, page, own=own),
        ACTION: action.encode(),
        WORKFLOW: workflow.encode(),
        ".gitignore": IGNORED.encode(),
    }
