"""`grader lsp`: findings in an editor as one types, by the Language Server Protocol."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Annotated

from grader.cli.terminal import Argument, Course, Option
from grader.faults import LabFault, MachineFault, install_command

Lab = Annotated[
    str,
    Argument(metavar="[LAB]", help="The lab.  [default: by the name of the file or its folder]"),
]
Stdio = Annotated[
    bool, Option("--stdio", help="Use standard input and output, which is the default.")
]


def lsp(lab: Lab = "", course: Course = None, stdio: Stdio = False) -> int:
    """Show findings in an editor while you type.

    A server of the Language Server Protocol on standard input and output, which editors start.
    """
    if find_spec("pygls") is None:
        raise MachineFault("pygls is not installed", fix=install_command("editor"))
    from grader.editor.server import make_server
    from grader.labs.reading import lab_roots, load_lab

    if lab.startswith("-"):
        raise LabFault(f"`{lab}` is not the name of a lab")
    if lab:
        load_lab(lab, lab_roots(course, here=False))  # raises what is wrong with it
    # What else writes to standard output, now or when it ends, must not be part of the protocol.
    own, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    make_server(lab, course).start_io(own, answers)
    return 0
