"""Where `grader batch` grades: on this machine, or on a cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grader.cli.terminal import doing
from grader.extra import install
from grader.fault import MachineFault

if TYPE_CHECKING:
    from grader.batch.runner import Runner
    from grader.batch.task import Terms
    from grader.lab import Lab


def local(lab: Lab, terms: Terms, jobs: int | None) -> Runner:
    """Threads of this process."""
    from functools import partial

    from grader.batch.key import tools_here
    from grader.batch.runner import LocalRunner
    from grader.batch.task import perform

    here = partial(perform, lab, terms=terms)
    return LocalRunner(here, jobs or os.cpu_count() or 1, tools_here(terms.on))


def clustered(lab: Lab, terms: Terms, jobs: int | None, address: str) -> Runner:
    """The runner of --cluster, or of --slurm with --jobs workers."""
    try:
        from grader.batch.cluster import DaskRunner, connect, start_on_slurm
    except ModuleNotFoundError as missing:
        what = f"a cluster needs the Python package {missing.name}"
        raise MachineFault(what, mend=install("cluster")) from None
    client = connect(address) if address else start_on_slurm(jobs or 1)
    doing("waiting for the cluster's workers")
    return DaskRunner(client, lab, terms)


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """SIGTERM, which a scheduler or a shutdown sends, ends the command as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
