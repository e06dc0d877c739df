"""Fast ways to compute what definitions say.

A spec defines outputs and says nothing of how they are computed. Each module here knows one form of
definitions, and gives for those that have it the schedule that computes them. Where no form fits, the generic
reference and the generic shader follow the definition itself: slow, and right.

`recognise(defines, members)` of a module is a `Schedule`, or None; `members` are the operator's. Forms that
rest on rules and tables, too, are told all that `described` says. A `FastForm` is a way beside that of the
generic shader, for those descriptions that it fits; `FAST_FORMS` has the modules that know one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dmlgen.expr.defined import cuts_before_storing
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules import (
    attention,
    contraction,
    elementwise,
    gather,
    nearby,
    reduction,
    rows,
    scan,
    separable,
    sliding,
    sums,
)
from dmlgen.schedules.described import Described
from dmlgen.schedules.schedule import FastForm, Schedule

FAST_FORMS: tuple[Callable[[OutputDefinitions, Described], FastForm | None], ...] = (
    contraction.recognise,
    sliding.recognise,
    attention.recognise,
    rows.recognise,
    sums.recognise,
    separable.recognise,
    nearby.recognise,
)


def schedule_of(defines: OutputDefinitions, described: Described) -> Schedule | None:
    """The fast way to compute a definition, if there is one: the first form that fits.

    Schedules compute in 32 bits or more, and cut high bits off where they store.
    """
    if any(map(cuts_before_storing, defines.outputs.values())):
        return None
    return next((found for found in _forms(defines, described) if found is not None), None)


def _forms(defines: OutputDefinitions, described: Described) -> Iterator[Schedule | None]:
    yield gather.recognise(defines, described.members)
    yield elementwise.recognise(defines, described.members)
    yield reduction.recognise(defines, described)
    yield scan.recognise(defines, described)


def fast_forms_of(defines: OutputDefinitions, described: Described) -> tuple[FastForm, ...]:
    """The forms of a definition for which its own shader has a faster way, too."""
    found = (recognise(defines, described) for recognise in FAST_FORMS)
    return tuple(one for one in found if one is not None)
