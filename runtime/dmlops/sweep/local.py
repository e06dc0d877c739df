"""Processes units on this machine, with one process per processor."""

from __future__ import annotations

import os
import signal
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import cast

from .judging import judge
from .results import Result, Stopped
from .units import TRIES, Unit

# Forked processes would inherit each other's pipes, and an open device.
_PROCESSES = get_context("spawn")


def done_here(units: Iterable[Unit]) -> Iterator[tuple[Unit, Result | None]]:
    """Yields each unit once, as soon as it is done; None if every worker that tried it died. Raises Stopped.

    A worker that dies is replaced, and its unit is queued again. This terminates, since every answer finishes
    a unit and every death uses up one of its tries. Workers exit when this process does, because their pipes
    are closed.
    """
    waiting, deaths = deque(units), Counter[str]()
    free = {number: _started(number) for number in range(min(os.cpu_count() or 1, len(waiting)))}
    busy: dict[Connection, tuple[int, Unit]] = {}
    while waiting or busy:
        while waiting and free:
            number, connection = free.popitem()
            unit = waiting.popleft()
            busy[connection] = number, unit
            with suppress(OSError):  # the worker has died; the next read will notice
                connection.send(unit)
        for ready in wait(list(busy)):
            connection = cast(Connection, ready)
            number, unit = busy.pop(connection)
            try:
                answer: Result | Stopped = connection.recv()
            except (EOFError, OSError):
                free[number] = _started(number)
                deaths[unit.identifier] += 1
                if deaths[unit.identifier] < TRIES:
                    waiting.append(unit)
                else:
                    yield unit, None
                continue
            if isinstance(answer, Stopped):
                raise answer
            free[number] = connection
            yield unit, answer


def _started(number: int) -> Connection:
    """This end of the pipe to a new worker."""
    ours, theirs = _PROCESSES.Pipe()
    _PROCESSES.Process(target=_work, args=(theirs, number), daemon=True).start()
    theirs.close()
    return ours


def _work(connection: Connection, number: int) -> None:
    """Processes the units that arrive through a pipe until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides
    with suppress(EOFError, OSError):
        while True:
            unit = connection.recv()
            try:
                connection.send(judge(unit, number))
            except Stopped as stopped:
                connection.send(stopped)
