"""The `compute` section of a spec."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from collections.abc import Mapping as Map
from dataclasses import replace

from dmlgen.expr import ir
from dmlgen.expr.parse import Scope
from dmlgen.registry import Check, Compute, Member, Rule, Steps
from dmlgen.resolve import rules
from dmlgen.resolve.nodes import fault, mapping, place, required, text
from dmlgen.source import Mapping, Node


def resolve_compute(
    node: Mapping,
    members: Map[str, Member],
    resolved: tuple[Rule, ...],
    scope: Scope,
) -> Compute | None:
    """The section of a spec that says what the operator computes; `resolved` are the operator's rules."""
    if node.get("compute") is None:
        return None
    compute = mapping(node, "compute")
    if compute.get("output") is None:
        message = "`outputs`, or the `output` of a kernel, is missing"
        raise fault(compute.position, "missing-key", message)
    tensors = {member.name: member for member in members.values() if member.is_tensor}
    output = rules.known_tensor(required(compute, "output"), tensors)
    over = rules.known_tensor(required(compute, "over"), tensors) if compute.get("over") else output
    classes = element_classes(members.values(), resolved)
    unions = {
        member.name: ir.Member(member.name, ir.element_of(classes[member.typed_by]))
        for member in members.values()
        if member.typed_by in classes
    }
    computing = replace(scope.with_names(unions), elements=classes)
    computing = computing.with_names({"at": ir.Local("at", ir.INTS)})
    if over.count:
        computing = computing.with_names({"index": ir.Local("index", ir.INT)})
    inner, definitions = rules.define(mapping(compute, "let"), computing)
    value = None if compute.get("value") is None else rules.expression(compute.get("value"), inner)
    stored = (ir.BOOL, computing.element(ir.Tensor(output.name)))
    if value is not None and value.type not in stored:
        message = f"the value is of type {value.type}; {stored[1]} or bool is expected"
        raise fault(place(compute, "value"), "expression-type", message)
    where = None if compute.get("place") is None else rules.expression(compute.get("place"), inner, ir.INTS)
    roles = {entry.name: rules.expression(entry.value, inner) for entry in mapping(compute, "with").entries}
    kernel = text(compute, "kernel", "map")
    if (kernel in ("map", "gather")) == (value is None):
        message = "the kernels map and gather work element by element and need a value; others have none"
        raise fault(compute.position, "compute-form", message)
    return Compute(
        kernel,
        output.name,
        over.name,
        definitions,
        value,
        where,
        roles,
        tuple(_steps(mapping(compute, "steps"), inner, roles)),
    )


def _steps(node: Mapping, scope: Scope, roles: Map[str, ir.Expr]) -> Iterator[Steps]:
    """The steps of each case, expressions of elements of the tensor in the role `input`."""
    source = roles.get("input")
    if not node.entries or not isinstance(source, ir.Tensor):
        return
    element = scope.element(source)
    inner = scope.with_names({name: ir.Local(name, element) for name in ir.STEP_NAMES})
    for entry in node.entries:
        parts = mapping(node, entry.name).entries
        yield Steps(entry.name, {part.name: _of_elements(part.value, inner, element) for part in parts})


def _of_elements(value: Node | None, scope: Scope, element: ir.Type) -> ir.Expr:
    """An expression of elements, or a truth value; a written number stands for the element of that value."""
    found = rules.expression(value, scope)
    if isinstance(found, ir.Number) and found.type != ir.BOOL:
        return ir.Call("element", (found,), element)
    return found if found.type == ir.BOOL else rules.expression(value, scope, element)


def element_classes(members: Iterable[Member], resolved: Collection[Rule]) -> dict[str, str]:
    """For every tensor and data type member, one that stands for all that have its data type by the rules."""
    typed = [member for member in members if member.is_tensor or member.type == "TENSOR_DATA_TYPE"]
    typed.sort(key=lambda member: (not member.is_tensor, member.count is not None, member.optional))
    classes = {member.name: member.name for member in typed}
    nodes = [node for check in _demanded(resolved) for node in ir.walk(check.condition)]
    single = [node for node in nodes if isinstance(node, ir.Tensor) and isinstance(node.index, ir.Number)]
    classes |= {tensor.entry: tensor.entry for tensor in single}
    return _joined(classes, resolved, _typed)


def size_classes(tensors: Iterable[Member], resolved: Iterable[Rule]) -> dict[str, str]:
    """For every tensor, one that stands for all that have its sizes by the rules."""
    return _joined({tensor.name: tensor.name for tensor in tensors}, resolved, _sized)


def _joined(
    classes: dict[str, str], resolved: Iterable[Rule], subject: Callable[[ir.Expr], str]
) -> dict[str, str]:
    """The classes, joined where rules say that the subjects of two expressions are equal."""
    for check in _demanded(resolved):
        match check.condition:
            case ir.Compare(op="==", left=left, right=right) if _optional(check.guard):
                a, b = subject(left), subject(right)
                if a in classes and b in classes:
                    old, new = sorted((classes[a], classes[b]), key=list(classes).index, reverse=True)
                    classes = {name: new if one == old else one for name, one in classes.items()}
    return classes


def _demanded(resolved: Iterable[Rule]) -> list[Check]:
    """The checks that hold at every level for every valid description."""
    return [check for rule in resolved if rule.until is None and not rule.advice for check in rule.checks]


def _optional(guard: ir.Expr | None) -> bool:
    """Whether a check holds wherever its tensors are there at all."""
    return guard is None or isinstance(guard, ir.Present)


def _sized(node: ir.Expr) -> str:
    """The tensor whose sizes an expression is."""
    match node:
        case ir.Field(tensor=tensor, name="Sizes"):
            return tensor.entry
        case _:
            return ""


def _typed(node: ir.Expr) -> str:
    """The tensor, or the data type member, whose data type an expression is."""
    match node:
        case ir.Field(tensor=tensor, name="DataType"):
            return tensor.entry
        case ir.Member(name=name, type=ir.Type(kind="enum", name="TENSOR_DATA_TYPE")):
            return name
        case _:
            return ""
