"""Fast ways to compute what definitions say.

A spec defines outputs without saying how to compute them. Each module here recognizes one form of
definitions, and turns it into a schedule that computes it. Where no form fits, the generic reference and the
generic shader follow the definition literally: slow, but correct.

A module's `recognise` returns a `Schedule`, or None. It is given the definition and, where the form also
depends on members, rules or tables, what is `described`. A `FastForm` is an alternative to the generic
shader, for the descriptions that it fits; `FAST_FORMS` lists the modules that recognize one.
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
    lanes,
    reduction,
    rows,
    scan,
    selected,
    separable,
    sliding,
    sums,
    totals,
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
    totals.recognise,
    selected.recognise,
    lanes.recognise,
)


def schedule_of(defines: OutputDefinitions, described: Described) -> Schedule | None:
    """The fast way to compute a definition, if there is one: the first form that fits.

    Schedules compute in 32 bits or more, and wrap when they store.
    """
    if any(map(cuts_before_storing, defines.outputs.values())):
        return None
    return next((found for found in _forms(defines, described) if found is not None), None)


def _forms(defines: OutputDefinitions, described: Described) -> Iterator[Schedule | None]:
    yield gather.recognise(defines)
    yield elementwise.recognise(defines, described)
    yield reduction.recognise(defines, described)
    yield scan.recognise(defines, described)


def fast_forms_of(defines: OutputDefinitions, described: Described) -> tuple[FastForm, ...]:
    """The forms of a definition for which its own shader also has a faster way."""
    found = (recognise(defines, described) for recognise in FAST_FORMS)
    return tuple(one for one in found if one is not None)
