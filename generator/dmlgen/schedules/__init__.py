"""Fast ways to compute what definitions say.

A spec defines outputs and says nothing of how they are computed. Each module here knows one form of
definitions, and gives for those that have it the kernel that computes them. Where no form fits, the generic
reference and the generic shader follow the definition itself: slow, and right.

`recognise(defines, members)` of a module is a `Compute`, or None; `members` are the operator's.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmlgen.registry import Compute, Member, OutputDefinitions
from dmlgen.schedules import elementwise, gather

_FORMS = (gather, elementwise)
"""The forms, in the order in which they are tried."""


def schedule_of(defines: OutputDefinitions, members: Mapping[str, Member]) -> Compute | None:
    """The fast way to compute a definition, if there is one."""
    found = (form.recognise(defines, members) for form in _FORMS)
    return next((compute for compute in found if compute is not None), None)
