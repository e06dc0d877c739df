"""Results of the last run, by digests of what they depend on, so that only what changed is redone.

They are pickles, stored under the digest of the code that made them: no other code reads them, and they are
never read from a folder that others can write to.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dmlgen.cache import Cache

T = TypeVar("T")


class Memory:
    """Results of runs of the same `code` for the same `subject`; without a cache, of this run only."""

    def __init__(self, cache: Cache | None = None, code: str = "", subject: str = "") -> None:
        self.cache = Cache(None) if cache is None else cache
        self._code, self._subject = code.encode(), subject
        self._known: dict[str, Mapping[str, Any]] = {}

    def recall(self, what: str) -> Mapping[str, Any]:
        """The most recently stored results of this kind, by the digests of what they depend on."""
        if what not in self._known:
            data = self.cache.get("results", what, self._subject) or b""
            code, pickled = data[: len(self._code)], data[len(self._code) :]
            self._known[what] = pickle.loads(pickled) if pickled and code == self._code else {}
        return self._known[what]

    def keep(self, what: str, results: Mapping[str, Any]) -> None:
        """Stores these results, replacing those of the last run."""
        if results.keys() != self.recall(what).keys():
            self._known[what] = results
            if self.cache.keeps:  # pickling takes a tenth as long as making
                data = self._code + pickle.dumps(results, pickle.HIGHEST_PROTOCOL)
                self.cache.put(data, "results", what, self._subject)

    def of_code(self, what: str, make: Callable[[], T]) -> T:
        """Results that depend only on the code, including templates."""
        if "" not in self.recall(what):
            self.keep(what, {"": make()})
        result: T = self.recall(what)[""]
        return result
