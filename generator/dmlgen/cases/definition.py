"""Evaluates definitions element by element, in plain numbers: slow, but simple enough to be evidently right.

It takes `registry.OutputDefinitions` as they are, so that no recognizer of forms, no printer and no array
library stands between a spec and its data. Integers are exact. Floats are computed in double precision, sums
by `math.fsum`; those that decide (`expr/precise_floats.py`) are rounded to single precision after every
operation, in the written order, and have no error. An intermediate tensor's entry is computed when it is
first read.

Every float has a bound on how far off an implementation may be (`elements.Number.error`). An operation
adds a unit in the last place of its result unless it is exact in the description's widest floating-point
type, functions add more (`elements.Arithmetic`), and errors of operands propagate. A sum of n terms adds n -
1 units of the sum of their magnitudes, which holds for any order, or nothing if it is exact in every order.
Rounding an output to its data type adds one more unit.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import reduce
from itertools import product
from operator import mul
from typing import TYPE_CHECKING, Any, TypeAlias

from dmlgen.cases.elements import (
    CONVERSION,
    EMPTY,
    LARGE,
    OUTSIDE,
    RANGE,
    UNSTABLE,
    Arithmetic,
    Number,
    cut,
    fits,
    limits,
    rounded,
)  # fmt: skip
from dmlgen.cases.moves import packed
from dmlgen.cases.results import DUPLICATES, EQUALS, Coordinate, Data, Element, Origin
from dmlgen.cases.validators import entries_of, members_of, tensors_of
from dmlgen.expr import ir
from dmlgen.expr.arithmetic import LIMIT, align, quotient, remainder, replaced, saturate
from dmlgen.expr.definition_queries import uses_at, walk_through
from dmlgen.expr.evaluate import Evaluator
from dmlgen.expr.precise_floats import parts
from dmlgen.registry import EnumEntry, Intermediate, OutputDefinitions, Registry

if TYPE_CHECKING:
    from dmlops import Description, TensorDesc

Locals: TypeAlias = dict[str, Any]  # parameters and loop variables, `at` and `index` among them
Value: TypeAlias = Callable[[Locals], Any]
Load: TypeAlias = Callable[[str, int | None, Coordinate], Number]  # of a tensor's element; see `ir.Load`
Stored: TypeAlias = tuple[str, int | None, Coordinate, Any]  # output, index in an array, coordinate, value

_HELD = "what an output held before"
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "//": quotient, "%": remainder,
}  # fmt: skip
_DIRECTION = ir.Type("enum", "AXIS_DIRECTION")
_READS_DATA = (ir.Load, ir.Entry)


class Computation:
    """The computation of an operator as a function of description and data: the part that definitions and
    algorithms share. `outputs` are the outputs that have values."""

    def __init__(self, registry: Registry, outputs: Collection[str], tensors: Iterable[Intermediate]) -> None:
        self._run = _Run(registry)
        self._program = _Program(self._run, tensors)
        self._outputs = outputs

    def elements(self, description: Description, inputs: Data) -> Iterator[Element]:
        """The output elements; if one occurs twice, the last value counts. What an output keeps from before
        is left out.

        The description is valid, and every tensor that is read has its data.
        """
        run, members = self._run, members_of(description)
        run.start(
            (tensor for _, tensor in tensors_of(description)),
            (tensor for name in self._outputs for _, tensor in entries_of(members[name])),
        )
        loaded: dict[tuple[str, int | None], tuple[TensorDesc, list[Number], int]] = {}
        origins: list[Origin] = []
        for name, data in inputs.items():
            for index, tensor in entries_of(members[name]):
                given: Any = data if index is None else data[index]
                numbers = [run.arithmetic.load(value, tensor.DataType) for value in given]
                loaded[name, index] = (tensor, numbers, len(origins))
                origins += ((name, index, place) for place in range(len(numbers)))

        def load(name: str, index: int | None, coordinate: Coordinate) -> Number:
            tensor, numbers, first = loaded[name, index]
            place: int = sum(map(mul, run.within(coordinate, tensor.Sizes), packed(tensor.Sizes)))
            run.origins |= 1 << first + place
            return numbers[place]

        self._program.start(members, load)
        run.forget()
        for name, index, at, value in self._values(members, load):
            tensor = members[name] if index is None else members[name][index]
            number = run.stored(value, tensor.DataType)
            if _HELD not in run.notes:
                place = sum(map(mul, at, packed(tensor.Sizes)))
                made_of = frozenset(origin for bit, origin in enumerate(origins) if run.origins >> bit & 1)
                yield Element(name, index, place, *number, frozenset(run.notes), made_of)
            run.forget()

    def _values(self, members: Mapping[str, Any], load: Load) -> Iterator[Stored]:
        raise NotImplementedError


class Definition(Computation):
    """The definitions of an operator's outputs."""

    def __init__(self, registry: Registry, defines: OutputDefinitions) -> None:
        super().__init__(registry, defines.outputs, defines.tensors)
        self._defined = {name: self._program.value(node, False) for name, node in defines.outputs.items()}

    def _values(self, members: Mapping[str, Any], load: Load) -> Iterator[Stored]:
        for name, value in self._defined.items():
            for index, tensor in entries_of(members[name]):
                self._run.target = tensor
                for at in product(*map(range, tensor.Sizes)):
                    yield name, index, at, value({"at": at, "index": index})


class _Run:
    """The state that all programs share while one description is computed.

    `notes` and `origins` (a bit for each input element) are those of the current value, `target` is the
    output tensor. `real` is the type in which floats are computed.
    """

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.arithmetic = Arithmetic(registry)
        self.notes = self.arithmetic.notes
        self.origins = 0
        self.types = self.arithmetic.types
        self.functions: Mapping[str, Callable[..., Any]] = {
            "abs": self.magnitude,
            **self.arithmetic.functions(),
        }
        self.evaluator = Evaluator(registry.bits, registry.signed)
        self.target: TensorDesc
        self.real: EnumEntry
        self.single = registry.data_type["FLOAT32"]

    def start(self, tensors: Iterable[TensorDesc], outputs: Iterable[TensorDesc]) -> None:
        """Sets the precision of floats: that of the most exact tensor, but double only for an output."""
        double = self.registry.data_type["FLOAT64"]
        found = {self.types[tensor.DataType] for tensor in tensors}
        floats = [type_ for type_ in found if type_.kind == "float"]
        self.real = max(floats, key=lambda type_: type_.significand, default=self.single)
        if self.real is double and not any(self.types[one.DataType] is double for one in outputs):
            self.real = self.single

    def forget(self) -> None:
        self.notes.clear()
        self.origins = 0

    def constant(self, value: float) -> Number:
        return Number(self.arithmetic, float(value), self.real)

    def held(self) -> Number:
        """An element that no data defines."""
        self.notes.add(_HELD)
        return self.constant(math.nan)

    def described(self, value: float) -> Number:
        """A FLOAT member of the description."""
        return self.constant(rounded(float(value), self.single))

    def float_of(self, x: Any, deciding: bool) -> Number:
        if isinstance(x, Number) and x.type is self.real:
            return x
        value = float(x.value if isinstance(x, Number) else x)
        error = x.error if isinstance(x, Number) else 0.0
        number = Number(self.arithmetic, value, self.real, error)
        if deciding:
            return self.decided(number)
        exact = rounded(value, self.real) == value or not math.isfinite(value)
        return number if exact else self.arithmetic.inexact(number)

    def decided(self, result: Number, *operands: Any) -> Number:
        """The result of one operation, correctly rounded; exact if the operands are."""
        exact = not any(isinstance(one, Number) and one.error for one in operands)
        value = rounded(result.value, max(result.type, self.single, key=lambda type_: type_.bits))
        return Number(self.arithmetic, value, result.type, 0.0 if exact else result.error)

    def quotient(self, x: Number, y: Number) -> Number:
        """A quotient; on a device, a division need not be exact, except by 1."""
        return x if x.is_float and y.value == 1 and not y.error else x / y

    def total(self, terms: list[Number], type_: EnumEntry) -> Number:
        """A sum in any order; a sum of integers wraps around."""
        if type_.kind != "float":
            return reduce(operator.add, terms, Number(self.arithmetic, 0, type_))
        self.arithmetic.look(*terms)
        values = [term.value for term in terms]
        if not all(map(math.isfinite, values)):
            return Number(self.arithmetic, sum(values), type_)
        error = math.fsum(term.error for term in terms)
        if not _exact_in_any_order(values, type_):
            error += (len(terms) - 1) * self.arithmetic.unit(math.fsum(map(abs, values)), type_)
        return Number(self.arithmetic, math.fsum(values), type_, error)

    def stored(self, value: Any, data_type: int) -> tuple[int | float, float]:
        """A value as an element of a tensor, and its error."""
        type_ = self.types[data_type]
        if isinstance(value, Number):
            return self.arithmetic.stored(value, data_type)
        if not fits(int(value), type_.bits, type_):
            self.notes.add(CONVERSION)
        return cut(int(value), type_.bits, type_), 0.0

    def converted(self, x: Any, type_: EnumEntry, tensor: Any) -> Any:
        """`convert`, as a number of the tensor's type."""
        if isinstance(x, Number) or type_.kind == "float":
            return self.functions["convert"](x, tensor)
        if not fits(int(x), type_.bits, type_):
            self.notes.add(CONVERSION)
        return Number(self.arithmetic, cut(int(x), type_.bits, type_), type_)

    def within_64_bits(self, value: Any) -> int:
        """An integer, which is exact as long as it has no more bits than targets support."""
        if abs(value) > LIMIT:
            self.notes.add(LARGE)
        return int(saturate(value))

    def magnitude(self, value: Any) -> Any:
        return self.within_64_bits(abs(value)) if isinstance(value, int) else abs(value)

    def integer(self, x: Number) -> int:
        """Truncated toward 0, within 64 bits; not every implementation has more than 32."""
        if not x.is_float:
            return self.within_64_bits(x.value)
        if not abs(x.value) < 2**31:
            self.notes.add(CONVERSION)
            return 0 if math.isnan(x.value) else int(max(min(x.value, 2**62), -(2**62)))
        if x.error and len({math.trunc(end) for end in x.interval}) > 1:
            self.notes.add(UNSTABLE)
        return int(x.value)

    def within(self, coordinate: Coordinate, sizes: Coordinate) -> Coordinate:
        """The coordinate of a read. If a definition reads out of bounds, its data is not used."""
        if all(0 <= c < size for c, size in zip(coordinate, sizes, strict=True)):
            return coordinate
        self.notes.add(OUTSIDE)
        return tuple(max(min(c, size - 1), 0) for c, size in zip(coordinate, sizes, strict=True))


def _exact_in_any_order(values: list[float], type_: EnumEntry) -> bool:
    """Whether no partial sum is rounded: all are multiples of one power of two, and small."""
    ratios = [value.as_integer_ratio() for value in values]
    denominator = max((below for _, below in ratios), default=1)
    whole = [above * (denominator // below) for above, below in ratios]
    common = math.gcd(*whole)
    step = common & -common or 1
    return sum(map(abs, whole)) <= step << type_.significand


class _Program:
    """The definitions of one operator as functions of locals.

    `members` and `load` are those of the current description; `_kept` has the entries of intermediate
    tensors, each with its notes and origins.
    """

    def __init__(self, run: _Run, tensors: Iterable[Intermediate]) -> None:
        self._run = run
        self._functions: dict[tuple[ir.Function, bool], Value] = {}
        self._memos: list[dict[Any, Any]] = []
        self._activations: dict[str, tuple[_Program, Value]] = {}
        self._members: Mapping[str, Any] = {}
        self._load: Load
        self._kept: dict[str, dict[Coordinate, tuple[Any, frozenset[str], int]]] = {}
        self._sizes: dict[str, Coordinate] = {}
        self._tensors: dict[str, tuple[Intermediate, Value, Value]] = {}
        for tensor in tensors:
            sizes, value = self.value(tensor.sizes, True), self.value(tensor.value, tensor.decides)
            self._tensors[tensor.name] = (tensor, sizes, value)

    def start(self, members: Mapping[str, Any], load: Load) -> None:
        """Switches to another description."""
        self._members, self._load = members, load
        self._kept = {name: {} for name in self._tensors}
        self._sizes.clear()
        for memo in self._memos:
            memo.clear()

    def value(self, node: ir.Expr, deciding: bool) -> Value:
        """An expression as a function of its locals; `deciding` says whether its floats do."""
        run = self._run
        match node:
            case ir.Number(value=number, type=ir.FLOAT):
                return self._once(lambda e: run.float_of(number, deciding))
            case ir.Number(value=number):
                return lambda e: number
            case ir.EnumValue(value=number) | ir.Constant(value=number):
                return lambda e: number
            case ir.Local(name=name):
                return lambda e: e[name]
            case ir.Definition(value=inner) if ir.varies(inner):  # of an algorithm
                return self.value(inner, deciding)
            case ir.Definition(value=inner):
                known = run.evaluator.function(inner)
                return self._once(lambda e: self._described(known(dict(self._members)), node.type))
            case ir.Member(name=name, type=type_):
                return self._once(lambda e: self._described(self._members[name], type_))
            case ir.Tensor(name=name, index=None):
                return lambda e: self._members[name]
            case ir.Tensor(name=name, index=index) if index is not None:
                place = self.value(index, True)
                return lambda e: self._members[name][place(e)]
            case ir.Tensors(name=name):
                return lambda e: self._members[name]
            case ir.Field(tensor=tensor, name=name):
                owner = self.value(tensor, True)
                empty: Any = () if node.type == ir.INTS else 0
                return lambda e: empty if (found := owner(e)) is None else getattr(found, name)
            case ir.Part(member=ir.Member(name=owner_name), name=name, type=type_):
                return lambda e: self._described(getattr(self._members[owner_name], name, 0), type_)
            case ir.Present(item=item):
                return self._present(item)
            case ir.Load():
                return self._read(node)
            case ir.Entry(tensor=name, coordinate=coordinate):
                where = self.value(coordinate, True)
                return lambda e: self._entry(name, where(e))
            case ir.Apply():
                return self._applied(node, deciding)
            case ir.Reduce():
                return self._listed(node) if node.kind == "list" else self._folded(node, deciding)
            case ir.Call():
                return self._called(node, deciding)
            case _:
                return self._combined(
                    node, [self.value(child, flag) for child, flag in parts(node, deciding)], deciding
                )

    def _combined(self, node: ir.Expr, of: list[Value], deciding: bool) -> Value:
        """An operation that only uses the values of its operands."""
        run = self._run
        match node:
            case ir.Index():
                sequence, index = of
                nothing: Any = run.constant if node.type == ir.FLOAT else int
                return lambda e: found[i] if 0 <= (i := index(e)) < len(found := sequence(e)) else nothing(0)
            case ir.Slice(lower=lower, upper=upper):
                sequence, *ends = of
                first = ends[0] if lower is not None else lambda e: 0
                last = ends[-1] if upper is not None else lambda e: 1 << 30
                return lambda e: sequence(e)[max(first(e), 0) : max(last(e), 0)]
            case ir.ListOf():
                return lambda e: tuple(item(e) for item in of)
            case ir.Negate() if node.type == ir.INT:
                return lambda e: run.within_64_bits(-of[0](e))
            case ir.Negate():
                return lambda e: -of[0](e)
            case ir.Not():
                return lambda e: not of[0](e)
            case ir.Logic(op="and"):
                return lambda e: all(operand(e) for operand in of)
            case ir.Logic(op="or"):
                return lambda e: any(operand(e) for operand in of)
            case ir.Compare(op=op):
                compare, (left, right) = ir.COMPARE[op], of
                return lambda e: compare(left(e), right(e))
            case ir.OneOf():
                item, *choices = of
                return lambda e: any(item(e) == choice(e) for choice in choices)
            case ir.Conditional():
                test, then, otherwise = of
                return lambda e: then(e) if test(e) else otherwise(e)
            case ir.Binary(op=op, type=type_):
                left, right = of
                compute = run.quotient if op == "/" else _ARITHMETIC[op]
                if type_ == ir.INT:
                    return lambda e: run.within_64_bits(compute(left(e), right(e)))
                if not deciding or type_ != ir.FLOAT:
                    return lambda e: compute(left(e), right(e))
                return lambda e: run.decided(compute(x := left(e), y := right(e)), x, y)
        raise TypeError(f"{type(node).__name__} has no value")

    def _once(self, value: Value) -> Value:
        """A value that is the same for every element of a description."""
        memo: dict[None, Any] = {}
        self._memos.append(memo)
        return lambda e: memo[None] if memo else memo.setdefault(None, value(e))

    def _described(self, value: Any, type_: ir.Type) -> Any:
        """A value from the description in the form that definitions use."""
        if type_ == ir.FLOAT:
            return self._run.described(value)
        if type_ == ir.FLOATS:
            return tuple(map(self._run.described, value or ()))
        if type_.kind == "element":
            return self._run.arithmetic.load(value, self._type_of(type_).value)
        return () if value is None and type_ == ir.INTS else value

    def _type_of(self, type_: ir.Type) -> EnumEntry:
        """The data type of elements, by the tensor or member that represents all those that have it."""
        found = self._members[ir.Tensor.of(type_.name or "").name]
        if isinstance(found, int):
            return self._run.types[found]
        return self._run.types[(found[0] if isinstance(found, tuple) else found).DataType]

    def _present(self, item: ir.Expr) -> Value:
        match item:
            case ir.Field(tensor=tensor, name=name):
                owner = self.value(tensor, True)
                return lambda e: owner(e) is not None and getattr(owner(e), name) is not None
            case ir.Member(name=name) | ir.Tensor(name=name):
                return lambda e: self._members[name] is not None
        raise TypeError(f"{type(item).__name__} is always there")

    def _read(self, node: ir.Load) -> Value:
        name, where, run = node.tensor.name, self.value(node.coordinate, True), self._run
        index = self.value(node.tensor.index, True) if node.tensor.index is not None else lambda e: None
        if node.type == ir.FLOAT:
            return lambda e: run.float_of(self._load(name, index(e), where(e)), False)
        if node.type == ir.INT:
            return lambda e: run.within_64_bits(self._load(name, index(e), where(e)).value)
        return lambda e: self._load(name, index(e), where(e))

    def _entry(self, name: str, coordinate: Coordinate) -> Any:
        """An entry of an intermediate tensor.

        Entries at earlier steps are computed first, one by one, so that a long recurrence needs no deep
        stack.
        """
        tensor, sizes, value = self._tensors[name]
        run, kept = self._run, self._kept[name]
        if name not in self._sizes:
            self._sizes[name] = sizes({})
        at = run.within(coordinate, self._sizes[name])
        if at not in kept:
            outer = frozenset(run.notes), run.origins
            for step in range(at[0]) if tensor.along else ():
                self._entry(name, (step, *at[1:]))
            run.forget()
            found = value({"at": at})
            kept[at] = (found, frozenset(run.notes), run.origins)
            run.forget()
            run.notes.update(outer[0])
            run.origins = outer[1]
        found, notes, origins = kept[at]
        run.notes.update(notes)
        run.origins |= origins
        return found

    def _applied(self, node: ir.Apply, deciding: bool) -> Value:
        """A use of a function. If it reads no data, it is computed once for the same arguments."""
        function = node.function
        arguments = [self.value(child, flag) for child, flag in list(parts(node, deciding))[:-1]]
        if (function, deciding) not in self._functions:
            body = self.value(function.body, deciding)
            self._functions[function, deciding] = self._memoized(function, body)
        called = self._functions[function, deciding]
        names = [parameter.name for parameter in function.parameters]

        def apply(e: Locals) -> Any:
            inner: Locals = {name: e[name] for name in ("at", "index") if name in e}
            for name, argument in zip(names, arguments, strict=True):
                inner[name] = argument(e)
            return called(inner)

        return apply

    def _memoized(self, function: ir.Function, body: Value) -> Value:
        reads = (
            isinstance(part, _READS_DATA)
            or (
                isinstance(part, ir.Call)
                and part.function in ("previous_contents", "concat", "apply_activation")
            )
            for part in walk_through(function.body)
        )
        if any(reads) or any(parameter.type not in (ir.INT, ir.INTS) for parameter in function.parameters):
            return body
        names = [parameter.name for parameter in function.parameters] + ["index"]
        names += ["at"] if uses_at(function.body) else []
        memo: dict[Any, Any] = {}
        self._memos.append(memo)

        def call(e: Locals) -> Any:
            key = tuple(e.get(name) for name in names)
            if key not in memo:
                before = len(self._run.notes)
                found = body(e)
                if len(self._run.notes) != before:
                    return found
                memo[key] = found
            return memo[key]

        return call

    def _listed(self, node: ir.Reduce) -> Value:
        name = node.loop.variable.name
        (lower, upper), body = self._bounds(node.loop), self.value(node.body, True)
        return lambda e: tuple(body({**e, name: index}) for index in range(lower(e), upper(e)))

    def _folded(self, node: ir.Reduce, deciding: bool) -> Value:
        """A reduction: `turns` yields the values of the loop variable and of the body."""
        *_, (_, decides) = parts(node, deciding)  # the body is the last one
        names = [each.variable.name for each in node.loops]
        bounds = [self._bounds(each) for each in node.loops]
        condition = None if node.condition is None else self.value(node.condition, True)
        body = self.value(node.body, decides)

        def spaces(e: Locals) -> Iterator[Iterable[Any]]:
            for first, last in bounds:
                begin, end = first(e), last(e)
                yield product(*map(range, begin, end)) if isinstance(end, tuple) else range(begin, end)

        def turns(e: Locals) -> Iterator[tuple[Any, Any]]:
            inner = dict(e)
            for values in product(*spaces(e)):
                inner.update(zip(names, values, strict=True))
                if condition is None or condition(inner):
                    yield values[-1], body(inner)

        if node.kind in ("any", "all"):
            quantify = any if node.kind == "any" else all
            return lambda e: quantify(value for _, value in turns(e))
        if node.kind in ("argmax", "argmin"):
            breaks_ties = _breaks_ties(node)
            return lambda e: self._chosen(node.kind, list(turns(e)), breaks_ties, lambda: bounds[0][0](e))
        unique = node.kind == "max" and node.type == ir.INT and naming_places(node.condition) is not None

        def fold(e: Locals) -> Any:
            values = [value for _, value in turns(e)]
            if unique and len(values) > 1:
                self._run.notes.add(DUPLICATES)
            return self._fold(node, values, decides)

        return fold

    def _bounds(self, loop: ir.Loop) -> tuple[Value, Value]:
        """The start of a loop, and its end."""
        last = self.value(loop.upper, True)
        if loop.variable.type == ir.INTS and loop.lower == ir.ZERO:
            return lambda e: (0,) * len(last(e)), last
        return self.value(loop.lower, True), last

    def _fold(self, node: ir.Reduce, values: list[Any], decides: bool) -> Any:
        run, kind = self._run, node.kind
        if node.type == ir.INT:
            nothing = {"sum": 0, "product": 1, "min": 2**63 - 1, "max": -(2**63)}[kind]
            combine = {"sum": sum, "product": math.prod, "min": min, "max": max}[kind]
            return run.within_64_bits(combine(values)) if values else nothing  # type: ignore[operator]
        type_ = run.real if node.type == ir.FLOAT else self._type_of(node.type)
        if kind == "sum":
            return run.total(values, type_)
        if kind == "product":
            one = Number(run.arithmetic, 1.0 if type_.kind == "float" else 1, type_)
            rounds = decides and node.type == ir.FLOAT
            return reduce(lambda x, y: run.decided(x * y, x, y) if rounds else x * y, values, one)
        limit = self._limit(type_, greatest=kind == "min")
        if not values:
            run.notes.add(EMPTY)
            return limit
        # Integers are computed in 32 bits or more, and can be outside the range of their type.
        return reduce(run.functions[kind], values if type_.kind == "float" else [limit, *values])

    def _limit(self, type_: EnumEntry, *, greatest: bool) -> Number:
        if type_.kind == "float":
            return Number(self._run.arithmetic, math.inf if greatest else -math.inf, type_)
        return Number(self._run.arithmetic, limits(type_.bits, type_)[greatest], type_)

    def _chosen(
        self, kind: str, turns: list[tuple[Any, Any]], breaks_ties: bool, nothing: Callable[[], Any]
    ) -> Any:
        """The position of the first greatest or least value, or of the first NaN; also for ties, if
        `breaks_ties`."""
        if not turns:
            self._run.notes.add(EMPTY)
            return nothing()
        better = operator.gt if kind == "argmax" else operator.lt
        best, chosen = turns[0]
        for place, value in turns[1:]:
            if not _is_nan(chosen) and (_is_nan(value) or better(value, chosen)):
                best, chosen = place, value
            elif value == chosen and not breaks_ties:
                self._run.notes.add(EQUALS)
        if isinstance(chosen, Number):
            self._run.arithmetic.look(chosen)
        return best

    def _called(self, node: ir.Call, deciding: bool) -> Value:
        run, name = self._run, node.function
        if name == "previous_contents":
            return lambda e: run.held()
        if name == "concat":
            return self._joined(node)
        if name == "apply_activation":
            return self._activated(node, deciding)
        of = [self.value(child, flag) for child, flag in parts(node, deciding)]
        if name in ("min_value", "max_value"):
            greatest = name == "max_value"

            def limit(e: Locals) -> Any:
                number = self._limit(run.types[of[0](e).DataType], greatest=greatest)
                return (
                    run.within_64_bits(number.value)
                    if node.type == ir.INT
                    else run.float_of(number, True)
                    if node.type == ir.FLOAT
                    else number
                )

            return limit
        if name in ("convert", "quantize"):
            return self._converted(node, *of)
        if name == "float":
            return lambda e: run.float_of(of[0](e), deciding)
        if name == "int":
            return lambda e: x if isinstance(x := of[0](e), int) else run.integer(x)
        if name == "element":
            return lambda e: run.arithmetic.converted(_plain(of[0](e)), self._type_of(node.type))
        if name == "clamp":
            return self._clamped(node, *of)
        if name == "normalize_index":
            return lambda e: self._wrapped(_plain(of[0](e)), of[1](e))
        if name in ("bits", "signed"):
            known: Any = {"bits": run.registry.bits.get, "signed": run.registry.signed.__contains__}[name]
            return lambda e: known(of[0](e)) or 0
        if name in _OF_LISTS:
            function = _OF_LISTS[name]
            return lambda e: function(*(argument(e) for argument in of))
        if name in ("scaled", "above", "below"):  # their last arguments are numbers from the description
            first, *rest = of
            return lambda e: run.functions[name](first(e), *(_plain(argument(e)) for argument in rest))
        called = run.functions[name]
        if not deciding or node.type != ir.FLOAT:
            return lambda e: called(*(argument(e) for argument in of))

        def decided(e: Locals) -> Number:
            arguments = [argument(e) for argument in of]
            return run.decided(called(*arguments), *arguments)

        return decided

    def _converted(self, node: ir.Call, value: Value, tensor: Value) -> Value:
        run = self._run

        def convert(e: Locals) -> Any:
            x, target = value(e), tensor(e)
            type_ = run.types[target.DataType]
            if node.function == "quantize" and type_.kind != "float":
                if not isinstance(x, Number):
                    x = Number(run.arithmetic, x, type_)
                found = run.functions["quantize"](x, target)
            else:
                found = run.converted(x, type_, target)
            if node.type == ir.INT:
                return int(found.value)
            return run.float_of(found, True) if node.type == ir.FLOAT else found

        return convert

    def _clamped(self, node: ir.Call, value: Value, low: Value, high: Value) -> Value:
        """No source defines what happens to an integer from the data that is out of range."""
        run, given = self._run, node.arguments[0]
        given = given.arguments[0] if isinstance(given, ir.Call) and given.function == "int" else given
        from_data = isinstance(given, ir.Load)
        least, most = run.functions["max"], run.functions["min"]

        def clamp(e: Locals) -> Any:
            x = value(e)
            found = least(most(x, high(e)), low(e))
            if from_data and found != x:
                run.notes.add(RANGE)
            return found

        return clamp

    def _wrapped(self, index: int, size: int) -> int:
        index = index + size if index < 0 else index
        if not 0 <= index < size:
            self._run.notes.add(RANGE)
        return max(min(index, size - 1), 0)

    def _joined(self, node: ir.Call) -> Value:
        tensors, axis = (self.value(argument, True) for argument in node.arguments)
        assert isinstance(node.arguments[0], ir.Tensors)
        name = node.arguments[0].name

        def joined(e: Locals) -> Number:
            d = axis(e)
            at = list(e["at"])
            for index, tensor in enumerate(tensors(e)):
                if at[d] < tensor.Sizes[d]:
                    return self._load(name, index, tuple(at))
                at[d] -= tensor.Sizes[d]
            raise ValueError("the inputs are shorter than the output")

        return joined

    def _activated(self, node: ir.Call, deciding: bool) -> Value:
        """The activation's own definition, whose input is the value at any coordinate."""
        x, activation, *numbers = (self.value(child, flag) for child, flag in parts(node, deciding))
        run = self._run

        def activated(e: Locals) -> Any:
            given = activation(e)
            nested: Description | None = given[numbers[0](e)] if numbers and given is not None else given
            if nested is None:
                return x(e)
            if nested.OPERATOR not in self._activations:
                defines = run.registry.operator[nested.OPERATOR].defines
                assert defines is not None
                program = _Program(run, defines.tensors)
                self._activations[nested.OPERATOR] = (
                    program,
                    program.value(defines.outputs["OutputTensor"], deciding),
                )
            program, value = self._activations[nested.OPERATOR]
            members = {**members_of(nested), "InputTensor": run.target, "OutputTensor": run.target}
            program.start(members, lambda name, index, at: x({**e, "at": at}))
            return value({"at": e["at"]})

        return activated


def naming_places(node: ir.Expr | None) -> str | None:
    """The tensor whose elements are positions in an output, if this is the condition that finds them."""
    match node:
        case ir.Compare(op="==", left=ir.Load(tensor=tensor), right=ir.Call(function="ravel_index")):
            return tensor.name
    return None


def _breaks_ties(node: ir.Reduce) -> bool:
    """Whether the description says from which end the first of equal elements is searched for."""
    return any(isinstance(part, ir.Member) and part.type == _DIRECTION for part in walk_through(node))


def _is_nan(x: Any) -> bool:
    return isinstance(x, Number) and math.isnan(x.value)


def _plain(x: Any) -> Any:
    return x.value if isinstance(x, Number) else x


def _inside(coordinate: Coordinate, sizes: Coordinate) -> bool:
    return all(0 <= c < size for c, size in zip(coordinate, sizes, strict=True))


def _flat(coordinate: Coordinate, sizes: Coordinate) -> int:
    return reduce(lambda number, pair: number * pair[1] + pair[0], zip(coordinate, sizes, strict=True), 0)


def _unflat(number: int, sizes: Coordinate) -> Coordinate:
    found: list[int] = []
    for size in reversed(sizes):
        number, rest = divmod(number, size)
        found.append(rest)
    return tuple(reversed(found))


_OF_LISTS: Mapping[str, Callable[..., Any]] = {
    "in_bounds": _inside, "ravel_index": _flat, "unravel_index": _unflat,
    "align": align, "replace": replaced, "len": len, "product": math.prod, "sum": sum,
}  # fmt: skip
