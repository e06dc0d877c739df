"""Bounds of expressions for a description that is known to satisfy some rules."""

from __future__ import annotations

from dmlgen.analysis.classes import rank_classes
from dmlgen.expr import ir
from dmlgen.expr.bounds import ANY, ENDLESS, Bounds, Interval
from dmlgen.registry import Check, Operator, Registry, Stage


class DefinitionBounds(Bounds):
    """Bounds for descriptions that have reached a stage.

    From COUNTS on, integers fit their types and arrays have as many entries as their tensor has dimensions;
    from VALUES on, tensors whose rules require it have equal ranks. Without an operator, the bounds are for a
    single tensor.
    """

    def __init__(self, registry: Registry, operator: Operator | None, stage: Stage) -> None:
        super().__init__()
        self.registry = registry
        self.operator = operator
        self.stage = stage
        self.fields = {} if stage is Stage.STRUCTURE else field_bounds(registry)
        self._ranks = rank_classes(operator) if operator is not None and stage >= Stage.VALUES else {}

    def member(self, node: ir.Member) -> Interval:
        if self.operator is None or node.name not in self.operator.member:
            return super().member(node)
        return self._of_type(self.operator.member[node.name].type)

    def part(self, node: ir.Part) -> Interval:
        fields = self.registry.structs[node.member.type.name or ""].members
        low, high = self._of_type(next(field.type for field in fields if field.name == node.name))
        return min(low, 0), max(high, 0)  # 0 if the struct is absent

    def field(self, node: ir.Field) -> Interval:
        low, high = self.fields.get(node.name, (0, ENDLESS) if node.name == "DimensionCount" else ANY)
        return (low, high) if self.certain(node.tensor) else (min(low, 0), max(high, 0))

    def bits(self) -> Interval:
        return 0, max(self.registry.bits.values())

    def _of_type(self, name: str) -> Interval:
        if self.stage is Stage.STRUCTURE or name not in self.registry.types:
            return ANY
        return self.registry.types[name].range

    def certain(self, tensor: ir.Tensor) -> bool:
        """Whether the tensor is certainly present: an absent one has no dimensions."""
        if self.operator is None or tensor.index is not None:
            return tensor.index is None
        return not self.operator.member[tensor.name].optional

    def contains(self, index: ir.Expr, sequence: ir.Expr) -> bool:
        if self.stage is Stage.STRUCTURE and not isinstance(index, ir.Local):
            return False
        match index:
            case ir.Local(name=name) if name in self.loops:
                loop = self.loops[name]
                return self.value(loop.lower)[0] >= 0 and self._reaches(loop.upper, sequence)
            case ir.Binary(op="-", left=left, right=ir.Number(value=1)):
                return self.value(left)[0] >= 1 and self._reaches(left, sequence)
            case ir.Number(value=0):
                return isinstance(sequence, ir.Field) and self.certain(sequence.tensor)
            case _:
                return False

    def _reaches(self, bound: ir.Expr, sequence: ir.Expr) -> bool:
        """Whether `bound` certainly does not exceed the array's length."""
        match bound, sequence:
            case ir.Field(tensor=a, name="DimensionCount"), ir.Field(tensor=b, name="Sizes" | "Strides"):
                return a == b or self._rank(a) == self._rank(b)
            case ir.Call(function="len", arguments=(counted,)), _ if counted == sequence:
                return True
            case ir.Member(name=count), ir.Member(name=array) if self.operator is not None:
                return self.operator.member[array].count == count
            case ir.Binary(op="-", left=left, right=right), _:
                return self.value(right)[0] >= 0 and self._reaches(left, sequence)
            case ir.Call(function="max", arguments=(left, ir.Number(value=0))), _:
                return self._reaches(left, sequence)
            case ir.Call(function="min", arguments=arguments), _:
                return any(self._reaches(argument, sequence) for argument in arguments)
            case ir.Definition(value=value), _:
                return self._reaches(value, sequence)
            case _:
                return False

    def _rank(self, tensor: ir.Tensor) -> ir.Tensor | str:
        """A representative of the tensors with the same rank."""
        return tensor if tensor.index is not None else self._ranks.get(tensor.name, tensor)


class Unchecked(DefinitionBounds):
    """Bounds for descriptions that no rule has checked: no array entry is certain to exist."""

    def contains(self, index: ir.Expr, sequence: ir.Expr) -> bool:
        return False


class Valid(DefinitionBounds):
    """Bounds for valid descriptions, in which every array entry that is read exists."""

    def contains(self, index: ir.Expr, sequence: ir.Expr) -> bool:
        return True

    def certain(self, tensor: ir.Tensor) -> bool:
        return True


def bound_of(check: Check) -> tuple[str, ir.CompareOp, int] | None:
    """The bound that a check sets for a tensor's integer or array entries, if it does nothing else."""
    match check.condition:
        case ir.Compare(
            op=op,
            left=ir.Field(name=name) | ir.Index(sequence=ir.Field(name=name)),
            right=ir.Number(value=int(value)) | ir.Constant(value=value),
        ) if op in ("<=", ">=") and check.guard is None:
            return name, op, value
        case _:
            return None


def field_bounds(registry: Registry) -> dict[str, Interval]:
    """Bounds of a tensor's integers or array entries after the STRUCTURE stage: by type, and by rule."""
    bounds: dict[str, Interval] = {}
    for field in registry.structs["BUFFER_TENSOR_DESC"].members:
        if field.type in registry.types:
            bounds[field.name] = registry.types[field.type].range
    for check in (c for r in registry.tensor.rules if r.stage is Stage.STRUCTURE for c in r.checks):
        bound = bound_of(check)
        if bound is not None:
            name, op, value = bound
            low, high = bounds[name]
            bounds[name] = (max(low, value), high) if op == ">=" else (low, min(high, value))
    return bounds
