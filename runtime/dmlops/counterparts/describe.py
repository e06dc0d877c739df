"""From a node of another interface to the descriptions that compute it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from .. import reference
from ..description import Description
from ..enums import FeatureLevel
from ..errors import JsonError
from ..json_form import from_json, tensor_to_json
from . import Form, Signature, Step, data
from .evaluate import Evaluator
from .tensors import Impossible, Tensor, Undecided, View

COMMON_RANK = 4  # the dimension count that early feature levels required

Execute: TypeAlias = Callable[[Description, Mapping[str, Any]], Mapping[str, Any]]
"""Computes a description's outputs, as `dmlops.reference.run` and `dmlops.gpu.run` do."""


@dataclass(frozen=True, slots=True)
class Work:
    """A description, and the tensor for each of its members; a list if the member is an array of tensors."""

    desc: Description
    views: Mapping[str, View | list[View]]

    def tensors(self, role: str) -> Iterator[tuple[str, list[View]]]:
        """The members of a role that are given, in the order of the struct, each with its tensors."""
        for member in self.desc.MEMBERS:
            if member.role == role and member.name in self.views:
                views = self.views[member.name]
                yield member.name, views if isinstance(views, list) else [views]

    @property
    def level(self) -> FeatureLevel | None:
        """The lowest feature level that accepts the description; None if none does."""
        return self.desc.min_feature_level()


@dataclass(frozen=True, slots=True)
class Plan:
    """Descriptions that compute a node, executed in sequence."""

    work: tuple[Work, ...]

    @property
    def level(self) -> FeatureLevel | None:
        """The lowest feature level that accepts all of them; None if none does."""
        levels = [one.level for one in self.work]
        known = [level for level in levels if level is not None]
        return max(known) if len(known) == len(levels) else None

    def run(
        self, arrays: Mapping[str, np.ndarray], execute: Execute = reference.run
    ) -> dict[str, np.ndarray]:
        """Computes the node's outputs, by tensor; `arrays` has its inputs. Raises what `execute` raises."""
        known = {(name, False): array for name, array in arrays.items()}
        for work in self.work:
            read = partial(_read, known=known)
            inputs = {name: _each(work.views[name], read) for name, _ in work.tensors("input")}
            results = execute(work.desc, inputs)
            for name, views in work.tensors("output"):
                arrays_ = results[name] if isinstance(work.views[name], list) else [results[name]]
                for view, array in zip(views, arrays_, strict=True):
                    known[view.tensor.name, view.tensor.inner] = view.written(array)
        return {name: array for (name, inner), array in known.items() if not inner and name not in arrays}


def _read(view: View, known: Mapping[tuple[str, bool], np.ndarray]) -> np.ndarray:
    tensor = view.tensor
    array = None if tensor.name else tensor.array
    return view.read(known[tensor.name, tensor.inner] if array is None else array)


def _each(views: View | list[View], function: Callable[[View], Any]) -> Any:
    """The result for a tensor, or those for several."""
    return [function(one) for one in views] if isinstance(views, list) else function(views)


def inferred(signature: Signature, output: str, values: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Data type and shape of an output as the registry says; a list of shapes for one of several tensors.

    `values` has the node's inputs and attributes. Raises Undecided and Impossible.
    """
    type_, sizes = signature.infers[output]
    node = Evaluator(values, signature.let)
    return node.evaluate(type_), node.evaluate(sizes)


def plans(signature: Signature, values: Mapping[str, Any]) -> Iterator[Plan]:
    """The plans from the node's forms, in the order of the registry.

    `values` has views, attributes and None for what is absent, by name. If there is no plan, raises
    Impossible with the limit that the node exceeds or what is wrong with it, or Undecided if too little is
    known about it.
    """
    node = Evaluator(values, signature.let)
    for limit in signature.limits:
        if limit.when and node.evaluate(limit.when):
            raise Impossible(limit.because)
    reasons: list[Undecided | Impossible] = []
    found = False
    for form in signature.forms:
        try:
            own = Evaluator(node.values, {**signature.let, **form.let})
            if form.when and not own.evaluate(form.when):
                continue
            plan = Plan(tuple(_work(form, own)))
        except (Undecided, Impossible) as reason:
            reasons.append(reason)
            continue
        found = True
        yield plan
    if not found:
        undecided = [reason for reason in reasons if isinstance(reason, Undecided)]
        raise next(iter(undecided or reasons), Impossible("no form that DirectML has fits this node"))


def best(
    signature: Signature, values: Mapping[str, Any], at: FeatureLevel | None = None
) -> tuple[Plan, FeatureLevel | None]:
    """The best plan, and the lowest feature level that accepts any; None if none does. Raises as `plans`
    does.

    The plan is the first one that the level `at` accepts. If there is none, or no level is given, it is the
    one with the lowest level.
    """
    chosen: Plan | None = None
    lowest: FeatureLevel | None = None
    fitting: Plan | None = None
    for found in plans(signature, values):
        for plan in (found, at_common_rank(found)):
            level = plan.level
            if chosen is None or (level is not None and (lowest is None or level < lowest)):
                chosen, lowest = plan, level
            if fitting is None and at is not None and level is not None and level <= at:
                fitting = plan
    assert chosen is not None
    return fitting or chosen, lowest


def _work(form: Form, node: Evaluator) -> Iterator[Work]:
    """The descriptions of a form."""
    for name, (type_, sizes) in form.tensors.items():
        made = Tensor(name, node.evaluate(type_), tuple(node.evaluate(sizes)), inner=True)
        node.values[name] = View(made)
    for number, step in enumerate(form.steps):
        if step.when and not node.evaluate(step.when):
            continue
        if not step.over:
            yield _described(step, node)
            continue
        several = node.values[step.over]
        so_far = several[0]
        for turn, each in enumerate(several[1:], 1):
            node.values.update(each=each, so_far=so_far)
            work = _described(step, node)
            if turn < len(several) - 1:
                ((written, (output,)),) = work.tensors("output")
                name = f"{output.tensor.name}, {number}.{turn}"
                so_far = View(replace(output.tensor, name=name, array=None, inner=True))
                work = Work(work.desc, {**work.views, written: so_far})
            yield work


def _described(step: Step, node: Evaluator) -> Work:
    """The description of one step, read from its JSON form like any other."""
    views: dict[str, View | list[View]] = {}
    members: dict[str, Any] = {}
    for name, text in step.desc.items():
        value = node.evaluate(text)
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, View):
            views[name] = value
            members[name] = _each(value, lambda one: tensor_to_json(one.desc()))
        elif value is not None:
            members[name] = value
    try:
        desc = from_json({"type": f"DML_OPERATOR_{step.operator}", "desc": members})
    except JsonError as error:
        raise Impossible(f"no description of {step.operator} follows from it: {error}") from None
    return Work(desc, views)


def at_common_rank(plan: Plan) -> Plan:
    """The plan with leading sizes of 1 added, if they change nothing and may lower the feature level."""
    return Plan(tuple(_deepened(work) for work in plan.work))


def _deepened(work: Work) -> Work:
    desc: Any = work.desc  # like all descriptions, it is a dataclass
    ranks = {view.rank for role in ("input", "output") for _, views in work.tensors(role) for view in views}
    if desc.OPERATOR not in data()["leading_ones"] or len(ranks) != 1 or max(ranks) >= COMMON_RANK:
        return work
    more = COMMON_RANK - max(ranks)
    views = {name: _each(some, lambda one: one.deep(COMMON_RANK)) for name, some in work.views.items()}
    changes = {name: _each(some, View.desc) for name, some in views.items()}
    for name in desc.AXES:
        axes = getattr(desc, name)
        changes[name] = axes + more if isinstance(axes, int) else tuple(axis + more for axis in axes)
    return Work(replace(desc, **changes), views)
