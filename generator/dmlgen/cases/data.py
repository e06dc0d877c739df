"""Data for descriptions: input elements worth testing, and the operator's results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import mul
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from dmlgen.cases.algorithms import Algorithm
from dmlgen.cases.changes import State
from dmlgen.cases.definition import Definition, naming_places
from dmlgen.cases.elements import EMPTY, INFINITY, NAN, NEVER, limits
from dmlgen.cases.moves import packed
from dmlgen.cases.results import ALWAYS, Data, Element, Elements, Origin
from dmlgen.cases.samples import MAX_ELEMENTS
from dmlgen.cases.validators import entries_of, tensors_of
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import walk_through
from dmlgen.registry import EnumEntry, Operator, Registry

if TYPE_CHECKING:
    from dmlops import TensorDesc

MOST_ELEMENTS = 4 * MAX_ELEMENTS  # most elements of a tensor with data
_MOST_OF_MANY = 8 * MAX_ELEMENTS  # the same if elements depend on many others
_PLAIN = 10  # cases with data, as a rule
_MOST = 14  # the same if enumerations have many values
_EDGES = 2  # cases beside these, with data that sources leave open
_NEEDED = 10  # the score that data must reach, if any case can
_ROUNDS = 60  # of drawing elements again where a result rests on a choice
_ROUNDS_OF_MANY = 20  # the same if it rests on many elements
_LOOSE = 0.1  # an error so large that a result shows little
_SHARE, _SHARE_OF_EDGES = 0.12, 0.5  # of striking elements, normally and where wanted

Pool = Mapping[str, Sequence[int | float]]  # numbers to draw from, by kind of data type
_MIXED: Pool = {
    "float": (0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.0, 2.5, -2.5, 3.0, -3.25, 4.0, -5.0, 6.75, 0.125),
    "signed": tuple(range(-7, 8)),
    "unsigned": tuple(range(12)),
}
_SMALL: Pool = {"float": (0.25, 0.5, -0.5, 1.0, 2.0), "signed": (-1, 1, 2, 3), "unsigned": (1, 2, 3)}
_LEAST: Pool = {"float": (0.5, 1.0), "signed": (1,), "unsigned": (1,)}
_INTEGERS = ("signed", "unsigned")
_PLAIN_POOLS: Sequence[tuple[Pool, Sequence[str]]] = (
    (_MIXED, ("float", *_INTEGERS)),  # with striking elements of these kinds
    (_MIXED, _INTEGERS),
    (_MIXED, ()),
    (_SMALL, ()),
    (_LEAST, ()),
)
_SPECIAL = (math.nan, math.inf, -math.inf)


class Tolerance(NamedTuple):
    """The greatest difference from the expected element: `absolute` + `relative` * its magnitude."""

    absolute: float
    relative: float


@dataclass(frozen=True)
class Shown:
    """Data of a case; a tensor without a tolerance is exact. `choices` are those that no source defines."""

    inputs: Data
    outputs: Data
    tolerance: Mapping[str, Tolerance]
    choices: tuple[str, ...]


def computation_of(registry: Registry, operator: Operator) -> Algorithm | Definition:
    """The results of an operator, as a function of description and data."""
    if operator.defines is not None:
        return Definition(registry, operator.defines)
    assert operator.algorithm is not None
    return Algorithm(registry, operator.algorithm)


def _wholes(operator: Operator) -> Iterable[ir.Expr]:
    """Everything that an operator computes with."""
    if operator.defines is not None:
        return operator.defines.whole
    return ()


def is_light(operator: Operator) -> bool:
    """Whether each element depends on a few others, without a loop, so that there can be more of them."""
    parts = (part for whole in _wholes(operator) for part in walk_through(whole))
    return not any(map(ir.is_fold, parts))


class DataSearch:
    """Finds data for descriptions of an operator with a definition or an algorithm."""

    def __init__(self, registry: Registry, operator: Operator) -> None:
        self.operator, self.registry = operator, registry
        self.computation = computation_of(registry, operator)
        self._is_light = is_light(self.operator)
        self._types = {entry.value: entry for entry in self.registry.data_types}
        nodes = [node for whole in _wholes(self.operator) for node in ir.walk(whole)]
        self._indices = {
            node.arguments[0].tensor.name
            for node in nodes
            if isinstance(node, ir.Call)
            and node.function == "normalize_index"
            and isinstance(node.arguments[0], ir.Load)
        }
        self._rounds = _ROUNDS if self._is_light else _ROUNDS_OF_MANY
        self._places = {naming_places(node) for node in nodes} - {None}
        """The tensors whose elements are places in the output."""

    def shown(self, states: Mapping[str, State]) -> dict[str, Shown]:
        """Data for some of the states, by name, covering many types, layouts and values of members."""
        most = MOST_ELEMENTS if self._is_light else _MOST_OF_MANY
        small = {name: state for name, state in states.items() if is_small(state, most)}
        chosen = self._spread(small, [name for name, state in small.items() if self._is_defined(name, state)])
        rest = [name for name in small if name not in chosen] or list(small)
        edges: dict[str, str] = {}
        for name in rest:
            first = next((tensor for _, tensor in self._tensors(small[name])), None)
            if first is not None:
                kind = "float" if self._types[first.DataType].kind == "float" else "integer"
                edges.setdefault(kind, name)
        found: dict[str, Shown | None] = {}
        for name in (*chosen, *list(edges.values())[:_EDGES]):
            random = Random(f"{self.operator.name}/{name}")
            plain = self._plain(small[name], random) if name in chosen else None
            found[name] = plain or self._edge(small[name], random)
        return {name: shown for name, shown in found.items() if shown is not None}

    def examined(self, state: State, inputs: Data, outputs: Data) -> Shown:
        """Data from elsewhere, with the tolerance and choices that follow from the inputs."""
        found = self._result(inputs, list(self.computation.elements(state.description, inputs)), state)
        return Shown(inputs, outputs, found.tolerance, found.choices)

    def _tensors(self, state: State) -> list[tuple[tuple[str, int | None], TensorDesc]]:
        """The input tensors by name and index in an array."""
        return [
            ((member.name, index), tensor)
            for member in self.operator.inputs
            for index, tensor in entries_of(getattr(state.description, member.name))
        ]

    def _is_defined(self, name: str, state: State) -> bool:
        """Whether no result is a reduction of nothing, so that sources can define them all."""
        if self._is_light:
            return True
        inputs = _Draw(self, state, Random(name), _LEAST, {}).inputs()
        return not any(EMPTY in one.notes for one in self.computation.elements(state.description, inputs))

    def _spread(self, states: Mapping[str, State], better: Sequence[str]) -> list[str]:
        """Names of states that cover the most together: each adds more than any other, best ones first."""
        features = {name: dict(self._features(state)) for name, state in states.items()}
        chosen: list[str] = []
        seen: set[object] = set()

        def brought(name: str) -> int:
            return sum(weight for feature, weight in features[name].items() if feature not in seen)

        for names in (better, list(features)):
            while len(chosen) < _MOST:
                best = max(names, key=brought, default="")
                if not best or brought(best) < (1 if len(chosen) < _PLAIN else _NEEDED):
                    break
                chosen.append(best)
                seen |= features[best].keys()
        return chosen

    def _features(self, state: State) -> Iterator[tuple[object, int]]:
        """The facts that a state covers, and how much they are worth."""
        for name, tensor in tensors_of(state.description):
            layout = _layout(tensor)
            yield (name, "type", tensor.DataType), 2
            yield (name, "rank", tensor.DimensionCount), _NEEDED if tensor.DimensionCount in (1, 8) else 1
            yield (name, "layout", layout), 1
            yield ("layout", layout), 2
        for member in self.operator.members:
            value = getattr(state.description, member.name)
            yield (member.name, value is None), 1
            if member.type in self.registry.enums or member.type == "BOOL":
                yield (member.name, "value", value), _NEEDED

    def _plain(self, state: State, random: Random) -> Shown | None:
        """Data whose results are defined by sources: elements that lead elsewhere are redrawn."""
        for pool, striking in _PLAIN_POOLS:
            draw = _Draw(self, state, random, pool, dict.fromkeys(striking, _SHARE))
            for _ in range(self._rounds):
                inputs = draw.inputs()
                elements = list(self.computation.elements(state.description, inputs))
                if "float" in striking and any({NAN, INFINITY} & element.notes for element in elements):
                    break
                bad = [element for element in elements if draw.is_bad(element)]
                if not bad:
                    return self._result(inputs, elements, state)
                origins = {origin for element in bad for origin in element.origins}
                if not origins:  # caused by the description itself
                    break
                draw.again(origins)
        return None

    def _edge(self, state: State, random: Random) -> Shown | None:
        """Data for what sources leave open: infinities, NaN, overflow, zeros, indices out of range."""
        kinds = ("float", *_INTEGERS)
        draw = _Draw(self, state, random, _MIXED, dict.fromkeys(kinds, _SHARE_OF_EDGES), outside=True)
        for _ in range(self._rounds):
            inputs = draw.inputs()
            elements = list(self.computation.elements(state.description, inputs))
            never = [element for element in elements if NEVER & element.notes]
            if not never:
                return self._result(inputs, elements, state)
            origins = {origin for element in never for origin in element.origins}
            if not origins:  # caused by the description itself
                return None
            draw.again(origins)
        return None

    def _result(self, inputs: Data, elements: Iterable[Element], state: State) -> Shown:
        notes: set[str] = set()
        values: dict[tuple[str, int | None], dict[int, Element]] = {}
        for element in elements:
            notes |= element.notes
            values.setdefault((element.output, element.entry), {})[element.place] = element
        outputs: dict[str, Any] = {}
        for member in self.operator.outputs:
            given: list[Elements] = []
            for index, tensor in entries_of(getattr(state.description, member.name)):
                found = values.get((member.name, index), {})
                places = range(math.prod(tensor.Sizes))
                given.append(tuple(found[place].value if place in found else None for place in places))
            if given:
                outputs[member.name] = tuple(given) if member.count else given[0]
        tolerance: dict[str, Tolerance] = {}
        for name in outputs:
            last = [
                element for (one, _), found in values.items() if one == name for element in found.values()
            ]
            allowed = _tolerance(last, even=not self._is_light)
            if allowed is not None:
                tolerance[name] = allowed
        return Shown(inputs, outputs, tolerance, tuple(sorted(notes)))


class _Draw:
    """Input elements drawn at random, one for each place in memory, so that tensors can share elements."""

    def __init__(
        self,
        search: DataSearch,
        state: State,
        random: Random,
        pool: Pool,
        striking: Mapping[str, float],
        *,
        outside: bool = False,
    ) -> None:
        self._random, self._pool, self._striking, self._outside = random, pool, striking, outside
        self._search, self._state = search, state
        self._tensors = dict(search._tensors(state))
        self._offsets = {key: _offsets(tensor) for key, tensor in self._tensors.items()}
        self._free: dict[str, list[int]] = {}
        self._largest = max(
            (size for _, tensor in tensors_of(state.description) for size in tensor.Sizes), default=1
        )
        self._elements = {
            key: {offset: self._draw(key) for offset in sorted(set(offsets))}
            for key, offsets in self._offsets.items()
        }

    def inputs(self) -> Data:
        """The elements of each tensor, row-major."""
        inputs: dict[str, Any] = {}
        for (name, index), offsets in self._offsets.items():
            elements = tuple(self._elements[name, index][offset] for offset in offsets)
            inputs[name] = elements if index is None else (*inputs.get(name, ()), elements)
        return inputs

    def again(self, origins: Iterable[Origin]) -> None:
        """Redraws these elements."""
        for name, index, place in sorted(origins, key=str):
            self._elements[name, index][self._offsets[name, index][place]] = self._draw((name, index))

    def is_bad(self, element: Element) -> bool:
        """Whether no source defines the element, or it is not finite although all its operands are."""
        if element.notes - ALWAYS:
            return True
        if math.isfinite(element.value):
            loose = element.error > _LOOSE * max(abs(element.value), 1.0)
            return loose and not self._search._is_light
        made_of = (
            self._elements[name, index][self._offsets[name, index][place]]
            for name, index, place in element.origins
        )
        return all(math.isfinite(value) for value in made_of)

    def _draw(self, key: tuple[str, int | None]) -> int | float:
        type_ = self._search._types[self._tensors[key].DataType]
        kind = type_.kind or ""
        if key[0] in self._search._places:
            return self._place(key[0])
        if key[0] in self._search._indices:
            return self._index(type_)
        if self._random.random() < self._striking.get(kind, 0.0):
            return self._random.choice(_striking(type_, zeros=self._outside))
        low, high = limits(type_.bits, type_)
        fitting = [value for value in self._pool[kind] if kind == "float" or low <= value <= high]
        return self._random.choice(fitting)

    def _place(self, name: str) -> int:
        """A position in the output; all are different as long as there are enough."""
        outputs = {output.name for output in self._search.operator.outputs}
        tensors = tensors_of(self._state.description)
        count = max(math.prod(tensor.Sizes) for one, tensor in tensors if one in outputs)
        if self._outside:
            return self._random.randrange(count)
        if not self._free.get(name):
            self._free[name] = self._random.sample(range(count), count)
        return self._free[name].pop()

    def _index(self, type_: EnumEntry) -> int:
        """An index; from feature level 3.0 on, signed ones can count from the end."""
        beyond = int(self._outside)
        negative = type_.kind == "signed" and self._state.level.value >= 0x3000
        return self._random.randint(
            -self._largest - beyond if negative else 0, self._largest - 1 + 2 * beyond
        )


def _striking(type_: EnumEntry, *, zeros: bool) -> Sequence[int | float]:
    if type_.kind == "float":
        return (*_SPECIAL, -0.0, 0.0) if zeros else _SPECIAL
    ends = limits(type_.bits, type_)
    return (*ends, 0) if zeros else ends


def _offsets(tensor: TensorDesc) -> list[int]:
    """The offsets of the elements in memory, in row-major order."""
    strides = tensor.Strides if tensor.Strides is not None else packed(tensor.Sizes)
    return [sum(map(mul, at, strides)) for at in product(*map(range, tensor.Sizes))]


def _layout(tensor: TensorDesc) -> str:
    if tensor.Strides is None:
        return "default"
    wide = [stride for size, stride in zip(tensor.Sizes, tensor.Strides, strict=False) if size > 1]
    if 0 in wide:
        return "shared"
    if tensor.Strides == packed(tensor.Sizes):
        return "packed"
    return "padded" if wide == sorted(wide, reverse=True) else "permuted"


def is_small(state: State, most: int) -> bool:
    """Whether no tensor has more elements."""
    return all(math.prod(tensor.Sizes) <= most for _, tensor in tensors_of(state.description))


def _tolerance(elements: Sequence[Element], *, even: bool) -> Tolerance | None:
    """One tolerance for all of these: relative as half of them need it, absolute for the rest.

    `even`: sums can cancel, so small elements are as inexact as large ones, which get no higher tolerance.
    """
    inexact = [element for element in elements if element.error]
    if not inexact:
        return None
    ratios = sorted(element.error / abs(element.value) for element in inexact if element.value)
    ratio = ratios[len(ratios) // 2] if ratios else 0.0
    if even and ratios:
        ratio = min(ratio, max(one.error for one in inexact) / max(abs(one.value) for one in inexact))
    relative = _above(ratio)
    absolute = max(element.error - relative * abs(element.value) for element in inexact)
    return Tolerance(_above(absolute), relative)


def _above(value: float) -> float:
    """The next number with two digits; 0 for anything not above 0."""
    if value <= 0:
        return 0.0
    exponent = math.floor(math.log10(value)) - 1
    return float(f"{math.ceil(value / 10.0**exponent)}e{exponent}")
