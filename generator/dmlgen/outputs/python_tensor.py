"""The rules of every tensor as Python: one quick test of all of them, and one function a stage that says what is wrong.

A valid description passes the quick test, so that is where the time goes: it walks Sizes and Strides once, in a loop
that all rules share.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.python_printer import PythonPrinter, snake
from dmlgen.registry import Member, Registry, Stage

SELF = ir.Tensor("")
STRIDES = ir.Field(SELF, "Strides", ir.INTS)
RANK = ir.Field(SELF, "DimensionCount", ir.INT)

_TRUE, _FALSE = ir.Number(True, ir.BOOL), ir.Number(False, ir.BOOL)


@dataclass(frozen=True)
class AssignmentView:
    name: str
    value: str


@dataclass(frozen=True)
class TestView:
    """A condition that must not hold; `rule` says whose it is."""

    rule: str
    failure: str


@dataclass(frozen=True)
class VariantView:
    """What is tested of tensors without strides, or with them.

    One pass over `arrays`, each entry in the variable of the same place in `entries`, tests the entries and adds to
    the totals; the definitions follow.
    """

    tests: tuple[TestView, ...]
    arrays: tuple[str, ...]
    entries: tuple[str, ...]
    totals: tuple[AssignmentView, ...]
    entry_tests: tuple[TestView, ...]
    additions: tuple[str, ...]
    definitions: tuple[AssignmentView, ...]


@dataclass(frozen=True)
class SoundnessView:
    """The quick test: `first` of the dimension count, then a variant, then `last`."""

    first: tuple[TestView, ...]
    packed: VariantView
    strided: VariantView
    shared: tuple[AssignmentView, ...]
    definitions: tuple[AssignmentView, ...]
    defaulted: tuple[AssignmentView, ...]
    last: tuple[TestView, ...]


class Soundness:
    """Builds the view; `printer` has collected what its text uses."""

    def __init__(self, registry: Registry, integer_range: str) -> None:
        self.registry = registry
        self.integer_range = integer_range
        self.printer = PythonPrinter(registry, None, Stage.VALUES)
        self.fields = registry.structs["BUFFER_TENSOR_DESC"].members
        self.totals: dict[ir.Expr, ir.Local] = {}
        self.shared: dict[ir.Expr, ir.Local] = {}

    def view(self) -> SoundnessView:
        looped, plain = [], []
        for rule in self.registry.tensor.rules:
            for check in rule.checks:
                (looped if check.loops else plain).append((rule, check))
        first = [(rule, c) for rule, c in plain if rule.stage is Stage.STRUCTURE and not _optional(c)]
        strided = [(rule, c) for rule, c in plain if rule.stage is Stage.STRUCTURE and _optional(c)]
        last = [(rule, c) for rule, c in plain if rule.stage is not Stage.STRUCTURE]
        definitions = self._definitions([part for _, c in last for part in _parts(c)])
        branched = [d for d in definitions if any(isinstance(n, ir.Present) for n in _own(d.value))]
        common = [d for d in definitions if d not in branched]
        tests = [TestView(rule.id, self._failure(c, definitions)) for rule, c in last]
        for field in self._scalars():
            low, high = self.registry.types[field.type].range
            tests.append(TestView(self.integer_range, f"not {low} <= {snake(field.name)} <= {high}"))
        entry_checks = [(rule.id, c) for rule, c in looped]
        branches = [self._variant(entry_checks, strided, branched, given) for given in (False, True)]
        shared_definitions = [AssignmentView(snake(d.name), self._print(d.value)) for d in common]
        return SoundnessView(
            first=tuple(TestView(rule.id, self._failure(c, [])) for rule, c in first),
            packed=self._with_totals(branches[0]),
            strided=self._with_totals(branches[1]),
            shared=tuple(AssignmentView(local.name, self._raw(n)) for n, local in self.shared.items()),
            definitions=tuple(shared_definitions),
            defaulted=tuple(
                AssignmentView(snake(name), self._print(value))
                for name, value in self.registry.tensor.defaults.items()
                if not isinstance(value, ir.Number | ir.EnumValue)
            ),
            last=tuple(tests),
        )

    def _scalars(self) -> list[Member]:
        counts = {field.count for field in self.fields}
        return [f for f in self.fields if f.type in self.registry.types and not f.count and f.name not in counts]
