"""The results of validation: which rule is broken, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dmlgen.expr.evaluate import Environment
from dmlgen.registry import Check, Rule


class Slot(NamedTuple):
    """A member, or one entry of an array of tensors."""

    member: str
    at: int | None = None

    @property
    def path(self) -> str:
        return self.member if self.at is None else f"{self.member}[{self.at}]"


NOWHERE = Slot("")


@dataclass(frozen=True, eq=False)
class CompiledCheck:
    """A check as functions of an environment; `iterations` are those of its loops, if the guard holds."""

    check: Check
    first_failure: Callable[[Environment], Environment | None]
    iterations: Callable[[Environment], Iterator[Environment]]

    def judges(self, environment: Environment) -> bool:
        """Whether the check applies to anything in the description."""
        return next(self.iterations(environment), None) is not None

    def counters(self, environment: Environment) -> tuple[int, ...]:
        """The values of the loop variables, outermost first."""
        return tuple(environment[loop.variable.name] for loop in self.check.loops)


class Failure(NamedTuple):
    """A broken rule. `member` is the path that violations name; `owner` the tensor or member it belongs to.

    `position` orders failures in the order in which they are best fixed: by stage, part of it, and so on. In
    the last stage, rules on tensors come after those of the operator, because fixing them disturbs no other.
    `check` and the values of names at the failure are given if the rule has checks of its own.
    """

    rule: Rule
    member: str
    owner: Slot
    position: tuple[int, ...]
    check: CompiledCheck | None = None
    environment: Environment | None = None
