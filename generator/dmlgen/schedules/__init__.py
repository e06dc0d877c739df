"""Fast ways to compute what definitions say.

A spec defines outputs without saying how to compute them. Each module here recognizes one form of
definitions, and turns it into a schedule that computes it. Where no form fits, the generic reference and the
generic shader follow the definition literally: slow, but correct.

A module's `recognize` returns a `FastForm`, an alternative to the generic shader for the descriptions that
it fits, or, for a scan, an algorithm; it returns None or raises Unfit where there is none. It is given the
definition, and facts from members, rules and tables.

None of this is part of the registry: what an operator is does not depend on how it is computed. Outputs ask
here, and an operator is analyzed when one first asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from dmlgen.analysis.pattern import Unfit
from dmlgen.registry import AlgorithmUse, Operator, OutputDefinitions, Registry
from dmlgen.schedules import (
    attention,
    contraction,
    elementwise,
    rows,
    scan,
    separable,
    sliding,
    sparse_sum,
    sums,
    vector_axis,
)
from dmlgen.schedules.elementwise import Elementwise
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

F = TypeVar("F", bound=FastForm)
T = TypeVar("T")

FAST_FORMS: tuple[Callable[[OutputDefinitions, TensorFacts], FastForm | None], ...] = (
    contraction.recognize,
    sliding.recognize,
    attention.recognize,
    rows.recognize,
    sums.recognize,
    separable.recognize,
    sparse_sum.recognize,
    vector_axis.recognize,
)
"""Of definitions that are neither scans nor maps."""


class _Found(NamedTuple):
    schedule: AlgorithmUse | None
    forms: tuple[FastForm, ...]


_known: WeakKeyDictionary[Operator, _Found] = WeakKeyDictionary()


def schedule_of(registry: Registry, operator: Operator) -> AlgorithmUse | None:
    """The algorithm that computes an operator; None if outputs follow its definition, or if it has none."""
    return _found(registry, operator).schedule


def forms_of(registry: Registry, operator: Operator) -> tuple[FastForm, ...]:
    """Faster alternatives to passes of an operator's definition."""
    return _found(registry, operator).forms


def form_of(registry: Registry, operator: Operator, kind: type[F]) -> F | None:
    """The faster form of a kind, if the operator has one."""
    return next((one for one in forms_of(registry, operator) if isinstance(one, kind)), None)


def follows_definition(registry: Registry, operator: Operator) -> bool:
    """Whether the shader has passes for the operator's definition."""
    found = schedule_of(registry, operator) or form_of(registry, operator, Elementwise)
    return operator.defines is not None and found is None


def _found(registry: Registry, operator: Operator) -> _Found:
    """Analyzes an operator once; all registries that share the object share its enumerations, too."""
    if operator.defines is None or registry.by_definition:
        return _Found(operator.algorithm, ())
    if operator not in _known:
        facts = TensorFacts(operator.member, operator.inferences, operator.support, registry.enums)
        schedule = next(_recognized((scan.recognize,), operator.defines, facts), None)
        maps = tuple(_recognized((elementwise.recognize,), operator.defines, facts))
        others = FAST_FORMS if schedule is None and not maps else ()
        _known[operator] = _Found(schedule, maps or tuple(_recognized(others, operator.defines, facts)))
    return _known[operator]


def _recognized(
    recognizers: Iterable[Callable[[OutputDefinitions, TensorFacts], T | None]],
    defines: OutputDefinitions,
    facts: TensorFacts,
) -> Iterator[T]:
    """The forms that these find in a definition, in their order."""
    for recognize in recognizers:
        with suppress(Unfit):
            if (found := recognize(defines, facts)) is not None:
                yield found
