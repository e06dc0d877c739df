"""Processes units on this machine, with one process per processor."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.sharedctypes import Synchronized
from threading import Thread

from .results import Result, Stopped
from .unit import judge
from .units import Unit

_PROCESSES = get_context("spawn")  # forked processes would inherit an open device

_worker = 0  # in a worker: its number


def done_here(units: Sequence[Unit]) -> Iterator[tuple[Unit, Result]]:
    """Yields each unit once, as soon as it is done. Raises Stopped, also if a worker dies."""
    count = min(os.cpu_count() or 1, len(units))
    pool = ProcessPoolExecutor(count, _PROCESSES, _started, (_PROCESSES.Value("i", 0),))
    pending = {pool.submit(_judged, unit): unit for unit in units}
    try:
        for future in as_completed(pending):
            yield pending[future], future.result()
    except BrokenProcessPool:
        raise Stopped("a worker died; what was done is kept, and the same command continues") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _started(count: Synchronized[int]) -> None:
    """Numbers this worker, and lets it end when the parent process does."""
    global _worker
    with count.get_lock():
        _worker = count.value
        count.value += 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _judged(unit: Unit) -> Result:
    return judge(unit, _worker)
