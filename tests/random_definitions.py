"""Random operators with well-typed definitions: specs of tensors of several kinds and sizes, with `let`,
intermediate tensors, recurrences, reductions and reads that may be out of bounds.

Functions come from the generator's own tables, so a new one is included automatically.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
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
_WILD = (
    *("pow", "apply_activation", "normalize_index", "above", "below", "scaled", "larger"),
    *("bit_not", "bit_count"),
)
"""Functions of elements with their own arguments, of bits, or with more than one right result."""

_GRAMMAR: dict[str, tuple[float, list[str], list[str]]] = {
    "int": (
        0.15,
        [
            *("{-3 -2 -1 0 1 2 3 4}", "at[0]", "Axis", "Count", "InputTensor.Sizes[Axis]"),
            *("OtherTensor.Sizes[0]", "{ints}", "{ints}", "{ints}"),
        ],
        [
            *("({int} {+ - * // %} {int})", "({int} {+ - *} {int})", "({int} if {bool} else {int})"),
            *("{min max}({int}, {int})", "clamp({int}, {int}, {int})", "int({float})", "int({element})"),
            *("ravel_index({flat})", "abs(-{int})", "{read}", "{read}", "{read}"),
            *("{fold}", "{fold}", "{argmax}", "{function}"),
        ],
    ),
    "float": (
        0.1,
        ["{0.5 2.0 -1.25 3.0 0.001}", "Factor", "float({leaf})", "{floats}", "{floats}"],
        [
            *("({float} {+ - *} {float})", "({float} / {float})", "({float} if {bool} else {float})"),
            *("clamp({float}, {float}, {float})", "(-{float})", "float({number!})", "{call}", "{call}"),
            *("{read}", "{read}", "{read}", "{fold}", "{fold}", "{function}"),
        ],
    ),
    "element": (
        0.25,
        ["{read}"],
        [
            *("({element} {+ - * /} {element})", "({element} if {bool} else {element})"),
            *("({element} + {1 2.5 Factor})", "convert({number!}, InputTensor)"),
            *("quantize({float!}, InputTensor)", "scaled({element}, Factor, 0.5)", "(-{element})"),
            *("{call}", "{read}", "{fold}"),
        ],
    ),
    "bool": (
        0.0,
        ["Switch", "present(ExtraTensor)", "at[0] == 0", "Count > 1"],
        [
            *(f"({{{kind}}} {{< <= == != > >=}} {{{kind}}})" for kind in ("int", "float", "element")),
            *("({bool} {and or} {bool})", "(not {bool})", "is_nan({float})", "{fold}"),
        ],
    ),
}
"""For each kind of value, how often it is a leaf, leaves, and other values. In braces are a part to be filled
in, which decides if a ! follows, or words to choose from."""
_BOXES = ("InputTensor.Sizes", "OtherTensor.Sizes", "[2, Count]", "[at[0]], [at[0] + 2]")
_ENDS = (
    *("Count", "3", "InputTensor.Sizes[Axis]", "OtherTensor.Sizes[0]", "at[0], at[0] + 2"),
    "clamp({int!}, 0, 3)",
)
"""What loops run over."""
_PART = re.compile(r"\{([^{}]+)\}")


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
        members: dict[str, object] = {
            tensor.name: {
                "role": "output" if tensor in self._outputs else "input",
                "summary": "A tensor.",
                "optional": tensor.optional,
            }
            for tensor in (*self._inputs, *self._outputs)
        }
        numbers = {"Axis": "UINT", "Count": "UINT", "Factor": "FLOAT", "Switch": "BOOL"}
        members |= {name: {"type": type_, "summary": "A number."} for name, type_ in numbers.items()}
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
        name = tensor.name
        forms = {
            "float": ["{float}"],
            "element": ["{element}"] * 4 + [f"convert({{number!}}, {name})"],
            "int": ["{int}"] * 5 + ["{bool}"] * 2 + [f"{{convert quantize}}({{float!}}, {name})"] * 3,
        }
        return self._filled(self._choice.choice(forms[tensor.kind]), tensor.kind, 4, place)

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
        value = self._made(kind, 3, place)
        self._names += 1
        name = f"Kept{self._names}"
        # A recurrence may read one above it, but at no later step: none stands right above another.
        if self._tensors and list(self._tensors.values())[-1]["recurrent"]:
            recurrent = False
        if recurrent:
            before = f"{name}[[at[0] - 1] + at[1:]]"
            following = (
                f"{before} * 0.5 + {self._made(kind, 1, place)}" if kind == "float" else f"{before} + at[0]"
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
        sizes = tensor.sizes
        there = [name for name, inside in (*place.places, ("at", place.sizes)) if inside == sizes]
        variable = self._variable("d")
        if there and self._chance(0.6):
            return self._choice.choice(there)
        if there and tensor.rank is None and self._chance(0.5):
            one = self._choice.choice(there)
            form = f"replace({one}, Axis, normalize_index({{int!}}, {sizes}[Axis]))"
        elif self._chance(0.3):
            form = f"unravel_index(clamp({{int!}}, 0, product({sizes}) - 1), {sizes})"
        elif tensor.rank is None:
            index = f"at[{variable}] + {{int!}}" if place.rank is None and self._chance(0.7) else "{int!}"
            entry = self._choice.choice(
                [
                    f"clamp({index}, 0, {sizes}[{variable}] - 1)",
                    f"normalize_index({index}, {sizes}[{variable}])",
                ]
            )
            form = f"[{entry} for {variable} in axes(InputTensor)]"
        else:
            form = f"[{', '.join(f'clamp({{int!}}, 0, {one} - 1)' for one in self._entries(tensor))}]"
        return self._filled(form, "int", depth, place)

    def _entries(self, tensor: Tensor) -> list[str]:
        """The sizes of a tensor of known rank, one by one."""
        assert tensor.rank is not None
        if tensor.sizes.startswith("["):
            return tensor.sizes[1:-1].split(", ")
        return [f"{tensor.sizes}[{number}]" for number in range(tensor.rank)]

    def _reading(self, kind: str, depth: int, place: Place) -> str:
        """A read of a tensor of that kind; another value where there is none, or none there."""
        tensors = [tensor for tensor in self._inputs if tensor.kind == kind]
        if kind != "element" and depth > 0 and place.loops < 2 and self._chance(0.3):
            kept = self._kept(kind)
            tensors = [kept] if kept is not None else tensors
        if not tensors:
            return self._made(kind, depth, place)
        tensor = self._choice.choice(tensors)
        if self._chance(0.2) and depth > 0:
            read = self._guarded(tensor, place, self._otherwise(kind, depth, place))
        else:
            read = f"{tensor.name}[{self._coordinate(tensor, depth, place)}]"
        return (
            f"({read} if present({tensor.name}) else {self._otherwise(kind, depth, place)})"
            if tensor.optional
            else read
        )

    def _otherwise(self, kind: str, depth: int, place: Place) -> str:
        return "InputTensor[at]" if kind == "element" else self._made(kind, depth, place)

    def _guarded(self, tensor: Tensor, place: Place, otherwise: str) -> str:
        """A read at a coordinate that may be outside, behind a condition."""
        if tensor.rank is None:
            variable = self._variable("d")
            first = f"at[{variable}]" if place.rank is None else "{leaf}"
            form = f"[{first} + {{-2 -1 0 1 2}} for {variable} in axes(InputTensor)]"
        else:
            form = f"[{', '.join(['{int!}'] * tensor.rank)}]"
        coordinate = self._filled(form, "int", 1, place)
        inside = f"in_bounds({coordinate}, {tensor.sizes})"
        return f"({tensor.name}[{coordinate}] if {inside} else {otherwise})"

    # Loops.

    def _fold(self, names: Sequence[str], kind: str, depth: int, place: Place) -> str:
        name = self._choice.choice(names)
        inner = replace(place, loops=place.loops + 1)
        if name in ("argmax", "argmin", "any", "all"):
            inner = inner.deciding
        loops: list[str] = []
        for _ in range(1 if name.startswith("arg") else self._choice.choice([1, 1, 2])):
            variable = self._variable("w")
            if not name.startswith("arg") and self._chance(0.4):
                over = self._choice.choice(_BOXES)
                loops.append(f"for {variable} in ndindex({over})")
                sizes = over if over.endswith(".Sizes") else ""
                places, ints = (*inner.places, (variable, sizes)), (*inner.ints, f"{variable}[0]")
                inner = replace(inner, places=places, ints=ints)
            else:
                last = self._filled(self._choice.choice(_ENDS), "int", 1, place)
                loops.append(f"for {variable} in range({last})")
                inner = replace(inner, ints=(*inner.ints, variable))
        condition = f" if {self._made('bool', 1, inner)}" if self._chance(0.4) else ""
        return f"{name}({self._made(kind, depth, inner)} {' '.join(loops)}{condition})"

    def _function(self, kind: str, depth: int, place: Place) -> str:
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
        self._let[key] = self._made(kind, depth, whole.deciding)
        argument = {"i": "int", "x": "float"}.get(parameter)
        return name + (f"({self._made(argument, 1, place.deciding)})" if argument is not None else "")

    # Values.

    def _made(self, kind: str, depth: int, place: Place) -> str:
        """A value of that kind; integers and truth values decide."""
        place = place if kind in ("float", "element") else place.deciding
        share, leaves, others = _GRAMMAR[kind]
        forms = leaves if depth <= 0 or self._chance(share) else others
        fit = [one for one in forms if all(self._has(part, place) for part in _PART.findall(one))]
        return self._filled(self._choice.choice(fit), kind, depth - 1, place)

    def _has(self, part: str, place: Place) -> bool:
        """Whether a part can be filled in here."""
        return {
            "element": self.element,
            "ints": bool(place.ints),
            "floats": bool(place.floats),
            "fold": place.loops < 2,
            "argmax": place.loops < 2,
            "function": self._fresh_functions > 0,
        }.get(part, True)

    def _filled(self, form: str, kind: str, depth: int, place: Place) -> str:
        """A form of a value of that kind with its parts filled in, from left to right."""

        def part(found: re.Match[str]) -> str:
            name = found[1].removesuffix("!")
            inner = place if name == found[1] else place.deciding
            choose = self._choice.choice
            match name:
                case "int" | "float" | "element" | "bool":
                    return self._made(name, depth, inner)
                case "leaf":
                    return self._made("int", 0, inner)
                case "number":
                    return self._made(choose(["int", "float", "element"][: 2 + self.element]), depth, inner)
                case "ints" | "floats":
                    return choose(getattr(place, name))
                case "flat":
                    return choose(
                        [f"{one}, {sizes}" for one, sizes in (("at", place.sizes), *place.places) if sizes]
                    )
                case "read":
                    return self._reading(kind, depth, inner)
                case "fold":
                    return self._fold(
                        [
                            one
                            for one in FOLDS
                            if (one in ("any", "all")) == (kind == "bool") and one[:3] != "arg"
                        ],
                        kind,
                        depth,
                        inner,
                    )
                case "argmax":
                    return self._fold(["argmax", "argmin"], choose(["float", "int"]), depth, inner)
                case "function":
                    return self._function(kind, depth, inner)
                case "call":
                    return self._call(kind, depth, inner)
            return choose(name.split())

        return _PART.sub(part, form)

    def _call(self, kind: str, depth: int, place: Place) -> str:
        """A call of a function of elements; one that rounds floats makes them decide."""
        names = sorted(
            name
            for name, function in ELEMENT_FUNCTIONS.items()
            if function.result == "element"
            and name not in _WILD
            and (function.of_integers if kind == "element" else name != "mean")
            and (kind == "element" or name in _EXACT or not place.decides)
        )
        name = self._choice.choice(names)
        inner = place.deciding if kind == "float" and name in _ROUNDING else place
        given = (self._made(kind, depth, inner) for _ in ELEMENT_FUNCTIONS[name].arguments)
        return f"{name}({', '.join(given)})"
