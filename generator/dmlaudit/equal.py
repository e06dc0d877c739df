"""Equal fields of tensors, and bounds of integers, according to an operator's rules."""

from __future__ import annotations

from collections.abc import Iterator

from dmlgen.diagnostics import Position
from dmlgen.expr import ir
from dmlgen.expr.printer import SOURCE
from dmlgen.registry import Check, Operator, Rule


class Equalities:
    """Groups the tensors of an operator by equal values of a field."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._rules = [rule for rule in operator.rules if rule.until is None and not rule.advice]
        self._of: dict[tuple[str, ...], dict[str, str]] = {}

    def are_equal(self, field: str, tensors: tuple[str, ...]) -> bool:
        """Whether the rules, or tables with a single dimension count, make the tensors agree in the field."""
        classes = self._classes((field, "Sizes") if field == "DimensionCount" else (field,))
        if field == "DimensionCount" and self._have_one_count(tensors):
            return True
        return len({classes.get(name, name) for name in tensors}) == 1

    def all_equal(self, field: str, tensor: str) -> list[str]:
        """The tensor, then all that agree with it in the field."""
        others = [member.name for member in self._operator.tensors if member.name != tensor]
        return [tensor, *(name for name in others if self.are_equal(field, (tensor, name)))]

    def demanded(self, field: str) -> list[list[str]]:
        """The classes of several tensors that rules on this very field create."""
        classes = self._classes((field,))
        groups: dict[str, list[str]] = {}
        for name, of in classes.items():
            groups.setdefault(of, []).append(name)
        return [names for names in groups.values() if len(names) > 1]

    def position(self, field: str, tensors: tuple[str, ...]) -> Position:
        """The first rule that compares the field of two of the tensors; otherwise the rules."""
        for rule in self._rules:
            for check in rule.checks:
                if len({name for name, _ in _equal(check, field)} & set(tensors)) > 1:
                    return rule.position
        return self._operator.places.get("rules", self._operator.position)

    def _classes(self, fields: tuple[str, ...]) -> dict[str, str]:
        """Maps every tensor to a representative of all that agree with it in one of the fields."""
        if fields not in self._of:
            classes = {member.name: member.name for member in self._operator.tensors}
            by_value: dict[str, str] = {}
            for name, value in self._pairs(fields):
                other = by_value.setdefault(value, name)
                old, new = classes[name], classes[other]
                classes = {key: new if one == old else one for key, one in classes.items()}
            self._of[fields] = classes
        return self._of[fields]

    def _pairs(self, fields: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """A tensor, and what its field equals in words; the field itself comes first."""
        for field in fields:
            for member in self._operator.tensors:
                yield member.name, f"{member.name}.{field}"
            for rule in self._rules:
                for check in rule.checks:
                    yield from _equal(check, field)

    def _have_one_count(self, tensors: tuple[str, ...]) -> bool:
        rows = [row for rows in self._operator.support.values() for row in rows if row.tensor in tensors]
        counts = {row.ranks for row in rows}
        return len(counts) == 1 and all(len(ranks) == 1 for ranks in counts)


def _equal(check: Check, field: str) -> Iterator[tuple[str, str]]:
    """For a check that equates a tensor's field with something: the tensor, and that in words."""
    condition = check.condition
    if not isinstance(condition, ir.Compare) or condition.op != "==" or not _always(check):
        return
    sides = (condition.left, condition.right)
    for side, other in (sides, sides[::-1]):
        name = _field_of(side, field, check)
        if name:
            theirs = _field_of(other, field, check)
            yield name, f"{theirs}.{field}" if theirs else _words(other)


def _words(node: ir.Expr) -> str:
    while isinstance(node, ir.Definition):
        node = node.value
    return SOURCE.print(node)


def _field_of(node: ir.Expr, field: str, check: Check) -> str:
    """The tensor (or array) whose field an expression is, in a loop for each entry; otherwise ""."""
    match node:
        case ir.Definition(value=value):
            return _field_of(value, field, check)
        case ir.Field(tensor=tensor, name=name) if name == field:
            return tensor.name
        case ir.Index(sequence=ir.Field(tensor=tensor, name=name), index=ir.Local()) if (
            name == field == "Sizes"
        ):
            return tensor.name
        case _:
            return ""


def _always(check: Check) -> bool:
    """Whether a check applies whenever its members are present, and in each iteration of its loops."""
    return all(map(_is_whole, check.loops)) and _is_presence(check.guard)


def _is_whole(loop: ir.Loop) -> bool:
    """Whether a loop covers all dimensions of a tensor, or all entries of an array."""
    match loop:
        case ir.Loop(
            lower=ir.Number(value=0),
            upper=ir.Field(name="DimensionCount") | ir.Member() | ir.Call(function="len"),
            condition=None,
        ):
            return True
        case _:
            return False


def _is_presence(guard: ir.Expr | None) -> bool:
    match guard:
        case None | ir.Present():
            return True
        case ir.Logic(op="and", operands=operands):
            return all(map(_is_presence, operands))
        case _:
            return False


def bounds(operator: Operator, member: str, bound: str) -> Iterator[tuple[str, Rule]]:
    """Comparisons of a member, or of each entry of an array, with a bound: operators, and the rules."""
    for rule in operator.rules:
        if rule.until is not None or rule.advice:
            continue
        for check in rule.checks:
            for condition in _conjuncts(check.condition):
                if isinstance(condition, ir.Compare):
                    left, right = _subject(condition.left), _subject(condition.right)
                    if (left, right) == (member, bound):
                        yield condition.op, rule
                    elif (right, left) == (member, bound):
                        yield ir.FLIPPED[condition.op], rule


def _conjuncts(node: ir.Expr) -> Iterator[ir.Expr]:
    if isinstance(node, ir.Logic) and node.op == "and":
        for operand in node.operands:
            yield from _conjuncts(operand)
    else:
        yield node


def _subject(node: ir.Expr) -> str:
    if isinstance(node, ir.Index) and isinstance(node.sequence, ir.Member):
        return node.sequence.name
    return SOURCE.print(node)


def rule_but_axis(operator: Operator, axis: str, tensors: tuple[str, str]) -> Rule | None:
    """The rule, if any, that makes two tensors agree in all sizes except that along an axis."""
    for rule in operator.rules:
        for check in rule.checks:
            match check:
                case Check(
                    loops=(ir.Loop(variable=d, condition=ir.Compare(op="!=", left=left, right=right)),)
                ):
                    sides = {SOURCE.print(left), SOURCE.print(right)}
                    if (
                        sides == {d.name, axis}
                        and not rule.advice
                        and _sizes_at(check.condition, d) == set(tensors)
                    ):
                        return rule
                case _:
                    pass
    return None


def _sizes_at(node: ir.Expr, d: ir.Local) -> set[str]:
    """The two tensors whose sizes in a dimension must be equal."""
    match node:
        case ir.Compare(
            op="==",
            left=ir.Index(sequence=ir.Field(tensor=one, name="Sizes"), index=ir.Local(name=i)),
            right=ir.Index(sequence=ir.Field(tensor=other, name="Sizes"), index=ir.Local(name=j)),
        ) if i == j == d.name:
            return {one.name, other.name}
        case _:
            return set()
