"""Tasks performed on a Dask cluster: each boxes one submission on some worker.

Workers get the lab once, when they join, and the submissions one by one; they never see the
gradebook. A worker that dies costs nothing: its task is given to another, and whichever answer
comes is kept once.
"""

from __future__ import annotations

import logging
import queue
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from time import monotonic, sleep
from typing import Any

from distributed import Client, Future, KilledWorker, Worker, WorkerPlugin, get_worker
from distributed.comm.addressing import parse_address
from distributed.comm.registry import get_backend

from grader.batch.task import Answer, BatchOptions, Task, grade_task, local_tools, quiz_files
from grader.faults import Fault, LabFault, MachineFault
from grader.labs.model import Lab
from grader.labs.reading import lab_digest, load_lab

# A lab as one plain value, to be sent to a machine that has no copy of it, or an older one.


@dataclass(frozen=True)
class PackedLab:
    """`files` are paths below a course's folder and what they hold; `digest` is the lab's."""

    name: str
    digest: str
    files: tuple[tuple[str, bytes], ...]


def pack_lab(lab: Lab) -> PackedLab:
    """All that grading needs of a lab: its folder, and what its quiz measures of the solutions;
    never the solution itself otherwise. Raises LabFault.
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
    """The lab, its files written below an empty folder. Raises LabFault when it is not the same
    there.
    """
    for name, data in packed.files:
        path = folder / PurePosixPath(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    lab = load_lab(packed.name, (folder / "labs",))
    if lab_digest(lab) != packed.digest:
        raise LabFault(f"the lab `{packed.name}` did not arrive as it was sent")
    return lab


CONNECT_SECONDS = 20.0
"""Seconds in which a scheduler has to answer."""

WORKER_SECONDS = 60.0
"""Seconds in which a first worker has to join."""

GPU_WORKER_SECONDS = 30.0
"""Seconds after that in which one with a GPU has to: workers started together join one by one."""

DEFAULT_MEMORY = "4 GB"
"""What a Slurm job asks for where the site's configuration does not say."""

_COUNT_SECONDS = 2.0
"""Seconds for which the number of workers is taken for true."""

_POLL_SECONDS = 0.2
"""Seconds between two looks for a worker with a GPU."""


class LabPlugin(WorkerPlugin):
    """What a worker needs to grade: the lab, unpacked where the worker keeps its own files, and
    the terms; `problem` says why this worker cannot.
    """

    lab: Lab

    def __init__(self, packed: PackedLab, terms: BatchOptions, tools: Mapping[str, str]) -> None:
        self.name = f"grade-{uuid.uuid4().hex}"
        self.packed, self.terms, self.tools = packed, terms, tools
        self.problem = ""

    def setup(self, worker: Worker) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lab-", dir=worker.local_directory))
        self.lab = unpack_lab(self.packed, self.folder)
        try:
            if (own := local_tools(self.terms.on)) != self.tools:
                self.problem = f"worker {worker.address} has {own}, others have {self.tools}"
        except MachineFault as fault:
            self.problem = f"worker {worker.address}: {fault}"

    def teardown(self, worker: Worker) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def grade_on_worker(name: str, task: Task) -> Answer:
    """What runs on the worker."""
    plugin = get_worker().plugins.get(name)
    if not isinstance(plugin, LabPlugin):
        return Answer(task.number, failure="the worker has no lab yet")
    if plugin.problem:
        return Answer(task.number, failure=plugin.problem)
    return grade_task(plugin.lab, task, plugin.terms)


class DaskRunner:
    """Tasks go to a scheduler, one for each thread of its workers at a time: none waits behind
    another on the same worker, so that one that kills its worker kills nobody else's chances.
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
        """The threads of all workers, or their GPUs, as of a moment ago."""
        if monotonic() - self._counted > _COUNT_SECONDS:
            self._width = self._count()
            self._counted = monotonic()
        return max(self._width, 1)

    def submit(self, task: Task) -> None:
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
        try:
            number, future = self._answers.get(timeout=seconds)
        except queue.Empty:
            self._check()
            return None
        del self._futures[number]
        return self._answer(number, future)

    def close(self) -> None:
        for future in self._futures.values():
            future.cancel()
        if self._client.status == "running" and self._plugin is not None:
            with suppress(ValueError):  # it was not taken in
                self._client.unregister_worker_plugin(self._plugin.name)
        if self._client.cluster is not None:  # it was started for this batch
            self._client.cluster.close()
        self._client.close()

    def _answer(self, number: int, future: Future[Answer]) -> Answer:
        try:
            answer: Answer = future.result()
            return answer
        except KilledWorker as killed:
            died = killed.allowed_failures + 1
            said = f"{died} workers died of it, one after the other"
            return Answer(number, failure=said, is_final=True)
        except Fault as fault:
            return Answer(number, failure=str(fault), is_lab_fault=isinstance(fault, LabFault))
        except Exception as error:
            self._check()
            said = f"{type(error).__name__}: {error}"
            return Answer(number, failure=f"the cluster failed: {said}")

    def _check(self) -> None:
        """Raises MachineFault when the scheduler is gone: nothing will ever come again."""
        if self._client.status not in ("running", "connecting"):
            what = "the connection to the cluster's scheduler is lost"
            fix = "start it again and run the same command: what is graded is kept"
            raise MachineFault(what, where=self._where, fix=fix)

    def _count(self) -> int:
        if self._client.status != "running":
            return self._width
        workers: Mapping[str, Mapping[str, Any]] = self._client.scheduler_info()["workers"]
        if self._resources is None:
            return sum(int(worker["nthreads"]) for worker in workers.values())
        return sum(int(worker["resources"].get("GPU", 0)) for worker in workers.values())

    def _tools(self, terms: BatchOptions) -> Mapping[str, str]:
        """Ours, or where only workers have GPUs, those of one of them. Raises MachineFault."""
        if self._resources is None:
            return local_tools(terms.on)
        asked = self._client.submit(local_tools, terms.on, resources=self._resources, pure=False)
        tools: Mapping[str, str] = asked.result()
        return tools

    def _wait_for_workers(self) -> None:
        """One at least. A queue such as Slurm's may take its time."""
        patience = WORKER_SECONDS if self._client.cluster is None else None
        try:
            self._client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            raise self._nobody("no worker has joined the cluster", "") from None
        if self._resources is None:
            return
        end = monotonic() + GPU_WORKER_SECONDS
        while not self._count():
            if monotonic() > end:
                raise self._nobody("no worker has a GPU", " --resources GPU=1")
            sleep(_POLL_SECONDS)

    def _nobody(self, what: str, more: str) -> MachineFault:
        fix = f"start one: dask worker {self._where} --nthreads 1{more}"
        return MachineFault(what, where=self._where, fix=fix)


def connect(address: str) -> Client:
    """A client of the scheduler at that address. Raises LabFault and MachineFault."""
    fix = "an address is such as tcp://10.0.0.1:8786; `dask scheduler` starts one"
    try:
        scheme, host = parse_address(address)
        get_backend(scheme).get_connector()
        if not host:
            raise ValueError("there is no host in it")
    except ValueError as error:
        what = f"not the address of a scheduler: {error}"
        raise LabFault(what, where=address, fix=fix) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is told as a fault
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError) as error:
        what = f"no scheduler answers: {error}"
        raise MachineFault(what, where=address, fix=fix) from None


def start_on_slurm(jobs: int) -> Client:
    """A client of a cluster of so many Slurm jobs of one worker each, which end with it. Queue,
    account, memory and time are as the site's jobqueue.yaml says. Raises MachineFault.
    """
    from dask import config
    from dask_jobqueue.slurm import SLURMCluster

    fix = "dask-jobqueue's configuration, ~/.config/dask/jobqueue.yaml, has a section `slurm`"
    memory = config.get("jobqueue.slurm.memory", None) or DEFAULT_MEMORY
    try:
        cluster = SLURMCluster(cores=1, processes=1, memory=memory)
        cluster.scale(jobs=jobs)
        return Client(cluster, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise MachineFault(f"no cluster on Slurm: {error}", fix=fix) from None
