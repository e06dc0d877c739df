"""Progress of a long run: a line after a second, then at growing intervals, on terminals and in logs."""

from __future__ import annotations

import sys
from time import perf_counter

_LONGEST_PAUSE = 10.0  # seconds between two lines


class Progress:
    """Measures `seconds` since its creation. `say` prints to stderr if the last line is long enough ago."""

    def __init__(self) -> None:
        self._start = perf_counter()
        self._pause = self._next = 1.0

    @property
    def seconds(self) -> float:
        return perf_counter() - self._start

    def say(self, text: str) -> None:
        seconds = self.seconds
        if seconds >= self._next:
            print(f"dmlgen: {text} ({seconds:.0f} s)", file=sys.stderr, flush=True)
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self._next = seconds + self._pause
