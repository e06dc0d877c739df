"""Planner inputs of definitions, in Python: a module for every operator that has one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import free_locals
from dmlgen.expr.host_expressions import inlined
from dmlgen.expr.printer import ATOM, COMPARISON
from dmlgen.names import python_variable, snake
from dmlgen.outputs.decisions import Decision, Values, by_record
from dmlgen.outputs.hlsl_definition import DefinitionShader
from dmlgen.outputs.hlsl_definition.names import free, word
from dmlgen.outputs.hlsl_definition.static import Static, static_of
from dmlgen.outputs.python_printer import DescPrinter, PythonPrinter
from dmlgen.outputs.python_rules import Assignments, constants_of
from dmlgen.plans.model import BOOL, ListOf, Plans, Record, Type
from dmlgen.registry import Operator, Registry, Stage

_OWN = {"absent", "bits", "desc", "enums", "f", "given", "index", "limited", "nothing", "pair", "tensors"}
"""Names in a module besides those of functions and of computed values."""
_VARIABLES = ("d", "i", "j", "k", "l", "m")
"""Of loops, outermost first."""
_THEN, _OTHERWISE = "/then", "/otherwise"
"""In paths of values that are computed only where a test holds, or only where it does not."""


@dataclass(frozen=True)
class TensorView:
    """A tensor for planners: its stand-in if it is absent, and its description.

    If it `is_numbered`, the first depends on the current output in an array of outputs.
    """

    number: int
    absent: str
    given: str
    is_numbered: bool


@dataclass(frozen=True)
class DefinitionView:
    """The module of an operator: what is the same for all descriptions, and what depends on one."""

    imports: Mapping[str, Sequence[str]]  # records, by the planners' module that defines them
    static: Static
    tensors: tuple[TensorView, ...]
    constants: Assignments
    assignments: Assignments
    fields: tuple[str, ...]  # fields of the planners' `Definition`
    absent: Assignments  # constants for records of forms that the shader does not have
    each: str


def definition_view(
    registry: Registry, operator: Operator, shader: DefinitionShader, plans: Plans
) -> DefinitionView:
    """The content of the module."""
    defines = operator.defines
    assert defines is not None
    sizes = {tensor.name: tensor.sizes for tensor in defines.tensors}
    kept = {f"kept.{one.name}": inlined(sizes[one.member]) for one in shader.kept}
    nodes: dict[str, ir.Expr] = {}
    for one in (*shader.known_lists, *shader.known_elements, *shader.known_scalars, *shader.bounds):
        assert one.node is not None
        nodes[f"known.{one.name}"] = one.node
    nodes = {name: inlined(node) for name, node in nodes.items()}
    operands = {f"op.{path}": inlined(node) for path, node in shader.operands.items()}
    branches: dict[str, ir.Expr] = {}
    for path, values in by_record(operands).items():
        _settle(path, values, nodes, branches)
    printer = InputPrinter(registry, operator, nodes, kept | branches)
    texts = printer.texts
    general = _general(operator, shader, nodes, texts, list(kept))
    absent: dict[str, str] = {}
    records = {"Definition", "DefinitionShader"}
    fields = [
        general.get(field.name) or _form(field.type, f"op.{field.name}", texts, absent, records)
        for field in plans.record("Definition").fields
    ]
    static = static_of(shader, plans)
    records |= {one.record for one in static.forms if one.entries}
    records |= {"Pass", "Intermediate"} if static.kept else {"Pass"}
    eaches = {one.each for one in shader.passes if one.each}
    assert len(eaches) <= 1, f"{operator.name} has several arrays of tensors that take dispatches"
    imports: dict[str, list[str]] = {}
    for record in sorted(records):
        imports.setdefault(plans.home(record), []).append(record)
    return DefinitionView(
        imports=dict(sorted(imports.items())),
        static=static,
        tensors=tuple(_tensors(operator, shader)),
        constants=constants_of(printer),
        assignments=tuple(printer.assignments),
        fields=tuple(fields),
        absent=tuple(absent.items()),
        each=next(iter(eaches), ""),
    )


def _general(
    operator: Operator,
    shader: DefinitionShader,
    nodes: Mapping[str, ir.Expr],
    texts: Mapping[str, str],
    kept: Sequence[str],
) -> dict[str, str]:
    """The fields that every definition has, without those of forms."""
    sizes = [f"limited({texts[name]}) if wanted >> {number} & 1 else ()" for number, name in enumerate(kept)]
    known = {name.removeprefix("known."): text for name, text in texts.items()}

    def counted(names: Iterable[str]) -> str:
        """Numbers that shaders take: any integer of a BOOL as 0 or 1."""
        return _listed(
            f"1 if {known[name]} else 0" if nodes[f"known.{name}"].type == ir.BOOL else known[name]
            for name in names
        )

    return {
        "is_double": " or ".join(_double(operator, one.name) for one in operator.outputs),
        "tensors": "tensors",
        "kept_sizes": f"KeptSizes(tensors, SHADER, lambda wanted: {_listed(sizes)})" if sizes else "[]",
        "lists": _listed(_list(known[one.name], one.kind) for one in shader.known_lists),
        "elements": _listed(f"*pair({known[one.name]})" for one in shader.known_elements),
        "numbers": counted(one.name for one in shader.known_scalars),
        "bounds": counted(one.name for one in shader.bounds),
        "activations": f"activations(desc.{shader.fused}, SHADER.activations)" if shader.fused else "[]",
    }


def _listed(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def _list(text: str, kind: str) -> str:
    return f"limited([bits(entry) for entry in {text}])" if kind == "floats" else f"limited({text})"


def _settle(
    path: str, values: Values | Decision, always: dict[str, ir.Expr], branches: dict[str, ir.Expr]
) -> None:
    """Adds the values of a record to those that are always computed. If they are decided as a whole, adds the
    test to these, with a question mark, and the values on either side to `branches`."""
    if not isinstance(values, Decision):
        always |= {f"{path}.{name.rpartition('.')[2]}": node for name, node in values.items()}
        return
    always[f"{path}?"] = values.test
    _settle(f"{path}{_THEN}", values.then, branches, branches)
    _settle(f"{path}{_OTHERWISE}", values.otherwise, branches, branches)


def _form(type_: Type, path: str, texts: Mapping[str, str], absent: dict[str, str], records: set[str]) -> str:
    """The values under a path: a record with the values of its fields, or nothing."""
    if not isinstance(type_, Record):
        return texts.get(path, "()" if isinstance(type_, ListOf) else "False" if type_ == BOOL else "0")
    records.add(type_.name)
    if f"{path}?" in texts:
        then, otherwise = (
            _form(type_, f"{path}{branch}", texts, absent, records) for branch in (_THEN, _OTHERWISE)
        )
        return f"({then}) if {texts[f'{path}?']} else {otherwise}"
    if not any(known.startswith(f"{path}.") for known in texts):
        constant = f"NO_{snake(type_.name).upper()}"
        absent[constant] = f"nothing({type_.name})"
        return constant
    fields = (_form(one.type, f"{path}.{one.name}", texts, absent, records) for one in type_.fields)
    return f"{type_.name}({', '.join(fields)})"


def _double(operator: Operator, name: str) -> str:
    """Whether an output has double precision."""
    member = operator.member[name]
    test = f"desc.{name}.DataType == DOUBLE"
    if member.count is not None:
        return f"any(one.DataType == DOUBLE for one in desc.{name})"
    return f"(desc.{name} is not None and {test})" if member.optional else test


def _tensors(operator: Operator, shader: DefinitionShader) -> Iterator[TensorView]:
    for place, one in enumerate(shader.tensors):
        name, _, entry = one.member.partition("[")
        entry = entry.rstrip("]") or "index"
        is_one = operator.member[name].count is None
        values = {"as_bits": one.member in shader.moves, "is_held": one.member in shader.held}
        given = [] if is_one else [f"entry={entry}"]
        given += [f"{flag}=True" for flag, is_set in values.items() if is_set]
        arguments = (f'"{operator.name}"', f'"{name}"', f'"{one.macro}"', *given)
        yield TensorView(
            place,
            f"absent({', '.join(arguments)})",
            f"desc.{name}" if is_one else f"given(desc.{name}, {entry})",
            not is_one and entry == "index",
        )


class InputPrinter(DescPrinter, PythonPrinter):
    """Prints expressions over a description whose optional tensors may be absent: `texts`, by name.

    Common subexpressions that at least one of them always needs are computed once, in the order of
    `assignments`, and so are sizes. Of `doubtful` expressions, possibly none is needed.
    """

    def __init__(
        self,
        registry: Registry,
        operator: Operator,
        nodes: Mapping[str, ir.Expr],
        doubtful: Mapping[str, ir.Expr],
    ) -> None:
        super().__init__(registry, operator, Stage.VALUES)
        self.assignments: list[tuple[str, str]] = []
        self._names: dict[ir.Expr, str] = {}
        certain = {name: _plain(node) for name, node in nodes.items()}
        whole = certain | {name: _plain(node) for name, node in doubtful.items()}
        shared = _shared(certain.values(), whole.values())
        taken = {*_OWN, *_VARIABLES, "inputs", "tensor_of", "wanted"}
        for node in whole.values():
            for part in _innermost_first(node):
                if part in shared and part not in self._names:
                    name = free(python_variable(word(part)), taken)
                    taken.add(name)
                    text = self.print(part)
                    self._names[part] = name
                    self.assignments.append((name, text))
        self.texts = {name: self.print(node) for name, node in whole.items()}

    def exact(self, node: ir.Expr, outer: int = 0) -> str:
        return self._names.get(node) or super().exact(node, outer)

    def real(self, text: str) -> str:
        return f"bits({text})"

    def field(self, node: ir.Field) -> str:
        assert self.operator is not None
        text = self.tensor(node.tensor)
        if node.name == "DimensionCount":
            return f"len({self.print(ir.Field(node.tensor, 'Sizes', ir.INTS))})"
        if node.name == "Sizes" and self.operator.member[node.tensor.name].optional:
            return f"sizes_of({text})"
        return f"{text}.{node.name}"

    def compare(self, node: ir.Compare) -> tuple[str, int]:
        if isinstance(node.left, ir.Number) and not isinstance(node.right, ir.Number):
            return super().compare(ir.Compare(ir.FLIPPED[node.op], node.right, node.left))
        return super().compare(node)

    def reduce(self, node: ir.Reduce) -> str:
        match node:
            case ir.Reduce(
                kind="any",
                loop=ir.Loop(variable=variable, lower=ir.Number(value=0), upper=upper, condition=None),
                body=ir.Compare(op="==", left=ir.Index(sequence=sequence, index=index), right=item),
            ) if index == variable and upper == ir.Call("len", (sequence,), ir.INT):
                return f"({self.print(item, COMPARISON + 1)} in {self.print(sequence, ATOM)})"
        return super().reduce(node)

    def present(self, node: ir.Present) -> str:
        return f"{self._described(node.item)} is not None"

    def not_(self, operand: ir.Expr) -> str:
        if isinstance(operand, ir.Present):
            return f"{self._described(operand.item)} is None"
        return super().not_(operand)

    def _described(self, item: ir.Expr) -> str:
        return f"desc.{item.name}" if isinstance(item, ir.Member) else self.print(item, ATOM)

    def _exceeds(self, node: ir.Expr) -> bool:
        return False


def _plain(node: ir.Expr, depth: int = 0) -> ir.Expr:
    """An expression with names of definitions replaced by their values.

    Equal loops get the same loop variables, so that common subexpressions are equal.
    """
    match node:
        case ir.Definition(value=value):
            return _plain(value, depth)
        case ir.Reduce(loop=loop):
            variable = ir.Local(_VARIABLES[depth], loop.variable.type)
            renamed: dict[ir.Expr, ir.Expr] = {loop.variable: variable}
            condition = None
            if loop.condition is not None:
                condition = _plain(ir.substitute(loop.condition, renamed), depth + 1)
            bounds = _plain(loop.lower, depth), _plain(loop.upper, depth)
            body = _plain(ir.substitute(node.body, renamed), depth + 1)
            return ir.Reduce(node.kind, ir.Loop(variable, *bounds, condition), body, node.type)
    inner = ir.outermost(node, ir.Definition, ir.Reduce)
    return ir.substitute(node, {part: _plain(part, depth) for part in inner})


def _innermost_first(node: ir.Expr) -> Iterator[ir.Expr]:
    for part in _parts(node):
        yield from _innermost_first(part)
    yield node


def _shared(needed: Iterable[ir.Expr], whole: Iterable[ir.Expr]) -> set[ir.Expr]:
    """The common subexpressions that are worth a variable.

    They must be always evaluated by an expression that is `needed`, or available anyway: sizes of tensors,
    whether present or not.
    """
    counts: Counter[ir.Expr] = Counter()
    certain: set[ir.Expr] = set()
    waiting = list(whole)
    while waiting:
        node = waiting.pop()
        counts[node] += 1
        if counts[node] == 1:
            waiting += _parts(node)
            if isinstance(node, ir.Field) and node.tensor.index is None:
                certain.add(node)
    waiting = list(needed)
    while waiting:
        node = waiting.pop()
        if node not in certain:
            certain.add(node)
            waiting += _first(node)
    return {
        node
        for node in certain
        if counts[node] > 1 and _is_worth_it(node) and free_locals(node).keys() <= {"index"}
    }


def _parts(node: ir.Expr) -> list[ir.Expr]:
    """The parts that are printed for an expression: a dimension count is the length of sizes."""
    if isinstance(node, ir.Field) and node.name == "DimensionCount":
        return [ir.Field(node.tensor, "Sizes", ir.INTS)]
    return ir.children(node)


def _first(node: ir.Expr) -> list[ir.Expr]:
    """The parts of an expression that are always evaluated."""
    match node:
        case ir.Conditional(test=test):
            return [test]
        case ir.Logic(operands=(first, *_)):
            return [first]
        case ir.Reduce(loop=loop):
            return [loop.lower, loop.upper]
    return _parts(node)


def _is_worth_it(node: ir.Expr) -> bool:
    match node:
        case (
            ir.Number()
            | ir.EnumValue()
            | ir.Constant()
            | ir.Local()
            | ir.Tensor()
            | ir.Tensors()
            | ir.Member()
        ):
            return False
        case ir.Present():
            return False
        case ir.ListOf(items=items):
            return not all(isinstance(item, ir.Number) for item in items)
    return True
