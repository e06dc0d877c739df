"""The programs that a device caches for later calls: plans and byte code."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from threading import Lock

from ..description import Description
from ..enums import ENUMS
from ..registry import INTEGERS
from ..registry import operator as described
from ..tensor import TensorDesc
from .work import Dispatch, Work

MOST_DISPATCHES = 4096  # cached: a recurrence has thousands, of some kilobytes each


@dataclass(frozen=True, eq=False)
class Program:
    """All that is the same in every call: the work of a description, each dispatch with its byte code.

    `inputs` and `outputs` are the tensors that are present, by the names of their buffers, and `reaches`
    their sizes in bytes; `sizes` are those of all buffers, scratch included.
    """

    work: Work
    compiled: tuple[tuple[bytes, Dispatch], ...]
    inputs: Mapping[str, TensorDesc]
    outputs: Mapping[str, TensorDesc]
    reaches: Mapping[str, int]
    sizes: Mapping[str, int]


class Programs:
    """An LRU cache of programs by description, with no more than `MOST_DISPATCHES` dispatches in all."""

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, Program] = OrderedDict()
        self._dispatches = 0
        self._lock = Lock()

    def get(self, desc: Description) -> Program | None:
        """The program of a description, if it is cached."""
        key = key_of(desc)
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def keep(self, desc: Description, program: Program) -> None:
        """Caches a program, unless it is too large, and evicts those least recently used."""
        key, weight = key_of(desc), _weight(program)
        if weight > MOST_DISPATCHES:
            return
        with self._lock:
            if key not in self._found:  # another thread may have added the same
                self._found[key] = program
                self._dispatches += weight
            while self._dispatches > MOST_DISPATCHES:
                self._dispatches -= _weight(self._found.popitem(last=False)[1])


def _weight(program: Program) -> int:
    return max(len(program.compiled), 1)  # a program without dispatches also takes space


def key_of(desc: Description) -> Hashable:
    """The cache key: equal descriptions may differ in the sign of a zero, which their text shows."""
    return desc, *(repr(getattr(desc, name)) for name in _with_floats(desc.OPERATOR))


@cache
def _with_floats(operator: str) -> tuple[str, ...]:
    """The members of an operator that may be floats or hold some."""
    exact = {"tensor", *INTEGERS, *ENUMS}
    return tuple(member.name for member in described(operator).MEMBERS if member.type not in exact)
