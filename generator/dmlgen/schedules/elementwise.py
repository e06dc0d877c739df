"""Definitions of one output whose elements are each computed from those at the same coordinate, without
loops, or copied from where another tensor selects them.

Shaders step through all tensors together, so that no element needs its coordinate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.registry import Member, OutputDefinitions
from dmlgen.schedules.access import loads_of
from dmlgen.schedules.cases import written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

_INDEX = ir.Local("index", ir.INT)
_SYMBOLIC = ("align", "replace", "normalize_index", "apply_activation", "element")


@dataclass(frozen=True)
class Elementwise(FastForm):
    """A faster way to compute an output: at each coordinate `at` of `over` (the output, or an array of
    tensors, each in turn as number `index`) it stores `value`, from the coordinate `place` on (None: all
    0)."""

    output: ir.Tensor
    over: ir.Tensor
    value: ir.Expr
    place: ir.Expr | None = None

    @property
    def is_gathered(self) -> bool:
        """Whether the value is an element that elements of one other tensor select."""
        return isinstance(self.value, ir.Load) and self.value.coordinate != ir.AT

    @property
    def single(self) -> tuple[str, ...]:
        """The tensors of which the first element is read."""
        firsts = (one.tensor.entry for one in loads_of(self.value) if _is_first(one.coordinate))
        return tuple(dict.fromkeys(firsts))


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Elementwise | None:
    """An expression over elements, that does not look at coordinates."""
    found = elementwise_of(defines, facts.members)
    whole = [] if found is None or found.is_gathered else loads_of(found.value)
    are_exact = not any(one.type == ir.INT and facts.may_be(one.tensor.name, "unsigned", 64) for one in whole)
    return found if are_exact else None  # an integer is at most a signed one


def elementwise_of(defines: OutputDefinitions, members: Mapping[str, Member]) -> Elementwise | None:
    """The map that a definition is."""
    if defines.tensors or len(defines.outputs) != 1:
        return None
    [(name, value)] = defines.outputs.items()
    output = ir.Tensor(name)
    match value:
        case ir.Call("concat", (ir.Tensors(name=tensors), axis)):
            return _joined(output, tensors, axis, value.type)
    value = written(value, {})
    if _selects(value):
        copied, indices = dict.fromkeys(load.tensor.name for load in loads_of(value))
        names = list(members)  # planners are given tensors in their order
        return Elementwise(output, output, value) if names.index(copied) < names.index(indices) else None
    is_computed = ir.varies(value) or isinstance(value, ir.Member)
    return Elementwise(output, output, value) if is_computed and _is_in_step(value) else None


def _joined(output: ir.Tensor, tensors: str, axis: ir.Expr, type_: ir.Type) -> Elementwise:
    """Each tensor in turn is copied to its start in the output, after those before it."""
    number, d = ir.Local("i", ir.INT), ir.Local("d", ir.INT)
    sizes = ir.Field(ir.Tensor(tensors, number), "Sizes", ir.INTS)
    before = ir.Loop(number, ir.ZERO, _INDEX)
    start = ir.Reduce("sum", (before,), ir.Index(sizes, axis), ir.INT)
    entry = ir.Conditional(ir.Compare("==", d, axis), start, ir.ZERO)
    rank = ir.Field(output, "DimensionCount", ir.INT)
    begin = ir.Reduce("list", (ir.Loop(d, ir.ZERO, rank),), entry, ir.INTS)
    one = ir.Tensor(tensors, _INDEX)
    return Elementwise(output, one, ir.Load(one, ir.AT, type_), begin)


def is_symbolic(value: ir.Expr) -> bool:
    """Whether a value can be found for symbols in place of elements, which can only be added, subtracted and
    multiplied, and is read where its coordinate is a linear function of the element's."""
    if value.type.kind not in ("element", "float"):
        return False
    for node in ir.walk(value):
        match node:
            case ir.Conditional(test=test) if ir.varies(test):
                return False
            case ir.Call(function=function) if function not in _SYMBOLIC and ir.varies(node):
                return False
            case ir.Binary("//" | "%") if ir.varies(node):
                return False
            case ir.Binary("*", left, right, ir.INT) if ir.varies(left) and ir.varies(right):
                return False
    return True


def _selects(value: ir.Expr) -> bool:
    """Whether a value is an element that elements of one other tensor select."""
    if not isinstance(value, ir.Load) or not is_symbolic(value) or not _is_moved(value):
        return False
    calls = (node for node in ir.walk(value) if isinstance(node, ir.Call))
    is_selected = any(call.function == "normalize_index" for call in calls)
    return is_selected and len({load.tensor for load in loads_of(value)}) == 2


def _is_moved(value: ir.Expr) -> bool:
    """Whether entries of the coordinate are moved to other dimensions, without arithmetic."""
    return not any(
        isinstance(node, ir.Binary) and node.type == ir.INT and ir.varies(node) for node in ir.walk(value)
    )


def _is_in_step(value: ir.Expr) -> bool:
    """Whether each tensor is read at the element's own coordinate, or only at the first element."""
    each = {one for one in loads_of(value) if one.coordinate == ir.AT}
    single = {one for one in loads_of(value) if _is_first(one.coordinate)}
    rest = ir.substitute(value, dict.fromkeys(each | single, ir.ZERO))
    return (
        not any(part == ir.AT or isinstance(part, ir.Load | ir.Entry | ir.Reduce) for part in ir.walk(rest))
        and all(one.tensor.index is None or one.tensor.place is not None for one in each | single)
        and {one.tensor.entry for one in each}.isdisjoint(one.tensor.entry for one in single)
    )


def _is_first(coordinate: ir.Expr) -> bool:
    """Whether a coordinate is 0 in all dimensions."""
    return match("[0 for d in range(rank)]", coordinate) is not None
