"""Definitions that reduce sets of elements to one value each.

There are two forms: a fold of a function of each element, followed by a function of the result and the number
of elements ("map, combine, finish"); and the place of the greatest or least element, which may also be marked
among all elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dmlgen.analysis.elements import Unfit
from dmlgen.expr import ir
from dmlgen.expr.functions import ELEMENT_FUNCTIONS
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import Case, cases_of, test_for
from dmlgen.schedules.schedule import Schedule, Steps
from dmlgen.schedules.sets import ITEM, Sets, normal, sets_of
from dmlgen.schedules.tensor_facts import TensorFacts

_FORM = "reduce"


@dataclass(frozen=True)
class _Form:
    """The work in one case: the steps of the form; `backward`: the last of equal elements counts."""

    sets: Sets
    steps: Mapping[str, ir.Expr]
    backward: bool = False


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Schedule | None:
    """The schedule of a definition of one of these forms."""
    if len(defines.outputs) != 1 or not any(map(_folds, (*defines.outputs.values(), *_values(defines)))):
        return None
    (output,) = defines.outputs
    if not facts.is_certain(output) or any(one.along for one in defines.tensors):
        return None
    cases = cases_of(defines, facts.enums)
    return _schedule(output, cases, [_Reader(case, output, facts).form() for case in cases])


def _values(defines: OutputDefinitions) -> Iterator[ir.Expr]:
    yield from (one.value for one in defines.tensors)
    yield from (function.body for function in defines.functions)


def _folds(node: ir.Expr) -> bool:
    return any(isinstance(part, ir.Fold) and not part.unrolled for part in ir.walk(node))


def _schedule(output: str, cases: Sequence[Case], forms: Sequence[_Form]) -> Schedule:
    """All cases together: one enumeration may select the steps, and a test of one member the direction."""
    if any(form.sets != forms[0].sets for form in forms):
        raise Unfit
    sets = forms[0].sets
    roles: dict[str, ir.Expr] = {"input": ir.Tensor(sets.tensor), "reduced": sets.flags}
    steps = {"ALWAYS": forms[0].steps}
    if (chooser := _decides(cases, [form.steps for form in forms])) is not None:
        roles["function"] = chooser
        chosen = (case.choice[chooser] for case in cases)
        names = [value.name for value in chosen if isinstance(value, ir.EnumValue)]
        steps = dict(zip(names, [form.steps for form in forms], strict=True))
    decreasing = test_for(cases, [form.backward for form in forms])
    if decreasing is None:
        raise Unfit
    roles["decreasing"] = decreasing
    listed = tuple(Steps(name, parts) for name, parts in steps.items())
    return Schedule(_FORM, output, output, (), None, None, roles, listed)


def _decides(cases: Sequence[Case], found: Sequence[object]) -> ir.Member | None:
    """The only enumeration that what is found depends on; None if it is always the same."""
    if all(one == found[0] for one in found):
        return None
    for member in cases[0].choice:
        by_value: dict[object, object] = {}
        same = (
            by_value.setdefault(case.choice[member], one) == one
            for case, one in zip(cases, found, strict=True)
        )
        if member.type.kind == "enum" and all(same):
            return member
    raise Unfit


class _Reader:
    """Reads one case, in terms of numbers of the type in which elements are computed."""

    def __init__(self, case: Case, output: str, facts: TensorFacts) -> None:
        self._case, self._output, self._facts = case, output, facts
        values = [case.output, *(one.value for one in case.tensors.values())]
        folds = (part for value in values for part in ir.walk(value) if isinstance(part, ir.Fold))
        sets = next(filter(None, map(sets_of, folds)), None)
        if sets is None or not facts.is_certain(sets.tensor):
            raise Unfit
        self._sets = sets
        self._type = ir.element_of(sets.tensor)
        self._element, self._total, self._count = map(self._local, ("element", "total", "count"))
        self._folded: tuple[str, ir.Expr] | None = None  # the kind of fold, and its function of each element

    def form(self) -> _Form:
        """The form of the case; Unfit if it has none of these."""
        sizes = self._facts.field(self._output, "Sizes", self._case.choice)
        each = sizes == ir.Field(ir.Tensor(self._sets.tensor), "Sizes", ir.INTS)
        if sizes is None or not (each or normal(sizes) == self._sets.kept):
            raise Unfit
        value = self._stored(self._case.output)
        chosen = self._is_chosen_one(value) if each else self._chosen(value)
        if chosen is not None:
            kind, backward = chosen
            steps = {"better": self._better(kind)}
            return _Form(self._sets, steps | ({"each": self._local("x")} if each else {}), backward)
        if each:
            raise Unfit
        return _Form(self._sets, self._steps_of(self._number(value, None)))

    def _stored(self, value: ir.Expr) -> ir.Expr:
        """The value of an element of the output, which has the input's type unless it is an integer."""
        converted = isinstance(value, ir.Call) and value.function == "convert"
        inner = value.arguments[0] if isinstance(value, ir.Call) and converted else value
        if inner.type == ir.INT and self._chosen(inner) is not None:
            return inner
        if not self._facts.has_type_of(self._output, self._sets.tensor, self._case.choice):
            raise Unfit
        return inner

    # The place of an element.

    def _chosen(self, node: ir.Expr) -> tuple[str, bool] | None:
        """If a number is the place of the greatest or least element in its set: which of the two, and if
        backward."""
        match node:
            case ir.Call(function="ravel_index", arguments=(place, sizes)) if self._is_extent(sizes):
                mirrored = self._sets.mirrored(place)
                backward = mirrored is not None
                match mirrored or place:
                    case ir.Fold(kind="argmax" | "argmin" as kind) as fold if sets_of(fold) == self._sets:
                        if self._reads(fold.body, fold.loops[0].variable, backward=backward):
                            return kind, backward
        return None

    def _is_chosen_one(self, node: ir.Expr) -> tuple[str, bool] | None:
        """Whether a truth value says that the element at `at` is the greatest or least of its set."""
        match node:
            case ir.Compare(op="==", left=left, right=right):
                for place, found in ((left, right), (right, left)):
                    if self._is_own(place):
                        return self._chosen(self._entry(found) if isinstance(found, ir.Entry) else found)
        return None

    def _is_own(self, node: ir.Expr) -> bool:
        match node:
            case ir.Call(function="ravel_index", arguments=(place, sizes)):
                return normal(place) == self._sets.own and self._is_extent(sizes)
        return False

    def _is_extent(self, sizes: ir.Expr) -> bool:
        return normal(sizes) == self._sets.extent

    def _better(self, kind: str) -> ir.Expr:
        """Whether x takes precedence over y: NaN comes first."""
        x, y = self._local("x"), self._local("y")
        nan = (ir.Call("is_nan", (x,), ir.BOOL), ir.Not(ir.Call("is_nan", (y,), ir.BOOL)))
        ahead = ir.Compare(">" if kind == "argmax" else "<", x, y)
        return ir.Logic("or", (ahead, ir.Logic("and", nan)))

    # What becomes of all elements.

    def _number(self, node: ir.Expr, read: ir.Local | None) -> ir.Expr:
        """A number of a set; `read` is the variable of the loop it is in, if any."""

        def number(part: ir.Expr) -> ir.Expr:
            return self._number(part, read)

        match node:
            case ir.Load() if read is not None and self._reads(node, read, backward=False):
                return self._element
            case ir.Entry():
                return self._number(self._entry(node), None)
            case ir.Fold() if read is None:
                return self._fold(node)
            case ir.Call(function="float", arguments=(ir.Call("product", (sizes,)),)):
                if self._is_extent(sizes):
                    return self._count
            case ir.Call(function="float", arguments=(item,)) if item.type.kind == "element":
                if self._facts.is_float(self._sets.tensor, self._case.choice):
                    return number(item)
            case ir.Number(type=type_) if type_ in (ir.INT, ir.FLOAT):
                return ir.Call("element", (node,), self._type)
            case ir.Call(function="element", arguments=(ir.Number() as item,)):
                return ir.Call("element", (item,), self._type)
            case ir.Call(function=name, arguments=arguments, type=type_) if type_.kind in (
                "float",
                "element",
            ):
                if name in ELEMENT_FUNCTIONS and set(ELEMENT_FUNCTIONS[name].arguments) == {"element"}:
                    return ir.Call(name, tuple(map(number, arguments)), self._type)
            case ir.Negate(operand=operand) if node.type.kind in ("float", "element"):
                return ir.Negate(number(operand))
            case ir.Binary(op=op, left=left, right=right) if node.type.kind in ("float", "element"):
                return ir.Binary(op, number(left), number(right), self._type)
        raise Unfit

    def _entry(self, node: ir.Entry) -> ir.Expr:
        """The value of an intermediate tensor with one entry per set, provided that of this set is read."""
        kept = self._case.tensors[node.tensor]
        here = node.coordinate == ir.AT or normal(node.coordinate) == self._sets.here
        if not here or normal(kept.sizes) != self._sets.kept:
            raise Unfit
        return kept.value

    def _reads(self, node: ir.Expr, variable: ir.Local, *, backward: bool) -> bool:
        """Whether this is the current element of a loop over the set."""
        match node:
            case ir.Call(function="float", arguments=(item,)) if item.type.kind == "element":
                floats = self._facts.is_float(self._sets.tensor, self._case.choice)
                return floats and self._reads(item, variable, backward=backward)
            case ir.Load(tensor=ir.Tensor(name=name, index=None), coordinate=place):
                over = self._sets.backward if backward else self._sets.over
                return name == self._sets.tensor and normal(ir.substitute(place, {variable: ITEM})) == over
        return False

    def _fold(self, node: ir.Fold) -> ir.Expr:
        if sets_of(node) != self._sets or node.kind not in _COMBINED:
            raise Unfit
        body = self._number(node.body, node.loops[0].variable)
        if node.type == ir.INT and body != self._element:
            raise Unfit  # such integers are exact, while elements wrap around
        if self._folded not in (None, (node.kind, body)):
            raise Unfit
        self._folded = (node.kind, body)
        return self._total

    def _steps_of(self, value: ir.Expr) -> dict[str, ir.Expr]:
        """The steps from the elements to a number, in order."""
        if self._folded is None:
            raise Unfit
        kind, mapped = self._folded
        x, y, count = map(self._local, ir.STEP_NAMES)
        steps: dict[str, ir.Expr] = {}
        if mapped != self._element:
            steps["map"] = ir.substitute(mapped, {self._element: x})
        steps["combine"] = _COMBINED[kind](x, y, self._type)
        if value != self._total:
            steps["finish"] = ir.substitute(value, {self._total: x, self._count: count})
        return steps

    def _local(self, name: str) -> ir.Local:
        return ir.Local(name, self._type)


_COMBINED: Mapping[str, Callable[[ir.Expr, ir.Expr, ir.Type], ir.Expr]] = {
    "sum": lambda x, y, type_: ir.Binary("+", x, y, type_),
    "product": lambda x, y, type_: ir.Binary("*", x, y, type_),
    "max": lambda x, y, type_: ir.Call("max", (x, y), type_),
    "min": lambda x, y, type_: ir.Call("min", (x, y), type_),
}
