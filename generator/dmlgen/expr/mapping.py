"""The language of counterparts: a description's member, given a node of another interface.

It is a subset of Python's expressions, like the rule language, but untyped: attributes of ONNX can be
strings, and constants are read from inputs. It is parsed and checked here, and evaluated for the nodes of a
model by `dmlops.counterparts.evaluate`. Loops run only over ranges and arrays, so every expression
terminates.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from dmlgen.diagnostics import Position, SpecError, fault, nearest
from dmlgen.expr.parse import MAX_DEPTH, syntax

FIELDS = ("Sizes", "DataType", "DimensionCount")

VIEWS: Mapping[str, tuple[int, str]] = {
    "reshape": (2, "the same elements in other sizes"),
    "deep": (2, "with leading sizes of 1 up to that rank"),
    "wide": (2, "with trailing sizes of 1 up to that rank"),
    "channels": (3, "an array along one axis of that rank; a single element in sizes of 1"),
    "expand": (2, "broadcast to those sizes, with strides of 0, aligned at the last dimension"),
    "permute": (2, "its dimensions in another order"),
    "retyped": (2, "the same bits as another data type of the same width"),
    "nibbles": (1, "its bytes as twice as many UINT4, low bits first"),
    "filled": (3, "a new tensor filled with a value; data type; sizes"),
    "table": (3, "a new tensor of the numbers in an array; data type; sizes"),
}
"""Functions whose value is a tensor: the number of arguments, and the meaning."""

FUNCTIONS: Mapping[str, tuple[int | None, str]] = {
    "present": (1, "whether an optional input, output or attribute is given"),
    "known": (1, "whether the values of an input are known before it runs"),
    "truth": (1, "whether a tensor is boolean, which is UINT8 in DirectML"),
    "scalar": (1, "whether a tensor has no dimensions; descriptions give it one of size 1"),
    "shape": (1, "the sizes of a tensor as its interface has them: none if it is a scalar"),
    "values": (1, "the numbers in an input, which must be a constant, as an array"),
    "value": (1, "the single number in an input, which must be a constant"),
    "axis": (2, "a dimension's index, with negative ones counted from that rank"),
    "len": (1, "the number of entries"),
    "range": (None, "integers as in Python"),
    "sum": (1, "the sum of all"),
    "product": (1, "the product of all; 1 if there are none"),
    "min": (None, "the smallest"),
    "max": (None, "the largest"),
    "all": (1, "whether all are true"),
    "any": (1, "whether any is true"),
    "abs": (1, "magnitude"),
    "float": (1, "as a floating-point number"),
    "int": (1, "truncated toward 0"),
    "ceil": (1, "rounded up"),
    "sorted": (1, "in ascending order"),
    "broadcast": (2, "the sizes to which two arrays of sizes broadcast"),
    "sqrt": (1, "square root"),
    "min_value": (1, "the least number of a data type"),
    "max_value": (1, "the greatest number of a data type"),
    "bits": (1, "bits of a data type"),
    "is_float": (1, "whether a data type has fractions"),
    "data_type": (1, "the data type with this number in ONNX"),
    "activations": (4, "fused activations by their ONNX names, with alphas and betas; their number"),
    "einsum": (2, "dimensions of an Einsum's operands or output, by its equation: `left`, `right`, ..."),
    "clipped": (
        3,
        "the `low` index, `extent` or `count` of a slice [start, end, step] of so many entries",
    ),
}
"""All other functions: the number of arguments (None: any), and the meaning."""

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.USub, ast.Not, ast.And, ast.Or)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_PLAIN = (ast.Load, ast.IfExp, ast.List, ast.Tuple, ast.Dict, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare)


@dataclass(frozen=True)
class Names:
    """The names an expression can use.

    These are `tensors`, other `values` (with their text if a `let` defines them), and enumerators, which are
    strings.
    """

    tensors: Collection[str]
    values: Mapping[str, ast.expr | None]
    enumerators: Collection[str]


def parse(text: str, names: Names, at: Callable[[int], Position], tensor: bool = False) -> ast.expr:
    """The checked expression, with enumerators quoted; `tensor`: its value must be a tensor.

    `at` gives the position of a character of the text. Raises SpecError on any error.
    """
    tree = _Checker(names, at).visit(syntax(text, at))
    assert isinstance(tree, ast.expr)
    if tensor:
        for result in results(tree, names):
            if not _is_tensor(result, names):
                message = f"{ast.unparse(result)} is not a tensor"
                raise fault(at(result.col_offset), "expression-type", message)
    return tree


def results(node: ast.expr, names: Names) -> Iterator[ast.expr]:
    """The expressions that can be the result of an expression: branches, table entries, a `let`'s value."""
    match node:
        case ast.IfExp(body=body, orelse=otherwise):
            yield from results(body, names)
            yield from results(otherwise, names)
        case ast.Subscript(value=ast.Dict(values=values)):
            for value in values:
                yield from results(value, names)
        case ast.Name(id=name) if (defined := names.values.get(name)) is not None:
            yield from results(defined, names)
        case _:
            yield node


def _is_tensor(node: ast.expr, names: Names) -> bool:
    match node:
        case ast.Name(id=name):
            return name in names.tensors
        case ast.Call(func=ast.Name(id=name)):
            return name in VIEWS
        case ast.ListComp(elt=item):
            return all(_is_tensor(one, names) for one in results(item, names))
        case ast.List(elts=items):
            return all(_is_tensor(one, names) for item in items for one in results(item, names))
        case ast.Constant(value=None) | ast.Subscript(value=ast.Name()):
            return True  # absent; one of several
        case _:
            return False


class _Checker(ast.NodeTransformer):
    """Rejects what has no meaning, and quotes enumerators."""

    def __init__(self, names: Names, at: Callable[[int], Position]) -> None:
        self.names = names
        self.at = at
        self.loops: list[str] = []
        self.depth = 0

    def fail(self, node: ast.AST, code: str, message: str, suggestion: str | None = None) -> SpecError:
        where = self.at(getattr(node, "col_offset", 0))
        return fault(where, code, message, suggestion)

    def visit(self, node: ast.AST) -> ast.AST:
        self.depth += 1
        if self.depth > 2 * MAX_DEPTH:
            raise self.fail(node, "expression-size", "nested too deep")
        result: ast.AST = super().visit(node)
        self.depth -= 1
        return result

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, (*_PLAIN, *_OPERATORS, *_COMPARISONS)):
            what = type(node).__name__
            raise self.fail(node, "expression-form", f"{what} has no meaning in a counterpart's expressions")
        return super().generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, int | float | str | None):
            raise self.fail(node, "expression-form", f"{node.value!r} has no meaning here")
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if name in self.names.tensors or name in self.names.values or name in self.loops:
            return node
        if name in self.names.enumerators:
            return ast.copy_location(ast.Constant(name), node)
        known = [*self.names.tensors, *self.names.values, *self.loops, *self.names.enumerators]
        message = f"{name!r} is not an input, output, attribute, definition or enumerator here"
        raise self.fail(node, "unknown-name", message, nearest(name, known))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr not in FIELDS:
            message = f"a tensor of a node has no field {node.attr!r}"
            raise self.fail(node, "unknown-name", message, nearest(node.attr, FIELDS))
        if not _is_tensor(node.value, self.names) and not isinstance(node.value, ast.Name):
            raise self.fail(node, "expression-type", f"{ast.unparse(node.value)} is not a tensor")
        node.value = self.visit(node.value)  # type: ignore[assignment]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.visit(node.value)  # type: ignore[assignment]
        if isinstance(node.slice, ast.Slice):
            for name in ("lower", "upper", "step"):
                bound = getattr(node.slice, name)
                if bound is not None:
                    setattr(node.slice, name, self.visit(bound))
        else:
            node.slice = self.visit(node.slice)  # type: ignore[assignment]
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        known = {**FUNCTIONS, **VIEWS}
        if not isinstance(node.func, ast.Name) or node.func.id not in known:
            name = ast.unparse(node.func)
            raise self.fail(node, "unknown-name", f"there is no function {name}", nearest(name, known))
        count, _ = known[node.func.id]
        if node.keywords or (count is not None and len(node.args) != count):
            raise self.fail(node, "expression-form", f"{node.func.id} takes {count} arguments")
        node.args = [self.visit(argument) for argument in node.args]  # type: ignore[misc]
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self.loop(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self.loop(node)

    def loop(self, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
        """A comprehension over one range or array."""
        if len(node.generators) != 1 or not isinstance(node.generators[0].target, ast.Name):
            raise self.fail(node, "expression-form", "a loop has one variable")
        (each,) = node.generators
        assert isinstance(each.target, ast.Name)
        each.iter = self.visit(each.iter)  # type: ignore[assignment]
        self.loops.append(each.target.id)
        node.elt = self.visit(node.elt)  # type: ignore[assignment]
        each.ifs = [self.visit(condition) for condition in each.ifs]  # type: ignore[misc]
        self.loops.pop()
        return node
