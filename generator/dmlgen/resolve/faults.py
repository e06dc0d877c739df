"""Collects errors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from types import TracebackType
from typing import Any, TypeVar

from dmlgen.diagnostics import Finding, Position, SpecError, fault, nearest
from dmlgen.source import Scalar

S = TypeVar("S")
T = TypeVar("T")


class Faults(list[Finding]):
    """Collects the errors of the block it guards, so that one error does not hide the next:

    with faults:
        ...  # a SpecError ends the block, not the run
    """

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, SpecError):
            self.extend(error.findings)
            return True
        return False

    def tried(self, make: Callable[[], T]) -> T | None:
        """The result of `make`; None if it finds errors, which are collected."""
        with self:
            return make()
        return None

    def each(self, make: Callable[[S], T], items: Iterable[S]) -> tuple[T, ...]:
        """The results of `make` for items; errors are collected."""
        found: list[T] = []
        for item in items:
            with self:
                found.append(make(item))
        return tuple(found)

    def report(self, position: Position, code: str, message: str, suggestion: str | None = None) -> None:
        """Adds an error."""
        self.append(Finding(position, code, message, suggestion=suggestion))

    def stop(self) -> None:
        """Raises what has been collected, if anything."""
        if self:
            raise SpecError(self)


def check_known(name: Scalar[Any], names: Collection[str], message: str, code: str = "unknown-name") -> None:
    """Raises SpecError, with the nearest of the names, if the scalar is none of them."""
    check_named(name.value, name.position, names, message, code)


def check_each(listed: Iterable[Scalar[Any]], names: Collection[str], message: str) -> None:
    """Raises SpecError for all scalars that are none of the names; the message has `{}` for each of them."""
    faults = Faults()
    faults.each(lambda name: check_known(name, names, message.format(name.value)), listed)
    faults.stop()


def check_named(
    name: Any, position: Position, names: Collection[str], message: str, code: str = "unknown-name"
) -> None:
    """Raises SpecError, with the nearest of the names, if the name at that position is none of them."""
    if name not in names:
        raise fault(position, code, message, nearest(str(name), names))
