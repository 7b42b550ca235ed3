"""Grade submissions on a Dask cluster, each in a sandbox on some worker.

Workers get the lab once, when they join, and the submissions one by one; they have no access to the
gradebook. When a worker dies, another gets its task, and one answer is kept.
"""

from __future__ import annotations

import logging
import queue
import shlex
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from time import monotonic, sleep
from typing import Any

from distributed import Client, Future, KilledWorker, Worker, WorkerPlugin, get_worker
from distributed.comm.addressing import parse_address
from distributed.comm.registry import get_backend

from grader import dataclass
from grader.batch.task import Answer, BatchOptions, Task, grade_task, local_tools, quiz_files
from grader.faults import Fault, LabFault, MachineFault
from grader.labs.model import Lab
from grader.labs.reading import lab_digest, load_lab

CONNECT_SECONDS = 20.0
"""Seconds in which a scheduler must answer."""

WORKER_SECONDS = 60.0
"""Seconds in which the first worker must join."""

GPU_WORKER_SECONDS = 30.0
"""Further seconds in which a worker with a GPU must join: workers join one by one."""

DEFAULT_MEMORY = "4 GB"
"""The memory of a Slurm job when the site's configuration does not set it."""

_COUNT_SECONDS = 2.0
"""Seconds for which the number of workers is cached."""

_POLL_SECONDS = 0.2
"""Seconds between two checks for a worker with a GPU."""


@dataclass(frozen=True)
class PackedLab:
    """A lab as one plain value, to send to a machine that has no copy or an older one.

    `files` are paths below a course's folder with their contents; `digest` is the lab's.
    """

    name: str
    digest: str
    files: tuple[tuple[str, bytes], ...]


def pack_lab(lab: Lab) -> PackedLab:
    """Pack a lab's folder and the solution files that its quiz measures, no others.

    Raises:
        LabFault: A file cannot be read.
    """
    try:
        files = [
            (f"labs/{lab.name}/{path.relative_to(lab.folder).as_posix()}", path.read_bytes())
            for path in _files(lab.folder)
        ]
        answers = lab.solution.parent
        files += [
            (f"solutions/{lab.name}/{path.relative_to(answers).as_posix()}", path.read_bytes())
            for path in quiz_files(lab)
        ]
    except OSError as error:
        what = f"cannot read the lab's files: {error.strerror}"
        raise LabFault(what, where=str(lab.folder)) from None
    return PackedLab(lab.name, lab_digest(lab), tuple(files))


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(p.startswith((".", "__pycache__")) for p in parts):
            yield path


def unpack_lab(packed: PackedLab, folder: Path) -> Lab:
    """Write the lab's files below an empty folder and load the lab.

    Raises:
        LabFault: The digest differs.
    """
    for name, data in packed.files:
        path = folder / PurePosixPath(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    lab = load_lab(packed.name, (folder / "labs",))
    if lab_digest(lab) != packed.digest:
        raise LabFault(f"the lab `{packed.name}` changed on its way to the worker")
    return lab


class LabPlugin(WorkerPlugin):
    """What a worker needs to grade: the lab, unpacked in the worker's folder, and the options.

    `problem` says why this worker cannot grade, "" when it can.
    """

    lab: Lab

    def __init__(self, packed: PackedLab, terms: BatchOptions, tools: Mapping[str, str]) -> None:
        self.name = f"grade-{uuid.uuid4().hex}"
        self.packed, self.terms, self.tools = packed, terms, tools
        self.problem = ""

    def setup(self, worker: Worker) -> None:
        """Unpack the lab, and compare the worker's toolchain with the cluster's."""
        self.folder = Path(tempfile.mkdtemp(prefix="lab-", dir=worker.local_directory))
        self.lab = unpack_lab(self.packed, self.folder)
        try:
            if (own := local_tools(self.terms.on)) != self.tools:
                self.problem = f"worker {worker.address} has {own}, others have {self.tools}"
        except MachineFault as fault:
            self.problem = f"worker {worker.address}: {fault}"

    def teardown(self, worker: Worker) -> None:
        """Delete the unpacked lab."""
        shutil.rmtree(self.folder, ignore_errors=True)


def grade_on_worker(name: str, task: Task) -> Answer:
    """Grade a task; this runs on the worker."""
    plugin = get_worker().plugins.get(name)
    if not isinstance(plugin, LabPlugin):
        return Answer(task.number, failure="the worker has no lab yet")
    if plugin.problem:
        return Answer(task.number, failure=plugin.problem)
    return grade_task(plugin.lab, task, plugin.terms)


class DaskRunner:
    """A Runner on a Dask cluster, with at most one task per worker thread.

    No task waits behind another on the same worker, so that a submission that kills its worker does
    not affect other submissions.
    """

    def __init__(self, client: Client, lab: Lab, terms: BatchOptions) -> None:
        self._client = client
        self._where = str(client.scheduler_info()["address"])
        self._resources = {"GPU": 1} if terms.on == "gpu" else None
        self._answers: queue.SimpleQueue[tuple[int, Future[Answer]]] = queue.SimpleQueue()
        self._futures: dict[int, Future[Answer]] = {}
        self._counted, self._width = 0.0, 0
        self._plugin: LabPlugin | None = None
        try:
            self._wait_for_workers()
            self.tools = self._tools(terms)
            self._plugin = LabPlugin(pack_lab(lab), terms, self.tools)
            self._client.register_plugin(self._plugin)
        except BaseException:
            self.close()
            raise

    @property
    def at_a_time(self) -> int:
        """The threads of all workers, or their GPUs; cached for a short time."""
        if monotonic() - self._counted > _COUNT_SECONDS:
            self._width = self._count()
            self._counted = monotonic()
        return max(self._width, 1)

    def submit(self, task: Task) -> None:
        """Send a task to the scheduler."""
        assert self._plugin is not None, "a runner without workers takes no tasks"
        future = self._client.submit(
            grade_on_worker,
            self._plugin.name,
            task,
            key=f"{self._plugin.name}-{task.number}-{uuid.uuid4().hex[:8]}",
            resources=self._resources,
            pure=False,
        )
        self._futures[task.number] = future
        future.add_done_callback(lambda done: self._answers.put((task.number, done)))

    def next(self, seconds: float) -> Answer | None:
        """Return the next answer; None when none came in time. Raises MachineFault."""
        try:
            number, future = self._answers.get(timeout=seconds)
        except queue.Empty:
            self._check()
            return None
        del self._futures[number]
        return self._answer(number, future)

    def close(self) -> None:
        """Cancel open tasks, and stop the cluster if it was started for this batch."""
        for future in self._futures.values():
            future.cancel()
        if self._client.status == "running" and self._plugin is not None:
            with suppress(ValueError):  # it was never registered
                self._client.unregister_worker_plugin(self._plugin.name)
        if self._client.cluster is not None:  # started for this batch
            self._client.cluster.close()
        self._client.close()

    def _answer(self, number: int, future: Future[Answer]) -> Answer:
        try:
            answer: Answer = future.result()
            return answer
        except KilledWorker as killed:
            died = killed.allowed_failures + 1
            failure = f"{died} workers in a row died while grading it"
            return Answer(number, failure=failure, is_final=True)
        except Fault as fault:
            return Answer(number, failure=str(fault), is_lab_fault=isinstance(fault, LabFault))
        except Exception as error:
            self._check()
            failure = f"the cluster failed: {type(error).__name__}: {error}"
            return Answer(number, failure=failure)

    def _check(self) -> None:
        """Raise MachineFault when the scheduler is gone and no answer can come."""
        if self._client.status not in ("running", "connecting"):
            what = "the connection to the cluster's scheduler is lost"
            fix = "Start the scheduler and run the same command again; grades are kept."
            raise MachineFault(what, where=self._where, fix=fix)

    def _count(self) -> int:
        if self._client.status != "running":
            return self._width
        workers: Mapping[str, Mapping[str, Any]] = self._client.scheduler_info()["workers"]
        if self._resources is None:
            return sum(int(worker["nthreads"]) for worker in workers.values())
        return sum(int(worker["resources"].get("GPU", 0)) for worker in workers.values())

    def _tools(self, terms: BatchOptions) -> Mapping[str, str]:
        """Return this machine's tools, or a worker's when only workers have GPUs."""
        if self._resources is None:
            return local_tools(terms.on)
        asked = self._client.submit(local_tools, terms.on, resources=self._resources, pure=False)
        tools: Mapping[str, str] = asked.result()
        return tools

    def _wait_for_workers(self) -> None:
        """Wait for at least one worker; without a limit when Slurm starts them."""
        patience = WORKER_SECONDS if self._client.cluster is None else None
        try:
            self._client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            raise self._no_worker("no worker has joined the cluster", "") from None
        if self._resources is None:
            return
        end = monotonic() + GPU_WORKER_SECONDS
        while not self._count():
            if monotonic() > end:
                raise self._no_worker("no worker has a GPU", " --resources GPU=1")
            sleep(_POLL_SECONDS)

    def _no_worker(self, what: str, more: str) -> MachineFault:
        fix = f"Start one: dask worker {self._where} --nthreads 1{more}"
        return MachineFault(what, where=self._where, fix=fix)


def connect(address: str) -> Client:
    """Connect to the scheduler at that address. Raises LabFault and MachineFault."""
    fix = "Write an address such as tcp://10.0.0.1:8786. `dask scheduler` starts a scheduler."
    try:
        scheme, host = parse_address(address)
        get_backend(scheme).get_connector()
        if not host:
            raise ValueError("it has no host")
    except ValueError as error:
        what = f"this is not the address of a scheduler: {error}"
        raise LabFault(what, where=address, fix=fix) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are raised as faults
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError) as error:
        what = f"no scheduler answers: {error}"
        raise MachineFault(what, where=address, fix=fix) from None


def start_on_slurm(jobs: int) -> Client:
    """Start a cluster of Slurm jobs with one worker each, which end with the client.

    Queue, account, memory and time come from the site's jobqueue.yaml.

    Raises:
        MachineFault: Slurm or its configuration failed.
    """
    from dask import config
    from dask_jobqueue.slurm import SLURMCluster

    fix = "Check the section `slurm` of dask-jobqueue's ~/.config/dask/jobqueue.yaml."
    memory = config.get("jobqueue.slurm.memory", None) or DEFAULT_MEMORY
    python = config.get("jobqueue.slurm.python", None) or shlex.quote(sys.executable)
    try:
        cluster = SLURMCluster(cores=1, processes=1, memory=memory, python=python)
        cluster.scale(jobs=jobs)
        return Client(cluster, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise MachineFault(f"cannot start a cluster on Slurm: {error}", fix=fix) from None
