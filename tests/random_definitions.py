"""Random operators with well-typed definitions: specs of tensors of several kinds and sizes, with `let`,
intermediate tensors, recurrences, reductions and reads that may be out of bounds.

Functions come from the generator's own tables, so a new one is included automatically.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, TypeAlias

from dmlgen.expr.define import FOLDS
from dmlgen.expr.functions import ELEMENT_FUNCTIONS

Kind: TypeAlias = Literal["float", "int", "element"]  # of a tensor's elements, in all expressions

TYPES: dict[Kind, tuple[str, ...]] = {
    "float": ("FLOAT32", "FLOAT16", "FLOAT64"),
    "int": ("INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8"),
    "element": ("FLOAT32", "INT32", "UINT8", "FLOAT16", "INT8", "UINT32", "INT16", "UINT16", "UINT64"),
}  # fmt: skip
_LEAST, _MOST = 2, 6  # data types of a tensor
_ROUNDING = ("floor", "ceil", "trunc", "round_even", "round_away")
_EXACT = ("abs", "sign", "min", "max", "sqrt", *_ROUNDING)
"""Functions of floats that have one right result: those of floats that decide."""
_WILD = ("pow", "apply_activation", "normalize_index", "above", "below", "scaled", "larger")
"""Functions of elements with their own arguments, or with more than one right result."""


@dataclass(frozen=True)
class Tensor:
    """A tensor that a definition may read.

    `rank` is its dimension count, None of those that have the rank of InputTensor; `sizes` is what has its
    sizes, the same text for tensors of the same sizes.
    """

    name: str
    kind: str
    sizes: str
    rank: int | None
    optional: bool = False
    kept: bool = False


@dataclass(frozen=True)
class Place:
    """The context of an expression: what `at` runs through, loop variables, and how deep it is in loops.

    `ints` are integers, `places` coordinates with the sizes that contain them. `decides`: floats do here.
    """

    sizes: str
    rank: int | None
    ints: tuple[str, ...] = ()
    floats: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    loops: int = 0
    decides: bool = False

    @property
    def deciding(self) -> Place:
        return replace(self, decides=True)


class RandomOperator:
    """One operator; `spec` is its text."""

    def __init__(self, name: str, value: int, choice: Random) -> None:
        self.name = name
        self._choice = choice
        self._let: dict[str, str] = {}
        self._tensors: dict[str, dict[str, object]] = {}
        self._read: list[Tensor] = []
        self._names = 0
        self._fresh_tensors = 2
        self._fresh_functions = 3
        self.element = choice.random() < 0.5  # whether elements of either kind are computed
        kinds: list[Kind] = ["element"] if self.element else ["float", "int"]
        main: Kind = choice.choice(kinds)
        same = "InputTensor.Sizes"
        self._inputs = [
            Tensor("InputTensor", main, same, None),
            Tensor("SecondTensor", choice.choice(["float", "int", main]), same, None),
            Tensor(
                "OtherTensor", choice.choice(["float", "int"]), "OtherTensor.Sizes", choice.randrange(1, 4)
            ),
            Tensor("ExtraTensor", choice.choice(["float", "int"]), same, None, optional=True),
        ]
        self._read += self._inputs
        other = self._inputs[2]
        self._outputs = [Tensor("OutputTensor", choice.choice([main, "float", "int"]), same, None)]
        if choice.random() < 0.5:
            alike = choice.random() < 0.5
            sizes, rank = (same, None) if alike else (other.sizes, other.rank)
            self._outputs.append(
                Tensor(
                    "SecondOutput", choice.choice([main, "float", "int"]), sizes, rank, choice.random() < 0.5
                )
            )
        outputs = {tensor.name: self._output(tensor) for tensor in self._outputs}
        self.spec = self._text(value, outputs)

    # The spec.

    def _text(self, value: int, outputs: dict[str, str]) -> str:
        members: dict[str, object] = {}
        for tensor in (*self._inputs, *self._outputs):
            role = "output" if tensor in self._outputs else "input"
            members[tensor.name] = {"role": role, "summary": "A tensor."} | (
                {"optional": True} if tensor.optional else {}
            )
        members["Axis"] = {"type": "UINT", "summary": "A dimension."}
        members["Count"] = {"type": "UINT", "summary": "A number of turns."}
        members["Factor"] = {"type": "FLOAT", "summary": "A number."}
        members["Switch"] = {"type": "BOOL", "summary": "A choice."}
        alike = [tensor.name for tensor in (*self._inputs, *self._outputs) if tensor.rank is None]
        rules: list[dict[str, object]] = [
            {"id": "same-rank", "same": "DimensionCount", "of": alike},
            {"id": "axis-range", "require": "Axis < InputTensor.DimensionCount"},
            {"id": "count-range", "require": "Count <= 3"},
        ]
        rules += (
            {"id": f"sizes-{number}", "same": "Sizes", "of": ["InputTensor", name]}
            for number, name in enumerate(alike)
            if name in ("SecondTensor", "ExtraTensor")
        )
        rules += (
            {"id": f"inferred-{number}", "infer": f"{tensor.name}.Sizes = {tensor.sizes}"}
            for number, tensor in enumerate(self._outputs)
        )
        main = self._inputs[0]
        if main.kind == "element":
            joined = [tensor.name for tensor in (*self._inputs, *self._outputs) if tensor.kind == "element"]
            if len(joined) > 1:
                rules.append({"id": "same-type", "same": "DataType", "of": joined})
        support: list[dict[str, object]] = []
        chosen: dict[str, list[str]] = {}
        for tensor in (*self._inputs, *self._outputs):
            own = "element" if tensor.kind == "element" else tensor.name
            if own not in chosen:
                count = self._choice.randrange(_LEAST, _MOST)
                of_kind = TYPES[tensor.kind]  # type: ignore[index]
                chosen[own] = self._choice.sample(of_kind, min(count, len(of_kind)))
                if own == "element":  # floats and integers, or it would be one of these kinds
                    chosen[own] = [*{"FLOAT32": 0, "UINT8": 0, **dict.fromkeys(chosen[own], 0)}]
            ranks: object = "1..4" if tensor.rank is None else tensor.rank
            support.append({"tensors": [tensor.name], "ranks": ranks, "types": chosen[own]})
        compute: dict[str, object] = {"let": self._let} if self._let else {}
        compute |= {"tensors": self._tensors} if self._tensors else {}
        document: dict[str, object] = {
            "operator": self.name,
            "value": value,
            "since": "5.0",
            "summary": "An operator of tests.",
            "page": "none",
            "members": members,
            "rules": [{**rule, "source": "docs"} for rule in rules],
            "support": {"5.0": support},
            "compute": {**compute, "outputs": outputs},
        }
        return json.dumps(document, indent=1)

    # Values of outputs and of intermediate tensors.

    def _output(self, tensor: Tensor) -> str:
        place = Place(tensor.sizes, tensor.rank)
        if tensor.kind == "float":
            return self._float(4, place)
        if tensor.kind == "element":
            if self._chance(0.2):
                return f"convert({self._number(3, place)}, {tensor.name})"
            return self._element(4, place)
        if self._chance(0.2):
            return self._truth(3, place)
        if self._chance(0.3):
            function = self._choice.choice(["convert", "quantize"])
            return f"{function}({self._float(3, place.deciding)}, {tensor.name})"
        return self._integer(4, place)

    def _kept(self, kind: str) -> Tensor | None:
        """An intermediate tensor of that kind, new or not; None if there shall be no more."""
        there = [tensor for tensor in self._read if tensor.kept and tensor.kind == kind]
        if there and (not self._fresh_tensors or self._chance(0.4)):
            return self._choice.choice(there)
        if not self._fresh_tensors:
            return None
        self._fresh_tensors -= 1
        sizes, rank = self._choice.choice(
            [
                ("InputTensor.Sizes", None),
                ("OtherTensor.Sizes", self._inputs[2].rank),
                ("[InputTensor.Sizes[0], 2]", 2),
                ("[3]", 1),
                ("[Count + 1, InputTensor.Sizes[Axis]]", 2),
            ]
        )
        place = Place(sizes, rank)
        recurrent = kind != "bool" and rank is not None and "Other" not in sizes and self._chance(0.5)
        makers: dict[str, Callable[[int, Place], str]] = {
            "float": self._float, "int": self._integer, "bool": self._truth,
        }  # fmt: skip
        value = makers[kind](3, place)
        self._names += 1
        name = f"Kept{self._names}"
        # A recurrence may read one above it, but at no later step: none stands right above another.
        if self._tensors and list(self._tensors.values())[-1]["recurrent"]:
            recurrent = False
        if recurrent:
            before = f"{name}[[at[0] - 1] + at[1:]]"
            following = (
                f"{before} * 0.5 + {makers[kind](1, place)}" if kind == "float" else f"{before} + at[0]"
            )
            value = f"{value} if at[0] == 0 else {following}"
        self._tensors[name] = {"sizes": sizes, "type": kind, "recurrent": recurrent, "value": value}
        found = Tensor(name, kind, sizes, rank, kept=True)
        self._read.append(found)
        return found

    def _chance(self, share: float) -> bool:
        return self._choice.random() < share

    def _variable(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    # Coordinates.

    def _coordinate(self, tensor: Tensor, depth: int, place: Place) -> str:
        """A coordinate inside the tensor."""
        there = [name for name, sizes in place.places if sizes == tensor.sizes]
        if place.sizes == tensor.sizes:
            there.append("at")
        if there and self._chance(0.6):
            return self._choice.choice(there)
        sizes = tensor.sizes
        inner = place.deciding
        if there and tensor.rank is None and self._chance(0.5):
            index = f"normalize_index({self._integer(depth - 1, inner)}, {sizes}[Axis])"
            return f"replace({self._choice.choice(there)}, Axis, {index})"
        if self._chance(0.3):
            return (
                f"unravel_index(clamp({self._integer(depth - 1, inner)}, 0, product({sizes}) - 1), {sizes})"
            )
        if tensor.rank is None:
            variable = self._variable("d")
            index = self._integer(depth - 1, inner)
            if place.rank is None and self._chance(0.7):
                index = f"at[{variable}] + {index}"
            limited = self._choice.choice(
                [
                    f"clamp({index}, 0, {sizes}[{variable}] - 1)",
                    f"normalize_index({index}, {sizes}[{variable}])",
                ]
            )
            return f"[{limited} for {variable} in range(InputTensor.DimensionCount)]"
        entries = (
            f"clamp({self._integer(depth - 1, inner)}, 0, {entry} - 1)" for entry in self._entries(tensor)
        )
        return f"[{', '.join(entries)}]"

    def _entries(self, tensor: Tensor) -> list[str]:
        """The sizes of a tensor of known rank, one by one."""
        assert tensor.rank is not None
        if tensor.sizes.startswith("["):
            return tensor.sizes[1:-1].split(", ")
        return [f"{tensor.sizes}[{number}]" for number in range(tensor.rank)]

    def _reading(self, kind: str, depth: int, place: Place, otherwise: Callable[[], str]) -> str:
        """A read of a tensor of that kind; `otherwise` where there is none, or none there."""
        tensors = [tensor for tensor in self._inputs if tensor.kind == kind]
        if kind != "element" and depth > 1 and place.loops < 2 and self._chance(0.3):
            kept = self._kept(kind)
            tensors = [kept] if kept is not None else tensors
        if not tensors:
            return otherwise()
        tensor = self._choice.choice(tensors)
        if self._chance(0.2) and depth > 1:
            read = self._guarded(tensor, place, otherwise())
        else:
            read = f"{tensor.name}[{self._coordinate(tensor, depth, place)}]"
        return f"({read} if present({tensor.name}) else {otherwise()})" if tensor.optional else read

    def _guarded(self, tensor: Tensor, place: Place, otherwise: str) -> str:
        """A read at a coordinate that may be outside, behind a condition."""
        if tensor.rank is None:
            variable = self._variable("d")
            first = f"at[{variable}]" if place.rank is None else self._integer(0, place)
            coordinate = f"[{first} + {self._choice.randrange(-2, 3)} for {variable} in axes(InputTensor)]"
        else:
            coordinate = f"[{', '.join(self._integer(1, place.deciding) for _ in range(tensor.rank))}]"
        sizes = tensor.sizes
        return f"({tensor.name}[{coordinate}] if in_bounds({coordinate}, {sizes}) else {otherwise})"

    # Loops.

    def _fold(self, names: Sequence[str], body: Callable[[int, Place], str], depth: int, place: Place) -> str:
        name = self._choice.choice(names)
        inner = replace(place, loops=place.loops + 1)
        if name in ("argmax", "argmin", "any", "all"):
            inner = inner.deciding
        loops: list[str] = []
        for _ in range(1 if name.startswith("arg") else self._choice.choice([1, 1, 2])):
            if not name.startswith("arg") and self._chance(0.4):
                variable = self._variable("w")
                over, sizes = self._choice.choice(
                    [
                        ("InputTensor.Sizes", "InputTensor.Sizes"),
                        ("OtherTensor.Sizes", "OtherTensor.Sizes"),
                        ("[2, Count]", ""),
                        ("[at[0]], [at[0] + 2]", ""),
                    ]
                )
                loops.append(f"for {variable} in ndindex({over})")
                inner = replace(
                    inner,
                    places=(*inner.places, (variable, sizes)),
                    ints=(*inner.ints, f"{variable}[0]"),
                )
            else:
                variable = self._variable("k")
                last = self._choice.choice(
                    ["Count", "3", "InputTensor.Sizes[Axis]", "OtherTensor.Sizes[0]", "at[0], at[0] + 2", ""]
                )
                last = last or f"clamp({self._integer(1, place.deciding)}, 0, 3)"
                loops.append(f"for {variable} in range({last})")
                inner = replace(inner, ints=(*inner.ints, variable))
        condition = f" if {self._truth(1, inner.deciding)}" if self._chance(0.4) else ""
        return f"{name}({body(depth, inner)} {' '.join(loops)}{condition})"

    def _function(self, body: Callable[[int, Place], str], depth: int, place: Place) -> str:
        """A use of a new name of `let`, with parameters or none."""
        self._fresh_functions -= 1
        self._names += 1
        name = f"part{self._names}"
        whole = replace(place, ints=(), floats=(), places=())
        parameter = self._choice.choice(["", "i", "x"])
        if parameter == "i":
            whole = replace(whole, ints=(f"i{self._names}",))
        elif parameter == "x":
            whole = replace(whole, floats=(f"x{self._names}",))
        key = f"{name}({parameter}{self._names})" if parameter else name
        self._let[key] = body(depth, whole.deciding)
        argument = {"i": self._integer, "x": self._float}.get(parameter)
        return name + (f"({argument(1, place.deciding)})" if argument is not None else "")

    # Numbers.

    def _integer(self, depth: int, place: Place) -> str:
        place = place.deciding
        if depth <= 0 or self._chance(0.15):
            leaves = [str(self._choice.randrange(-3, 5)), "at[0]", "Axis", "Count", "InputTensor.Sizes[Axis]"]
            leaves += ["OtherTensor.Sizes[0]", *place.ints, *place.ints]
            return self._choice.choice(leaves)

        def one() -> str:
            return self._integer(depth - 1, place)

        def read() -> str:
            return self._reading("int", depth, place, one)

        makers: list[Callable[[], str]] = [
            lambda: f"({one()} {self._choice.choice(['+', '-', '*', '//', '%'])} {one()})",
            lambda: f"({one()} {self._choice.choice(['+', '-', '*'])} {one()})",
            lambda: f"({one()} if {self._truth(depth - 1, place)} else {one()})",
            lambda: f"{self._choice.choice(['min', 'max'])}({one()}, {one()})",
            lambda: f"clamp({one()}, {one()}, {one()})",
            lambda: f"int({self._float(depth - 1, place)})",
            lambda: f"int({self._element(depth - 1, place)})" if self.element else one(),
            lambda: f"ravel_index({self._choice.choice(self._flat(place))})",
            lambda: f"abs(-{one()})",
            read,
            read,
            read,
        ]
        if place.loops < 2:
            folds = [name for name in FOLDS if name not in ("any", "all", "argmax", "argmin")]
            makers += [lambda: self._fold(folds, self._integer, depth - 1, place)] * 2
            chosen = self._choice.choice([self._float, self._integer])
            makers.append(lambda: self._fold(["argmax", "argmin"], chosen, depth - 1, place))
        if self._fresh_functions:
            makers.append(lambda: self._function(self._integer, depth - 1, place))
        return self._choice.choice(makers)()

    def _flat(self, place: Place) -> list[str]:
        return [f"at, {place.sizes}", *(f"{name}, {sizes}" for name, sizes in place.places if sizes)]

    def _number(self, depth: int, place: Place) -> str:
        makers = [self._integer, self._float] + ([self._element] if self.element else [])
        return self._choice.choice(makers)(depth, place.deciding)

    def _float(self, depth: int, place: Place) -> str:
        if depth <= 0 or self._chance(0.1):
            leaves = [
                str(self._choice.choice([0.5, 2.0, -1.25, 3.0, 1e-3])),
                "Factor",
                f"float({self._integer(0, place)})",
            ]
            return self._choice.choice([*leaves, *place.floats, *place.floats])

        def one() -> str:
            return self._float(depth - 1, place)

        def called() -> str:
            names = sorted(
                name
                for name, function in ELEMENT_FUNCTIONS.items()
                if function.result == "element"
                and name not in (*_WILD, "bit_not", "bit_count", "mean")
                and (name in _EXACT or not place.decides)
            )
            name = self._choice.choice(names)
            inner = place.deciding if name in _ROUNDING else place
            given = (self._float(depth - 1, inner) for _ in ELEMENT_FUNCTIONS[name].arguments)
            return f"{name}({', '.join(given)})"

        def read() -> str:
            return self._reading("float", depth, place, one)

        makers: list[Callable[[], str]] = [
            lambda: f"({one()} {self._choice.choice(['+', '-', '*'])} {one()})",
            lambda: f"({one()} / {one()})",
            lambda: f"({one()} if {self._truth(depth - 1, place)} else {one()})",
            lambda: f"clamp({one()}, {one()}, {one()})",
            lambda: f"(-{one()})",
            lambda: f"float({self._number(depth - 1, place)})",
            called,
            called,
            read,
            read,
            read,
        ]
        if place.loops < 2:
            folds = [name for name in FOLDS if name not in ("any", "all", "argmax", "argmin")]
            makers += [lambda: self._fold(folds, self._float, depth - 1, place)] * 2
        if self._fresh_functions:
            makers.append(lambda: self._function(self._float, depth - 1, place))
        return self._choice.choice(makers)()

    def _element(self, depth: int, place: Place) -> str:
        """An element of InputTensor's type, which may be of either kind."""

        def read() -> str:
            return self._reading("element", depth, place, lambda: "InputTensor[at]")

        if depth <= 0 or self._chance(0.25):
            return read()

        def one() -> str:
            return self._element(depth - 1, place)

        def called() -> str:
            names = sorted(
                name
                for name, function in ELEMENT_FUNCTIONS.items()
                if function.result == "element"
                and name not in (*_WILD, "bit_not", "bit_count")
                and function.of_integers
            )
            name = self._choice.choice(names)
            return f"{name}({', '.join(one() for _ in ELEMENT_FUNCTIONS[name].arguments)})"

        makers: list[Callable[[], str]] = [
            lambda: f"({one()} {self._choice.choice(['+', '-', '*', '/'])} {one()})",
            lambda: f"({one()} if {self._truth(depth - 1, place)} else {one()})",
            lambda: f"({one()} + {self._choice.choice(['1', '2.5', 'Factor'])})",
            lambda: f"convert({self._number(depth - 1, place)}, InputTensor)",
            lambda: f"quantize({self._float(depth - 1, place.deciding)}, InputTensor)",
            lambda: f"scaled({one()}, Factor, 0.5)",
            lambda: f"(-{one()})",
            called,
            read,
        ]
        if place.loops < 2:
            folds = [name for name in FOLDS if name not in ("any", "all", "argmax", "argmin")]
            makers.append(lambda: self._fold(folds, self._element, depth - 1, place))
        return self._choice.choice(makers)()

    def _truth(self, depth: int, place: Place) -> str:
        place = place.deciding
        if depth <= 0:
            return self._choice.choice(["Switch", "present(ExtraTensor)", "at[0] == 0", "Count > 1"])

        def one() -> str:
            return self._truth(depth - 1, place)

        def compared() -> str:
            makers = [self._integer, self._float] + ([self._element] if self.element else [])
            make = self._choice.choice(makers)
            sign = self._choice.choice(["<", "<=", "==", "!=", ">", ">="])
            return f"({make(depth - 1, place)} {sign} {make(depth - 1, place)})"

        makers: list[Callable[[], str]] = [
            compared,
            compared,
            compared,
            lambda: f"({one()} {self._choice.choice(['and', 'or'])} {one()})",
            lambda: f"(not {one()})",
            lambda: f"is_nan({self._float(depth - 1, place)})",
        ]
        if place.loops < 2:
            makers.append(lambda: self._fold(["any", "all"], self._truth, depth - 1, place))
        return self._choice.choice(makers)()
