"""Definitions of one output whose elements are each computed from those at the same coordinate, without
loops, or copied from where another tensor selects them.

Shaders step through all tensors together, so that no element needs its coordinate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dmlgen.analysis.elements import InElements, Unfit
from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.registry import EnumEntry, Member, OutputDefinitions
from dmlgen.schedules.access import loads_of
from dmlgen.schedules.cases import written
from dmlgen.schedules.schedule import Schedule
from dmlgen.schedules.tensor_facts import TensorFacts

_INDEX = ir.Local("index", ir.INT)
_SYMBOLIC = ("align", "replace", "normalize_index", "apply_activation")


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Schedule | None:
    """An expression over elements; one that does not look at coordinates."""
    return of_elements(defines, facts.members, _classes(defines.classes, facts))


def of_elements(
    defines: OutputDefinitions, members: Mapping[str, Member], classes: Mapping[str, str]
) -> Schedule | None:
    """An expression over elements; `classes` maps tensors to representatives of their data types."""
    if defines.tensors or len(defines.outputs) != 1:
        return None
    [(output, value)] = defines.outputs.items()
    elements = InElements(classes)
    match value:
        case ir.Call("concat", (ir.Tensors(name=name), axis)):
            return _joined(output, name, axis, elements.type(ir.Tensor(name, _INDEX)))
    try:
        found = elements.stored(ir.Tensor(output), _without_functions(value))
    except Unfit:
        return None
    if is_gathered(found):
        copied, indices = dict.fromkeys(load.tensor.name for load in loads_of(found))
        if list(members).index(copied) > list(members).index(indices):
            return None  # planners are given tensors in the order of members
        return Schedule("map", output, output, found)
    if not _is_in_step(found):
        return None
    stored, reads = elements.type(ir.Tensor(output)), loads_of(found)
    named = {output, *(read.tensor.name for read in reads)}
    # Reference and shader both take a type from the tensor that represents it.
    types = {type_ for type_ in {stored, *(read.type for read in reads)} if type_.name in named}
    types = {type_ for type_ in types if not members[type_.name or ""].optional}
    if not ir.varies(found) and not isinstance(found, ir.Member):  # constant, and yet computed
        return None
    if not all(_is_converted(node, types) for node in ir.walk(found)):
        return None
    return Schedule("map", output, output, found)


def _classes(classes: Mapping[str, str], facts: TensorFacts) -> Mapping[str, str]:
    """Tensors by representatives of those with the same data type: what rules equate, and what can only have
    one."""
    first: dict[EnumEntry, str] = {}  # of each data type that is the only one
    joined: dict[str, str] = {}
    for name in dict.fromkeys(classes.values()):
        types = facts.types(name) if name in facts.members else set()
        joined[name] = first.setdefault(types.pop(), name) if len(types) == 1 else name
    return {name: joined[one] for name, one in classes.items()}


def _without_functions(value: ir.Expr) -> ir.Expr:
    """The value written out if it uses functions; names are kept otherwise, since they are computed once."""
    applied = any(isinstance(node, ir.Apply) and node.function.parameters for node in ir.walk(value))
    return written(value, {}) if applied else value


def _joined(output: str, tensors: str, axis: ir.Expr, type_: ir.Type) -> Schedule:
    """Each tensor in turn is copied to its start in the output, after those before it."""
    number, d = ir.Local("i", ir.INT), ir.Local("d", ir.INT)
    sizes = ir.Field(ir.Tensor(tensors, number), "Sizes", ir.INTS)
    before = ir.Loop(number, ir.ZERO, _INDEX)
    start = ir.Definition("start", ir.Reduce("sum", (before,), ir.Index(sizes, axis), ir.INT))
    entry = ir.Conditional(ir.Compare("==", d, axis), start, ir.ZERO)
    rank = ir.Field(ir.Tensor(output), "DimensionCount", ir.INT)
    begin = ir.Reduce("list", (ir.Loop(d, ir.ZERO, rank),), entry, ir.INTS)
    value = ir.Load(ir.Tensor(tensors, _INDEX), ir.AT, type_)
    return Schedule("map", output, tensors, value, begin)


def _is_converted(node: ir.Expr, types: Collection[ir.Type]) -> bool:
    """Whether everything that becomes an element has one of these types, and is not a size that only the host
    knows."""
    match node:
        case ir.Call("convert" | "quantize" | "element", (value, *_)):
            sizes = any(isinstance(part, ir.Field) for part in ir.walk(value))
            return node.type in types and (ir.varies(value) or value.type != ir.INT or not sizes)
    return True


def is_symbolic(value: ir.Expr) -> bool:
    """Whether a value can be found for symbols in place of elements, which can only be added, subtracted and
    multiplied, and is read where its coordinate is a linear function of the element's."""
    if value.type.kind != "element":
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


def is_gathered(value: ir.Expr | None) -> bool:
    """Whether a value is an element that elements of one other tensor select."""
    if not isinstance(value, ir.Load) or not is_symbolic(value) or not is_moved(value):
        return False
    calls = (node for node in ir.walk(value) if isinstance(node, ir.Call))
    is_selected = any(call.function == "normalize_index" for call in calls)
    return is_selected and len({load.tensor for load in loads_of(value)}) == 2


def is_moved(value: ir.Expr) -> bool:
    """Whether entries of the coordinate are moved to other dimensions, without arithmetic."""
    return not any(
        isinstance(node, ir.Binary) and node.type == ir.INT and ir.varies(node) for node in ir.walk(value)
    )


def single(value: ir.Expr) -> tuple[str, ...]:
    """The tensors of which the first element is read."""
    return tuple(dict.fromkeys(read.tensor.entry for read in loads_of(value) if _is_first(read.coordinate)))


def _is_in_step(value: ir.Expr) -> bool:
    """Whether each tensor is read at the element's own coordinate, or only at the first element."""
    reads = loads_of(value)
    each = {read.tensor.entry for read in reads if read.coordinate == ir.AT}
    places = [read for read in reads if read.coordinate == ir.AT or _is_first(read.coordinate)]
    rest = ir.substitute(value, dict.fromkeys(places, ir.ZERO))
    return (
        not any(part == ir.AT or isinstance(part, ir.Load) for part in ir.walk(rest))
        and all(read.tensor.index is None or isinstance(read.tensor.index, ir.Number) for read in reads)
        and len(each) + len(single(value)) == len({read.tensor.entry for read in reads})
    )


def _is_first(coordinate: ir.Expr) -> bool:
    """Whether a coordinate is 0 in all dimensions."""
    return match("[0 for d in range(rank)]", coordinate) is not None
