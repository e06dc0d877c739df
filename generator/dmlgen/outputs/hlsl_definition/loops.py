"""Loops in shaders of definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.expr.definition_queries import free_locals
from dmlgen.expr.printer import ATOM, COMPARISON, PRODUCT, SUM
from dmlgen.outputs.hlsl_definition.constants import is_constant, is_of_ranks
from dmlgen.outputs.hlsl_definition.functions import lists_in
from dmlgen.outputs.hlsl_definition.tensors import TensorPrinter
from dmlgen.outputs.hlsl_names import local
from dmlgen.outputs.statements import enclosed

_START = {
    "sum": "0",
    "product": "1",
    "any": "false",
    "all": "true",
    "min": "2147483647",
    "max": "-2147483647 - 1",
}
"""The values that reductions of truth values and of integers start from."""
_TURN = {
    "sum": "{0} += {1};",
    "product": "{0} *= {1};",
    "any": "{0} = {0} || {1};",
    "all": "{0} = {0} && {1};",
    "min": "{0} = Min({0}, {1});",
    "max": "{0} = Max({0}, {1});",
}


class LoopPrinter(TensorPrinter):
    """Prints loops, each as a separate function unless it is all that a function returns."""

    def running(self, node: ir.Reduce, term: ir.Expr) -> tuple[str, str, str, str]:
        """A fold as inline code: the type and the initial value of its result, its term, and the statement
        that adds the local `term` to the local `result`."""
        type_, decides = self.type_of(node), node.type == ir.BOOL
        return type_, self._start(node), self._in(term, decides, 0), self.turn(node, "result", "term")

    def turn(self, node: ir.Reduce, result: str, term: str) -> str:
        """The statement that adds a term to the result of a reduction."""
        if node.kind in ("min", "max"):
            self.use(node.kind.capitalize(), self.values(node))
        return _TURN[node.kind].format(result, term)

    def reduce(self, node: ir.Reduce) -> str:
        return self._lifted(node, node.kind.capitalize(), lambda: self._reduced(node))

    def _reduced(self, node: ir.Reduce) -> list[str]:
        return self._listed(node) if node.kind == "list" else self._looped(node)

    def _returned(self, node: ir.Expr) -> list[str]:
        if isinstance(node, ir.Reduce) and not is_constant(node):
            return self._reduced(node)
        return super()._returned(node)

    def _listed(self, node: ir.Reduce) -> list[str]:
        variable, loop = local(node.loop.variable.name), node.loop
        lower, upper = self._narrow(loop.lower, PRODUCT), self._narrow(loop.upper, SUM)
        shift = "" if lower == "0" else f" - {lower}"
        count, last = f"clamp({upper}{shift}, 0, {MAX_RANK})", f"min({upper}, {MAX_RANK})"
        if shift:
            last = f"min({upper}, {lower} + {MAX_RANK})"
        elif self.bounds.value(loop.upper)[1] <= MAX_RANK:
            count, last = upper if self.bounds.value(loop.upper)[0] >= 0 else f"max({upper}, 0)", upper
        before = self._lists
        lines = self._named(_same_in_all(lists_in(node.body), {node.loop.variable.name}))
        place = f"result.entries[{variable}{shift}]"
        turn = self._assigned(node.body, lambda one: f"{place} = {self._narrow(one)};")
        self._lists = before
        return [
            *lines,
            "List result = (List)0;",
            f"result.length = {count};",
            "[unroll]",
            f"for (int {variable} = {lower}; {variable} < {last}; {variable}++)",
            *enclosed(turn),
            "return result;",
        ]

    def _looped(self, node: ir.Reduce) -> list[str]:
        outer = self._locals
        loops = {each.variable.name for each in node.loops}
        self._locals = {name: bits for name, bits in outer.items() if name not in loops}
        chooses = node.kind in ("argmax", "argmin")
        before, condition = self._lists, node.condition
        in_body, in_test = lists_in(node.body), [] if condition is None else lists_in(condition)
        lines = [] if node.over_elements else self._named(_same_in_all((*in_test, *in_body), loops))
        twice = [one for one in in_body if one in in_test] if len(node.loops) == 1 else []
        each_turn = self._named(twice)
        if chooses:
            turn = self._choosing(node)
        else:
            turn = self._assigned(node.body, lambda one: self.turn(node, "result", self._term(node, one)))
        if condition is not None:
            turn = [*each_turn, f"if ({self.deciding(condition)})", *enclosed(turn)]
        self._locals, self._lists = outer, before
        bounds = lines
        for each in reversed(node.loops):
            turn = self._loop(each, bounds, enclosed(turn), not node.over_elements)
        precise = "precise " if self._single and node.type == ir.FLOAT and not chooses else ""
        start = self._start(node)
        return [
            *bounds,
            f"{precise}{self.type_of(node)} result = {start};",
            *self._best(node),
            *turn,
            "return result;",
        ]

    def _term(self, node: ir.Reduce, body: ir.Expr) -> str:
        """A value that an iteration adds to the result, multiplies it by, or compares it with."""
        if node.type == ir.BOOL:
            return self.deciding(body, COMPARISON)
        is_free = node.kind == "sum" and node.over_elements  # even if it decides
        single, type_ = self._single and not is_free, self.type_of(node)
        widens = self._is_wide(node) and body.type == ir.INT and node.kind in ("sum", "product")
        if widens or self.type_of(body) == type_:
            return self._in(body, single, 0)
        return f"({type_}){self._in(body, single, ATOM)}"

    def _loop(self, each: ir.Loop, bounds: list[str], turn: list[str], of_ranks: bool) -> list[str]:
        """A loop, after the bounds that precede all loops. A box is visited row by row, so that what is the
        same for a row need not be recomputed for each coordinate. Rows run along the last dimension, or, if
        the description allows it, along the last one with several coordinates, so that there are fewer."""
        name = local(each.variable.name)
        if each.variable.type == ir.INTS:
            last = self.deciding(each.upper)
            bounds.append(f"const List {name}Last = {last};")
            if each.lower == ir.ZERO:
                bounds.append(f"const List {name}First = ListOf(0, 0, {name}Last.length);")
            else:
                bounds.append(f"const List {name}First = {self.deciding(each.lower)};")
            is_known = each.lower == ir.ZERO and is_constant(each.upper)
            row = self.constants.row_of(each.upper) if is_known else None
            bounds.append(f"const int {name}Row = {row or f'RowOf({name}Last)'};")
            more, ends = f"more{name}", f"{name}First, {name}Last"
            never_empty = is_known and self.bounds.value(ir.Index(each.upper, ir.ZERO))[0] >= 1
            begins = "true" if never_empty else f"IsBox({ends})"
            in_row = f"{name}.entries[{name}Row]"
            return [
                f"List {name} = {name}First;",
                "[loop]",
                f"for (bool {more} = {begins}; {more}; {more} = AdvanceRow({name}, {ends}, {name}Row))",
                "{",
                f"    const int {name}End = RowEnd({name}Last, {name}Row);",
                "    [loop]",
                f"    for ({in_row} = {name}First.entries[{name}Row]; {in_row} < {name}End; {in_row}++)",
                *(f"    {line}" for line in turn),
                "}",
            ]
        first, last = self._narrow(each.lower), self._narrow(each.upper)
        # Where the number of turns is that of some dimensions, unrolling keeps entries of lists in registers.
        is_short = last.endswith("_BOUND") or (of_ranks and is_of_ranks(each.upper))
        way = "[unroll]" if each.lower == ir.ZERO and is_short else "[loop]"
        first, end = _named_bound(f"{name}First", first, bounds), _named_bound(f"{name}Last", last, bounds)
        return [way, f"for (int {name} = {first}; {name} < {end}; {name}++)", *turn]

    def _start(self, node: ir.Reduce) -> str:
        if node.type == ir.BOOL:
            return _START[node.kind]
        if node.kind in ("sum", "product"):
            return f"({self.type_of(node)}){_START[node.kind]}"
        if node.kind in ("argmax", "argmin"):
            first = node.loops[0]
            is_box = first.variable.type == ir.INTS
            return f"{local(first.variable.name)}First" if is_box else self._narrow(first.lower)
        end = "max_value" if node.kind == "min" else "min_value"
        match node.type.kind:
            case "element":
                assert node.type.name is not None
                return self._limit(end, node, ir.Tensor(node.type.name))
            case "float":
                return self._infinity(end)
        if self._is_wide(node):
            return "~((int64_t)1 << 63)" if node.kind == "min" else "(int64_t)1 << 63"
        return _START[node.kind]

    def _best(self, node: ir.Reduce) -> list[str]:
        if node.kind not in ("argmax", "argmin"):
            return []
        return [f"{self.type_of(node.body)} best = ({self.type_of(node.body)})0;", "bool found = false;"]

    def _choosing(self, node: ir.Reduce) -> list[str]:
        type_, variable = self.type_of(node.body), local(node.loops[0].variable.name)
        self.use("Less", self.values(node.body))
        self.use("IsNan", self.values(node.body))
        test = "Less(best, value)" if node.kind == "argmax" else "Less(value, best)"
        return [
            f"const {type_} value = {self.deciding(node.body)};",
            f"if (!found || (!IsNan(best) && (IsNan(value) || {test})))",
            "{",
            "    best = value;",
            f"    result = {variable};",
            "}",
            "found = true;",
        ]


def _named_bound(name: str, bound: str, bounds: list[str]) -> str:
    """A bound of a loop, as a variable among `bounds` unless it is at hand."""
    if bound.isidentifier() or bound.isdigit():
        return bound
    bounds.append(f"const int {name} = {bound};")
    return name


def _same_in_all(lists: Iterable[ir.Expr], variables: set[str]) -> Iterator[ir.Expr]:
    """Those that do not use any of the variables."""
    return (one for one in lists if variables.isdisjoint(free_locals(one)))
