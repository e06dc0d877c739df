"""Bounds of expressions for a description that is known to satisfy some rules."""

from __future__ import annotations

from collections.abc import Iterable

from dmlgen.analysis.classes import demanded, rank_classes
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

    def __init__(self, registry: Registry, operator: Operator | None, stage: Stage) -> None:
        super().__init__(registry, operator, stage)
        known = () if operator is None else (one for one in operator.members if one.type in registry.types)
        types = {one.name: self._of_type(one.type) for one in known}
        checks = () if operator is None else demanded(operator.rules)
        self._members = _narrowed(types, ir.Member, filter(self._is_of_all, checks))

    def _is_of_all(self, check: Check) -> bool:
        """Whether a check is of a whole member: of a number, or of each entry of a list."""
        match check.condition, check.loops:
            case ir.Compare(left=ir.Index(entries, index)), (ir.Loop(variable, ir.ZERO, upper, None),):
                return index == variable and upper == ir.Call("len", (entries,), ir.INT)
        return not check.loops

    def member(self, node: ir.Member) -> Interval:
        return self._members.get(node.name) or super().member(node)

    def contains(self, index: ir.Expr, sequence: ir.Expr) -> bool:
        return True

    def certain(self, tensor: ir.Tensor) -> bool:
        return True


def field_bounds(registry: Registry) -> dict[str, Interval]:
    """Bounds of a tensor's integers or array entries after the STRUCTURE stage: by type, and by rule."""
    fields = registry.structs["BUFFER_TENSOR_DESC"].members
    types = {one.name: registry.types[one.type].range for one in fields if one.type in registry.types}
    rules = (one for one in registry.tensor.rules if one.stage is Stage.STRUCTURE)
    return _narrowed(types, ir.Field, (check for rule in rules for check in rule.checks))


def _narrowed(
    bounds: dict[str, Interval], kind: type[ir.Field | ir.Member], checks: Iterable[Check]
) -> dict[str, Interval]:
    """Bounds by name, narrowed by the checks that only compare such a value, or any entry of it, with a
    number."""
    for check in checks:
        match check.condition:
            case ir.Compare(
                op="<=" | ">=" as op,
                left=ir.Field() | ir.Member() | ir.Index(sequence=ir.Field() | ir.Member()) as left,
                right=ir.Number(value=int(value)) | ir.Constant(value=value),
            ) if check.guard is None:
                one = left.sequence if isinstance(left, ir.Index) else left
                if isinstance(one, kind) and one.name in bounds:
                    low, high = bounds[one.name]
                    bounds[one.name] = (max(low, value), high) if op == ">=" else (low, min(high, value))
    return bounds
