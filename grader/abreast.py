"""Several things done at a time, their results in order.

Threads do: what takes long here, compiling and simulating, is done by child processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def abreast(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Result]]:
    """Each item with its result, in the items' order, `jobs` of them worked on at a time. An
    exception is raised where its item's turn comes, and what has not begun by then never does."""
    pool = ThreadPoolExecutor(jobs)
    try:
        begun = [(item, pool.submit(work, item)) for item in items]
        for item, result in begun:
            yield item, result.result()
    finally:
        pool.shutdown(cancel_futures=True)
