"""Units done by processes of this machine, one for each processor."""

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

# A forked process would inherit the pipes of the others, and an open device.
_PROCESSES = get_context("spawn")


def done_here(units: Iterable[Unit]) -> Iterator[tuple[Unit, Result | None]]:
    """Each unit once, as soon as it is done; None where every worker that tried it died. Raises Stopped.

    A worker that dies is replaced, and its unit waits again. This ends, since every answer finishes a unit
    and every death uses up one of its tries. Workers end when this process does: their pipes are closed.
    """
    waiting, deaths = deque(units), Counter[str]()
    free = {number: _started(number) for number in range(min(os.cpu_count() or 1, len(waiting)))}
    busy: dict[Connection, tuple[int, Unit]] = {}
    while waiting or busy:
        while waiting and free:
            number, connection = free.popitem()
            unit = waiting.popleft()
            busy[connection] = number, unit
            with suppress(OSError):  # a worker has died, which the next read shows, too
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
    """Does the units that come through a pipe until that is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides
    with suppress(EOFError, OSError):
        while True:
            unit = connection.recv()
            try:
                connection.send(judge(unit, number))
            except Stopped as stopped:
                connection.send(stopped)
